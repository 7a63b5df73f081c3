/* SPDX-License-Identifier: BSL-1.0 */
/* test_sink_expect.c -- outputs whose space is reserved at once, or step by step. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "base/memory.h"
#include "stream/sink.h"
#include "stream/stream_test.h"

#define CHUNK 10000u
#define CHUNKS 30u

typedef struct fixture {
	char *dir, *path;
	char *base;             /* of the buffer that is put */
	char *data;
	em_fault fault;
	em_ctx *ctx;
	em_errinfo err;
	unsigned asked;         /* how often room was asked for */
	int gives;              /* it is made */
} fixture;

static void set_up(fixture *x, uint64_t nth, uint64_t times)
{
	size_t i;

	memset(x, 0, sizeof *x);
	x->dir = test_dir_make();
	x->path = test_path(x->dir, "out");
	x->data = malloc(CHUNK * CHUNKS);
	assert_non_null(x->data);
	for (i = 0; i < CHUNK * CHUNKS; i++)
		x->data[i] = (char)(i * 31 >> 3);
	assert_int_equal(posix_memalign((void **)&x->base, EMI_PAGE, CHUNK + 2 * EMI_PAGE), 0);
	em_fault_init(&x->fault, em_backend_find("syscall"));
	x->fault.ops = EM_FAULT_RESERVE;
	x->fault.nth = nth;
	x->fault.times = times;
	x->fault.sys_errno = ENOSPC;
	x->ctx = stream_ctx(EM_DIRECT_TRY, NULL, &x->fault, NULL);
}

static void tear_down(fixture *x)
{
	em_ctx_close(x->ctx);
	free(x->base);
	free(x->data);
	free(x->path);
	test_dir_remove(x->dir);
}

static int make_room(void *arg)
{
	fixture *x = arg;

	x->asked++;
	if (x->gives)
		x->fault.times = 0;
	return x->gives;
}

/* Write all there is, having announced so many bytes. */
static em_status write_all(fixture *x, uint64_t bytes, uint64_t step)
{
	em_status st;
	emi_sink *s;
	size_t at;

	assert_int_equal(emi_sink_open(&s, x->ctx, x->path, 0, NULL, &x->err), EM_OK);
	assert_true(emi_sink_is_on(s, x->dir));
	assert_false(emi_sink_is_on(s, "/proc"));
	st = emi_sink_expect(s, bytes, step, make_room, x, &x->err);
	for (at = 0; at < CHUNK * CHUNKS && st == EM_OK; at += CHUNK) {
		emi_outbuf ob;

		memset(&ob, 0, sizeof ob);
		ob.base = x->base;
		ob.lead = emi_sink_lead(s, at);
		ob.len = CHUNK;
		memcpy(ob.base + ob.lead, x->data + at, CHUNK);
		st = emi_sink_put(s, &ob, &x->err);
		if (st == EM_OK)
			st = emi_wait(&ob.rq, &x->err);
		else
			assert_int_equal(emi_sink_put(s, &ob, NULL), st);
	}
	if (st == EM_OK)
		st = emi_sink_commit(s, &x->err);
	emi_sink_close(s);
	if (st == EM_OK)
		stream_assert_file(x->path, x->data, CHUNK * CHUNKS);
	return st;
}

/* As many reservations as there are steps, and no more than was announced, be it too much or too little. */
static void test_steps(void **state)
{
	static const struct {
		uint64_t bytes, step, count;
	} ways[] = {
		{ CHUNK * CHUNKS, 0, 1 },
		{ 0, 0, 0 },
		{ 0, CHUNK, 0 },
		{ CHUNK * CHUNKS, CHUNK, CHUNKS },
		{ CHUNK * CHUNKS, 3 * CHUNK, CHUNKS / 3 },
		{ CHUNK * CHUNKS, 1, CHUNKS },
		{ CHUNK * CHUNKS, UINT64_MAX / 4, 1 },
		{ 2 * CHUNK + 5, CHUNK, 3 },
		{ 2 * CHUNK * CHUNKS, CHUNK * CHUNKS, 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		fixture x;

		set_up(&x, 0, 0);
		assert_int_equal(write_all(&x, ways[i].bytes, ways[i].step), EM_OK);
		assert_int_equal(x.fault.count, ways[i].count);
		assert_int_equal(x.asked, 0);
		tear_down(&x);
	}
}

/* Room is asked for; without it, what is put next suffices; without that it fails, and goes on to fail. */
static void test_no_space(void **state)
{
	fixture x;

	(void)state;
	set_up(&x, 4, UINT64_MAX);
	x.gives = 1;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_OK);
	assert_int_equal(x.asked, 1);
	assert_int_equal(x.fault.count, CHUNKS / 2 + 1);
	tear_down(&x);

	set_up(&x, 4, 1);
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_OK);
	assert_int_equal(x.asked, 1);
	tear_down(&x);

	set_up(&x, 4, UINT64_MAX);
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_ERR_NOSPACE);
	assert_int_equal(x.asked, 1);
	assert_int_equal(x.err.sys_errno, ENOSPC);
	assert_string_equal(x.err.op, "reserve");
	assert_dir_empty(x.dir);
	tear_down(&x);

	/* At once is at once. */
	set_up(&x, 1, UINT64_MAX);
	x.gives = 1;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 0), EM_ERR_NOSPACE);
	assert_int_equal(x.asked, 0);
	tear_down(&x);

	/* What is no lack of space is no reason to ask. */
	set_up(&x, 2, 1);
	x.fault.sys_errno = EIO;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, CHUNK), EM_ERR_IO);
	assert_int_equal(x.asked, 0);
	tear_down(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_no_space),
	};

	return cmocka_run_group_tests_name("stream/sink_expect", tests, NULL, NULL);
}
