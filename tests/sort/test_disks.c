/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disks.c -- sorts whose scratch is on several disks give what a sort on one does, also when a disk fails or is
 * full.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/io_stats.h>

#include "common/test.h"
#include "sort/sort_model.h"

enum { DISKS = 4, N = 60000, BLOCK = 4096 };

typedef struct fixture {
	char *dir, *in, *out;
	test_rng rng;
	sort_shape shape;
	unsigned char *records, *sorted;
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	em_ctx_opts opts;
	em_sort_opts sort;
	em_errinfo err;
} fixture;

static int setup(void **state)
{
	static fixture f;
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	uint64_t n = N;
	uint32_t i;

	memset(&f, 0, sizeof f);
	f.rng = test_rng_make(test_seed());
	f.dir = test_dir_make();
	f.in = test_path(f.dir, "in");
	f.out = test_path(f.dir, "out");
	f.shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	f.records = sort_records(&f.rng, &f.shape, SORT_RANDOM, N);
	f.sorted = sort_expected(&f.shape, f.records, &n, 0);
	sort_write_file(f.in, f.records, N * f.shape.bytes);
	for (i = 0; i < DISKS; i++) {
		f.disk[i] = disk;
		f.disk[i].path = f.dir;
		f.list[i] = &f.disk[i];
	}
	f.opts = sort_ctx_opts();
	f.opts.backend = "syscall";
	f.opts.disks = f.list;
	f.opts.ndisks = DISKS;
	f.sort = sort;
	f.sort.run_records = 1 + N / 7;
	f.sort.block_bytes = BLOCK;
	f.sort.errinfo = &f.err;
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	fixture *f = *state;

	unlink(f->in);
	unlink(f->out);
	assert_dir_empty(f->dir);
	free(f->in);
	free(f->out);
	free(f->records);
	free(f->sorted);
	test_dir_remove(f->dir);
	return 0;
}

static em_status sort_the_files(fixture *f, em_sort_stats *stats)
{
	const char *const inputs[] = { f->in };
	em_ctx *ctx = sort_ctx(&f->opts);
	em_order *order = sort_order(ctx, &f->shape);
	em_status st;

	memset(&f->err, 0, sizeof f->err);
	stats->size = sizeof *stats;
	st = em_sort_files(ctx, order, inputs, 1, f->out, &f->sort, stats);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

static void assert_sorts(fixture *f)
{
	em_sort_stats stats = { 0 };

	if (sort_the_files(f, &stats) != EM_OK)
		fail_msg("%s", f->err.text);
	assert_true(stats.runs >= 7);
	assert_true(stats.peak_scratch != 0);
	sort_assert_file(f->out, f->sorted, N * f->shape.bytes);
	unlink(f->out);
}

/* Pushed and pulled, in one merge and in several. */
static void test_sorter(void **state)
{
	fixture *f = *state;
	uint32_t disks, fan_in, k;

	for (disks = 1; disks <= DISKS; disks++)
		for (fan_in = 0; fan_in <= 3; fan_in += 3)
			for (k = 0; k < 2; k++) {
				em_sort_stats stats = { 0 };
				em_order *order;
				em_ctx *ctx;

				f->opts.ndisks = disks;
				f->opts.backend = k == 0 ? "memory" : "syscall";
				f->opts.threads = 1 + disks % 3;
				f->sort.fan_in = fan_in;
				ctx = sort_ctx(&f->opts);
				order = sort_order(ctx, &f->shape);
				stats.size = sizeof stats;
				sort_assert_sorter(ctx, order, &f->sort, &f->rng, &f->shape, f->records, N, f->sorted,
						   N, &stats);
				assert_true(stats.runs >= 7);
				em_order_close(order);
				em_ctx_close(ctx);
			}
}

static void test_files(void **state)
{
	fixture *f = *state;
	char *named = test_path(f->dir, "named");
	uint32_t disks;

	f->disk[1].path = named;
	f->disk[2].backend = "memory";
	for (disks = 1; disks <= DISKS; disks++) {
		f->opts.ndisks = disks;
		f->sort.fan_in = disks == 3 ? 2 : 0;
		assert_sorts(f);
	}
	free(named);
}

/* Two directories are two disks, and do the same amount of work. */
static void test_directories(void **state)
{
	fixture *f = *state;
	char *other = test_dir_make();
	const char *dirs[2] = { f->dir, other };

	f->opts.dirs = dirs;
	f->opts.ndirs = 2;
	f->opts.disks = NULL;
	f->opts.ndisks = 0;
	assert_sorts(f);
	assert_dir_empty(other);
	test_dir_remove(other);
}

/* All disks are used, none much more than another. */
static void test_spread(void **state)
{
	fixture *f = *state;
	em_fault count[DISKS];
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < DISKS; i++) {
		assert_int_equal(em_fault_init(&count[i], sizeof count[i], em_backend_find("syscall")), EM_OK);
		count[i].ops = EM_FAULT_WRITE;
		f->disk[i].custom = em_fault_backend(&count[i]);
	}
	assert_sorts(f);
	for (i = 0; i < DISKS; i++)
		sum += count[i].count;
	for (i = 0; i < DISKS; i++)
		assert_in_range(count[i].count * DISKS, sum * 3 / 4, sum * 5 / 4);
}

