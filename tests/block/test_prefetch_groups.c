/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_prefetch_groups.c -- groups of sequences that are consumed one after the other: the next one is read ahead while
 * one ends, and never so far that a block of the one at hand, or later of its own, cannot be had.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/disk.h>
#include <extmem/sys/fault.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/prefetch.h"
#include "common/test.h"

#define BLOCK 4096u
#define GROUPS 5u
#define MOST_K 6u
#define MOST_DISKS 4u
#define MOST_BLOCKS 12u
#define MOST_BUFFERS 32u
#define ROUNDS (TEST_TSAN ? 60 : 200)

typedef struct block {
	uint64_t key;
	em_bid bid;
} block;

/* Groups on a scratch disk, and how far they are. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats io;
	uint32_t best;
	uint32_t most;            /* sequences of the largest group */
	uint32_t k[GROUPS];
	uint32_t blocks[GROUPS][MOST_K];
	block block[GROUPS][MOST_K][MOST_BLOCKS];
	uint32_t total[GROUPS];   /* blocks of it */
	uint32_t joined;          /* groups that did */
	uint32_t at;              /* the group at hand */
	uint32_t hinted[GROUPS];  /* blocks of each that were told */
	uint32_t told[MOST_K];    /* of the group that joined last */
	uint32_t taken[MOST_K];   /* of the one at hand */
	uint32_t held[MOST_K];    /* and not yet brought back */
	emi_fetched *holds[MOST_BUFFERS];
	uint32_t nheld;
	uint32_t fail_after;      /* hints; 0: never */
} bench;

static em_status hint(void *arg, uint32_t seq, emi_hint *h, em_errinfo *err)
{
	bench *b = arg;
	const uint32_t g = b->joined - 1, i = b->told[seq];

	assert_true(seq < b->k[g]);
	if (b->fail_after != 0 && --b->fail_after == 0)
		return emi_fail(err, EM_ERR_CORRUPT, "as ordered");
	if (i == b->blocks[g][seq])
		return EM_END;
	b->told[seq]++;
	b->hinted[g]++;
	h->key = b->block[g][seq][i].key;
	h->bid = b->block[g][seq][i].bid;
	h->bytes = h->data = BLOCK;
	h->packed = 0;
	return EM_OK;
}

static void fill_block(uint64_t *words, uint32_t g, uint32_t s, uint32_t i)
{
	size_t w;

	for (w = 0; w < BLOCK / sizeof(*words); w++)
		words[w] = ((uint64_t)g << 56) + ((uint64_t)s << 48) + ((uint64_t)i << 32) + w;
}

/* Groups of up to `most' sequences of up to `length' blocks, with keys that differ or hardly do. */
static void bench_open(bench *b, uint32_t most, uint32_t length, uint32_t disks)
{
	em_disk_opts plain = EM_DISK_OPTS_INIT;
	const em_disk_opts *list[MOST_DISKS];
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	static uint64_t opened;
	uint64_t *words;
	em_errinfo err;
	uint32_t g, s, i, few;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed() + opened++);
	test_memory_init(&b->mem, 0);
	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.backend = "memory";
	plain.path = "/";
	for (i = 0; i < disks; i++)
		list[i] = &plain;
	opts.disks = list;
	opts.ndisks = disks;
	opts.allocator = &b->mem.allocator;
	assert_int_equal(em_ctx_open(&b->ctx, &opts), EM_OK);
	assert_int_equal(emi_scratch_acquire(b->ctx, &b->disk, &err), EM_OK);
	words = emi_buffer_alloc(b->ctx, BLOCK, &err);
	assert_non_null(words);
	few = (uint32_t)test_below(&b->rng, 2);
	for (g = 0; g < GROUPS; g++) {
		b->k[g] = 1 + (uint32_t)test_below(&b->rng, most);
		if (b->k[g] > b->most)
			b->most = b->k[g];
		for (s = 0; s < b->k[g]; s++) {
			uint64_t key = 0;

			b->blocks[g][s] = (uint32_t)test_below(&b->rng, length + 1);
			b->total[g] += b->blocks[g][s];
			for (i = 0; i < b->blocks[g][s]; i++) {
				emi_request rq;

				key += test_below(&b->rng, few ? 2 : 1000);
				b->block[g][s][i].key = key * MOST_K + s;
				assert_int_equal(emi_bid_alloc_on(b->disk, (uint32_t)test_below(&b->rng, disks), BLOCK,
								  &b->block[g][s][i].bid, &err),
						 EM_OK);
				fill_block(words, g, s, i);
				emi_block_write(b->disk, &rq, words, BLOCK, b->block[g][s][i].bid, &b->io);
				assert_int_equal(emi_wait(&rq, &err), EM_OK);
			}
		}
	}
	emi_buffer_free(b->ctx, words, BLOCK);
	memset(&b->io, 0, sizeof(b->io));
}

