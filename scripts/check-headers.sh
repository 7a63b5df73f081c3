#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Each public header compiles alone, without a warning, as C99 and as C++; and so does the example in the README, as
# C99.
set -eu
src=${EM_SRCDIR:-$(dirname "$0")/..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
count=0

# alone HEADER LANGUAGE STANDARD COMPILER: include it twice, as its guard is tested too.
alone() {
	printf '#include <%s>\n#include <%s>\nint main(void);\n' "$1" "$1" >"$work/alone.$2"
	# A compiler may be several words: $4 is split on purpose.
	# shellcheck disable=SC2086
	if ! $4 -std="$3" -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -I"$src/include" -fsyntax-only \
		"$work/alone.$2" 2>"$work/err"; then
		echo "check-headers: <$1> does not compile alone as $3:"
		cat "$work/err"
		bad=1
	fi
	count=$((count + 1))
}

headers=$(cd "$src/include" && find . -name '*.h' | sed 's:^\./::' | LC_ALL=C sort)
for header in $headers; do
	alone "$header" c c99 "${CC:-cc}"
	[ -z "${CXX:-}" ] || alone "$header" cc c++11 "$CXX"
done

awk '/^```c$/ { code = 1; next } /^```/ { code = 0 } code' "$src/README.md" >"$work/readme.c"
# shellcheck disable=SC2086
if ! grep -q em_sorter_push "$work/readme.c" ||
	! ${CC:-cc} -std=c99 -pedantic -Wall -Werror -Wno-misleading-indentation -Wno-missing-prototypes \
		-I"$src/include" -fsyntax-only "$work/readme.c"; then
	echo "check-headers: the example in the README does not compile"
	bad=1
fi

[ $count -gt 0 ] || bad=1
echo "check-headers: $count compilations: $([ $bad -eq 0 ] && echo ok || echo FAILED)"
if [ $bad -eq 0 ] && [ -z "${CXX:-}" ]; then
	echo "check-headers: there is no C++ compiler, so C++ was left out"
	exit 77
fi
exit $bad
