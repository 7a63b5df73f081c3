#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# What a language wraps, against what the library exports: each symbol is wrapped, or names.i leaves it out with a
# reason; and names.i leaves out nothing that is not there.  On standard input come the names that are wrapped:
#
# More files with reasons, which only this language has, may be named.
#
#   check-wrapped.sh LANGUAGE SOURCE-DIRECTORY [FILE...] <NAMES
set -eu
language=$1
src=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LC_ALL=C
export LC_ALL
cat "$src/bindings/names.i" >"$work/names"
for file; do
	cat "$src/$file" >>"$work/names"
done

# Those of close, error: see reasons in names.i.  Functions that C has inlined are no symbols.
grep '^em_' | sort -u >"$work/wrapped"
sed -n 's/^	\(em_[a-z0-9_]*\);$/\1/p' "$src/src/libextmem.map" | sort -u >"$work/exports"
# The dollars are those of SWIG.
# shellcheck disable=SC2016
sed -n -e 's/^%ignore \(em_[a-z0-9_]*\);$/^\1$/p' \
	-e 's/^%rename("$ignore", regextarget=1, %$isfunction) "\(.*\)";$/\1/p' "$work/names" >"$work/ignored"

bad=0
comm -23 "$work/exports" "$work/wrapped" | grep -v -E -f "$work/ignored" >"$work/missing" || true
if [ -s "$work/missing" ]; then
	echo "check-wrapped: $language does not wrap, and names.i does not say why:"
	cat "$work/missing"
	bad=1
fi
# These are wrapped by what replaces them.
grep -E -f "$work/ignored" "$work/wrapped" |
	grep -v -x -e em_block_pool_read -e em_stream_join -e em_stream_lines_join -e em_pq_dump >"$work/both" || true
if [ -s "$work/both" ]; then
	echo "check-wrapped: $language wraps what names.i leaves out:"
	cat "$work/both"
	bad=1
fi
# Every function of names.i that is left out stands below a reason.
awk '
/^\/\* reason: / { reason = 1 }
/^$/ { reason = 0 }
/^%ignore em_|isfunction/ && !reason { print; bad = 1 }
END { exit bad }' "$work/names" || {
	echo "check-wrapped: that has no reason in names.i"
	bad=1
}
n=$(wc -l <"$work/exports")
left=$(comm -23 "$work/exports" "$work/wrapped" | wc -l)
[ "$n" -gt 100 ] || bad=1
echo "check-wrapped: $language: $((n - left)) of $n symbols:" \
	"$([ $bad -eq 0 ] && echo "ok, the others are left out for a reason" || echo FAILED)"
exit $bad
