# SPDX-License-Identifier: BSL-1.0
# What is particular to Tcl, or not in the scenarios.

check "destroy frees, foreach breaks, continues and returns" {
	set used [$ctx memory_used]
	set s [extmem sorter <Q -ctx $ctx]
	$s push {3 1 2 4}
	set seen {}
	$s foreach n {
		if {$n == 1} { continue }
		if {$n == 4} { break }
		lappend seen $n
	}
	equal $seen {2 3}
	$s destroy
	equal [$ctx memory_used] $used
	equal [catch {$s read} message] 1
	proc first {s} { $s foreach n { return "first $n" } }
	set s [extmem sorter <Q -ctx $ctx]
	equal [first [$s push {5 6}]] "first 5"
	set s [extmem sorter <Q -ctx $ctx]
	$s push {5 6}
	equal [catch {$s foreach n { error "mine $n" info {MINE 2} }} message options] 1
	equal [list $message [dict get $options -errorcode]] {{mine 5} {MINE 2}}
}

check formats {
	set items [list [list 1 -2 3.5 abc] [list 255 -32768 -0.25 x\0z]]
	foreach format {<Bhd3s >Bhd3s "=B2xh d3s"} {
		set q [extmem queue $format -ctx $ctx]
		$q push_many $items
		equal [$q pop_many] $items
		equal [list [$q pop] [$q size]] {{} 0}
	}
	set q [extmem queue <B -ctx $ctx]
	foreach bad {256 -1 1.5 x {1 2} 1e3 0x100} { fails ARGUMENT { $q push $bad } }
	$q push 0x10
	equal [list [$q pop] [$q size]] {16 0}
	set q [extmem queue >q -ctx $ctx]
	set edges {-9223372036854775808 9223372036854775807 -1 0}
	$q push_many $edges
	foreach bad {9223372036854775808 -9223372036854775809 1e30} { fails ARGUMENT { $q push $bad } }
	fails ARGUMENT { $q push [expr {2 ** 63}] }
	equal [$q items [$q pop_packed]] $edges
	set q [extmem queue <Q -ctx $ctx]
	$q push_many [list [expr {2 ** 64 - 1}] 18446744073709551615 [expr {2 ** 63}] 0]
	foreach bad {18446744073709551616 -1} { fails ARGUMENT { $q push $bad } }
	fails ARGUMENT { $q push [expr {-(2 ** 64 - 5)}] }
	equal [$q pop_many] {18446744073709551615 18446744073709551615 9223372036854775808 0}
	foreach bad {< Z Q0B -1 <Q|Q|Q} { fails ARGUMENT { extmem queue $bad -ctx $ctx } }
	set q [extmem queue 2 -ctx $ctx]
	fails ARGUMENT { $q push \u0100x }
	$q push \u00e9x
	equal [$q pop] \u00e9x
	# What looks like a number stays as it is.
	$q push 08
	$q push " 1"
	equal [list [$q pop] [$q pop]] [list 08 " 1"]
	set t [extmem btree 4 {} -ctx $ctx]
	foreach key {0x10 1e00} { $t put $key }
	equal [all $t] {0x10 1e00}
	equal [[[extmem sorter 4 -ctx $ctx] push {0x10 0x09}] read] {0x09 0x10}
}

check "sorting against lsort" {
	foreach n {0 1 2 1000 20000} {
		set list [some $n]
		set sorted [lsort -integer $list]
		equal [extmem sort $list <q -ctx $ctx -run_records 7777] $sorted
		set s [extmem sorter <q -ctx $ctx]
		$s push_packed [binary format w* $list]
		equal [$s read] $sorted
		$s destroy
	}
	set list [some 500]
	equal [extmem sort $list <q -ctx $ctx -keys {apply {{many} {lmap n $many {expr {1000000 - $n}}}}}] \
		[lsort -integer -decreasing $list]
	equal [extmem sort $list <q -ctx $ctx -keys {apply {{many} {binary format m* $many}}}] [lsort -integer $list]
	equal [extmem sort $list <q -ctx $ctx -cmp {apply {{a b} {expr {$a - $b}}}}] [lsort -integer $list]
	equal [extmem sort {3 1 2} <q -ctx $ctx -cmp {apply {{a b} {return -code return 0}}}] {3 1 2}
}

