# SPDX-License-Identifier: BSL-1.0
#
# btree.awk -- what bench/btree logged, as a table.
#
#   awk -v peers="NAME..." -v data=BYTES -f median.awk -f btree.awk LOG
function of(name, phase, what) {
	return (name, phase, what) in value ? median(value[name, phase, what]) : -1
}
function cell(x, form) {
	return x < 0 ? sprintf("%10s", "-") : sprintf("%10" form, x)
}
{
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	phase = f["phase"]
	if (phase == "filesize") {
		# A file without a name has none.
		if (f["sum"] > 0)
			value[f["of"], "bulk", "bytes"] = value[f["of"], "bulk", "bytes"] " " f["sum"] / data
		next
	}
	if (f["of"] == "raw")
		phase = phase ~ /write/ ? "bulk" : phase ~ /read/ ? "scan" : "none"
	value[f["of"], phase, "s"] = value[f["of"], phase, "s"] " " f["seconds"]
	value[f["of"], phase, "MiB"] = value[f["of"], phase, "MiB"] " " f["bytes_written"] / 1048576
	if ("bytes" in f)
		value[f["of"], phase, "bytes"] = value[f["of"], phase, "bytes"] " " f["bytes"] / data
}
END {
	n = split("extmem raw " peers, name, " ")
	rows = split("bulk insert locate scan erase pointinsert", row, " ")
	printf "%-16s", "seconds"
	for (k = 1; k <= n; k++)
		printf "%10s", name[k]
	printf "\n"
	for (i = 1; i <= rows; i++) {
		printf "%-16s", row[i]
		for (k = 1; k <= n; k++)
			printf "%s", cell(of(name[k], row[i], "s"), ".2f")
		printf "\n"
		if (row[i] == "locate" || row[i] == "scan")
			continue
		printf "%-16s", "  MiB written"
		for (k = 1; k <= n; k++)
			printf "%s", cell(of(name[k], row[i], "MiB"), ".0f")
		printf "\n"
	}
	for (i = 1; i <= 2; i++) {
		printf "%-16s", "space, " row[i]
		for (k = 1; k <= n; k++)
			printf "%s", cell(of(name[k], row[i], "bytes"), ".2f")
		printf "\n"
	}
}
