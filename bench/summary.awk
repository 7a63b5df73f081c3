# SPDX-License-Identifier: BSL-1.0
# summary.awk -- peer= lines to medians by peer and phase, our ratios to the best peer of each phase, and to what the
# disk takes for two passes.
/^peer=/ {
	split("", f)
	for (i = 1; i <= NF; i++)
		if ((p = index($i, "=")) > 0)
			f[substr($i, 1, p - 1)] = substr($i, p + 1)
	id = f["peer"] " " f["phase"]
	if (!(id in wall))
		order[++ids] = id
	wall[id] = wall[id] " " f["seconds"]
	cpu[id] = cpu[id] " " (f["user"] + f["sys"])
	rd[id] = rd[id] " " f["bytes_read"] / 1e9
	wr[id] = wr[id] " " f["bytes_written"] / 1e9
	rss[id] = rss[id] " " f["peak_rss"] / 1048576
}
END {
	printf "%-16s %-6s %8s %8s %8s %8s %8s  %s\n", "peer", "phase", "wall_s", "cpu_s", "read_GB", "write_GB",
	       "rss_MiB", "wall of each round"
	for (i = 1; i <= ids; i++) {
		id = order[i]
		split(id, k, " ")
		w = median(wall[id]); c = median(cpu[id])
		printf "%-16s %-6s %8.2f %8.2f %8.2f %8.2f %8.0f %s\n", k[1], k[2], w, c,
		       median(rd[id]), median(wr[id]), median(rss[id]), wall[id]
		if (k[1] == "extmem") {
			our_wall[k[2]] = w; our_cpu[k[2]] = c
		} else if (k[1] != "raw") {
			if (!(k[2] in best_wall) || w < best_wall[k[2]])
				best_wall[k[2]] = w
			if (!(k[2] in best_cpu) || c < best_cpu[k[2]])
				best_cpu[k[2]] = c
		}
	}
	for (p in our_wall)
		if (p in best_wall && our_wall[p] > 0 && our_cpu[p] > 0)
			printf "%s: wall %.2f times the best peer's speed, CPU %.2f of the least peer's\n", p,
				best_wall[p] / our_wall[p], our_cpu[p] / (best_cpu[p] > 0 ? best_cpu[p] : 0.01)
	if ("raw mixed" in wall && "sort" in our_wall)
		printf "sort: wall %.2f times 2 mixed\n", our_wall["sort"] / (2 * median(wall["raw mixed"]))
}