check "functions that give nonsense, and leave" {
	foreach bad {{} 1 {1 x 3} short} {
		fails ARGUMENT { extmem sort {3 1 2} <Q -ctx $ctx -keys [list apply [list {many} [list return $bad]]] }
	}
	fails ARGUMENT { extmem sort {3 1 2} <Q -ctx $ctx -cmp {apply {args {return x}}} }
	foreach code {break continue} {
		fails ARGUMENT { extmem sort {3 1 2} <Q -ctx $ctx -cmp [list apply [list args "return -code $code"]] }
	}
	equal [catch { extmem sort {3 1 2} <Q -ctx $ctx -cmp no-such-command } message] 1
	equal [string match "invalid command name*" $message] 1
	equal [extmem sort {3 1 2} <Q -ctx $ctx] {1 2 3}
}

check "a function that closes, forgets and calls" {
	proc nested {a b} {
		extmem sort {2 1} <Q -ctx $::ctx -cmp {apply {{a b} {expr {$a - $b}}}}
		expr {$a - $b}
	}
	equal [extmem sort {3 1 2} <Q -ctx $ctx -cmp nested] {1 2 3}
	proc closes {a b} {
		$::s close
		expr {$a - $b}
	}
	set ::s [extmem sorter <Q -ctx $ctx -cmp closes]
	$::s push {2 1}
	equal [catch { $::s read }] 1
	equal [$::s closed] 1
	proc destroys {a b} {
		catch { $::s destroy }
		expr {$a - $b}
	}
	set ::s [extmem sorter <Q -ctx $ctx -cmp destroys]
	$::s push {2 1 3}
	catch { $::s read }
	# Data that becomes something else while it is pushed.
	set ::data [random 800000]
	proc spoils {a b} {
		catch { llength $::data }
		append ::data x
		set ::data {}
		expr {$a < $b ? -1 : $a > $b}
	}
	set s [extmem sorter <Q -ctx $ctx -run_records 1000 -cmp spoils]
	binary scan $::data wu* wanted
	$s push_packed $::data
	equal [$s read] [lsort -integer $wanted]
}

check "closed in any order, and with the interpreter" {
	for {set i 0} {$i < 20} {incr i} {
		set own [extmem context -memory 4M]
		set tree [extmem btree <Q <Q -ctx $own]
		$tree put 1 2
		set objects [list $own $tree [$tree cursor] \
			[extmem sorter <Q -ctx $own -progress {apply {args {return 0}}}] [extmem vector <Q -ctx $own] \
			[extmem pq <Q -ctx $own]]
		while {[llength $objects] > 0} {
			set at [rand [llength $objects]]
			[lindex $objects $at] destroy
			set objects [lreplace $objects $at $at]
		}
	}
	set used [$ctx memory_used]
	for {set i 0} {$i < 2000} {incr i} {
		set s [extmem sorter <Q -ctx $ctx -progress {apply {args {return 0}}}]
		$s push 1
		catch { extmem sorter <Q -ctx $ctx -memory 1 }
		$s destroy
	}
	equal [expr {[$ctx memory_used] < $used + 2000 * 100}] 1
	foreach how {normal within} {
		set child [interp create]
		$child eval [list set auto_path $::auto_path]
		$child eval {
			package require extmem
			set ctx [extmem context -memory 4M -log {apply {args {}}}]
			set t [extmem btree <Q {} -ctx $ctx]
			$t put 5
			set c [$t cursor]
		}
		$child alias gone interp delete $child
		if {$how eq "within"} {
			catch { $child eval { extmem sort {3 1 2} <Q -ctx $ctx -cmp {apply {{a b} {gone; expr 0}}} } }
		} else {
			interp delete $child
		}
		equal [interp exists $child] 0
	}
}

