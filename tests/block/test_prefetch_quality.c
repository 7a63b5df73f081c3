/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_prefetch_quality.c -- how good the order is in which blocks are asked for: what disks could do, and what they
 * are asked to do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/disk.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/schedule.h>

#include "base/memory.h"
#include "block/prefetch.h"
#include "common/test.h"

#define BLOCK 4096u
#define QUALITY_DISKS 8u

typedef struct scratch {
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats io;
} scratch;

static void open_scratch(scratch *b, uint32_t disks)
{
	em_disk_opts plain = EM_DISK_OPTS_INIT;
	const em_disk_opts *list[QUALITY_DISKS];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	uint32_t i;

	memset(b, 0, sizeof(*b));
	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.backend = "memory";
	plain.path = "/";
	for (i = 0; i < disks; i++)
		list[i] = &plain;
	opts.disks = list;
	opts.ndisks = disks;
	assert_int_equal(em_ctx_open(&b->ctx, &opts), EM_OK);
	assert_int_equal(emi_scratch_acquire(b->ctx, &b->disk, &err), EM_OK);
}

/* Runs of random records, placed by randomised cycling.  Nobody looks at the data, so each disk has one block that is
 * all of its blocks. */
typedef struct runs {
	uint32_t k, length;
	em_bid bid[QUALITY_DISKS];
	uint32_t *disk;           /* of each block, and ... */
	uint64_t *key;            /* ... its smallest key, run by run */
	uint32_t *rank;           /* the place of each in the order of keys: that in which a merge takes them */
	uint32_t *told;           /* hints of each run */
	uint32_t *order;          /* ranks in the order of requests, ... */
	uint32_t asked;           /* ... so many */
} runs;

static const uint64_t *sort_keys;

