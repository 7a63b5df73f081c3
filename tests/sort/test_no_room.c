/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_no_room.c -- sorts of files whose scratch cannot fit are refused before anything is read; those that may fit
 * are not.
 */
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

#include "block/packer.h"
#include "common/phase.h"
#include "common/test.h"
#include "io/conform_fs.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)
#define BYTES (16 * MIB)

/* A sort of an input elsewhere with scratch in a directory, and another one. */
typedef struct bench {
	char *dir, *in, *out;
	const char *scratch[2];
	uint32_t n;             /* of these */
	uint64_t memory;
	int lines;
	em_sort_opts so;
	em_errinfo err;
	em_sort_stats stats;
} bench;

static void make_input(bench *b)
{
	test_rng rng = test_rng_make(test_seed());
	char *text = malloc((size_t)BYTES);
	size_t i;

	assert_non_null(text);
	for (i = 0; i < BYTES; i++)
		text[i] = i % 16 == 15 ? '\n' : (char)('0' + test_below(&rng, 10));
	sort_write_file(b->in, text, (size_t)BYTES);
	free(text);
}

static void bench_open(bench *b, const char *scratch)
{
	const em_sort_opts so = EM_SORT_OPTS_INIT;

	memset(b, 0, sizeof *b);
	b->dir = test_dir_make();
	b->in = test_path(b->dir, "in");
	b->out = test_path(b->dir, "out");
	b->scratch[0] = scratch;
	b->scratch[1] = b->dir;
	b->n = 1;
	b->memory = 4 * MIB;
	b->so = so;
	b->so.compress = EM_COMPRESS_NEVER;
	make_input(b);
}

static void bench_close(bench *b)
{
	unlink(b->out);
	free(b->in);
	free(b->out);
	test_dir_remove(b->dir);
}

static em_status sort_it(bench *b)
{
	const sort_shape shape = sort_shape_of(EM_KEY_BYTES, 15, 0, 16);
	const char *const inputs[] = { b->in };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_order *order = NULL;
	em_ctx *ctx;
	em_status st;

	memset(&b->err, 0, sizeof b->err);
	memset(&b->stats, 0, sizeof b->stats);
	b->stats.size = sizeof b->stats;
	b->so.errinfo = &b->err;
	opts.memory = b->memory;
	opts.threads = 1;
	opts.backend = "syscall";
	opts.dirs = b->scratch;
	opts.ndirs = b->n;
	ctx = sort_ctx(&opts);
	if (b->lines)
		assert_int_equal(em_order_text(&order, ctx, NULL, 0, NULL, &b->err), EM_OK);
	else
		order = sort_order(ctx, &shape);
	st = em_sort_files(ctx, order, inputs, 1, b->out, &b->so, &b->stats);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

static uint64_t bytes_read(const bench *b)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < TEST_PHASES; i++)
		sum += test_phase(&b->stats, i).bytes_read;
	return sum;
}

static void assert_refused(bench *b)
{
	assert_int_equal(sort_it(b), EM_ERR_NOSPACE);
	assert_true(b->err.bytes == BYTES - b->memory);
	assert_string_equal(b->err.path, b->scratch[0]);
	assert_non_null(strstr(b->err.text, "scratch space in '"));
	assert_non_null(strstr(b->err.text, "8388608 bytes are free, and at least 12582912 are needed"));
	assert_int_equal(bytes_read(b), 0);
}

static void assert_sorts(bench *b)
{
	if (sort_it(b) != EM_OK)
		fail_msg("%s", b->err.text);
}

static void on_tmpfs(const char *dir)
{
	bench b;

	bench_open(&b, dir);
	for (b.lines = 0; b.lines < 2; b.lines++) {
		b.memory = 4 * MIB;
		assert_refused(&b);
		/* On another disk there is room. */
		b.n = 2;
		assert_sorts(&b);
		b.n = 1;
		/* Equal records may take none: then it begins. */
		b.so.flags = EM_SORT_UNIQUE;
		assert_int_equal(sort_it(&b), EM_ERR_NOSPACE);
		assert_true(bytes_read(&b) > 0);
		b.so.flags = 0;
		/* What fits in memory needs no scratch. */
		b.memory = 256 * MIB;
		assert_sorts(&b);
	}
	/* Digits become half as long. */
	b.lines = 1;
	b.memory = 6 * MIB;
	b.so.compress = EM_COMPRESS_ALWAYS;
	if (emi_packer_supported()) {
		(void)sort_it(&b);
		assert_true(bytes_read(&b) > 0);
	}
	bench_close(&b);
}

static void test_no_room(void **state)
{
	(void)state;
	conform_on_tmpfs(8 * MIB, on_tmpfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests_name("no_room", tests, NULL, NULL);
}
