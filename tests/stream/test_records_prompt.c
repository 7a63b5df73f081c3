/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_records_prompt.c -- readers that take what is there: nobody has to write more, or to close a pipe, to have a
 * record read that was written; and FIFOs that nobody writes to yet.
 *
 * Most of it happens on one thread, which writes to a pipe and reads from it: a reader that waited for more would wait
 * for ever.  So a ticker ends such a wait, and the test fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "stream/records_model.h"

#define PIECE_MOST 20000u       /* what a pipe holds in any case */
#define RECORDS 400u
#define LONG 9000u              /* of a record that fits into no headroom */

/* A FIFO with both ends here, and what is known of its bytes. */
typedef struct fifo {
	em_ctx *ctx;
	char *dir, *path;
	int fd;                 /* to write to it */
	const unsigned char *data;
	size_t written, read;
	emi_records *r;
	emi_records_opts opts;
	em_errinfo err;
} fifo;

static void fifo_open(fifo *f, em_ctx *ctx, const emi_records_opts *opts)
{
	const char *paths[1];

	memset(f, 0, sizeof(*f));
	f->ctx = ctx;
	f->opts = *opts;
	f->dir = test_dir_make();
	f->path = test_path(f->dir, "fifo");
	paths[0] = f->path;
	assert_int_equal(mkfifo(f->path, 0600), 0);
	if (emi_records_open(&f->r, ctx, paths, 1, &f->opts, NULL, &f->err) != EM_OK)
		fail_msg("%s", f->err.text);
	/* It is open: this would wait otherwise, or fail as it is not to wait. */
	f->fd = open(f->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static void fifo_close(fifo *f)
{
	if (f->fd >= 0)
		close(f->fd);
	emi_records_close(f->r);
	free(f->path);
	test_dir_remove(f->dir);
}

static em_status fifo_next(fifo *f, emi_chunk *chunk)
{
	ticks t = { 0, 3 };

	return emi_records_next(f->r, chunk, tick, &t, &f->err);
}

/* Read what there is up to that many bytes, which are whole records. */
static void read_up_to(fifo *f, size_t end)
{
	while (f->read < end) {
		emi_chunk chunk;
		em_status st = fifo_next(f, &chunk);

		if (st != EM_OK)
			fail_msg("after %zu of %zu bytes: %d %s", f->read, end, (int)st, f->err.text);
		assert_true(chunk.bytes != 0);
		assert_true(chunk.bytes <= end - f->read);
		assert_true(chunk.offset == f->read);
		assert_memory_equal(chunk.data, f->data + f->read, chunk.bytes);
		/* As in an array that is aligned. */
		if (f->opts.record_bytes != 0) {
			assert_int_equal(chunk.bytes % f->opts.record_bytes, 0);
			assert_true(f->opts.record_bytes % 8 != 0 || (uintptr_t)chunk.data % 8 == 0);
		}
		f->read += chunk.bytes;
		emi_records_release(f->r, &chunk, 1);
	}
}

/* Pieces that end anywhere: after each, all records that are whole come out.  end[i] is where the i-th record ends. */
static void in_pieces(test_rng *rng, em_ctx *ctx, const emi_records_opts *opts, const unsigned char *data,
		      const size_t *end, size_t n)
{
	size_t i = 0;
	fifo f;

	fifo_open(&f, ctx, opts);
	f.data = data;
	while (f.written < end[n - 1]) {
		size_t piece = 1 + (size_t)test_below(rng, test_below(rng, 2) ? PIECE_MOST : 50);

		if (piece > end[n - 1] - f.written)
			piece = end[n - 1] - f.written;
		assert_int_equal(write(f.fd, data + f.written, piece), piece);
		f.written += piece;
		while (i < n && end[i] <= f.written)
			i++;
		read_up_to(&f, i > 0 ? end[i - 1] : 0);
	}
	close(f.fd);
	f.fd = -1;
	{
		emi_chunk chunk;

		assert_int_equal(fifo_next(&f, &chunk), EM_END);
	}
	fifo_close(&f);
}

static void test_pieces(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t length[RECORDS], end[RECORDS], i;
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		const em_format formats[] = { lines_by('\n'), lines_by(0), prefixed(2, 0),
					      prefixed(4, EM_FORMAT_BIG_ENDIAN) };
		emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 1, LONG, 0, { 0, 0 } };
		unsigned char *data;
		size_t bytes;

		opts.format = formats[test_below(&rng, 4)];
		for (i = 0; i < RECORDS; i++)
			length[i] = (size_t)test_below(&rng, i % 50 == 0 ? LONG : 200);
		data = make_records(&rng, &opts.format, length, RECORDS, &bytes);
		for (i = 0; i < RECORDS; i++)
			end[i] = (i > 0 ? end[i - 1] : 0) + length[i] + (size_t)emi_record_extra(&opts.format);
		assert_int_equal(end[RECORDS - 1], bytes);
		opts.chunk_bytes = PAGE << test_below(&rng, 4);
		in_pieces(&rng, ctx, &opts, data, end, RECORDS);
		free(data);
	}
	em_ctx_close(ctx);
}

