/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorter_life.c -- sorters that are misused, watched, stopped, abandoned, or taken along by a fork; and what
 * they count.  What comes out of those that are used well is test_sorter.c's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/phase.h"
#include "sort/sort_model.h"

#define N 3000u
#define RUN 200u

/* A context with a sorter of pairs that makes three passes over N records, and these records. */
typedef struct life {
	test_memory mem;
	test_rng rng;
	sort_shape shape;
	unsigned char *records, *expected;
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_sorter *s;
} life;

/* With so much memory; 0: what contexts of sorts have. */
static void life_open_in(life *l, uint32_t threads, const char *backend, uint64_t memory)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	uint64_t n = N;

	test_memory_init(&l->mem, 0);
	l->rng = test_rng_make(test_seed());
	l->shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	l->records = sort_records(&l->rng, &l->shape, SORT_RANDOM, N);
	l->expected = sort_expected(&l->shape, l->records, &n, 0);
	opts.threads = threads;
	opts.backend = backend;
	opts.allocator = &l->mem.allocator;
	if (memory != 0)
		opts.memory = memory;
	l->ctx = sort_ctx(&opts);
	l->order = sort_order(l->ctx, &l->shape);
	l->opts = none;
	l->opts.block_bytes = 4096;
	l->opts.run_records = RUN;
	l->opts.fan_in = 4;
	l->s = NULL;
}

static void life_open_on(life *l, uint32_t threads, const char *backend)
{
	life_open_in(l, threads, backend, 0);
}

static void life_open(life *l, uint32_t threads)
{
	life_open_on(l, threads, "memory");
}

static void life_close(life *l)
{
	em_sorter_close(l->s);
	em_order_close(l->order);
	em_ctx_close(l->ctx);
	test_memory_assert_clean(&l->mem);
	free(l->records);
	free(l->expected);
}

static void open_sorter(life *l)
{
	assert_int_equal(em_sorter_open(&l->s, l->ctx, l->order, &l->opts), EM_OK);
}

/* Every call of a sorter returns this, and its detail says so. */
static void assert_stuck(em_sorter *s, em_status status)
{
	const em_batch *batch;
	em_errinfo err;

	assert_int_equal(em_sorter_push(s, "0123456789abcdef", 1), status);
	assert_int_equal(em_sorter_finish(s), status);
	assert_int_equal(em_sorter_next(s, &batch), status);
	assert_null(batch);
	memset(&err, 0x55, sizeof(err));
	em_sorter_error(s, &err);
	assert_int_equal(err.status, status);
	assert_true(err.text[0] != '\0');
}

static void test_arguments(void **state)
{
	const em_batch *batch;
	em_errinfo err;
	em_sort_stats stats;
	em_sorter *s;
	life l, other;

	(void)state;
	life_open(&l, 1);
	life_open(&other, 1);
	memset(&err, 0, sizeof(err));
	l.opts.errinfo = &err;
	assert_int_equal(em_sorter_open(NULL, l.ctx, l.order, &l.opts), EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
	s = (em_sorter *)(uintptr_t)1;
	assert_int_equal(em_sorter_open(&s, NULL, l.order, &l.opts), EM_ERR_INVAL);
	s = (em_sorter *)(uintptr_t)1;
	assert_int_equal(em_sorter_open(&s, l.ctx, NULL, &l.opts), EM_ERR_INVAL);
	assert_null(s);
	assert_int_equal(em_sorter_open(&s, l.ctx, other.order, &l.opts), EM_ERR_INVAL);
	assert_null(s);
	l.opts.flags = 4;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
	l.opts.flags = 0;
	l.opts.compress = EM_COMPRESS_ALWAYS + 1;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_ERR_INVAL);
	l.opts.compress = EM_COMPRESS_AUTO;
	l.opts.size = 3;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_ERR_VERSION);
	l.opts.size = 0;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_ERR_VERSION);
	assert_non_null(strstr(err.text, "em_sort_opts"));
	l.opts.size = sizeof(l.opts);
	l.opts.memory = 4096;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_true(err.bytes > 4096);
	/* What it names does. */
	l.opts.memory = err.bytes;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &l.opts), EM_OK);
	em_sorter_close(s);
	l.opts.memory = 0;

	open_sorter(&l);
	assert_int_equal(em_sorter_push(NULL, l.records, 1), EM_ERR_INVAL);
	assert_int_equal(em_sorter_push(l.s, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_sorter_finish(NULL), EM_ERR_INVAL);
	assert_int_equal(em_sorter_next(NULL, &batch), EM_ERR_INVAL);
	assert_int_equal(em_sorter_next(l.s, NULL), EM_ERR_INVAL);
	memset(&stats, 0, sizeof(stats));
	assert_int_equal(em_sorter_stats_get(l.s, &stats), EM_ERR_VERSION);
	assert_int_equal(em_sorter_stats_get(l.s, NULL), EM_ERR_INVAL);
	stats.size = sizeof(stats);
	assert_int_equal(em_sorter_stats_get(NULL, &stats), EM_ERR_INVAL);
	em_sorter_cancel(NULL);
	em_sorter_close(NULL);
	em_sorter_error(l.s, NULL);
	memset(&err, 0x55, sizeof(err));
	em_sorter_error(l.s, &err);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_string_equal(err.text, "batch is NULL");
	/* None of that harmed it. */
	assert_int_equal(em_sorter_push(l.s, NULL, 0), EM_OK);
	assert_int_equal(em_sorter_push(l.s, l.records, N), EM_OK);
	assert_int_equal(em_sorter_finish(l.s), EM_OK);
	sort_assert_pull(l.s, &l.shape, l.expected, N);
	life_close(&l);
	life_close(&other);
}