check errors {
	set details [fails EM_ERR_NOENT { extmem sortfile [list $dir/none] $dir/out -ctx $ctx }]
	equal [list [dict get $details path] [dict get $details errno]] [list $dir/none 2]
	write bad [string repeat x 12]
	fails EM_ERR_FORMAT { extmem sortfile [list $dir/bad] $dir/out -records <Q -ctx $ctx }
	foreach bad {{-nonsense 1} {-memory much} {-flags -1} {nonsense 1}} {
		equal [catch { extmem sorter <Q -ctx $ctx {*}$bad } message] 1
	}
	set s [extmem sorter <Q -ctx $ctx]
	fails ARGUMENT { $s push_packed 1234567 }
	fails EM_ERR_RANGE { extmem sorter <Q -ctx $ctx -key u64le@1 }
	foreach bad [list [$ctx handle] 5 {}] { fails ARGUMENT { extmem::core::em_sorter_finish $bad } }
	equal [catch { extmem::core::em_sorter_finish }] 1
	set trapped [try { $s push x } trap {EXTMEM EM_ERR_STATE} {} { expr 1 } trap EXTMEM {} { expr 2 }]
	equal $trapped 2
}

check files {
	set a [list [write a b,2\na,10\nc,1\n]]
	set stats [extmem sortfile $a $dir/b -key "-t, -k2,2n" -ctx $ctx]
	equal [slurp b] c,1\nb,2\na,10\n
	equal [list [dict get $stats records_in] [string match "*\"records_in\": 3*" [dict get $stats json]]] {3 1}
	extmem mergefiles [list $dir/b $dir/b] $dir/c -key "-t, -k2,2n" -ctx $ctx
	equal [slurp c] c,1\nc,1\nb,2\nb,2\na,10\na,10\n
	extmem uniquefile [list $dir/c] $dir/d -count 1 -ctx $ctx
	equal [slurp d] 2\ta,10\n2\tb,2\n2\tc,1\n
	extmem topfile $a $dir/e 1 -start 1 -ctx $ctx
	equal [slurp e] b,2\n
	extmem shufflefile $a $dir/f -seed 1 -ctx $ctx
	extmem sortfile [list $dir/f] $dir/f -ctx $ctx
	equal [slurp f] a,10\nb,2\nc,1\n
	equal [dict get [extmem checkfile [lindex $a 0] -ctx $ctx] first] a,10
	equal [dict get [extmem checkfile $dir/f -ctx $ctx] first] {}
	write csv "2,\"x\ny\"\n1,z\n"
	extmem sortfile [list $dir/csv] $dir/csv -key "--csv -k1,1n" -ctx $ctx
	equal [slurp csv] "1,z\n2,\"x\ny\"\n"
	set s [extmem sorter lines -key -r -ctx $ctx]
	$s push_file [lindex $a 0]
	$s push zz
	$s write_file $dir/g
	equal [slurp g] zz\nc,1\nb,2\na,10\n
	$s clear
	equal [[$s push {y {} x}] read] {y x {}}
}

check vector {
	set model [some 1000]
	set v [extmem vector <I -ctx $ctx]
	$v push_many $model
	equal [all $v] $model
	$v set 4 7
	lset model 4 7
	$v push 8
	lappend model 8
	equal [list [$v get 4] [$v size] [$v read 998]] [list 7 1001 [lrange $model 998 end]]
	fails EM_ERR_RANGE { $v get 1001 }
	equal [$v read_many {4 0 1000}] [list 7 [lindex $model 0] 8]
	$v write 1 {1 2}
	set model [lreplace $model 1 2 1 2]
	equal [expr {[$v find {apply {{n} {expr {$n == 2}}}}] <= 2}] 1
	equal [list [$v find {apply {args {return 0}}}] [$v count {apply {args {return 1}}}]] {{} 1001}
	set ::seen {}
	$v for_each {apply {{at items} { equal $at [llength $::seen]; lappend ::seen {*}$items }}}
	equal $::seen $model
	$v mutate {apply {{at items} { lmap n $items {expr {$n + 1}} }}}
	set model [lmap n $model {expr {$n + 1}}]
	equal [all $v] $model
	$v sort -key -f0
	equal [all $v] [lsort -integer -decreasing $model]
	$v shuffle 3
	$v sort -cmp {apply {{a b} {expr {$b - $a}}}}
	$v reverse
	equal [all $v] [lsort -integer $model]
	$v clear
	equal [$v size] 0
}

