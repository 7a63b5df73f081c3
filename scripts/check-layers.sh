#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
# The layers of src/ as they are drawn in doc/architecture.md: an #include that does not stand in this table fails.
#
#   - internal headers are included as "layer/file.h", or by their bare name within a folder
#   - public headers include only public headers and standard C ones
#   - the command includes only public headers
#   - headers of the operating system stay in base, io, ctx, cli, and where streams meet files
set -eu
cd "${EM_SRCDIR:-$(dirname "$0")/..}"

# The $ below are awk's.
# shellcheck disable=SC2016
find src include -type f \( -name '*.c' -o -name '*.h' -o -name '*.inc' -o -name '*.def' \) |
	LC_ALL=C sort | xargs awk '
BEGIN {
	may["base"] = "base"
	may["io"] = "base io"
	may["key"] = "base key kern/kern.h"
	may["kern"] = "kern"
	may["ctx"] = "base io key kern ctx"
	may["block"] = "base io block"
	may["stream"] = "base io key block stream"
	may["sort"] = "base io key kern ctx block stream sort"
	may["container"] = "base io key block stream sort container"
	may["flow"] = "base io key block stream sort container flow"
	may["abi"] = "base abi"
	may["cli"] = "cli"
	os["base"] = os["io"] = os["ctx"] = os["stream"] = os["cli"] = 1
}

function complain(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	bad = 1
}

# Is target, "layer/file.h", allowed by the list of layers and files?
function allowed(list, target,    n, i, item) {
	n = split(list, item, " ")
	for (i = 1; i <= n; i++)
		if (target == item[i] || index(target, item[i] "/") == 1)
			return 1
	return 0
}

FNR == 1 {
	n = split(FILENAME, part, "/")
	public = part[1] == "include"
	layer = public ? "" : part[2]
	files++
	if (!public && n > 2 && !(layer in may))
		complain("src/" layer " is not among the layers")
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, q, "\"")
	target = q[2]
	if (public)
		complain("a public header includes \"" target "\"")
	else if (target ~ /\.\./)
		complain("\"" target "\" goes through the parent folder")
	else if (target ~ /\// && !allowed(may[layer], target))
		complain(layer " must not include \"" target "\"")
	seen++
}

/^[ \t]*#[ \t]*include[ \t]*</ {
	split($0, q, /[<>]/)
	target = q[2]
	if (public && target !~ /^extmem\// && target !~ /^(stddef|stdint|limits|string)\.h$/)
		complain("a public header includes <" target ">")
	if (!public && !(layer in os) && target ~ /^(fcntl\.h|unistd\.h|sys\/|linux\/|libaio\.h|liburing\.h)/)
		complain(layer " must not include <" target ">, which belongs to the operating system")
	if (!public && target ~ /^(base|io|key|kern|ctx|block|stream|sort|container|flow|cli)\//)
		complain("internal headers are included as \"" target "\"")
	seen++
}

END {
	if (!files || !seen) {
		print "check-layers: no files were found"
		bad = 1
	}
	printf "check-layers: %d files, %d includes: %s\n", files, seen, bad ? "FAILED" : "ok"
	exit bad
}'
