/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_end.c -- where blocks of sorted records of any length end: none holds more than it has room for, but for a
 * record that is longer alone, and none is ended while the next record fits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sort/block_vary.h"
#include "sort/store_bench.h"

/* What is in order is cut into pieces of so many records, each of which has blocks of its own. */
enum { PIECE = 256, PIECES = 12 };

/* The destination of the bench, and what is seen of blocks on their way to it. */
static struct {
	em_status (*put)(void *arg, emi_outblock *block, em_errinfo *err);
	uint64_t limit;         /* bytes of records or frames */
	uint64_t full;          /* blocks that hold just as many */
	uint64_t alone;         /* blocks of one record that is longer */
} seen;

static uint64_t bytes_in(const bench *b, const emi_outblock *block)
{
	const unsigned char *base = (const unsigned char *)block->buf.base + block->buf.lead;

	return b->dest.text ? block->buf.len : emi_block_get_head(base)->end - (uint64_t)(emi_block_first(base) - base);
}

static em_status put(void *arg, emi_outblock *block, em_errinfo *err)
{
	const uint64_t bytes = bytes_in(arg, block);

	if (bytes > seen.limit)
		assert_int_equal(block->records, 1);
	seen.full += bytes == seen.limit;
	seen.alone += bytes > seen.limit;
	return seen.put(arg, block, err);
}

static uint64_t limit_of(const bench *b, int text)
{
	return text ? b->job.plan.block_bytes : emi_block_room(b->job.plan.block_bytes);
}

/* Send all that is in b->in, and look at the blocks. */
static void send_all(bench *b, int text)
{
	lines sorted = bench_sorted(b, 0, b->in.n);
	uint64_t records;
	em_errinfo err;

	if (seen.put == NULL)
		seen.put = b->dest.put;
	b->dest.put = put;
	seen.limit = limit_of(b, text);
	seen.full = seen.alone = 0;
	bench_add_all(b);
	assert_int_equal(bench_send(b, text, &records, &err), EM_OK);
	assert_true(records == b->in.n);
	bench_assert_got(b, &sorted);
	lines_free(&sorted);
}

/* What a record of n bytes takes. */
static uint64_t size_of(const bench *b, int text, size_t n)
{
	static const unsigned char zeros[8192];
	size_t need;

	assert_true(n <= sizeof zeros);
	if (text)
		return n + b->job.out_extra;
	emi_frame_make(emi_order_vary(b->order), zeros, n, NULL, 0, &need);
	return need;
}

/* The shortest record that takes so many bytes, or more. */
static size_t length_for(const bench *b, int text, uint64_t bytes)
{
	size_t n = 0;

	while (size_of(b, text, n) < bytes)
		n++;
	return n;
}

/* The i-th record of all in order. */
static void add(bench *b, unsigned i, size_t n)
{
	char record[8192];

	assert_true(n >= 8 && n < sizeof record);
	memset(record, 'x', n);
	snprintf(record, sizeof record, "%08u", i);
	record[8] = 'x';
	lines_add(&b->in, record, n);
}

/* Pieces that take just what a block has room for; or `more' than that. */
static void fill_pieces(bench *b, int text, int more)
{
	const uint64_t limit = limit_of(b, text);
	const size_t usual = length_for(b, text, limit / PIECE - 8);
	size_t last = length_for(b, text, limit - (PIECE - 1) * size_of(b, text, usual));
	unsigned i;

	if (more)
		last = length_for(b, text, size_of(b, text, last) + 1);
	else
		assert_true((PIECE - 1) * size_of(b, text, usual) + size_of(b, text, last) == limit);
	for (i = 0; i < PIECE * PIECES; i++)
		add(b, i, i % PIECE == PIECE - 1 ? last : usual);
}

/* A piece that fits is a block, and one that is a byte too long is two. */
static void test_exact(void **state)
{
	uint32_t threads;
	int text, more;

	(void)state;
	for (threads = 1; threads <= 4; threads += 3) {
		for (text = 0; text < 2; text++) {
			for (more = 0; more < 2; more++) {
				bench b;

				bench_open(&b, 0, 0, threads, NULL);
				fill_pieces(&b, text, more);
				send_all(&b, text);
				assert_int_equal(b.blocks, more ? 2 * PIECES : PIECES);
				assert_int_equal(seen.full, more ? 0 : PIECES);
				assert_int_equal(seen.alone, 0);
				bench_close(&b);
			}
		}
	}
}

/* Records of all lengths, some of which are longer than a block. */
static void test_any(void **state)
{
	static unsigned char record[40000];
	unsigned round;

	(void)state;
	for (round = 0; round < 12; round++) {
		uint64_t longer = 0;
		size_t i, k, n;
		bench b;

		bench_open(&b, (int)round % LINES_ORDERS, 0, 1 + round % 4, NULL);
		for (i = 0; i < 1500; i++) {
			n = (size_t)test_below(&b.rng, round % 3 == 0 ? 60 : 3000);
			if (i % 300 == 7)
				n = 16384 + (size_t)test_below(&b.rng, 20000);
			longer += n > 16384;
			for (k = 0; k < n; k++)
				record[k] = (unsigned char)('a' + test_below(&b.rng, 26));
			lines_add(&b.in, record, n);
		}
		send_all(&b, (int)round / 2 % 2);
		assert_true(seen.alone >= longer);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests_name("block_end", tests, NULL, NULL);
}
