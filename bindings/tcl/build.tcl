# SPDX-License-Identifier: BSL-1.0
# For releases, which have what SWIG makes: tclsh build.tcl DIRECTORY builds the package, with libextmem installed, into
# DIRECTORY/extmem, which is to be in auto_path.  CC, CFLAGS, EXTMEM_CFLAGS, EXTMEM_LIBS say what is to be used.
if {[llength $argv] != 1} {
	puts stderr "usage: tclsh build.tcl DIRECTORY"
	exit 2
}
proc from {name args} {
	return [expr {[info exists ::env($name)] ? $::env($name) : [exec {*}$args]}]
}
set here [file dirname [file normalize [info script]]]
set to [file join [lindex $argv 0] extmem]
if {![file exists $here/extmem_wrap.c]} {
	puts stderr "extmem_wrap.c is missing: it is in releases"
	exit 1
}
file mkdir $to
exec {*}[from CC echo cc] -shared -fPIC -DUSE_TCL_STUBS {*}[from CFLAGS echo -O2] {*}[exec pkg-config --cflags tcl] \
	{*}[from EXTMEM_CFLAGS pkg-config --cflags extmem] -I$here -I[file dirname $here] $here/extmem_wrap.c \
	-o $to/extmem_core[info sharedlibextension] {*}[from EXTMEM_LIBS pkg-config --libs extmem] \
	-ltclstub8.6 >@stdout 2>@stderr
file copy -force $here/extmem.tcl $here/streams.tcl $here/pkgIndex.tcl $to
