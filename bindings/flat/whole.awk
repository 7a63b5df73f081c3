# SPDX-License-Identifier: BSL-1.0
# One file from what SWIG makes and the headers of this folder that it includes, so that a package needs no others:
#
#   awk -v folders=FOLDER:... -f whole.awk FILE

function put(file,    line, name, i, n, list, found) {
	while ((getline line < file) > 0) {
		if (line !~ /^#include "/) {
			print line
			continue
		}
		name = line
		sub(/^#include "/, "", name)
		sub(/".*/, "", name)
		if (name in seen)
			continue
		seen[name] = 1
		n = split(folders, list, ":")
		found = ""
		for (i = 1; i <= n && found == ""; i++) {
			if ((getline line < (list[i] "/" name)) >= 0)
				found = list[i] "/" name
			close(list[i] "/" name)
		}
		if (found == "")
			print line
		else
			put(found)
	}
	close(file)
}

BEGIN {
	print "/* SPDX-License-Identifier: BSL-1.0 */"
	put(ARGV[1])
}
