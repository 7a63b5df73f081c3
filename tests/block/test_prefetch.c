/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_prefetch.c -- prefetching: blocks are asked for in the order of their keys, and whatever the hints and the
 * consumer do, the block that is wanted can be had.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <extmem/disk.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/schedule.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/prefetch.h"
#include "common/test.h"

#define BLOCK 4096u
#define MOST_K 12u
#define MOST_DISKS 4u
#define MOST_BLOCKS 40u

/* A block of a sequence, as it was written. */
typedef struct block {
	uint64_t key;
	em_bid bid;
} block;

/* Sequences on a scratch disk. */
typedef struct bench {
	test_rng rng;
	test_memory mem;
	em_fault fault;
	em_ctx *ctx;
	emi_disk *disk;
	emi_io_stats io;
	uint32_t best;            /* buffers that the order is for; 0: that of keys */
	uint32_t k;
	uint32_t blocks[MOST_K];
	block block[MOST_K][MOST_BLOCKS];
	uint32_t hinted[MOST_K];  /* told so far */
	uint32_t taken[MOST_K];   /* by the consumer */
	uint32_t nasked;          /* hints asked for */
	uint32_t fail_after;      /* hints; 0: never */
	int in_order;             /* requests must be made in the order that next_wanted() tells */
} bench;

/* The sequence whose next block is to be requested: that with the smallest key, of equals the one that has the fewest
 * blocks in memory, of these the first; k: there is none. */
static uint32_t next_wanted(const bench *b)
{
	uint32_t s, best = b->k, have[MOST_K];

	for (s = 0; s < b->k; s++) {
		const uint32_t requested = b->hinted[s] - 1;
		uint64_t key, least;

		have[s] = requested - b->taken[s];
		if (requested == b->blocks[s])
			continue;
		key = b->block[s][requested].key;
		least = best == b->k ? 0 : b->block[best][b->hinted[best] - 1].key;
		if (best == b->k || key < least || (key == least && have[s] < have[best]))
			best = s;
	}
	return best;
}

static em_status hint(void *arg, uint32_t seq, emi_hint *h, em_errinfo *err)
{
	bench *b = arg;
	uint32_t i = b->hinted[seq];

	assert_true(seq < b->k);
	b->nasked++;
	if (b->fail_after != 0 && b->nasked >= b->fail_after)
		return emi_fail(err, EM_ERR_CORRUPT, "as ordered");
	/* First one hint of each, then one after each request. */
	if (b->in_order && b->nasked > b->k)
		assert_int_equal(seq, next_wanted(b));
	/* Told, even if it is that there is none. */
	b->hinted[seq]++;
	if (i == b->blocks[seq])
		return EM_END;
	h->key = b->block[seq][i].key;
	h->bid = b->block[seq][i].bid;
	h->bytes = BLOCK;
	h->packed = 0;
	return EM_OK;
}

static void fill_block(uint64_t *words, uint32_t seq, uint32_t i)
{
	size_t w;

	for (w = 0; w < BLOCK / sizeof(*words); w++)
		words[w] = ((uint64_t)seq << 48) + ((uint64_t)i << 32) + w;
}

/* k sequences of random lengths, or of `blocks' unless that is 0, on so many disks. */
static void bench_open_on(bench *b, uint32_t k, uint32_t blocks, uint32_t disks)
{
	em_disk_opts plain = EM_DISK_OPTS_INIT;
	const em_disk_opts *list[MOST_DISKS];
	static uint64_t opened;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint64_t *words;
	em_errinfo err;
	uint32_t s, i;

	memset(b, 0, sizeof(*b));
	memset(&err, 0, sizeof(err));
	b->rng = test_rng_make(test_seed() + opened++);
	test_memory_init(&b->mem, 0);
	assert_int_equal(em_fault_init(&b->fault, sizeof b->fault, em_backend_find("memory")), EM_OK);
	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.custom = em_fault_backend(&b->fault);
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
	b->k = k;
	for (s = 0; s < k; s++) {
		uint64_t key = 0;

		b->blocks[s] = blocks != 0 ? blocks : (uint32_t)test_below(&b->rng, MOST_BLOCKS + 1);
		for (i = 0; i < b->blocks[s]; i++) {
			emi_request rq;

			/* Equal keys happen, within a sequence and between them. */
			key += test_below(&b->rng, 4) * test_below(&b->rng, 100);
			b->block[s][i].key = key;
			assert_int_equal(emi_bid_alloc_on(b->disk, (uint32_t)test_below(&b->rng, disks), BLOCK,
							  &b->block[s][i].bid, &err),
					 EM_OK);
			fill_block(words, s, i);
			emi_block_write(b->disk, &rq, words, BLOCK, b->block[s][i].bid, &b->io);
			assert_int_equal(emi_wait(&rq, &err), EM_OK);
		}
	}
	emi_buffer_free(b->ctx, words, BLOCK);
	memset(&b->io, 0, sizeof(b->io));
}

