# SPDX-License-Identifier: BSL-1.0
# Tests: check name body, in which equal, fails and refuses may be called; each has a context and a folder of its own.
package require extmem
set passed 0
set failed 0
set seed [expr {[info exists env(EXTMEM_TEST_SEED)] ? $env(EXTMEM_TEST_SEED) : [clock seconds] % 1000000007}]

proc check {name body} {
	global passed failed seed ctx dir
	expr {srand($seed + 1)}
	close [file tempfile dir]
	file delete $dir
	file mkdir $dir
	set ctx [extmem context -memory 16M]
	if {[catch {uplevel #0 [list apply [list {} "global ctx dir\n$body"]]} message options]} {
		incr failed
		puts stderr "FAILED: $name (EXTMEM_TEST_SEED=$seed): $message\n[string range \
			[dict get $options -errorinfo] 0 1500]"
	} else {
		incr passed
	}
	$ctx destroy
	file delete -force $dir
}

proc equal {got wanted} {
	if {$got ne $wanted} {
		return -level 1 -code error "[string range $got 0 300] is not [string range $wanted 0 300]"
	}
}

# The script fails with this name of a status, or "ARGUMENT"; the details.
proc fails {name script} {
	set code [catch {uplevel 1 $script} message options]
	if {$code != 1} {
		return -code error "nothing was raised by $script"
	}
	if {[lrange [dict get $options -errorcode] 0 1] ne [list EXTMEM $name]} {
		return -code error "$message ([dict get $options -errorcode]) was raised, and not $name"
	}
	return [lindex [dict get $options -errorcode] 2]
}

proc rand {n} { return [expr {int(rand() * $n)}] }

proc some {n {most 1000000}} {
	set list {}
	for {set i 0} {$i < $n} {incr i} { lappend list [rand $most] }
	return $list
}

proc random {bytes} {
	for {set i 0} {$i < 4096} {incr i} { lappend words [rand 0x7fffffff] }
	set block [binary format i* $words]
	return [string range [string repeat $block [expr {$bytes / 16384 + 1}]] 0 $bytes-1]
}

proc write {name data} {
	global dir
	set f [open $dir/$name wb]
	puts -nonewline $f $data
	close $f
	return $dir/$name
}

proc slurp {name} {
	global dir
	set f [open $dir/$name rb]
	set data [read $f]
	close $f
	return $data
}

# What a method foreach gives.
proc all {object args} {
	set list {}
	$object foreach item { lappend list $item } {*}$args
	return $list
}
