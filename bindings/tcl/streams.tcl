# SPDX-License-Identifier: BSL-1.0
# Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk; sinks, to
# which they are pushed; and runs, which streams are merged of.  A stream that a node is made of belongs to that, and is
# closed.  What a command fails with comes out of the call that pulled.
#
# A stream or sink may be used as long as it is open, also when what it is on was closed, which is done then.  Streams
# of lines have strings of any length; nodes of them are filter, inspect, flatmap, sort, unique, reduce, merge, set,
# join, tee, split, concat, slice, and map, which makes items of a format.
oo::define ::extmem::Object method prefix {} { return $prefix }

# What streams and sinks have in common.
oo::class create ::extmem::Flow {
	superclass ::extmem::Pull
	variable handle prefix ctx format finished
	constructor {ctx_ format_ handle_ {as ""}} {
		set kind [string tolower [namespace tail [info object class [self]]]]
		lassign [list em_${kind}_ $ctx_ $format_ $handle_ 1] prefix ctx format handle finished
		if {$as ne ""} { ::extmem::core::retype $handle [list [set format $as]] }
	}
	method format {} { return $format }
}
oo::class create ::extmem::Stream {
	superclass ::extmem::Flow
	variable handle ctx format
	# What a function of the module makes of this stream, or of others, too, with a format, or this one.
	method Made {handle_ {as ""}} { return [::extmem::Stream create [::extmem::Name] $ctx $format $handle_ $as] }
	method Node {name format_ args} { my Made [::extmem::core::$name $handle {*}$args] $format_ }
	method Several {name format_ others args} {
		my Made [::extmem::core::$name [list $handle {*}[lmap one $others {$one handle}]] {*}$args] $format_
	}
	# The same with the handle of an order by a key, for the first %; and by one of another format.
	method By {key method args} { my ByOf $format $key $method {*}$args }
	method ByOf {format_ key method args} {
		set order [::extmem::MakeOrder $format_ $key $ctx]
		set at [lsearch -exact $args %]
		try { my $method {*}[lreplace $args $at $at [$order handle]] } finally { $order destroy }
	}
	# A command gets a list of items and gives one: as many, of this format or another; any number; a truth for
	# each; nothing.
	method Ask {what command {format_ {}}} { my Node emb_stream_node $format_ $what 0 [list $command $format_] }
	method map {command {format {}}} { my Ask $::extmem::core::EMB_MAP $command $format }
	method flatmap {command {format {}}} { my Ask $::extmem::core::EMB_FLAT_MAP $command $format }
	method filter {command} { my Ask $::extmem::core::EMB_FILTER $command }
	method inspect {command} { my Ask $::extmem::core::EMB_INSPECT $command }
	# Of neighbours with equal keys one item: the command gets a sum and a list of items, and gives their sum.
	method reduce {command {key {}}} { my By $key Node emb_stream_reduce {} % [list $command {}] }
	method sort {{key {}} args} {
		my By $key Node em_stream_sort {} % [lindex [::extmem::Split [list -ctx none {*}$args]] 1]
	}
	# As both, and adds before anything is written; runs_info tells of it.
	method sortreduce {command {key {}} args} {
		set opts [lindex [::extmem::Split [list -ctx none {*}$args]] 1]
		my By $key Node emb_stream_sort_reduce {} % $opts [list $command {}]
	}
	# Of equal neighbours the first; counted: a format with a Q at its end, how many they were.  lines: these begin
	# with that, and a tab.
	method unique {{key {}} {counted {}}} {
		my By $key Node em_stream_unique $counted % \
			[expr {$counted eq "" ? 0 : $::extmem::core::EM_UNIQUE_COUNT}]
	}
	method concat {args} { my Several em_stream_concat {} $args }
	method merge {others {key {}}} { my By $key Several em_stream_merge {} $others % }
	# Records of all side by side, which have that format.
	method zip {others format_} { my Several em_stream_zip $format_ $others }
	# operation: union, intersection, difference, symmetric.
	method set {operation other {key {}}} {
		my By $key Node em_stream_set {} [$other handle] % \
			[::extmem::constant EM_SET_[string toupper $operation]]
	}
	# kind: inner, left, full, semi, anti; left, right: keys by which they are sorted.  The command gets two items,
	# and which of them there are: both, left or right; the other one is empty, as a line may be that is there.  Of
	# lines the format is empty; a command gives a line, and without it this has the fields of the keys, and then
	# the others, with a separator: a byte, or as those of `left'.
	method join {other kind left right {format_ {}} {command {}} {separator {}}} {
		my By $left ByOf [$other format] $right Node emb_stream_join $format_ [$other handle] \
			[::extmem::constant EM_JOIN_[string toupper $kind]] % % 0 $separator 0 \
			[expr {$command eq "" ? "" : [list $command $format_]}]
	}
	# It, of whose graph a command of phase, done, total is told how far that got, as graph_info says; what is true
	# stops it.
	method progress {command} { my Node emb_stream_progress {} [list $command {}] }
	# What stays, while a command of a list of items gives a number for each: 0, or that of the sink it goes to.
	method split {command args} { my Node emb_stream_split {} [lmap one $args {$one handle}] [list $command {}] }
	method slice {skip {take 18446744073709551615}} { my Node em_stream_slice {} $skip $take }
	method reverse {} { my Node em_stream_reverse {} 0 }
	# The field at that offset, a number of 64 bits, becomes its sum with those before.
	method prefixsum {{offset 0} {type {}}} {
		my Node em_stream_prefix_sum {} $offset [expr {$type eq "" ? $::extmem::core::EM_KEY_U64 : $type}]
	}
	method window {n step format_} { my Node emb_stream_window $format_ $n $step }
	# Two streams of all records; spill: what one has read and the other has not may go to scratch.
	method tee {{spill 0}} { return [lmap h [::extmem::core::emb_stream_tee $handle $spill 0] {my Made $h}] }
	# Push all to a sink or sorter, which may be given more, or a container: how many there were.
	method to {sink} {
		if {[$sink prefix] eq "em_sink_"} { return [my call pump [$sink handle]] }
		set n [if {[$sink prefix] eq "em_vector_"} {$sink size}]
		set moved [::extmem::core::emb_stream_to_[string range [$sink prefix] 3 end-1] \
			$handle [$sink handle] {*}$n]
		return [expr {$n eq "" ? $moved : $moved - $n}]
	}
	# To a file; own: fields of em_format, for records of any length.
	method tofile {path {own {}}} { return [::extmem::core::stream_to_path $handle [$ctx handle] $path $own] }
}
::extmem::Calls ::extmem::Stream {batch count packednext=next stats=sort_stats_get runs_info=runs_info_get
	graph_info=graph_info_get}

