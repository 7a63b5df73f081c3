/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_transfers.c -- how many blocks vectors and the algorithms on them read and write, and how many reads are
 * under way together.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/cache.h>
#include <extmem/sys/io_stats.h>
#include <extmem/vector_scan.h>

#include "container/held.h"
#include "container/vector_case.h"

enum { BLOCK = 4096, PER = BLOCK / 8 };

static const em_backend *memory(void)
{
	return em_backend_find("memory");
}

static void assert_moved(const vector_case *t, em_vector_stats *before, uint64_t reads, uint64_t writes)
{
	const em_vector_stats now = vector_case_stats(t);

	assert_int_equal(now.reads - before->reads, reads);
	assert_int_equal(now.writes - before->writes, writes);
	*before = now;
}

/* Write what the model has with a writer: then the cache has nothing. */
static void write_past(vector_case *t)
{
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_writer *w;

	/* What is to be written still would be overwritten there. */
	assert_vector_ok(t, em_vector_flush(t->v, 0));
	assert_vector_ok(t, em_vector_writer_open(&w, t->v, &opts));
	assert_vector_ok(t, em_vector_writer_push(w, t->is, t->n));
	assert_vector_ok(t, em_vector_writer_finish(w));
	em_vector_writer_close(w);
}

/* Scans are scan(N); what was not written is not read, and neither is what is overwritten. */
static void test_transfers(void **state)
{
	enum { BLOCKS = 100, N = BLOCKS * BLOCK / 8 };
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_reader *r;
	em_vector_writer *w;
	const em_batch *b;
	em_vector_stats s;
	vector_case t;
	uint64_t i;

	(void)state;
	vector_case_numbers(&t, memory(), N, 8);
	s = vector_case_stats(&t);
	assert_int_equal(s.block_records, BLOCK / 8);
	assert_vector_ok(&t, em_vector_resize(t.v, (uint64_t)1 << 50));
	assert_vector_ok(&t, em_vector_resize(t.v, 100));
	assert_vector_ok(&t, em_vector_resize(t.v, N));
	t.n = N;
	vector_case_check(&t);
	assert_moved(&t, &s, 0, 0);

	/* Sequential overwriting through the cache: each block goes once. */
	vector_case_draw(&t, N);
	for (i = 0; i < N; i += 100)
		assert_vector_ok(&t, em_vector_write(t.v, i, t.buf + i * 8, i + 100 < N ? 100 : N - i));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	vector_case_put(&t, 0, N);
	assert_moved(&t, &s, 0, BLOCKS);
	assert_vector_ok(&t, em_vector_write(t.v, 0, t.buf, N));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	assert_moved(&t, &s, 0, BLOCKS);
	vector_case_check(&t);
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	s = vector_case_stats(&t);
	assert_int_equal(s.blocks_dirty, 0);

	/* A writer writes each once and reads none, a reader reads those that are not in memory. */
	assert_vector_ok(&t, em_vector_writer_open(&w, t.v, &opts));
	assert_vector_ok(&t, em_vector_writer_push(w, t.is, N));
	assert_vector_ok(&t, em_vector_writer_finish(w));
	em_vector_writer_close(w);
	assert_moved(&t, &s, 0, BLOCKS);
	assert_vector_ok(&t, em_vector_reader_open(&r, t.v, NULL));
	while (em_vector_reader_next(r, &b) == EM_OK)
		assert_int_equal(b->n, BLOCK / 8);
	em_vector_reader_close(r);
	assert_moved(&t, &s, BLOCKS, 0);

	/* A range that begins and ends within blocks reads these two. */
	opts.from = 10;
	assert_vector_ok(&t, em_vector_writer_open(&w, t.v, &opts));
	assert_vector_ok(&t, em_vector_writer_push(w, t.is + 80, N - 20));
	assert_vector_ok(&t, em_vector_writer_finish(w));
	em_vector_writer_close(w);
	assert_moved(&t, &s, 2, BLOCKS - 2);
	vector_case_check(&t);
	assert_vector_ok(&t, em_vector_flush(t.v, 0));

	/* Getting makes nothing dirty; cutting off does nothing at all. */
	for (i = 0; i < N; i += 77)
		assert_vector_ok(&t, em_vector_get(t.v, i, t.buf));
	s = vector_case_stats(&t);
	assert_int_equal(s.blocks_dirty, 0);
	assert_vector_ok(&t, em_vector_resize(t.v, 3));
	assert_vector_ok(&t, em_vector_resize(t.v, 0));
	assert_moved(&t, &s, 0, 0);
	t.n = 0;
	vector_case_close(&t);
}

