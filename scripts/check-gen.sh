#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# What <extmem/gen/order.h> generates compiles without a warning as C99 and as C++, and works in either language, linked to the library.
set -eu
src=${EM_SRCDIR:-$(dirname "$0")/..}
build=${EM_BUILDDIR:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings='-pedantic -Wall -Wextra -Wshadow -Wconversion -Werror'

# run NAME COMPILER STANDARD TAG: compile the example at two levels of optimisation, and run it once.
run() {
	file=$work/own_order.$1
	cp "$src/examples/own_order.c" "$file"
	for level in -O0 -O2; do
		# A compiler, flags and a sanitizer may be several words each.
		# shellcheck disable=SC2086
		$2 -std="$3" $warnings $level ${EM_SANITIZE:-} -I"$src/include" -c "$file" -o "$file.o"
	done
	# shellcheck disable=SC2086
	"$build/libtool" --silent --tag="$4" --mode=link $2 ${EM_SANITIZE:-} -o "$file.run" "$file.o" "$build/libextmem.la"
	"$file.run"
}

run c "${CC:-cc}" c99 CC
if [ -z "${CXX:-}" ]; then
	echo "check-gen: there is no C++ compiler, so C++ was left out"
	exit 77
fi
run cc "$CXX" c++11 CC
