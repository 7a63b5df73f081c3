/* SPDX-License-Identifier: BSL-1.0 */
/*
 * async_test.c -- what the tests of backends that make asynchronous transfers share; see async_test.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/async_test.h"

/* Tests run one after the other. */
static uint64_t submitted;
static const em_backend *inner;

static int count_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	int r = inner->submit(channel, list, n);

	if (r > 0)
		__atomic_add_fetch(&submitted, (uint64_t)r, __ATOMIC_RELAXED);
	return r;
}

em_ctx *async_ctx(const char *backend, em_backend *be, io_setup *setup)
{
	inner = em_backend_find(backend);
	if (!inner)
		return NULL;
	*be = *inner;
	be->submit = count_submit;
	submitted = 0;
	setup->custom = be;
	return io_ctx(setup);
}

uint64_t async_submitted(void)
{
	return __atomic_load_n(&submitted, __ATOMIC_RELAXED);
}

int64_t async_traffic(const char *backend, uint32_t depth, int32_t direct, em_log_fn log, void *user)
{
	char *dir = test_dir_make();
	io_setup setup = {0};
	int64_t count = -1;
	em_backend be;
	em_ctx *ctx;
	em_file *f;

	setup.dir = dir;
	setup.depth = depth;
	setup.direct = direct;
	setup.log = log;
	setup.log_user = user;
	ctx = async_ctx(backend, &be, &setup);
	if (ctx) {
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		io_traffic(ctx, f, ASYNC_ENOUGH, emi_file_direct(f));
		if (emi_file_direct(f) || direct == EM_DIRECT_OFF)
			count = (int64_t)async_submitted();
		emi_file_close(f);
		assert_dir_empty(dir);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
	return count;
}
