# SPDX-License-Identifier: BSL-1.0
# External memory: sorting and containers for more records than memory holds, on the disks of libextmem.
#
#   extmem sort {3 1 2} <Q -memory 64M
#   extmem sortfile in.csv out.csv -key "-t, -k2,2nr"
#   set s [extmem sorter <Q]; $s push {3 1 2}; $s foreach n {puts $n}; $s destroy
#
# Records are lines, or have a format: "<QI8s" (fields f0, f1, f2), or a number of bytes.  An item is the value of its
# field, or a list of values.  What is many is a list of items; methods with packed in their names take and give byte
# arrays of records side by side.  Options are the fields of those in <extmem/*.h> by name, and -ctx.  What is not
# there is the empty string.  Failures have the errorcode {EXTMEM EM_ERR_... details}:
# try ... trap {EXTMEM EM_ERR_NOENT}.
package require Tcl 8.6

namespace eval ::extmem {
	variable default {}
	variable objects 0
	namespace export *
	namespace ensemble create -subcommands {context order sorter top vector deque stack
		queue pq radixheap btree runs stream streamfile sink sinkfile sinkdiscard sort
		sortfile mergefiles uniquefile topfile shufflefile checkfile version constant}
}

proc ::extmem::version {} { core::em_version }
proc ::extmem::constant {name} { return [set core::$name] }
proc ::extmem::defaultContext {} {
	variable default
	if {[info commands $default] eq "" || [$default closed]} { set default [context] }
	return $default
}

# -name value ... as a dict; the context comes out beside, and what is named of ours.
proc ::extmem::Split {arguments args} {
	set rest {}
	if {[llength $arguments] % 2} {
		return -code error -errorcode {EXTMEM ARGUMENT} "the option \"[lindex $arguments end]\" has no value"
	}
	foreach {name value} $arguments {
		if {![string match -* $name]} {
			return -code error -errorcode {EXTMEM ARGUMENT} "options are -name value, and not \"$name\""
		}
		dict set rest [string range $name 1 end] $value
	}
	set own {}
	foreach name [list ctx {*}$args] {
		lappend own [expr {[dict exists $rest $name] ? [dict get $rest $name] : ""}]
		dict unset rest $name
	}
	set ctx [lindex $own 0]
	return [list [expr {$ctx eq "" ? [defaultContext] : $ctx}] $rest {*}[lrange $own 1 end]]
}

# Run a body for each item in the scope of who called a method, which counts them as seen.
proc ::extmem::Run {level name items body} {
	upvar $level $name item
	upvar 1 seen seen
	set seen 0
	foreach item $items {
		incr seen
		set code [catch {uplevel $level $body} result options]
		switch $code {
			0 - 4 {}
			3 {return 1}
			default {
				dict incr options -level 2
				return -options $options $result
			}
		}
	}
	return 0
}

# Files: one or several into one, each in a list.  Those that write return statistics.
proc ::extmem::Files {arguments args} {
	set own [lassign [Split $arguments records key {*}$args] ctx rest records key]
	return [list [$ctx handle] [MakeOrder [expr {$records eq "" ? "lines" : $records}] $key $ctx] $rest {*}$own]
}

# Call with the handle of an order that nobody else has.
proc ::extmem::With {order call args} { try { return [core::$call {*}$args] } finally { $order destroy } }

foreach {name function} {sortfile em_sort_files mergefiles em_merge_files} {
	proc ::extmem::$name {inputs output args} "
		lassign \[Files \$args\] ctx order rest
		return \[With \$order $function \$ctx \[\$order handle\] \$inputs \$output \$rest\]
	"
}

proc ::extmem::uniquefile {inputs output args} {
	lassign [Files $args count presorted min_count max_count] ctx order rest count presorted least most
	set own [dict create min_count $least max_count $most count $count presorted $presorted sort $rest]
	return [With $order em_unique_files $ctx [$order handle] $inputs $output $own]
}

proc ::extmem::topfile {inputs output k args} {
	lassign [Files $args start] ctx order rest start
	return [With $order em_top_files $ctx [$order handle] $inputs [expr {$start eq "" ? 0 : $start}] \
		$k $output $rest]
}

