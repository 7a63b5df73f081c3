/* SPDX-License-Identifier: BSL-1.0 */
/* test_source_failures.c -- sources in which every transfer and every allocation fails once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "stream/source_test.h"

/* Files that are read again and again. */
typedef struct files {
	char *dir, *paths[FILES_MOST], *data;
	size_t bytes;
	uint32_t n;
} files;

static void files_open(files *f, uint32_t n)
{
	test_rng rng = test_rng_make(test_seed());

	f->dir = test_dir_make();
	f->n = n;
	f->data = malloc(FILES_MOST * 30000);
	assert_non_null(f->data);
	f->bytes = source_files(&rng, f->dir, f->paths, n, 1, f->data);
}

static void files_close(files *f)
{
	uint32_t i;

	for (i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->data);
	test_dir_remove(f->dir);
}

static em_status read_files(void *arg, em_ctx *ctx, em_errinfo *err)
{
	const files *f = arg;
	em_status st;
	reader r;

	st = reader_open(&r, ctx, (const char *const *)f->paths, f->n, 1, 9999, PAGE);
	if (st == EM_OK)
		st = reader_read(&r, f->data, f->bytes, 1);
	*err = r.err;
	reader_close(&r);
	return st;
}

/* Each transfer fails once. */
static void test_failing_reads(void **state)
{
	files f;

	(void)state;
	files_open(&f, 8);
	assert_true(stream_fail_reads(read_files, &f, EM_OK, EIO, f.dir) > 0 || !test_sweeps());
	files_close(&f);
}

/* Each allocation fails once. */
static void test_failing_memory(void **state)
{
	files f;

	(void)state;
	files_open(&f, 6);
	assert_true(stream_fail_memory(read_files, &f, EM_OK) > 5 || !test_sweeps());
	files_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_failing_reads),
		cmocka_unit_test(test_failing_memory),
	};

	return cmocka_run_group_tests_name("source_failures", tests, NULL, NULL);
}
