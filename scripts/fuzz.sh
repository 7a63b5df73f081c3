#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Run every fuzz target with clang's fuzzer and sanitizers: fuzz.sh [SECONDS]
#
# Each target starts from nothing with the same seed and runs for SECONDS (default 10).  Builds, without autotools, and
# runs in a temporary directory that is removed at the end.  An input that fails is printed as base64, for
#
#     base64 -d >input; tests/fuzz/fuzz_NAME input
#
# The last line is "N passed, M failed".
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
seconds=${1:-10}
case $seconds in
'' | *[!0-9]*)
	echo "usage: fuzz.sh [SECONDS]" >&2
	exit 2
	;;
esac

tmp=$(mktemp -d "${TMPDIR:-/var/tmp}/extmem-fuzz-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The layers that targets look into, without code for one instruction set only.  What configure finds is left
# out: a backend of which config.h says nothing is none.
: >"$tmp/config.h"
{
	echo "CFLAGS = -std=c99 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -D_FILE_OFFSET_BITS=64 -Iinclude -Isrc -Itests -I$tmp"
	echo 'all:'
	for source in src/base/*.c src/io/*.c src/key/*.c src/kern/k_scalar.c src/kern/dispatch.c src/kern/tags.c src/ctx/*.c src/block/*.c \
		src/stream/*.c src/sort/*.c tests/fuzz/*_model.c; do
		object=$tmp/$(echo "${source%.c}" | tr / _).o
		# make expands what begins with a dollar.
		# shellcheck disable=SC2016
		printf 'all: %s\n%s:\n\tclang $(CFLAGS) -fsanitize=fuzzer-no-link,address,undefined -c %s -o $@\n' \
			"$object" "$object" "$source"
	done
} >"$tmp/makefile"
make -s -j2 -f "$tmp/makefile" all
# From an archive a target takes only what it needs.
ar rcs "$tmp/library.a" "$tmp"/*.o

passed=0
failed=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	[ "$name" != fuzz_main ] || continue
	echo "== $name"
	mkdir "$tmp/$name-findings"
	if clang -std=c99 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -D_FILE_OFFSET_BITS=64 -Iinclude -Isrc \
		-Itests -fsanitize=fuzzer,address,undefined "$source" "$tmp/library.a" -lpthread -o "$tmp/$name" &&
		(cd "$tmp" && "./$name" -seed=1 -max_len=512 -timeout=60 -max_total_time="$seconds" \
			-artifact_prefix="$name-findings/" -print_final_stats=1 >"$name.log" 2>&1); then
		passed=$((passed + 1))
		grep -E '^stat::(number_of_executed_units|peak_rss_mb)' "$tmp/$name.log" || true
	else
		failed=$((failed + 1))
		[ ! -e "$tmp/$name.log" ] || tail -n 60 "$tmp/$name.log"
		for finding in "$tmp/$name-findings"/*; do
			[ ! -e "$finding" ] || base64 "$finding"
		done
	fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
