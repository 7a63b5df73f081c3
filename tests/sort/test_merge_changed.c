/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_merge_changed.c -- an input that is written anew while it is merged.
 *
 * It keeps its size, so that nobody misses anything in it.  But its lines are other ones, and the parts of it that
 * threads merge do not end with lines any more.
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
#include <unistd.h>

#include "sort/files_case.h"

#define BYTES ((size_t)4000000) /* of each input: a multiple of both widths */
#define OLD_WIDTH ((size_t)8)
#define NEW_WIDTH ((size_t)1000)
#define THREADS 2u

/* Numbers in order, with zeroes behind them up to the width of a line. */
static char *lines_of_width(size_t width)
{
	char *text = malloc(BYTES + 1), *p;
	size_t i;

	assert_non_null(text);
	memset(text, '0', BYTES);
	for (i = 0, p = text; i < BYTES / width; i++, p += width) {
		char number[8];

		snprintf(number, sizeof(number), "%07u", (unsigned)(i * (1000000 / (BYTES / width))));
		memcpy(p, number, 7);
		p[width - 1] = '\n';
	}
	return text;
}

static void write_over(const char *path, const char *text)
{
	FILE *f = fopen(path, "r+b");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, BYTES, f), BYTES);
	assert_int_equal(fclose(f), 0);
}

/* Counts how often a file is opened, and writes it anew when it is opened for that time. */
typedef struct meddler {
	const em_backend *be;
	const char *path, *text;
	unsigned opens, at;     /* at: from 1; 0: never */
	pthread_mutex_t lock;
} meddler;

static int meddling_open(void *user, em_backend_open *how)
{
	meddler *m = user;
	em_backend_open to = *how;
	int ret;

	pthread_mutex_lock(&m->lock);
	if (strcmp(how->path, m->path) == 0 && ++m->opens == m->at)
		write_over(m->path, m->text);
	pthread_mutex_unlock(&m->lock);
	ret = m->be->open(m->be->user, &to);
	*how = to;
	return ret;
}

static em_status merge_meddled(files_case *c, const char *const *paths, meddler *m)
{
	em_ctx_opts o = sort_ctx_opts();
	em_backend backend = *m->be;
	em_order *order;
	em_status st;
	em_ctx *ctx;

	m->opens = 0;
	backend.user = m;
	backend.open = meddling_open;
	o.memory = 32 * MIB;
	o.threads = THREADS;
	o.direct = EM_DIRECT_OFF;
	o.backend = NULL;
	o.custom = &backend;
	ctx = sort_ctx(&o);
	order = lines_order(ctx, 0);
	memset(&c->err, 0, sizeof(c->err));
	c->opts.errinfo = &c->err;
	st = em_merge_files(ctx, order, paths, 2, c->out, &c->opts, NULL);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

static int compare_lines(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	for (; *x == *y && *x != '\n'; x++, y++)
		;
	return *x == *y ? 0 : *x == '\n' ? -1 : *y == '\n' ? 1 : (unsigned char)*x < (unsigned char)*y ? -1 : 1;
}

/* Is the output all lines of both texts, in order? */
static void assert_merged(const char *path, const char *a, size_t a_width, const char *b, size_t b_width)
{
	const size_t n = BYTES / a_width + BYTES / b_width;
	const char **line = malloc(n * sizeof(*line));
	size_t i, at = 0, k, bytes;
	unsigned char *got;

	assert_non_null(line);
	for (k = 0, i = 0; i < BYTES; i += a_width)
		line[k++] = a + i;
	for (i = 0; i < BYTES; i += b_width)
		line[k++] = b + i;
	qsort(line, n, sizeof(*line), compare_lines);
	got = sort_read_file(path, &bytes);
	assert_int_equal(bytes, 2 * BYTES);
	for (k = 0; k < n; k++) {
		const size_t width = (size_t)((const char *)memchr(line[k], '\n', BYTES) - line[k]) + 1;

		assert_memory_equal(got + at, line[k], width);
		at += width;
	}
	free(got);
	free(line);
}

/* It is noticed, and merged as it is then. */
static void test_other_lines(void **state)
{
	files_case c = case_pair();
	char *old = lines_of_width(OLD_WIDTH), *text = lines_of_width(NEW_WIDTH);
	const char *const paths[] = { c.path[0], c.path[1] };
	meddler m = { 0 };
	unsigned opens;

	(void)state;
	assert_int_equal(pthread_mutex_init(&m.lock, NULL), 0);
	m.be = em_backend_find("syscall");
	m.path = paths[0];
	m.text = text;
	sort_write_file(paths[0], old, BYTES);
	sort_write_file(paths[1], old, BYTES);
	if (merge_meddled(&c, paths, &m) != EM_OK)
		fail_msg("%s", c.err.text);
	assert_merged(c.out, old, OLD_WIDTH, old, OLD_WIDTH);
	opens = m.opens;
	/* Once to find where to cut it, and once by each thread. */
	assert_true(opens > THREADS);

	m.at = opens - THREADS + 1;
	if (merge_meddled(&c, paths, &m) != EM_OK)
		fail_msg("%s", c.err.text);
	assert_int_equal(m.opens, opens + 1);
	assert_merged(c.out, text, NEW_WIDTH, old, OLD_WIDTH);
	pthread_mutex_destroy(&m.lock);
	free(old);
	free(text);
	case_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_lines),
	};

	return cmocka_run_group_tests_name("merge_changed", tests, NULL, NULL);
}
