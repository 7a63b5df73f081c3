/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_request.c -- transfers that come in pieces.
 *
 * The backend here moves a random number of bytes at a time, fails in between with EINTR and EAGAIN, and says that it
 * is direct, when it refuses what is not aligned; or does worse.
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
#include <stdlib.h>
#include <string.h>

#include "io/io_test.h"

enum { PAGE = 4096, SIZE = 64 * PAGE };

/* Used by one thread at a time: all transfers are waited for at once. */
typedef struct ragged {
	em_backend be;
	test_rng rng;
	char data[SIZE + PAGE];
	uint64_t size;
	int direct;
	int64_t answer;         /* not 0: what every transfer returns */
	uint64_t calls, unaligned;
} ragged;

static int ragged_open(void *user, em_backend_open *how)
{
	ragged *r = user;

	how->handle = r;
	how->direct = r->direct;
	return 0;
}

static void ragged_close(void *handle, int forked)
{
	(void)handle;
	(void)forked;
}

static int ragged_get_size(void *handle, uint64_t *bytes)
{
	*bytes = ((ragged *)handle)->size;
	return 0;
}

static int ragged_set_size(void *handle, uint64_t bytes)
{
	((ragged *)handle)->size = bytes;
	return 0;
}

/* How many bytes to move, or a negative errno. */
static int64_t amount(ragged *r, const void *buf, size_t bytes, uint64_t offset)
{
	r->calls++;
	if (r->direct && ((uintptr_t)buf % PAGE || bytes % PAGE || offset % PAGE)) {
		r->unaligned++;
		return -EINVAL;
	}
	if (r->answer)
		return r->answer;
	switch (test_below(&r->rng, 8)) {
	case 0:
		return -EINTR;
	case 1:
		return r->calls % 16 ? -EINTR : -EAGAIN;
	case 2:
		return (int64_t)bytes;
	default:
		return 1 + (int64_t)test_below(&r->rng, bytes);
	}
}

static int64_t ragged_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	ragged *r = handle;
	int64_t n;

	if (offset >= r->size)
		return 0;
	n = amount(r, buf, bytes, offset);
	if (n <= 0 || r->answer)
		return n;
	if ((uint64_t)n > r->size - offset)
		n = (int64_t)(r->size - offset);
	memcpy(buf, r->data + offset, (size_t)n);
	return n;
}

static int64_t ragged_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	ragged *r = handle;
	int64_t n = amount(r, buf, bytes, offset);

	if (n <= 0 || r->answer)
		return n;
	memcpy(r->data + offset, buf, (size_t)n);
	if (r->size < offset + (uint64_t)n)
		r->size = offset + (uint64_t)n;
	return n;
}

static em_file *ragged_make(ragged **out, em_ctx **ctx, int direct)
{
	ragged *r = calloc(1, sizeof *r);
	io_setup setup = {0};

	assert_non_null(r);
	r->be.size = sizeof r->be;
	r->be.name = "ragged";
	r->be.threads = 1;
	r->be.user = r;
	r->be.open = ragged_open;
	r->be.close = ragged_close;
	r->be.get_size = ragged_get_size;
	r->be.set_size = ragged_set_size;
	r->be.read = ragged_read;
	r->be.write = ragged_write;
	r->rng = test_rng_make(test_seed());
	r->direct = direct;
	setup.custom = &r->be;
	*ctx = io_ctx(&setup);
	*out = r;
	return io_open(*ctx, "ragged", EMI_OPEN_WRITE);
}

static void test_pieces(void **state)
{
	int direct;

	(void)state;
	for (direct = 0; direct < 2; direct++) {
		test_rng rng = test_rng_make(test_seed());
		char *model = io_buffer(&rng, SIZE), *buf = io_buffer(&rng, SIZE);
		uint64_t unit = direct ? PAGE : 1, i;
		emi_io_stats stats;
		em_ctx *ctx;
		ragged *r;
		em_file *f = ragged_make(&r, &ctx, direct);

		memset(&stats, 0, sizeof stats);
		assert_int_equal(io_write(f, model, SIZE, 0, NULL), EM_OK);
		for (i = 0; i < 300; i++) {
			uint64_t at = test_below(&rng, SIZE / unit) * unit;
			size_t bytes = (size_t)((1 + test_below(&rng, (SIZE - at) / unit)) * unit);
			emi_request rq;

			memset(&rq, 0, sizeof rq);
			if (i % 2) {
				test_fill(&rng, buf, bytes);
				memcpy(model + at, buf, bytes);
				emi_write(f, &rq, buf, bytes, at, &stats);
			} else {
				emi_read(f, &rq, buf, bytes, at, &stats);
			}
			assert_int_equal(emi_wait(&rq, NULL), EM_OK);
			assert_int_equal(rq.done, bytes);
			assert_memory_equal(buf, model + at, bytes);
		}
		/* Requests are counted, not pieces. */
		assert_int_equal(stats.ios_read, 150);
		assert_int_equal(stats.ios_written, 150);
		assert_true(r->calls > 400);
		assert_int_equal(r->unaligned, 0);
		emi_file_close(f);
		em_ctx_close(ctx);
		free(model);
		free(buf);
		free(r);
	}
}