static void bench_close(bench *b)
{
	emi_scratch_release(b->ctx, b->disk);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

static void open_fetch(bench *b, emi_prefetch *p, uint32_t extra, uint64_t scramble)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (emi_prefetch_open(p, b->ctx, b->disk, b->most, extra, b->best, BLOCK, 0, hint, b, &b->io, scramble, &err) !=
	    EM_OK)
		fail_msg("%s", err.text);
	assert_true(p->nbuffers <= MOST_BUFFERS);
}

static em_status join(bench *b, emi_prefetch *p, em_errinfo *err)
{
	assert_true(emi_prefetch_told(p));
	/* No hint of a group is asked for before all of those before were told. */
	assert_true(b->joined == 0 || b->hinted[b->joined - 1] == b->total[b->joined - 1]);
	memset(b->told, 0, sizeof(b->told));
	b->joined++;
	return emi_prefetch_join(p, b->k[b->joined - 1], err);
}

/* Group `at' is the one at hand. */
static em_status turn(bench *b, emi_prefetch *p, em_errinfo *err)
{
	memset(b->taken, 0, sizeof(b->taken));
	return emi_prefetch_turn(p, err);
}

/* Blocks of sequence s in buffers that nobody took, and whether `number' is one of them: counted, whatever the
 * prefetcher counts. */
static uint32_t in_buffers(const emi_prefetch *p, uint32_t group, uint32_t s, uint32_t number, int *there)
{
	int free_one[MOST_BUFFERS] = { 0 };
	const emi_fetched *f;
	uint32_t i, n = 0;

	*there = 0;
	for (f = p->free; f != NULL; f = f->next)
		free_one[f - p->buffers] = 1;
	for (i = 0; i < p->nbuffers; i++) {
		f = &p->buffers[i];
		if (free_one[i] || f->group != group || f->seq != s)
			continue;
		n++;
		*there |= f->number == number;
	}
	return n;
}

/* Whoever is going to need a buffer that nobody brings back has one: of those that are free, or, in the coming group,
 * of all. */
static void check_rights(const bench *b, const emi_prefetch *p)
{
	uint32_t s, bare = 0, used = 0;
	int there;

	for (s = 0; b->joined != 0 && s < b->k[b->at]; s++) {
		in_buffers(p, p->now, s, b->taken[s], &there);
		bare += b->taken[s] < b->blocks[b->at][s] && b->held[s] == 0 && !there;
	}
	assert_true(p->nfree >= bare);
	if (b->joined <= b->at + 1)
		return;
	for (s = bare = 0; s < b->k[b->joined - 1]; s++) {
		used += in_buffers(p, p->last, s, 0, &there);
		bare += b->blocks[b->joined - 1][s] != 0 && !there;
	}
	assert_true(p->nbuffers >= used + bare);
}

/* The next group joins if it may, now or then. */
static void join_some_time(bench *b, emi_prefetch *p, int soon)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (b->joined == GROUPS || !emi_prefetch_told(p) || (!soon && test_below(&b->rng, 4) != 0))
		return;
	assert_int_equal(join(b, p, &err), EM_OK);
	assert_int_equal(emi_prefetch_advance(p, &err), EM_OK);
}

static void give_back(bench *b, emi_prefetch *p, uint32_t i)
{
	emi_fetched *f = b->holds[i];
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	b->holds[i] = b->holds[--b->nheld];
	b->held[f->seq]--;
	emi_prefetch_return(p, f);
	assert_int_equal(emi_prefetch_advance(p, &err), EM_OK);
}

