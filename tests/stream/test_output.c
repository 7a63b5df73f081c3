/* SPDX-License-Identifier: BSL-1.0 */
/* test_output.c -- outputs as callers outside know them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/output.h>

#include "stream/sink_test.h"

#define BYTES 3000000u

/* Write data in pieces of random length. */
static em_status write_pieces(em_output *o, const char *data, size_t bytes, size_t most)
{
	test_rng rng = test_rng_make(test_seed());
	em_status st = EM_OK;
	size_t at = 0;

	while (at < bytes && st == EM_OK) {
		size_t n = (size_t)test_below(&rng, most + 1);

		n = n < bytes - at ? n : bytes - at;
		st = em_output_write(o, data + at, n);
		at += n;
	}
	return st;
}

static void test_bytes(void **state)
{
	static const size_t sizes[] = { 0, 1, 4096, 100001, BYTES };
	static const size_t most[] = { 1000, 4096, 700000, BYTES };
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(BYTES);
	size_t i, k;
	int direct;

	(void)state;
	for (direct = EM_DIRECT_TRY; direct <= EM_DIRECT_OFF; direct++) {
		em_ctx *ctx = stream_ctx(direct, NULL, NULL, NULL);
		const uint64_t before = em_ctx_memory_used(ctx);

		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (k = 0; k < sizeof(most) / sizeof(most[0]); k++) {
				em_output_opts opts = EM_OUTPUT_OPTS_INIT;
				em_output *o;

				opts.bytes = k % 2 ? sizes[i] : 0;
				assert_int_equal(em_output_open(&o, ctx, path, &opts), EM_OK);
				assert_int_equal(write_pieces(o, data, sizes[i], most[k]), EM_OK);
				assert_int_equal(em_output_commit(o), EM_OK);
				stream_assert_file(path, data, sizes[i]);
				assert_int_equal(em_output_write(o, data, 1), EM_ERR_STATE);
				assert_int_equal(em_output_commit(o), EM_ERR_STATE);
				em_output_close(o);
				/* One that is not committed changes nothing. */
				assert_int_equal(em_output_open(&o, ctx, path, NULL), EM_OK);
				assert_int_equal(write_pieces(o, data + 1, sizes[i] / 2, most[k]), EM_OK);
				em_output_close(o);
				stream_assert_file(path, data, sizes[i]);
				assert_int_equal(sink_entries(dir), 1);
			}
		assert_int_equal(em_ctx_memory_used(ctx), before);
		em_ctx_close(ctx);
	}
	free(data);
	free(path);
	test_dir_remove(dir);
}

static void test_misuse(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_errinfo err;
	em_output *o;

	(void)state;
	memset(&err, 0, sizeof(err));
	opts.errinfo = &err;
	assert_int_equal(em_output_open(NULL, ctx, path, NULL), EM_ERR_INVAL);
	assert_int_equal(em_output_open(&o, NULL, path, &opts), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "ctx"));
	assert_int_equal(em_output_open(&o, ctx, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_output_open(&o, ctx, dir, &opts), EM_ERR_INVAL);
	opts.size = 4;
	assert_int_equal(em_output_open(&o, ctx, path, &opts), EM_ERR_VERSION);
	assert_null(o);
	assert_int_equal(em_output_write(NULL, "", 1), EM_ERR_INVAL);
	assert_int_equal(em_output_commit(NULL), EM_ERR_INVAL);
	em_output_close(NULL);
	assert_int_equal(em_output_open(&o, ctx, path, NULL), EM_OK);
	assert_int_equal(em_output_write(o, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_output_write(o, NULL, 0), EM_OK);
	memset(&err, 1, sizeof(err));
	em_output_error(o, &err);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_string_equal(err.text, "data is NULL");
	em_output_error(NULL, &err);
	assert_int_equal(err.status, EM_OK);
	em_output_error(o, NULL);
	em_output_close(o);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* Every operation fails once: told, and nothing is left; or it is interrupted or short, and nobody notices. */
static void test_failures(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_OPEN, EM_FAULT_RESIZE, EM_FAULT_RESERVE, EM_FAULT_WRITE,
					EM_FAULT_SYNC };
	static const int32_t why[] = { EIO, ENOSPC, EINTR, 0 };
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(BYTES);
	int failures = 0;
	uint64_t nth;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (k = 0; k < sizeof(why) / sizeof(why[0]); k++)
			for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
				em_output_opts opts = EM_OUTPUT_OPTS_INIT;
				em_output *o = NULL;
				em_errinfo err;
				em_fault fault;
				em_status st;
				em_ctx *ctx;

				memset(&err, 0, sizeof(err));
				opts.bytes = BYTES;
				opts.errinfo = &err;
				assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
				fault.ops = ops[i];
				fault.nth = nth;
				fault.sys_errno = why[k];
				ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
				st = em_output_open(&o, ctx, path, &opts);
				if (o) {
					st = write_pieces(o, data, BYTES, 200000);
					if (st == EM_OK)
						st = em_output_commit(o);
					em_output_error(o, &err);
				}
				em_output_close(o);
				em_ctx_close(ctx);
				assert_int_equal(err.status, st);
				if (fault.injected && (why[k] == EIO || why[k] == ENOSPC)) {
					failures++;
					assert_int_equal(st, why[k] == EIO ? EM_ERR_IO : EM_ERR_NOSPACE);
					assert_dir_empty(dir);
					continue;
				}
				assert_int_equal(st, EM_OK);
				stream_assert_file(path, data, BYTES);
				assert_int_equal(unlink(path), 0);
				if (!fault.injected)
					break;
			}
	assert_true(failures >= 10 || !test_sweeps());
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* A child of a fork can do nothing with it but close it. */
static void test_fork(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_output *o;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(em_output_open(&o, ctx, path, NULL), EM_OK);
	assert_int_equal(em_output_write(o, "data", 4), EM_OK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const int bad = em_output_write(o, "x", 1) != EM_ERR_FORK || em_output_commit(o) != EM_ERR_FORK;

		em_output_close(o);
		_exit(bad);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(em_output_commit(o), EM_OK);
	em_output_close(o);
	stream_assert_file(path, "data", 4);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
