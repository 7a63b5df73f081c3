#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Structs grow without breaking old programs: check-growth.sh
#
# Appends a field to every public struct that may grow, and to its initialiser, builds the library from that, and runs
# programs with it that were compiled against the headers as they are: the examples, the program of make installcheck,
# and tests/abi/test_first.c, which uses every struct that begins with its size.  That one is also compiled against the
# grown headers, where the size of the first release is no longer that of the struct.
#
# Builds, without autotools, in a temporary directory that is removed at the end.  The last line is "N passed, M
# failed".
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
cc=${CC:-cc}

tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/extmem-growth-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# Some tests are somebody without rights, who has to come here.
chmod 755 "$tmp"
mkdir "$tmp/objects"
cp -R include src "$tmp"

# Those that begin with their size, and those that the library lends.
structs="$(sed -n 's/^EM_FIRST(\(em_[a-z_]*\), .*/\1/p' src/base/structs.inc | tr '\n' ' ')"
structs="$structs em_batch em_cursor em_window em_transfer em_kern_merge em_kern_mix em_kern_splitters"

for header in "$tmp"/include/extmem/*.h "$tmp"/include/extmem/*/*.h; do
	awk -v structs="$structs" '
	BEGIN { n = split(structs, name, / +/); for (i = 1; i <= n; i++) grows[name[i]] = 1 }
	/^} em_[a-z_]*;$/ && (substr($2, 1, length($2) - 1) in grows) { print "\tuint64_t em_grown;"; grown++ }
	/^#define EM_[A-Z_]*_INIT / { init = 1; grow = 0 }
	init && split($0, part, /[{] sizeof\(|\)/) > 1 { grow = part[2] in grows }
	init && / }$/ {
		if (grow)
			sub(/ }$/, ", 0 }")
		init = 0
	}
	{ print }
	END { print FILENAME ": " grown + 0 >"/dev/stderr" }' "$header" >"$tmp/header" 2>>"$tmp/counts"
	mv "$tmp/header" "$header"
done
grown=$(awk '{ n += $NF } END { print n }' "$tmp/counts")
wanted=$(echo "$structs" | wc -w)
if [ "$grown" -ne "$wanted" ]; then
	echo "check-growth: $wanted structs may grow, and $grown did"
	exit 1
fi

# What configure finds is left out: a backend of which config.h says nothing is none.
: >"$tmp/config.h"
{
	echo "CFLAGS = -std=c99 -O0 -fPIC -D_FILE_OFFSET_BITS=64 -I$tmp/include -I$tmp/src -I$tmp"
	for source in src/base/*.c src/io/*.c src/key/*.c src/kern/k_scalar.c src/kern/dispatch.c src/kern/tags.c \
		src/ctx/*.c src/block/*.c \
		src/stream/*.c src/sort/*.c src/container/*.c src/flow/*.c src/abi/*.c; do
		object=$tmp/objects/$(echo "${source%.c}" | tr / _).o
		# make expands what begins with a dollar.
		# shellcheck disable=SC2016
		printf 'all: %s\n%s:\n\t%s $(CFLAGS) -c %s -o $@\n' "$object" "$object" "$cc" "$tmp/$source"
	done
} >"$tmp/makefile"
make -s -j2 -f "$tmp/makefile" all
$cc -shared -o "$tmp/libextmem.so" -Wl,-soname,libextmem.so -Wl,--version-script=src/libextmem.map \
	"$tmp"/objects/*.o -lpthread

passed=0
failed=0
# run NAME HEADERS SOURCE...: compile a program against headers, and run it with the library.
run() {
	name=$1
	headers=$2
	shift 2
	if $cc -std=c99 -O0 -D_FILE_OFFSET_BITS=64 -I"$headers" -Isrc -Itests -o "$tmp/$name" "$@" \
		-L"$tmp" -lextmem -lcmocka -lpthread &&
		LD_LIBRARY_PATH=$tmp "$tmp/$name" >"$tmp/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "check-growth: $name, compiled against $headers, fails with the grown library:"
		[ ! -e "$tmp/log" ] || cat "$tmp/log"
	fi
	rm -f "$tmp/log"
}

for source in examples/*.c tests/install/installed.c; do
	run "$(basename "$source" .c)" include "$source"
done
set -- tests/abi/test_first.c tests/abi/subjects*.c tests/common/test.c tests/common/place.c
run test_first include "$@"
run test_first_grown "$tmp/include" "$@"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