/* The next block of a sequence of the group at hand is the right one; whoever has nothing never has to wait for it. */
static void take(bench *b, emi_prefetch *p, uint32_t s)
{
	uint64_t words[BLOCK / sizeof(uint64_t)];
	const uint32_t i = b->taken[s];
	em_errinfo err;
	emi_fetched *f;

	memset(&err, 0, sizeof(err));
	while (emi_prefetch_starved(p, s)) {
		assert_true(b->nheld > 0);
		give_back(b, p, (uint32_t)test_below(&b->rng, b->nheld));
	}
	assert_int_equal(emi_prefetch_next(p, s, &f, &err), EM_OK);
	assert_non_null(f);
	assert_int_equal(emi_wait(&f->rq, &err), EM_OK);
	assert_int_equal(f->seq, s);
	assert_int_equal(f->number, i);
	fill_block(words, b->at, s, i);
	assert_memory_equal(f->buf, words, BLOCK);
	b->taken[s]++;
	b->held[s]++;
	b->holds[b->nheld++] = f;
}

/* The sequence whose next block has the smallest key. */
static uint32_t smallest(const bench *b)
{
	const uint32_t g = b->at;
	uint32_t s, best = b->k[g];

	for (s = 0; s < b->k[g]; s++)
		if (b->taken[s] < b->blocks[g][s] &&
		    (best == b->k[g] || b->block[g][s][b->taken[s]].key < b->block[g][best][b->taken[best]].key))
			best = s;
	return best;
}

/* Some sequence that has blocks left. */
static uint32_t any(bench *b)
{
	uint32_t s;

	do
		s = (uint32_t)test_below(&b->rng, b->k[b->at]);
	while (b->taken[s] == b->blocks[b->at][s]);
	return s;
}

static void assert_ends(const bench *b, emi_prefetch *p)
{
	emi_fetched *f;
	em_errinfo err;
	uint32_t s;

	for (s = 0; s < b->k[b->at]; s++) {
		assert_int_equal(emi_prefetch_next(p, s, &f, &err), EM_OK);
		assert_null(f);
	}
}

/* All groups, each block when a merge comes to need it: nobody has to ask, and where one group ends and the next
 * begins, as much of that is requested as if it had been alone. */
static void test_seams(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		uint32_t extra, sum = 0, left;
		emi_prefetch p;
		em_errinfo err;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, 1 + (uint32_t)round % MOST_K, 1 + (uint32_t)round % MOST_BLOCKS,
			   1 + (uint32_t)round % MOST_DISKS);
		b.best = (uint32_t)test_below(&b.rng, 6);
		extra = b.best + (uint32_t)test_below(&b.rng, 6);
		open_fetch(&b, &p, extra, 0);
		for (b.at = 0; b.at < GROUPS; b.at++) {
			const emi_fetch_group *g;

			join_some_time(&b, &p, 1);
			g = &p.group[p.last];
			/* With no buffer beyond the first ones nothing can be ahead of these. */
			assert_true(p.now != p.last && p.nfree + g->buffers == p.nbuffers);
			assert_true(g->buffers == b.total[b.at] || g->buffers + g->bare == p.nbuffers);
			assert_int_equal(turn(&b, &p, &err), EM_OK);
			assert_int_equal(emi_prefetch_advance(&p, &err), EM_OK);
			for (left = b.total[b.at]; left > 0; left--) {
				take(&b, &p, smallest(&b));
				give_back(&b, &p, 0);
				join_some_time(&b, &p, 1);
				check_rights(&b, &p);
				/* Disks always have something to read if there is something: what is free is what
				 * somebody has a right to. */
				if (emi_prefetch_told(&p) || p.nheap == 0)
					continue;
				g = &p.group[p.last];
				assert_true(p.nfree == p.group[p.now].bare ||
					    (p.last != p.now && p.nbuffers == g->buffers + g->bare));
			}
			assert_ends(&b, &p);
			sum += b.total[b.at];
		}
		assert_int_equal(p.missed, 0);
		assert_int_equal(b.io.ios_read, sum);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* A consumer that takes blocks from anywhere and keeps several, hints that are wrong, groups that join late or not
 * before their turn, any number of buffers. */
