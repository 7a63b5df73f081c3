#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# Compare the code in doc/streams.md with the examples that it is taken from: each line has to be one of theirs.
# Others of an example may stand between them.
#
#	scripts/check-tutorial.sh
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
awk '
	function plain(line) {
		sub(/^[ \t]+/, "", line)
		sub(/[ \t]+$/, "", line)
		return line
	}
	FILENAME !~ /\.md$/ { known[plain($0)] = 1; next }
	/^    \$ / { output = 1; next }
	!/^    / { output = 0; next }
	output { next }
	{
		lines++
		if (!(plain($0) in known)) {
			printf "doc/streams.md:%d: no line of an example: %s\n", FNR, $0
			bad++
		}
	}
	END { printf "check-tutorial: %d lines of code: %s\n", lines, bad ? "FAILED" : "ok"; exit bad != 0 }
' "$top/examples/random_graph.c" "$top/examples/independent_set.c" "$top/examples/percentiles.c" \
	"$top/examples/word_count.c" "$top/examples/word_lines.c" "$top/doc/streams.md"
