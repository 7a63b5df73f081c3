# SPDX-License-Identifier: BSL-1.0
#
# steps.awk -- samples of one sort to nanoseconds per record of its steps.
#
#   awk -f steps.awk LINE SAMPLES
#
# LINE is what bench_sort printed of the sort, SAMPLES what `perf script -F tid,time,ip,sym,dso' prints of it.  The sort
# is where bench_sort itself, which makes the input and checks the output, has nothing to do for longest; LINE tells how
# much of that its first phase took.

# The step that a function belongs to, in phase "runs" or "output".
function step_of(sym, dso, phase) {
	if (dso !~ /libextmem|libc\.so/)
		return sym ~ /^(clear_page|folio_zero)/ ? "clearing memory" : "reading and writing"
	if (sym ~ /^net_/)
		return phase == "runs" ? "leaf sorts" : "mix"
	if (sym ~ /^key_/)
		return phase == "runs" ? "store" : "cut"
	if (sym ~ /^(load_|emi_codes_make|emi_codes_load)/)
		return "load"
	if (sym ~ /^(diff_bits|order_of)/)
		return "survey"
	if (sym ~ /^count_digits/)
		return "count"
	if (sym ~ /^scatter/)
		return "scatter"
	if (sym ~ /^(cached|finish_|insertion|msd|ties_|tie_sort|deep)/)
		return "leaf sorts"
	if (sym ~ /memcmp|^tie_/)
		return phase == "runs" ? "leaf sorts" : "tree"
	if (sym ~ /^mix/)
		return "mix"
	if (sym ~ /^(merge_run|merge_start|merge_elems|tied_replay|before_|emi_codes_recode|compare_from|value_of)/)
		return "tree"
	if (sym ~ /^(cut|bound|ahead)/)
		return "cut"
	if (sym ~ /^(emi_memory_store|store)|memmove/)
		return "store"
	return "other"
}

# Where a sample is in time is only known when all have been read.
FNR == NR {
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			line[substr($i, 1, p - 1)] = substr($i, p + 1)
	next
}
{
	time[++n] = $2 + 0
	sym[n] = $4
	dso[n] = $NF
}
END {
	last = 0
	for (i = 1; i <= n; i++)
		if (dso[i] ~ /bench_sort/) {
			if (last && time[i] - time[last] > gap) {
				gap = time[i] - time[last]
				from = last + 1
				to = i - 1
			}
			last = i
		}
	for (i = from; i <= to; i++) {
		phase = time[i] < time[from - 1] + line["runs_s"] ? "runs" : "output"
		step = step_of(sym[i], dso[i], phase)
		samples[phase]++
		samples[phase, step]++
		if (names)
			functions[phase ": " step ": " sym[i]]++
	}
	split("runs output", phases, " ")
	if (!samples["runs"] || !samples["output"]) {
		print "steps: no samples of both phases; is the library a shared one, with symbols?" >"/dev/stderr"
		exit 1
	}
	k = split("clearing memory,reading and writing,load,survey,count,scatter,leaf sorts,cut,mix,tree,store," \
		"other", steps, ",")
	printf "%-10s %-20s %8s\n", "rec", "step", "ns"
	for (p = 1; p <= 2; p++) {
		ns = line[phases[p] "_cpu"] * 1e9 / line["n"]
		printf "%-10s %-20s %8.2f\n", line["rec"], phases[p], ns
		for (i = 1; i <= k; i++)
			if (samples[phases[p], steps[i]])
				printf "%-10s   %-18s %8.2f\n", "", steps[i],
					ns * samples[phases[p], steps[i]] / samples[phases[p]]
	}
	for (f in functions)
		print functions[f], f | "sort -k2,3 -k1,1nr"
}