check "deque, stack, queue against lists" {
	set d [extmem deque <q -ctx $ctx]
	set model {}
	for {set i 0} {$i < 1000} {incr i} {
		set item [rand 1000]
		switch [rand 5] {
			0 { $d push_front $item; set model [linsert $model 0 $item] }
			1 - 2 { $d push_back $item; lappend model $item }
			3 { equal [$d pop_front] [lindex $model 0]; set model [lrange $model 1 end] }
			default { equal [$d pop_back] [lindex $model end]; set model [lrange $model 0 end-1] }
		}
	}
	equal [all $d] $model
	set s [extmem stack <q -ctx $ctx]
	$s push_many {1 2 3}
	equal [list [$s peek] [$s pop] [$s pop_many 9] [$s size]] {3 3 {1 2} 0}
	set q [extmem queue 8 -ctx $ctx]
	$q push abcdefgh
	$q push_packed 12345678
	equal [list [$q front] [$q back] [$q pop] [$q pop_packed 5]] {abcdefgh 12345678 abcdefgh 12345678}
	fails ARGUMENT { $q push short }
	equal [dict get [$s stats] records] 0
}

check "priority queues" {
	set q [extmem pq <qI -key -f0 -stable 1 -ctx $ctx]
	for {set i 0} {$i < 500} {incr i} {
		lappend list [list [rand 50] $i]
		$q push [lindex $list end]
	}
	set list [lsort -integer -decreasing -index 0 $list]
	equal [$q top] [lindex $list 0]
	set first [$q pop_until {40 0}]
	equal $first [lmap item $list { if {[lindex $item 0] <= 40} { break }; set item }]
	equal [$q pushpop {99 1}] {99 1}
	equal [lindex [$q items [$q next_packed]] 0] [lindex $list [llength $first]]
	set r [extmem radixheap >IH -key f1 -ctx $ctx]
	$r push_many {{1 7} {2 3}}
	equal [list [$r pop] [$r last] [$r top]] {{2 3} 3 {1 7}}
}

check "tree against a dict" {
	set tree [extmem btree >IH <d4s -ctx $ctx]
	set model {}
	for {set i 0} {$i < 500} {incr i} {
		set key [list [rand 20] [rand 10]]
		set there [dict exists $model $key]
		if {[rand 3] == 0} {
			equal [$tree erase $key] $there
			dict unset model $key
		} else {
			set value [list [expr {rand()}] four]
			$tree put $key $value
			dict set model $key $value
		}
		equal [$tree exists $key] [dict exists $model $key]
		equal [$tree get $key] [expr {[dict exists $model $key] ? [dict get $model $key] : ""}]
	}
	set keys [lsort -integer -index 0 [lsort -integer -index 1 [dict keys $model]]]
	set wanted [lmap key $keys { list $key [dict get $model $key] }]
	equal [all $tree] $wanted
	equal [all $tree {} {} 1] [lreverse $wanted]
	set forth [lmap item $wanted {
		lassign [lindex $item 0] x y
		if {$x * 100 + $y < 500 || $x * 100 + $y >= 705} { continue }
		set item
	}]
	equal [all $tree {5 0} {7 5}] $forth
	equal [all $tree {5 0} {7 5} 1] [lreverse $forth]
	equal [$tree count {5 0} {7 4}] [llength $forth]
	$tree verify
	$tree save $dir/tree
	set saved [extmem btree >IH <d4s -path $dir/tree -ctx $ctx]
	equal [list [$saved first] [$saved last]] [list [lindex $wanted 0] [lindex $wanted end]]
	equal [$tree erase_range {5 0} {7 5}] [llength $forth]
	set loaded [extmem btree <Q <Q -ctx $ctx]
	$loaded load [[extmem sorter <QQ -key f0 -ctx $ctx] push {{3 9} {1 1}}]
	equal [list [$loaded get 3] [$loaded get 1] [$loaded get 2] [$loaded size]] {9 1 {} 2}
	set c [$loaded cursor]
	equal [list [$c seek 2 [extmem constant EM_BTREE_GE]] [$c get] [$c next] [$c prev]] {0 {3 9} {} {3 9}}
	$c erase
	equal [list [$loaded pop_first] [$loaded size]] {{1 1} 0}
}