static void test_pieces_of_one_size(void **state)
{
	static const size_t sizes[] = { 1, 5, 8, 24, 100, 4096, 5000, 13000 };
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t end[RECORDS], i, k;

	(void)state;
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		emi_records_opts opts = { EM_FORMAT_INIT, 2 * PAGE, 2, 1, 0, 0, { 0, 0 } };
		const size_t n = sizes[k] > 1000 ? RECORDS / 8 : RECORDS;
		unsigned char *data = malloc(n * sizes[k]);

		assert_non_null(data);
		test_fill(&rng, data, n * sizes[k]);
		for (i = 0; i < n; i++)
			end[i] = (i + 1) * sizes[k];
		opts.record_bytes = sizes[k];
		in_pieces(&rng, ctx, &opts, data, end, n);
		free(data);
	}
	em_ctx_close(ctx);
}

/* The last line is complete when the pipe is closed, a record that was cut off is told. */
static void test_ends(void **state)
{
	emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 1, 100, 0, { 0, 0 } };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_chunk chunk;
	fifo f;

	(void)state;
	fifo_open(&f, ctx, &opts);
	f.data = (const unsigned char *)"ab\ncd\n";
	assert_int_equal(write(f.fd, "ab\nc", 4), 4);
	read_up_to(&f, 3);
	/* There is no other whole one. */
	assert_int_equal(fifo_next(&f, &chunk), EM_ERR_CANCELED);
	assert_int_equal(write(f.fd, "d", 1), 1);
	assert_int_equal(fifo_next(&f, &chunk), EM_ERR_CANCELED);
	close(f.fd);
	f.fd = -1;
	read_up_to(&f, 6);
	assert_int_equal(fifo_next(&f, &chunk), EM_END);
	fifo_close(&f);

	opts.record_bytes = 3;
	fifo_open(&f, ctx, &opts);
	f.data = (const unsigned char *)"abcd";
	assert_int_equal(write(f.fd, "abcd", 4), 4);
	read_up_to(&f, 3);
	close(f.fd);
	f.fd = -1;
	assert_int_equal(fifo_next(&f, &chunk), EM_ERR_FORMAT);
	assert_non_null(strstr(f.err.text, "record 2"));
	fifo_close(&f);
	em_ctx_close(ctx);
}

/* Nobody writes yet: that is not the end, neither for a reader that is prompt nor for another.  Somebody who wrote
 * nothing is. */
static void *feed_later(void *feeder)
{
	usleep(100000);
	return stream_feed(feeder);
}

static void test_no_writer_yet(void **state)
{
	emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 100, 0, { 0, 0 } };
	char *dir = test_dir_make(), *path = test_path(dir, "fifo");
	const char *const paths[] = { path };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	uint32_t prompt;
	int wrote;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	for (prompt = 0; prompt < 2; prompt++)
		for (wrote = 0; wrote < 2; wrote++) {
			ticks two = { 0, 2 };
			emi_records *r;
			emi_chunk chunk;
			int fd;

			opts.prompt = prompt;
			assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
			assert_int_equal(emi_records_next(r, &chunk, tick, &two, NULL), EM_ERR_CANCELED);
			/* It was opened, so this does not wait. */
			fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
			assert_true(fd >= 0);
			assert_int_equal(write(fd, "abc\n", wrote ? 4 : 0), wrote ? 4 : 0);
			close(fd);
			if (wrote) {
				assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_OK);
				assert_int_equal(chunk.bytes, 4);
				assert_memory_equal(chunk.data, "abc\n", 4);
				emi_records_release(r, &chunk, 1);
			}
			assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
			emi_records_close(r);
		}

	/* Likewise without a ticker, when nobody comes for a while. */
	for (prompt = 0; prompt < 2; prompt++) {
		stream_feeder feeder = { -1, path, "abc\n", 4, 4, 0 };
		pthread_t thread;
		emi_records *r;
		emi_chunk chunk;

		opts.prompt = prompt;
		assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
		assert_int_equal(pthread_create(&thread, NULL, feed_later, &feeder), 0);
		assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_OK);
		assert_int_equal(chunk.bytes, 4);
		emi_records_release(r, &chunk, 1);
		assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
		pthread_join(thread, NULL);
		emi_records_close(r);
	}
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_pieces_of_one_size),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_no_writer_yet),
	};

	return cmocka_run_group_tests_name("records_prompt", tests, NULL, NULL);
}