proc ::extmem::shufflefile {inputs output args} {
	lassign [Split $args records] ctx rest records
	set bytes [lindex [core::format [list [expr {$records eq "" ? "lines" : $records}]]] 0]
	return [core::em_shuffle_files [$ctx handle] $bytes $inputs $output $rest]
}

# What was found; first: the first record that is not in its place.
proc ::extmem::checkfile {path args} {
	lassign [Files $args] ctx order rest
	variable first {}
	set note {apply {{number record} {lappend ::extmem::first $record}}}
	set found [With $order em_check_file $ctx [$order handle] $path $rest $note]
	return [dict replace $found first [lindex $first 0]]
}

# Sorted: a list of a list.
proc ::extmem::sort {items format args} {
	set s [sorter $format {*}$args]
	try { return [[$s push $items] read] } finally { $s destroy }
}

proc ::extmem::Name {} { return ::extmem::object[incr ::extmem::objects] }
proc ::extmem::MakeOrder {format key ctx args} { return [Order create [Name] $format $key $ctx {*}$args] }

# What has a handle: closed by close, and gone by destroy.
oo::class create ::extmem::Object {
	variable handle prefix order
	destructor {
		if {[info exists handle]} { ::extmem::core::release $handle }
		if {[info exists order]} { catch {$order destroy} }
	}
	method handle {} { return $handle }
	method close {} { ::extmem::core::close $handle }
	method closed {} { return [::extmem::core::closed $handle] }
	method cancel {} { ::extmem::core::cancel $handle }
	method call {name args} { return [::extmem::core::$prefix$name $handle {*}$args] }
	# The same, and then itself.
	method Then {name args} {
		my call $name {*}$args
		return [self]
	}
	method stats {} { return [my call stats_get] }
	method json {} { return [dict get [my stats] json] }
	method items {packed} { return [::extmem::core::items $handle [binary format a* $packed]] }
	method packed {items} { return [::extmem::core::packed $handle [list {*}$items]] }
}

# Methods that call the function of the module of their name.
proc ::extmem::Calls {class functions} {
	foreach function $functions {
		lassign [split $function =] method name
		oo::define $class method $method args "my call [expr {$name eq "" ? $method : $name}] {*}\$args"
		oo::define $class export $method
	}
}

# Budgets, scratch disks, threads: -memory 64M, ..., or one text (memory=64M,threads=2,dir=/fast).
oo::class create ::extmem::Context {
	superclass ::extmem::Object
	variable handle prefix
	constructor {args} {
		set prefix em_ctx_
		set handle [if {[llength $args] == 1} {::extmem::core::em_ctx_open_text [lindex $args 0] {}} else {
			::extmem::core::em_ctx_open [lindex [::extmem::Split [list -ctx none {*}$args]] 1]
		}]
	}
	method stats {} { return [::extmem::core::em_ctx_io_stats_get $handle] }
	method cancel {} { my call cancel }
}
::extmem::Calls ::extmem::Context {memory memory_used memory_peak threads backend isa}

# How records are sorted.  -key: fields (f1,-f0, where - is descending), or options of the command for lines
# (-t, -k3,3nr); -keys: a command prefix that gets a list of items and returns one of numbers; -cmp: one that gets two
# items, slow.
oo::class create ::extmem::Order {
	superclass ::extmem::Object
	variable handle prefix format
	constructor {format_ key ctx {keys {}} {cmp {}}} {
		lassign [list em_order_ $format_] prefix format
		set open [expr {$cmp ne "" ? "em_order_cmp" : $keys ne "" ? "em_order_key_fn" : "order"}]
		set spec [if {$open eq "order"} {list $format $key} else {list $format {} [concat $cmp $keys]}]
		set handle [::extmem::core::$open [$ctx handle] $spec]
	}
	method name {} { return [my call name] }
	method compare {a b} {
		if {$format eq "lines"} { return [::extmem::core::em_text_compare $handle $a $b] }
		return [my call compare $a $b]
	}
}