/* Options with fields that are not known here. */
static void test_other_versions(void **state)
{
	struct {
		em_sort_opts opts;
		uint64_t more;
	} newer;
	const em_sort_opts init = EM_SORT_OPTS_INIT;
	em_sorter *s;
	life l;

	(void)state;
	life_open(&l, 1);
	memset(&newer, 0, sizeof(newer));
	newer.opts = init;
	newer.opts.size = sizeof(newer);
	newer.opts.block_bytes = 4096;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &newer.opts), EM_OK);
	em_sorter_close(s);
	newer.more = 1;
	assert_int_equal(em_sorter_open(&s, l.ctx, l.order, &newer.opts), EM_ERR_VERSION);
	life_close(&l);
}

static void assert_order(em_sorter *s, em_status status, const char *mistake)
{
	em_errinfo err;

	assert_int_equal(status, EM_ERR_STATE);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, EM_ERR_STATE);
	assert_string_equal(err.text, mistake);
}

/* Calls out of order change nothing. */
static void test_call_order(void **state)
{
	static const uint64_t counts[] = { 0, 10, N };
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		const uint64_t n = counts[i];
		const em_batch *batch;
		unsigned char *expected;
		uint64_t kept = n;
		life l;

		life_open(&l, 1);
		expected = sort_expected(&l.shape, l.records, &kept, 0);
		open_sorter(&l);
		assert_int_equal(em_sorter_push(l.s, l.records, n / 2), EM_OK);
		assert_order(l.s, em_sorter_next(l.s, &batch), "next before finish");
		assert_null(batch);
		assert_int_equal(em_sorter_push(l.s, l.records + n / 2 * 16, n - n / 2), EM_OK);
		assert_int_equal(em_sorter_finish(l.s), EM_OK);
		assert_order(l.s, em_sorter_finish(l.s), "finish after finish");
		assert_order(l.s, em_sorter_push(l.s, l.records, 1), "push after finish");
		sort_assert_pull(l.s, &l.shape, expected, n);
		free(expected);
		assert_order(l.s, em_sorter_finish(l.s), "finish after finish");
		assert_order(l.s, em_sorter_push(l.s, l.records, 0), "push after finish");
		assert_int_equal(em_sorter_next(l.s, &batch), EM_END);
		life_close(&l);
	}
}

/* Take a sorter through its life up to a stage: 0 opened ... STAGES - 1 at the end. */
#define STAGES 9
static void advance(life *l, int stage)
{
	static const uint64_t pushes[] = { 0, RUN - 1, 1, 1, N - RUN - 1 };
	const em_batch *batch;
	uint64_t at = 0;
	int i;

	open_sorter(l);
	for (i = 0; i < stage; i++) {
		if (i < 5) {
			assert_int_equal(em_sorter_push(l->s, l->records + at * 16, pushes[i]), EM_OK);
			at += pushes[i];
		} else if (i == 5) {
			assert_int_equal(em_sorter_finish(l->s), EM_OK);
		} else if (i == 6) {
			assert_int_equal(em_sorter_next(l->s, &batch), EM_OK);
		} else {
			while (em_sorter_next(l->s, &batch) == EM_OK)
				continue;
		}
	}
}

