# SPDX-License-Identifier: BSL-1.0
# median.awk -- the median of a list of numbers, for the other awk programs here.
function median(list,    v, k, i, j, t) {
	k = split(list, v, " ")
	for (i = 2; i <= k; i++)
		for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) {
			t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
		}
	return k % 2 ? v[(k + 1) / 2] : (v[k / 2] + v[k / 2 + 1]) / 2
}
