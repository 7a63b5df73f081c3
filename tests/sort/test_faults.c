/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_faults.c -- a sort in which everything that can fail fails, once each.
 *
 * A small sort of several merging passes is repeated: with its first allocation failing, its second, and so on until the
 * one that is to fail is not reached any more; then the same for every kind of operation on files and every way for it
 * to fail.  Each time: the right status, a detail that says what happened, no leak of memory or descriptors, nothing left
 * in the directory, and an existing output as it was, or complete.
 */
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

#include "sort/sort_model.h"

#define N 1100u
#define RUN 290u
#define FAN_IN 2u
#define MOST_EVENTS 1000u

/* One sort and what may go wrong with it. */
typedef struct trial {
	const char *backend;
	int32_t direct;
	int pushed;             /* with a sorter; else from file to file */
	char *dir, *in, *out;
	unsigned char *records, *expected;
	em_backend eager;       /* the backend, using asynchronous transfers from the first byte on */
	test_memory mem;
	em_fault fault;
	em_errinfo err;
	em_sort_stats stats;
} trial;

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

	return em_sort_files(ctx, order, inputs, 1, t->out, opts, &t->stats);
}

/* What is pulled must be right as far as it goes. */
static em_status push_and_pull(trial *t, em_ctx *ctx, const em_order *order, const em_sort_opts *opts)
{
	const em_batch *batch;
	em_errinfo err;
	em_status st;
	em_sorter *s;
	size_t at = 0;
	unsigned i;

	st = em_sorter_open(&s, ctx, order, opts);
	if (st != EM_OK) {
		assert_null(s);
		return st;
	}
	for (i = 0; i < N / 100 && st == EM_OK; i++)
		st = em_sorter_push(s, t->records + i * 1600u, 100);
	if (st == EM_OK)
		st = em_sorter_finish(s);
	while (st == EM_OK) {
		st = em_sorter_next(s, &batch);
		if (st != EM_OK)
			break;
		assert_true(at + batch->bytes <= N * 16);
		assert_memory_equal(batch->records, t->expected + at, batch->bytes);
		at += batch->bytes;
	}
	assert_int_equal(em_sorter_stats(s, &t->stats), EM_OK);
	if (st == EM_END) {
		assert_int_equal(at, N * 16);
		st = EM_OK;
	} else {
		/* The failure stays, and is told. */
		assert_int_equal(em_sorter_push(s, t->records, 1), st);
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
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	const char *const dirs[] = { t->dir };
	em_ctx_opts opts = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_order *order = NULL;
	em_ctx *ctx;
	em_status st;

	memset(&t->err, 0, sizeof(t->err));
	memset(&t->stats, 0, sizeof(t->stats));
	t->stats.size = sizeof(t->stats);
	opts.allocator = &t->mem.allocator;
	opts.custom = em_fault_backend(&t->fault);
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
	st = em_order_keys(&order, ctx, 16, shape.key, 1, &t->err);
	so.block_bytes = 4096;
	so.run_records = RUN;
	so.fan_in = FAN_IN;
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
		sort_assert_file(t->out, t->expected, N * 16);
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

/* Nothing goes wrong: how many allocations and operations that takes. */
static void rehearse(trial *t, uint64_t *allocations, uint64_t *operations)
{
	test_memory_init(&t->mem, 0);
	em_fault_init(&t->fault, &t->eager);
	if (run(t, 0) != EM_OK)
		fail_msg("%s", t->err.text);
	/* Two merging passes and the forming of runs. */
	assert_int_equal(t->stats.runs, (N + RUN - 1) / RUN);
	assert_true(t->stats.passes >= 3);
	*allocations = t->mem.calls;
	*operations = t->fault.count;
	assert_true(*allocations + *operations <= MOST_EVENTS);
}

static uint64_t sweep_allocations(trial *t)
{
	uint64_t nth;

	for (nth = 1;; nth++) {
		em_status st;

		test_memory_init(&t->mem, nth);
		em_fault_init(&t->fault, &t->eager);
		st = run(t, nth % 2 == 0);
		if (!test_memory_failed(&t->mem)) {
			assert_int_equal(st, EM_OK);
			return nth - 1;
		}
		if (st != EM_ERR_NOMEM)
			fail_msg("allocation %u fails: %s, \"%s\"", (unsigned)nth, em_status_name(st), t->err.text);
	}
}

/* Let each operation of one kind fail in one way. */
static uint64_t sweep_operation(trial *t, uint32_t op, int sys_errno)
{
	uint64_t nth;

	for (nth = 1;; nth++) {
		em_status st, right = sys_errno == EIO ? EM_ERR_IO : sys_errno == ENOSPC ? EM_ERR_NOSPACE : EM_OK;

		test_memory_init(&t->mem, 0);
		em_fault_init(&t->fault, &t->eager);
		t->fault.ops = op;
		t->fault.nth = nth;
		t->fault.sys_errno = sys_errno;
		st = run(t, nth % 2 == 0);
		if (t->fault.injected == 0) {
			assert_int_equal(st, EM_OK);
			return nth - 1;
		}
		assert_int_equal(t->fault.injected, 1);
		/* What cannot be handed over is moved in another way.  Less space than was hoped for may do, and what a
		 * size was asked for may be found out otherwise. */
		if (op == EM_FAULT_SUBMIT || (op == EM_FAULT_RESERVE && sys_errno == ENOSPC && st == EM_OK) ||
		    (op == EM_FAULT_SIZE && st == EM_OK))
			right = EM_OK;
		if (st != right)
			fail_msg("%s: %s %u fails with %s: %s, \"%s\"", t->backend, op_name(op), (unsigned)nth,
				 sys_errno == 0 ? "less" : strerror(sys_errno), em_status_name(st), t->err.text);
		if (st != EM_OK)
			assert_detail(t, op, sys_errno);
	}
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
	uint64_t nth, cases = 0;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		for (nth = 1;; nth += 7) {
			em_status st;

			test_memory_init(&t->mem, 0);
			em_fault_init(&t->fault, &t->eager);
			t->fault.ops = ways[i].ops;
			t->fault.nth = nth;
			t->fault.times = UINT64_MAX;
			t->fault.sys_errno = ways[i].sys_errno;
			st = run(t, nth % 2 == 0);
			if (t->fault.injected == 0)
				break;
			cases++;
			assert_int_equal(st, ways[i].right);
			assert_int_equal(t->err.sys_errno, ways[i].sys_errno);
		}
		assert_true(nth > 1);
	}
	return cases;
}

static void sweep(const char *backend, int32_t direct, int pushed)
{
	static const uint32_t ops[] = { EM_FAULT_OPEN,	  EM_FAULT_SIZE, EM_FAULT_RESIZE, EM_FAULT_RESERVE,
					EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_SUBMIT };
	static const int kinds[] = { EIO, ENOSPC, 0, EINTR };
	static const char *const kind_names[] = { "EIO", "ENOSPC", "short", "EINTR" };
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	test_rng rng = test_rng_make(test_seed());
	uint64_t n = N, allocations, operations, cases, swept[4];
	const em_backend *be = em_backend_find(backend);
	size_t i, k;
	trial t;

	if (be == NULL) {
		print_message("%s is not here\n", backend);
		return;
	}
	memset(&t, 0, sizeof(t));
	t.backend = backend;
	t.direct = direct;
	t.pushed = pushed;
	t.eager = *be;
	t.eager.user = (void *)(uintptr_t)be;
	t.eager.open = eager_open;
	t.dir = test_dir_make();
	t.in = test_path(t.dir, "in");
	t.out = test_path(t.dir, "out");
	t.records = sort_records(&rng, &shape, SORT_RANDOM, N);
	t.expected = sort_expected(&shape, t.records, &n, 0);
	sort_write_file(t.in, t.records, N * 16);

	rehearse(&t, &allocations, &operations);
	cases = sweep_allocations(&t);
	printf("# %s, %s: %u allocations, %u operations; failed once each: %u allocations;", backend,
	       pushed ? "push and pull" : "file to file", (unsigned)allocations, (unsigned)operations, (unsigned)cases);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		uint64_t most = 0;

		for (k = 0; k < 4; k++) {
			/* A submission has no other ways to fail. */
			swept[k] = ops[i] == EM_FAULT_SUBMIT && k % 3 != 0 ? 0 : sweep_operation(&t, ops[i], kinds[k]);
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
	cases += sweep_for_good(&t);
	printf(" %u cases\n", (unsigned)cases);
	fflush(stdout);
	free(t.records);
	free(t.expected);
	free(t.in);
	free(t.out);
	test_dir_remove(t.dir);
}

static void test_syscall_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0);
}

static void test_libaio_files(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 0);
}

static void test_memory_files(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 0);
}

static void test_syscall_sorter(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 1);
}

static void test_libaio_sorter(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 1);
}

static void test_memory_sorter(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall_files),
		cmocka_unit_test(test_libaio_files),
		cmocka_unit_test(test_memory_files),
		cmocka_unit_test(test_syscall_sorter),
		cmocka_unit_test(test_libaio_sorter),
		cmocka_unit_test(test_memory_sorter),
	};

	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