static void test_close_at_every_stage(void **state)
{
	uint32_t threads;
	int stage;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		for (stage = 0; stage < STAGES; stage++) {
			uint64_t before = 0;
			life l;
			int twice;

			life_open(&l, threads);
			for (twice = 0; twice < 2; twice++) {
				advance(&l, stage);
				em_sorter_close(l.s);
				l.s = NULL;
				/* The first one started the threads. */
				if (twice == 0)
					before = em_ctx_memory_used(l.ctx);
			}
			assert_int_equal(em_ctx_memory_used(l.ctx), before);
			life_close(&l);
		}
	}
}

/* Whoever is closed first, the others go on living. */
static void test_close_in_any_order(void **state)
{
	static const char *const orders[] = { "cos", "cso", "ocs", "osc", "sco", "soc" };
	size_t i, j;
	int stage;

	(void)state;
	for (i = 0; i < 6; i++) {
		for (stage = 0; stage < STAGES; stage += 4) {
			life l;

			life_open(&l, 1 + (uint32_t)(i % 2));
			advance(&l, stage);
			for (j = 0; j < 3; j++) {
				if (orders[i][j] == 'c') {
					em_ctx_close(l.ctx);
					l.ctx = NULL;
				} else if (orders[i][j] == 'o') {
					em_order_close(l.order);
					l.order = NULL;
				} else {
					em_sorter_close(l.s);
					l.s = NULL;
				}
			}
			life_close(&l);
		}
	}
}

/* A sorter whose context and order were closed by their owner still sorts. */
static void test_orphan(void **state)
{
	life l;

	(void)state;
	life_open(&l, 2);
	advance(&l, 3);
	em_ctx_close(l.ctx);
	em_order_close(l.order);
	l.ctx = NULL;
	l.order = NULL;
	assert_int_equal(em_sorter_push(l.s, l.records + RUN * 16, N - RUN), EM_OK);
	assert_int_equal(em_sorter_finish(l.s), EM_OK);
	sort_assert_pull(l.s, &l.shape, l.expected, N);
	life_close(&l);
}

/* Two sorters of one context at the same time share its scratch disk. */
static void test_two_at_once(void **state)
{
	em_sorter *s[2];
	unsigned i, j;
	life l;

	(void)state;
	life_open(&l, 2);
	l.opts.memory = 4u << 20;
	for (i = 0; i < 2; i++)
		assert_int_equal(em_sorter_open(&s[i], l.ctx, l.order, &l.opts), EM_OK);
	for (i = 0; i < N / 50; i++)
		for (j = 0; j < 2; j++)
			assert_int_equal(em_sorter_push(s[j], l.records + (size_t)i * 50 * 16, 50), EM_OK);
	for (j = 0; j < 2; j++)
		assert_int_equal(em_sorter_finish(s[j]), EM_OK);
	for (j = 0; j < 2; j++) {
		sort_assert_pull(s[j], &l.shape, l.expected, N);
		em_sorter_close(s[j]);
	}
	life_close(&l);
}

/* What a comparison does on its nth call. */
typedef struct watcher {
	uint64_t calls, at;
	em_sorter **sorter;
	pthread_t thread;
	int freed;
} watcher;

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

static int failing(const void *a, const void *b, void *user)
{
	watcher *w = user;

	return ++w->calls == w->at ? EM_CMP_ERROR : by_key(a, b);
}

static void free_user(void *user)
{
	((watcher *)user)->freed++;
}

static void use_function(life *l, em_cmp_fn fn, watcher *w)
{
	em_order_close(l->order);
	assert_int_equal(em_order_cmp(&l->order, l->ctx, 16, "test", fn, 0, w, free_user, NULL), EM_OK);
}

/* Push, finish, and pull all; where it ended. */
static em_status whole_life(em_sorter *s, const unsigned char *records, const char **where)
{
	const em_batch *batch;
	em_status st;

	*where = "push";
	if ((st = em_sorter_push(s, records, N)) != EM_OK)
		return st;
	*where = "finish";
	if ((st = em_sorter_finish(s)) != EM_OK)
		return st;
	*where = "next";
	do
		st = em_sorter_next(s, &batch);
	while (st == EM_OK);
	return st;
}

