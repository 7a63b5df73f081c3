#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The packages of the bindings for Lua, Perl, Ruby and Tcl, made and installed as users do it, from what a release has,
# without SWIG: check-packages.sh BUILD-DIRECTORY, which was configured with these languages and is built.  Nothing is
# fetched, and what is installed goes with the temporary directory.
#
# The last line sums up: N passed, N failed.
set -euo pipefail
build=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/extmem-packages-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

make -s -C "$build" distdir distdir="$work/release" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
chmod -R u+w "$work/release"
bindings=$work/release/bindings
# What pkg-config would say.
export EXTMEM_CFLAGS=-I$work/release/include EXTMEM_LIBS="-L$build/.libs -lextmem"
export LD_LIBRARY_PATH=$build/.libs:${LD_LIBRARY_PATH:-} EM_SRCDIR=$work/release SWIG=false
passed=0
failed=0

# check NAME COMMAND...
check() {
	local name=$1 rc
	shift
	# Not as part of a condition: there nothing that fails would end it.
	set +e
	(
		set -e
		"$@"
	) >"$work/log" 2>&1
	rc=$?
	set -e
	if [ $rc -eq 0 ]; then
		passed=$((passed + 1))
		echo "the package for $name: ok"
	else
		failed=$((failed + 1))
		echo "FAILED: the package for $name"
		tail -n 100 "$work/log"
	fi
}

# A rock, in a tree of its own; the default Lua may be another one.
lua_rock() {
	cd "$work/release"
	luarocks --lua-version 5.4 --tree "$work/rocks" make --deps-mode none bindings/lua/extmem-0.1.0-1.rockspec \
		CFLAGS='-O0 -fPIC' EXTMEM_INCDIR="$work/release/include" EXTMEM_LIBDIR="$build/.libs"
	export LUA_PATH="$work/rocks/share/lua/5.4/?.lua;$bindings/lua/tests/?.lua"
	export LUA_CPATH="$work/rocks/lib/lua/5.4/?.so"
	"${LUA:-lua5.4}" "$bindings/lua/tests/run.lua"
	"${LUA:-lua5.4}" "$bindings/lua/example.lua"
}

# A distribution as CPAN has it, which is unpacked, tested and installed.
perl_distribution() {
	cd "$bindings/perl"
	perl Makefile.PL
	make manifest
	make dist
	tar -xzf Extmem-0.1.0.tar.gz -C "$work"
	cd "$work/Extmem-0.1.0"
	unset EM_SRCDIR
	perl Makefile.PL INSTALL_BASE="$work/perl" OPTIMIZE=-O0
	make
	make test
	make pure_install
	perl -I"$work/perl/lib/perl5" example.pl
}

ruby_gem() {
	export GEM_HOME=$work/gems GEM_PATH=$work/gems
	cd "$bindings/ruby"
	gem build extmem.gemspec
	cd "$work"
	gem install --local --no-document "$bindings/ruby/extmem-0.1.0.gem" -- \
		--with-extmem-include="$work/release/include" \
		--with-extmem-lib="$build/.libs" --with-cxxflags=-O0
	ruby -w "$bindings/ruby/test/run.rb"
	ruby -w "$bindings/ruby/example.rb"
}

tcl_package() {
	CFLAGS=-O0 "${TCL:-tclsh}" "$bindings/tcl/build.tcl" "$work/tcl"
	cd "$work"
	export TCLLIBPATH=$work/tcl
	"${TCL:-tclsh}" "$bindings/tcl/tests/run.tcl"
	"${TCL:-tclsh}" "$bindings/tcl/example.tcl"
}

check Lua lua_rock
check Perl perl_distribution
check Ruby ruby_gem
check Tcl tcl_package
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
