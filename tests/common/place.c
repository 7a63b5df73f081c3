/* SPDX-License-Identifier: BSL-1.0 */
/* place.c -- see place.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <sched.h>
#include <string.h>
#ifdef HAVE_BACKTRACE
#include <execinfo.h>
#endif

#include "test.h"

#define OWN 1   /* frames of this file */
/* Callers further away make no difference: what all go through is a few places, not one for each way to it.  Of
 * threads there is less to see. */
#define DEPTH (TEST_TSAN ? 3 : 6)

int test_place_known(void)
{
#ifdef HAVE_BACKTRACE
	return 1;
#else
	return 0;
#endif
}

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

uint64_t test_place_here(uint32_t kind)
{
	uint64_t h = mix(1, kind);
#ifdef HAVE_BACKTRACE
	void *frame[OWN + DEPTH];
	const int n = backtrace(frame, OWN + DEPTH);
	int i;

	for (i = OWN; i < n; i++)
		h = mix(h, (uintptr_t)frame[i]);
#endif
	return h != 0 ? h : 1;
}

static void lock(test_places *p)
{
	while (__atomic_exchange_n(&p->busy, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(test_places *p)
{
	__atomic_store_n(&p->busy, 0, __ATOMIC_RELEASE);
}

/* Its place in the table, or one that is free; NULL: the table is full. */
static test_place *find(test_places *p, uint64_t key)
{
	size_t i;

	for (i = 0; i < TEST_PLACES; i++) {
		test_place *at = &p->place[(key + i) % TEST_PLACES];

		if (at->key == key || at->key == 0)
			return at;
	}
	return NULL;
}

int test_place_reach(test_places *p, uint64_t key, uint32_t kind)
{
	int strikes = 0;
	test_place *at;

	lock(p);
	p->reached++;
	at = find(p, key);
	if (at != NULL) {
		at->key = key;
		at->kind = kind;
		at->count++;
		strikes = key == p->fail_key && at->count == p->fail_nth;
		p->failed += (uint64_t)strikes;
	}
	unlock(p);
	return strikes;
}

void test_place_begin(test_places *p, uint64_t key, uint64_t nth)
{
	memset(p, 0, sizeof(*p));
	p->fail_key = key;
	p->fail_nth = nth;
}