static void bench_open_of(bench *b, uint32_t k, uint32_t blocks)
{
	bench_open_on(b, k, blocks, 1);
}

static void bench_open(bench *b, uint32_t k)
{
	bench_open_of(b, k, 0);
}

static void bench_close(bench *b)
{
	emi_scratch_release(b->ctx, b->disk);
	em_ctx_close(b->ctx);
	test_memory_assert_clean(&b->mem);
}

/* Begin again from the first blocks. */
static void rewind_bench(bench *b)
{
	memset(b->hinted, 0, sizeof(b->hinted));
	memset(b->taken, 0, sizeof(b->taken));
	b->nasked = 0;
}

/* One group: that of all sequences.  After a failure all is closed. */
static em_status begin(bench *b, emi_prefetch *p, uint32_t extra, int packs, uint64_t scramble, em_errinfo *err)
{
	em_status st;

	rewind_bench(b);
	st = emi_prefetch_open(p, b->ctx, b->disk, b->k, extra, b->best, BLOCK, packs, hint, b, &b->io, scramble, err);
	if (st != EM_OK)
		return st;
	assert_true(emi_prefetch_told(p));
	st = emi_prefetch_join(p, b->k, err);
	if (st == EM_OK)
		st = emi_prefetch_turn(p, err);
	if (st == EM_OK)
		st = emi_prefetch_advance(p, err);
	if (st != EM_OK)
		emi_prefetch_close(p);
	return st;
}

static void open_fetch(bench *b, emi_prefetch *p, uint32_t extra, uint64_t scramble)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	if (begin(b, p, extra, 0, scramble, &err) != EM_OK)
		fail_msg("%s", err.text);
}

/* The consumer takes the next block of a sequence and looks at it; NULL at its end. */
static emi_fetched *take(bench *b, emi_prefetch *p, uint32_t seq)
{
	uint64_t words[BLOCK / sizeof(uint64_t)];
	emi_fetched *f = (emi_fetched *)(uintptr_t)1;
	em_errinfo err;
	uint32_t i = b->taken[seq];

	memset(&err, 0, sizeof(err));
	assert_false(emi_prefetch_starved(p, seq));
	assert_int_equal(emi_prefetch_next(p, seq, &f, &err), EM_OK);
	if (i == b->blocks[seq]) {
		assert_null(f);
		return NULL;
	}
	assert_non_null(f);
	assert_int_equal(emi_wait(&f->rq, &err), EM_OK);
	assert_int_equal(f->seq, seq);
	assert_true(f->hint.key == b->block[seq][i].key && f->hint.bid.offset == b->block[seq][i].bid.offset &&
		    f->hint.bid.disk == b->block[seq][i].bid.disk);
	fill_block(words, seq, i);
	assert_memory_equal(f->buf, words, BLOCK);
	b->taken[seq]++;
	return f;
}

static void give_back(emi_prefetch *p, emi_fetched *f)
{
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	emi_prefetch_return(p, f);
	assert_int_equal(emi_prefetch_advance(p, &err), EM_OK);
}

/* The sequence whose next block has the smallest key, the first of equals; k: there is none. */
static uint32_t smallest(const bench *b, const uint32_t *at)
{
	uint32_t s, best = b->k;

	for (s = 0; s < b->k; s++)
		if (at[s] < b->blocks[s] &&
		    (best == b->k || b->block[s][at[s]].key < b->block[best][at[best]].key))
			best = s;
	return best;
}

