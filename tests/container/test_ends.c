/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends.c -- stacks, queues and deques: options, memory, small ones, swapping, shared pools, and how much they
 * move.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>

#include "container/ends_case.h"
#include "container/held.h"
#include "container/public_ends.h"

enum { B = 4096, PER_BLOCK = 512, ROOM = 80000 };

static void open_case(ends_case *t, emi_ends_kind kind, uint64_t room)
{
	ends_case_open(t, kind, em_backend_find("memory"), 1, 8, room, kind == EMI_DEQUE ? 4 : 2);
}

static void refused(ends_case *t, em_status status, const char *text)
{
	assert_int_equal(ends_case_try(t), status);
	assert_null(t->object);
	assert_int_equal(t->err.status, status);
	if (strstr(t->err.text, text) == NULL)
		fail_msg("%s: %s", text, t->err.text);
	assert_int_equal(ends_case_memory(t, 1), 0);
}

/* Options that cannot be, and the least that can. */
static void test_options(void **state)
{
	em_placement place;
	int kind;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		em_container_opts good;
		ends_case t;

		open_case(&t, (emi_ends_kind)kind, 100);
		good = t.opts;
		t.opts.record_bytes = 0;
		refused(&t, EM_ERR_RANGE, "records of 0 bytes");
		t.opts.record_bytes = ((uint64_t)1 << 24) + 1;
		refused(&t, EM_ERR_RANGE, "records of 16777217 bytes");
		t.opts.record_bytes = 4097;
		refused(&t, EM_ERR_RANGE, "blocks of 4096 bytes for records of 4097");
		t.opts = good;
		t.opts.block_bytes = 5000;
		refused(&t, EM_ERR_INVAL, "blocks of 5000 bytes");
		t.opts.block_bytes = (uint64_t)1 << 32;
		refused(&t, EM_ERR_RANGE, "blocks of 4294967296 bytes");
		t.opts = good;
		t.opts.memory_bytes -= B;
		refused(&t, EM_ERR_RANGE, "memory for");
		t.opts = good;
		t.opts.write_buffers = 2;
		refused(&t, EM_ERR_RANGE, "memory for");
		t.opts = good;
		t.opts.prefetch_buffers = UINT32_MAX;
		refused(&t, EM_ERR_RANGE, "memory for");
		t.opts = good;
		t.opts.memory_bytes = UINT64_MAX;
		refused(&t, EM_ERR_RANGE, "memory for");
		if (kind != EMI_DEQUE) {
			t.opts = good;
			t.opts.cache_buffers = 1;
			refused(&t, EM_ERR_INVAL, "cache_buffers");
		}
		t.opts = good;
		t.opts.size = 8;
		assert_int_equal(ends_case_try(&t), EM_ERR_VERSION);
		t.opts = good;
		assert_int_equal(em_placement_init(&place, EM_PLACE_STRIPING, 2, 0, 0, 0), EM_OK);
		t.opts.placement = &place;
		assert_int_equal(ends_case_try(&t), EM_ERR_INVAL);
		t.opts = good;
		t.opts.memory_bytes = (uint64_t)1 << 30;
		assert_int_equal(ends_case_try(&t), EM_ERR_MEMLIMIT);
		t.opts = good;
		ends_case_make(&t);
		ends_case_close(&t);
	}
}

/* All defaults do, whatever the memory of the context, and the size of records. */
static void test_defaults(void **state)
{
	enum { N = 1000 };
	static const uint64_t memories[] = { (uint64_t)1 << 20, (uint64_t)4 << 20, (uint64_t)1 << 30 };
	static const uint64_t records[] = { 1, 8, 100, 5000 };
	size_t i, k;
	int kind;

	(void)state;
	for (i = 0; i < sizeof memories / sizeof *memories; i++) {
		for (k = 0; k < sizeof records / sizeof *records; k++) {
			for (kind = 0; kind < 3; kind++) {
				const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
				em_ctx_opts o = EM_CTX_OPTS_INIT;
				ends_case t;

				ends_case_open(&t, (emi_ends_kind)kind, em_backend_find("memory"), 1, records[k], N, 4);
				emi_scratch_release(t.f.ctx, t.f.disk);
				em_ctx_close(t.f.ctx);
				t.f.disk = NULL;
				o.memory = memories[i];
				o.allocator = &t.f.mem.allocator;
				o.backend = "memory";
				assert_int_equal(em_ctx_open(&t.f.ctx, &o), EM_OK);
				t.opts = plain;
				t.opts.record_bytes = records[k];
				t.opts.errinfo = &t.err;
				ends_case_make(&t);
				assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, N));
				ends_case_drain(&t, kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
				ends_case_close(&t);
			}
		}
	}
}