static void test_any_order(void **state)
{
	uint64_t missed = 0;
	int round;

	(void)state;
	for (round = 0; round < ROUNDS; round++) {
		uint32_t left, keep;
		emi_prefetch p;
		em_errinfo err;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, 1 + (uint32_t)round % MOST_K, 1 + (uint32_t)round % MOST_BLOCKS,
			   1 + (uint32_t)round % MOST_DISKS);
		b.best = (uint32_t)test_below(&b.rng, 9);
		open_fetch(&b, &p, (uint32_t)test_below(&b.rng, 7), round % 2 ? test_random(&b.rng) | 1 : 0);
		keep = 1 + (uint32_t)test_below(&b.rng, 4);
		for (b.at = 0; b.at < GROUPS; b.at++) {
			if (b.joined == b.at)
				assert_int_equal(join(&b, &p, &err), EM_OK);
			assert_int_equal(turn(&b, &p, &err), EM_OK);
			assert_int_equal(emi_prefetch_advance(&p, &err), EM_OK);
			for (left = b.total[b.at]; left > 0; left--) {
				check_rights(&b, &p);
				take(&b, &p, any(&b));
				join_some_time(&b, &p, 0);
				check_rights(&b, &p);
				while (b.nheld > 0 && test_below(&b.rng, keep) == 0)
					give_back(&b, &p, (uint32_t)test_below(&b.rng, b.nheld));
			}
			/* Before all of its blocks are back it is not over. */
			if (b.nheld > 0 && b.joined == b.at + 2)
				assert_int_equal(emi_prefetch_turn(&p, &err), EM_ERR_INTERNAL);
			if (b.at + 1 == GROUPS || test_below(&b.rng, 100) == 0)
				break;
			while (b.nheld > 0)
				give_back(&b, &p, b.nheld - 1);
			assert_ends(&b, &p);
		}
		missed += p.missed;
		/* Closed with blocks in the consumer's hands and others under way. */
		emi_prefetch_close(&p);
		bench_close(&b);
	}
	assert_true(missed > 0);
}

/* What is not so cannot be: a turn to nobody. */
static void test_no_group(void **state)
{
	emi_prefetch p;
	em_errinfo err;
	bench b;

	(void)state;
	memset(&err, 0, sizeof(err));
	bench_open(&b, MOST_K, MOST_BLOCKS, 1);
	open_fetch(&b, &p, 2, 0);
	assert_int_equal(emi_prefetch_turn(&p, &err), EM_ERR_INTERNAL);
	assert_int_equal(join(&b, &p, &err), EM_OK);
	assert_false(emi_prefetch_told(&p));
	emi_prefetch_close(&p);
	bench_close(&b);
}

/* A hint that cannot be had is told at once, also one of a group that is only coming. */
static void test_failing_hint(void **state)
{
	uint32_t failed = 0, coming = 0;
	uint64_t n;

	(void)state;
	for (n = test_nth_after(0, 1); n < 120; n = test_nth_after(n, 1)) {
		em_status st = EM_OK;
		emi_prefetch p;
		em_errinfo err;
		uint32_t left;
		bench b;

		memset(&err, 0, sizeof(err));
		bench_open(&b, MOST_K, 4, 1 + (uint32_t)n % MOST_DISKS);
		b.best = (uint32_t)n % 5;
		b.fail_after = (uint32_t)n;
		open_fetch(&b, &p, 3, 0);
		for (b.at = 0; st == EM_OK && b.at < GROUPS; b.at++) {
			if (b.joined == b.at)
				st = join(&b, &p, &err);
			if (st == EM_OK)
				st = turn(&b, &p, &err);
			if (st == EM_OK)
				st = emi_prefetch_advance(&p, &err);
			for (left = b.total[b.at]; st == EM_OK && left > 0; left--) {
				emi_fetched *f;
				const uint32_t s = smallest(&b);

				st = emi_prefetch_next(&p, s, &f, &err);
				if (st != EM_OK)
					break;
				assert_int_equal(emi_wait(&f->rq, &err), EM_OK);
				b.taken[s]++;
				emi_prefetch_return(&p, f);
				st = emi_prefetch_advance(&p, &err);
				if (st == EM_OK && b.joined < GROUPS && emi_prefetch_told(&p))
					st = join(&b, &p, &err);
				if (st == EM_OK)
					st = emi_prefetch_advance(&p, &err);
			}
			coming += st != EM_OK && b.joined > b.at + 1;
		}
		assert_true((st == EM_OK) == (b.fail_after != 0));
		if (st != EM_OK) {
			failed++;
			assert_int_equal(st, EM_ERR_CORRUPT);
			assert_string_equal(err.text, "as ordered");
		}
		emi_prefetch_close(&p);
		bench_close(&b);
	}
	assert_true((failed > 20 && coming > 0) || !test_sweeps());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seams),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_no_group),
		cmocka_unit_test(test_failing_hint),
	};

	return cmocka_run_group_tests_name("prefetch_groups", tests, NULL, NULL);
}
