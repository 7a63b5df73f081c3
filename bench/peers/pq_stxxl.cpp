// SPDX-License-Identifier: BSL-1.0
// The works of bench_pq by stxxl::priority_queue, sequential, with 512 MiB: 256 MiB for the queue, which is said when
// this is compiled, and 256 MiB for its pools.
//
//	pq_stxxl [--test insdel|mixed] [--n 2^27] [--rec 8|16|32] [--dir DIR]
#include <time.h>

#include "stxxl_setup.hpp"

#include <ostream>

#include <stxxl/priority_queue>

enum { QUEUE_MEMORY = 256u << 20 };
static const unsigned most_ki = 1u << 21;   // elements / 1024

struct elem8 {
	uint32_t key, val;
	static elem8 of(uint64_t i)
	{
		elem8 e = { (uint32_t)((peer_mix(i) >> 33) + 1), (uint32_t)i };
		return e;
	}
};

template <int Rest>
struct elem_large {
	uint64_t key, val;
	char rest[Rest];
	static elem_large of(uint64_t i)
	{
		elem_large e;
		memset(&e, 0, sizeof e);
		e.key = (peer_mix(i) >> 1) + 1;
		e.val = i;
		return e;
	}
};

struct elem16 {
	uint64_t key, val;
	static elem16 of(uint64_t i)
	{
		elem16 e = { (peer_mix(i) >> 1) + 1, i };
		return e;
	}
};

// STXXL's headers print elements in places that are never reached.
static std::ostream &operator<<(std::ostream &o, const elem8 &) { return o; }
static std::ostream &operator<<(std::ostream &o, const elem16 &) { return o; }
template <int Rest>
static std::ostream &operator<<(std::ostream &o, const elem_large<Rest> &) { return o; }

template <class E>
struct later {
	bool operator()(const E &a, const E &b) const { return a.key > b.key; }
	E min_value() const
	{
		E e;
		memset(&e, 0xff, sizeof e);
		return e;
	}
};

static double peer_cpu()
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double last_wall, last_user;
static stxxl::stats_data last_stats;

static void begin()
{
	last_wall = peer_now();
	last_user = peer_cpu();
	last_stats = stxxl::stats_data(*stxxl::stats::get_instance());
}

static void phase(const char *name, uint64_t n)
{
	const double wall = peer_now() - last_wall, cpu = peer_cpu() - last_user;
	const stxxl::stats_data d = stxxl::stats_data(*stxxl::stats::get_instance()) - last_stats;

	printf("phase=%-6s seconds=%-7.3f cpu=%-7.3f ns=%-6.1f cpu_ns=%-6.1f read_MiB=%-7.0f written_MiB=%-7.0f "
	       "wait=%.2f\n",
	       name, wall, cpu, wall * 1e9 / (double)n, cpu * 1e9 / (double)n, (double)d.get_read_volume() / 1048576,
	       (double)d.get_written_volume() / 1048576, d.get_io_wait_time());
	fflush(stdout);
	begin();
}

template <class E>
static void run(const std::string &test, uint64_t n)
{
	typedef typename stxxl::PRIORITY_QUEUE_GENERATOR<E, later<E>, QUEUE_MEMORY, most_ki>::result queue;
	queue q((128u << 20), (128u << 20));
	uint64_t in = 0, out = 0, last = 0, i;

	begin();
	for (i = 0; i < n; i++) {
		const E e = E::of(i);
		in += e.key * 3 + e.val;
		q.push(e);
	}
	phase("fill", n);
	if (test == "insdel") {
		for (i = 0; i < n; i++) {
			const E e = q.top();
			q.pop();
			if (e.key < last)
				peer_die("out of order");
			last = e.key;
			out += e.key * 3 + e.val;
		}
		phase("drain", n);
		if (in != out)
			peer_die("other records came out");
		return;
	}
	for (i = 0; i < n; i++) {
		if (peer_mix(i ^ 0x5555555555555555ull) % 3 == 0) {
			q.push(E::of(n + i));
		} else {
			out += q.top().key;
			q.pop();
		}
	}
	phase("mixed", n);
	if (out == 0)
		peer_die("nothing came out");
}

int main(int argc, char **argv)
{
	const std::string io = stxxl_setup(argc, argv), test = peer_arg(argc, argv, "test", "insdel");
	const uint64_t n = peer_size(peer_arg(argc, argv, "n", "2^27"));
	const uint64_t rec = peer_size(peer_arg(argc, argv, "rec", "8"));

	if (rec == 8)
		run<elem8>(test, n);
	else if (rec == 16)
		run<elem16>(test, n);
	else if (rec == 32)
		run<elem_large<16> >(test, n);
	else
		peer_die("--rec is 8, 16 or 32");
	return 0;
}
