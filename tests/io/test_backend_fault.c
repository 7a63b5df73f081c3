/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_fault.c -- every operation fails once: what comes out, and what is survived.
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

#include <extmem/sys/fault.h>

#include "io/io_test.h"

static em_ctx *fault_ctx(const em_fault *fault, int32_t direct)
{
	io_setup setup = {0};

	setup.custom = em_fault_backend(fault);
	setup.direct = direct;
	return io_ctx(&setup);
}

/* All operations of a short life, in a fixed order: the status of the first that failed. */
static em_status life(em_ctx *ctx, const char *dir, char *page, em_errinfo *err)
{
	uint64_t size = 0;
	em_file *f = NULL;
	em_status st = emi_file_open(&f, ctx, dir, EMI_OPEN_TEMP, err);

	if (st != EM_OK) {
		assert_null(f);
		return st;
	}
	st = emi_file_reserve(f, 0, 3 * 4096, err);
	if (st == EM_OK)
		st = io_write(f, page, 4096, 4096, err);
	if (st == EM_OK)
		st = io_read(f, page, 4096, 4096, err);
	if (st == EM_OK)
		st = emi_file_size(f, &size, err);
	if (st == EM_OK)
		st = emi_file_resize(f, 2 * 4096, err);
	emi_file_close(f);
	return st;
}

enum { OPS = 6 };
static const char *const op_name[OPS] = {"open", "reserve", "write", "read", "stat", "resize"};
static const uint32_t op_bit[OPS] = {EM_FAULT_OPEN, EM_FAULT_RESERVE, EM_FAULT_WRITE, EM_FAULT_READ, EM_FAULT_SIZE,
				     EM_FAULT_RESIZE};

/* The Nth operation fails, for all N and all backends: the detail tells which, where and why. */
static void test_each_operation(void **state)
{
	static const struct {
		int32_t sys_errno;
		em_status status;
	} kind[] = {{EIO, EM_ERR_IO}, {ENOSPC, EM_ERR_NOSPACE}, {EDQUOT, EM_ERR_NOSPACE}, {EACCES, EM_ERR_ACCESS},
		    {ENOMEM, EM_ERR_NOMEM}, {EMFILE, EM_ERR_FDLIMIT}};
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	char *page = io_buffer(&rng, 4096);
	uint32_t b, k, n;

	(void)state;
	for (b = 0; b < em_backend_count(); b++)
		for (k = 0; k < sizeof kind / sizeof *kind; k++)
			for (n = 0; n < OPS; n++) {
				em_errinfo err;
				em_fault fault;
				em_ctx *ctx;

				memset(&err, 0, sizeof err);
				assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_at(b)), EM_OK);
				fault.nth = n + 1;
				fault.sys_errno = kind[k].sys_errno;
				ctx = fault_ctx(&fault, EM_DIRECT_OFF);
				assert_int_equal(life(ctx, dir, page, &err), kind[k].status);
				assert_int_equal(fault.injected, 1);
				assert_int_equal(err.status, kind[k].status);
				assert_int_equal(err.sys_errno, kind[k].sys_errno);
				assert_string_equal(err.op, op_name[n]);
				assert_string_equal(err.path, dir);
				assert_non_null(strstr(err.text, dir));
				assert_non_null(strstr(err.text, strerror(kind[k].sys_errno)));
				if (op_bit[n] & (EM_FAULT_READ | EM_FAULT_WRITE)) {
					assert_int_equal(err.offset, 4096);
					assert_int_equal(err.bytes, 4096);
					assert_non_null(strstr(err.text, "4096 bytes at offset 4096"));
				}
				em_ctx_close(ctx);
			}
	free(page);
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

