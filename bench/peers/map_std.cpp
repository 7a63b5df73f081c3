// SPDX-License-Identifier: BSL-1.0
// std::map: n records in no order are inserted, and the least one is taken out until it is empty, as by
// bench_btree --ends 1.
//
//	map_std [--n 2^20]
#include <map>

#include "peer_common.h"

struct key_type {
	char c[8];
	bool operator<(const key_type &other) const
	{
		return memcmp(c, other.c, sizeof c) < 0;
	}
};

struct data_type {
	char c[32];
};

static key_type key_of(uint64_t i)
{
	uint64_t v = peer_mix(i ^ 0x9999) % UINT64_C(208827064576);
	key_type k;

	for (int j = 7; j >= 0; j--, v /= 26)
		k.c[j] = (char)('a' + v % 26);
	return k;
}

static void report(const peer_mark &m, uint64_t n, const char *phase, uint64_t count, uint64_t sum)
{
	char extra[128];

	snprintf(extra, sizeof extra, "ops=%llu sum=%llu", (unsigned long long)count, (unsigned long long)sum);
	phase_end(&m, "std_map", "ends", n, 40, 0, phase, extra);
}

int main(int argc, char **argv)
{
	const uint64_t n = peer_size(peer_arg(argc, argv, "n", "2^20"));
	std::map<key_type, data_type> map;
	uint64_t sum = 0, count = 0;
	data_type d;
	peer_mark m;

	phase_begin(&m);
	for (uint64_t i = 0; i < n; i++) {
		memset(d.c, (int)('a' + i % 26), sizeof d.c);
		map.insert(std::make_pair(key_of(i), d));
	}
	report(m, n, "fill", map.size(), 0);
	phase_begin(&m);
	for (; !map.empty(); count++) {
		uint64_t h;

		memcpy(&h, map.begin()->first.c, sizeof h);
		sum = sum * 31 + h;
		map.erase(map.begin());
	}
	report(m, n, "drain", count, sum);
	return 0;
}
