# SPDX-License-Identifier: BSL-1.0
# Fifty thousand visits: sorted by page and time, the pages counted in a tree, the slowest ones by a heap.
package require extmem

set ctx [extmem context -memory 32M]
set visits [extmem sorter <IId -key f0,f1 -ctx $ctx]                  ;# page, second, milliseconds it took
for {set second 0} {$second < 50000} {incr second} {
	lappend some [list [expr {int(1000 * rand())}] $second [expr {-10 * log(1 - rand())}]]
}
$visits push $some

set pages [extmem btree <I <QQ -ctx $ctx]                             ;# page -> visits, last second
set slowest [extmem pq <dI -key -f0 -ctx $ctx]
set last -1
$visits foreach visit {
	lassign $visit page second took
	if {$page != $last} {
		set n 0
		set last $page
	}
	$pages put $page [list [incr n] $second]
	if {$took > 60} { $slowest push [list $took $page] }
}
set sum 0
$pages foreach item { incr sum [lindex $item 1 0] }
if {$sum != 50000} { error "visits were lost" }
$pages foreach item { puts "page [lindex $item 0]: [lindex $item 1 0] visits, the last at [lindex $item 1 1]" } 998
puts "[$slowest size] slow visits, the slowest of page [lindex [$slowest top] 1]"
