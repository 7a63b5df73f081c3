/* SPDX-License-Identifier: BSL-1.0 */
/* fault_sweep.c -- see fault_sweep.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "sort/fault_places.h"
#include "sort/fault_sweep.h"
#include "sort/sort_model.h"

#define MOST_EVENTS 1000u
#define SEEN (1u << 16)
#define GOOD_STEP 7u            /* one of so many operations is the first of those that fail for good */
#define ATTEMPTS 3              /* threads may go another way, and never come by */

/* One sort and what may go wrong with it. */
typedef struct trial {
	const fault_sort *sort;
	const char *backend;
	int32_t direct;
	int pushed;             /* with a sorter; else from file to file */
	char *dir, *in, *out;
	em_backend eager;       /* the backend, using asynchronous transfers from the first byte on */
	test_memory mem;
	em_fault fault;
	test_places places;     /* reached in this run ... */
	test_places known;      /* ... and in the rehearsal */
	uint64_t turn;          /* what could fail and was looked at */
	uint64_t cases;         /* what did fail */
	em_errinfo err;
	em_sort_stats stats;
} trial;

/* What failed as the first or the last at a place, in one way: keys, 0 is free. */
static uint64_t seen[SEEN];

static int eager_open(void *user, em_backend_open *how)
{
	const em_backend *be = user;
	int e = be->open(be->user, how);

	how->async_from = 0;
	return e;
}

static em_status sort_files(trial *t, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	const char *const inputs[] = { t->in };

	if (t->sort->files != NULL)
		return t->sort->files(ctx, order, t->in, t->out, opts, &t->stats);
	return em_sort_files(ctx, order, inputs, 1, t->out, opts, &t->stats);
}

/* A batch must be what is expected behind so many bytes and records. */
static void assert_batch(const fault_sort *sort, const em_batch *batch, size_t at, size_t record)
{
	size_t i;

	assert_true(batch->n != 0 && at + batch->bytes <= sort->pulled_bytes && record + batch->n <= sort->records);
	if (batch->bytes != 0)
		assert_memory_equal(batch->records, (const unsigned char *)sort->pulled + at, batch->bytes);
	for (i = 0; sort->ends != NULL && i < batch->n; i++)
		assert_int_equal(at + batch->ends[i], sort->ends[record + i]);
}

/* What is pulled must be right as far as it goes. */
static em_status push_and_pull(trial *t, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	const em_batch *batch;
	em_errinfo err;
	em_status st;
	em_sorter *s;
	size_t at = 0, record = 0;

	st = em_sorter_open(&s, ctx, order, opts);
	if (st != EM_OK) {
		assert_null(s);
		return st;
	}
	st = t->sort->push(s, t->sort);
	if (st == EM_OK)
		st = em_sorter_finish(s);
	while (st == EM_OK) {
		st = em_sorter_next(s, &batch);
		if (st != EM_OK)
			break;
		assert_batch(t->sort, batch, at, record);
		at += batch->bytes;
		record += batch->n;
	}
	assert_int_equal(em_sorter_stats_get(s, &t->stats), EM_OK);
	if (st == EM_END) {
		assert_int_equal(at, t->sort->pulled_bytes);
		assert_int_equal(record, t->sort->records);
		st = EM_OK;
	} else {
		/* The failure stays, and is told. */
		assert_int_equal(t->sort->push(s, t->sort), st);
		assert_int_equal(em_sorter_finish(s), st);
		assert_int_equal(em_sorter_next(s, &batch), st);
		em_sorter_error(s, &err);
		t->err = err;
	}
	em_sorter_close(s);
	return st;
}

