#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# make installcheck: what was installed serves a program that knows nothing but pkg-config.
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

# build NAME LIBS...: the flags are lists of words, to be split.
build() {
	name=$1
	shift
	# shellcheck disable=SC2046,SC2086
	${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:-} $("$PKG_CONFIG" --cflags extmem) -o "$work/$name" "$src/tests/install/installed.c" \
		${LDFLAGS:-} "$@" || fail "$name does not build"
}

tested=
if [ -e "$root$libdir/libextmem.so" ]; then
	# shellcheck disable=SC2046
	build shared $("$PKG_CONFIG" --libs extmem)
	LD_LIBRARY_PATH=$root$libdir "$work/shared" || fail "the program with the shared library fails"
	tested="$tested shared"
fi
if [ -e "$root$libdir/libextmem.a" ] && [ -z "${sanitize:-}" ]; then
	# shellcheck disable=SC2046
	build static -static $("$PKG_CONFIG" --static --libs extmem)
	"$work/static" || fail "the program with the static library fails"
	tested="$tested static"
fi
[ -n "$tested" ] || fail "no library was found in $root$libdir"

version=$("$PKG_CONFIG" --modversion extmem)
LD_LIBRARY_PATH=$root$libdir "$root$bindir/extmem" --version >"$work/version" || fail "extmem --version fails"
grep -q -F "$version" "$work/version" || fail "extmem --version does not name version $version"
echo "installcheck: headers, command, library ($tested ): ok"