/* The function fails once, at any of its calls: that is never passed over. */
static void test_failing_function(void **state)
{
	const char *where;
	watcher w;
	life l;
	uint64_t all, at;
	unsigned seen = 0;

	(void)state;
	life_open(&l, 2);
	memset(&w, 0, sizeof(w));
	use_function(&l, failing, &w);
	open_sorter(&l);
	assert_int_equal(whole_life(l.s, l.records, &where), EM_END);
	em_sorter_close(l.s);
	l.s = NULL;
	all = w.calls;
	for (at = test_nth_after(0, 1 + all / 60); at <= all; at = test_nth_after(at, 1 + all / 60)) {
		w.calls = 0;
		w.at = at;
		open_sorter(&l);
		assert_int_equal(whole_life(l.s, l.records, &where), EM_ERR_USER);
		/* It is not called again. */
		assert_int_equal(w.calls, at);
		assert_stuck(l.s, EM_ERR_USER);
		seen |= where[0] == 'p' ? 1u : where[0] == 'f' ? 2u : 4u;
		em_sorter_close(l.s);
		l.s = NULL;
	}
	assert_true(seen == 7 || test_sparse() > 1);
	/* The order itself is none the worse. */
	w.at = 0;
	open_sorter(&l);
	assert_int_equal(whole_life(l.s, l.records, &where), EM_END);
	assert_int_equal(w.freed, 0);
	life_close(&l);
	assert_int_equal(w.freed, 1);
}

static void *cancel_it(void *arg)
{
	em_sorter_cancel(*(em_sorter **)arg);
	return NULL;
}

/* Has another thread cancel the sort in the middle of a call. */
static int canceling(const void *a, const void *b, void *user)
{
	watcher *w = user;

	if (++w->calls == w->at) {
		pthread_create(&w->thread, NULL, cancel_it, w->sorter);
		pthread_join(w->thread, NULL);
	}
	return by_key(a, b);
}

static void test_cancel(void **state)
{
	const char *where;
	unsigned seen = 0;
	uint64_t all, at;
	watcher w;
	life l;

	(void)state;
	life_open(&l, 1);
	memset(&w, 0, sizeof(w));
	w.sorter = &l.s;
	use_function(&l, canceling, &w);
	open_sorter(&l);
	assert_int_equal(whole_life(l.s, l.records, &where), EM_END);
	em_sorter_close(l.s);
	all = w.calls;
	for (at = test_nth_after(0, 1 + all / 20); at < all; at = test_nth_after(at, 1 + all / 20)) {
		w.calls = 0;
		w.at = at;
		open_sorter(&l);
		assert_int_equal(whole_life(l.s, l.records, &where), EM_ERR_CANCELED);
		/* It is called some more times at most. */
		assert_in_range(w.calls, at, at + 1024);
		assert_stuck(l.s, EM_ERR_CANCELED);
		seen |= where[0] == 'p' ? 1u : where[0] == 'f' ? 2u : 4u;
		em_sorter_close(l.s);
	}
	assert_true(seen == 7 || test_sparse() > 1);
	l.s = NULL;
	life_close(&l);
}

static void test_cancel_between_calls(void **state)
{
	int stage;
	life l;

	(void)state;
	for (stage = 0; stage < STAGES - 1; stage++) {
		life_open(&l, 2);
		advance(&l, stage);
		em_sorter_cancel(l.s);
		if (stage < 6)
			assert_int_equal(em_sorter_push(l.s, l.records, 1), EM_ERR_CANCELED);
		else
			assert_int_equal(em_sorter_next(l.s, &(const em_batch *){ NULL }), EM_ERR_CANCELED);
		assert_stuck(l.s, EM_ERR_CANCELED);
		life_close(&l);
	}
}

/* Now and then a comparison takes longer than progress may be silent. */
static int dawdling(const void *a, const void *b, void *user)
{
	watcher *w = user;

	if (++w->calls % w->at == 0) {
		const struct timespec t = { 0, 110000000 };

		nanosleep(&t, NULL);
	}
	return by_key(a, b);
}

typedef struct viewer {
	uint32_t stop_in;       /* phase */
	uint32_t phase;
	uint64_t done;
	unsigned calls[TEST_PHASES];
	int wrong;
} viewer;

static int view(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	viewer *v = user;

	if (phase >= TEST_PHASES || phase < v->phase || (phase == v->phase && done < v->done) ||
	    (total != 0 && done > total) || (phase == EM_PHASE_OUTPUT && total != N * 16))
		v->wrong++;
	else
		v->calls[phase]++;
	v->phase = phase;
	v->done = done;
	return phase == v->stop_in;
}