/* All of a sort, context and order included. */
static em_status attempt(trial *t)
{
	const char *const dirs[] = { t->dir };
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_opts so = t->sort->opts;
	em_order *order = NULL;
	em_ctx *ctx;
	em_status st;

	memset(&t->err, 0, sizeof(t->err));
	memset(&t->stats, 0, sizeof(t->stats));
	t->stats.size = sizeof(t->stats);
	/* Without a size of memory a sorter takes half of it: others may come. */
	opts.memory = t->pushed ? 2 * t->sort->memory : t->sort->memory;
	opts.allocator = &t->mem.allocator;
	opts.custom = fault_places_backend();
	opts.backend = NULL;
	opts.direct = t->direct;
	opts.threads = 2;
	opts.dirs = dirs;
	opts.ndirs = 1;
	opts.errinfo = &t->err;
	st = em_ctx_open(&ctx, &opts);
	if (st != EM_OK) {
		assert_null(ctx);
		return st;
	}
	st = t->sort->order(&order, ctx, &t->err);
	so.errinfo = &t->err;
	if (st == EM_OK)
		st = t->pushed ? push_and_pull(t, ctx, order, &so) : sort_files(t, ctx, order, &so);
	else
		assert_null(order);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

/* Only these names are in the directory. */
static void assert_only(const char *dir, const char *a, const char *b)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (a != NULL && strcmp(e->d_name, a) == 0) || (b != NULL && strcmp(e->d_name, b) == 0))
			continue;
		fail_msg("%s was left behind", e->d_name);
	}
	closedir(d);
}

/* Repeat the sort with what was prepared to go wrong, and look at all that must hold whatever it was. */
static em_status run(trial *t, int existing)
{
	unsigned fds = sort_open_fds();
	em_status st;

	if (existing)
		sort_write_file(t->out, "as it was", 9);
	st = attempt(t);
	test_memory_assert_clean(&t->mem);
	assert_int_equal(sort_open_fds(), fds);
	if (t->pushed)
		assert_only(t->dir, "in", existing ? "out" : NULL);
	else
		assert_only(t->dir, "in", st == EM_OK || existing ? "out" : NULL);
	if (st == EM_OK && !t->pushed)
		sort_assert_file(t->out, t->sort->out, t->sort->out_bytes);
	else if (existing)
		sort_assert_file(t->out, "as it was", 9);
	unlink(t->out);
	assert_int_equal(t->err.status, st);
	assert_true(st == EM_OK || t->err.text[0] != '\0');
	return st;
}

static const char *op_name(uint32_t op)
{
	switch (op) {
	case EM_FAULT_OPEN:
		return "open";
	case EM_FAULT_SIZE:
		return "stat";
	case EM_FAULT_RESIZE:
		return "resize";
	case EM_FAULT_RESERVE:
		return "reserve";
	case EM_FAULT_READ:
		return "read";
	case EM_FAULT_WRITE:
		return "write";
	case EM_FAULT_DISCARD:
		return "discard";
	default:
		return "submit";
	}
}

