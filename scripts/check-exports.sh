#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The symbols that the library exports, those in its version script, and those that the public headers declare with
# EM_API or EM_INLINE are one and the same list, in each of the two tiers: the extension tier is what headers in sys/
# and gen/ declare.  And the constants of these headers are those of src/abi/constants.inc.
set -eu
src=${EM_SRCDIR:-$(dirname "$0")/..}
build=${EM_BUILDDIR:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL

# declared NODE HEADER...: without comments and newlines, each EM_API or EM_INLINE is followed by a
# declaration whose name comes before the first "(".
declared() {
	node=$1
	shift
	cat "$@" | tr '\n' ' ' |
		sed -e 's:/\*[^*]*\*\**\([^/*][^*]*\*\**\)*/: :g' -e 's/#define EM_API[^#]*/ /g' \
			-e 's/#define EM_INLINE[^#]*/ /g' | tr ';' '\n' |
		sed -n "s/^.*\(EM_API\|EM_INLINE\)[^(]*[ *]\(em_[a-z0-9_]*\) *(.*\$/$node \2/p"
}
{
	declared EXTMEM_0 "$src"/include/*.h "$src"/include/extmem/*.h
	declared EXTMEM_SYS_0_1 "$src"/include/extmem/sys/*.h "$src"/include/extmem/gen/*.h
} | sort >"$work/headers"

awk '$2 == "{" { node = $1 } /^\t[a-z0-9_]+;$/ { sub(/;/, ""); print node, $1 }' "$src/src/libextmem.map" >"$work/map"
sort -u "$work/map" >"$work/map.sorted"

bad=0
# same LEFT RIGHT: complain about what stands in one of two lists only.
same() {
	if ! diff "$work/$1" "$work/$2" >"$work/diff"; then
		echo "check-exports: < only in $3, > only in $4:"
		grep '^[<>]' "$work/diff"
		bad=1
	fi
}

if [ ! -s "$work/headers" ]; then
	echo "check-exports: no declarations were found in the headers"
	exit 1
fi
same map map.sorted "the version script as it is" "the version script sorted, each symbol once"
same headers map.sorted "the headers" "the version script"

# constants HEADER...: macros and members of enums that stand for a number.  Those of gen/ are for what C compiles.
constants() {
	sed -n -e 's/^#define \(EM_[A-Z0-9_]*\) .*/\1/p' -e 's/^	\(EM_[A-Z0-9_]*\) = .*/\1/p' "$@" |
		grep -v -E '_INIT$|^EM_(API|EACH|NODISCARD|INLINE|BEGIN_DECLS|END_DECLS|VERSION_STRING|STATUS)$' |
			sort -u
}
constants "$src"/include/*.h "$src"/include/extmem/*.h "$src"/include/extmem/sys/*.h >"$work/constants"
sed -n 's/^EM_CONSTANT(\(.*\))$/\1/p' "$src/src/abi/constants.inc" >"$work/table"
same constants table "the headers" "src/abi/constants.inc, which is sorted"

lib=$build/.libs/libextmem.so
if [ -e "$lib" ]; then
	# A is a version node itself.
	${NM:-nm} -D --defined-only "$lib" | awk '$2 != "A" { split($3, s, "@@"); print s[2], s[1] }' |
		sort >"$work/exports"
	same exports map.sorted "the library" "the version script"
elif [ -e "$build/libextmem.la" ] && grep -q "^dlname=''" "$build/libextmem.la"; then
	echo "check-exports: a static library only; headers and version script were compared"
else
	echo "check-exports: $lib is missing"
	bad=1
fi

echo "check-exports: $(wc -l <"$work/headers") symbols: $([ $bad -eq 0 ] && echo ok || echo FAILED)"
exit $bad
