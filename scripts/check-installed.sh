#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# make installcheck: what was installed serves programs that know nothing but pkg-config: a test that runs, and all
# examples, which are built as C99 and as C++.
# The Makefile gives the directories and tools in the environment, and the source directory as argument.
set -eu
src=$1
: "${libdir:?}" "${bindir:?}" "${includedir:?}" "${pkgconfigdir:?}"
root=${DESTDIR:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "installcheck: $*" >&2
	exit 1
}

[ -n "${PKG_CONFIG:-}" ] || fail "pkg-config is missing"
PKG_CONFIG_PATH=$root$pkgconfigdir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
if [ -n "$root" ]; then
	# A staged installation: paths in extmem.pc are relative to the stage.
	PKG_CONFIG_SYSROOT_DIR=$root
	export PKG_CONFIG_SYSROOT_DIR
fi

# The same headers are installed as are in the source tree.
(cd "$src/include" && find . -type f) | LC_ALL=C sort >"$work/source"
(cd "$root$includedir" && find ./extmem.h ./extmem -type f) | LC_ALL=C sort >"$work/installed"
diff "$work/source" "$work/installed" || fail "headers in the source tree (<) and installed ones (>) differ"

# build NAME SOURCE LIBS...: the flags are lists of words, to be split.
build() {
	name=$1
	source=$2
	shift 2
	# shellcheck disable=SC2046,SC2086
	${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:-} -std=c99 $("$PKG_CONFIG" --cflags extmem) -o "$work/$name" "$source" \
		${LDFLAGS:-} "$@" || fail "$source does not build ($name)"
}

# A sanitizer is one compiler's, and CXX may be another.
build_cxx() {
	name=$1
	source=$2
	shift 2
	# shellcheck disable=SC2046,SC2086
	${CXX:-c++} ${CPPFLAGS:-} -std=c++11 -x c++ $("$PKG_CONFIG" --cflags extmem) -o "$work/$name" \
		"$source" -x none ${LDFLAGS:-} "$@" || fail "$source does not build as C++ ($name)"
}

# examples LIBS...
examples() {
	for source in "$src"/examples/*.c; do
		build example "$source" "$@"
		[ -z "${CXX:-}" ] || [ -n "${sanitize:-}" ] || build_cxx example "$source" "$@"
	done
}

tested=
if [ -e "$root$libdir/libextmem.so" ]; then
	# shellcheck disable=SC2046
	set -- $("$PKG_CONFIG" --libs extmem)
	build shared "$src/tests/install/installed.c" "$@"
	LD_LIBRARY_PATH=$root$libdir "$work/shared" || fail "the program with the shared library fails"
	examples "$@"
	tested="$tested shared"
fi
if [ -e "$root$libdir/libextmem.a" ] && [ -z "${sanitize:-}" ]; then
	# shellcheck disable=SC2046
	set -- -static $("$PKG_CONFIG" --static --libs extmem)
	build static "$src/tests/install/installed.c" "$@"
	"$work/static" || fail "the program with the static library fails"
	examples "$@"
	tested="$tested static"
fi
[ -n "$tested" ] || fail "no library was found in $root$libdir"

version=$("$PKG_CONFIG" --modversion extmem)
LD_LIBRARY_PATH=$root$libdir "$root$bindir/extmem" --version >"$work/version" || fail "extmem --version fails"
grep -q -F "$version" "$work/version" || fail "extmem --version does not name version $version"
echo "installcheck: headers, command, library ($tested ), examples: ok"