/* A detail tells what failed, where, and why. */
static void assert_detail(const trial *t, uint32_t op, int sys_errno)
{
	assert_int_equal(t->err.sys_errno, sys_errno);
	assert_string_equal(t->err.op, op_name(op));
	if (strstr(t->err.path, t->dir) == NULL)
		fail_msg("\"%s\" is not in %s", t->err.path, t->dir);
	if (strstr(t->err.text, op_name(op)) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", t->err.text, op_name(op));
	if (op == EM_FAULT_READ || op == EM_FAULT_WRITE) {
		assert_true(t->err.offset != UINT64_MAX);
		assert_true(t->err.bytes > 0);
	}
}

/* One of so many fails: of long sorts, and of all in slow builds; 1: each one, also where places cannot be told
 * apart. */
static uint64_t sparse(const trial *t)
{
	return test_place_known() ? test_every(t->sort->every * test_sparse()) : 1;
}

/* The nth thing at this place is going to fail; key 0: nothing is. */
static void prepare(trial *t, uint64_t key, uint64_t nth, int sys_errno)
{
	test_memory_init(&t->mem, 0);
	t->mem.places = &t->places;
	assert_int_equal(em_fault_init(&t->fault, sizeof t->fault, &t->eager), EM_OK);
	t->fault.sys_errno = sys_errno;
	fault_places_set(&t->fault, &t->places);
	test_place_begin(&t->places, key, nth);
}

/* Nothing goes wrong: how many allocations and operations that takes. */
static void rehearse(trial *t, uint64_t *allocations, uint64_t *operations)
{
	prepare(t, 0, 0, 0);
	if (run(t, 0) != EM_OK)
		fail_msg("%s", t->err.text);
	/* Two merging passes and the forming of runs. */
	assert_true(t->stats.runs >= t->sort->runs);
	assert_true(t->sort->straight ? t->stats.passes == 1
		    : t->sort->kept   ? t->stats.passes == 2
				      : t->stats.passes >= 3);
	assert_true((t->stats.kept_records != 0) == (t->sort->kept != 0));
	t->known = t->places;
	*allocations = t->mem.calls;
	*operations = t->known.reached - t->mem.calls;
	assert_true(t->known.reached <= MOST_EVENTS);
}

/* Is it the first time?  From then on it is not. */
static int is_new(uint64_t key)
{
	uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 48;

	for (;; i++) {
		uint64_t *slot = &seen[i % SEEN];

		if (*slot == key)
			return 0;
		if (*slot == 0) {
			*slot = key;
			return 1;
		}
	}
}

/* Is the nth at this place to fail in this way?  Allocations are alike, but the last transfer is often waited for
 * elsewhere. */
static int is_chosen(trial *t, const test_place *p, uint64_t nth, int sys_errno)
{
	const uint64_t step = sparse(t), way = (uint64_t)(uint32_t)sys_errno << 1;

	if (t->turn++ % step == 0)
		return 1;
	if (nth == 1 && is_new((p->key ^ way << 40) | 1))
		return 1;
	return p->kind != 0 && nth == p->count && is_new((p->key ^ (way + 1) << 40) | 1);
}

/* Run with the nth at this place failing; EM_END when it was not reached. */
static em_status fail_there(trial *t, const test_place *p, uint64_t nth, int sys_errno)
{
	em_status st;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		prepare(t, p->key, nth, sys_errno);
		st = run(t, t->cases % 2 != 0);
		if (t->places.failed != 0) {
			t->cases++;
			return st;
		}
		if (st != EM_OK)
			fail_msg("nothing failed: %s, \"%s\"", em_status_name(st), t->err.text);
	}
	return EM_END;
}

static void fail_allocation(trial *t, const test_place *p, uint64_t nth)
{
	const em_status st = fail_there(t, p, nth, ENOMEM);

	if (st != EM_END && st != EM_ERR_NOMEM && !(t->sort->spare && st == EM_OK))
		fail_msg("allocation %u of those at one place fails: %s, \"%s\"", (unsigned)nth, em_status_name(st),
			 t->err.text);
}

static void fail_operation(trial *t, const test_place *p, uint64_t nth, int sys_errno)
{
	const uint32_t op = p->kind;
	em_status right = sys_errno == EIO ? EM_ERR_IO : sys_errno == ENOSPC ? EM_ERR_NOSPACE : EM_OK;
	const em_status st = fail_there(t, p, nth, sys_errno);

	if (st == EM_END)
		return;
	assert_int_equal(t->fault.injected, 1);
	/* What cannot be handed over is moved in another way, space that does not go back stays.  Less space than was
	 * hoped for may do, and what a size was asked for may be found out otherwise. */
	if (op == EM_FAULT_SUBMIT || op == EM_FAULT_DISCARD || (op == EM_FAULT_SIZE && st == EM_OK) ||
	    (op == EM_FAULT_RESERVE && sys_errno == ENOSPC && st == EM_OK))
		right = EM_OK;
	if (st != right)
		fail_msg("%s: %s %u of those at one place fails with %s: %s, \"%s\"", t->backend, op_name(op),
			 (unsigned)nth, sys_errno == 0 ? "less" : strerror(sys_errno), em_status_name(st), t->err.text);
	if (st != EM_OK)
		assert_detail(t, op, sys_errno);
}

