/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_reentry.c -- calls on an object while one is in progress (extmem/base.h): from within functions of the caller's,
 * and by other threads in contexts that are checked.
 *
 * Whatever the library calls is made to call the object that is at work: an order's function, the progress function, a
 * cache's trace, the log, and the allocator, which must not call the library, and is refused all the same.  The work
 * must end as if nothing had happened.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>

#include "common/test.h"

#define MIB ((uint64_t)1 << 20)
#define B 4096u
#define N ((uint64_t)3000)

/* What to do with the object that is at work, and how often that was. */
typedef struct again {
	void (*call)(struct again *a);
	void *object;
	uint64_t times;
	int within;
	int locked;             /* the library may hold locks: nothing that tells is asked */
} again;

static again now;
static pthread_t works;         /* the thread that calls the library */

/* The library calls: by the thread that works, or by one of its own, which leaves all this alone. */
static void called(int locked)
{
	if (!pthread_equal(works, pthread_self()) || now.call == NULL || now.within)
		return;
	now.within = 1;
	now.locked = locked;
	now.call(&now);
	now.times++;
	now.within = 0;
}

static void begin(void (*call)(again *a), void *object)
{
	memset(&now, 0, sizeof now);
	now.object = object;
	now.call = call;
}

/* It was called, so often at least. */
static void end(uint64_t least)
{
	now.call = NULL;
	assert_true(now.times >= least);
}

static int compare(const void *a, const void *b, void *user)
{
	(void)user;
	called(0);
	return memcmp(a, b, 8);
}

static int progress(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	(void)user;
	(void)phase;
	(void)done;
	(void)total;
	called(0);
	return 0;
}

static void trace(void *user, const em_cache_access *access)
{
	(void)user;
	(void)access;
	called(0);
}

static void *own_alloc(void *user, size_t bytes)
{
	(void)user;
	called(1);
	return malloc(bytes);
}

static void own_release(void *user, void *ptr, size_t bytes)
{
	(void)user;
	(void)bytes;
	called(1);
	free(ptr);
}

static void own_log(void *user, int32_t level, const char *line)
{
	(void)user;
	(void)level;
	(void)line;
	called(1);
}

static em_ctx *open_ctx(uint32_t flags)
{
	static em_allocator allocator = EM_ALLOCATOR_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	allocator.alloc = own_alloc;
	allocator.release = own_release;
	o.allocator = &allocator;
	o.log = own_log;
	o.memory = 16 * MIB;
	o.backend = "memory";
	o.threads = 1;
	o.flags = flags;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	return ctx;
}

static void sorter_again(again *a)
{
	const uint64_t end = 8;
	const em_batch *batch = (const em_batch *)&end;
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_errinfo err;

	assert_int_equal(em_sorter_push(a->object, &end, 1), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_bytes(a->object, &end, 8), EM_ERR_BUSY);
	assert_int_equal(em_sorter_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_file(a->object, "/dev/null"), EM_ERR_BUSY);
	assert_int_equal(em_sorter_pull_file(a->object, "/dev/null"), EM_ERR_BUSY);
	assert_int_equal(em_sorter_push_batch(a->object, &end, NULL, 1), EM_ERR_BUSY);
	assert_int_equal(em_sorter_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sorter_next(a->object, &batch), EM_ERR_BUSY);
	assert_null(batch);
	assert_int_equal(em_cursor_refill(em_sorter_cursor(a->object)), EM_ERR_BUSY);
	if (a->locked)
		return;
	assert_int_equal(em_sorter_stats_get(a->object, &stats), EM_OK);
	em_sorter_error(a->object, &err);
	assert_true(em_sorter_longest(a->object) != 0);
}

static void top_again(again *a)
{
	const uint64_t end = 8;
	const em_batch *batch;

	assert_int_equal(em_top_push(a->object, &end, 1), EM_ERR_BUSY);
	assert_int_equal(em_top_push_batch(a->object, &end, NULL, 1), EM_ERR_BUSY);
	assert_int_equal(em_top_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_top_next(a->object, &batch), EM_ERR_BUSY);
}