/* Only the operations that were chosen are counted. */
static void test_choice(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	char *page = io_buffer(&rng, 4096);
	uint32_t n;

	(void)state;
	for (n = 0; n < OPS; n++) {
		em_errinfo err;
		em_fault fault;
		em_ctx *ctx;

		memset(&err, 0, sizeof err);
		assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
		fault.ops = op_bit[n];
		ctx = fault_ctx(&fault, EM_DIRECT_OFF);
		assert_int_equal(life(ctx, dir, page, &err), EM_OK);
		assert_int_equal(fault.count, 1);
		assert_int_equal(fault.injected, 0);
		fault.nth = 3;
		assert_int_equal(life(ctx, dir, page, &err), EM_OK);
		assert_int_equal(life(ctx, dir, page, &err), EM_ERR_IO);
		assert_string_equal(err.op, op_name[n]);
		em_ctx_close(ctx);
	}
	free(page);
	test_dir_remove(dir);
}

/* Interrupted, refused for the moment, and short operations are survived; data stays whole. */
static void test_survived(void **state)
{
	static const int32_t mild[] = {EINTR, EAGAIN, 0};
	static const char *const name[] = {"syscall", "memory"};
	char *dir = test_dir_make();
	unsigned b, k, direct;

	(void)state;
	for (b = 0; b < 2; b++)
		for (k = 0; k < 3; k++)
			for (direct = 0; direct < 2; direct++) {
				em_fault fault;
				em_ctx *ctx;
				em_file *f;

				assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find(name[b])), EM_OK);
				fault.ops = EM_FAULT_READ | EM_FAULT_WRITE;
				fault.nth = 2;
				fault.times = 25;
				fault.sys_errno = mild[k];
				ctx = fault_ctx(&fault, direct ? EM_DIRECT_TRY : EM_DIRECT_OFF);
				f = io_open(ctx, dir, EMI_OPEN_TEMP);
				io_traffic(ctx, f, (uint64_t)4 << 20, emi_file_direct(f));
				assert_int_equal(fault.injected, 25);
				emi_file_close(f);
				em_ctx_close(ctx);
			}
	test_dir_remove(dir);
}

static void test_interrupted_resize(void **state)
{
	char *dir = test_dir_make();
	em_fault fault;
	em_errinfo err;
	em_ctx *ctx;
	em_file *f;

	(void)state;
	memset(&err, 0, sizeof err);
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
	fault.ops = EM_FAULT_RESIZE | EM_FAULT_RESERVE;
	fault.nth = 1;
	fault.times = 3;
	fault.sys_errno = EINTR;
	ctx = fault_ctx(&fault, EM_DIRECT_OFF);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	assert_int_equal(emi_file_resize(f, 4096, &err), EM_OK);
	assert_int_equal(fault.injected, 3);
	/* Where space cannot be reserved nothing happens. */
	fault.count = 0;
	fault.times = 1;
	fault.sys_errno = EOPNOTSUPP;
	assert_int_equal(emi_file_reserve(f, 0, 1 << 20, &err), EM_OK);
	assert_int_equal(fault.injected, 4);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What never ceases is an error in the end, not an endless loop. */
static void test_patience(void **state)
{
	char *dir = test_dir_make();
	em_fault fault;
	em_errinfo err;
	em_ctx *ctx;
	em_file *f;
	char page[4096] = "";

	(void)state;
	memset(&err, 0, sizeof err);
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
	fault.ops = EM_FAULT_WRITE;
	fault.nth = 1;
	fault.times = UINT64_MAX;
	fault.sys_errno = EINTR;
	ctx = fault_ctx(&fault, EM_DIRECT_OFF);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	assert_int_equal(io_write(f, page, sizeof page, 0, &err), EM_ERR_IO);
	assert_int_equal(err.sys_errno, EINTR);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Disk full in the midst of many writes: exactly the chosen ones fail. */
static void test_no_space_among_many(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	char *page = io_buffer(&rng, 4096);
	emi_request rq[64];
	uint32_t b, i;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		unsigned failures = 0;
		em_fault fault;
		em_ctx *ctx;
		em_file *f;

		assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_at(b)), EM_OK);
		fault.ops = EM_FAULT_WRITE;
		fault.nth = 20;
		fault.times = 7;
		fault.sys_errno = ENOSPC;
		ctx = fault_ctx(&fault, EM_DIRECT_TRY);
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		memset(rq, 0, sizeof rq);
		for (i = 0; i < 64; i++)
			emi_write(f, &rq[i], page, 4096, (uint64_t)i * 4096, NULL);
		for (i = 0; i < 64; i++) {
			em_errinfo err;

			memset(&err, 0, sizeof err);
			if (emi_wait(&rq[i], &err) == EM_OK)
				continue;
			failures++;
			assert_int_equal(err.status, EM_ERR_NOSPACE);
			assert_int_equal(err.sys_errno, ENOSPC);
			assert_int_equal(err.offset, (uint64_t)i * 4096);
			assert_string_equal(err.op, "write");
		}
		assert_int_equal(failures, 7);
		emi_file_close(f);
		em_ctx_close(ctx);
	}
	free(page);
	test_dir_remove(dir);
}