check "ranges of a tree by a command" {
	set tree [extmem btree >IH <d -leaf_bytes 4096 -ctx $ctx]
	for {set i 0} {$i < 1000} {incr i} { $tree put [list [expr {$i / 10}] [expr {$i % 10}]] [expr {$i / 2.0}] }
	foreach bounds {{} {{5 0} {70 5}} {{} {0 5}} {{99 8}} {{7 5} {5 0}}} {
		lassign {{} 0} ::seen ::calls
		$tree for_each {apply {{at items} {
			equal $at [llength $::seen]
			incr ::calls
			lappend ::seen {*}$items
		}}} {*}$bounds
		equal $::seen [all $tree {*}$bounds]
		if {$bounds eq ""} { equal [expr {$::calls > 1}] 1 }
	}
	equal [list [catch {$tree for_each {apply {args {error mine}}} {5 0}} message] $message] {1 mine}
	fails ARGUMENT { $tree for_each {apply {args {}}} 1 }
	set tree [extmem btree <Q {} -ctx $ctx]
	$tree upsert_many [list 3 1 2]
	$tree for_each {apply {{at items} { set ::seen $items }}} 2
	equal $::seen {2 3}
}

check "many ranges of a tree by a command" {
	set tree [extmem btree <Q <d -leaf_bytes 4096 -ctx $ctx]
	for {set i 1} {$i <= 1000} {incr i} { $tree put [expr {2 * $i}] [expr {$i / 2.0}] }
	lassign {{1200 7 101} {1999 7 1301}} from to
	foreach bounds [list [list $from $to] [list [binary format w* $from] $to] [list $from] [list {} $to]] {
		set ::seen {0 {} 1 {} 2 {}}
		$tree for_each_many {apply {{i items} { dict lappend ::seen $i {*}$items }}} {*}$bounds
		for {set i 0} {$i < 3} {incr i} {
			set ends [lmap all [list $from $to] some [lrange [concat $bounds {{}}] 0 1] {
				expr {$some eq "" ? "" : [lindex $all $i]}
			}]
			equal [dict get $::seen $i] [all $tree {*}$ends]
		}
	}
	equal [list [catch {$tree for_each_many {apply {args {error mine}}} $from $to} message] $message] {1 mine}
	fails EM_ERR_INVAL { $tree for_each_many {apply {args {}}} $from {4 5} }
	equal [list [catch {$tree for_each_many list $from {4 5}} message] $message] {1 {3 ranges begin, and 2 end}}
	fails EM_ERR_INVAL { $tree for_each_many {apply {args {}}} {} }
	fails ARGUMENT { $tree for_each_many {apply {args {}}} $from {1 2 x} }
}

check "log, contexts, interp cancel" {
	set ::lines {}
	set own [extmem context -memory 4M -dirs [list $dir] -log {apply {{level line} {lappend ::lines $line}}}]
	extmem sort {2 1} <Q -ctx $own
	equal [expr {[llength $::lines] > 0}] 1
	equal [list [$own memory] [[extmem context memory=8M,threads=1] threads]] {4194304 1}
	$own cancel
	fails EM_ERR_CANCELED { extmem sort {2 1} <Q -ctx $own }
	set s [extmem sorter <Q -ctx $ctx -run_records 1000 -progress {apply {args {interp cancel {}; return 0}}}]
	set data [random 1600000]
	equal [catch { while 1 { $s push_packed $data } } message] 1
	equal [string match "*cancel*" $message] 1
}

