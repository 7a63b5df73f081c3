/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_input.c -- small files among the inputs: they are opened buffered and read by the calling thread, and come out
 * as all others do.
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

#include "base/context.h"
#include "base/memory.h"
#include "stream/input.h"
#include "stream/records.h"
#include "stream/source.h"
#include "stream/stream_test.h"

enum { PAGE = 4096, SMALL = PAGE / 8, FILES = 40, LARGE = 5 * PAGE, LINE = 8 };

/* What a backend has seen. */
static struct notes {
	pthread_t self;
	unsigned buffered;      /* files that were opened so */
	unsigned mine;          /* reads by the test's thread, */
	unsigned others;        /* and by others; atomic */
} notes;

static int noting_open(void *user, em_backend_open *how)
{
	notes.buffered += how->want_direct == EM_DIRECT_OFF;
	return em_backend_find("syscall")->open(user, how);
}

static int64_t noting_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	if (pthread_equal(pthread_self(), notes.self))
		notes.mine++;
	else
		__atomic_fetch_add(&notes.others, 1, __ATOMIC_RELAXED);
	return em_backend_find("syscall")->read(handle, buf, bytes, offset);
}

/* Files of lines of eight bytes, so that they are records of one size, too. */
typedef struct files {
	char *dir, *path[FILES];
	size_t bytes[FILES];
	char *text;             /* of all */
	size_t all;
	unsigned small;         /* how many are */
	em_backend backend;
	em_ctx *ctx;
} files;

/* One of `every' is large; 0: none. */
static void files_open(files *f, unsigned every)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	size_t i, k;

	memset(f, 0, sizeof *f);
	f->dir = test_dir_make();
	f->text = malloc((size_t)FILES * LARGE);
	assert_non_null(f->text);
	for (i = 0; i < FILES; i++) {
		const int large = every != 0 && i % every == every - 1;
		const size_t n = 1 + test_below(&rng, (large ? LARGE : SMALL) / LINE);
		char name[16];

		snprintf(name, sizeof name, "%zu", i);
		f->path[i] = test_path(f->dir, name);
		f->bytes[i] = n * LINE;
		f->small += f->bytes[i] <= SMALL;
		for (k = 0; k < n; k++)
			snprintf(f->text + f->all + k * LINE, LINE + 1, "%07u\n", (unsigned)test_below(&rng, 10000000));
		stream_write_file(f->path[i], f->text + f->all, f->bytes[i]);
		f->all += f->bytes[i];
	}
	f->backend = *em_backend_find("syscall");
	f->backend.open = noting_open;
	f->backend.read = noting_read;
	opts.custom = &f->backend;
	opts.memory = 16 << 20;
	assert_int_equal(em_ctx_open(&f->ctx, &opts), EM_OK);
	memset(&notes, 0, sizeof notes);
	notes.self = pthread_self();
}

static void files_close(files *f)
{
	size_t i;

	em_ctx_close(f->ctx);
	for (i = 0; i < FILES; i++)
		free(f->path[i]);
	free(f->text);
	test_dir_remove(f->dir);
}

static emi_records *open_records(files *f, emi_io_stats *stats)
{
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 6, 0, 100, 0, { 0, 0 } };
	emi_records *r;

	assert_int_equal(emi_records_open(&r, f->ctx, (const char *const *)f->path, FILES, &opts, stats, NULL), EM_OK);
	return r;
}

/* Chunk by chunk, of which some are kept for a while, as many threads would. */
static em_status read_records(files *f, em_errinfo *err)
{
	enum { HELD = 3 };
	emi_io_stats stats = { 0, 0, 0, 0, 0 };
	emi_records *r = open_records(f, &stats);
	emi_chunk chunk[HELD];
	uint64_t n[HELD] = { 0 };
	size_t at = 0, k = 0, i;
	em_status st;

	memset(chunk, 0, sizeof chunk);
	for (;; k = (k + 1) % HELD) {
		emi_records_release(r, &chunk[k], n[k]);
		st = emi_records_next(r, &chunk[k], NULL, NULL, err);
		if (st != EM_OK)
			break;
		n[k] = chunk[k].bytes / LINE;
		assert_memory_equal(chunk[k].data, f->text + at, chunk[k].bytes);
		at += chunk[k].bytes;
	}
	for (i = 0; i < HELD; i++)
		emi_records_release(r, &chunk[i], n[i]);
	if (st == EM_END) {
		assert_int_equal(at, f->all);
		assert_int_equal(stats.bytes_read, f->all);
	}
	emi_records_close(r);
	return st;
}

