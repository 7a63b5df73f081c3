#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# What <extmem/gen/order.h> generates compiles without a warning as C99 and as C++, and works in either language, linked
# to the library.  It is code that a debugger steps through: no macro has a body of several lines, which would be one
# step, and the line table of an object names the templates' lines.  With gdb at hand, it stops in the comparison, and
# goes up and on from there within the templates.
set -eu
src=${EM_SRCDIR:-$(dirname "$0")/..}
build=${EM_BUILDDIR:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
warnings='-pedantic -Wall -Wextra -Wshadow -Wconversion -Werror'

# The templates may define no macro that goes on in another line.
if grep -n '\\$' "$src"/include/extmem/gen/*; then
	echo "check-gen: a line that goes on in the next one"
	exit 1
fi

# lines OBJECT: it has code for a third of the lines of each template, comments and all.
lines() {
	for template in sort.inc merge.inc array.inc; do
		have=$(readelf --debug-dump=decodedline "$1" 2>/dev/null |
			awk -v name=$template '$1 ~ name "$" && $2 ~ /^[0-9]+$/ && !seen[$2]++ { n++ }
				END { print n + 0 }')
		all=$(wc -l <"$src/include/extmem/gen/$template")
		if [ $((3 * have)) -lt "$all" ]; then
			echo "check-gen: a debugger knows $have of the $all lines of $template"
			return 1
		fi
	done
}

# step PROGRAM: what calls the comparison is a line of a template, and two steps on it is in one still.
step() {
	"$build/libtool" --mode=execute gdb -nx -batch -ex 'set breakpoint pending on' -ex 'break by_price_less' \
		-ex run -ex delete -ex up -ex down -ex step \
		-ex step -ex 'info source' "$1" >"$work/steps" 2>&1 </dev/null || true
	if grep -q 'ptrace\|not permitted\|During startup program' "$work/steps"; then
		echo "check-gen: gdb may not run a program here"
	elif ! grep -q '^#1 .*/extmem/gen/[a-z]*\.inc:[0-9]' "$work/steps" ||
		! grep -q '^Current source file is .*/extmem/gen/' "$work/steps"; then
		echo "check-gen: gdb does not step through the templates:"
		cat "$work/steps"
		return 1
	fi
}

# run NAME COMPILER STANDARD TAG: compile the example at two levels of optimisation, and run it once.
run() {
	file=$work/own_order.$1
	cp "$src/examples/own_order.c" "$file"
	for level in -O0 -O2; do
		# A compiler, flags and a sanitizer may be several words each.
		# shellcheck disable=SC2086
		$2 -std="$3" $warnings $level -g ${EM_SANITIZE:-} -I"$src/include" -c "$file" -o "$file.o"
		[ $level = -O2 ] || cp "$file.o" "$file.slow.o"
	done
	lines "$file.slow.o"
	# shellcheck disable=SC2086
	"$build/libtool" --silent --tag="$4" --mode=link $2 ${EM_SANITIZE:-} -o "$file.run" \
		"$file.o" "$build/libextmem.la"
	"$file.run"
	if [ -z "${EM_SANITIZE:-}" ] && command -v gdb >/dev/null; then
		# shellcheck disable=SC2086
		"$build/libtool" --silent --tag="$4" --mode=link $2 -o "$file.slow" "$file.slow.o" "$build/libextmem.la"
		step "$file.slow"
	fi
}

run c "${CC:-cc}" c99 CC
if [ -z "${CXX:-}" ]; then
	echo "check-gen: there is no C++ compiler, so C++ was left out"
	exit 77
fi
run cc "$CXX" c++11 CC
