# SPDX-License-Identifier: BSL-1.0
set here [file dirname [info script]]
foreach name {harness scenarios native} { source [file join $here $name.tcl] }
puts "$passed passed, $failed failed"
exit [expr {$failed > 0 || $passed == 0}]