/* em_X_memory() is the most that it takes, and while it is small it takes little. */
static void test_most_memory(void **state)
{
	static const uint64_t sizes[] = { 1, 8, 12, 100, 3000, 4096, 9000 };
	size_t i;
	int kind;

	(void)state;
	for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (kind = 0; kind < 3; kind++) {
			const emi_end from = kind == EMI_STACK ? EMI_BACK : EMI_FRONT;
			const uint64_t per_block = sizes[i] > B ? 1 : B / sizes[i], n = 60 * per_block;
			uint64_t before, most, peak = 0;
			ends_case t;

			ends_case_open(&t, (emi_ends_kind)kind, em_backend_find("memory"), 1, sizes[i], n, 6);
			t.opts.memory_bytes += 10 * t.opts.block_bytes;
			t.opts.write_buffers = 3;
			t.opts.prefetch_buffers = 4;
			before = em_ctx_memory_used(t.f.ctx);
			most = ends_case_memory(&t, n);
			ends_case_make(&t);
			assert_true(em_ctx_memory_used(t.f.ctx) - before < 4096);
			assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 1));
			assert_true(em_ctx_memory_used(t.f.ctx) - before <
				    4096 + (sizes[i] < 16384 ? 16384 : sizes[i] + 4096));
			while (t.n < n) {
				assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, (n - t.n + 1) / 2));
				if (em_ctx_memory_used(t.f.ctx) - before > peak)
					peak = em_ctx_memory_used(t.f.ctx) - before;
			}
			while (t.n != 0) {
				assert_ends_ok(&t, ends_case_pop(&t, from, (t.n + 1) / 2));
				if (em_ctx_memory_used(t.f.ctx) - before > peak)
					peak = em_ctx_memory_used(t.f.ctx) - before;
			}
			/* The scratch disk itself has tables of some kilobytes. */
			assert_true(peak <= most + 65536);
			assert_true(peak > most / 2);
			ends_case_drop(&t);
			ends_case_close(&t);
		}
	}
}

/* As many records as there is memory for at the ends pass any number of times, and nothing is on a disk. */
static void test_no_io(void **state)
{
	uint64_t i, got = 0, pushed;
	uint64_t numbers[100];
	em_container_stats s;
	ends_case t;

	(void)state;
	open_case(&t, EMI_QUEUE, 10);
	t.opts.memory_bytes = 18 * B;
	t.opts.write_buffers = t.opts.prefetch_buffers = 4;
	ends_case_make(&t);
	em_fault_set(&t.f.fault[0], EM_FAULT_READ | EM_FAULT_WRITE, 0, 0);
	for (i = 0; i < 9 * PER_BLOCK; i++)
		assert_int_equal(em_queue_push(t.object, &i), EM_OK);
	for (i = 0; i < 10000000; i++) {
		const uint64_t next = 9 * PER_BLOCK + i;

		assert_int_equal(em_queue_pop(t.object, &got), EM_OK);
		assert_int_equal(got, i);
		assert_int_equal(em_queue_push(t.object, &next), EM_OK);
	}
	for (i = 0; i < 20000; i++) {
		assert_int_equal(em_queue_pop_many(t.object, numbers, 100, NULL), EM_OK);
		assert_int_equal(em_queue_push_many(t.object, numbers, 100, &pushed), EM_OK);
		assert_int_equal(pushed, 100);
	}
	s = ends_case_stats(&t);
	assert_int_equal(s.records, 9 * PER_BLOCK);
	assert_int_equal(s.writes, 0);
	assert_int_equal(s.reads, 0);
	assert_int_equal(t.f.fault[0].count, 0);
	assert_int_equal(s.memory_blocks, 10);
	ends_case_close(&t);
}

