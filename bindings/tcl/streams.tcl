# SPDX-License-Identifier: BSL-1.0
# Streams: records that are made when they are asked for, batch by batch, with nothing in between on a disk.  A stream
# that a node is made of belongs to that, and is closed.  What a command fails with comes out of the call that pulled.
oo::define ::extmem::Object method prefix {} { return $prefix }
oo::class create ::extmem::Stream {
	superclass ::extmem::Object
	variable handle prefix ctx format
	constructor {ctx_ format_ handle_ as} {
		lassign [list em_stream_ $ctx_ $format_ $handle_] prefix ctx format handle
		if {$as} { ::extmem::core::retype $handle [list $format] }
	}
	method Made {format_ handle_ {as 0}} {
		return [::extmem::Stream create [::extmem::Name] $ctx $format_ $handle_ $as]
	}
	method Node {name format_ args} {
		return [my Made [expr {$format_ eq "" ? $format : $format_}] [::extmem::core::$name $handle {*}$args] \
			[expr {$format_ ne ""}]]
	}
	# A script that uses the handle of an order by a key, `by', which is gone behind it.
	method Ordered {key script} {
		set order [::extmem::MakeOrder $format $key $ctx]
		upvar 1 by by
		set by [$order handle]
		try { return [uplevel 1 $script] } finally { $order destroy }
	}
	method With {others} { return [list $handle {*}[lmap one $others {$one handle}]] }
	# A command gets a list of items and gives one: as many, of this format or another; any number; a truth for each;
	# nothing.
	method Ask {what command format_} {
		set to [expr {$format_ eq "" ? $format : $format_}]
		return [my Node emb_stream_node $to $what [::extmem::Bytes $to] [list $command $to]]
	}
	method map {command {format {}}} { my Ask $::extmem::core::EMB_MAP $command $format }
	method flatmap {command {format {}}} { my Ask $::extmem::core::EMB_FLAT_MAP $command $format }
	method filter {command} { my Ask $::extmem::core::EMB_FILTER $command {} }
	method inspect {command} { my Ask $::extmem::core::EMB_INSPECT $command {} }
	# Of neighbours with equal keys one item: the command gets a sum and a list of items, and gives the sum with them.
	method reduce {command {key {}}} {
		my Ordered $key { my Node emb_stream_reduce {} $by [list $command $format] }
	}
	method sort {{key {}} args} {
		set opts [lindex [::extmem::Split [list -ctx none {*}$args]] 1]
		my Ordered $key { my Node em_stream_sort {} $by $opts }
	}
	# Of equal neighbours the first; counted: a format with a Q at its end, how many they were.
	method unique {{key {}} {counted {}}} {
		set flags [expr {$counted eq "" ? 0 : $::extmem::core::EM_UNIQUE_COUNT}]
		my Ordered $key { my Node em_stream_unique $counted $by $flags }
	}
	method concat {args} { my Made $format [::extmem::core::em_stream_concat [my With $args]] }
	method merge {others {key {}}} {
		my Ordered $key { my Made $format [::extmem::core::em_stream_merge [my With $others] $by] }
	}
	# Records of all side by side, which have that format.
	method zip {others format_} { my Made $format_ [::extmem::core::em_stream_zip [my With $others]] 1 }
	# operation: union, intersection, difference, symmetric.
	method set {operation other {key {}}} {
		set which [::extmem::constant EM_SET_[string toupper $operation]]
		my Ordered $key { my Node em_stream_set {} [$other handle] $by $which }
	}
	# left, right: fields by which they are sorted; the command gets two items, one of which may be empty.
	method format {} { return $format }
	method join {other kind left right format_ {command {}}} {
		foreach {of key} [list $format left [$other format] right] {
			set order [::extmem::MakeOrder $of [set $key] $ctx]
			set $key [$order name]
			$order destroy
		}
		set kind [::extmem::constant EM_JOIN_[string toupper $kind]]
		my Node emb_stream_join $format_ [$other handle] $kind $left $right \
			[expr {$command eq "" ? 0 : [::extmem::Bytes $format_]}] 0 \
			[expr {$command eq "" ? "" : [list $command $format_]}]
	}
	method slice {skip {take 18446744073709551615}} { my Node em_stream_slice {} $skip $take }
	method reverse {} { my Node em_stream_reverse {} 0 }
	# The field at that offset, a number of 64 bits, becomes its sum with those before.
	method prefixsum {{offset 0} {type {}}} {
		my Node em_stream_prefix_sum {} $offset [expr {$type eq "" ? $::extmem::core::EM_KEY_U64 : $type}]
	}
	method window {n step format_} { my Node emb_stream_window $format_ $n $step }
	# Two streams of all records; spill: what one has read and the other has not may go to scratch.
	method tee {{spill 0}} { return [lmap h [::extmem::core::emb_stream_tee $handle $spill 0] {my Made $format $h}] }
	# The next records, packed; empty behind the last.
	method packednext {} { my call next }
	method foreach {name body} {
		while {[set batch [my packednext]] ne ""} {
			if {[::extmem::Run 2 $name [my items $batch] $body]} break
		}
	}
	method read {} {
		set all {}
		while {[set batch [my packednext]] ne ""} { lappend all {*}[my items $batch] }
		return $all
	}
	# Push all to a sorter, which may be given more, or a container: how many there were.
	method to {sink} {
		if {[info object class $sink] eq "::extmem::Vector"} {
			set n [$sink size]
			return [expr {[::extmem::core::emb_stream_to_vector $handle [$sink handle] $n] - $n}]
		}
		return [::extmem::core::emb_stream_to_[string range [$sink prefix] 3 end-1] $handle [$sink handle]]
	}
	method tofile {path} { return [::extmem::core::emb_stream_to_file $handle [$ctx handle] $path] }
	method stats {} { my call sort_stats_get }
}
::extmem::Calls ::extmem::Stream {batch count}

proc ::extmem::Bytes {format} { return [lindex [core::format [list $format]] 0] }

# A stream of what a command prefix gives: a list of items, empty behind the last.
proc ::extmem::stream {format command args} {
	set ctx [lindex [Split $args] 0]
	return [Stream create [Name] $ctx $format \
		[core::emb_stream_source [$ctx handle] [Bytes $format] 18446744073709551615 [list $command $format]] 0]
}

# The records of files, one after the other.
proc ::extmem::streamfile {format paths args} {
	set ctx [lindex [Split $args] 0]
	return [Stream create [Name] $ctx $format [core::em_stream_file [$ctx handle] [Bytes $format] $paths] 1]
}
