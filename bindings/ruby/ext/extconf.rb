# SPDX-License-Identifier: BSL-1.0
# frozen_string_literal: true

# For releases, which have what SWIG makes.  libextmem is found by pkg-config, or by --with-extmem-dir=...
require 'mkmf'

dir_config('extmem')
pkg_config('extmem')
abort 'libextmem was not found' unless have_header('extmem.h') && have_library('extmem', 'em_version', 'extmem.h')
top = File.expand_path('..', __dir__)
abort 'extmem_wrap.cxx is missing: it is in releases' unless File.exist?("#{top}/extmem_wrap.cxx")
# Beside the package in a release; within it in a gem.
core = [File.join(top, 'core'), File.dirname(top)].find { |folder| File.exist?("#{folder}/call.h") }
$INCFLAGS << " -I#{top} -I#{core}"
$VPATH << top
$srcs = ['extmem_wrap.cxx']
create_makefile('extmem_core')