/* Let what is of one kind fail in one way, and tell how much did. */
static uint64_t sweep_kind(trial *t, uint32_t kind, int sys_errno)
{
	const uint64_t cases = t->cases;
	uint64_t nth;
	size_t i;

	t->turn = test_first_of(sparse(t));
	for (i = 0; i < TEST_PLACES; i++) {
		const test_place *p = &t->known.place[i];

		if (p->key == 0 || p->kind != kind)
			continue;
		for (nth = 1; nth <= p->count; nth++) {
			if (!is_chosen(t, p, nth, sys_errno))
				continue;
			if (kind == 0)
				fail_allocation(t, p, nth);
			else
				fail_operation(t, p, nth, sys_errno);
		}
	}
	return t->cases - cases;
}

/* From some operation on all of them fail: a disk that is full or gone, a signal that never ends. */
static uint64_t sweep_for_good(trial *t)
{
	static const struct {
		uint32_t ops;
		int sys_errno;
		em_status right;
	} ways[] = {
		{ EM_FAULT_WRITE | EM_FAULT_RESERVE, ENOSPC, EM_ERR_NOSPACE },
		{ EM_FAULT_ALL, EIO, EM_ERR_IO },
		{ EM_FAULT_READ, EINTR, EM_ERR_IO },
	};
	const uint64_t every = t->sort->every > GOOD_STEP ? t->sort->every : GOOD_STEP;
	uint64_t nth, cases = 0;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const uint64_t before = cases;

		for (nth = test_nth_after(0, every);; nth = test_nth_after(nth, every)) {
			em_status st;

			prepare(t, 0, 0, ways[i].sys_errno);
			fault_places_set(&t->fault, NULL);
			t->fault.ops = ways[i].ops;
			t->fault.nth = nth;
			t->fault.times = UINT64_MAX;
			st = run(t, nth % 2 == 0);
			if (t->fault.injected == 0)
				break;
			cases++;
			assert_int_equal(st, ways[i].right);
			assert_int_equal(t->err.sys_errno, ways[i].sys_errno);
		}
		assert_true(cases > before);
	}
	return cases;
}

/* Let everything fail, and print what did. */
static void sweep_all(trial *t)
{
	static const uint32_t ops[] = { EM_FAULT_OPEN,	  EM_FAULT_SIZE, EM_FAULT_RESIZE, EM_FAULT_RESERVE,
					EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_SUBMIT, EM_FAULT_DISCARD };
	static const int kinds[] = { EIO, ENOSPC, 0, EINTR };
	static const char *const kind_names[] = { "EIO", "ENOSPC", "short", "EINTR" };
	uint64_t cases = sweep_kind(t, 0, ENOMEM), swept[4];
	size_t i, k;

	printf("# failed once each: %u allocations;", (unsigned)cases);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		uint64_t most = 0;

		for (k = 0; k < 4; k++) {
			/* A submission has no other ways to fail. */
			swept[k] = ops[i] == EM_FAULT_SUBMIT && k % 3 != 0 ? 0 : sweep_kind(t, ops[i], kinds[k]);
			cases += swept[k];
			if (swept[k] > most)
				most = swept[k];
		}
		if (most == 0)
			continue;
		printf(" %s", op_name(ops[i]));
		for (k = 0; k < 4; k++)
			printf("%s%u %s", k ? ", " : " ", (unsigned)swept[k], kind_names[k]);
		printf(";");
	}
	cases += sweep_for_good(t);
	printf(" %u cases\n", (unsigned)cases);
}