proc ::extmem::order {format args} {
	lassign [Split $args key keys cmp] ctx rest key keys cmp
	return [MakeOrder $format $key $ctx $keys $cmp]
}

# Push, finish, pull: what sorters and tops have in common.
oo::class create ::extmem::Pull {
	superclass ::extmem::Object
	variable handle prefix order finished format ctx
	method Begin {format_ arguments name args} {
		lassign [list em_${name}_ 0 $format_] prefix finished format
		lassign [::extmem::Split $arguments key keys cmp] ctx rest key keys cmp
		set order [::extmem::MakeOrder $format $key $ctx $keys $cmp]
		set handle [::extmem::core::${prefix}open [$ctx handle] [$order handle] {*}$args $rest]
	}
	method order {} { return $order }
	method push {items} { my Then [expr {$format eq "lines" ? "push_batch" : "push"}] [list {*}$items] }
	method push_packed {records} { my Then push [binary format a* $records] }
	method finish {} {
		set finished 1
		my Then finish
	}
	method Ended {} { if {!$finished} { my finish } }
	method finished {} { return $finished }
	# The next records side by side, or, of lines, in a list; empty behind the last.
	method next_packed {} { return [my call next] }
	method Batch {} {
		my Ended
		set batch [my call next]
		if {$format eq "lines" || [string length $batch] == 0} { return $batch }
		return [::extmem::core::items $handle $batch]
	}
	# What a loop that is left has not come to goes back, unless batches were read in it.
	method foreach {name body} {
		while {[llength [set items [my Batch]]] > 0} {
			set mark [my call back 0 0]
			try {
				if {[::extmem::Run 2 $name $items $body]} { return }
			} finally {
				if {$seen < [llength $items]} { catch {my call back $mark \
					[expr {[llength $items] - $seen}]} }
			}
		}
	}
	method read {} {
		for {set all {}} {[llength [set items [my Batch]]] > 0} {lappend all {*}$items} {}
		return $all
	}
	method size {} { return [my call pushed] }
}

oo::class create ::extmem::Sorter {
	superclass ::extmem::Pull
	variable finished
	constructor {format args} { my Begin $format $args sorter }
	method push_file {path} { my call push_file $path }
	method write_file {path} {
		my Ended
		my call pull_file $path
	}
	# Begin anew, also after a failure.
	method clear {} {
		my call clear
		set finished 0
	}
}

# The records of ranks start, ..., start + k - 1: -start.
oo::class create ::extmem::Top {
	superclass ::extmem::Pull
	constructor {format k args} {
		set start [expr {[dict exists $args -start] ? [dict get $args -start] : 0}]
		my Begin $format [dict remove $args -start] top $start $k
	}
}

# Any number of records of one format.
oo::class create ::extmem::Container {
	superclass ::extmem::Object
	variable handle prefix format ctx
	method Begin {name format_ ctx_ opts} {
		lassign [list em_${name}_ $format_ $ctx_] prefix format ctx
		set handle [::extmem::core::${prefix}open [$ctx handle] [dict replace $opts record_bytes $format]]
	}
	# Up to n records of what has so many left, side by side.
	method Some {name n left args} {
		set n [expr {$n eq "" ? $left : min($n, $left)}]
		return [lindex [my call $name {*}$args [expr {max($n, 0)}]] 0]
	}
	method size {} { return [my call size] }
	method push_many {items} { return [my call push_many [list {*}$items]] }
	method push_packed {records} { return [my call push_many [binary format a* $records]] }
}

# Positions are counted from 0.
oo::class create ::extmem::Sequence {
	superclass ::extmem::Container
	# Up to n records from a position, side by side; and as items.
	method read_packed {at {n ""}} {
		set size [my size]
		set n [expr {$n eq "" ? $size : $n}]
		return [my call read $at [expr {max(min($n, $size - $at), 0)}]]
	}
	method read {at {n ""}} { return [my items [my read_packed $at $n]] }
	method write {at items} { my call write $at [list {*}$items] }
	method foreach {name body} {
		for {set at 0} {$at < [my size]} {incr at 65536} {
			if {[::extmem::Run 2 $name [my read $at 65536] $body]} { return }
		}
	}
}