/* Appended one by one, records cost a write per block and no reads. */
static void test_pushed(void **state)
{
	enum { BLOCKS = 50, N = BLOCKS * BLOCK / 8 };
	em_vector_stats s;
	vector_case t;
	uint64_t i;

	(void)state;
	vector_case_numbers(&t, memory(), N, 4);
	s = vector_case_stats(&t);
	for (i = 0; i < N; i++) {
		vector_case_draw(&t, 1);
		assert_vector_ok(&t, em_vector_push(t.v, t.buf));
		vector_case_put(&t, i, 1);
	}
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	assert_moved(&t, &s, 0, BLOCKS);
	vector_case_check(&t);
	vector_case_close(&t);
}

/* Many scattered records are read with many reads under way; a cache that has them reads none. */
static void test_scattered(void **state)
{
	enum { N = 200 * BLOCK / 8, MANY = 500 };
	uint64_t at[MANY], i;
	em_vector_stats s;
	vector_case t;

	(void)state;
	vector_case_numbers(&t, memory(), N, 128);
	vector_case_draw(&t, N);
	assert_vector_ok(&t, em_vector_push_many(t.v, t.buf, N, NULL));
	vector_case_put(&t, 0, N);
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	for (i = 0; i < MANY; i++)
		at[i] = test_below(&t.f.rng, N);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_read_many(t.v, at, MANY, t.buf));
	for (i = 0; i < MANY; i++)
		assert_memory_equal(t.buf + 8 * i, t.is + 8 * at[i], 8);
	assert_true(vector_case_stats(&t).reads - s.reads <= MANY);
	for (i = 0; i < MANY; i++)
		at[i] = 7 * i % 512;
	assert_vector_ok(&t, em_vector_get(t.v, 0, t.buf));
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_read_many(t.v, at, MANY, t.buf));
	assert_moved(&t, &s, 0, 0);
	vector_case_close(&t);
}

/* Reads of records that lie anywhere are under way together, 16 of them or more, whatever the block. */
static void test_many_at_a_time(void **state)
{
	enum { BLOCKS = 400, MANY = 2000 };
	static const struct { uint64_t block, frames; double most;
	} memory_of[] = {
		{BLOCK, 2 * BLOCKS, 64}, {BLOCK, 128, 64}, {BLOCK, 64, 32}, {16 * BLOCK, 128, 64}, {BLOCK, 16, 8}};
	uint64_t at[MANY], got[MANY], i, k;

	(void)state;
	for (k = 0; k < sizeof memory_of / sizeof *memory_of; k++) {
		const uint64_t n = BLOCKS * memory_of[k].block / 8;
		uint64_t reads;
		double average;
		em_vector_stats s;
		vector_case t;
		held h;

		held_init(&h, memory());
		vector_case_open(&t, &h.backend, 8, n);
		t.opts.block_bytes = memory_of[k].block;
		t.opts.cache_bytes = memory_of[k].frames * memory_of[k].block;
		vector_case_make(&t, 0);
		vector_case_draw(&t, n);
		vector_case_put(&t, 0, n);
		write_past(&t);
		for (i = 0; i < MANY; i++)
			at[i] = test_below(&t.f.rng, n);
		s = vector_case_stats(&t);
		held_average(&h, NULL);
		assert_vector_ok(&t, em_vector_read_many(t.v, at, MANY, got));
		for (i = 0; i < MANY; i++)
			assert_memory_equal(&got[i], t.is + 8 * at[i], 8);
		average = held_average(&h, &reads);
		assert_int_equal(reads, vector_case_stats(&t).reads - s.reads);
		print_message("blocks of %u, %u of %u: %.1f of %u reads together\n", (unsigned)memory_of[k].block,
			      (unsigned)memory_of[k].frames, BLOCKS, average, (unsigned)reads);
		assert_true(average <= memory_of[k].most);
		assert_true(average >= (memory_of[k].frames >= 64 ? 16.0 : (double)(memory_of[k].frames / 4)));

		/* As many that lie side by side. */
		write_past(&t);
		held_average(&h, NULL);
		assert_vector_ok(&t, em_vector_read(t.v, 5, t.buf, n - 5));
		assert_memory_equal(t.buf, t.is + 40, (size_t)(n - 5) * 8);
		average = held_average(&h, &reads);
		assert_int_equal(reads, BLOCKS);
		print_message("  side by side %.1f\n", average);
		assert_true(average >= (memory_of[k].frames >= 64 ? 16.0 : (double)(memory_of[k].frames / 4)));
		vector_case_close(&t);
		held_end(&h);
	}
}