/* The end may be anywhere, also of a direct file. */
static void test_end(void **state)
{
	int direct;

	(void)state;
	for (direct = 0; direct < 2; direct++) {
		test_rng rng = test_rng_make(test_seed());
		char *buf = io_buffer(&rng, SIZE);
		em_ctx *ctx;
		ragged *r;
		em_file *f = ragged_make(&r, &ctx, direct);
		unsigned i;

		test_fill(&rng, r->data, SIZE);
		for (i = 0; i < 200; i++) {
			uint64_t at = test_below(&rng, 8) * PAGE;
			emi_request rq;

			memset(&rq, 0, sizeof rq);
			r->size = at + test_below(&rng, SIZE - at);
			emi_read(f, &rq, buf, SIZE, at, NULL);
			assert_int_equal(emi_wait(&rq, NULL), EM_OK);
			assert_int_equal(rq.done, r->size - at);
			assert_memory_equal(buf, r->data + at, rq.done);
		}
		assert_int_equal(r->unaligned, 0);
		emi_file_close(f);
		em_ctx_close(ctx);
		free(buf);
		free(r);
	}
}

/* What a backend should not do is an error, neither a loop nor a crash. */
static void test_nonsense(void **state)
{
	static const struct {
		int64_t answer;
		int write, sys_errno;
	} given[] = {
		{PAGE + 1, 0, EIO}, {PAGE + 1, 1, EIO}, {INT64_MAX, 0, EIO}, {INT64_MIN, 1, EIO}, {-ENOSPC, 1, ENOSPC},
		{-EINTR, 0, EINTR},
	};
	test_rng rng = test_rng_make(test_seed());
	char *buf = io_buffer(&rng, PAGE);
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof given / sizeof *given; i++) {
		em_errinfo err;
		em_ctx *ctx;
		ragged *r;
		em_file *f = ragged_make(&r, &ctx, 0);
		em_status st;

		memset(&err, 0, sizeof err);
		r->answer = given[i].answer;
		r->size = SIZE;
		st = given[i].write ? io_write(f, buf, PAGE, PAGE, &err) : io_read(f, buf, PAGE, PAGE, &err);
		assert_int_equal(st, given[i].sys_errno == ENOSPC ? EM_ERR_NOSPACE : EM_ERR_IO);
		assert_int_equal(err.sys_errno, given[i].sys_errno);
		assert_int_equal(err.offset, PAGE);
		assert_string_equal(err.op, given[i].write ? "write" : "read");
		emi_file_close(f);
		em_ctx_close(ctx);
		free(r);
	}
	free(buf);
}

/* A failure is told once, by the wait that collects it, and the first detail is kept. */
static void test_told_once(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *buf = io_buffer(&rng, PAGE);
	em_errinfo err;
	emi_request rq;
	em_ctx *ctx;
	ragged *r;
	em_file *f = ragged_make(&r, &ctx, 0);

	(void)state;
	memset(&err, 0, sizeof err);
	memset(&rq, 0, sizeof rq);
	r->answer = -EIO;
	emi_write(f, &rq, buf, 100, 5, NULL);
	while (!emi_wait_for(&rq, 10))
		continue;
	assert_true(emi_done(&rq));
	assert_int_equal(emi_wait(&rq, &err), EM_ERR_IO);
	assert_int_equal(err.offset, 5);
	assert_int_equal(err.bytes, 100);
	emi_write(f, &rq, buf, 100, 6, NULL);
	assert_int_equal(emi_wait(&rq, &err), EM_ERR_IO);
	assert_int_equal(err.offset, 5);
	r->answer = 0;
	emi_file_close(f);
	em_ctx_close(ctx);
	free(r);
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_told_once),
	};

	return cmocka_run_group_tests_name("io/request", tests, NULL, NULL);
}