static void test_progress(void **state)
{
	static const char *const calls[] = { "push", "finish", "next" };
	const char *where;
	watcher w;
	viewer v;
	life l;
	uint32_t phase;

	(void)state;
	memset(&w, 0, sizeof(w));
	life_open(&l, 1);
	w.at = 4000;
	use_function(&l, dawdling, &w);
	l.opts.progress = view;
	l.opts.progress_user = &v;
	for (phase = 0; phase <= TEST_PHASES; phase++) {
		memset(&v, 0, sizeof(v));
		v.stop_in = phase;
		w.calls = 0;
		open_sorter(&l);
		if (phase == TEST_PHASES) {
			assert_int_equal(whole_life(l.s, l.records, &where), EM_END);
			assert_true(v.calls[0] > 0 && v.calls[1] > 0 && v.calls[2] > 0);
		} else {
			assert_int_equal(whole_life(l.s, l.records, &where), EM_ERR_CANCELED);
			assert_string_equal(where, calls[phase]);
			/* It was told once and believed. */
			assert_int_equal(v.calls[phase], 1);
			assert_stuck(l.s, EM_ERR_CANCELED);
		}
		assert_int_equal(v.wrong, 0);
		em_sorter_close(l.s);
		l.s = NULL;
	}
	life_close(&l);
}

/* In a child of a fork: 0 when everything is refused and can still be closed. */
static int in_child(life *l)
{
	em_sort_plan_info info;
	const em_batch *batch;
	em_order *order;
	em_errinfo err;
	em_sorter *s;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	memset(&err, 0, sizeof(err));
	if (em_sorter_push(l->s, l->records, N) != EM_ERR_FORK || em_sorter_finish(l->s) != EM_ERR_FORK ||
	    em_sorter_next(l->s, &batch) != EM_ERR_FORK)
		return 1;
	em_sorter_error(l->s, &err);
	if (err.status != EM_ERR_FORK || err.text[0] == '\0')
		return 2;
	if (em_sorter_open(&s, l->ctx, l->order, &l->opts) != EM_ERR_FORK || s != NULL)
		return 3;
	if (em_sort_plan(l->ctx, l->order, N, &l->opts, &info) != EM_ERR_FORK)
		return 4;
	if (em_order_keys(&order, l->ctx, 16, l->shape.key, 1, NULL) != EM_ERR_FORK)
		return 5;
	em_sorter_cancel(l->s);
	em_sorter_close(l->s);
	em_order_close(l->order);
	em_ctx_close(l->ctx);
	return l->mem.blocks == 0 && l->mem.errors == 0 ? 0 : 6;
}

static void test_fork(void **state)
{
	/* NULL: the best there is. */
	static const char *const backends[] = { "memory", "syscall", NULL };
	uint32_t threads;
	int stage;

	(void)state;
	if (TEST_TSAN)
		skip();
	for (threads = 1; threads <= 3; threads++) {
		for (stage = 0; stage < STAGES; stage++) {
			int status = -1;
			pid_t pid;
			life l;

			life_open_on(&l, threads, backends[threads - 1]);
			advance(&l, stage);
			fflush(NULL);
			pid = fork();
			assert_true(pid >= 0);
			if (pid == 0) {
				/* A child that hangs is one that failed. */
				alarm(60);
				_exit(in_child(&l));
			}
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
			if (stage == 0)
				assert_int_equal(em_sorter_push(l.s, l.records, N), EM_OK);
			else if (stage == 4)
				assert_int_equal(em_sorter_push(l.s, l.records + (RUN + 1) * 16, N - RUN - 1), EM_OK);
			if (stage == 0 || stage == 4 || stage == 5)
				assert_int_equal(em_sorter_finish(l.s), EM_OK);
			if (stage == 0 || (stage >= 4 && stage <= 6))
				sort_assert_pull(l.s, &l.shape, l.expected, N);
			if (stage >= 7)
				while (em_sorter_next(l.s, &(const em_batch *){ NULL }) == EM_OK)
					continue;
			life_close(&l);
		}
	}
}

