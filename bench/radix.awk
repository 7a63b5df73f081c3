# SPDX-License-Identifier: BSL-1.0
#
# radix.awk -- what bench/radix logged, as a table.
#
#   awk -v ranges="C..." -v memories="M..." -v calls="MANY..." -f median.awk -f radix.awk LOG
#
# A program prints a line for each phase; what counts is the sum of filling and emptying.
function end_run(    id, i) {
	if (run == "" || !("ns" in sum))
		return
	for (i in sum)
		value[run, i] = value[run, i] " " sum[i]
}
function of(run, what) {
	return (run, what) in value ? median(value[run, what]) : -1
}
function cell(x, width, form) {
	return x < 0 ? sprintf("%" width "s", "-") : sprintf("%" width form, x)
}
function percent(a, b) {
	return a < 0 || b <= 0 ? -1 : 100 * a / b
}
# A run begins with its plan, or where a phase comes that it had already.
/^of=/ {
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	name = f["of"] SUBSEP f["C"] SUBSEP f["M"] SUBSEP f["calls"]
	if (name != run || f["phase"] == "" || (f["phase"] in had)) {
		end_run()
		run = name
		split("", sum)
		split("", had)
	}
	had[f["phase"]] = 1
	if ("h" in f) {
		levels[name] = f["h"]
		radix[name] = f["r"]
	}
	if (f["phase"] ~ /^(push|pop|fill|drain)$/) {
		sum["ns"] += f["ns"]
		sum["cpu"] += f["cpu_ns"]
		sum["read"] += f["read_MiB"]
		sum["written"] += f["written_MiB"]
	}
}
END {
	end_run()
	printf "%-10s %4s %5s %2s %4s %7s %7s %7s %7s  %7s %7s %5s %5s  %7s %7s\n", "C", "M", "calls", "h", "r", "ns", \
		"CPU ns", "read", "written", "sort", "CPU", "wall%", "CPU%", "queue", "CPU"
	nranges = split(ranges, range, " ")
	nmemories = split(memories, memory, " ")
	ncalls = split(calls, many, " ")
	for (i = 1; i <= nranges; i++)
		for (j = 1; j <= nmemories; j++)
			for (k = 1; k <= ncalls; k++) {
				heap = "heap" SUBSEP range[i] SUBSEP memory[j] SUBSEP many[k]
				sort = "sort" SUBSEP range[i] SUBSEP memory[j] SUBSEP
				queue = "queue" SUBSEP range[i] SUBSEP memory[j] SUBSEP many[k]
				printf "%-10s %4s %5s %2s %4s", range[i], memory[j], many[k], levels[heap], radix[heap]
				printf " %s %s %s %s ", cell(of(heap, "ns"), 7, ".1f"), \
					cell(of(heap, "cpu"), 7, ".1f"), cell(of(heap, "read"), 7, ".0f"), \
					cell(of(heap, "written"), 7, ".0f")
				printf " %s %s %s %s ", cell(of(sort, "ns"), 7, ".1f"), \
					cell(of(sort, "cpu"), 7, ".1f"), \
					cell(percent(of(heap, "ns"), of(sort, "ns")), 5, ".0f"), \
					cell(percent(of(heap, "cpu"), of(sort, "cpu")), 5, ".0f")
				printf " %s %s\n", cell(of(queue, "ns"), 7, ".1f"), cell(of(queue, "cpu"), 7, ".1f")
			}
}
