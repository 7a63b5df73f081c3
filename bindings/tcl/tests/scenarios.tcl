# SPDX-License-Identifier: BSL-1.0
# The scenarios that the tests of all languages run: bindings/scenarios.txt.
set formats {u64 <Q i64 <q u32 <I i32 <i}

proc numbers {text} { return [expr {$text eq "-" ? "" : $text}] }
proc sorter {format items args} { return [[extmem sorter $format -ctx $::ctx {*}$args] push $items] }
proc of {spec} { return [dict get $::formats $spec] }
proc drained {q} {
	set list {}
	while {[$q size] > 0} { lappend list [$q pop] }
	return $list
}
proc mine args { return -code error -errorcode {MINE 1} "of the caller" }

proc run_sort {spec list} { return [[sorter [of $spec] [numbers $list]] read] }
proc run_sort2 {name first second expected} {
	foreach a $first b $second { lappend pairs [list $a $b] }
	foreach pair [[sorter <QQ $pairs -key $name] read] {
		lappend left [lindex $pair 0]
		lappend right [lindex $pair 1]
	}
	equal $left $expected
	return $right
}
proc run_unique {spec list} { return [[sorter [of $spec] $list -unique 1] read] }
proc run_top {spec k list} { return [[[extmem top [of $spec] $k -ctx $::ctx] push $list] read] }
proc run_lines {keys text} { return [join [[sorter lines [split $text |] -key $keys] read] |] }
proc run_heap {spec list} {
	set q [extmem pq [of $spec] -ctx $::ctx]
	foreach n $list { $q push $n }
	return [drained $q]
}
proc radix {list} {
	set q [extmem radixheap <Q -ctx $::ctx]
	$q push_many $list
	return $q
}
proc run_radix {list} { return [drained [radix $list]] }
proc run_late {pushes pops late} {
	set q [radix $pushes]
	for {set i 0} {$i < $pops} {incr i} { $q pop }
	$q push $late
}
proc run_tree {keys erased} {
	set tree [extmem btree <Q <Q -ctx $::ctx]
	foreach key $keys { $tree put $key [expr {2 * $key % 2 ** 64}] }
	foreach key $erased { equal [$tree erase $key] 1 }
	set list {}
	$tree foreach item {
		equal [lindex $item 1] [expr {2 * [lindex $item 0] % 2 ** 64}]
		lappend list [lindex $item 0]
	}
	return $list
}
proc run_range {keys from to} {
	set tree [extmem btree <Q {} -ctx $::ctx]
	foreach key $keys { $tree put $key }
	return [all $tree $from $to]
}
proc run_vector {list} {
	set path $::dir/vector
	set v [extmem vector <Q -path $path -mode w -ctx $::ctx]
	$v push_many $list
	$v flush
	$v destroy
	set v [extmem vector <Q -path $path -mode r -ctx $::ctx]
	equal [all $v] $list
	$v close
	binary scan [slurp vector] wu* result
	return $result
}
proc run_callback {where} {
	set s [extmem sorter <Q -ctx $::ctx -run_records 1000 \
		-[dict get {progress progress key keys cmp cmp} $where] mine]
	set data [random 2400000]
	# Progress is told five times a second at least: so this goes on until that is so.
	set code [catch {
		while 1 {
			$s push_packed $data
			if {$where ne "progress"} { $s finish }
		}
	} message options]
	equal [list $code $message [dict get $options -errorcode]] {1 {of the caller} {MINE 1}}
	$s push {1}
}
proc run_full {limit n} {
	set s [extmem sorter <Q -ctx [extmem context -memory 4M -scratch_max $limit]]
	$s push_packed [random [expr {8 * $n}]]
	$s finish
}
proc run_memory {limit} { extmem context -memory $limit }
proc run_closed {what} {
	set x [switch $what {
		tree {extmem btree <Q {} -ctx $::ctx}
		heap {extmem pq <Q -ctx $::ctx}
		default {extmem $what <Q -ctx $::ctx}
	}]
	$x close
	$x close
	equal [$x closed] 1
	if {$what eq "tree"} { $x get 1 } else { $x push 1 }
}
proc run_misorder {list} {
	set s [sorter <Q $list]
	fails EM_ERR_STATE { $s next_packed }
	return [$s read]
}
proc run_reentry {what} {
	set ::told {}
	proc again args {
		if {[catch { $::s $::what 1 } message options]} { set ::told $options }
		return 0
	}
	set ::what $what
	set ::s [extmem sorter <Q -ctx $::ctx -run_records 1000 -progress again]
	while {$::told eq ""} { $::s push_packed [string repeat \0 2400000] }
	return -options [dict merge $::told {-level 0}] "again"
}
# A batch is a copy, which nothing takes away.
proc run_batch {list} {
	set s [[sorter <Q $list] finish]
	set batch [$s next_packed]
	equal [$s next_packed] ""
	equal [$s items $batch] [lsort -integer $list]
	return copied
}
proc once {list} {
	set ::given($list) 1
	return [list apply {{list} {
		if {[info exists ::given($list)]} {
			unset ::given($list)
			return $list
		}
	}} $list]
}
proc streamed {list} { return [extmem stream <Q [once [numbers $list]] -ctx $::ctx] }
proc run_stream {list} {
	set more {apply {{some} { lmap n $some { expr {($n + 1) % 2 ** 64} } }}}
	return [[[[[streamed $list] map $more] sort] unique] read]
}
proc run_set {operation first second} { return [[[streamed $first] set $operation [streamed $second]] read] }
proc run_broken {list} {
	set s [[streamed $list] map mine]
	equal [list [catch { $s packednext } message options] $message [dict get $options -errorcode]] \
		{1 {of the caller} {MINE 1}}
	$s packednext
}
proc run_told {some} {
	set more [list apply {{zeros} { return $zeros }} [lrepeat $some 0]]
	set endless [list apply {{more fn} { return [[extmem stream <Q $more -ctx $::ctx] progress $fn] }} $more]
	set pull {apply {{s} { while 1 { $s packednext } }}}
	set stop [list apply {{some phase done total} \
		{ expr {$phase == 1 && $done % $some == 0 && $total == 0} }} $some]
	fails EM_ERR_CANCELED { {*}$pull [{*}$endless $stop] }
	set s [{*}$endless mine]
	equal [list [catch { {*}$pull $s } message options] [dict get $options -errorcode]] {1 {MINE 1}}
	$s packednext
}
proc run_split {list} {
	set q [extmem queue <Q -ctx $::ctx]
	set rest [[[streamed $list] split {apply {{some} { lmap n $some { expr {$n & 1} } }}} [$q sink]] read]
	return [concat $rest [drained $q]]
}
proc formed {list args} { return [[extmem runs <Q -ctx $::ctx {*}$args] push [numbers $list]] }
proc run_runs {pushed sorted args} {
	set r [[[formed $pushed] append [numbers $sorted]] finish]
	lassign [lmap text $args none {"" "" 0 18446744073709551615} \
		{ expr {$text eq "-" ? $none : $text} }] from to skip take
	return [[$r merge $from $to $skip $take] read]
}
proc run_twice {list} {
	set r [[formed $list] finish]
	set a [$r merge]
	set b [$r merge]
	$a batch 1
	$b batch 1
	set all [concat [$a items [$a packednext]] [$b items [$b packednext]]]
	$r close
	while {[set some [$a items [$a packednext]]] ne ""} { lappend all $some [$b items [$b packednext]] }
	return $all
}
proc run_early {list} {
	set r [formed $list]
	set s [$r merge]
	fails EM_ERR_STATE { $s packednext }
	$r finish
	return [$s read]
}
proc add {sum more} {
	foreach item $more { lset sum 1 [expr {[lindex $sum 1] + [lindex $item 1]}] }
	return $sum
}
proc counted {keys counts} { return [lmap key $keys n $counts { list $key $n }] }
proc run_combine {keys counts} {
	set r [extmem runs <QQ -key f0 -combine add -ctx $::ctx]
	return [concat {*}[[[[$r push [counted $keys $counts]] finish] merge] read]]
}
proc run_totals {keys counts} {
	return [concat {*}[[[extmem stream <QQ [once [counted $keys $counts]] -ctx $::ctx] sortreduce add f0] read]]
}
proc run_sour {list} {
	set r [formed $list -combine mine]
	equal [list [catch { $r finish } message options] $message [dict get $options -errorcode]] \
		{1 {of the caller} {MINE 1}}
	$r push 1
}
proc lines {text {name lines}} {
	return [extmem streamfile lines [list [write $name [string map {| \n} $text]\n]] -ctx $::ctx]
}
proc run_text {keys text} {
	set kept [[lines $text] filter {apply {{some} { lmap line $some { expr {![string match #* $line]} } }}}]
	[$kept sort $keys] tofile $::dir/out
	return [string map {\n |} [string trimright [slurp out] \n]]
}
proc run_lengths {text} {
	return [[[lines $text] map {apply {{some} { lmap line $some { string length $line } }}} <Q] read]
}
proc run_linejoin {kind left right separator first second} {
	set own [expr {$separator eq "-" ? "" : $separator}]
	return [join [[[lines $first] join [lines $second right] $kind $left $right {} {} $own] read] |]
}
proc run_linepairs {kind left right first second} {
	set pair {apply {{a b which} {
		return [expr {$which eq "right" ? "-" : $a}]+[expr {$which eq "left" ? "-" : $b}]
	}}}
	return [join [[[lines $first] join [lines $second right] $kind $left $right {} $pair] read] |]
}
proc run_linesour {text} {
	set s [[lines $text] join [lines $text right] inner {} {} {} mine]
	equal [list [catch { $s packednext } message options] $message [dict get $options -errorcode]] \
		{1 {of the caller} {MINE 1}}
	$s packednext
}
proc run_linetee {text} {
	lassign [[lines $text] tee 1] a b
	return [join [concat [$a read] [$b read]] |]
}
proc run_lineset {operation first second} {
	return [join [[[lines $first] set $operation [lines $second right]] read] |]
}
proc run_linesum {keys text} {
	return [join [[[lines $text] reduce {apply {{sum more} { join [linsert $more 0 $sum] + }}} $keys] read] |]
}
proc run_linewords {text} {
	set words {apply {{some} { concat {*}[lmap line $some { regexp -all -inline {[^ ]+} $line }] }}}
	return [join [[[lines $text] flatmap $words] read] |]
}
proc run_linesplit {text} {
	set sent [extmem sinkfile lines $::dir/sent -ctx $::ctx]
	set where {apply {{some} { lmap line $some { string match #* $line } }}}
	set stays [[[lines $text] split $where $sent] read]
	$sent finish
	return [join [concat $stays [split [string trimright [slurp sent] \n] \n]] |]
}
proc run_linecount {keys first second} {
	set s [[[lines $first] merge [list [lines $second right]] $keys] unique $keys lines]
	return [string map {\t :} [join [$s read] |]]
}
# What loops have seen that are left at the first and at the second item, then a batch, then another loop.
proc left {s {packs 1}} {
	set seen {}
	foreach stop {1 2} {
		set n 0
		$s foreach item {
			lappend seen $item
			if {[incr n] == $stop} { break }
		}
	}
	set next [expr {"packednext" in [info object methods $s -all] ? "packednext" : "next_packed"}]
	set batch [$s $next]
	return [concat $seen [expr {$packs ? [$s items $batch] : $batch}] [$s read]]
}
proc run_leave {what list} {
	return [left [switch $what {
		stream { streamed $list }
		top { [extmem top <Q 100 -ctx $::ctx] push $list }
		sorter { sorter <Q $list }
	}]]
}
proc run_lineleave {text} { return [join [left [sorter lines [split $text |]] 0] |] }
proc run_missing {name} { extmem sortfile [list $::dir/$name] $::dir/out -ctx $::ctx }

set f [open $env(EM_SRCDIR)/bindings/scenarios.txt]
while {[gets $f line] >= 0} {
	if {[string match #* $line]} { continue }
	set arguments [lassign [split $line \t] name kind]
	set expected [lindex $arguments end]
	set call [list run_$kind {*}[lrange $arguments 0 end-1]]
	if {[string match !EM* $expected]} {
		check $name [list fails [string range $expected 1 end] $call]
	} else {
		check $name "equal \[$call\] \
			[list [expr {$kind eq "batch" ? "copied" : $expected eq "-" ? "" : $expected}]]"
	}
}
close $f
