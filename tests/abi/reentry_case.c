/* SPDX-License-Identifier: BSL-1.0 */
/* reentry_case.c -- see reentry_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/reentry_case.h"

static reentry now;
static pthread_t works;         /* the thread that calls the library */

/* The library calls: by the thread that works, or by one of its own, which leaves all this alone. */
void reentry_called(int locked)
{
	if (!pthread_equal(works, pthread_self()) || now.call == NULL || now.within)
		return;
	now.within = 1;
	now.locked = locked;
	now.call(&now);
	now.times++;
	now.within = 0;
}

void reentry_begin(void (*call)(reentry *a), void *object)
{
	memset(&now, 0, sizeof now);
	now.object = object;
	now.call = call;
}

void reentry_stop(void)
{
	now.call = NULL;
}

uint64_t reentry_times(void)
{
	return now.times;
}

void reentry_end(uint64_t least)
{
	reentry_stop();
	assert_true(now.times >= least);
}

int reentry_compare(const void *a, const void *b, void *user)
{
	(void)user;
	reentry_called(0);
	return memcmp(a, b, 8);
}

static void *own_alloc(void *user, size_t bytes)
{
	(void)user;
	reentry_called(1);
	return malloc(bytes);
}

static void own_release(void *user, void *ptr, size_t bytes)
{
	(void)user;
	(void)bytes;
	reentry_called(1);
	free(ptr);
}

static void own_log(void *user, int32_t level, const char *line)
{
	(void)user;
	(void)level;
	(void)line;
	reentry_called(1);
}

em_ctx *reentry_ctx(uint32_t flags)
{
	static em_allocator allocator = EM_ALLOCATOR_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	works = pthread_self();
	allocator.alloc = own_alloc;
	allocator.release = own_release;
	o.allocator = &allocator;
	o.log = own_log;
	o.memory = 16 * MIB;
	o.backend = "memory";
	o.threads = 1;
	o.flags = flags;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	return ctx;
}

em_order *reentry_order(em_ctx *ctx)
{
	em_order *order;

	assert_int_equal(em_order_cmp(&order, ctx, 8, "own", reentry_compare, 0, NULL, NULL, NULL), EM_OK);
	return order;
}

void reentry_records(unsigned char *records)
{
	uint64_t i;

	memset(records, 0, N * 8);
	for (i = 0; i < N; i++) {
		records[8 * i] = (unsigned char)((N - i) >> 8);
		records[8 * i + 1] = (unsigned char)(N - i);
	}
}