/* Operations fail by chance, in one way; what is tried again when it fails so comes to its end. */
static void by_chance(trial *t, uint32_t ops, int sys_errno, uint64_t one_in, em_status right, uint64_t seed)
{
	em_status st;

	prepare(t, 0, 0, sys_errno);
	fault_places_set(&t->fault, NULL);
	em_fault_set_random(&t->fault, ops, one_in, seed);
	st = run(t, seed % 2 == 0);
	if (st != EM_OK && (st != right || t->fault.injected == 0))
		fail_msg("%s: one in %u fails with %s: %s, \"%s\"", t->backend, (unsigned)one_in,
			 sys_errno == 0 ? "less" : strerror(sys_errno), em_status_name(st), t->err.text);
	if (st != EM_OK)
		assert_int_equal(t->err.sys_errno, sys_errno);
	/* Each transfer is needed. */
	if (right != EM_OK && (ops & ~(EM_FAULT_READ | EM_FAULT_WRITE)) == 0)
		assert_int_equal(st != EM_OK, t->fault.injected != 0);
	t->cases += st != EM_OK;
}

unsigned char *fault_expect(fault_sort *sort)
{
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const em_ctx_opts o = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&o);
	em_order *order;
	unsigned char *got;

	sort_write_file(in, sort->in, sort->in_bytes);
	assert_int_equal(sort->order(&order, ctx, NULL), EM_OK);
	assert_int_equal(sort->files(ctx, order, in, out, &sort->opts, NULL), EM_OK);
	got = sort_read_file(out, &sort->out_bytes);
	sort->out = got;
	em_order_close(order);
	em_ctx_close(ctx);
	free(in);
	free(out);
	test_dir_remove(dir);
	return got;
}

/* 0: there is no such backend. */
static int trial_open(trial *t, const fault_sort *sort, const char *backend, int32_t direct, int pushed)
{
	const em_backend *be = em_backend_find(backend);

	if (be == NULL) {
		print_message("%s is not here\n", backend);
		return 0;
	}
	memset(t, 0, sizeof(*t));
	t->sort = sort;
	t->backend = backend;
	t->direct = direct;
	t->pushed = pushed;
	t->eager = *be;
	t->eager.user = (void *)(uintptr_t)be;
	t->eager.open = eager_open;
	t->dir = test_dir_make();
	t->in = test_path(t->dir, "in");
	t->out = test_path(t->dir, "out");
	sort_write_file(t->in, sort->in, sort->in_bytes);
	return 1;
}

static void trial_close(trial *t)
{
	fflush(stdout);
	free(t->in);
	free(t->out);
	test_dir_remove(t->dir);
}

void fault_sweep(const fault_sort *sort, const char *backend, int32_t direct, int pushed)
{
	uint64_t allocations, operations;
	trial t;

	if (!trial_open(&t, sort, backend, direct, pushed))
		return;
	rehearse(&t, &allocations, &operations);
	printf("# %s, %s, %s: %u allocations, %u operations\n", sort->name, backend,
	       pushed ? "push and pull" : "file to file", (unsigned)allocations, (unsigned)operations);
	if (test_sweeps())
		sweep_all(&t);
	trial_close(&t);
}

void fault_chance(const fault_sort *sort, const char *backend, int32_t direct, int pushed)
{
	static const uint32_t moves = EM_FAULT_READ | EM_FAULT_WRITE,
			      all = EM_FAULT_ALL | EM_FAULT_SUBMIT | EM_FAULT_DISCARD;
	test_rng rng = test_rng_make(test_seed());
	unsigned i;
	trial t;

	if (!trial_open(&t, sort, backend, direct, pushed))
		return;
	for (i = 0; i < 2; i += test_step()) {
		by_chance(&t, all, EIO, 2, EM_ERR_IO, test_random(&rng));
		by_chance(&t, all, EIO, 50, EM_ERR_IO, test_random(&rng));
		by_chance(&t, moves, EIO, 50, EM_ERR_IO, test_random(&rng));
		by_chance(&t, moves, ENOSPC, 10, EM_ERR_NOSPACE, test_random(&rng));
		by_chance(&t, all, EINTR, 3, EM_OK, test_random(&rng));
		by_chance(&t, all, 0, 3, EM_OK, test_random(&rng));
	}
	printf("# %s, %s, %s: %u sorts failed by chance\n", sort->name, backend,
	       pushed ? "push and pull" : "file to file", (unsigned)t.cases);
	assert_true(t.cases != 0);
	trial_close(&t);
}