check "streams: nodes" {
	proc odd {some} { lmap n $some { expr {$n != 2} } }
	equal [[[streamed {1 2 3}] filter odd] read] {1 3}
	proc both {some} { concat {*}[lmap n $some { list [list $n -$n] [list $n $n] }] }
	equal [[[streamed {1 2}] flatmap both <qq] read] {{1 -1} {1 1} {2 -2} {2 2}}
	set ::seen 0
	proc see {some} { incr ::seen [llength $some]; return }
	proc sum {sum some} { expr "$sum + [join $some +]" }
	equal [[[[streamed {1 1 2}] inspect see] reduce sum] read] {2 2}
	equal $::seen 3
	equal [[[streamed {7 7}] unique {} <QQ] read] {{7 2}}
	equal [[[[[streamed {1 2}] concat [streamed 9] [streamed 8]] slice 1 2] reverse] read] {9 2}
	equal [[[streamed {1 5}] merge [list [streamed 2] [streamed 3]]] read] {1 2 3 5}
	equal [[[streamed {1 5}] zip [list [streamed 2]] <QQ] read] {{1 2}}
	equal [[[streamed {1 2 3}] window 2 1 <QQ] read] {{1 2} {2 3}}
	proc pair {a b which} { expr {10 * $a + ($which eq "both" ? $b : 0)} }
	equal [[[streamed {1 2 2}] join [streamed {2 3}] left f0 f0 <Q pair] read] {10 22 22}
	equal [[[streamed {1 2}] join [streamed 2] inner {} {} <QQ] read] {{2 2}}
	lassign [[streamed {4 1}] tee 1] a b
	$a batch 1
	equal [$a read] {4 1}
	equal [[$b prefixsum] read] {4 5}
	fails EM_ERR_USER { [[streamed 1] map {apply {some {binary format a3 123}}}] read }
}

check "streams: where they come from and go to" {
	set v [extmem vector <Q -ctx $ctx]
	set s [extmem sorter <Q -ctx $ctx]
	equal [list [[streamed {7 8}] to $v] [[streamed {3 1}] to $s]] {2 2}
	equal [[streamed [$s read]] to $v] 2
	equal [all $v] {7 8 1 3}
	equal [[streamed 5] tofile $dir/out] 1
	equal [[extmem streamfile <Q [list $dir/out $dir/out] -ctx $ctx] read] {5 5}
	foreach kind {stack queue deque pq} {
		set c [extmem $kind <Q -ctx $ctx]
		equal [list [[streamed {5 6}] to $c] [$c size]] {2 2}
	}
	equal [[streamed {5 6}] to [extmem btree <Q {} -ctx $ctx]] 2
}

check "streams: owners, and ends half-way" {
	proc endless {} { extmem stream <Q {apply {{} {return 1}}} -ctx $::ctx }
	set input [endless]
	set node [$input slice 1]
	fails EM_ERR_STATE { $input packednext }
	equal [$input closed] 1
	$input close
	equal [$node items [$node packednext]] 1
	fails EM_ERR_INVAL { $node merge [list $node] }
	equal [$node items [$node packednext]] 1
	proc same {some} { return $some }
	for {set i 0} {$i < 50} {incr i} {
		lassign [[[[endless] map same] concat [[endless] filter same]] tee] a b
		$a packednext
		$b packednext
		$a close
		if {$i % 2} { $b destroy }
	}
	set ::again [[endless] map {apply {some {$::again packednext}}}]
	fails EM_ERR_BUSY { $::again packednext }
	set ::again [[endless] map {apply {some {$::again close; return $some}}}]
	fails EM_ERR_STATE { $::again packednext }
}

check runs {
	set runs [extmem runs <q -ctx $ctx -memory 1M -run_records 500]
	set model [some 3000 500]
	[$runs push $model] finish
	set model [lsort -integer $model]
	set whole [$runs merge]
	equal [expr {[$whole packednext] ne ""}] 1
	equal [[$runs merge 100 200] read] [lmap n $model { if {$n < 100 || $n >= 200} { continue }; set n }]
	equal [dict get [$runs stats] readers] 1
	fails EM_ERR_STATE { $runs clear }
	$whole close
	equal [[$runs merge] read] $model
	equal [[$runs merge "" "" 5 2] read] [lrange $model 5 6]
	equal [[$runs merge "" "" 0 0] read] {}
	fails EM_ERR_STATE { $runs push 1 }
	$runs clear
	[[$runs append {1 5}] append 7] end_run
	fails EM_ERR_FORMAT { $runs append {5 2} }
	[$runs feed [streamed {9 8}]] feed [streamed {2 3}] 1
	equal [[[[$runs sink] push 0] finish] size] 1
	equal [[$runs merge] read] {0 1 2 3 5 7 8 9}
	equal [dict get [$runs stats] pushed] 8
}

