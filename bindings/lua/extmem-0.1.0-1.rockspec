-- SPDX-License-Identifier: BSL-1.0
-- For releases, which have what SWIG makes; `make stage-lua` builds the same in a clone.
rockspec_format = "3.0"
package = "extmem"
version = "0.1.0-1"
source = {url = "extmem-0.1.0.tar.xz"}
description = {
	summary = "External memory: sorting and containers for more records than memory holds",
	license = "BSL-1.0"
}
dependencies = {"lua >= 5.4"}
external_dependencies = {EXTMEM = {header = "extmem.h", library = "extmem"}}
build = {
	type = "builtin",
	modules = {
		extmem = "bindings/lua/extmem.lua",
		["extmem.streams"] = "bindings/lua/streams.lua",
		["extmem.core"] = {
			sources = {"bindings/lua/extmem_wrap.c"},
			incdirs = {"bindings", "bindings/lua", "$(EXTMEM_INCDIR)"},
			libdirs = {"$(EXTMEM_LIBDIR)"},
			libraries = {"extmem"}
		}
	}
}
