/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_large.c -- more records than 32 bits can count in a stack, a queue and a deque: 2^32 + 3 of one byte.
 *
 * Takes a minute, and 4 GiB of disk.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

#define RECORDS ((UINT64_C(1) << 32) + 3)
#define PIECE ((uint64_t)1000003)

static unsigned char piece[PIECE], is[PIECE];

/* The byte at a place: no two neighbouring pieces are the same. */
static void make(unsigned char *bytes, uint64_t at, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		bytes[i] = (unsigned char)((at + i) * 0x9e3779b97f4a7c15u >> 56);
}

static em_ctx *open_ctx(em_container_opts *opts)
{
	const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	*opts = plain;
	opts->record_bytes = 1;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	return ctx;
}

static uint64_t part(uint64_t left)
{
	return left < PIECE ? left : PIECE;
}

static void test_stack(void **state)
{
	em_container_opts opts;
	em_ctx *ctx = open_ctx(&opts);
	uint64_t at, n, moved;
	em_stack *s;

	(void)state;
	assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
	for (at = 0; at < RECORDS; at += n) {
		n = part(RECORDS - at);
		make(piece, at, n);
		assert_int_equal(em_stack_push_many(s, piece, n, &moved), EM_OK);
	}
	assert_int_equal(em_stack_size(s), RECORDS);
	for (at = RECORDS; at != 0; at -= n) {
		n = part(at);
		make(is, at - n, n);
		assert_int_equal(em_stack_pop_many(s, piece, n, &moved), EM_OK);
		assert_int_equal(moved, n);
		assert_memory_equal(piece, is, n);
	}
	assert_int_equal(em_stack_size(s), 0);
	em_stack_close(s);
	em_ctx_close(ctx);
}

static void test_queue(void **state)
{
	em_container_opts opts;
	em_ctx *ctx = open_ctx(&opts);
	uint64_t at, n, moved;
	em_queue *q;

	(void)state;
	assert_int_equal(em_queue_open(&q, ctx, &opts), EM_OK);
	for (at = 0; at < RECORDS; at += n) {
		n = part(RECORDS - at);
		make(piece, at, n);
		assert_int_equal(em_queue_push_many(q, piece, n, &moved), EM_OK);
	}
	assert_int_equal(em_queue_size(q), RECORDS);
	for (at = 0; at < RECORDS; at += n) {
		n = part(RECORDS - at);
		make(is, at, n);
		assert_int_equal(em_queue_pop_many(q, piece, n, &moved), EM_OK);
		assert_int_equal(moved, n);
		assert_memory_equal(piece, is, n);
	}
	assert_int_equal(em_queue_pop(q, piece), EM_NOT_FOUND);
	em_queue_close(q);
	em_ctx_close(ctx);
}

/* It grows at the front; records on either side of 2^32 are looked at. */
static void test_deque(void **state)
{
	static const uint64_t places[] = { 0, 1, (UINT64_C(1) << 31) + 5, UINT32_MAX, UINT64_C(1) << 32, RECORDS - 1 };
	em_container_opts opts;
	em_ctx *ctx = open_ctx(&opts);
	uint64_t at, n, moved;
	unsigned char byte;
	em_deque *d;
	size_t i;

	(void)state;
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	for (at = RECORDS; at != 0; at -= n) {
		n = part(at);
		make(piece, at - n, n);
		assert_int_equal(em_deque_push_front_many(d, piece, n, &moved), EM_OK);
	}
	assert_int_equal(em_deque_size(d), RECORDS);
	for (i = 0; i < sizeof places / sizeof *places; i++) {
		make(is, places[i], 1);
		assert_int_equal(em_deque_get(d, places[i], &byte), EM_OK);
		assert_int_equal(byte, is[0]);
		byte ^= 1;
		assert_int_equal(em_deque_set(d, places[i], &byte), EM_OK);
	}
	assert_int_equal(em_deque_get(d, RECORDS, &byte), EM_ERR_RANGE);
	for (at = 0; at < RECORDS; at += n) {
		n = part(RECORDS - at);
		make(is, at, n);
		for (i = 0; i < sizeof places / sizeof *places; i++)
			if (places[i] >= at && places[i] < at + n)
				is[places[i] - at] ^= 1;
		assert_int_equal(em_deque_pop_front_many(d, piece, n, &moved), EM_OK);
		assert_memory_equal(piece, is, n);
	}
	assert_int_equal(em_deque_size(d), 0);
	em_deque_close(d);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_deque),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
