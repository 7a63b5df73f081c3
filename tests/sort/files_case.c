/* SPDX-License-Identifier: BSL-1.0 */
/* files_case.c -- see files_case.h. */
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

#include "sort/files_case.h"

files_case case_make(const sort_shape *shape)
{
	const em_sort_opts opts = EM_SORT_OPTS_INIT;
	files_case c;

	memset(&c, 0, sizeof(c));
	if (shape != NULL)
		c.shape = *shape;
	c.dir = test_dir_make();
	c.out = test_path(c.dir, "out");
	c.opts = opts;
	c.format = lines_format(0);
	return c;
}

void case_free(files_case *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		free(c->path[i]);
	free(c->records);
	lines_free(&c->all);
	free(c->out);
	test_dir_remove(c->dir);
}

void case_close(files_case *c, em_ctx *ctx, em_order *order)
{
	case_free(c);
	em_order_close(order);
	assert_true(em_ctx_memory_peak(ctx) <= em_ctx_memory(ctx));
	em_ctx_close(ctx);
}

const char *case_path(files_case *c)
{
	char name[16];

	assert_true(c->n < CASE_FILES);
	snprintf(name, sizeof(name), "in%02u", (unsigned)c->n);
	c->path[c->n] = test_path(c->dir, name);
	return c->path[c->n++];
}

files_case case_pair(void)
{
	files_case c = case_make(NULL);

	case_path(&c);
	case_path(&c);
	return c;
}

void case_records(files_case *c, test_rng *rng, sort_pattern pattern, uint64_t n, int sorted)
{
	const size_t bytes = (size_t)n * c->shape.bytes, before = (size_t)c->n_records * c->shape.bytes;
	unsigned char *r = sort_records(rng, &c->shape, pattern, n);

	if (sorted) {
		unsigned char *in_order = sort_expected(&c->shape, r, &n, 0);

		free(r);
		r = in_order;
	}
	sort_write_file(case_path(c), r, bytes);
	c->records = realloc(c->records, before + bytes + 1);
	assert_non_null(c->records);
	memcpy(c->records + before, r, bytes);
	c->n_records += n;
	free(r);
}

void case_lines(files_case *c, const em_order *order, lines *l, int sorted, int cut)
{
	if (sorted)
		lines_sort(order, l, c->opts.header < l->n ? (size_t)c->opts.header : l->n, 0);
	lines_write(case_path(c), l, 0, l->n, &c->format, cut);
	lines_add_file(&c->all, &c->header, l, 0, l->n, c->opts.header);
	lines_free(l);
}

void case_begin(files_case *c, const char *paths[CASE_FILES])
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		paths[i] = c->path[i];
	memset(&c->err, 0, sizeof(c->err));
	memset(&c->stats, 0, sizeof(c->stats));
	c->stats.size = sizeof(c->stats);
	c->opts.errinfo = &c->err;
}

em_status case_merge(files_case *c, em_ctx *ctx, const em_order *order)
{
	const char *paths[CASE_FILES];

	case_begin(c, paths);
	return em_merge_files(ctx, order, paths, c->n, c->out, &c->opts, &c->stats);
}

void case_merge_ok(files_case *c, em_ctx *ctx, const em_order *order)
{
	if (case_merge(c, ctx, order) != EM_OK)
		fail_msg("%s", c->err.text);
}

void case_assert_sorted(files_case *c, const em_order *order)
{
	const int unique = (c->opts.flags & EM_SORT_UNIQUE) != 0;
	uint64_t in = c->n_records, out = in;
	unsigned char *expected;
	size_t bytes;

	if (em_order_record_size(order) != 0) {
		expected = sort_expected(&c->shape, c->records, &out, unique);
		bytes = (size_t)out * c->shape.bytes;
	} else {
		in = c->all.n - c->header;
		lines_sort(order, &c->all, c->header, unique);
		expected = lines_text(&c->all, 0, c->all.n, &c->format, 0, &bytes);
		out = c->all.n - c->header;
	}
	sort_assert_file(c->out, expected, bytes);
	free(expected);
	assert_int_equal(c->stats.records_in, in);
	assert_int_equal(c->stats.records_out, out);
}

void case_merge_somehow(files_case *c, test_rng *rng, em_ctx *ctx, const em_order *order, uint32_t fan_in)
{
	const int once = fan_in == 0 || fan_in >= c->n;

	c->opts.flags = test_below(rng, 3) == 0 ? EM_SORT_UNIQUE : 0;
	c->opts.fan_in = fan_in;
	c->opts.block_bytes = test_below(rng, 2) != 0 ? 8192 : 0;
	case_merge_ok(c, ctx, order);
	case_assert_sorted(c, order);
	assert_true(c->stats.fan_in <= (once ? c->n : fan_in));
	assert_true(once ? c->stats.passes == 1 && c->stats.runs == 0 : c->stats.passes > 1);
}

void case_merge_forty(files_case *c, em_ctx *ctx, const em_order *order)
{
	assert_int_equal(c->n, 40);
	case_merge_ok(c, ctx, order);
	case_assert_sorted(c, order);
	/* Other files are open, too. */
	assert_true(c->stats.fan_in <= 7);
	assert_int_equal(c->stats.runs, 7);
}

void case_sweep_memory(files_case *c, const case_memory *how)
{
	uint64_t *share = &c->opts.memory;
	int done = 0;

	for (*share = 32 << 10; *share < 8 * MIB; *share += *share / 4) {
		em_ctx *ctx = case_ctx(16 * MIB, 0, 1);
		em_order *order = how->order(how->user, ctx);
		const uint64_t before = em_ctx_memory_used(ctx);
		const em_status st = how->run != NULL ? how->run(how->user, ctx, order) : case_merge(c, ctx, order);

		if (st != EM_OK && (st != EM_ERR_MEMLIMIT || done))
			fail_msg("%u bytes: %s", (unsigned)*share, c->err.text);
		if (st == EM_OK) {
			if (how->right != NULL)
				how->right(how->user, order);
			else
				case_assert_sorted(c, order);
			assert_true(em_ctx_memory_peak(ctx) <= before + *share);
		}
		done |= st == EM_OK;
		em_order_close(order);
		em_ctx_close(ctx);
	}
	assert_true(done);
}

em_ctx *case_ctx(uint64_t memory, uint32_t fds, uint32_t threads)
{
	em_ctx_opts o = sort_ctx_opts();

	o.memory = memory;
	o.fds = fds;
	o.threads = threads;
	return sort_ctx(&o);
}

static int slow_open(void *user, em_backend_open *how)
{
	const em_backend *be = user;

	usleep(150000);
	return be->open(be->user, how);
}

em_ctx *case_slow_ctx(em_backend *slow)
{
	const em_backend *be = em_backend_find("syscall");
	em_ctx_opts o = sort_ctx_opts();

	*slow = *be;
	slow->user = (void *)(uintptr_t)be;
	slow->open = slow_open;
	o.memory = 16 * MIB;
	o.backend = NULL;
	o.custom = slow;
	o.direct = EM_DIRECT_OFF;
	return sort_ctx(&o);
}

static int compare(const void *a, const void *b, void *user)
{
	return sort_compare(user, a, b);
}

em_order *case_order(em_ctx *ctx, sort_shape *shape, int by_function)
{
	em_order *order;

	if (!by_function)
		return sort_order(ctx, shape);
	assert_int_equal(em_order_cmp(&order, ctx, shape->bytes, "model", compare, 0, shape, NULL, NULL), EM_OK);
	return order;
}
