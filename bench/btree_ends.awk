# SPDX-License-Identifier: BSL-1.0
#
# btree_ends.awk -- what bench/btree_ends logged, as a table; fails where the two differ.
#
#   awk -f median.awk -f btree_ends.awk LOG
function cell(key, form) {
	return key in value ? sprintf(form, median(value[key])) : "-"
}
{
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	key = f["n"] " " f["phase"] " " f["peer"]
	value[key] = value[key] " " f["seconds"] * 1e6 / f["ops"]
	if ("reads" in f) {
		# Numbers of a tree count on from one phase to the next.
		fill = f["phase"] == "fill"
		reads[key] = f["reads"] - (fill ? 0 : reads_before)
		writes[key] = f["writes"] - (fill ? 0 : writes_before)
		reads_before = f["reads"]
		writes_before = f["writes"]
	}
	row = f["n"] " " f["phase"]
	is = f["ops"] "/" f["sum"]
	# Hardly any two keys are the same.
	if (f["ops"] + 0 < f["n"] * 0.9)
		stopped[f["n"]] = f["ops"]
	if (!(row in order)) {
		order[row] = ++rows
		name[rows] = row
		found[row] = is
	} else if (found[row] != is && !(f["n"] in stopped)) {
		print "btree_ends: " row " gave other records: " is ", " found[row] >"/dev/stderr"
		failed = 1
	}
}
END {
	printf "%12s %-8s %12s %12s %12s %12s\n", "records", "", "us", "std::map us", "reads", "writes"
	for (i = 1; i <= rows; i++) {
		split(name[i], part, " ")
		key = name[i] " extmem"
		printf "%12d %-8s %12s %12s %12d %12d\n", part[1], part[2] == "fill" ? "insert" : "pop_min",
			cell(key, "%.3f"), cell(name[i] " std_map", "%.3f"), reads[key], writes[key]
	}
	for (n in stopped)
		printf "of %d records only %d were inserted in time, and taken out\n", n, stopped[n]
	exit failed
}
