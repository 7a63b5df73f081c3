# SPDX-License-Identifier: BSL-1.0
package ifneeded extmem 0.1.0 [list apply {dir {
	load [file join $dir extmem_core[info sharedlibextension]] Extmem_core
	source [file join $dir extmem.tcl]
	source [file join $dir streams.tcl]
}} $dir]
