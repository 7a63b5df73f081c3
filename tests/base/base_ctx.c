/* SPDX-License-Identifier: BSL-1.0 */
/*
 * base_ctx.c -- a context for tests of this layer; see base_ctx.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#include "base_ctx.h"

em_ctx *base_ctx(uint64_t memory, uint32_t threads, const em_allocator *allocator)
{
	em_ctx local;
	em_ctx *ctx;

	memset(&local, 0, sizeof(local));
	local.memory = memory;
	local.fds = 4;
	local.refs = 1;
	local.threads = threads;
	local.pid = (int64_t)getpid();
	if (allocator != NULL)
		local.allocator = *allocator;
	ctx = emi_alloc(&local, sizeof(*ctx), NULL);
	assert_non_null(ctx);
	*ctx = local;
	assert_int_equal(pthread_mutex_init(&ctx->lock, NULL), 0);
	return ctx;
}
