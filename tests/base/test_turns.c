/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_turns.c -- items are prepared by all threads and take their turns in order: each is prepared, placed and
 * finished once for each of its parts, whatever stops in between.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <string.h>

#include "base/turns.h"
#include "base/workers.h"
#include "common/test.h"

#include "base_ctx.h"

#define MEMORY ((uint64_t)16 << 20)
#define ITEMS 300u
#define NEVER UINT32_MAX

/* How far each item came, in parts.  Steps of one item never overlap, so no lock is needed; asserting on other threads
 * is not possible. */
typedef struct row {
	emi_turns turns;
	unsigned char state[ITEMS];
	uint32_t parts[ITEMS];
	uint32_t prepared[ITEMS], placed[ITEMS], finished[ITEMS];
	uint32_t items;
	uint32_t naps;          /* atomic: random numbers */
	uint64_t turn;          /* under the lock */
	uint32_t stop_at;       /* calls of place() until it refuses once */
	uint32_t fail_prepare, fail_finish; /* items whose step fails */
	uint32_t hold;          /* an item whose preparing ends after that of all others */
	uint32_t others;        /* atomic: items prepared */
	uint32_t wrong;         /* atomic */
	int ticks_fail;
} row;

static void check(row *r, int right)
{
	if (!right)
		__atomic_store_n(&r->wrong, 1, __ATOMIC_RELAXED);
}

static void nap(row *r)
{
	uint32_t n = __atomic_fetch_add(&r->naps, 0x9e3779b9u, __ATOMIC_RELAXED) >> 29;

	while (n-- > 0)
		sched_yield();
}

static int prepare(void *arg, uint64_t item, uint32_t part)
{
	row *r = arg;

	(void)part;
	check(r, item < r->items && r->prepared[item] == r->finished[item] && r->prepared[item] < r->parts[item]);
	nap(r);
	if (item == r->hold)
		while (__atomic_load_n(&r->others, __ATOMIC_RELAXED) != r->items - 1)
			sched_yield();
	r->prepared[item]++;
	__atomic_fetch_add(&r->others, 1, __ATOMIC_RELAXED);
	return item != r->fail_prepare;
}

static int place(void *arg, uint64_t item)
{
	row *r = arg;

	check(r, item == r->turn && r->prepared[item] == r->placed[item] + 1);
	if (r->stop_at-- == 0)
		return EMI_TURN_STOP;
	r->placed[item]++;
	if (r->placed[item] < r->parts[item])
		return EMI_TURN_AGAIN;
	r->turn++;
	return EMI_TURN_NEXT;
}

static int finish(void *arg, uint64_t item, uint32_t part)
{
	row *r = arg;

	(void)part;
	nap(r);
	check(r, r->placed[item] == r->prepared[item] && r->finished[item] + 1 == r->placed[item]);
	r->finished[item]++;
	return item != r->fail_finish;
}

static em_status tick(void *arg)
{
	const row *r = arg;

	return r->ticks_fail ? EM_ERR_CANCELED : EM_OK;
}

static void row_open(row *r, uint32_t items, uint64_t room)
{
	static const emi_turns_calls calls = { prepare, place, finish };
	test_rng rng = test_rng_make(test_seed());
	em_errinfo err;
	uint32_t i;

	memset(r, 0, sizeof(*r));
	memset(&err, 0, sizeof(err));
	r->items = items;
	r->stop_at = r->fail_prepare = r->fail_finish = r->hold = NEVER;
	for (i = 0; i < items; i++)
		r->parts[i] = test_below(&rng, 4) == 0 ? 1 + (uint32_t)test_below(&rng, 4) : 1;
	assert_int_equal(emi_turns_init(&r->turns, &calls, r, r->state, room, &err), EM_OK);
}

/* All were done, and all is right. */
static void row_close(row *r)
{
	uint32_t i;

	assert_int_equal(r->wrong, 0);
	assert_true(r->turn == r->items);
	for (i = 0; i < r->items; i++)
		assert_true(r->finished[i] == r->parts[i] && r->prepared[i] == r->parts[i]);
	emi_turns_free(&r->turns);
}

static void work(void *arg, uint32_t part)
{
	row *r = arg;

	emi_turns_work(&r->turns, part, part == 0 ? tick : NULL, r);
}