/* What is filled and drained is written once and read once, but for what the memory holds; popping writes nothing. */
static void test_counts(void **state)
{
	enum { BLOCKS = 50 };
	int kind;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		const uint32_t hold = kind == EMI_DEQUE ? 4 : 2;
		em_container_stats s;
		ends_case t;

		open_case(&t, (emi_ends_kind)kind, BLOCKS * PER_BLOCK);
		ends_case_make(&t);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		s = ends_case_stats(&t);
		/* A deque begins in the middle of a block. */
		assert_int_equal(s.blocks, (uint64_t)BLOCKS + (kind == EMI_DEQUE));
		assert_int_equal(s.blocks_disk, s.blocks - hold);
		assert_int_equal(s.writes, s.blocks - hold);
		assert_int_equal(s.reads, 0);
		ends_case_drain(&t, kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
		s = ends_case_stats(&t);
		assert_int_equal(s.writes, (uint64_t)BLOCKS + (kind == EMI_DEQUE) - hold);
		assert_int_equal(s.reads, s.writes);
		assert_int_equal(s.blocks_disk, 0);
		/* Of a deque both ends are popped, and nothing is written. */
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		s = ends_case_stats(&t);
		while (kind == EMI_DEQUE && t.n > 1000) {
			assert_ends_ok(&t, ends_case_pop(&t, EMI_BACK, 300));
			assert_ends_ok(&t, ends_case_pop(&t, EMI_FRONT, 200));
		}
		assert_int_equal(ends_case_stats(&t).writes, s.writes);
		assert_ends_ok(&t, ends_case_clear(&t));
		assert_int_equal(ends_case_stats(&t).writes, s.writes);
		assert_int_equal(ends_case_size(&t), 0);
		ends_case_close(&t);
	}
}

/* Blocks that were hinted at and are no longer next give their buffers to those that are. */
static void test_hints_taken_back(void **state)
{
	em_container_stats before, after;
	ends_case t;
	uint64_t hits;
	int i;

	(void)state;
	open_case(&t, EMI_STACK, 200 * PER_BLOCK);
	t.opts.prefetch_buffers = 4;
	t.opts.memory_bytes = 10 * B;
	ends_case_make(&t);
	assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 40 * PER_BLOCK));
	for (i = 0; i < 20; i++)
		assert_ends_ok(&t, ends_case_pop(&t, EMI_BACK, PER_BLOCK));
	assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 60 * PER_BLOCK));
	before = ends_case_stats(&t);
	hits = ((emi_container *)t.object)->ends->pool->stats.hits;
	for (i = 0; i < 30; i++)
		assert_ends_ok(&t, ends_case_pop(&t, EMI_BACK, PER_BLOCK));
	after = ends_case_stats(&t);
	assert_true(after.reads - before.reads >= 20);
	/* All of the reads but the first ones were hinted at: the pool's own counts tell. */
	assert_true(((emi_container *)t.object)->ends->pool->stats.hits - hits >= after.reads - before.reads - 4);
	ends_case_close(&t);
}

/* What is drained is read far ahead. */
static void test_reads_together(void **state)
{
	enum { BLOCKS = 400 };
	int kind;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		double average;
		uint64_t reads;
		ends_case t;
		held h;

		held_init(&h, em_backend_find("memory"));
		ends_case_open(&t, (emi_ends_kind)kind, &h.backend, 1, 8, BLOCKS * PER_BLOCK, 4);
		t.opts.memory_bytes = 160 * B;
		t.opts.write_buffers = t.opts.prefetch_buffers = t.opts.cache_buffers = 0;
		ends_case_make(&t);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		(void)held_average(&h, NULL);
		ends_case_drain(&t, kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
		average = held_average(&h, &reads);
		print_message("%.1f of %u reads together\n", average, (unsigned)reads);
		assert_true(average >= 16);
		ends_case_close(&t);
		held_end(&h);
	}
}

