# SPDX-License-Identifier: BSL-1.0
#
# memory.awk -- what bench/memory measured, as a table: medians of seconds for each -S, without -S, and that by the
# best.
{
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	row = f["work"] " " f["size"]
	if (!(row in seen)) {
		seen[row] = 1
		rows[++nrows] = row
	}
	if (!(f["memory"] in known)) {
		known[f["memory"]] = 1
		memory[++nmemory] = f["memory"]
	}
	seconds[row, f["memory"]] = seconds[row, f["memory"]] " " f["seconds"]
	cpu[row, f["memory"]] = cpu[row, f["memory"]] " " f["cpu"]
}
END {
	printf "%-16s", "work size"
	for (m = 1; m <= nmemory; m++)
		printf "%10s", memory[m] == "none" ? "no -S" : memory[m]
	printf "%10s%10s\n", "x best", "cpu"
	for (r = 1; r <= nrows; r++) {
		row = rows[r]
		best = 0
		printf "%-16s", row
		for (m = 1; m <= nmemory; m++) {
			s = median(seconds[row, memory[m]])
			printf "%10.2f", s
			if (memory[m] != "none" && (best == 0 || s < best))
				best = s
		}
		printf "%10.2f%10.2f\n", median(seconds[row, "none"]) / best, median(cpu[row, "none"])
	}
}
