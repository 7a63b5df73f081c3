/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_records.c -- readers of records against a model: the files in memory, split one record at a time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/records_model.h"

static em_format random_format(test_rng *rng)
{
	static const unsigned char delimiters[] = { '\n', 0, 'x', 255 };

	if (test_below(rng, 3) == 0)
		return test_below(rng, 2) ? csv_by('\n', ',') : csv_by(0, 'x');
	if (test_below(rng, 2))
		return lines_by(delimiters[test_below(rng, 4)]);
	return prefixed(1u << test_below(rng, 4), (uint32_t)test_below(rng, 2));
}

/* Lengths that like borders. */
static size_t random_length(test_rng *rng, size_t chunk, uint64_t longest)
{
	const size_t around = (size_t)test_below(rng, 5);
	size_t n;

	switch (test_below(rng, 12)) {
	case 0:
		n = chunk + around;
		break;
	case 1:
		n = chunk / 8 + around;
		break;
	case 2:
		n = PAGE + around;
		break;
	case 3:
		n = (size_t)longest + 2;
		break;
	case 4:
		n = 2 * chunk + around;
		break;
	case 5:
		n = (size_t)test_below(rng, longest + 1) + 2;
		break;
	case 6:
	case 7:
		n = (size_t)test_below(rng, 300) + 2;
		break;
	default:
		n = (size_t)test_below(rng, 20) + 2;
	}
	n -= 2;
	/* One in many is too long. */
	if (n > longest)
		n = (size_t)longest + (test_below(rng, 60) == 0);
	return n;
}

static void random_file(test_rng *rng, model *m, const char *dir, size_t chunk)
{
	size_t length[400], n = (size_t)test_below(rng, test_below(rng, 3) ? 20 : 400), i, bytes;
	unsigned char *data;

	for (i = 0; i < n; i++)
		length[i] = random_length(rng, chunk, m->longest);
	data = make_records(rng, &m->format, length, n, &bytes);
	if (bytes > 0 && test_below(rng, m->format.kind != EM_FORMAT_PREFIXED ? 3 : 20) == 0)
		bytes -= 1 + (size_t)test_below(rng, bytes < 20 ? bytes : 20);
	model_add(m, dir, data, bytes);
}

static void test_random_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx[6];
	int round;

	(void)state;
	open_contexts(ctx);
	for (round = 0; round < 300; round++) {
		const size_t chunk = PAGE * (size_t)(1 + test_below(&rng, test_below(&rng, 2) ? 3 : 20));
		const uint32_t chunks = 2 + (uint32_t)test_below(&rng, 4),
			       hold = 1 + (uint32_t)test_below(&rng, chunks + 1);
		const uint32_t n = (uint32_t)test_below(&rng, test_below(&rng, 3) ? 3 : FILES_MOST + 1);
		em_ctx *one = ctx[test_below(&rng, 6)];
		uint64_t longest = test_below(&rng, test_below(&rng, 2) ? 4 * chunk : 200);
		model m;

		if (one == NULL)
			one = ctx[0];
		if (test_below(&rng, 20) == 0)
			longest = chunk + test_below(&rng, 3) - 1;
		model_init(&m, random_format(&rng), longest);
		while (m.n < n)
			random_file(&rng, &m, dir, chunk);
		model_judge(&m);
		if (n > 0 && test_below(&rng, 3) == 0)
			records_run_with_stdin(one, &m, (uint32_t)test_below(&rng, n), round % 2, chunk, chunks, hold,
					       &rng);
		else
			records_run(one, &m, chunk, chunks, hold, &rng);
		model_free(&m);
	}
	close_contexts(ctx);
	test_dir_remove(dir);
}

/* Records as long as what is read at a time, the headroom, and what is allowed, each more or less a byte, behind a
 * short one of any length up to what shifts them across a border. */
static void test_borders(void **state)
{
	static const size_t lengths[] = { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 20000, 20001 };
	static const size_t shifts[] = { 0, 1, 2, 4094, 4095, 4096 };
	const size_t n_lengths = sizeof(lengths) / sizeof(lengths[0]), n_shifts = sizeof(shifts) / sizeof(shifts[0]);
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, NULL);
	size_t i, j, k;

	(void)state;
	assert_non_null(ctx);
	for (k = 0; k < 3; k++)
		for (i = 0; i < n_lengths; i++)
			for (j = 0; j < n_shifts; j++) {
				const size_t length[] = { shifts[j], lengths[i], 0, lengths[i], 3 };
				const em_format f = k == 0 ? lines_by('\n') : k == 1 ? lines_by(0) : prefixed(4, 0);
				size_t bytes;
				unsigned char *data = make_records(&rng, &f, length, 5, &bytes);
				model m;

				model_init(&m, f, 20000);
				model_add(&m, dir, data, bytes);
				model_judge(&m);
				assert_int_equal(m.bad_file == 0, lengths[i] > 20000);
				records_run(ctx, &m, PAGE, 2, 1 + (uint32_t)(i + j) % 2, &rng);
				/* Without the last byte. */
				if (k < 2) {
					m.bytes[0]--;
					assert_int_equal(truncate(m.path[0], (off_t)m.bytes[0]), 0);
					records_run(ctx, &m, 2 * PAGE, 3, 2, &rng);
				}
				model_free(&m);
			}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Texts that are hardly any. */