static int by_key(const void *a, const void *b)
{
	const uint64_t x = sort_keys[*(const uint32_t *)a], y = sort_keys[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

static void *numbers(uint64_t n, size_t bytes)
{
	void *p = calloc(n, bytes);

	assert_non_null(p);
	return p;
}

/* `taken' becomes the blocks in the order in which a merge takes them. */
static void make_runs(runs *r, test_rng *rng, uint32_t k, uint32_t length, uint32_t disks, uint32_t *taken)
{
	const uint32_t n = k * length, spread = 33157;
	uint32_t i, s, draw;

	r->k = k;
	r->length = length;
	r->asked = 0;
	r->disk = numbers(n, sizeof *r->disk);
	r->key = numbers(n, sizeof *r->key);
	r->rank = numbers(n, sizeof *r->rank);
	r->told = numbers(k, sizeof *r->told);
	r->order = numbers(n, sizeof *r->order);
	for (s = 0; s < k; s++) {
		em_placement place;
		uint64_t key = 0;

		assert_int_equal(em_placement_init(&place, EM_PLACE_CYCLING, disks, 0, 1, s), EM_OK);
		for (i = 0; i < length; i++) {
			r->disk[s * length + i] = em_placement_disk(&place, i);
			/* No two are equal, so that there is one order. */
			r->key[s * length + i] = key * 1024 + s;
			/* A thousand records further on, of which two are 1 / 1000 of 2^20 apart on the average. */
			key += (1u << 20) - 6 * spread;
			for (draw = 0; draw < 12; draw++)
				key += test_below(rng, spread);
		}
	}
	for (i = 0; i < n; i++)
		taken[i] = i;
	sort_keys = r->key;
	qsort(taken, n, sizeof *taken, by_key);
	for (i = 0; i < n; i++)
		r->rank[taken[i]] = i;
}

static void free_runs(runs *r)
{
	free(r->disk);
	free(r->key);
	free(r->rank);
	free(r->told);
	free(r->order);
}

static em_status run_hint(void *arg, uint32_t seq, emi_hint *h, em_errinfo *err)
{
	runs *r = arg;
	const uint32_t i = seq * r->length + r->told[seq];

	(void)err;
	if (r->told[seq] == r->length)
		return EM_END;
	r->told[seq]++;
	h->key = r->key[i];
	h->bid = r->bid[r->disk[i]];
	h->bytes = h->data = BLOCK;
	h->packed = 0;
	return EM_OK;
}

/* Do what makes requests: take the next block of a run, or go on (seq = k).  Free buffers are taken in their order,
 * which tells that of the requests. */
static emi_fetched *watched(runs *r, emi_prefetch *p, emi_fetched **was_free, uint32_t seq)
{
	const uint32_t before = p->nfree;
	emi_fetched *f = p->free, *out = NULL;
	em_errinfo err;
	uint32_t i;

	for (i = 0; i < before; i++, f = f->next)
		was_free[i] = f;
	assert_int_equal(seq < r->k ? emi_prefetch_next(p, seq, &out, &err) : emi_prefetch_advance(p, &err), EM_OK);
	for (i = 0; i < before - p->nfree; i++)
		r->order[r->asked++] = r->rank[was_free[i]->seq * r->length + (uint32_t)was_free[i]->number];
	return out;
}

/* Parallel steps in which a merge gets k runs, `extra' buffers beyond one for each run, by the requests that it
 * makes. */
static uint64_t steps_of(scratch *b, runs *r, const uint32_t *taken, uint32_t disks, uint32_t extra)
{
	const uint32_t n = r->k * r->length;
	emi_fetched **held = numbers(r->k, sizeof(emi_fetched *)),
		    **was_free = numbers(r->k + extra, sizeof(emi_fetched *));
	uint32_t *disk = numbers(n, sizeof *disk), *room = numbers(EM_SCHEDULE_ROOM(n, disks), sizeof *room), i;
	em_errinfo err;
	uint64_t steps;
	emi_prefetch p;

	assert_int_equal(
		emi_prefetch_open(&p, b->ctx, b->disk, r->k, extra, extra, BLOCK, 0, run_hint, r, &b->io, 0, &err),
		EM_OK);
	assert_int_equal(emi_prefetch_join(&p, r->k, &err), EM_OK);
	assert_int_equal(emi_prefetch_turn(&p, &err), EM_OK);
	watched(r, &p, was_free, r->k);
	for (i = 0; i < n; i++) {
		const uint32_t s = taken[i] / r->length;

		if (held[s] != NULL) {
			emi_prefetch_return(&p, held[s]);
			watched(r, &p, was_free, r->k);
		}
		held[s] = watched(r, &p, was_free, s);
		assert_int_equal(emi_wait(&held[s]->rq, &err), EM_OK);
		disk[i] = r->disk[taken[i]];
	}
	assert_int_equal(r->asked, n);
	emi_prefetch_close(&p);
	steps = em_schedule_steps(disk, n, disks, extra, r->order, room);
	free(held);
	free(was_free);
	free(disk);
	free(room);
	return steps;
}

/* How busy the disks of a merge of random runs are: so many percent of the steps that a disk needs which always has
 * something to do, at most.  The runs are the same each time: the marks are for the average, and one draw may be some
 * percent off. */
static void test_quality(void **state)
{
	static const struct {
		uint32_t k, length, per_disk, most;
	} cases[] = {{8, 300, 4, 108}, {32, 300, 4, 108}, {8, 300, 8, 101}, {32, 300, 8, 101}, {100, 200, 8, 105},
		     {400, 200, 8, 105}};
	uint32_t disks, c, i;

	(void)state;
	for (disks = 2; disks <= QUALITY_DISKS; disks *= 2) {
		for (c = 0; c < sizeof cases / sizeof *cases; c++) {
			test_rng rng = test_rng_make(1);
			const uint32_t n = cases[c].k * cases[c].length, extra = cases[c].per_disk * disks;
			uint32_t *taken = numbers(n, sizeof *taken);
			uint64_t steps;
			em_errinfo err;
			runs r;
			scratch b;

			open_scratch(&b, disks);
			for (i = 0; i < disks; i++) {
				emi_request rq;
				char *buf = emi_buffer_alloc(b.ctx, BLOCK, &err);

				assert_non_null(buf);
				memset(buf, 0, BLOCK);
				assert_int_equal(emi_bid_alloc_on(b.disk, i, BLOCK, &r.bid[i], &err), EM_OK);
				emi_block_write(b.disk, &rq, buf, BLOCK, r.bid[i], &b.io);
				assert_int_equal(emi_wait(&rq, &err), EM_OK);
				emi_buffer_free(b.ctx, buf, BLOCK);
			}
			make_runs(&r, &rng, cases[c].k, cases[c].length, disks, taken);
			steps = steps_of(&b, &r, taken, disks, extra);
			if (steps < n / disks || steps * 100 > (uint64_t)cases[c].most * ((n + disks - 1) / disks))
				fail_msg("%u runs on %u disks with %u buffers: %u steps for %u blocks", cases[c].k,
					 disks, extra, (unsigned)steps, n);
			free_runs(&r);
			free(taken);
			emi_scratch_release(b.ctx, b.disk);
			em_ctx_close(b.ctx);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quality),
	};

	return cmocka_run_group_tests_name("prefetch_quality", tests, NULL, NULL);
}
