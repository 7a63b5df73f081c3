#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Every file of ours that can hold a comment names its licence in one of its first three lines.
set -eu
cd "${EM_SRCDIR:-$(dirname "$0")/..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Folders and files that are ours; m4/ also gets files from libtool, and the top the output of autogen.sh.
for path in src include tests examples bench bindings scripts .ci doc; do
	# What pip leaves behind when it builds is not ours.
	[ ! -d "$path" ] || find "$path" -path bindings/python/build -prune -o -type f \( -name '*.[chi1357]' \
		-o -name '*.inc' -o -name '*.def' -o -name '*.map' -o -name '*.am' -o -name '*.sh' -o -name '*.py' \
		-o -name '*.lua' -o -name '*.p[lm]' -o -name '*.t' -o -name '*.rb' \
		-o -name '*.tcl' -o -name '*.java' -o -name '*.bash' -o -name run \) -print
done >"$work/files"
for path in configure.ac Makefile.am autogen.sh .clang-format .editorconfig m4/em_*.m4; do
	echo "$path"
done >>"$work/files"

bad=0
while read -r file; do
	if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSL-1\.0'; then
		echo "check-spdx: $file: no SPDX line"
		bad=1
	fi
done <"$work/files"

count=$(wc -l <"$work/files")
[ "$count" -gt 20 ] || bad=1
echo "check-spdx: $count files: $([ $bad -eq 0 ] && echo ok || echo FAILED)"
exit $bad