/* Two passes move the data twice each way, and hardly anything else. */
static void test_volume(void **state)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	test_rng rng = test_rng_make(test_seed());
	const uint64_t n = (8u << 20) / 16, volume = n * 16;
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, n), *expected;
	uint64_t m = n, read = 0, written = 0, ios = 0;
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_stats stats;
	em_order *order;
	em_ctx *ctx;
	uint32_t i;

	(void)state;
	opts.threads = 2;
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, &shape);
	expected = sort_expected(&shape, records, &m, 0);
	so.run_records = n / 12;
	so.block_bytes = 32768;
	sort_assert_sorter(ctx, order, &so, &rng, &shape, records, n, expected, n, &stats);
	assert_int_equal(stats.passes, 2);
	assert_int_equal(stats.runs, 13);
	assert_int_equal(stats.run_records, n / 12);
	assert_int_equal(stats.fan_in, 13);
	assert_int_equal(stats.threads, 2);
	assert_int_equal(stats.block_bytes, 32768);
	for (i = 0; i < TEST_PHASES; i++) {
		read += test_phase(&stats, i).bytes_read;
		written += test_phase(&stats, i).bytes_written;
		ios += test_phase(&stats, i).ios_read + test_phase(&stats, i).ios_written;
		assert_true(test_phase(&stats, i).seconds >= 0 && test_phase(&stats, i).cpu_seconds >= 0 &&
			    test_phase(&stats, i).io_wait >= 0);
	}
	/* Pushed and pulled, so this is half of what file to file moves. */
	assert_true(read >= volume && read <= volume + volume / 100);
	assert_true(written >= volume && written <= volume + volume / 100);
	assert_true(ios >= 2 * volume / 32768);
	assert_true(stats.peak_scratch >= volume && stats.peak_scratch <= volume + volume / 50);
	/* Everything is written in one phase and read in another. */
	assert_int_equal(test_phase(&stats, EM_PHASE_RUNS).bytes_read, 0);
	assert_int_equal(test_phase(&stats, EM_PHASE_MERGE).bytes_read, 0);
	assert_int_equal(test_phase(&stats, EM_PHASE_MERGE).bytes_written, 0);
	assert_int_equal(test_phase(&stats, EM_PHASE_OUTPUT).bytes_written, 0);

	/* Three passes free blocks as they go: scratch hardly grows. */
	so.fan_in = 4;
	sort_assert_sorter(ctx, order, &so, &rng, &shape, records, n, expected, n, &stats);
	assert_int_equal(stats.passes, 3);
	assert_true(test_phase(&stats, EM_PHASE_MERGE).bytes_read >= volume / 2);
	assert_true(test_phase(&stats, EM_PHASE_MERGE).bytes_read <= volume + volume / 100);
	assert_true(stats.peak_scratch <= volume + volume / 4);

	/* What fits is not written at all. */
	so.fan_in = 0;
	so.run_records = 0;
	sort_assert_sorter(ctx, order, &so, &rng, &shape, records, n, expected, n, &stats);
	assert_int_equal(stats.passes, 0);
	assert_int_equal(stats.runs, 0);
	assert_int_equal(stats.peak_scratch, 0);
	for (i = 0; i < TEST_PHASES; i++)
		assert_int_equal(test_phase(&stats, i).ios_read + test_phase(&stats, i).ios_written, 0);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
	free(expected);
}

/* More runs than the memory was planned to list: the list grows as long as the context has memory, which is little, as
 * the blocks are in memory, too. */
static void test_too_many_runs(void **state)
{
	em_status st = EM_OK;
	uint64_t i;
	life l;

	(void)state;
	life_open_in(&l, 1, "memory", 4u << 20);
	l.opts.memory = 1u << 20;
	l.opts.run_records = 1;
	open_sorter(&l);
	for (i = 0; st == EM_OK && i < 10000000; i++) {
		st = em_sorter_push(l.s, l.records + (i % N) * 16, 1);
		assert_true(st == EM_OK || i > 10000);
	}
	assert_int_equal(st, EM_ERR_MEMLIMIT);
	assert_stuck(l.s, EM_ERR_MEMLIMIT);
	life_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_other_versions),
		cmocka_unit_test(test_call_order),
		cmocka_unit_test(test_close_at_every_stage),
		cmocka_unit_test(test_close_in_any_order),
		cmocka_unit_test(test_orphan),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_failing_function),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_between_calls),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_volume),
		cmocka_unit_test(test_too_many_runs),
	};

	return cmocka_run_group_tests_name("sorter life", tests, NULL, NULL);
}
