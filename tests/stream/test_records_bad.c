/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_records_bad.c -- readers of records that are cut off or too long, and operations and allocations that fail.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/records_model.h"

/* A prefix that says more than any file has. */
static void test_huge_prefix(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	uint64_t longest[] = { 100, UINT64_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		consumer c;
		model m;

		model_init(&m, prefixed(8, EM_FORMAT_BIG_ENDIAN), longest[i]);
		model_add(&m, dir, calloc(1, 20), 20);
		memset(m.data[0], 0xff, 20);
		put_prefix(&m.format, m.data[0], 2);
		put_prefix(&m.format, m.data[0] + 10, (uint64_t)1 << 61);
		stream_write_file(m.path[0], m.data[0], 20);
		model_judge(&m);
		assert_int_equal(m.bad_number, 2);
		assert_int_equal(m.bad_short, i == 1);
		records_run(ctx, &m, PAGE, 2, 1, &rng);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(emi_records_bytes(c.r), 20);
		consumer_close(&c);
		model_free(&m);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A record that ends nowhere: cut off at each byte of its prefix, and of itself. */
static void test_cut_records(void **state)
{
	static const size_t length[] = { 7, 3 };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	uint32_t width;
	size_t cut;

	(void)state;
	for (width = 1; width <= 8; width *= 2)
		for (cut = 0; cut <= width + 3; cut++) {
			const em_format f = prefixed(width, 0);
			size_t bytes;
			model m;

			model_init(&m, f, 10);
			model_add(&m, dir, make_records(&rng, &f, length, 2, &bytes), 0);
			m.bytes[0] = bytes - cut;
			stream_write_file(m.path[0], m.data[0], bytes - cut);
			model_judge(&m);
			assert_int_equal(m.bad_file, cut == 0 || cut == width + 3);
			records_run(ctx, &m, PAGE, 2, 1, &rng);
			records_run_with_stdin(ctx, &m, 0, 1, PAGE, 2, 1, &rng);
			model_free(&m);
		}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A long one that comes through a pipe, so that nobody knows that it is cut off, and one that does not. */
static void test_cut_long_record(void **state)
{
	static const size_t length[] = { 7, 9000 };
	const em_format f = prefixed(4, EM_FORMAT_BIG_ENDIAN);
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t bytes;
	int piped;
	model m;

	(void)state;
	model_init(&m, f, 9000);
	model_add(&m, dir, make_records(&rng, &f, length, 2, &bytes), 0);
	m.bytes[0] = bytes - 1;
	stream_write_file(m.path[0], m.data[0], bytes - 1);
	model_judge(&m);
	assert_int_equal(m.bad_number, 2);
	for (piped = 0; piped < 2; piped++)
		records_run_with_stdin(ctx, &m, 0, piped, PAGE, 2, 1, &rng);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A bad line far behind good ones is found there, and the good ones come out before: the reader does not keep the
 * file. */
static void test_far_line(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t length[3000], i, bytes;
	consumer c;
	model m;

	(void)state;
	for (i = 0; i < 3000; i++)
		length[i] = (size_t)test_below(&rng, 200);
	length[2500] = 20001;
	model_init(&m, lines_by('\n'), 20000);
	model_add(&m, dir, make_records(&rng, &m.format, length, 3000, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	assert_int_equal(m.bad_number, 2501);
	assert_int_equal(consumer_open(&c, ctx, &m, 2 * PAGE, 4, 3, &rng), EM_OK);
	consumer_check_outcome(&c, consumer_run(&c));
	assert_true(c.at > 2300 * 60);
	consumer_close(&c);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Four files with short and long records. */
static void make_mixed(test_rng *rng, model *m, const char *dir)
{
	size_t length[60], i, bytes;

	model_init(m, lines_by('\n'), 30000);
	while (m->n < 4) {
		for (i = 0; i < 60; i++)
			length[i] = (size_t)test_below(rng, i % 20 == 3 ? 30001 : 300);
		model_add(m, dir, make_records(rng, &m->format, length, m->n == 2 ? 3 : 60, &bytes), 0);
		m->bytes[m->n - 1] = bytes - 1;
		stream_write_file(m->path[m->n - 1], m->data[m->n - 1], bytes - 1);
	}
	model_judge(m);
	assert_int_equal(m->bad_file, m->n);
}

/* What is done again and again. */
typedef struct reading {
	const model *m;
	test_rng rng;
} reading;

static em_status read_all(void *arg, em_ctx *ctx, em_errinfo *err)
{
	reading *r = arg;
	em_status st;
	consumer c;

	st = consumer_open(&c, ctx, r->m, 2 * PAGE, 3, 2, &r->rng);
	if (st == EM_OK)
		st = consumer_run(&c);
	*err = c.err;
	consumer_close(&c);
	return st;
}

/* Each operation fails once. */
static void test_failing_reads(void **state)
{
	char *dir = test_dir_make();
	reading r;
	model m;

	(void)state;
	r.m = &m;
	r.rng = test_rng_make(test_seed());
	make_mixed(&r.rng, &m, dir);
	assert_true(stream_fail_reads(read_all, &r, EM_END, EIO, dir) > 8 || !test_sweeps());
	assert_int_equal(stream_fail_reads(read_all, &r, EM_END, 0, dir), 0);
	model_free(&m);
	test_dir_remove(dir);
}

/* Each file is opened once, whatever else is open. */
static void test_opened_once(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_fault fault;
	em_ctx *ctx;
	model m;

	(void)state;
	make_mixed(&rng, &m, dir);
	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	fault.ops = EM_FAULT_OPEN;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_non_null(ctx);
	/* Nothing is being read when both buffers are with the consumer. */
	records_run(ctx, &m, PAGE, 2, 2, &rng);
	assert_int_equal(fault.count, m.n);
	em_ctx_close(ctx);
	model_free(&m);
	test_dir_remove(dir);
}

/* Each allocation fails once. */
static void test_failing_memory(void **state)
{
	char *dir = test_dir_make();
	reading r;
	model m;

	(void)state;
	r.m = &m;
	r.rng = test_rng_make(test_seed());
	make_mixed(&r.rng, &m, dir);
	assert_true(stream_fail_memory(read_all, &r, EM_END) > 10 || !test_sweeps());
	model_free(&m);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_huge_prefix),
		cmocka_unit_test(test_cut_records),
		cmocka_unit_test(test_cut_long_record),
		cmocka_unit_test(test_far_line),
		cmocka_unit_test(test_failing_reads),
		cmocka_unit_test(test_opened_once),
		cmocka_unit_test(test_failing_memory),
	};

	/* A reader that failed leaves pipes whose writers are not done. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("records_bad", tests, NULL, NULL);
}