/* Algorithms that pass. */

enum { SCAN_BLOCKS = 300, SCAN = SCAN_BLOCKS * PER };

static int see(void *user, uint64_t i, const void *records, uint64_t n)
{
	uint64_t *seen = user;

	(void)i;
	(void)records;
	*seen += n;
	return 0;
}

static int negate(void *user, uint64_t i, void *records, uint64_t n)
{
	uint64_t *x = records;

	(void)user;
	(void)i;
	for (; n != 0; n--, x++)
		*x = ~*x;
	return 0;
}

static int is_none(void *user, const void *record)
{
	(void)user;
	(void)record;
	return 0;
}

static int is_small(void *user, const void *record)
{
	return *(const uint64_t *)record < *(const uint64_t *)user;
}

static void open_scan(vector_case *t, em_order **order)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };

	vector_case_numbers(t, memory(), SCAN + 1000, 64);
	vector_case_draw(t, SCAN);
	vector_case_put(t, 0, SCAN);
	write_past(t);
	assert_int_equal(em_order_keys(order, t->f.ctx, 8, &key, 1, NULL), EM_OK);
}

static void test_scans(void **state)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	uint64_t x = 0, at;
	em_vector_stats s;
	em_vector *other;
	vector_case t, o;
	em_order *order;

	(void)state;
	open_scan(&t, &order);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_for_each(t.v, 0, UINT64_MAX, see, &x));
	assert_int_equal(x, SCAN);
	assert_moved(&t, &s, SCAN_BLOCKS, 0);
	assert_int_equal(em_vector_find(t.v, 0, UINT64_MAX, is_none, NULL, &at), EM_NOT_FOUND);
	assert_moved(&t, &s, SCAN_BLOCKS, 0);
	assert_vector_ok(&t, em_vector_count(t.v, 0, UINT64_MAX, is_none, NULL, &at));
	assert_moved(&t, &s, SCAN_BLOCKS, 0);
	assert_vector_ok(&t, em_vector_for_each(t.v, PER, 7 * PER, see, &x));
	assert_moved(&t, &s, 7, 0);
	assert_vector_ok(&t, em_vector_for_each(t.v, PER - 1, 7 * PER, see, &x));
	assert_moved(&t, &s, 8, 0);
	assert_vector_ok(&t, em_vector_mutate(t.v, 0, UINT64_MAX, negate, NULL));
	assert_moved(&t, &s, SCAN_BLOCKS, SCAN_BLOCKS);
	assert_vector_ok(&t, em_vector_generate(t.v, 0, SCAN, negate, NULL));
	assert_moved(&t, &s, 0, SCAN_BLOCKS);
	assert_vector_ok(&t, em_vector_fill(t.v, PER, 10 * PER, &x));
	assert_moved(&t, &s, 0, 10);
	/* Of blocks at either end other records stay. */
	assert_vector_ok(&t, em_vector_fill(t.v, PER - 1, 10 * PER, &x));
	assert_moved(&t, &s, 2, 9);
	write_past(&t);
	s = vector_case_stats(&t);

	opts.record_bytes = 8;
	opts.block_bytes = BLOCK;
	assert_int_equal(em_vector_open(&other, t.f.ctx, &opts), EM_OK);
	assert_vector_ok(&t, em_vector_copy(other, 0, t.v, 0, UINT64_MAX));
	assert_moved(&t, &s, SCAN_BLOCKS, 0);
	o = t;
	o.v = other;
	memset(&s, 0, sizeof s);
	assert_moved(&o, &s, 0, SCAN_BLOCKS);
	vector_case_check(&o);
	em_vector_close(other);

	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_sort(t.v, 0, UINT64_MAX, order, NULL, NULL));
	assert_moved(&t, &s, SCAN_BLOCKS, SCAN_BLOCKS);
	assert_int_equal(em_vector_find_disorder(t.v, 0, UINT64_MAX, order, &at), EM_NOT_FOUND);
	assert_moved(&t, &s, SCAN_BLOCKS, 0);
	/* log2(300) and one. */
	x = (uint64_t)1 << 63;
	assert_true(em_vector_lower_bound(t.v, 0, UINT64_MAX, order, &x, &at) >= EM_OK);
	assert_true(at > SCAN * 9 / 20 && at < SCAN * 11 / 20);
	assert_true(vector_case_stats(&t).reads - s.reads <= 10);
	write_past(&t);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_shuffle(t.v, 0, UINT64_MAX, 1, NULL));
	assert_moved(&t, &s, SCAN_BLOCKS, SCAN_BLOCKS);
	em_order_close(order);
	vector_case_close(&t);
}

