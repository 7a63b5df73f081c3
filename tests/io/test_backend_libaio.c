/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_libaio.c -- transfers that the kernel makes on its own.
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

enum { ENOUGH = 32 << 20 };

/* A copy of the backend counts what is submitted; tests run one after the other. */
static uint64_t submitted;
static const em_backend *inner;

static int count_submit(void *handle, em_transfer *const *list, uint32_t n)
{
	int r = inner->submit(handle, list, n);

	if (r > 0)
		__atomic_add_fetch(&submitted, (uint64_t)r, __ATOMIC_RELAXED);
	return r;
}

static em_ctx *counting_ctx(em_backend *be, const char *dir, uint32_t depth, int32_t direct)
{
	io_setup setup = {0};

	inner = em_backend_find("libaio");
	if (!inner)
		return NULL;
	*be = *inner;
	be->submit = count_submit;
	submitted = 0;
	setup.dir = dir;
	setup.custom = be;
	setup.depth = depth;
	setup.direct = direct;
	return io_ctx(&setup);
}

static void traffic_with_depth(uint32_t depth)
{
	char *dir = test_dir_make();
	em_backend be;
	em_ctx *ctx = counting_ctx(&be, dir, depth, EM_DIRECT_TRY);
	em_file *f;

	if (!ctx) {
		test_dir_remove(dir);
		skip();
	}
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	io_traffic(ctx, f, ENOUGH, emi_file_direct(f));
	/* Only the beginning of a direct file goes another way. */
	if (emi_file_direct(f))
		assert_true(__atomic_load_n(&submitted, __ATOMIC_RELAXED) > 100);
	emi_file_close(f);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_traffic(void **state)
{
	(void)state;
	traffic_with_depth(0);
}

/* More requests than may be in flight. */
static void test_small_depth(void **state)
{
	(void)state;
	traffic_with_depth(1);
	traffic_with_depth(3);
}

/* The kernel would make buffered transfers inside the call: they go to threads. */
static void test_buffered(void **state)
{
	char *dir = test_dir_make();
	em_backend be;
	em_ctx *ctx = counting_ctx(&be, dir, 0, EM_DIRECT_OFF);
	em_file *f;

	(void)state;
	if (!ctx) {
		test_dir_remove(dir);
		skip();
	}
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	assert_false(emi_file_direct(f));
	io_traffic(ctx, f, ENOUGH, 0);
	assert_int_equal(submitted, 0);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* The end of a file that does not end with a page, read by transfers that do. */
static void test_end_of_file(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	size_t bytes = 1 << 20;
	char *out = io_buffer(&rng, bytes), *in = io_buffer(&rng, bytes);
	em_backend be;
	em_ctx *ctx = counting_ctx(&be, dir, 0, EM_DIRECT_TRY);
	emi_request rq[32];
	em_file *f;
	unsigned i;

	(void)state;
	if (!ctx) {
		free(out);
		free(in);
		test_dir_remove(dir);
		skip();
	}
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	/* Enough for the asynchronous way to begin. */
	memset(rq, 0, sizeof rq);
	for (i = 0; i < 32; i++)
		emi_write(f, &rq[i], out, bytes, (uint64_t)i * bytes, NULL);
	for (i = 0; i < 32; i++)
		assert_int_equal(emi_wait(&rq[i], NULL), EM_OK);
	assert_int_equal(emi_file_resize(f, 31 * bytes + 5000, NULL), EM_OK);
	for (i = 30; i < 32; i++) {
		memset(in, 0, bytes);
		emi_read(f, &rq[i], in, bytes, (uint64_t)i * bytes, NULL);
		assert_int_equal(emi_wait(&rq[i], NULL), EM_OK);
		assert_int_equal(rq[i].done, i == 30 ? bytes : 5000);
		assert_memory_equal(in, out, rq[i].done);
	}
	emi_read(f, &rq[0], in, bytes, 32 * bytes, NULL);
	assert_int_equal(emi_wait(&rq[0], NULL), EM_OK);
	assert_int_equal(rq[0].done, 0);
	emi_file_close(f);
	em_ctx_close(ctx);
	free(out);
	free(in);
	test_dir_remove(dir);
}

/* Traffic through a backend below which so many operations fail, from the nth on: how many did.  Returns whether it was direct. */
static int faulty_traffic(em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times, int32_t sys_errno)
{
	const em_backend *aio = em_backend_find("libaio");
	char *dir = test_dir_make();
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;
	int direct;

	em_fault_init(fault, aio);
	fault->ops = ops;
	fault->nth = nth;
	fault->times = times;
	fault->sys_errno = sys_errno;
	setup.custom = em_fault_backend(fault);
	ctx = io_ctx(&setup);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	direct = emi_file_direct(f);
	io_traffic(ctx, f, ENOUGH, direct);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	return direct;
}

/* Faults below the retries, on the asynchronous way: all are survived. */
static void test_faults(void **state)
{
	static const int32_t mild[] = {EINTR, EAGAIN, 0};
	em_fault fault;
	unsigned i;

	(void)state;
	if (!em_backend_find("libaio"))
		skip();
	for (i = 0; i < 3; i++) {
		faulty_traffic(&fault, EM_FAULT_READ | EM_FAULT_WRITE, 150, 20, mild[i]);
		assert_int_equal(fault.injected, 20);
	}
}

/* Requests that the kernel does not take now are held back, ones that it does not take at all are made by threads. */
static void test_submit_refused(void **state)
{
	static const int32_t why[] = {EAGAIN, EINTR, EINVAL, ENOSYS};
	em_fault fault;
	unsigned i;

	(void)state;
	if (!em_backend_find("libaio"))
		skip();
	for (i = 0; i < 4; i++)
		if (faulty_traffic(&fault, EM_FAULT_SUBMIT, i < 2 ? 20 : 1, 60, why[i]))
			assert_true(fault.injected > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_small_depth),
		cmocka_unit_test(test_buffered),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_submit_refused),
	};

	return cmocka_run_group_tests_name("io/backend_libaio", tests, NULL, NULL);
}