/* Requests are made in the order in which a merge comes to need the blocks, and it never has to ask itself. */
static void test_order(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		uint32_t s, total = 0, extra;
		emi_prefetch p;
		bench b;

		bench_open(&b, 1 + (uint32_t)round % MOST_K);
		b.in_order = 1;
		extra = (uint32_t)test_below(&b.rng, 6);
		open_fetch(&b, &p, extra, 0);
		for (s = 0; s < b.k; s++)
			total += b.blocks[s];
		/* As many are under way as there are buffers that no other sequence has a right to. */
		if (extra >= total)
			assert_int_equal(b.nasked, b.k + total);
		while ((s = smallest(&b, b.taken)) < b.k)
			give_back(&p, take(&b, &p, s));
		for (s = 0; s < b.k; s++)
			assert_null(take(&b, &p, s));
		assert_int_equal(p.missed, 0);
		assert_int_equal(b.io.ios_read, total);
		assert_int_equal(b.nasked, b.k + total);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* The blocks in the order in which a merge comes to need them: the disk of each. */
static uint32_t consumption(const bench *b, uint32_t *disk)
{
	uint32_t at[MOST_K] = { 0 }, n = 0, s;

	while ((s = smallest(b, at)) < b->k)
		disk[n++] = b->block[s][at[s]++].bid.disk;
	return n;
}

/* So that there is one order of consumption. */
static void make_keys_differ(bench *b)
{
	uint32_t s, i;

	for (s = 0; s < b->k; s++)
		for (i = 0; i < b->blocks[s]; i++)
			b->block[s][i].key = (b->block[s][i].key << 20) + i * 256 + s;
}

/* From several disks: all that is in the window is requested as the schedule says. */
static void test_best_order(void **state)
{
	static uint32_t disk[MOST_K * MOST_BLOCKS], order[MOST_K * MOST_BLOCKS],
		room[EM_SCHEDULE_ROOM(MOST_K * MOST_BLOCKS, MOST_DISKS)];
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		uint32_t n, i, s, disks, seen[MOST_K] = { 0 };
		emi_prefetch p;
		bench b;

		disks = 2 + (uint32_t)test_below(&(test_rng){ test_seed() + (uint64_t)round }, MOST_DISKS - 1);
		bench_open_on(&b, 2 + (uint32_t)round % 8, 1 + (uint32_t)round % 5, disks);
		make_keys_differ(&b);
		n = consumption(&b, disk);
		b.best = 1 + (n - 1) / 16 + (uint32_t)test_below(&b.rng, 8);
		open_fetch(&b, &p, n, 0);
		em_schedule_fetches(disk, n, disks, b.best, order, room);
		/* Buffers were taken from the last to the first. */
		for (i = 0; i < n; i++) {
			const emi_fetched *f = &p.buffers[p.nbuffers - 1 - i];
			uint32_t before = 0, j;

			for (j = 0; j < b.k; j++)
				for (s = 0; s < b.blocks[j]; s++)
					before += b.block[j][s].key < f->hint.key;
			assert_int_equal(before, order[i]);
			assert_true(f->number < b.blocks[f->seq]);
			seen[f->seq]++;
		}
		while ((s = smallest(&b, b.taken)) < b.k)
			give_back(&p, take(&b, &p, s));
		for (s = 0; s < b.k; s++) {
			assert_int_equal(seen[s], b.blocks[s]);
			assert_null(take(&b, &p, s));
		}
		assert_int_equal(p.missed, 0);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* Through many windows; and with as many buffers as it is ordered for, nobody has to ask. */
static void test_windows(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 60; round++) {
		uint32_t s, total = 0;
		emi_prefetch p;
		bench b;

		bench_open_on(&b, 1 + (uint32_t)round % MOST_K, 0, 2 + (uint32_t)round % (MOST_DISKS - 1));
		make_keys_differ(&b);
		b.best = 1 + (uint32_t)test_below(&b.rng, 6);
		open_fetch(&b, &p, b.best + (uint32_t)test_below(&b.rng, 4), 0);
		for (s = 0; s < b.k; s++)
			total += b.blocks[s];
		while ((s = smallest(&b, b.taken)) < b.k)
			give_back(&p, take(&b, &p, s));
		for (s = 0; s < b.k; s++)
			assert_null(take(&b, &p, s));
		assert_int_equal(b.io.ios_read, total);
		assert_int_equal(p.missed, 0);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* Keys that say nothing, as beginnings of strings may: sequences that are used up at the same rate are all read
 * ahead. */
static void test_equal_keys(void **state)
{
	uint32_t k, i, s, round;

	(void)state;
	for (k = 2; k <= MOST_K; k++) {
		emi_prefetch p;
		bench b;

		bench_open_of(&b, k, 20);
		for (s = 0; s < k; s++)
			for (i = 0; i < b.blocks[s]; i++)
				b.block[s][i].key = 7;
		b.in_order = 1;
		open_fetch(&b, &p, k, 0);
		for (round = 0; round < 20; round++) {
			const uint32_t from = (uint32_t)test_below(&b.rng, k);

			for (s = 0; s < k; s++)
				assert_int_equal(b.hinted[s] - 1 - b.taken[s], round + 2 <= 20 ? 2 : 20 - round);
			for (i = 0; i < k; i++)
				give_back(&p, take(&b, &p, (from + i) % k));
		}
		assert_int_equal(p.missed, 0);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* More buffers, more blocks at a time: of two sequences each always has a right to one. */
static void test_buffers(void **state)
{
	uint32_t extra;

	(void)state;
	for (extra = 0; extra < 10; extra++) {
		emi_prefetch p;
		uint32_t i;
		bench b;

		bench_open_of(&b, 2, 20);
		/* All of the first sequence comes before all of the second. */
		for (i = 0; i < b.blocks[1]; i++)
			b.block[1][i].key += 1000000;
		open_fetch(&b, &p, extra, 0);
		/* The last buffer waits for the second sequence.  The next block of each is known in any case. */
		assert_int_equal(b.hinted[0], extra + 1 + 1);
		assert_int_equal(b.hinted[1], 1);
		assert_int_equal(p.nfree, 1);
		assert_false(emi_prefetch_starved(&p, 1));
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* Hints that are wrong make it slower, not wrong: with no more than one buffer each, too. */
static void test_wrong_hints(void **state)
{
	uint64_t missed = 0;
	int round;

	(void)state;
	for (round = 0; round < 60; round++) {
		uint32_t s;
		emi_prefetch p;
		bench b;

		bench_open_on(&b, 1 + (uint32_t)round % MOST_K, 0, 1 + (uint32_t)round % MOST_DISKS);
		b.best = (uint32_t)test_below(&b.rng, 9);
		open_fetch(&b, &p, (uint32_t)round % 4, test_random(&b.rng) | 1);
		while ((s = smallest(&b, b.taken)) < b.k)
			give_back(&p, take(&b, &p, s));
		for (s = 0; s < b.k; s++)
			assert_null(take(&b, &p, s));
		missed += p.missed;
		emi_prefetch_close(&p);
		bench_close(&b);
	}
	/* Otherwise they were not wrong. */
	assert_true(missed > 0);
}

/* A consumer that takes blocks from anywhere and keeps several: it starves only while it holds some itself. */
static void test_holding(void **state)
{
	unsigned starved = 0;
	int round;

	(void)state;
	for (round = 0; round < 100; round++) {
		emi_fetched *held[MOST_K + 8];
		uint32_t nheld = 0, left = 0, s;
		emi_prefetch p;
		bench b;

		bench_open_on(&b, 1 + (uint32_t)round % MOST_K, 0, 1 + (uint32_t)round % MOST_DISKS);
		b.best = (uint32_t)test_below(&b.rng, 9);
		open_fetch(&b, &p, (uint32_t)test_below(&b.rng, 5), round % 2 ? test_random(&b.rng) | 1 : 0);
		for (s = 0; s < b.k; s++)
			left += b.blocks[s];
		while (left > 0) {
			s = (uint32_t)test_below(&b.rng, b.k);
			if (b.taken[s] == b.blocks[s])
				continue;
			while (emi_prefetch_starved(&p, s)) {
				uint32_t i;

				starved++;
				assert_true(nheld > 0);
				i = (uint32_t)test_below(&b.rng, nheld);
				give_back(&p, held[i]);
				held[i] = held[--nheld];
			}
			held[nheld] = take(&b, &p, s);
			assert_non_null(held[nheld]);
			nheld++;
			left--;
			assert_true(nheld <= p.nbuffers);
			while (nheld > 0 && test_below(&b.rng, 3) == 0)
				give_back(&p, held[--nheld]);
			if (test_below(&b.rng, 200) == 0)
				break;
		}
		/* Closed with blocks in the consumer's hands and others under way. */
		emi_prefetch_close(&p);
		bench_close(&b);
	}
	assert_true(starved > 0);
}

/* What does not unpack to what it was is damage, and so is a packed block where none should be. */
static void test_unpack(void **state)
{
	int packs;

	(void)state;
	for (packs = 0; packs < 2; packs++) {
		emi_fetched *f;
		em_errinfo err;
		emi_prefetch p;
		bench b;

		bench_open_of(&b, 1, 2);
		memset(&err, 0, sizeof(err));
		assert_int_equal(begin(&b, &p, 1, packs, 0, &err), EM_OK);
		f = take(&b, &p, 0);
		f->hint.data = BLOCK;
		assert_int_equal(emi_prefetch_unpack(&p, f, &err), EM_OK);
		f->hint.packed = 100;
		assert_int_equal(emi_prefetch_unpack(&p, f, &err), EM_ERR_CORRUPT);
		assert_non_null(strstr(err.text, "damaged"));
		give_back(&p, f);
		emi_prefetch_close(&p);
		bench_close(&b);
	}
}

/* A hint that cannot be had is told at once, wherever it is asked for. */
static void test_failing_hint(void **state)
{
	uint64_t n;

	(void)state;
	for (n = test_nth_after(0, 1); n < 60; n = test_nth_after(n, 1)) {
		em_errinfo err;
		em_status st;
		emi_prefetch p;
		uint32_t s;
		bench b;

		bench_open_on(&b, 4, 0, 1 + (uint32_t)n % MOST_DISKS);
		b.best = (uint32_t)n % 5;
		b.fail_after = (uint32_t)n;
		memset(&err, 0, sizeof(err));
		st = begin(&b, &p, 2, 0, 0, &err);
		if (n <= 4)
			assert_int_equal(st, EM_ERR_CORRUPT);
		if (st == EM_OK) {
			while (st == EM_OK && (s = smallest(&b, b.taken)) < b.k) {
				emi_fetched *f;

				st = emi_prefetch_next(&p, s, &f, &err);
				if (st != EM_OK)
					break;
				assert_int_equal(emi_wait(&f->rq, &err), EM_OK);
				b.taken[s]++;
				emi_prefetch_return(&p, f);
				st = emi_prefetch_advance(&p, &err);
			}
			if (b.nasked >= n)
				assert_int_equal(st, EM_ERR_CORRUPT);
			emi_prefetch_close(&p);
		}
		if (st != EM_OK)
			assert_string_equal(err.text, "as ordered");
		bench_close(&b);
	}
}

/* A block that cannot be read: its request says so, the others are as they should be. */
static void test_failing_read(void **state)
{
	uint64_t nth;
	int more = 1;

	(void)state;
	for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
		uint32_t s, wrong = 0, right = 0, total = 0;
		emi_prefetch p;
		em_errinfo err;
		bench b;

		bench_open_on(&b, 3, 0, 1 + (uint32_t)nth % MOST_DISKS);
		b.best = (uint32_t)nth % 5;
		b.fault.ops = EM_FAULT_READ;
		b.fault.count = 0;
		b.fault.nth = nth;
		open_fetch(&b, &p, 3, 0);
		for (s = 0; s < b.k; s++)
			total += b.blocks[s];
		while ((s = smallest(&b, b.taken)) < b.k) {
			emi_fetched *f;

			memset(&err, 0, sizeof(err));
			assert_int_equal(emi_prefetch_next(&p, s, &f, &err), EM_OK);
			if (emi_wait(&f->rq, &err) == EM_OK) {
				right++;
			} else {
				wrong++;
				assert_int_equal(err.status, EM_ERR_IO);
				assert_string_equal(err.op, "read");
				assert_int_equal(err.sys_errno, EIO);
			}
			b.taken[s]++;
			give_back(&p, f);
		}
		more = nth <= total;
		assert_int_equal(wrong, more);
		assert_int_equal(right, total - wrong);
		emi_prefetch_close(&p);
		em_fault_set(&b.fault, 0, 0, 0);
		bench_close(&b);
	}
}

static void test_out_of_memory(void **state)
{
	em_status st = EM_ERR_NOMEM;
	uint64_t n;
	bench b;

	(void)state;
	bench_open_on(&b, 5, 0, 2);
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		const uint64_t before = em_ctx_memory_used(b.ctx);
		emi_prefetch p;
		em_errinfo err;

		memset(&err, 0, sizeof(err));
		rewind_bench(&b);
		b.mem.fail_at = b.mem.calls + n;
		st = emi_prefetch_open(&p, b.ctx, b.disk, b.k, 3, 4, BLOCK, 0, hint, &b, &b.io, 0, &err);
		b.mem.fail_at = 0;
		if (st == EM_OK)
			emi_prefetch_close(&p);
		else
			assert_int_equal(st, EM_ERR_NOMEM);
		assert_int_equal(em_ctx_memory_used(b.ctx), before);
	}
	/* Three arrays, four of the window, and the buffers. */
	assert_true(n == 8 + 1 + 1 || !test_sweeps());
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_best_order),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_equal_keys),
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_wrong_hints),
		cmocka_unit_test(test_holding),
		cmocka_unit_test(test_unpack),
		cmocka_unit_test(test_failing_hint),
		cmocka_unit_test(test_failing_read),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests_name("prefetch", tests, NULL, NULL);
}