/* In place: a block is read once and written once, but for those that two sections meet in. */
static void test_in_place(void **state)
{
	const uint64_t more = SCAN_BLOCKS / 10, half = (uint64_t)1 << 63;
	em_vector_stats s, now;
	uint64_t middle, i;
	em_order *order;
	vector_case t;

	(void)state;
	open_scan(&t, &order);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_reverse(t.v, 0, UINT64_MAX));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	now = vector_case_stats(&t);
	assert_in_range(now.reads - s.reads, SCAN_BLOCKS, SCAN_BLOCKS + more);
	assert_in_range(now.writes - s.writes, SCAN_BLOCKS, SCAN_BLOCKS + more);
	write_past(&t);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_reverse(t.v, 17, SCAN - 100));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	now = vector_case_stats(&t);
	assert_in_range(now.reads - s.reads, SCAN_BLOCKS, SCAN_BLOCKS + more);
	assert_in_range(now.writes - s.writes, SCAN_BLOCKS, SCAN_BLOCKS + more);
	write_past(&t);
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_partition(t.v, 0, UINT64_MAX, is_small, (void *)(uintptr_t)&half, &middle));
	assert_vector_ok(&t, em_vector_flush(t.v, 0));
	now = vector_case_stats(&t);
	assert_in_range(now.reads - s.reads, SCAN_BLOCKS, SCAN_BLOCKS + more);
	assert_in_range(now.writes - s.writes, SCAN_BLOCKS, SCAN_BLOCKS + more);
	/* Where nothing has to change, nothing does. */
	s = vector_case_stats(&t);
	assert_vector_ok(&t, em_vector_partition(t.v, 0, UINT64_MAX, is_small, (void *)(uintptr_t)&half, &i));
	assert_int_equal(i, middle);
	now = vector_case_stats(&t);
	assert_int_equal(now.writes - s.writes, 0);
	em_order_close(order);
	vector_case_close(&t);
}

/* The k-th record costs at most four scans on average, whichever it is, those of its sort included. */
static void test_nth_element(void **state)
{
	enum { TRIES = 40, BLOCKS = 600, N = BLOCKS * PER };
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_io_stats before = EM_IO_STATS_INIT, now;
	double sum = 0, most = 0;
	em_order *order;
	vector_case t;
	unsigned k;

	(void)state;
	vector_case_numbers(&t, memory(), N, 64);
	assert_int_equal(em_order_keys(&order, t.f.ctx, 8, &key, 1, NULL), EM_OK);
	for (k = 0; k < TRIES; k++) {
		const uint64_t at = k % 8 < 2 ? (k % 2) * (N - 1) : test_below(&t.f.rng, N);
		uint64_t x, smaller = 0, equal = 0, i;
		double scans;

		vector_case_draw(&t, N);
		vector_case_put(&t, 0, N);
		write_past(&t);
		assert_int_equal(em_ctx_io_stats_get(t.f.ctx, &before), EM_OK);
		now = before;
		assert_vector_ok(&t, em_vector_nth_element(t.v, 0, UINT64_MAX, at, order));
		assert_vector_ok(&t, em_vector_flush(t.v, 0));
		assert_int_equal(em_ctx_io_stats_get(t.f.ctx, &now), EM_OK);
		em_io_stats_since(&now, &before);
		assert_vector_ok(&t, em_vector_get(t.v, at, &x));
		for (i = 0; i < N; i++) {
			uint64_t y;

			memcpy(&y, t.is + 8 * i, 8);
			smaller += y < x;
			equal += y == x;
		}
		assert_true(smaller <= at && at < smaller + equal);
		scans = (double)(now.bytes_read + now.bytes_written) / (BLOCKS * BLOCK);
		sum += scans;
		most = scans > most ? scans : most;
	}
	print_message("%.2f scans on average, %.2f at most\n", sum / TRIES, most);
	assert_true(sum / TRIES < 4);
	em_order_close(order);
	vector_case_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transfers),
		cmocka_unit_test(test_pushed),
		cmocka_unit_test(test_scattered),
		cmocka_unit_test(test_many_at_a_time),
		cmocka_unit_test(test_scans),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_nth_element),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
