/* SPDX-License-Identifier: BSL-1.0 */
/* lines_bench.c -- see lines_bench.h. */
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

#include <extmem/sys/backend.h>

#include "sort/lines_bench.h"

void bench_open(bench *b, uint64_t salt, int which, int format)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	unsigned i;

	memset(b, 0, sizeof(*b));
	b->rng = test_rng_make(test_seed() + salt);
	b->dir = test_dir_make();
	for (i = 0; i < FILES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "in%u", i);
		b->in[i] = test_path(b->dir, name);
	}
	b->out = test_path(b->dir, "out");
	b->which = which;
	b->format = lines_format(format);
	b->opts = none;
}

static void bench_leave(bench *b)
{
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	b->order = NULL;
	b->ctx = NULL;
}

void bench_enter(bench *b, const em_ctx_opts *how)
{
	const char *const dirs[] = { b->dir };
	em_ctx_opts opts = *how;

	bench_leave(b);
	opts.dirs = dirs;
	opts.ndirs = 1;
	b->ctx = sort_ctx(&opts);
	b->order = lines_order(b->ctx, b->which);
}

void bench_enter_with(bench *b, const char *backend, uint32_t threads, uint64_t memory)
{
	em_ctx_opts opts = sort_ctx_opts();

	opts.backend = em_backend_find(backend) != NULL ? backend : NULL;
	opts.direct = test_below(&b->rng, 2) == 0 ? EM_DIRECT_TRY : EM_DIRECT_OFF;
	opts.threads = threads;
	opts.memory = memory;
	bench_enter(b, &opts);
}

void bench_close(bench *b)
{
	unsigned i;

	bench_leave(b);
	free(b->expected);
	for (i = 0; i < FILES; i++) {
		unlink(b->in[i]);
		free(b->in[i]);
	}
	unlink(b->out);
	free(b->out);
	assert_dir_empty(b->dir);
	test_dir_remove(b->dir);
}

void bench_expect(bench *b, const lines *all, size_t header)
{
	const em_ctx_opts opts = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&opts);
	em_order *order = lines_order(ctx, b->which);
	lines l = { 0 };

	lines_append(&l, all, 0, all->n);
	b->records_in = all->n - header;
	lines_sort(order, &l, header, (b->opts.flags & EM_SORT_UNIQUE) != 0);
	b->records_out = l.n - header;
	free(b->expected);
	b->expected = lines_text(&l, 0, l.n, &b->format, 0, &b->bytes);
	lines_free(&l);
	em_order_close(order);
	em_ctx_close(ctx);
}

void bench_write_inputs(bench *b, lines *all, unsigned files)
{
	size_t at = 0, header = 0;
	lines sorted = { 0 };
	unsigned i;

	for (i = 0; i < files; i++) {
		const size_t some = i + 1 == files ? all->n - at : (size_t)test_below(&b->rng, all->n - at + 1);

		lines_write(b->in[i], all, at, at + some, &b->format, (int)test_below(&b->rng, 2));
		lines_add_file(&sorted, &header, all, at, at + some, b->opts.header);
		at += some;
	}
	bench_expect(b, &sorted, header);
	lines_free(&sorted);
	lines_free(all);
}

void bench_make_inputs(bench *b, int pattern, size_t n, unsigned files, size_t most)
{
	lines all = { 0 };

	lines_add_pattern(&all, &b->rng, pattern, n, &b->format, most);
	bench_write_inputs(b, &all, files);
}

em_status bench_run(bench *b, unsigned files, const char *output)
{
	const char *inputs[FILES];
	const unsigned fds = sort_open_fds();
	uint64_t before;
	em_status st;
	unsigned i;

	for (i = 0; i < FILES; i++)
		inputs[i] = b->in[i];
	memset(&b->err, 0, sizeof(b->err));
	memset(&b->stats, 0, sizeof(b->stats));
	b->stats.size = sizeof(b->stats);
	b->opts.format = &b->format;
	b->opts.errinfo = &b->err;
	before = em_ctx_memory_used(b->ctx);
	st = em_sort_files(b->ctx, b->order, inputs, files, output, &b->opts, &b->stats);
	assert_int_equal(st, b->err.status);
	assert_true(st == EM_OK || b->err.text[0] != '\0');
	if (!b->busy)
		assert_int_equal(sort_open_fds(), fds);
	if (em_ctx_threads(b->ctx) == 1)
		assert_int_equal(em_ctx_memory_used(b->ctx), before);
	assert_true(em_ctx_memory_peak(b->ctx) <=
		    (b->ctx->memory_given ? em_ctx_memory(b->ctx) : b->ctx->memory_most));
	return st;
}

void bench_assert_right(bench *b, const unsigned char *got, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && i < b->bytes && got[i] == b->expected[i]; i++)
		;
	if (i < bytes || i < b->bytes)
		fail_msg("%s: byte %zu of %zu is wrong (%zu are right)", b->what, i, bytes, b->bytes);
	if (b->stats.records_in != b->records_in || b->stats.records_out != b->records_out)
		fail_msg("%s: %u records in, %u out, should be %u, %u", b->what, (unsigned)b->stats.records_in,
			 (unsigned)b->stats.records_out, (unsigned)b->records_in, (unsigned)b->records_out);
}

void bench_assert_output(bench *b, const char *path)
{
	size_t bytes;
	unsigned char *got = sort_read_file(path, &bytes);

	bench_assert_right(b, got, bytes);
	free(got);
}

void bench_run_ok(bench *b, unsigned files)
{
	if (bench_run(b, files, b->out) != EM_OK)
		fail_msg("%s: %s", b->what, b->err.text);
	bench_assert_output(b, b->out);
}

uint32_t passes_of(uint64_t runs, uint64_t k)
{
	uint32_t passes = 0;

	for (; runs > 1; runs = (runs + k - 1) / k)
		passes++;
	return passes;
}