/* A full disk is passed over; when all are there is no more room. */
static void test_full(void **state)
{
	fixture *f = *state;
	em_sort_stats stats = { 0 };
	uint32_t i;

	f->disk[0].capacity = 5 * BLOCK;
	f->disk[2].capacity = 64 * BLOCK;
	assert_sorts(f);
	for (i = 0; i < DISKS; i++)
		f->disk[i].capacity = 30 * BLOCK;
	assert_int_equal(sort_the_files(f, &stats), EM_ERR_NOSPACE);
	assert_int_equal(access(f->out, F_OK), -1);
	/* Nobody knows before that these are too few. */
	for (i = 0; i < DISKS; i++)
		f->disk[i].capacity = N * f->shape.bytes / DISKS;
	if (sort_the_files(f, &stats) == EM_OK)
		unlink(f->out);
}

/* One of five writes of one disk fails once, one of ten reads. */
static void test_failing(void **state)
{
	fixture *f = *state;
	uint64_t nth, failed = 0;
	em_fault fault;
	uint32_t read;

	for (read = 0; read < 2; read++)
		for (nth = test_nth_after(0, read ? 10 : 5);; nth = test_nth_after(nth, read ? 10 : 5)) {
			em_sort_stats stats = { 0 };
			em_status st;

			assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("syscall")), EM_OK);
			fault.ops = read ? EM_FAULT_READ : EM_FAULT_WRITE;
			fault.nth = nth;
			f->disk[1].custom = em_fault_backend(&fault);
			st = sort_the_files(f, &stats);
			if (fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				sort_assert_file(f->out, f->sorted, N * f->shape.bytes);
				unlink(f->out);
				break;
			}
			failed++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(f->err.status, EM_ERR_IO);
			assert_int_equal(access(f->out, F_OK), -1);
		}
	assert_true(failed > 5 || !test_sweeps());
}

/* A file that is not ours is not touched. */
static void test_refused(void **state)
{
	fixture *f = *state;
	char *other = test_path(f->dir, "other");
	em_sort_stats stats = { 0 };

	sort_write_file(other, "mine", 4);
	f->disk[3].path = other;
	assert_int_equal(sort_the_files(f, &stats), EM_ERR_EXIST);
	assert_string_equal(f->err.path, other);
	sort_assert_file(other, "mine", 4);
	f->disk[3].flags = EM_DISK_FORCE;
	assert_sorts(f);
	sort_assert_file(other, "", 0);
	unlink(other);
	free(other);
}

/* So many disks that there is not memory for all their buffers are no reason to refuse a sort. */
static void test_many(void **state)
{
	fixture *f = *state;
	const char *dirs[40];
	char *made[40];
	uint32_t i;

	for (i = 0; i < 40; i++) {
		made[i] = test_dir_make();
		dirs[i] = made[i];
	}
	f->opts.backend = "memory";
	f->opts.memory = 8u << 20;
	f->opts.disks = NULL;
	f->opts.ndisks = 0;
	f->opts.dirs = dirs;
	f->opts.ndirs = 40;
	assert_sorts(f);
	for (i = 0; i < 40; i++) {
		assert_dir_empty(made[i]);
		test_dir_remove(made[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sorter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directories, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