/* A reader of a deque reads each block on a disk once, whichever way it goes, and nothing twice that is in memory. */
static void test_reader_counts(void **state)
{
	enum { BLOCKS = 50 };
	uint32_t direction;

	(void)state;
	for (direction = 0; direction < 2; direction++) {
		em_deque_reader_opts o = EM_DEQUE_READER_OPTS_INIT;
		const em_batch *b;
		em_deque_reader *r;
		uint64_t reads, n = 0;
		ends_case t;
		held h;

		held_init(&h, em_backend_find("memory"));
		ends_case_open(&t, EMI_DEQUE, &h.backend, 1, 8, BLOCKS * PER_BLOCK, 4);
		ends_case_make(&t);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, BLOCKS * PER_BLOCK));
		o.direction = direction;
		o.buffers = 5;
		(void)held_average(&h, NULL);
		assert_ends_ok(&t, em_deque_reader_open(&r, t.object, &o));
		while (em_deque_reader_next(r, &b) == EM_OK)
			n += b->n;
		assert_int_equal(n, BLOCKS * PER_BLOCK);
		em_deque_reader_close(r);
		(void)held_average(&h, &reads);
		assert_int_equal(reads, ends_case_stats(&t).blocks_disk);
		assert_int_equal(ends_case_stats(&t).reads, 0);
		ends_case_close(&t);
		held_end(&h);
	}
}

/* All of the scratch that there may be is in use: as above, but it is allocating that fails. */
static void test_limited(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	uint64_t n, i, pushed, got;
	em_queue *q;
	em_ctx *ctx;

	(void)state;
	o.backend = "memory";
	o.memory = 8 << 20;
	o.scratch_max = 20 * B;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	opts.record_bytes = 8;
	opts.block_bytes = B;
	opts.memory_bytes = 8 * B;
	assert_int_equal(em_queue_open(&q, ctx, &opts), EM_OK);
	for (n = 0; em_queue_push(q, &n) == EM_OK; n++)
		;
	assert_int_equal(em_queue_size(q), n);
	assert_true(n >= 20 * PER_BLOCK && n <= 28 * PER_BLOCK);
	assert_int_equal(em_queue_push_many(q, &n, 1, &pushed), EM_ERR_NOSPACE);
	assert_int_equal(pushed, 0);
	for (i = 0; i < 6 * PER_BLOCK; i++) {
		assert_int_equal(em_queue_pop(q, &got), EM_OK);
		assert_int_equal(got, i);
	}
	for (; n < 28 * PER_BLOCK; n++)
		assert_int_equal(em_queue_push(q, &n), EM_OK);
	for (; i < n; i++) {
		assert_int_equal(em_queue_pop(q, &got), EM_OK);
		assert_int_equal(got, i);
	}
	assert_int_equal(em_queue_pop(q, &got), EM_NOT_FOUND);
	em_queue_close(q);
	em_ctx_close(ctx);
}

static void swap(ends_case *a, ends_case *b)
{
	unsigned char *is = a->is;
	char *buf = a->buf;
	const uint64_t from = a->from, n = a->n, room = a->room, record = a->opts.record_bytes;
	em_status st;

	if (a->kind == EMI_STACK)
		st = em_stack_swap(a->object, b->object);
	else
		st = a->kind == EMI_QUEUE ? em_queue_swap(a->object, b->object) : em_deque_swap(a->object, b->object);
	assert_ends_ok(a, st);
	a->is = b->is;
	a->buf = b->buf;
	a->from = b->from;
	a->n = b->n;
	a->room = b->room;
	a->opts.record_bytes = b->opts.record_bytes;
	b->is = is;
	b->buf = buf;
	b->from = from;
	b->n = n;
	b->room = room;
	b->opts.record_bytes = record;
}

/* Some come and some go, and then one: mostly by the calls and windows for single records. */
static void come_and_go(ends_case *t)
{
	const emi_end end = t->kind == EMI_STACK ? EMI_BACK : EMI_FRONT;

	assert_ends_ok(t, ends_case_push(t, EMI_BACK, test_below(&t->f.rng, 200)));
	assert_ends_ok(t, ends_case_push(t, EMI_BACK, 1));
	assert_ends_ok(t, ends_case_pop(t, end, test_below(&t->f.rng, 100)));
	if (t->n != 0)
		assert_ends_ok(t, ends_case_pop(t, end, 1));
}

