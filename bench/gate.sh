#!/bin/sh
# SPDX-License-Identifier: BSL-1.0
#
# gate.sh -- compare the prototype with STXXL, in turn, and print medians.
#
#   gate.sh GATE SORT_STXXL [DIR]
#
# GATE is bench/gate, SORT_STXXL the built peer driver, DIR a scratch directory on the
# disk to be measured (default: $TMPDIR or /var/tmp).  A directory is made in it and
# removed again.  Environment: N (2^26), MEM (128M), ROUNDS (3), ALGOS ("sort ksort").
set -eu
if [ $# -lt 2 ]; then
	sed -n '3,10s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
gate=$1
stxxl=$2
dir=$(mktemp -d "${3:-${TMPDIR:-/var/tmp}}/gate.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
n=${N:-2^26}
mem=${MEM:-128M}
log=$dir/log

round=0
while [ "$round" -lt "${ROUNDS:-3}" ]; do
	"$gate" --dir "$dir" --n "$n" --mem "$mem" >>"$log"
	for algo in ${ALGOS:-sort ksort}; do
		STXXLLOGFILE=/dev/null STXXLERRLOGFILE=/dev/null "$stxxl" --algo "$algo" --rec kv16 --n "$n" \
			--mem "$mem" --dir "$dir" 2>"$dir/err" |
			grep '^peer=' >>"$log" || { cat "$dir/err" >&2; exit 2; }
	done
	round=$((round + 1))
done

# One line per peer and phase: medians of seconds, of user + sys, of GB moved.
awk '
function median(list,    v, k, i, j, t) {
	k = split(list, v, " ")
	for (i = 2; i <= k; i++)
		for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
			t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
		}
	return k % 2 ? v[(k + 1) / 2] : (v[k / 2] + v[k / 2 + 1]) / 2
}
{
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	id = f["peer"] " " f["phase"]
	if (!(id in wall))
		order[++ids] = id
	wall[id] = wall[id] " " f["seconds"]
	cpu[id] = cpu[id] " " f["user"] + f["sys"]
	gb[id] = gb[id] " " (f["bytes_read"] + f["bytes_written"]) / 1e9
	rss[id] = rss[id] " " f["peak_rss"] / 1048576
}
END {
	printf "%-22s %-6s %8s %8s %8s %8s  %s\n", "peer", "phase", "wall_s", "cpu_s", "GB", "rss_MiB",
		"wall of each round"
	for (i = 1; i <= ids; i++) {
		split(order[i], k, " ")
		printf "%-22s %-6s %8.2f %8.2f %8.2f %8.0f %s\n", k[1], k[2], median(wall[order[i]]),
			median(cpu[order[i]]),
			median(gb[order[i]]), median(rss[order[i]]), wall[order[i]]
	}
}' "$log"