static void read_source(files *f)
{
	emi_io_stats stats = { 0, 0, 0, 0, 0 };
	const size_t area_bytes = 3 * PAGE;
	emi_source *s;
	size_t at = 0;
	emi_fill fill;
	char *area;

	assert_int_equal(emi_source_open(&s, f->ctx, (const char *const *)f->path, FILES, LINE, &stats, NULL), EM_OK);
	area = emi_buffer_alloc(f->ctx, area_bytes + EMI_SOURCE_SLACK, NULL);
	assert_non_null(area);
	assert_int_equal(emi_fill_init(&fill, s, area_bytes, PAGE, NULL), EM_OK);
	do {
		assert_int_equal(emi_source_begin(s, &fill, area, area_bytes / LINE, NULL), EM_OK);
		assert_int_equal(emi_source_await(s, &fill, NULL, NULL, NULL), EM_OK);
		assert_memory_equal(fill.first, f->text + at, (size_t)fill.records * LINE);
		at += (size_t)fill.records * LINE;
	} while (fill.records != 0);
	assert_int_equal(at, f->all);
	assert_true(stats.bytes_read >= f->all);
	emi_fill_free(&fill, s);
	emi_buffer_free(f->ctx, area, area_bytes + EMI_SOURCE_SLACK);
	emi_source_close(s);
}

static void test_all_small(void **state)
{
	files f;

	(void)state;
	files_open(&f, 0);
	assert_int_equal(f.small, FILES);
	assert_int_equal(read_records(&f, NULL), EM_END);
	assert_int_equal(notes.buffered, FILES);
	assert_int_equal(notes.mine, FILES);
	assert_int_equal(notes.others, 0);
	read_source(&f);
	assert_true(notes.buffered >= 2 * FILES);
	assert_true(notes.mine >= 2 * FILES);
	assert_int_equal(notes.others, 0);
	files_close(&f);
}

/* With large ones before and behind them. */
static void test_mixed(void **state)
{
	unsigned every;

	(void)state;
	for (every = 1; every < 5; every++) {
		files f;

		files_open(&f, every);
		assert_int_equal(read_records(&f, NULL), EM_END);
		assert_int_equal(notes.buffered, f.small);
		assert_true(notes.mine >= f.small);
		read_source(&f);
		files_close(&f);
	}
}

/* A small one may fail like any other. */
static void test_failures(void **state)
{
	em_errinfo err;
	emi_records *r;
	emi_chunk chunk;
	files f;

	(void)state;
	files_open(&f, 0);
	r = open_records(&f, NULL);
	assert_int_equal(truncate(f.path[0], 3), 0);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, &err), EM_ERR_SHORT);
	assert_string_equal(err.path, f.path[0]);
	assert_int_equal(err.offset, 3);
	emi_records_close(r);
	r = open_records(&f, NULL);
	assert_int_equal(unlink(f.path[0]), 0);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_ERR_NOENT);
	emi_records_close(r);
	stream_write_file(f.path[0], f.text, f.bytes[0]);
	r = open_records(&f, NULL);
	em_ctx_cancel(f.ctx);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_ERR_CANCELED);
	emi_records_close(r);
	files_close(&f);
}

/* What is small. */
static void test_small(void **state)
{
	static const struct { int32_t kind; uint64_t size; size_t transfer; int32_t direct; int small; } cases[] = {
		{ EMI_INPUT_FILE, 1, PAGE, EM_DIRECT_TRY, 1 },
		{ EMI_INPUT_FILE, SMALL, PAGE, EM_DIRECT_OFF, 1 },
		{ EMI_INPUT_FILE, SMALL + 1, PAGE, EM_DIRECT_TRY, 0 },
		{ EMI_INPUT_FILE, 64 << 10, 8 << 20, EM_DIRECT_TRY, 1 },
		{ EMI_INPUT_FILE, (64 << 10) + 1, 8 << 20, EM_DIRECT_TRY, 0 },
		{ EMI_INPUT_FILE, 1, PAGE, EM_DIRECT_ON, 0 },
		{ EMI_INPUT_STREAM, 1, PAGE, EM_DIRECT_TRY, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		const emi_input in = { "in", cases[i].size, cases[i].kind };
		em_ctx *ctx = stream_ctx(cases[i].direct, NULL, NULL, NULL);

		assert_non_null(ctx);
		assert_int_equal(emi_input_small(&in, ctx, cases[i].transfer), cases[i].small);
		em_ctx_close(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_all_small),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests_name("stream/input", tests, NULL, NULL);
}
