/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sorter_file.c -- files pushed into a sorter, and pulled out into one: the same bytes as em_sort_files() makes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem.h>

#include "common/test.h"

enum { FIXED = 300000, LINES = 60000 };

typedef struct bench {
	char *dir, *in[2], *out, *want;
	test_rng rng;
	em_ctx *ctx;
	em_order *fixed, *text;
} bench;

static int setup(void **state)
{
	bench *b = calloc(1, sizeof *b);
	em_key key = EM_KEY_INIT;

	assert_non_null(b);
	b->dir = test_dir_make();
	b->in[0] = test_path(b->dir, "a");
	b->in[1] = test_path(b->dir, "b");
	b->out = test_path(b->dir, "out");
	b->want = test_path(b->dir, "want");
	b->rng = test_rng_make(test_seed());
	key.type = EM_KEY_U32;
	key.offset = 4;
	assert_int_equal(em_ctx_open_text(&b->ctx, "memory=4M,threads=2", NULL), EM_OK);
	assert_int_equal(em_order_keys(&b->fixed, b->ctx, 12, &key, 1, NULL), EM_OK);
	assert_int_equal(em_order_text(&b->text, b->ctx, NULL, 0, NULL, NULL), EM_OK);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	bench *b = *state;

	em_order_close(b->fixed);
	em_order_close(b->text);
	em_ctx_close(b->ctx);
	test_dir_remove(b->dir);
	free(b->in[0]);
	free(b->in[1]);
	free(b->out);
	free(b->want);
	free(b);
	return 0;
}

static void put(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fclose(f), 0);
}

static char *get(const char *path, size_t *bytes)
{
	FILE *f = fopen(path, "rb");
	char *data = malloc(8 << 20);

	assert_non_null(f);
	assert_non_null(data);
	*bytes = fread(data, 1, 8 << 20, f);
	fclose(f);
	return data;
}

static void expect_same(const bench *b)
{
	size_t n, m;
	char *out = get(b->out, &n), *want = get(b->want, &m);

	assert_int_equal(n, m);
	assert_memory_equal(out, want, n);
	free(out);
	free(want);
}

/* Records of 12 bytes, few keys, so that their order among equal ones matters. */
static void make_fixed(bench *b, const char *path, size_t n)
{
	unsigned char *data = malloc(n * 12 + 1);
	size_t i;

	assert_non_null(data);
	test_fill(&b->rng, data, n * 12);
	for (i = 0; i < n; i++)
		memset(data + i * 12 + 5, 0, 3);
	put(path, data, n * 12);
	free(data);
}

static void test_fixed(void **state)
{
	bench *b = *state;
	const size_t sizes[][2] = { { FIXED, FIXED / 3 }, { 10, 3 }, { 0, 1 }, { 0, 0 } };
	size_t i;

	for (i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		em_sorter *s;

		make_fixed(b, b->in[0], sizes[i][0]);
		make_fixed(b, b->in[1], sizes[i][1]);
		assert_int_equal(em_sorter_open(&s, b->ctx, b->fixed, NULL), EM_OK);
		assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
		assert_int_equal(em_sorter_push_file(s, b->in[1]), EM_OK);
		assert_true(em_sorter_pushed(s) == sizes[i][0] + sizes[i][1]);
		assert_int_equal(em_sorter_pull_file(s, b->out), EM_ERR_STATE);
		assert_int_equal(em_sorter_finish(s), EM_OK);
		assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_ERR_STATE);
		assert_int_equal(em_sorter_pull_file(s, b->out), EM_OK);
		em_sorter_close(s);
		assert_int_equal(em_sort_files(b->ctx, b->fixed, (const char *const *)b->in, 2, b->want, NULL, NULL),
				 EM_OK);
		expect_same(b);
	}
}

