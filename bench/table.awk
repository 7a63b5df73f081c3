# SPDX-License-Identifier: BSL-1.0
#
# table.awk -- lines of name=value to a table of medians.
#
#   awk -v by="rec threads" -v show="seconds cpu io_wait" -v times="seconds cpu" -f median.awk -f table.awk LOG
#
# Lines that agree in all of `by' are rounds of one measurement, and become a row with the medians of `show'.  Behind
# them stands, for each of `times', how many times the value of the first row it is that agrees in all of `by' but the
# last: the base.  Besides what a line has there are cpu (seconds), ns_elem and ns_byte (CPU time), GB (read and
# written) and ios.
function number(x) {
	return x == int(x) ? sprintf("%d", x) : x >= 100 ? sprintf("%.0f", x) : sprintf("%.2f", x)
}
BEGIN {
	nby = split(by, group, " ")
	nshow = split(show, column, " ")
	ntimes = split(times, ratio, " ")
}
/(^| )seconds=/ {
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	if (!("cpu" in f))
		f["cpu"] = f["user"] + f["sys"]
	if ("n" in f) {
		f["ns_elem"] = f["cpu"] * 1e9 / f["n"]
		f["ns_byte"] = f["ns_elem"] / f["recsize"]
	}
	f["GB"] = (f["bytes_read"] + f["bytes_written"]) / 1e9
	f["ios"] = f["ios_read"] + f["ios_written"]
	row = above = ""
	for (i = 1; i <= nby; i++) {
		above = row
		row = row sprintf("%-10s ", f[group[i]])
	}
	if (!(row in seen)) {
		order[++rows] = row
		seen[row] = 1
		if (!(above in base))
			base[above] = row
		is_to[row] = base[above]
	}
	for (i = 1; i <= nshow; i++)
		value[row, column[i]] = value[row, column[i]] " " f[column[i]]
	for (i = 1; i <= ntimes; i++)
		times_of[row, ratio[i]] = times_of[row, ratio[i]] " " f[ratio[i]]
}
END {
	line = ""
	for (i = 1; i <= nby; i++)
		line = line sprintf("%-10s ", group[i])
	for (i = 1; i <= nshow; i++)
		line = line sprintf("%10s ", column[i])
	for (i = 1; i <= ntimes; i++)
		line = line sprintf("%10s ", "x " ratio[i])
	print line
	for (r = 1; r <= rows; r++) {
		line = order[r]
		for (i = 1; i <= nshow; i++)
			line = line sprintf("%10s ", number(median(value[order[r], column[i]])))
		for (i = 1; i <= ntimes; i++) {
			b = median(times_of[is_to[order[r]], ratio[i]])
			line = line sprintf("%10s ",
				b > 0 ? sprintf("%.2f", median(times_of[order[r], ratio[i]]) / b) : "-")
		}
		print line
	}
}