static void test_edges(void **state)
{
	static const char *const texts[] = { "", "\n", "a", "a\n", "\n\n", "a\nb", "\na", "aa\n", "aa", "aaa",
					     "a\n\naaa\n" };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx[6];
	uint64_t longest;
	size_t i;
	int k;

	(void)state;
	open_contexts(ctx);
	for (k = 0; k < 6; k++)
		for (longest = 0; ctx[k] != NULL && longest < 4; longest++)
			for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
				model m;

				model_init(&m, lines_by('\n'), longest);
				model_add(&m, dir, (unsigned char *)strdup(texts[i]), strlen(texts[i]));
				model_add(&m, dir, (unsigned char *)strdup(""), 0);
				model_add(&m, dir, (unsigned char *)strdup(texts[i]), strlen(texts[i]));
				model_judge(&m);
				records_run(ctx[k], &m, PAGE, 2, 1, &rng);
				model_free(&m);
			}
	close_contexts(ctx);
	test_dir_remove(dir);
}

/* Nothing but delimiters, or nothing but one line; nothing at all. */
static void test_plain_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t bytes;
	model m;

	(void)state;
	model_init(&m, lines_by('\n'), 100);
	model_judge(&m);
	records_run(ctx, &m, PAGE, 2, 1, &rng);
	for (bytes = 3 * PAGE - 1; bytes <= 3 * PAGE + 1; bytes++) {
		unsigned char *data = malloc(bytes), *other = malloc(bytes);
		uint64_t longest;

		memset(data, '\n', bytes);
		memset(other, '-', bytes);
		for (longest = 0; longest < 2; longest++) {
			model_init(&m, lines_by('\n'), longest);
			model_add(&m, dir, calloc(1, bytes), bytes);
			memcpy(m.data[0], data, bytes);
			stream_write_file(m.path[0], data, bytes);
			model_judge(&m);
			records_run(ctx, &m, PAGE, 2, 1, &rng);
			model_free(&m);
		}
		for (longest = bytes - 1; longest <= bytes + 1; longest++) {
			model_init(&m, lines_by('\n'), longest);
			model_add(&m, dir, calloc(1, bytes), bytes);
			memcpy(m.data[0], other, bytes);
			stream_write_file(m.path[0], other, bytes);
			model_judge(&m);
			records_run(ctx, &m, PAGE, 2, 1, &rng);
			model_free(&m);
		}
		free(data);
		free(other);
	}
	/* More than can ever be. */
	model_init(&m, lines_by('\n'), UINT64_MAX);
	model_add(&m, dir, calloc(1, 3 * PAGE), 3 * PAGE);
	model_judge(&m);
	records_run(ctx, &m, PAGE, 2, 1, &rng);
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* All buffers may be with the consumer; then he is told so, and can go on when he has given one back. */
static void test_all_in_use(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t length[2000], i, bytes;
	emi_chunk chunk;
	consumer c;
	model m;
	int last;

	(void)state;
	for (i = 0; i < 2000; i++)
		length[i] = 10;
	model_init(&m, lines_by('\n'), 10);
	model_add(&m, dir, make_records(&rng, &m.format, length, 2000, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	/* The tail is in any of the three: the one given back first, or not. */
	for (last = 0; last < 3; last++) {
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 3, 3, &rng), EM_OK);
		for (i = 0; i < 3; i++) {
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
			consumer_take(&c, &chunk);
		}
		for (i = 0; i < 2; i++) {
			memset(&c.err, 0, sizeof(c.err));
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_ERR_STATE);
			assert_int_equal(c.err.status, EM_ERR_STATE);
		}
		memset(&c.err, 0, sizeof(c.err));
		consumer_give_back(&c, (uint32_t)last);
		assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		consumer_take(&c, &chunk);
		assert_int_equal(consumer_run(&c), EM_END);
		consumer_close(&c);
	}
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What comes through a pipe may promise to be longer than any memory. */
static void run_too_long(em_ctx *ctx, model *m, test_rng *rng)
{
	char *path = m->path[0], stdin_name[] = "-";
	emi_chunk chunk;
	int fds[2], saved;
	consumer c;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], m->data[0], 10000), 10000);
	close(fds[1]);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	m->path[0] = stdin_name;
	assert_int_equal(consumer_open(&c, ctx, m, PAGE, 2, 1, rng), EM_OK);
	assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_ERR_MEMLIMIT);
	assert_int_equal(c.err.status, EM_ERR_MEMLIMIT);
	consumer_close(&c);
	stream_restore_fd(STDIN_FILENO, saved);
	m->path[0] = path;
}