# With -path and -mode r, r+ or w, the file is the array.
oo::class create ::extmem::Vector {
	superclass ::extmem::Sequence
	variable format ctx
	constructor {format_ args} { my Begin vector $format_ {*}[::extmem::Split $args] }
	method All {name args} { return [my call $name 0 [my size] {*}$args] }
	method flush {{durable 0}} { my call flush $durable }
	method clear {} { my call resize 0 }
	method reverse {} { my All reverse }
	method shuffle {{seed 0} args} { my All shuffle $seed [lindex [::extmem::Split $args] 1] }
	# Items of a list of positions, many read at a time.
	method read_many {positions} { return [my items [my call read_many $positions]] }
	# In place; returns how many are left in front, which are fewer with -unique 1.
	method sort {args} {
		lassign [::extmem::Split $args key keys cmp] - rest key keys cmp
		set order [::extmem::MakeOrder $format $key $ctx $keys $cmp]
		return [::extmem::With $order em_vector_sort [my handle] 0 [my size] [$order handle] $rest]
	}
	# A command prefix gets a position and a list of items; a list that one of mutate returns takes their place.
	method for_each {command} { my All for_each $command }
	method mutate {command} { my All mutate $command }
	# The first position whose item is so, or nothing; how many are.
	method find {command} {
		set at [my All find $command]
		return [expr {$at eq "" || $at >= [my size] ? "" : $at}]
	}
	method count {command} { return [my All count $command] }
}
::extmem::Calls ::extmem::Vector {get set push resize reserve shrink export}

oo::class create ::extmem::Deque {
	superclass ::extmem::Sequence
	constructor {format args} { my Begin deque $format {*}[::extmem::Split $args] }
	method push_many {items} { return [my call push_back_many [list {*}$items]] }
	method push_packed {records} { return [my call push_back_many [binary format a* $records]] }
}
::extmem::Calls ::extmem::Deque {get set push_back push_front pop_back pop_front back front clear prefetch}

# pop and what looks return an item, or nothing, which the size tells from one; pop_many a list.
oo::class create ::extmem::Ends {
	superclass ::extmem::Container
	method pop_packed {{n ""}} { return [my Some pop_many $n [my size]] }
	method pop_many {{n ""}} { return [my items [my pop_packed $n]] }
}
::extmem::Calls ::extmem::Ends {push pop clear}
foreach {class name more} {Stack stack {peek prefetch} Queue queue {front back prefetch}} {
	oo::class create ::extmem::$class [::format {
		superclass ::extmem::Ends
		constructor {format args} { my Begin %s $format {*}[::extmem::Split $args] }
	} $name]
	::extmem::Calls ::extmem::$class $more
}

# The first record of an order comes out, whatever has been pushed: -key, -keys, -cmp, -stable 1.
oo::class create ::extmem::PriorityQueue {
	superclass ::extmem::Ends
	variable handle prefix order format ctx
	constructor {format_ args} {
		lassign [::extmem::Split $args key keys cmp] ctx rest key keys cmp
		lassign [list em_pq_ $format_] prefix format
		set order [::extmem::MakeOrder $format $key $ctx $keys $cmp]
		set handle [::extmem::core::em_pq_open [$ctx handle] [dict replace $rest order [$order handle]]]
	}
	# Up to n items that come before a bound.
	method pop_until {bound {n ""} {inclusive 0}} {
		set flags [expr {$inclusive ? $::extmem::core::EM_PQ_INCLUSIVE : 0}]
		set n [expr {$n eq "" ? [my size] : min($n, [my size])}]
		lassign [my call pop_until $bound $flags $n] some got
		return [my items [string range $some 0 [expr {$got eq "" ? -1 : $got * [my call record_bytes] - 1}]]]
	}
	# The next records, which are taken out, side by side; empty: there are none.
	method next_packed {} { return [my call next] }
}
::extmem::Calls ::extmem::PriorityQueue {top pushpop replace}

