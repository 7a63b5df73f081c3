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
# A makefile says what is compiled, linked and run, so that two things are done at a time.
{
	echo "CFLAGS = -std=c99 -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all -D_FILE_OFFSET_BITS=64 \\"
	echo "	-Iinclude -Isrc -Itests -I$tmp"
	echo "SANITIZE = address,undefined"
	echo "library = $tmp/library.a"
	echo 'all:'
	for source in src/base/*.c src/io/*.c src/key/*.c src/kern/k_scalar.c src/kern/dispatch.c src/kern/tags.c \
		src/ctx/*.c src/block/*.c \
		src/stream/*.c src/sort/*.c src/container/*.c tests/fuzz/*_model.c; do
		object=$tmp/$(echo "${source%.c}" | tr / _).o
		# make expands what begins with a dollar.
		# shellcheck disable=SC2016
		printf '$(library): %s\n%s:\n\tclang $(CFLAGS) -fsanitize=fuzzer-no-link,$(SANITIZE) -c %s -o $@\n' \
			"$object" "$object" "$source"
	done
	# From an archive a target takes only what it needs.
	# shellcheck disable=SC2016
	printf '$(library):\n\tar rcs $@ $^\n'
	for source in tests/fuzz/fuzz_*.c; do
		name=$(basename "$source" .c)
		[ "$name" != fuzz_main ] || continue
		mkdir "$tmp/$name-findings"
		# shellcheck disable=SC2016
		printf '%s: $(library)\n\tclang $(CFLAGS) -fsanitize=fuzzer,$(SANITIZE) %s ' "$tmp/$name" "$source"
		# shellcheck disable=SC2016
		printf '$(library) -lpthread -o $@\n'
		printf 'all: %s.passed\n%s.passed: %s\n\tcd %s && ./%s -seed=1 -max_len=512 -timeout=60 ' \
			"$tmp/$name" "$tmp/$name" "$tmp/$name" "$tmp" "$name"
		printf -- '-max_total_time=%s -artifact_prefix=%s-findings/ -print_final_stats=1 ' "$seconds" "$name"
		printf '>%s.log 2>&1 && touch $@\n' "$name"
	done
} >"$tmp/makefile"
make -s -k -j2 -f "$tmp/makefile" all || true

passed=0
failed=0
for findings in "$tmp"/fuzz_*-findings; do
	name=$(basename "$findings" -findings)
	echo "== $name"
	if [ -e "$tmp/$name.passed" ]; then
		passed=$((passed + 1))
		grep -E '^stat::(number_of_executed_units|peak_rss_mb)' "$tmp/$name.log" || true
	else
		failed=$((failed + 1))
		[ ! -e "$tmp/$name.log" ] || tail -n 60 "$tmp/$name.log"
		for finding in "$findings"/*; do
			[ ! -e "$finding" ] || base64 "$finding"
		done
	fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
