// SPDX-License-Identifier: BSL-1.0
// std::priority_queue of records of 8 bytes with a key of 4: all are pushed, then all are popped, and again.
//
//	pq_std [--n 100000] [--rounds 100]
#include <queue>
#include <vector>

#include "peer_common.h"

struct elem {
	uint32_t key, val;
	bool operator<(const elem &b) const { return key > b.key; }
};

int main(int argc, char **argv)
{
	const uint64_t n = peer_size(peer_arg(argc, argv, "n", "100000"));
	const uint64_t rounds = peer_size(peer_arg(argc, argv, "rounds", "100"));
	uint64_t r, i, seen = 0;
	const double begun = peer_now();

	for (r = 0; r < rounds; r++) {
		std::priority_queue<elem> q;
		for (i = 0; i < n; i++) {
			const elem e = { (uint32_t)((peer_mix(r * n + i) >> 33) + 1), (uint32_t)i };
			q.push(e);
		}
		for (i = 0; i < n; i++) {
			seen += q.top().key;
			q.pop();
		}
	}
	printf("n=%llu ns=%.1f seen=%llu\n", (unsigned long long)n,
	       (peer_now() - begun) * 1e9 / (double)(rounds * n), (unsigned long long)seen);
	return 0;
}