/* There is one long record at a time. */
static void test_one_long_record(void **state)
{
	static const size_t length[] = { 10, 9000, 9000, 10 };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_chunk chunk;
	size_t bytes;
	consumer c;
	model m;
	int i;

	(void)state;
	model_init(&m, lines_by('\n'), 10000);
	model_add(&m, dir, make_records(&rng, &m.format, length, 4, &bytes), 0);
	m.bytes[0] = bytes;
	stream_write_file(m.path[0], m.data[0], bytes);
	model_judge(&m);
	assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 4, 4, &rng), EM_OK);
	for (i = 0; i < 2; i++) {
		assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		consumer_take(&c, &chunk);
	}
	assert_int_equal(c.joined, 1);
	assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, NULL), EM_ERR_STATE);
	consumer_give_back_all(&c);
	assert_int_equal(consumer_run(&c), EM_END);
	assert_int_equal(c.joined, 2);
	consumer_close(&c);

	/* Longer than any memory, as far as is known. */
	m.format = prefixed(8, 0);
	m.longest = UINT64_MAX;
	put_prefix(&m.format, m.data[0], (uint64_t)1 << 61);
	run_too_long(ctx, &m, &rng);
	m.format = lines_by('\n');
	m.longest = 10000;

	/* Closed while one is being put together, and while one is out. */
	for (i = 0; i < 2; i++) {
		int j;

		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 4, 4, &rng), EM_OK);
		for (j = 0; j <= i; j++)
			assert_int_equal(emi_records_next(c.r, &chunk, NULL, NULL, &c.err), EM_OK);
		consumer_close(&c);
	}
	model_free(&m);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What cannot be is refused, and nothing is left. */
static void test_refused(void **state)
{
	static const emi_records_opts good = { EM_FORMAT_INIT, PAGE, 2, 0, 10, 0, { 0, 0 } };
	char *dir = test_dir_make(), *none = test_path(dir, "none");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	const char *path[1];
	emi_records *r;
	em_errinfo err;
	int i;

	(void)state;
	path[0] = none;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_records_open(&r, ctx, path, 1, &good, NULL, &err), EM_ERR_NOENT);
	assert_string_equal(err.path, none);
	assert_null(r);
	path[0] = dir;
	assert_int_equal(emi_records_open(&r, ctx, path, 1, &good, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(emi_records_open(&r, ctx, NULL, 1, &good, NULL, NULL), EM_ERR_INVAL);
	for (i = 0; i < 8; i++) {
		emi_records_opts opts = good;
		em_status want = EM_ERR_INVAL;

		switch (i) {
		case 0:
			opts.format.kind = 7;
			break;
		case 1:
			opts.format.delimiter = 256;
			break;
		case 2:
			opts.format = prefixed(3, 0);
			break;
		case 3:
			opts.format = prefixed(4, 2);
			break;
		case 4:
			opts.chunk_bytes = PAGE + 1;
			break;
		case 5:
			opts.chunk_bytes = 0;
			break;
		case 6:
			opts.chunks = 1;
			break;
		default:
			opts.chunk_bytes = (size_t)1 << 30;
			want = EM_ERR_MEMLIMIT;
		}
		memset(&err, 0, sizeof(err));
		assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, &err), want);
		assert_int_equal(err.status, want);
		assert_null(r);
		assert_int_equal(em_ctx_memory_used(ctx), before);
	}
	emi_records_close(NULL);
	em_ctx_close(ctx);
	free(none);
	test_dir_remove(dir);
}

/* What a reader says it takes is what it takes at most, and not much less. */
static void test_memory_bound(void **state)
{
	emi_records_opts opts = { EM_FORMAT_INIT, 64 * PAGE, 3, 0, 1000000, 0, { 0, 0 } };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	emi_records *r;

	(void)state;
	assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, NULL), EM_OK);
	assert_true(em_ctx_memory_used(ctx) - before <= emi_records_memory(&opts) - opts.longest);
	assert_true(em_ctx_memory_used(ctx) - before + opts.longest + 2 * PAGE >= emi_records_memory(&opts));
	emi_records_close(r);
	/* Short records need no more room than a headroom. */
	opts.longest = 1000;
	assert_int_equal(emi_records_open(&r, ctx, NULL, 0, &opts, NULL, NULL), EM_OK);
	assert_int_equal(em_ctx_memory_used(ctx) - before, emi_records_memory(&opts));
	emi_records_close(r);
	opts.longest = UINT64_MAX;
	opts.chunks = UINT32_MAX;
	opts.chunk_bytes = SIZE_MAX / PAGE * PAGE;
	assert_true(emi_records_memory(&opts) == UINT64_MAX);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_plain_files),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_random_files),
		cmocka_unit_test(test_all_in_use),
		cmocka_unit_test(test_one_long_record),
		cmocka_unit_test(test_memory_bound),
	};

	/* A reader that failed leaves pipes whose writers are not done. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("records", tests, NULL, NULL);
}
