#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Print the logs of the tests that make check ran in a build directory, and sum them up: show-tests.sh [BUILD_DIR]
#
# The last line is "N passed, N failed".  A CMocka program counts as many tests as it says, any other as one.  A
# program that ended before it said anything is one failure.  So is each test that was skipped, unless EM_MAY_SKIP, a
# list of names in the environment, holds its name: then it does not count.  Exit status 0 if nothing failed.
#
# EM_FAILURES names a file: what is worth knowing of each program with a failure is appended to it.
set -eu
cd "${1:-.}"

# in_short NAME LOG: a failure.  Where tests follow the one that failed, its message is not among the last lines.
in_short() {
	echo "== $1"
	sed -n 's/^# \(EXTMEM_TEST_SEED=.*\)$/\1/p' "$2"
	grep -n -E '^\[ +(ERROR|FAILED|SKIPPED|LINE) +\]|ERROR:|runtime error:|SUMMARY:' "$2" | cut -c1-300 |
		head -n 40 || true
	echo "-- the last lines of its log:"
	tail -n 40 "$2" | cut -c1-500
}

find . -name '*.trs' | sed 's:^\./::' | LC_ALL=C sort | {
	passed=0
	failed=0
	while read -r trs; do
		log=${trs%.trs}.log
		echo "== ${trs%.trs}"
		cat "$log"
		p=$(sed -n 's/^\[  PASSED  \] \([0-9][0-9]*\) test(s)\..*$/\1/p' "$log" |
			awk '{ n += $1 } END { print n + 0 }')
		f=$(sed -n 's/^ *\([0-9][0-9]*\) FAILED TEST(S).*$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
		# Names are words.
		# shellcheck disable=SC2013
		for name in $(sed -n 's/^\[  SKIPPED \] \([A-Za-z_][A-Za-z0-9_]*\)$/\1/p' "$log" | sort -u); do
			case " ${EM_MAY_SKIP:-} " in
			*" $name "*) ;;
			*) f=$((f + 1)) ;;
			esac
		done
		case $(sed -n 's/^:global-test-result: *//p' "$trs") in
		PASS) [ $((p + f)) -gt 0 ] || p=1 ;;
		*) [ "$f" -gt 0 ] || f=1 ;;
		esac
		if [ "$f" -gt 0 ] && [ -n "${EM_FAILURES:-}" ]; then
			in_short "${trs%.trs}" "$log" >>"$EM_FAILURES"
		fi
		passed=$((passed + p))
		failed=$((failed + f))
	done
	echo "$passed passed, $failed failed"
	[ $passed -gt 0 ] && [ $failed -eq 0 ]
}
