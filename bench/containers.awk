# SPDX-License-Identifier: BSL-1.0
#
# containers.awk -- what bench/containers logged, as a table: rows of ours, what each is compared with, and what it must
# be.
#
#   awk -f median.awk -f containers.awk LOG
function of(row, phase, what) {
	return median(value[row, phase, what])
}
# The rate of a phase in percent of another one's, at least `must'; 0: it need not.
function rate(row, phase, base, base_phase, must,    a, b) {
	if (!((row, phase, "seconds") in value))
		return
	a = of(row, phase, "seconds")
	b = of(base, base_phase, "seconds")
	line(row, phase, "seconds", a, base " " base_phase, b, 100 * b / a, must, 100 * b / a >= must)
}
# A time in percent of another one's, at most `must'.
function time(row, phase, what, base, base_phase, must,    a, b) {
	if (!((row, phase, what) in value))
		return
	a = of(row, phase, what)
	b = of(base, base_phase, what)
	line(row, phase, what, a, base " " base_phase, b, b > 0 ? 100 * a / b : 0, must,
	     must == 0 || 100 * a <= must * b)
}
function line(row, phase, what, a, base, b, is, must, holds) {
	printf "%-16s %-6s %-8s %8.2f  %-18s %8.2f %6.0f %6s %s\n", row, phase, what, a, base, b, is,
	       must ? must : "-", must ? holds ? "yes" : "NO" : ""
}
/^row=/ {
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	# A deque's names tell the end, too.
	sub(/_.*/, "", f["phase"])
	id = f["row"] SUBSEP f["phase"] SUBSEP
	value[id "seconds"] = value[id "seconds"] " " f["seconds"]
	value[id "user"] = value[id "user"] " " f["user"]
	if (f["row"] ~ /-simdisk-/)
		MBps[f["row"], f["phase"]] = f["MBps"]
}
END {
	printf "%-16s %-6s %-8s %8s  %-18s %8s %6s %6s\n", "work", "phase", "what", "ours", "beside", "theirs", "is",
	       "must"
	for (i = 1; i <= split("many single", by, " "); i++) {
		rate("stack-32-" by[i], "push", "raw", "write", 90)
		rate("stack-32-" by[i], "pop", "raw", "read", 90)
	}
	for (i = 1; i <= split("single window", by, " "); i++) {
		time("stack-4-" by[i], "push", "user", "stxxl-stack2", "push", 50)
		time("stack-4-" by[i], "pop", "user", "stxxl-stack2", "pop", 50)
		time("stack-4-" by[i], "push", "seconds", "raw", "write", 115)
		time("stack-4-" by[i], "pop", "seconds", "raw", "read", 115)
	}
	for (i = 1; i <= split("queue deque", work, " "); i++) {
		rate(work[i] "-32-many", "push", "raw", "write", 90)
		rate(work[i] "-32-many", "pop", "raw", "read", 90)
		rate(work[i] "-32-mixed", "mixed", "raw", "mixed", 90)
		for (k = 1; k <= split("single window", by, " "); k++) {
			time(work[i] "-4-" by[k], "push", "user", "stxxl-" work[i], "push", 0)
			time(work[i] "-4-" by[k], "pop", "user", "stxxl-" work[i], "pop", 0)
		}
	}
	for (d = 1; d <= 4; d *= 2)
		for (i = 1; i <= split("stack queue", work, " "); i++)
			for (k = 1; k <= split("push pop", phase, " "); k++)
				if ((work[i] "-simdisk-" d, phase[k]) in MBps) {
					is = 100 * MBps[work[i] "-simdisk-" d, phase[k]] / (50 * d)
					line(work[i] "-simdisk-" d, phase[k], "MB/s",
					     MBps[work[i] "-simdisk-" d, phase[k]], d " x 50 MB/s",
					     50 * d, is, 90, is >= 90)
				}
}