static em_order *open_order(em_ctx *ctx)
{
	em_order *order;

	assert_int_equal(em_order_cmp(&order, ctx, 8, "own", compare, 0, NULL, NULL, NULL), EM_OK);
	return order;
}

/* So many pairs of equal bytes, the last first. */
static void make(unsigned char *records)
{
	uint64_t i;

	memset(records, 0, N * 8);
	for (i = 0; i < N; i++) {
		records[8 * i] = (unsigned char)((N - i) >> 8);
		records[8 * i + 1] = (unsigned char)(N - i);
	}
}

/* In memory and with runs. */
static void test_sorter(void **state)
{
	unsigned char *records = malloc(N * 8);
	int round;

	(void)state;
	assert_non_null(records);
	make(records);
	for (round = 0; round < 4; round++) {
		em_ctx *ctx = open_ctx(round % 2 == 0 ? 0 : EM_CTX_CHECKED);
		em_order *order = open_order(ctx);
		em_sort_opts opts = EM_SORT_OPTS_INIT;
		const unsigned char *last = NULL;
		const em_batch *batch;
		uint64_t n = 0;
		em_sorter *s;
		em_status st;

		opts.run_records = round < 2 ? 0 : 300;
		opts.block_bytes = B;
		opts.progress = progress;
		assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
		begin(sorter_again, s);
		assert_int_equal(em_sorter_push(s, records, N), EM_OK);
		assert_int_equal(em_sorter_finish(s), EM_OK);
		while ((st = em_sorter_next(s, &batch)) == EM_OK) {
			last = (const unsigned char *)batch->records + batch->bytes - 8;
			assert_int_equal(last[0] << 8 | last[1], (int)(n += batch->n));
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(n, N);
		end(N);
		em_sorter_close(s);
		em_order_close(order);
		em_ctx_close(ctx);
	}
	free(records);
}

static void test_top(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = open_ctx(0);
	em_order *order = open_order(ctx);
	const em_batch *batch;
	em_top *t;

	(void)state;
	assert_non_null(records);
	make(records);
	assert_int_equal(em_top_open(&t, ctx, order, 0, 5, NULL), EM_OK);
	begin(top_again, t);
	assert_int_equal(em_top_push(t, records, N), EM_OK);
	assert_int_equal(em_top_finish(t), EM_OK);
	assert_int_equal(em_top_next(t, &batch), EM_OK);
	end(100);
	assert_int_equal(batch->n, 5);
	assert_memory_equal(batch->records, records + 8 * (N - 1), 8);
	em_top_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void close_it(again *a)
{
	if (a->times == 20)
		em_sorter_close(a->object);
}

/* It ends soon, and is released when the call returns. */
static void test_close(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = open_ctx(0);
	em_order *order = open_order(ctx);
	const uint64_t before = em_ctx_memory_used(ctx);
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_sorter *s;

	(void)state;
	assert_non_null(records);
	make(records);
	opts.run_records = 300;
	opts.block_bytes = B;
	assert_int_equal(em_sorter_open(&s, ctx, order, &opts), EM_OK);
	begin(close_it, s);
	assert_int_equal(em_sorter_push(s, records, N), EM_ERR_CANCELED);
	end(21);
	assert_true(em_ctx_memory_used(ctx) <= before + MIB);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void cache_again(again *a)
{
	const em_bid bid = { 0, 0, 0 };
	void *block = a;
	size_t got;

	assert_int_equal(em_cache_get(a->object, bid, EM_CACHE_READ, &block), EM_ERR_BUSY);
	assert_null(block);
	assert_int_equal(em_cache_unpin(a->object, a, 0), EM_ERR_BUSY);
	em_cache_hint(a->object, bid);
	assert_int_equal(em_cache_get_many(a->object, &bid, 1, EM_CACHE_READ, NULL, 0, &block, &got), EM_ERR_BUSY);
	assert_int_equal(em_cache_resize(a->object, 3), EM_ERR_BUSY);
	assert_int_equal(em_cache_flush(a->object), EM_ERR_BUSY);
	assert_int_equal(em_cache_invalidate(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_cache_detach(a->object, &block), EM_ERR_BUSY);
	assert_int_equal(em_cache_attach(a->object, a), EM_ERR_BUSY);
}

static void test_cache(void **state)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_bid bid[4];
	em_disks *d;
	em_cache *c;
	char *block;
	int i;

	(void)state;
	opts.block_bytes = B;
	opts.frames = 2;
	opts.trace = trace;
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 4, B, NULL, 0), EM_OK);
	assert_int_equal(em_cache_open(&c, d, &opts), EM_OK);
	begin(cache_again, c);
	for (i = 0; i < 4; i++) {
		assert_int_equal(em_cache_get(c, bid[i], EM_CACHE_FRESH, (void **)(void *)&block), EM_OK);
		memset(block, i, B);
		assert_int_equal(em_cache_unpin(c, block, 1), EM_OK);
	}
	for (i = 0; i < 4; i++) {
		assert_int_equal(em_cache_get(c, bid[i], EM_CACHE_READ, (void **)(void *)&block), EM_OK);
		assert_int_equal(block[B - 1], i);
		assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
	}
	end(8);
	em_cache_close(c);
	assert_int_equal(em_bids_free(d, bid, 4, B), EM_OK);
	em_disks_close(d);
	em_ctx_close(ctx);
}

static void vector_again(again *a)
{
	em_vector_stats stats = EM_VECTOR_STATS_INIT;
	uint64_t one = 1, at = 0;
	em_vector_writer *w;
	em_vector_reader *r;
	void *p;

	assert_int_equal(em_vector_get(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_set(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_read(a->object, 0, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_write(a->object, 0, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_read_many(a->object, &at, 1, &one), EM_ERR_BUSY);
	em_vector_hint(a->object, 0);
	assert_int_equal(em_vector_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_push_many(a->object, &one, 1, &at), EM_ERR_BUSY);
	assert_int_equal(em_vector_resize(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_reserve(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_shrink(a->object), EM_ERR_BUSY);
	assert_int_equal(em_vector_swap(a->object, a->object), EM_ERR_BUSY);
	assert_int_equal(em_vector_flush(a->object, 0), EM_ERR_BUSY);
	assert_int_equal(em_vector_export(a->object, "x"), EM_ERR_BUSY);
	assert_int_equal(em_vector_pin(a->object, 0, 0, &p), EM_ERR_BUSY);
	assert_int_equal(em_vector_reader_open(&r, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_vector_writer_open(&w, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_vector_fill(a->object, 0, 1, &one), EM_ERR_BUSY);
	assert_int_equal(em_vector_copy(a->object, 0, a->object, 0, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_reverse(a->object, 0, 1), EM_ERR_BUSY);
	assert_int_equal(em_vector_shuffle(a->object, 0, 1, 1, NULL), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_vector_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_vector_size(a->object), N);
	assert_int_equal(em_vector_record_bytes(a->object), 8);
}

static int visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	called(0);
	return n == 0;
}

static int change(void *user, uint64_t i, void *records, uint64_t n)
{
	return visit(user, i, records, n);
}

static int ask(void *user, const void *record)
{
	return visit(user, 0, record, 1);
}

/* Every function that calls one of the caller's. */
static void test_vector(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = open_ctx(0);
	em_order *order = open_order(ctx);
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_vector *v;
	uint64_t at;

	(void)state;
	assert_non_null(records);
	make(records);
	opts.record_bytes = 8;
	opts.block_bytes = B;
	opts.cache_bytes = 2 * B;
	assert_int_equal(em_vector_open(&v, ctx, &opts), EM_OK);
	assert_int_equal(em_vector_push_many(v, records, N, NULL), EM_OK);
	begin(vector_again, v);
	assert_int_equal(em_vector_for_each(v, 0, N, visit, NULL), EM_OK);
	assert_int_equal(em_vector_mutate(v, 0, N, change, NULL), EM_OK);
	assert_int_equal(em_vector_generate(v, 0, 0, change, NULL), EM_OK);
	assert_int_equal(em_vector_find(v, 0, N, ask, NULL, &at), EM_NOT_FOUND);
	assert_int_equal(em_vector_count(v, 0, N, ask, NULL, &at), EM_OK);
	assert_int_equal(at, 0);
	assert_int_equal(em_vector_partition(v, 0, N, ask, NULL, &at), EM_OK);
	assert_int_equal(at, 0);
	assert_int_equal(em_vector_nth_element(v, 0, N, N / 2, order), EM_OK);
	assert_int_equal(em_vector_sort(v, 0, N, order, NULL, NULL), EM_OK);
	assert_int_equal(em_vector_find_disorder(v, 0, N, order, &at), EM_NOT_FOUND);
	assert_int_equal(em_vector_lower_bound(v, 0, N, order, records, &at), EM_OK);
	assert_int_equal(at, N - 1);
	end(N);
	em_vector_close(v);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

/* Of the tree. */
static em_btree_cursor *tree_cursor;

static void btree_again(again *a)
{
	em_btree_loader *l;
	em_btree_cursor *c;
	em_btree_stats stats = EM_BTREE_STATS_INIT;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_btree_insert(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_upsert(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_get(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_lower_bound(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_upper_bound(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_count(a->object, NULL, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_btree_erase(a->object, &one, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_range(a->object, NULL, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_equal(a->object, &one, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_min(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_max(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_pop_min(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_pop_max(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_flush(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_verify(a->object), EM_ERR_BUSY);
	assert_int_equal(em_btree_save(a->object, "none"), EM_ERR_BUSY);
	assert_int_equal(em_btree_get_many(a->object, &one, 1, &one, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_lower_bound_many(a->object, &one, 1, &one, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_insert_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_upsert_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_erase_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_insert_sorted(a->object, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_load_sorted(a->object, NULL, NULL), EM_ERR_BUSY);
	assert_int_equal(em_btree_loader_open(&l, a->object, NULL), EM_ERR_BUSY);
	assert_null(l);
	assert_int_equal(em_btree_cursor_open(&c, a->object), EM_ERR_BUSY);
	assert_null(c);
	assert_int_equal(em_btree_cursor_seek(tree_cursor, &one, EM_BTREE_GE), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_get(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_next(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_prev(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_next_many(tree_cursor, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_prev_many(tree_cursor, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_insert(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_put(tree_cursor, &one), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_erase(tree_cursor), EM_ERR_BUSY);
	assert_int_equal(em_btree_cursor_count(tree_cursor, &n), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_btree_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_btree_record_bytes(a->object), 8);
}

/* The order's function is called in all that looks for a place. */
static void test_btree(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_ctx *ctx = open_ctx(0);
	em_order *order = open_order(ctx);
	em_btree *t;
	size_t i;

	(void)state;
	assert_non_null(records);
	make(records);
	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	assert_int_equal(em_btree_cursor_open(&tree_cursor, t), EM_OK);
	begin(btree_again, t);
	for (i = 0; i < N; i++)
		assert_true(em_btree_insert(t, records + 8 * i) >= EM_OK);
	end(N);
	em_btree_cursor_close(tree_cursor);
	em_btree_close(t);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static void radix_heap_again(again *a)
{
	em_radix_heap_stats stats = EM_RADIX_HEAP_STATS_INIT;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_radix_heap_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_radix_heap_pop(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_top(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_radix_heap_clear(a->object), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_radix_heap_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_radix_heap_record_bytes(a->object), 8);
}

/* Memory is all that it asks others for. */
static void test_radix_heap(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_radix_heap *h;
	uint64_t n;

	(void)state;
	assert_non_null(records);
	make(records);
	opts.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, ctx, &opts), EM_OK);
	begin(radix_heap_again, h);
	assert_int_equal(em_radix_heap_push_many(h, records, N, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop_many(h, records, N, &n), EM_OK);
	assert_int_equal(n, N);
	end(2);
	em_radix_heap_close(h);
	em_ctx_close(ctx);
	free(records);
}

static void pq_again(again *a)
{
	em_pq_stats stats = EM_PQ_STATS_INIT;
	const em_batch *batch;
	uint64_t one = 1, n = 77;

	assert_int_equal(em_pq_push(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_pq_pop(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_pq_pop_until(a->object, &one, 0, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_pq_top(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_pushpop(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_replace(a->object, &one, &one), EM_ERR_BUSY);
	assert_int_equal(em_pq_next(a->object, &batch), EM_ERR_BUSY);
	assert_int_equal(em_cursor_refill(em_pq_cursor(a->object)), EM_ERR_BUSY);
	assert_int_equal(em_pq_clear(a->object), EM_ERR_BUSY);
	if (!a->locked)
		assert_int_equal(em_pq_stats_get(a->object, &stats), EM_OK);
	assert_int_equal(em_pq_record_bytes(a->object), 8);
}

/* A queue by a function: that and memory are what it asks others for. */
static void test_pq(void **state)
{
	unsigned char *records = malloc(N * 8);
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_order *order;
	uint64_t n;
	em_pq *q;

	(void)state;
	assert_non_null(records);
	make(records);
	assert_int_equal(em_order_cmp(&order, ctx, 8, NULL, compare, 0, NULL, NULL, NULL), EM_OK);
	opts.order = order;
	assert_int_equal(em_pq_open(&q, ctx, &opts), EM_OK);
	begin(pq_again, q);
	assert_int_equal(em_pq_push_many(q, records, N, NULL), EM_OK);
	assert_int_equal(em_pq_pop_many(q, records, N, &n), EM_OK);
	assert_int_equal(n, N);
	end(N);
	em_pq_close(q);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

static int make_numbers(void *user, uint64_t i, void *to, size_t *n)
{
	(void)user;
	(void)i;
	memset(to, 0, *n * 8);
	called(0);
	return 0;
}

static void stream_again(again *a)
{
	const em_batch *batch;
	uint64_t n = 77;

	assert_int_equal(em_stream_next(a->object, &batch), EM_ERR_BUSY);
	assert_null(batch);
	assert_int_equal(em_stream_batch(a->object, 1), EM_ERR_BUSY);
	assert_int_equal(em_stream_pump(a->object, NULL, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_cursor_refill(em_stream_cursor(a->object)), EM_ERR_BUSY);
	assert_int_equal(em_stream_record_bytes(a->object), 8);
	assert_int_equal(em_stream_count(a->object), N);
}

static em_status push_numbers(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	called(0);
	return EM_OK;
}

static void sink_again(again *a)
{
	uint64_t one = 1;

	assert_int_equal(em_sink_push(a->object, &one, 1), EM_ERR_BUSY);
	assert_int_equal(em_sink_finish(a->object), EM_ERR_BUSY);
	assert_int_equal(em_sink_record_bytes(a->object), 8);
}

static void test_streams(void **state)
{
	em_sink_ops ops = EM_SINK_OPS_INIT;
	em_ctx *ctx = open_ctx(0);
	uint64_t n;
	em_stream *s;
	em_sink *k;

	(void)state;
	ops.push = push_numbers;
	assert_int_equal(em_stream_generate(&s, ctx, 8, N, make_numbers, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_sink_open(&k, ctx, 8, &ops, NULL, NULL), EM_OK);
	begin(stream_again, s);
	while (em_stream_empty(em_stream_cursor(s)) == 0 && now.times == 0)
		continue;
	end(1);
	begin(sink_again, k);
	assert_int_equal(em_stream_pump(s, k, &n), EM_OK);
	assert_int_equal(n, N);
	end(2);
	em_sink_close(k);
	em_stream_close(s);
	em_ctx_close(ctx);
}

static void pool_again(again *a)
{
	const em_bid bid = { 0, 0, 0 };
	void *buf = a;

	assert_int_equal(em_block_pool_resize(a->object, 1, 1), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_lend(a->object, &buf), EM_ERR_BUSY);
	assert_null(buf);
	assert_int_equal(em_block_pool_detach(a->object, &buf), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_attach(a->object, a), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_return(a->object, a), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_write(a->object, a, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_hint(a->object, bid), 0);
	assert_int_equal(em_block_pool_invalidate(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_free(a->object, bid), EM_ERR_BUSY);
	assert_int_equal(em_block_pool_flush(a->object), EM_ERR_BUSY);
}

static void test_pool(void **state)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_block_pool *p;
	void *buf[10];
	em_disks *d;
	int i;

	(void)state;
	opts.block_bytes = B;
	opts.write_buffers = opts.prefetch_buffers = 1;
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_OK);
	assert_int_equal(em_block_pool_open(&p, d, &opts), EM_OK);
	begin(pool_again, p);
	assert_int_equal(em_block_pool_resize(p, 20, 20), EM_OK);
	for (i = 0; i < 10; i++)
		assert_int_equal(em_block_pool_lend(p, &buf[i]), EM_OK);
	while (i-- > 0)
		assert_int_equal(em_block_pool_return(p, buf[i]), EM_OK);
	assert_int_equal(em_block_pool_resize(p, 2, 2), EM_OK);
	end(2);
	em_block_pool_close(p);
	em_disks_close(d);
	em_ctx_close(ctx);
}

static void deque_again(again *a)
{
	em_window *back = em_deque_back_window(a->object), *front = em_deque_front_window(a->object);
	em_container_stats stats = EM_CONTAINER_STATS_INIT;
	uint64_t one = 1, n = 7;
	em_deque_reader *r;

	assert_int_equal(em_window_push_back(back, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_pop_back(back, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_push_front(front, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_window_pop_front(front, &one, 8), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_push_back_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_deque_push_front_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_back_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_pop_front_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_deque_back(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_front(a->object, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_get(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_set(a->object, 0, &one), EM_ERR_BUSY);
	assert_int_equal(em_deque_clear(a->object), EM_ERR_BUSY);
	assert_int_equal(em_deque_prefetch(a->object, 1), EM_ERR_BUSY);
	assert_int_equal(em_deque_swap(a->object, a->object), EM_ERR_BUSY);
	assert_int_equal(em_deque_reader_open(&r, a->object, NULL), EM_ERR_BUSY);
	assert_int_equal(em_deque_stats_get(a->object, &stats), EM_OK);
	assert_true(em_deque_size(a->object) <= N);
}

/* The allocator calls it, while blocks come, and go. */
static void test_deque(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_deque *d;
	uint64_t i, got;

	(void)state;
	opts.record_bytes = 8;
	opts.block_bytes = B;
	opts.memory_bytes = 8 * B;
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	begin(deque_again, d);
	for (i = 0; i < N; i++)
		assert_int_equal(em_deque_push_back(d, &i), EM_OK);
	for (i = 0; i < N; i++) {
		assert_int_equal(em_deque_pop_front(d, &got), EM_OK);
		assert_int_equal(got, i);
	}
	assert_int_equal(em_deque_clear(d), EM_OK);
	end(2);
	em_deque_close(d);
	em_ctx_close(ctx);
}

/* Of another stack than that at work: single records that are in memory may come and go. */
static void stack_again(again *a)
{
	uint64_t one = 1, n = 7;

	assert_int_equal(em_stack_push_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(n, 0);
	assert_int_equal(em_stack_pop_many(a->object, &one, 1, &n), EM_ERR_BUSY);
	assert_int_equal(em_stack_clear(a->object), EM_ERR_BUSY);
}

/* Of those who share a pool one is closed: the others are busy until it is gone. */
static void test_close_one_of_pool(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags < 4; flags++) {
		em_ctx *ctx = open_ctx(flags & 1 ? EM_CTX_CHECKED : 0);
		em_block_pool_opts po = EM_BLOCK_POOL_OPTS_INIT;
		em_container_opts opts = EM_CONTAINER_OPTS_INIT;
		em_disks_opts disks = EM_DISKS_OPTS_INIT;
		em_stack *s, *other;
		em_block_pool *p;
		em_disks *d;
		uint64_t i, got;

		disks.flags = flags & 2 ? EM_DISKS_COHERENT : 0;
		po.block_bytes = B;
		po.write_buffers = po.prefetch_buffers = 2;
		assert_int_equal(em_disks_open(&d, ctx, &disks), EM_OK);
		assert_int_equal(em_block_pool_open(&p, d, &po), EM_OK);
		opts.record_bytes = 8;
		opts.memory_bytes = 2 * B;
		opts.pool = p;
		assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
		assert_int_equal(em_stack_open(&other, ctx, &opts), EM_OK);
		for (i = 0; i < N; i++) {
			assert_int_equal(em_stack_push(s, &i), EM_OK);
			assert_int_equal(em_stack_push(other, &i), EM_OK);
		}
		begin(stack_again, other);
		em_stack_close(s);
		end(2);
		assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
		begin(pool_again, p);
		em_stack_close(s);
		end(2);
		/* The pool goes on for the one that is left, which goes last. */
		begin(stack_again, other);
		em_block_pool_close(p);
		em_disks_close(d);
		now.call = NULL;
		while (i-- > 0) {
			assert_int_equal(em_stack_pop(other, &got), EM_OK);
			assert_int_equal(got, i);
		}
		em_stack_close(other);
		em_ctx_close(ctx);
	}
}

/* The same of coherent disks: here a function may call, as what was not written is logged. */
static void test_close_one_of_disks(void **state)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_disks_opts disks = EM_DISKS_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_cache *c, *other;
	em_bid bid[2];
	em_disks *d;
	void *block;

	(void)state;
	disks.flags = EM_DISKS_COHERENT;
	opts.block_bytes = B;
	opts.frames = 2;
	assert_int_equal(em_disks_open(&d, ctx, &disks), EM_OK);
	assert_int_equal(em_bids_alloc(d, bid, 2, B, NULL, 0), EM_OK);
	assert_int_equal(em_cache_open(&c, d, &opts), EM_OK);
	assert_int_equal(em_cache_open(&other, d, &opts), EM_OK);
	assert_int_equal(em_cache_get(c, bid[0], EM_CACHE_FRESH, &block), EM_OK);
	assert_int_equal(em_cache_unpin(c, block, 1), EM_OK);
	begin(cache_again, other);
	em_cache_close(c);
	end(2);
	assert_int_equal(em_cache_get(other, bid[0], EM_CACHE_READ, &block), EM_OK);
	assert_int_equal(em_cache_unpin(other, block, 0), EM_OK);
	assert_int_equal(em_bids_free(d, bid, 2, B), EM_OK);
	em_disks_close(d);
	em_cache_close(other);
	em_ctx_close(ctx);
}

/* And of readers and what they read. */
static void test_close_reader(void **state)
{
	em_vector_opts vo = EM_VECTOR_OPTS_INIT;
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx *ctx = open_ctx(0);
	em_vector_reader *vr;
	em_vector_writer *w;
	em_deque_reader *r;
	em_vector *v;
	em_deque *d;
	uint64_t i;

	(void)state;
	vo.record_bytes = opts.record_bytes = 8;
	vo.block_bytes = opts.block_bytes = B;
	vo.cache_bytes = 2 * B;
	opts.memory_bytes = 8 * B;
	assert_int_equal(em_vector_open(&v, ctx, &vo), EM_OK);
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	for (i = 0; i < N; i++) {
		assert_int_equal(em_vector_push(v, &i), EM_OK);
		assert_int_equal(em_deque_push_back(d, &i), EM_OK);
	}
	assert_int_equal(em_vector_reader_open(&vr, v, NULL), EM_OK);
	begin(vector_again, v);
	em_vector_reader_close(vr);
	end(1);
	assert_int_equal(em_vector_writer_open(&w, v, NULL), EM_OK);
	begin(vector_again, v);
	em_vector_writer_close(w);
	end(1);
	assert_int_equal(em_deque_reader_open(&r, d, NULL), EM_OK);
	begin(deque_again, d);
	em_deque_reader_close(r);
	end(1);
	assert_int_equal(em_vector_get(v, 1, &i), EM_OK);
	assert_int_equal(i, 1);
	assert_int_equal(em_deque_pop_front(d, &i), EM_OK);
	assert_int_equal(i, 0);
	em_vector_close(v);
	em_deque_close(d);
	em_ctx_close(ctx);
}

/* While one thread waits within a comparison, another one is told. */
typedef struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	int at;                 /* 1: the first is inside, 2: the other one was refused */
	em_sorter *s;
	em_status got[3];
} meeting;

static void wait_for(meeting *m, int at)
{
	pthread_mutex_lock(&m->lock);
	while (m->at < at)
		pthread_cond_wait(&m->moved, &m->lock);
	pthread_mutex_unlock(&m->lock);
}

static void move_to(meeting *m, int at)
{
	pthread_mutex_lock(&m->lock);
	if (m->at < at)
		m->at = at;
	pthread_cond_broadcast(&m->moved);
	pthread_mutex_unlock(&m->lock);
}

static int meet(const void *a, const void *b, void *user)
{
	move_to(user, 1);
	wait_for(user, 2);
	return memcmp(a, b, 8);
}

static void *other(void *arg)
{
	const em_batch *batch;
	meeting *m = arg;

	wait_for(m, 1);
	m->got[0] = em_sorter_push(m->s, "12345678", 1);
	m->got[1] = em_sorter_finish(m->s);
	m->got[2] = em_sorter_next(m->s, &batch);
	move_to(m, 2);
	return NULL;
}

static void test_threads(void **state)
{
	meeting m = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, NULL, { 0, 0, 0 } };
	em_ctx *ctx = open_ctx(EM_CTX_CHECKED);
	const em_batch *batch;
	em_order *order;
	pthread_t thread;
	int i;

	(void)state;
	now.call = NULL;
	assert_int_equal(em_order_cmp(&order, ctx, 8, "own", meet, 0, &m, NULL, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&m.s, ctx, order, NULL), EM_OK);
	assert_int_equal(pthread_create(&thread, NULL, other, &m), 0);
	assert_int_equal(em_sorter_push(m.s, "bbbbbbbbaaaaaaaa", 2), EM_OK);
	assert_int_equal(em_sorter_finish(m.s), EM_OK);
	assert_int_equal(em_sorter_next(m.s, &batch), EM_OK);
	assert_memory_equal(batch->records, "aaaaaaaabbbbbbbb", 16);
	pthread_join(thread, NULL);
	for (i = 0; i < 3; i++)
		assert_int_equal(m.got[i], EM_ERR_BUSY);
	em_sorter_close(m.s);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorter),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_btree),
		cmocka_unit_test(test_pq),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_radix_heap),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_deque),
		cmocka_unit_test(test_close_one_of_pool),
		cmocka_unit_test(test_close_one_of_disks),
		cmocka_unit_test(test_close_reader),
		cmocka_unit_test(test_threads),
	};

	works = pthread_self();
	return cmocka_run_group_tests_name("abi/reentry", tests, NULL, NULL);
}