# Where records are pushed to.
oo::class create ::extmem::Sink {
	superclass ::extmem::Flow
	variable handle
	method push {many} {
		::extmem::core::emb_sink_push_lines $handle [list {*}$many]
		return [self]
	}
}
::extmem::Calls ::extmem::Sink {size=count}

# A stream of what a command prefix gives: a list of items, empty behind the last.  A sink of a command prefix, which
# gets a list of items, and nothing more when it is finished; and of nothing.
foreach {name class arguments call} {
	stream Stream {format command} {emb_stream_source [$ctx handle] 0 18446744073709551615 [list $command $format]}
	sink Sink {format command} {emb_sink_function [$ctx handle] 0 [list $command $format]}
	sinkdiscard Sink {format} {sink_none [$ctx handle] [list $format]}
} {
	proc ::extmem::$name [list {*}$arguments args] "set ctx \[lindex \[Split \$args\] 0\]
		return \[$class create \[Name\] \$ctx \$format \[core::$call\]\]"
}

# The records of files, one after the other; and a file, which is there when the sink is finished.  -format: fields of
# em_format, for records of any length.
foreach {name class call} {streamfile Stream stream_paths sinkfile Sink sink_path} {
	proc ::extmem::$name {format path args} "lassign \[Split \$args format\] ctx - own
		set handle \[core::$call \[\$ctx handle\] \[list \$format\] \$path \$own\]
		return \[$class create \[Name\] \$ctx \$format \$handle\]"
}

# What streams take records from, and sinks push them to: containers and sorters.
oo::define ::extmem::Object method Flow {class args} {
	my variable format ctx
	set name em_[string tolower $class]_[string range $prefix 3 end-1]
	return [::extmem::$class create [::extmem::Name] $ctx $format [::extmem::core::$name $handle {*}$args]]
}
foreach class {Container Sorter} {
	oo::define ::extmem::$class method stream {} { my Flow Stream }
	oo::define ::extmem::$class method sink {} { my Flow Sink }
}

# Up to n items from a position on, with back the last one first.
oo::define ::extmem::Sequence method stream {{at 0} {n ""} {back 0}} {
	set left [expr {max([my size] - $at, 0)}]
	my Flow Stream $at [expr {$n eq "" ? $left : min($n, $left)}] $back
}
# Over items from a position on, or behind the last one.
oo::define ::extmem::Vector method sink {{at ""}} { my Flow Sink [expr {$at eq "" ? [my size] : $at}] }
# Keys with from <= key < to.
oo::define ::extmem::BTree method stream {{from ""} {to ""}} { my Flow Stream $from $to }
oo::define ::extmem::BTree method sink {} { my Flow Sink {} }

# Sorted runs: formed once, merged as often as one likes, also in parts.  -merge_memory; -combine: a command that makes
# one of equal items, as of sortreduce.
oo::class create ::extmem::Runs {
	superclass ::extmem::Pull
	variable handle prefix order finished format ctx
	constructor {format_ args} {
		lassign [list em_runs_ 0 $format_] prefix finished format
		lassign [::extmem::Split $args key keys cmp combine merge_memory] ctx rest key keys cmp combine least
		set order [::extmem::MakeOrder $format $key $ctx $keys $cmp]
		set handle [::extmem::core::emb_runs_open [$ctx handle] [$order handle] \
			[dict create form $rest merge_memory $least] [expr {$combine eq "" ? "" : [list $combine {}]}]]
	}
	# Records of a sorted sequence, which goes on with the next call, and ends with end_run.
	method append {items} { my Then append [list {*}$items] }
	# All that a stream has, which stays open.
	method feed {stream {sorted 0}} {
		::extmem::core::emb_runs_feed $handle [$stream handle] $sorted
		return [self]
	}
	# more: it ends a sequence, and does not finish the runs.
	method sink {{sorted 0} {more 0}} {
		return [::extmem::Sink create [::extmem::Name] $ctx $format \
			[::extmem::core::em_sink_runs $handle [expr {$sorted | $more << 1}]]]
	}
	# A stream of items with from <= item < to; of these `take' behind the first `skip'.
	method merge {{from ""} {to ""} {skip 0} {take 18446744073709551615} {memory 0}} {
		return [::extmem::Stream create [::extmem::Name] $ctx $format \
			[::extmem::core::emb_runs_merge $handle $from $to $skip $take $memory]]
	}
}
::extmem::Calls ::extmem::Runs {clear end_run=end stats=info_get}
