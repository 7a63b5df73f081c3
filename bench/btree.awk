# SPDX-License-Identifier: BSL-1.0
#
# btree.awk -- what bench/btree logged, as a table.
#
#   awk -v peers="NAME..." -v data=BYTES -v ops=LOOKUPS -f median.awk -f btree.awk LOG
BEGIN {
	# What a phase of raw_yardstick is beside.
	plain["write"] = "bulk"
	plain["read"] = "fullscan"
	plain["ranges"] = "each"
	plain["ranges_ahead"] = "each_many"
}
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
	if (phase ~ /^filesize/) {
		phase = phase == "filesize" ? "bulk" : substr(phase, 10)
		value[f["of"], phase, "bytes"] = value[f["of"], phase, "bytes"] " " f["sum"] / data
		next
	}
	if (f["of"] == "raw" && "peer" in f)
		phase = phase in plain ? plain[phase] : "none"
	# Those that were stopped: as if they had gone on like that.
	if (phase == "unsorted" && f["ops"] + 0 < f["n"] + 0) {
		stopped[f["of"]] = int(f["ops"] * 100 / f["n"])
		f["seconds"] *= f["n"] / f["ops"]
	}
	value[f["of"], phase, "s"] = value[f["of"], phase, "s"] " " f["seconds"]
	value[f["of"], phase, "MiB"] = value[f["of"], phase, "MiB"] " " f["bytes_written"] / 1048576
	value[f["of"], phase, "MiB read"] = value[f["of"], phase, "MiB read"] " " f["bytes_read"] / 1048576
	if ("bytes" in f)
		value[f["of"], phase, "bytes"] = value[f["of"], phase, "bytes"] " " f["bytes"] / data
}
END {
	n = split("extmem raw " peers, name, " ")
	rows = split("bulk insert locate locate_many fullscan fulleach scan each each_many each_apart erase unsorted " \
		     "pointinsert", row, " ")
	printf "%-16s", "seconds"
	for (k = 1; k <= n; k++)
		printf "%10s", name[k]
	printf "\n"
	for (i = 1; i <= rows; i++) {
		printf "%-16s", row[i]
		for (k = 1; k <= n; k++)
			printf "%s", cell(of(name[k], row[i], "s"), ".2f")
		printf "\n"
		printf "%-16s", row[i] ~ /locate/ ? "  us" : row[i] ~ /scan|each/ ? "  MiB read" : "  MiB written"
		for (k = 1; k <= n; k++) {
			x = of(name[k], row[i], row[i] ~ /locate/ ? "s" : row[i] ~ /scan|each/ ? "MiB read" : "MiB")
			printf "%s", row[i] ~ /locate/ ? cell(x < 0 ? x : x * 1e6 / ops, ".1f") : cell(x, ".0f")
		}
		printf "\n"
	}
	spaces = split("bulk insert erase", row, " ")
	for (i = 1; i <= spaces; i++) {
		printf "%-16s", "space, " row[i]
		for (k = 1; k <= n; k++)
			printf "%s", cell(of(name[k], row[i], "bytes"), ".2f")
		printf "\n"
	}
	for (k = 1; k <= n; k++)
		if (name[k] in stopped)
			printf "%s was stopped with %d %% of unsorted: the time of all is reckoned from that\n",
				name[k], stopped[name[k]]
}
