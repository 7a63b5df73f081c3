/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_large.c -- more records than 32 bits can count in a vector: 2^32 + 3 of one byte.
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

static unsigned char byte_at(uint64_t i)
{
	return (unsigned char)(i * 0x9e3779b97f4a7c15u >> 56);
}

static void fill(em_vector *v)
{
	em_vector_stream_opts o = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_writer *w;
	uint64_t at, n, i;
	void *room;

	assert_int_equal(em_vector_writer_open(&w, v, &o), EM_OK);
	for (at = 0; at < RECORDS; at += n) {
		assert_int_equal(em_vector_writer_lend(w, &room, &n), EM_OK);
		n = n < RECORDS - at ? n : RECORDS - at;
		for (i = 0; i < n; i++)
			((unsigned char *)room)[i] = byte_at(at + i);
		assert_int_equal(em_vector_writer_took(w, n), EM_OK);
	}
	assert_int_equal(em_vector_writer_finish(w), EM_OK);
	em_vector_writer_close(w);
}

static void check(em_vector *v, uint32_t direction, const uint64_t *changed, size_t changes)
{
	em_vector_stream_opts o = EM_VECTOR_STREAM_OPTS_INIT;
	uint64_t at = direction == EM_VECTOR_REVERSE ? RECORDS : 0, wrong = 0, i;
	em_vector_reader *r;
	const em_batch *b;
	em_status st;
	size_t k;

	o.direction = direction;
	assert_int_equal(em_vector_reader_open(&r, v, &o), EM_OK);
	while ((st = em_vector_reader_next(r, &b)) == EM_OK) {
		const unsigned char *bytes = b->records;

		at -= direction == EM_VECTOR_REVERSE ? b->n : 0;
		for (i = 0; i < b->n; i++)
			wrong += bytes[i] != byte_at(at + i);
		for (k = 0; k < changes; k++)
			if (changed[k] >= at && changed[k] < at + b->n)
				wrong -= bytes[changed[k] - at] == (unsigned char)(byte_at(changed[k]) ^ 1);
		at += direction == EM_VECTOR_REVERSE ? 0 : b->n;
	}
	assert_int_equal(st, EM_END);
	assert_int_equal(at, direction == EM_VECTOR_REVERSE ? 0 : RECORDS);
	assert_int_equal(wrong, 0);
	em_vector_reader_close(r);
}

static void test_large(void **state)
{
	static const uint64_t places[] = { 0, (UINT64_C(1) << 31) + 5, UINT32_MAX, UINT64_C(1) << 32, RECORDS - 1 };
	enum { PLACES = sizeof places / sizeof *places };
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	unsigned char got[PLACES], byte;
	em_vector *v;
	em_ctx *ctx;
	size_t i;

	(void)state;
	opts.record_bytes = 1;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	assert_int_equal(em_vector_open(&v, ctx, &opts), EM_OK);
	assert_int_equal(em_vector_resize(v, RECORDS - 1), EM_OK);
	fill(v);
	assert_int_equal(em_vector_size(v), RECORDS);
	for (i = 0; i < PLACES; i++) {
		assert_int_equal(em_vector_get(v, places[i], &byte), EM_OK);
		assert_int_equal(byte, byte_at(places[i]));
		byte ^= 1;
		assert_int_equal(em_vector_set(v, places[i], &byte), EM_OK);
	}
	assert_int_equal(em_vector_read_many(v, places, PLACES, got), EM_OK);
	for (i = 0; i < PLACES; i++)
		assert_int_equal(got[i], (unsigned char)(byte_at(places[i]) ^ 1));
	assert_int_equal(em_vector_get(v, RECORDS, &byte), EM_ERR_RANGE);
	check(v, EM_VECTOR_FORWARD, places, PLACES);
	check(v, EM_VECTOR_REVERSE, places, PLACES);
	em_vector_close(v);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