static em_ctx *threads_open(uint32_t threads)
{
	em_ctx *ctx = base_ctx(MEMORY, threads, NULL);

	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	return ctx;
}

/* All items are known from the beginning. */
static void test_all(void **state)
{
	uint32_t threads, items;

	(void)state;
	for (threads = 1; threads <= 5; threads++) {
		em_ctx *ctx = threads_open(threads);

		for (items = 0; items <= ITEMS; items = 3 * items + 1) {
			row r;

			row_open(&r, items, ITEMS);
			emi_turns_add(&r.turns, items);
			emi_parallel(ctx, threads, work, &r);
			assert_false(emi_turns_stopped(&r.turns));
			row_close(&r);
		}
		emi_ctx_unref(ctx);
	}
}

/* place() refuses at each place once; then they go on, and nothing is done twice. */
static void test_stopped(void **state)
{
	uint32_t threads, at;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_ctx *ctx = threads_open(threads);

		for (at = 0; at < 20; at++) {
			row r;

			row_open(&r, 20, ITEMS);
			emi_turns_add(&r.turns, r.items);
			r.stop_at = at;
			emi_parallel(ctx, threads, work, &r);
			assert_true(emi_turns_stopped(&r.turns));
			assert_true(r.turn < r.items && !emi_turns_done(&r.turns, r.turn));
			assert_int_equal(emi_turns_step(&r.turns, 0), 0);
			emi_turns_resume(&r.turns);
			emi_parallel(ctx, threads, work, &r);
			row_close(&r);
		}
		emi_ctx_unref(ctx);
	}
}

/* A step fails, or the one who ticks is told to stop: all leave. */
static void test_failing(void **state)
{
	uint32_t threads, which;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_ctx *ctx = threads_open(threads);

		for (which = 0; which < 3; which++) {
			row r;

			row_open(&r, 50, ITEMS);
			emi_turns_add(&r.turns, r.items);
			r.fail_prepare = which == 0 ? 7 : NEVER;
			r.fail_finish = which == 1 ? 7 : NEVER;
			r.ticks_fail = which == 2;
			emi_parallel(ctx, threads, work, &r);
			assert_true(emi_turns_stopped(&r.turns));
			assert_int_equal(r.wrong, 0);
			assert_true(which != 1 || r.finished[7] != 0);
			emi_turns_free(&r.turns);
		}
		emi_ctx_unref(ctx);
	}
}

/* An item that takes long does not hold up the others: it is ready when all others are. */
static void test_held(void **state)
{
	uint32_t threads, i;

	(void)state;
	for (threads = 2; threads <= 4; threads++) {
		em_ctx *ctx = threads_open(threads);
		row r;

		row_open(&r, ITEMS, ITEMS);
		for (i = 0; i < r.items; i++)
			r.parts[i] = 1;
		r.hold = threads - 2;
		emi_turns_add(&r.turns, r.items);
		emi_parallel(ctx, threads, work, &r);
		row_close(&r);
		emi_ctx_unref(ctx);
	}
}

static void help(void *arg)
{
	row *r = arg;

	while (emi_turns_step(&r->turns, 1))
		;
}

/* Items come one by one, into a ring that is smaller; who helps never waits. */
static void test_added(void **state)
{
	uint32_t threads, room;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		em_ctx *ctx = threads_open(threads);

		for (room = 1; room <= 7; room += 2) {
			emi_task helper[2];
			uint32_t added = 0, i;
			uint64_t done = 0;
			row r;

			row_open(&r, ITEMS, room);
			memset(helper, 0, sizeof(helper));
			while (done < r.items) {
				const uint64_t seen = emi_turns_seen(&r.turns);

				for (; done < added && emi_turns_done(&r.turns, done); done++)
					;
				if (added < r.items && added - done < room) {
					emi_turns_add(&r.turns, 1);
					added++;
					for (i = 0; i + 1 < threads; i++)
						if (emi_task_done(ctx, &helper[i]))
							emi_task_submit(ctx, &helper[i], help, &r);
				} else if (done < added && !emi_turns_step(&r.turns, 0)) {
					emi_turns_await(&r.turns, seen);
				}
				assert_true(emi_turns_waiting(&r.turns) <= room);
			}
			for (i = 0; i + 1 < threads; i++)
				emi_task_wait(ctx, &helper[i]);
			row_close(&r);
		}
		emi_ctx_unref(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_added),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
