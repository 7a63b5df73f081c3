/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_watch.c -- how often the progress function is called, and what it is told.
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

#include "base/context.h"
#include "sort/watch.h"

/* What the function was told last, and how often it was. */
typedef struct told {
	unsigned calls;
	uint32_t phase;
	uint64_t done, total;
} told;

static int tell(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	told *t = user;

	t->calls++;
	t->phase = phase;
	t->done = done;
	t->total = total;
	return 0;
}

/* Tick until it is called once more. */
static void tick_once(emi_watch *w, const told *t)
{
	const unsigned calls = t->calls;

	while (t->calls == calls)
		assert_int_equal(emi_tick(w), EM_OK);
}

/* At most ten times a second, however often it may be. */
static void test_interval(void **state)
{
	emi_io_stats io;
	told t = { 0 };
	double begin;
	em_ctx ctx;
	emi_watch w;

	(void)state;
	memset(&ctx, 0, sizeof(ctx));
	memset(&io, 0, sizeof(io));
	begin = emi_now();
	emi_watch_init(&w, &ctx, tell, &t, &io);
	emi_watch_phase(&w, EM_PHASE_RUNS, 0);
	assert_int_equal(emi_tick(&w), EM_OK);
	while (t.calls < 3)
		assert_int_equal(emi_tick(&w), EM_OK);
	assert_true(emi_now() - begin >= 0.3);
	usleep(110000);
	assert_int_equal(emi_tick(&w), EM_OK);
	assert_int_equal(t.calls, 4);
}

/* More may be done than was expected, as runs of compressed or dropped records are; nobody is told of more than all. */
static void test_total(void **state)
{
	emi_io_stats io;
	told t = { 0 };
	em_ctx ctx;
	emi_watch w;

	(void)state;
	memset(&ctx, 0, sizeof(ctx));
	memset(&io, 0, sizeof(io));
	emi_watch_init(&w, &ctx, tell, &t, &io);
	emi_watch_phase(&w, EM_PHASE_RUNS, 100);
	emi_watch_add(&w, 60);
	tick_once(&w, &t);
	assert_int_equal(t.done, 60);
	assert_int_equal(t.total, 100);
	emi_watch_add(&w, 60);
	tick_once(&w, &t);
	assert_int_equal(t.done, 100);
	/* Without a total there is none to be beyond; each phase begins anew. */
	emi_watch_phase(&w, EM_PHASE_OUTPUT, 0);
	emi_watch_add(&w, 500);
	tick_once(&w, &t);
	assert_int_equal(t.phase, EM_PHASE_OUTPUT);
	assert_int_equal(t.done, 500);
	assert_int_equal(t.total, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_total),
	};

	return cmocka_run_group_tests_name("sort/watch", tests, NULL, NULL);
}