static void both(ends_case *a, ends_case *b)
{
	int i;

	for (i = 0; i < 60; i++) {
		come_and_go(a);
		come_and_go(b);
	}
}

/* Two of a kind, on pools of their own or on one that is shared, which its owner closes first; and they are swapped. */
static void test_swap_and_share(void **state)
{
	int kind, sharing;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		for (sharing = 0; sharing < 6; sharing++) {
			em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
			em_disks_opts dopts = EM_DISKS_OPTS_INIT;
			em_block_pool *pool = NULL;
			em_disks *d = NULL;
			ends_case a, b;

			ends_case_open(&a, (emi_ends_kind)kind, em_backend_find("memory"), 2, 8, ROOM, 4);
			b = a;
			b.opts.record_bytes = 24;
			b.is = malloc((ROOM + 1) * 24);
			b.buf = malloc((ROOM + 1) * 24);
			assert_non_null(b.is);
			assert_non_null(b.buf);
			dopts.flags = sharing % 2 == 1 ? EM_DISKS_COHERENT : 0;
			po.block_bytes = B;
			po.write_buffers = 2;
			po.prefetch_buffers = 3;
			assert_int_equal(em_disks_open(&d, a.f.ctx, &dopts), EM_OK);
			assert_int_equal(em_block_pool_open(&pool, d, &po), EM_OK);
			a.opts.errinfo = &a.err;
			b.opts.errinfo = &b.err;
			if (sharing >= 2) {
				a.opts.pool = pool;
				a.opts.write_buffers = 0;
				a.opts.block_bytes = 0;
			}
			if (sharing >= 4) {
				b.opts.pool = pool;
				b.opts.write_buffers = b.opts.prefetch_buffers = 0;
			}
			ends_case_make(&a);
			ends_case_make(&b);
			if (sharing % 2 == 0) {
				em_block_pool_close(pool);
				em_disks_close(d);
			}
			both(&a, &b);
			swap(&a, &b);
			both(&a, &b);
			swap(&b, &a);
			swap(&a, &a);
			both(&a, &b);
			if (sharing % 2 == 1) {
				em_block_pool_close(pool);
				em_disks_close(d);
			}
			both(&a, &b);
			ends_case_drain(&b, b.kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
			ends_case_drop(&b);
			free(b.is);
			free(b.buf);
			both(&a, &a);
			ends_case_close(&a);
		}
	}
}

/* Pools that cannot be shared. */
static void test_wrong_pools(void **state)
{
	em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_block_pool *pool;
	em_container_opts good;
	em_ctx *other;
	ends_case t;
	em_disks *d;

	(void)state;
	open_case(&t, EMI_STACK, 10);
	po.block_bytes = B;
	po.prefetch_buffers = 2;
	t.opts.write_buffers = t.opts.prefetch_buffers = 0;
	good = t.opts;
	assert_int_equal(em_disks_open(&d, t.f.ctx, NULL), EM_OK);
	assert_int_equal(em_block_pool_open(&pool, d, &po), EM_OK);
	t.opts.pool = pool;
	refused(&t, EM_ERR_INVAL, "no buffers for writing");
	assert_int_equal(em_block_pool_resize(pool, 1, 1), EM_OK);
	t.opts.block_bytes = 2 * B;
	refused(&t, EM_ERR_INVAL, "those of the pool");
	t.opts = good;
	t.opts.pool = pool;
	t.opts.write_buffers = 1;
	refused(&t, EM_ERR_INVAL, "write_buffers");
	em_block_pool_close(pool);
	em_disks_close(d);
	o.backend = "memory";
	o.memory = 8 << 20;
	assert_int_equal(em_ctx_open(&other, &o), EM_OK);
	assert_int_equal(em_disks_open(&d, other, NULL), EM_OK);
	po.write_buffers = 1;
	assert_int_equal(em_block_pool_open(&pool, d, &po), EM_OK);
	t.opts = good;
	t.opts.pool = pool;
	assert_int_equal(ends_case_try(&t), EM_ERR_INVAL);
	assert_non_null(strstr(t.err.text, "another context"));
	em_block_pool_close(pool);
	em_disks_close(d);
	em_ctx_close(other);
	t.opts = good;
	ends_case_close(&t);
}