check "runs that combine, and watch" {
	for {set i 0} {$i < 5000} {incr i} {
		set key [rand 20]
		lappend list [list $key 1]
		dict incr counts $key
	}
	set runs [extmem runs <qq -key f0 -combine add -run_records 1000 -progress {apply {args {return 0}}} -ctx $ctx]
	[$runs push $list] finish
	set reduced [[extmem stream <qq [once $list] -ctx $ctx] sortreduce add f0]
	foreach of [list [$runs merge] $reduced] {
		equal [concat {*}[$of read]] [lsort -integer -stride 2 $counts]
	}
	equal [list [dict get [$reduced runs_info] pushed] [dict get [$reduced graph_info] sorts]] {5000 1}
	set bad [extmem runs <q -combine mine -ctx $ctx]
	$bad push {1 1}
	equal [list [catch { $bad finish } message] $message] {1 {of the caller}}
	fails EM_ERR_USER { $bad finish }
	$bad clear
	[$bad push 1] finish
	# What is merged lives without its runs, and so does its function.
	set runs [extmem runs <qq -key f0 -ctx $ctx -combine add -run_records 2]
	set merged [[[$runs push {{3 1} {3 1} {1 1} {3 1} {1 1}}] finish] merge]
	$runs destroy
	equal [$merged read] {{1 2} {3 3}}
}

check "streams on containers, and sinks" {
	for {set i 0} {$i < 10} {incr i} {
		set v [extmem vector <q -ctx $ctx]
		$v push_many {1 2 3 4}
		set order [list $v [$v stream 1] [$v stream 0 3 1] [$v sink 1]]
		equal [lmap s [lrange $order 1 2] { $s read }] {{2 3 4} {3 2 1}}
		[[lindex $order 3] push {9 8}] finish
		equal [$v get 1] 9
		set used [$ctx memory_used]
		while {[llength $order] > 0} {
			set at [rand [llength $order]]
			[lindex $order $at] destroy
			set order [lreplace $order $at $at]
		}
		equal [expr {[$ctx memory_used] < $used}] 1
	}
	set ::v [extmem vector <q -ctx $ctx]
	$::v push 5
	set s [[$::v stream] map {apply {some {
		catch { $::v destroy }
		return $some
	}}}]
	equal [$s read] 5
	set tree [extmem btree <q <q -ctx $ctx]
	[[$tree sink] push {{1 10} {2 20} {3 30}}] finish
	equal [[$tree stream 2] read] {{2 20} {3 30}}
	set sorter [extmem sorter <q -ctx $ctx]
	[[$sorter sink] push {2 1}] finish
	equal [[$sorter stream] read] {1 2}
	foreach kind {stack queue deque pq} {
		set c [extmem $kind <Q -ctx $ctx]
		[$c sink] push {5 6}
		equal [lsort [[$c stream] read]] {5 6}
	}
	set ::got {}
	set sink [extmem sink <q {apply {args { lappend ::got {*}[lindex $args 0] [llength $args] }}} -ctx $ctx]
	equal [list [[streamed {4 5}] to $sink] [[streamed 6] to $sink] [$sink size]] {2 1 3}
	$sink finish
	equal $::got {4 5 1 6 1 0}
	fails EM_ERR_STATE { $sink push 1 }
	set sink [extmem sink <q mine -ctx $ctx]
	equal [list [catch { $sink push 1 } message] $message] {1 {of the caller}}
	fails EM_ERR_USER { $sink push 1 }
	[[extmem sinkfile <q $dir/sunk -ctx $ctx] push {1 2}] finish
	equal [slurp sunk] [binary format w* {1 2}]
	equal [[streamed {1 2}] to [extmem sinkdiscard <Q -ctx $ctx]] 2
}

