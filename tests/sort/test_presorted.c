/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_presorted.c -- windows of elements from a file that is sorted already.
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

#include "sort/lines_model.h"
#include "sort/presorted.h"
#include "sort/sort_model.h"

#define LONGEST ((size_t)100000)

/* A job, and a file. */
typedef struct setup {
	em_ctx *ctx;
	em_order *order;
	emi_job job;
	char *dir, *path;
	emi_presorted_opts opts;
} setup;

static void setup_open(setup *s, size_t longest, int which, const em_format *format)
{
	em_ctx_opts o = sort_ctx_opts();
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_errinfo err;

	memset(&err, 0, sizeof(err));
	s->ctx = sort_ctx(&o);
	s->order = lines_order(s->ctx, which);
	so.format = format;
	if (emi_job_open(&s->job, s->ctx, s->order, &so, &err) != EM_OK)
		fail_msg("%s", err.text);
	s->dir = test_dir_make();
	s->path = test_path(s->dir, "in");
	emi_presorted_choose(&s->job, 4096, &s->opts);
	s->opts.longest = longest;
}

static void setup_close(setup *s)
{
	emi_job_close(&s->job);
	em_order_close(s->order);
	em_ctx_close(s->ctx);
	free(s->path);
	test_dir_remove(s->dir);
}

static em_status drop(void *arg, const void *data, size_t bytes, em_errinfo *err)
{
	size_t *sum = arg;

	(void)data;
	(void)err;
	*sum += bytes;
	return EM_OK;
}

/* What comes out is what the file has, with the right keys, and takes no more memory than was said. */
static void test_windows(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	int i;

	(void)state;
	for (i = 0; i < 60; i += (int)test_step()) {
		const em_format format = lines_format((int)test_below(&rng, LINES_FORMATS));
		static const size_t sizes[] = { 0, 1, 100, 3000 };
		size_t at, n, skipped = 0;
		emi_window win;
		emi_presorted p;
		emi_header h = { 0 };
		em_errinfo err;
		uint64_t before;
		setup s;
		lines l = { 0 };
		const emi_vary *v;

		memset(&err, 0, sizeof(err));
		setup_open(&s, LONGEST, i % LINES_ORDERS, &format);
		v = emi_order_vary(s.order);
		lines_add_random(&l, &rng, (int)test_below(&rng, LINES_STYLES), sizes[test_below(&rng, 4)]);
		lines_quote_some(&l, &rng, &format);
		lines_write(s.path, &l, 0, l.n, &format, (int)test_below(&rng, 2));
		before = em_ctx_memory_used(s.ctx);
		assert_int_equal(emi_presorted_open(&p, &s.job, s.path, NULL, &s.opts, &err), EM_OK);
		h.ctx = s.ctx;
		h.format = &format;
		h.paths = (const char *const *)&s.path;
		h.records = test_below(&rng, 3);
		h.to = drop;
		h.arg = &skipped;
		if (emi_presorted_header(&p, &h, 0, &err) != EM_OK)
			fail_msg("%s", err.text);
		at = h.records < l.n ? (size_t)h.records : l.n;
		assert_true(skipped >= at);
		for (;;) {
			const emi_pair *e;

			if (emi_presorted_next(&p, &win, &err) != EM_OK)
				fail_msg("%s", err.text);
			assert_true(em_ctx_memory_used(s.ctx) - before <= emi_presorted_memory(&s.job, &s.opts));
			if (win.cur == win.end)
				break;
			for (e = win.cur; e != win.end; e++, at++) {
				const emi_frame *f = (const emi_frame *)(uintptr_t)e->val;
				const unsigned char *record = lines_at(&l, at, &n);

				assert_true(at < l.n);
				assert_int_equal(f->bytes, n);
				assert_memory_equal(emi_frame_record(f), record, n);
				assert_true(e->key == emi_string_key(v, f, 0));
				assert_true(v->keyed || f->key_bytes == 0);
			}
		}
		assert_int_equal(at, l.n);
		/* It stays at its end, and holds nothing any more. */
		assert_int_equal(em_ctx_memory_used(s.ctx), before);
		assert_int_equal(emi_presorted_next(&p, &win, &err), EM_OK);
		assert_ptr_equal(win.cur, win.end);
		emi_presorted_close(&p);
		assert_int_equal(em_ctx_memory_used(s.ctx), before);
		lines_free(&l);
		setup_close(&s);
	}
}

/* A record that is longer than arena and chunk is a window by itself; one that is longer than allowed is told by its
 * number. */
static void test_long(void **state)
{
	const em_format format = lines_format(0);
	const size_t longest = LONGEST;
	unsigned char *record = malloc(longest + 1);
	int which;

	(void)state;
	assert_non_null(record);
	memset(record, 'x', longest + 1);
	for (which = 0; which <= 4; which += 4) {
		size_t windows = 0, records = 0, large = 0;
		emi_window win;
		emi_presorted p;
		em_errinfo err;
		em_status st;
		setup s;
		lines l = { 0 };
		int i;

		memset(&err, 0, sizeof(err));
		setup_open(&s, LONGEST, which, &format);
		for (i = 0; i < 12; i++)
			lines_add(&l, record, i % 4 == 2 ? longest - 100 : (size_t)i * 10);
		lines_add(&l, record, longest);
		lines_write(s.path, &l, 0, l.n, &format, 0);
		assert_int_equal(emi_presorted_open(&p, &s.job, s.path, NULL, &s.opts, &err), EM_OK);
		while ((st = emi_presorted_next(&p, &win, &err)) == EM_OK && win.cur != win.end) {
			const emi_pair *e;

			windows++;
			for (e = win.cur; e != win.end; e++) {
				const emi_frame *f = (const emi_frame *)(uintptr_t)e->val;

				large += f->bytes == longest - 100;
				records++;
			}
		}
		assert_int_equal(st, EM_ERR_FORMAT);
		assert_non_null(strstr(err.text, s.path));
		if (strstr(err.text, ":13: ") == NULL)
			fail_msg("%s", err.text);
		assert_int_equal(err.record, 13);
		assert_string_equal(err.path, s.path);
		assert_int_equal(records, 12);
		assert_int_equal(large, 3);
		assert_true(windows >= 6);
		/* The arena is as small as ever. */
		assert_true(p.arena_bytes == s.opts.arena_bytes);
		emi_presorted_close(&p);
		lines_free(&l);
		setup_close(&s);
	}
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