/* Windows are for one end, one size, and what that end is for; in checked contexts they are empty. */
static void test_windows(void **state)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	uint64_t number = 1, other = 2;
	em_window *w, *front;
	em_errinfo err;
	em_stack *s;
	em_queue *q;
	em_ctx *ctx;

	(void)state;
	o.backend = "memory";
	o.memory = 8 << 20;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	opts.record_bytes = 8;
	assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
	w = em_stack_window(s);
	assert_int_equal(em_window_push_back(w, &number, 8), EM_OK);
	assert_int_equal(em_window_push_back(w, &number, 4), EM_ERR_INVAL);
	em_stack_error(s, &err);
	assert_non_null(strstr(err.text, "that of the window is 8"));
	assert_int_equal(em_window_pop_front(w, &number, 8), EM_ERR_INVAL);
	assert_int_equal(em_window_push_front(w, &number, 8), EM_ERR_INVAL);
	assert_int_equal(em_stack_size(s), 1);
	assert_int_equal(em_window_pop_back(w, &other, 8), EM_OK);
	assert_int_equal(other, 1);
	assert_int_equal(em_window_pop_back(w, &other, 8), EM_NOT_FOUND);
	assert_int_equal(em_stack_size(s), 0);
	em_stack_close(s);
	assert_int_equal(em_queue_open(&q, ctx, &opts), EM_OK);
	w = em_queue_push_window(q);
	front = em_queue_pop_window(q);
	assert_int_equal(em_window_pop_front(front, &other, 8), EM_NOT_FOUND);
	assert_int_equal(em_window_push_front(front, &number, 8), EM_ERR_INVAL);
	assert_int_equal(em_window_pop_back(w, &number, 8), EM_ERR_INVAL);
	assert_int_equal(em_window_push_back(w, &number, 8), EM_OK);
	assert_int_equal(em_queue_size(q), 1);
	assert_int_equal(em_window_pop_front(front, &other, 8), EM_OK);
	assert_int_equal(em_queue_size(q), 0);
	em_queue_close(q);
	em_ctx_close(ctx);
	o.flags = EM_CTX_CHECKED;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
	assert_int_equal(em_stack_push(s, &number), EM_OK);
	w = em_stack_window(s);
	assert_true(w->cur == w->low && w->cur == w->high);
	assert_int_equal(em_window_pop_back(w, &other, 8), EM_OK);
	assert_int_equal(other, 1);
	em_ctx_cancel(ctx);
	assert_int_equal(em_window_push_back(w, &number, 8), EM_ERR_CANCELED);
	assert_int_equal(em_stack_push(s, &number), EM_ERR_CANCELED);
	assert_int_equal(em_stack_size(s), 0);
	em_ctx_close(ctx);
	em_stack_close(s);
}

/* Who is canceled does no work any more, but can be asked and closed. */
static void test_canceled(void **state)
{
	ends_case t;

	(void)state;
	open_case(&t, EMI_DEQUE, 20 * PER_BLOCK);
	ends_case_make(&t);
	assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 15 * PER_BLOCK));
	em_ctx_cancel(t.f.ctx);
	assert_int_equal(em_deque_pop_back_many(t.object, t.buf, 2, NULL), EM_ERR_CANCELED);
	assert_int_equal(em_deque_read(t.object, 0, t.buf, 1), EM_ERR_CANCELED);
	assert_int_equal(ends_case_size(&t), 15 * PER_BLOCK);
	ends_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_most_memory),
		cmocka_unit_test(test_no_io),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_hints_taken_back),
		cmocka_unit_test(test_reads_together),
		cmocka_unit_test(test_reader_counts),
		cmocka_unit_test(test_limited),
		cmocka_unit_test(test_swap_and_share),
		cmocka_unit_test(test_wrong_pools),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