/* Records are taken before, one by one and in batches: the file has the rest. */
static void test_rest(void **state)
{
	bench *b = *state;
	const em_batch *batch;
	const void *record;
	size_t bytes, taken;
	em_sorter *s;
	char *want, *out;

	make_fixed(b, b->in[0], FIXED);
	assert_int_equal(em_sorter_open(&s, b->ctx, b->fixed, NULL), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	taken = batch->bytes;
	assert_int_equal(em_cursor_next(em_sorter_cursor(s), &record), EM_OK);
	taken += 12;
	/* What cannot be opened costs nothing. */
	assert_int_equal(em_sorter_pull_file(s, "/nowhere/at/all"), EM_ERR_NOENT);
	assert_int_equal(em_sorter_pull_file(s, b->dir), EM_ERR_INVAL);
	assert_int_equal(em_sorter_pull_file(s, b->out), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_END);
	/* Nothing is left: an empty file. */
	assert_int_equal(em_sorter_pull_file(s, b->in[1]), EM_OK);
	free(get(b->in[1], &bytes));
	assert_int_equal(bytes, 0);
	em_sorter_close(s);
	assert_int_equal(em_sort_files(b->ctx, b->fixed, (const char *const *)b->in, 1, b->want, NULL, NULL), EM_OK);
	want = get(b->want, &bytes);
	assert_true(taken < bytes);
	put(b->want, want + taken, bytes - taken);
	free(want);
	expect_same(b);
	out = get(b->out, &bytes);
	assert_int_equal(bytes, (size_t)FIXED * 12 - taken);
	free(out);
}

/* Lines of random lengths, or prefixed records of the same. */
static void make_lines(bench *b, const char *path, size_t n, const em_format *format)
{
	unsigned char *data = malloc(n * 64 + 1), *at = data;
	size_t i, k;

	assert_non_null(data);
	for (i = 0; i < n; i++) {
		const size_t length = (size_t)test_below(&b->rng, 60);

		if (format->kind == EM_FORMAT_PREFIXED) {
			*at++ = 0;
			*at++ = (unsigned char)length;
		}
		for (k = 0; k < length; k++)
			*at++ = (unsigned char)('a' + test_below(&b->rng, 20));
		if (format->kind != EM_FORMAT_PREFIXED)
			*at++ = (unsigned char)format->delimiter;
	}
	put(path, data, (size_t)(at - data));
	free(data);
}

static void test_lines(void **state)
{
	bench *b = *state;
	em_format formats[] = { EM_FORMAT_INIT, EM_FORMAT_INIT, EM_FORMAT_INIT, EM_FORMAT_INIT };
	em_sort_opts o = EM_SORT_OPTS_INIT;
	size_t i, n;

	formats[1].delimiter = 0;
	formats[2].kind = EM_FORMAT_PREFIXED;
	formats[2].delimiter = 0;
	formats[2].width = 2;
	formats[2].flags = EM_FORMAT_BIG_ENDIAN;
	formats[3].kind = EM_FORMAT_CSV;
	formats[3].separator = ',';
	for (i = 0; i < sizeof formats / sizeof formats[0]; i++) {
		for (n = LINES; n > 1; n = n == LINES ? 20 : 1) {
			em_sorter *s;

			o.format = &formats[i];
			make_lines(b, b->in[0], n, &formats[i]);
			make_lines(b, b->in[1], n / 2, &formats[i]);
			assert_int_equal(em_sorter_open(&s, b->ctx, b->text, &o), EM_OK);
			assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
			assert_int_equal(em_sorter_push_file(s, b->in[1]), EM_OK);
			assert_true(em_sorter_pushed(s) == n + n / 2);
			assert_int_equal(em_sorter_finish(s), EM_OK);
			assert_int_equal(em_sorter_pull_file(s, b->out), EM_OK);
			em_sorter_close(s);
			assert_int_equal(
				em_sort_files(b->ctx, b->text, (const char *const *)b->in, 2, b->want, &o, NULL),
				EM_OK);
			expect_same(b);
		}
	}
}

static void test_header(void **state)
{
	bench *b = *state;
	em_sort_opts o = EM_SORT_OPTS_INIT;
	size_t bytes;
	em_sorter *s;
	char *out;

	put(b->in[0], "head\nmore\nc\nb", 13);
	o.header = 2;
	assert_int_equal(em_sorter_open(&s, b->ctx, b->text, &o), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
	assert_true(em_sorter_pushed(s) == 4);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_pull_file(s, b->out), EM_OK);
	out = get(b->out, &bytes);
	assert_int_equal(bytes, 8);
	assert_memory_equal(out, "b\nb\nc\nc\n", 8);
	free(out);
	em_sorter_close(s);
}

static void told(em_sorter *s, em_status st, const char *says)
{
	em_errinfo err;

	em_sorter_error(s, &err);
	assert_int_equal(err.status, st);
	if (strstr(err.text, says) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
}

/* What is wrong with files does not hurt the sorter. */
static void test_bad_files(void **state)
{
	bench *b = *state;
	const size_t large = 1 << 20;
	char *text = malloc(large);
	const em_batch *batch;
	em_sorter *s;

	assert_non_null(text);
	put(b->in[0], "12345678901234567890123", 23);
	assert_int_equal(em_sorter_open(&s, b->ctx, b->fixed, NULL), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_ERR_FORMAT);
	told(s, EM_ERR_FORMAT, b->in[0]);
	assert_int_equal(em_sorter_push_file(s, "/nowhere/at/all"), EM_ERR_NOENT);
	told(s, EM_ERR_NOENT, "/nowhere");
	assert_int_equal(em_sorter_push_file(s, b->dir), EM_ERR_INVAL);
	assert_int_equal(em_sorter_push_bytes(s, "123456789012", 12), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	assert_memory_equal(batch->records, "123456789012", 12);
	em_sorter_close(s);

	/* The second line is too long for a memory of 4 MiB. */
	memset(text, 'x', large);
	text[1] = '\n';
	put(b->in[0], text, large);
	assert_int_equal(em_sorter_open(&s, b->ctx, b->text, NULL), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_ERR_FORMAT);
	told(s, EM_ERR_FORMAT, ":2: ");
	assert_true(em_sorter_pushed(s) <= 1);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	em_sorter_close(s);
	free(text);
}

/* A record that a prefix cannot tell the length of. */
static void test_prefix(void **state)
{
	bench *b = *state;
	static const uint64_t end = 300;
	em_format format = EM_FORMAT_INIT;
	em_sort_opts o = EM_SORT_OPTS_INIT;
	char record[300];
	em_sorter *s;

	memset(record, 'r', sizeof record);
	format.kind = EM_FORMAT_PREFIXED;
	format.delimiter = 0;
	format.width = 1;
	o.format = &format;
	unlink(b->out);
	assert_int_equal(em_sorter_open(&s, b->ctx, b->text, &o), EM_OK);
	assert_int_equal(em_sorter_push_batch(s, record, &end, 1), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_pull_file(s, b->out), EM_ERR_RANGE);
	told(s, EM_ERR_RANGE, "300 bytes");
	/* Nothing appeared. */
	assert_int_not_equal(access(b->out, F_OK), 0);
	em_sorter_close(s);
}

/* A file that cannot be opened costs none of the records, whoever asks for them next. */
static void test_not_opened(void **state)
{
	bench *b = *state;
	const em_batch *batch;
	em_sorter *s;
	uint64_t n = 0;

	make_fixed(b, b->in[0], 100);
	assert_int_equal(em_sorter_open(&s, b->ctx, b->fixed, NULL), EM_OK);
	assert_int_equal(em_sorter_push_file(s, b->in[0]), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	assert_int_equal(em_sorter_pull_file(s, "/nowhere/at/all"), EM_ERR_NOENT);
	assert_int_equal(em_sorter_pull_file(s, b->dir), EM_ERR_INVAL);
	while (em_sorter_next(s, &batch) == EM_OK)
		n += batch->n;
	assert_int_equal(n, 100);
	em_sorter_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fixed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_prefix, setup, teardown),
	};

	return cmocka_run_group_tests_name("sort/sorter_file", tests, NULL, NULL);
}
