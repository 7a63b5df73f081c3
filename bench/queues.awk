# SPDX-License-Identifier: BSL-1.0
#
# queues.awk -- what bench/queues logged, as a table.
#
#   awk -f median.awk -f queues.awk LOG
/^test=/ {
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	# The test of pushes and pops in random order begins with pushes that the other test has, too.
	if (f["test"] == "mixed" && f["phase"] != "mixed")
		next
	row = f["rec"] SUBSEP f["log2"] SUBSEP f["phase"]
	if (!(row in known)) {
		known[row] = 1
		rows[++n] = row
	}
	for (i in f)
		value[row, f["of"], i] = value[row, f["of"], i] " " f[i]
}
function of(row, who, what) {
	return median(value[row, who, what])
}
END {
	printf "%4s %5s %-6s  %7s %7s %7s %7s  %7s %7s %7s %7s %6s  %6s %6s\n", "rec", "n", "phase", "ns", "CPU ns", \
		"written", "read", "STXXL", "CPU ns", "written", "read", "wait s", "times", "CPU"
	for (i = 1; i <= n; i++) {
		split(rows[i], name, SUBSEP)
		printf "%4s  2^%s %-6s  %7.1f %7.1f %7.0f %7.0f  %7.1f %7.1f %7.0f %7.0f %6.2f  %6.2f %6.2f\n", \
			name[1], name[2], name[3], of(rows[i], "ours", "ns"), of(rows[i], "ours", "cpu_ns"), \
			of(rows[i], "ours", "written_MiB"), of(rows[i], "ours", "read_MiB"), \
			of(rows[i], "stxxl", "ns"), of(rows[i], "stxxl", "cpu_ns"), \
			of(rows[i], "stxxl", "written_MiB"), of(rows[i], "stxxl", "read_MiB"), \
			of(rows[i], "stxxl", "wait"), \
			of(rows[i], "stxxl", "ns") / of(rows[i], "ours", "ns"), \
			of(rows[i], "stxxl", "cpu_ns") / of(rows[i], "ours", "cpu_ns")
	}
}