/* Which of the first operations fail by chance, of so many, from the seed. */
static uint32_t fail_by_chance(em_fault *fault, em_file *f, uint64_t one_in, uint64_t seed, unsigned n, char *failed)
{
	const uint64_t injected = fault->injected;
	char page[4096] = "";
	uint32_t failures = 0;
	unsigned i;

	em_fault_set_random(fault, EM_FAULT_READ | EM_FAULT_WRITE, one_in, seed);
	for (i = 0; i < n; i++) {
		em_errinfo err;
		em_status st;

		memset(&err, 0, sizeof err);
		st = i % 2 ? io_read(f, page, sizeof page, 0, &err) : io_write(f, page, sizeof page, 0, &err);
		assert_true(st == EM_OK || st == EM_ERR_IO);
		failed[i] = st != EM_OK;
		failures += st != EM_OK;
	}
	assert_int_equal(fault->count, n);
	assert_int_equal(fault->injected - injected, failures);
	return failures;
}

/* About as many fail as should, the same again by the same seed; and none when it is over. */
static void test_chance(void **state)
{
	enum { N = 4000 };
	const uint64_t seed = test_seed();
	char *dir = test_dir_make(), *first = malloc(N), *again = malloc(N);
	em_fault fault;
	uint32_t n;
	em_ctx *ctx;
	em_file *f;

	(void)state;
	assert_non_null(first);
	assert_non_null(again);
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
	fault.ops = 0;
	ctx = fault_ctx(&fault, EM_DIRECT_OFF);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	/* Six standard deviations and more. */
	n = fail_by_chance(&fault, f, 10, seed, N, first);
	assert_in_range(n, N / 10 - 120, N / 10 + 120);
	assert_int_equal(fail_by_chance(&fault, f, 10, seed, N, again), n);
	assert_memory_equal(first, again, N);
	(void)fail_by_chance(&fault, f, 10, seed + 1, N, again);
	assert_int_not_equal(memcmp(first, again, N), 0);
	assert_int_equal(fail_by_chance(&fault, f, 1, seed, 10, first), 10);
	assert_int_equal(fail_by_chance(&fault, f, 0, seed, N, first), 0);
	/* An nth besides; and what was said by chance is over with what is said anew. */
	em_fault_set_random(&fault, EM_FAULT_SIZE, UINT64_MAX, seed);
	fault.nth = 1;
	assert_int_equal(emi_file_size(f, &(uint64_t){ 0 }, NULL), EM_ERR_IO);
	em_fault_set_random(&fault, EM_FAULT_SIZE, 1, seed);
	em_fault_set(&fault, EM_FAULT_SIZE, 2, 1);
	assert_int_equal(emi_file_size(f, &(uint64_t){ 0 }, NULL), EM_OK);
	emi_file_close(f);
	em_ctx_close(ctx);
	free(first);
	free(again);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_operation),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_survived),
		cmocka_unit_test(test_interrupted_resize),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_no_space_among_many),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests_name("io/backend_fault", tests, NULL, NULL);
}
