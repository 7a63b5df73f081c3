/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_shared_disks.c -- sorts that fail, or that are closed before their end, while somebody else has the same disks:
 * these hold what that one has on them, and nothing else.
 *
 * Each way to sort goes through runs, and what is on the disks fails now and then: each time the blocks that are in use
 * are counted afterwards.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <extmem/shuffle.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/fault.h>
#include <extmem/unique.h>

#include "common/test.h"
#include "sort/sort_model.h"

enum { DISKS = 3, N = 30000, RUN = 3000, BLOCK = 4096, KEPT = 11 };

typedef struct shared {
	test_rng rng;
	em_fault fault;
	em_disk_opts disk[DISKS];
	const em_disk_opts *list[DISKS];
	em_ctx *ctx;
	em_disks *disks;        /* somebody else's */
	em_bid kept[KEPT];      /* its blocks */
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	char *dir, *in, *out;
	unsigned char *records;
	sort_shape shape;
} shared;

static int setup(void **state)
{
	const em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_sort_opts sort = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	static shared s;
	uint32_t i;

	memset(&s, 0, sizeof s);
	s.rng = test_rng_make(test_seed());
	assert_int_equal(em_fault_init(&s.fault, sizeof s.fault, em_backend_find("memory")), EM_OK);
	for (i = 0; i < DISKS; i++) {
		s.disk[i] = disk;
		s.disk[i].path = "/";
		s.disk[i].custom = em_fault_backend(&s.fault);
		s.list[i] = &s.disk[i];
	}
	opts.disks = s.list;
	opts.ndisks = DISKS;
	opts.backend = "syscall";
	opts.threads = 2;
	s.ctx = sort_ctx(&opts);
	assert_int_equal(em_disks_open(&s.disks, s.ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(s.disks, s.kept, KEPT, BLOCK, NULL, 0), EM_OK);
	s.shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	s.order = sort_order(s.ctx, &s.shape);
	s.opts = sort;
	s.opts.run_records = RUN;
	s.opts.block_bytes = BLOCK;
	s.opts.fan_in = 4;
	s.opts.errinfo = &s.err;
	s.records = sort_records(&s.rng, &s.shape, SORT_RANDOM, N);
	s.dir = test_dir_make();
	s.in = test_path(s.dir, "in");
	s.out = test_path(s.dir, "out");
	sort_write_file(s.in, s.records, (size_t)N * 16);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	shared *s = *state;

	assert_int_equal(em_bids_free(s->disks, s->kept, KEPT, BLOCK), EM_OK);
	em_disks_close(s->disks);
	em_order_close(s->order);
	em_ctx_close(s->ctx);
	free(s->records);
	free(s->in);
	free(s->out);
	test_dir_remove(s->dir);
	return 0;
}

static em_disks_stats stats_of(const shared *s)
{
	em_disks_stats st = EM_DISKS_STATS_INIT;

	assert_int_equal(em_disks_stats_get(s->disks, EM_DISKS_ALL, &st), EM_OK);
	return st;
}

/* Push all, and pull a batch or two. */
static em_status pull_some(shared *s)
{
	em_sorter *sorter;
	const em_batch *batch;
	em_status st;

	assert_int_equal(em_sorter_open(&sorter, s->ctx, s->order, &s->opts), EM_OK);
	st = em_sorter_push(sorter, s->records, N);
	if (st == EM_OK)
		st = em_sorter_finish(sorter);
	if (st == EM_OK)
		st = em_sorter_next(sorter, &batch);
	if (st == EM_OK)
		st = em_sorter_next(sorter, &batch);
	em_sorter_close(sorter);
	return st;
}

static em_status push_some(shared *s)
{
	em_sorter *sorter;
	em_status st;

	assert_int_equal(em_sorter_open(&sorter, s->ctx, s->order, &s->opts), EM_OK);
	st = em_sorter_push(sorter, s->records, N - 1);
	em_sorter_close(sorter);
	return st;
}

static em_status sort_file(shared *s)
{
	const char *const in[] = { s->in };

	return em_sort_files(s->ctx, s->order, in, 1, s->out, &s->opts, NULL);
}

static em_status shuffle_file(shared *s)
{
	const char *const in[] = { s->in };
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;

	opts.run_records = RUN;
	opts.block_bytes = BLOCK;
	opts.fan_in = 4;
	return em_shuffle_files(s->ctx, 16, in, 1, s->out, &opts, NULL);
}

static em_status unique_file(shared *s)
{
	const char *const in[] = { s->in };
	em_unique_opts opts = EM_UNIQUE_OPTS_INIT;

	opts.sort = &s->opts;
	return em_unique_files(s->ctx, s->order, in, 1, s->out, &opts, NULL);
}

/* Random bytes are lines, too: of 256 bytes on average. */
static em_status sort_lines(shared *s)
{
	const char *const in[] = { s->in };
	em_order *order;
	em_status st;

	assert_int_equal(em_order_text(&order, s->ctx, NULL, 0, NULL, NULL), EM_OK);
	s->opts.run_records = 10;
	s->opts.block_bytes = 0;
	st = em_sort_files(s->ctx, order, in, 1, s->out, &s->opts, NULL);
	s->opts.run_records = RUN;
	s->opts.block_bytes = BLOCK;
	em_order_close(order);
	return st;
}

/* Whatever happened, others' blocks are all that is there; it did use the disks. */
static void assert_left(const shared *s)
{
	const em_disks_stats now = stats_of(s);

	assert_int_equal(now.blocks, KEPT);
	assert_int_equal(now.bytes, (uint64_t)KEPT * BLOCK);
	assert_true(now.blocks_peak > 2 * KEPT);
}

static void fails_everywhere(shared *s, em_status (*sort)(shared *))
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE };
	unsigned failed = 0, i;
	em_status st = EM_ERR_IO;
	uint64_t nth;

	for (i = 0; i < 2; i++)
		for (nth = 0, st = EM_ERR_IO; st == EM_ERR_IO; failed++) {
			nth = test_nth_after(nth, 1 + nth / 2);
			em_fault_set(&s->fault, ops[i], nth, 1);
			st = sort(s);
			em_fault_set(&s->fault, 0, 0, 1);
			assert_left(s);
		}
	assert_int_equal(st, EM_OK);
	assert_true(failed > 4 || !test_sweeps());
}

static void test_sorter(void **state)
{
	fails_everywhere(*state, pull_some);
	fails_everywhere(*state, push_some);
}

static void test_files(void **state)
{
	fails_everywhere(*state, sort_file);
	fails_everywhere(*state, shuffle_file);
	fails_everywhere(*state, unique_file);
	fails_everywhere(*state, sort_lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sorter, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