check split {
	set odd [extmem vector <Q -ctx $ctx]
	set third [extmem sorter <Q -ctx $ctx]
	set list [some 1000]
	proc choose {some} { lmap n $some { expr {$n % 3 ? $n % 2 : 2} } }
	set sinks [list [$odd sink] [$third sink]]
	set rest [[[streamed $list] split choose {*}$sinks] read]
	[lindex $sinks 0] finish
	foreach n $list { lappend wanted([choose $n]) $n }
	equal [list $rest [all $odd] [$third read]] [list $wanted(0) $wanted(1) [lsort -integer $wanted(2)]]
	foreach bad {3 -1 x {} {0 0}} {
		set node [[streamed 1] split [list apply [list some [list return $bad]]] \
			[extmem sinkdiscard <Q -ctx $ctx]]
		equal [catch { $node read }] 1
	}
	set node [[streamed 1] split mine [extmem sinkdiscard <Q -ctx $ctx]]
	equal [list [catch { $node read } message] $message] {1 {of the caller}}
	# Sinks that are gone, and what they are on, too.
	set gone [extmem vector <Q -ctx $ctx]
	set sink [$gone sink]
	set node [[streamed {1 2}] split {apply {some { list 0 1 }}} $sink]
	$gone destroy
	$sink destroy
	equal [$node read] 1
}

check "records of any length" {
	set file [list [write lines "b\n#c\n\naa\n"]]
	proc all_lines {} { return [extmem streamfile lines [list $::dir/lines] -ctx $::ctx] }
	equal [[all_lines] read] [list b #c {} aa]
	set ::seen {}
	set kept [[all_lines] filter {apply {{some} { lmap line $some { expr {![string match #* $line]} } }}}]
	set kept [$kept inspect {apply {{some} { lappend ::seen {*}$some; return }}}]
	equal [list [[$kept sort -r] tofile $dir/sorted] [slurp sorted] $::seen] [list 3 "b\naa\n\n" {b {} aa}]
	proc lengths {some} { lmap line $some { string length $line } }
	equal [[[[all_lines] map lengths <Q] sort] read] {0 1 2 2}
	equal [[[[all_lines] concat [all_lines]] slice 3 2] read] {aa b}
	equal [[[all_lines] sort -u] read] [lsort {b #c {} aa}]
	equal [list [[all_lines] tofile $dir/zeros {kind 0 delimiter 0}] [slurp zeros]] [list 4 b\0#c\0\0aa\0]
	set sink [extmem sinkfile lines $dir/more -format {kind 1 width 1} -ctx $ctx]
	equal [[[[$sink push {xyz {}}] push w] finish] size] 3
	equal [slurp more] \3xyz\0\1w
	equal [[extmem streamfile lines [list $dir/more] -format {kind 1 width 1} -ctx $ctx] read] {xyz {} w}
	fails EM_ERR_NOTSUP { [all_lines] reverse }
	proc joined {args} { [[[all_lines] sort] join [[all_lines] sort] inner {} {} {} {*}$args] read }
	equal [joined {apply {args {}}}] {{} {} {} {}}
	fails EM_ERR_INVAL { joined {} ab }
	fails EM_ERR_NOENT { [extmem streamfile lines $dir/none -ctx $ctx] read }
	equal [catch { [[all_lines] map {apply {some {return $some}}}] read }] 1
	equal [list [catch { [[all_lines] filter mine] read } message] $message] {1 {of the caller}}
}

check "streams, sinks and runs: destroyed in any order" {
	proc first {sum more} { return $sum }
	proc same {some} { return $some }
	set used [$ctx memory_used]
	for {set i 0} {$i < 30} {incr i} {
		set v [extmem vector <Q -ctx $ctx]
		set runs [extmem runs <Q -ctx $ctx -combine first]
		[$runs push {1 2 2}] finish
		set sinks [list [$v sink] [extmem sinkdiscard <Q -ctx $ctx]]
		lassign [[[$runs merge] split same {*}$sinks] tee] a b
		set objects [list $v $runs {*}$sinks $a $b [$runs merge 1 2] [$v stream]]
		catch { $a packednext }
		while {[llength $objects] > 0} {
			set at [rand [llength $objects]]
			[lindex $objects $at] destroy
			set objects [lreplace $objects $at $at]
		}
	}
	equal [expr {[$ctx memory_used] - $used < 3000}] 1
}

check "what is no number, or half an option" {
	equal [extmem sort {1 NaN -1} <d -ctx $ctx] {-1.0 1.0 NaN}
	fails ARGUMENT { extmem sorter <Q -ctx }
	fails ARGUMENT { extmem sort [list \u65e5 a] lines -ctx $ctx }
	set tree [extmem btree <Q <Q -ctx $ctx]
	$tree put 1 2
	fails EM_ERR_STATE { $tree foreach item { $tree close } }
}