# A queue for keys that are numbers and never go back: -key names the field.
oo::class create ::extmem::RadixHeap {
	superclass ::extmem::Ends
	constructor {format args} {
		lassign [::extmem::Split $args key] ctx rest key
		lassign [::extmem::core::format [list $format [expr {$key eq "" ? "f0" : $key}]]] - type at flags
		my Begin radix_heap $format $ctx [dict replace $rest key_type $type key_offset $at key_flags $flags]
	}
}
::extmem::Calls ::extmem::RadixHeap {top last}

# A B+-tree: formats of key and value, both with any number of fields.  -path: one that was saved, to be read; -order.
oo::class create ::extmem::BTree {
	superclass ::extmem::Container
	variable handle prefix order set format ctx
	constructor {key value args} {
		lassign [::extmem::Split $args order path] ctx rest fields path
		lassign [list em_btree_ [expr {$value eq ""}] $key|$value] prefix set format
		set order [::extmem::MakeOrder $format $fields $ctx]
		set open [expr {$path eq "" ? "em_btree_open" : "em_btree_open_file"}]
		set handle [::extmem::core::$open [$ctx handle] {*}[if {$path ne ""} {list $path}] \
			[$order handle] $rest]
	}
	method order {} { return $order }
	# The value of a key, of a set 1; or nothing, which exists tells from a value that is empty.
	method get {key} { return [if {$set} {my exists $key} else {lindex [my call get $key] 1}] }
	method exists {key} { return [expr {[my call get $key] ne ""}] }
	method put {key {value ""}} { my call upsert [if {$set} {set key} else {list $key $value}] }
	# Whether it was there.
	method erase {key} { return [expr {[my call erase $key] ne ""}] }
	# Fill an empty tree with what a sorter of its order has: each block is written once.
	method load {sorter} {
		if {![$sorter finished]} { $sorter finish }
		my call load_sorted [$sorter handle] {}
	}
	# For each item with from <= key < to, "" being open ends: a list of key and value, of a set the key; with
	# -back 1 the last one first.  The tree may change meanwhile.
	method foreach {name body {from ""} {to ""} {back 0}} {
		set cursor [::extmem::core::em_btree_cursor_open $handle]
		set begin 1
		try {
			while {[set item [::extmem::core::btree_walk $cursor $from $to $begin $back]] ne ""} {
				if {[::extmem::Run 2 $name [list $item] $body]} { return }
				set begin 0
			}
		} finally {
			::extmem::core::release $cursor
		}
	}
	# A command prefix gets a position and a list of items with from <= key < to, many at a time; positions are
	# counted from 0 in what is visited.
	method for_each {command {from ""} {to ""}} { my call for_each $from $to $command }
	# It gets the number of the range, from 0, and a list of items, for many ranges: from and to are lists, or one
	# of them "".  Each part of the tree is read once, and ranges that overlap take turns.
	method for_each_many {command from {to ""}} { my call for_each_many $from $to $command }
	method cursor {} { return [::extmem::Cursor create [::extmem::Name] $handle] }
}
::extmem::Calls ::extmem::BTree {save clear flush verify upsert_many insert_many erase_many count erase_range first=min
	last=max pop_first=pop_min pop_last=pop_max}

# A place in a tree, which stays where it is while that changes.  seek key how is 0 if there is one; how is
# [extmem constant EM_BTREE_...].
oo::class create ::extmem::Cursor {
	superclass ::extmem::Object
	variable handle prefix
	constructor {tree} {
		set prefix em_btree_cursor_
		set handle [::extmem::core::em_btree_cursor_open $tree]
	}
}
::extmem::Calls ::extmem::Cursor {seek get next=next prev erase}

foreach {name class} {context Context sorter Sorter top Top vector Vector deque Deque stack Stack queue Queue
	pq PriorityQueue radixheap RadixHeap btree BTree runs Runs} {
	proc ::extmem::$name args "uplevel 1 \[list ::extmem::$class create \[::extmem::Name\] {*}\$args\]"
}
package provide extmem 0.1.0
