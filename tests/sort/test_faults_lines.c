/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_faults_lines.c -- a sort of text in which everything that can fail fails; see fault_sweep.h.
 *
 * Some of its lines are longer than a block of its runs, and longer than what is read at a time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "block/packer.h"
#include "sort/fault_sweep.h"
#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define N 400u
#define RUN 100u
#define PIECE 40u
#define ORDER 5

static em_status make_order(em_order **out, em_ctx *ctx, em_errinfo *err)
{
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_text_key key[2];

	opts.flags = EM_TEXT_LAST_REVERSE;
	assert_int_equal(em_text_key_parse(&key[0], NULL, "2,2n", NULL), EM_OK);
	assert_int_equal(em_text_key_parse(&key[1], NULL, "1,1", NULL), EM_OK);
	return em_order_text(out, ctx, key, 2, &opts, err);
}

static em_status push(em_sorter *s, const fault_sort *sort)
{
	const lines *l = sort->data;
	em_status st = EM_OK;
	uint64_t ends[PIECE];
	em_batch batch;
	size_t at, i;

	for (at = 0; at < l->n && st == EM_OK; at += batch.n) {
		const size_t begin = at != 0 ? l->end[at - 1] : 0;

		batch.n = l->n - at < PIECE ? l->n - at : PIECE;
		for (i = 0; i < batch.n; i++)
			ends[i] = l->end[at + i] - begin;
		batch.records = l->bytes + begin;
		batch.bytes = (size_t)ends[batch.n - 1];
		batch.ends = ends;
		st = em_sorter_push_batch(s, batch.records, batch.ends, batch.n);
	}
	return st;
}

static void sweep_runs(const char *backend, int32_t direct, int pushed, uint32_t flags, uint32_t compress, int kept)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	const em_ctx_opts ctx_opts = sort_ctx_opts();
	const em_format format = lines_format(0);
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = sort_ctx(&ctx_opts);
	em_order *order = lines_order(ctx, ORDER);
	lines in = { 0 }, out = { 0 };
	unsigned char *in_text, *out_text;
	fault_sort sort;

	memset(&sort, 0, sizeof(sort));
	while (in.n < N) {
		const size_t bytes = in.n == 0 ? 9000 : 60000;
		unsigned char *record = malloc(bytes);

		assert_non_null(record);
		memset(record, '7', bytes);
		lines_add_pattern(&in, &rng, LINES_MIXED, N / 2 - 1, &format, 300);
		lines_add(&in, record, bytes);
		free(record);
	}
	lines_append(&out, &in, 0, in.n);
	lines_sort(order, &out, 0, flags != 0);
	em_order_close(order);
	em_ctx_close(ctx);
	in_text = lines_text(&in, 0, in.n, &format, 1, &sort.in_bytes);
	out_text = lines_text(&out, 0, out.n, &format, 0, &sort.out_bytes);
	sort.name = flags != 0 ? "lines, each once" : "lines";
	sort.order = make_order;
	sort.push = push;
	sort.memory = 6u << 20;
	sort.opts = none;
	sort.opts.flags = flags;
	sort.opts.compress = compress;
	sort.opts.block_bytes = compress == EM_COMPRESS_NEVER ? 4096 : 16384;
	sort.opts.run_records = RUN;
	sort.opts.fan_in = kept ? 0 : 2;
	sort.kept = kept;
	sort.runs = N / RUN;
	/* Setting up this one takes its time, and what it adds is swept with records of one size. */
	sort.every = strcmp(backend, "libaio") == 0 ? 4 : 1;
	/* A copy of the last line has room to grow, and the last run stays in memory, if there is enough. */
	sort.spare = flags != 0 || kept;
	sort.data = &in;
	sort.in = in_text;
	sort.out = out_text;
	sort.pulled = out.bytes;
	sort.pulled_bytes = out.filled;
	sort.ends = out.end;
	sort.records = out.n;
	fault_sweep(&sort, backend, direct, pushed);
	free(in_text);
	free(out_text);
	lines_free(&in);
	lines_free(&out);
}

static void sweep(const char *backend, int32_t direct, int pushed, uint32_t flags, uint32_t compress)
{
	sweep_runs(backend, direct, pushed, flags, compress, 0);
}

static void test_syscall_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0, 0, EM_COMPRESS_NEVER);
}

static void test_libaio_files(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 0, 0, EM_COMPRESS_NEVER);
}

static void test_unique_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0, EM_SORT_UNIQUE, EM_COMPRESS_NEVER);
}

static void test_syscall_sorter(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 1, 0, EM_COMPRESS_NEVER);
}

static void test_libaio_sorter(void **state)
{
	(void)state;
	sweep("libaio", EM_DIRECT_TRY, 1, 0, EM_COMPRESS_NEVER);
}

static void test_unique_sorter(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1, EM_SORT_UNIQUE, EM_COMPRESS_NEVER);
}

static uint32_t compressed(void)
{
	return emi_packer_supported() ? EM_COMPRESS_ALWAYS : EM_COMPRESS_AUTO;
}

static void test_compressed_files(void **state)
{
	(void)state;
	sweep("syscall", EM_DIRECT_OFF, 0, 0, compressed());
}

static void test_compressed_sorter(void **state)
{
	(void)state;
	sweep("memory", EM_DIRECT_OFF, 1, 0, compressed());
}

static void test_kept_files(void **state)
{
	(void)state;
	sweep_runs("syscall", EM_DIRECT_OFF, 0, 0, EM_COMPRESS_NEVER, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_syscall_files),  cmocka_unit_test(test_libaio_files),
		cmocka_unit_test(test_unique_files),   cmocka_unit_test(test_syscall_sorter),
		cmocka_unit_test(test_libaio_sorter),  cmocka_unit_test(test_unique_sorter),
		cmocka_unit_test(test_compressed_files), cmocka_unit_test(test_compressed_sorter),
		cmocka_unit_test(test_kept_files),
	};

	return cmocka_run_group_tests_name("faults in sorting lines", tests, NULL, NULL);
}
