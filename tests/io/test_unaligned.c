/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_unaligned.c -- transfers of direct files that are not of whole pages, against a model of the file.
 *
 * The backend says that its files are direct, and counts what is not of whole pages as wrong.  Whatever a read does not
 * fill of its buffer it leaves full of rubbish.  It may move less than it was asked to, or fail.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/io_test.h"

enum { PAGE = 4096, WINDOW = 256 << 10, SPACE = 3 * WINDOW, RUBBISH = 0xa5 };

/* The backend.  Its functions get no more than a handle, so there is one. */
static struct {
	em_backend be;
	const em_backend *inner;
	size_t most;            /* a transfer moves no more than that; 0: all of it */
	unsigned crooked;       /* transfers that were not of whole pages */
	unsigned reads, writes;
	uint64_t fail_read, fail_write; /* which of them fails, from 1; 0: none */
	int no_size;            /* it cannot say how long a file is */
} w;

static int claim_open(void *user, em_backend_open *how)
{
	int e;

	(void)user;
	how->want_direct = EM_DIRECT_OFF;
	e = w.inner->open(w.inner->user, how);
	how->direct = 1;
	return e;
}

static size_t some(const void *buf, size_t bytes, uint64_t offset)
{
	w.crooked += (((uintptr_t)buf | bytes | offset) & (PAGE - 1)) != 0;
	return w.most != 0 && bytes > w.most ? w.most : bytes;
}

static int64_t rough_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	const size_t n = some(buf, bytes, offset);

	if (++w.reads == w.fail_read)
		return -EIO;
	memset(buf, RUBBISH, bytes);
	return w.inner->read(handle, buf, n, offset);
}

static int64_t rough_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const size_t n = some(buf, bytes, offset);

	if (++w.writes == w.fail_write)
		return -EIO;
	return w.inner->write(handle, buf, n, offset);
}

static int rough_size(void *handle, uint64_t *size)
{
	return w.no_size ? EIO : w.inner->get_size(handle, size);
}

/* A file, and what it is to be. */
typedef struct bench {
	test_rng rng;
	char *dir, *path;
	em_ctx *ctx;
	em_file *f;
	unsigned char *model, *buf, *got;
	uint64_t size;
	uint64_t taken;         /* memory that nobody else can have */
} bench;

static void bench_open(bench *b, size_t most, int without_memory)
{
	io_setup setup = {0};

	memset(b, 0, sizeof *b);
	memset(&w, 0, sizeof w);
	w.inner = em_backend_find("syscall");
	w.be = *w.inner;
	w.be.open = claim_open;
	w.be.read = rough_read;
	w.be.write = rough_write;
	w.be.get_size = rough_size;
	w.most = most;
	b->rng = test_rng_make(test_seed());
	b->dir = test_dir_make();
	b->path = test_path(b->dir, "f");
	setup.custom = &w.be;
	b->ctx = io_ctx(&setup);
	b->f = io_open(b->ctx, b->path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
	assert_true(emi_file_direct(b->f));
	b->model = calloc(1, SPACE);
	b->buf = malloc(SPACE + 8);
	b->got = malloc(SPACE + PAGE);
	assert_true(b->model != NULL && b->buf != NULL && b->got != NULL);
	if (without_memory)
		b->taken = em_ctx_memory(b->ctx) - em_ctx_memory_used(b->ctx);
	assert_int_equal(emi_memory_take(b->ctx, b->taken, NULL), EM_OK);
}

static void bench_close(bench *b)
{
	assert_int_equal(w.crooked, 0);
	emi_memory_drop(b->ctx, b->taken);
	emi_file_close(b->f);
	em_ctx_close(b->ctx);
	free(b->model);
	free(b->buf);
	free(b->got);
	free(b->path);
	test_dir_remove(b->dir);
}

/* Is the file, as others see it, what it is to be? */
static void assert_file(bench *b)
{
	const int fd = open(b->path, O_RDONLY | O_CLOEXEC);
	struct stat sb;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(sb.st_size, b->size);
	assert_int_equal(pread(fd, b->got, SPACE, 0), b->size);
	assert_memory_equal(b->got, b->model, (size_t)b->size);
	close(fd);
}

/* How many bytes: few, some pages, or more than go through the buffer at a time. */
static size_t random_bytes(bench *b)
{
	static const uint64_t most[] = { 20, 2 * PAGE, 9 * PAGE, 2 * WINDOW + PAGE };

	return 1 + (size_t)test_below(&b->rng, most[test_below(&b->rng, 4)]);
}

/* In the file or somewhat behind its end, with room for so many bytes. */
static uint64_t random_place(bench *b, size_t bytes)
{
	const uint64_t last = SPACE - bytes, behind = b->size + 3 * PAGE;

	return test_below(&b->rng, (behind < last ? behind : last) + 1);
}

/* Write at an address that is not a page's; the model has what was written of it. */
static em_status write_at(bench *b, size_t bytes, uint64_t offset, size_t *done)
{
	/* Never a whole page, even where malloc() gives pages. */
	unsigned char *from = b->buf + 1 + test_below(&b->rng, 7);
	emi_request rq;
	em_status st;

	memset(&rq, 0, sizeof rq);
	test_fill(&b->rng, from, bytes);
	emi_write(b->f, &rq, from, bytes, offset, NULL);
	st = emi_wait(&rq, NULL);
	*done = rq.done;
	assert_true(rq.done <= bytes && (st != EM_OK || rq.done == bytes));
	memcpy(b->model + offset, from, rq.done);
	if (rq.done != 0 && b->size < offset + rq.done)
		b->size = offset + rq.done;
	return st;
}

/* Read likewise: all that is there, and no byte of the caller's behind that is touched. */
static void read_at(bench *b, size_t bytes, uint64_t offset)
{
	const uint64_t left = offset < b->size ? b->size - offset : 0;
	const size_t expect = left < bytes ? (size_t)left : bytes, skew = (size_t)test_below(&b->rng, 8);
	unsigned char *to = b->buf + skew;
	emi_request rq;
	size_t i;

	memset(&rq, 0, sizeof rq);
	memset(b->buf, 0x3c, SPACE + 8);
	w.reads = 0;
	emi_read(b->f, &rq, to, bytes, offset, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, expect);
	assert_memory_equal(to, b->model + offset, expect);
	/* Behind the end it is not asked for more. */
	if (expect < PAGE && w.most == 0)
		assert_true(w.reads <= 2);
	if (((uintptr_t)to | bytes | offset) % PAGE == 0)
		return;
	for (i = skew + expect; i < SPACE + 8; i++)
		assert_int_equal(b->buf[i], 0x3c);
}

static void resize(bench *b)
{
	const uint64_t size = test_below(&b->rng, b->size + 2 * PAGE);

	if (size > SPACE)
		return;
	assert_int_equal(emi_file_resize(b->f, size, NULL), EM_OK);
	memset(b->model + size, 0, (size_t)(SPACE - size));
	b->size = size;
}

static void many(size_t most, int without_memory)
{
	unsigned i;
	bench b;

	bench_open(&b, most, without_memory);
	for (i = 0; i < 300; i++) {
		const size_t bytes = random_bytes(&b);
		const uint64_t offset = random_place(&b, bytes);
		size_t done;

		if (test_below(&b.rng, 8) == 0)
			resize(&b);
		if (i % 2 == 0)
			assert_int_equal(write_at(&b, bytes, offset, &done), EM_OK);
		else
			read_at(&b, bytes, offset);
		if (i % 8 == 0)
			assert_file(&b);
	}
	assert_file(&b);
	bench_close(&b);
}

static void test_model(void **state)
{
	(void)state;
	many(0, 0);
}

/* Less is moved at a time than was asked for, of which a part of a page is of no use. */
static void test_short_transfers(void **state)
{
	(void)state;
	many(6000, 0);
	many(PAGE, 0);
}

/* Page by page, through the stack. */
static void test_without_memory(void **state)
{
	(void)state;
	many(0, 1);
	many(6000, 1);
}

/* What is between the end and a place in the same page, or in a later one, that is written is zeros. */
static void test_zeros(void **state)
{
	static const uint64_t ends[] = { 0, 1, 100, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 5 };
	static const uint64_t gaps[] = { 0, 1, 50, PAGE - 200, PAGE, 3 * PAGE + 7 };
	size_t e, g, done;
	int without;

	(void)state;
	for (without = 0; without < 2; without++)
		for (e = 0; e < sizeof ends / sizeof *ends; e++)
			for (g = 0; g < sizeof gaps / sizeof *gaps; g++) {
				bench b;

				bench_open(&b, 0, without);
				if (ends[e] != 0)
					assert_int_equal(write_at(&b, (size_t)ends[e], 0, &done), EM_OK);
				assert_int_equal(write_at(&b, 9, ends[e] + gaps[g], &done), EM_OK);
				assert_file(&b);
				read_at(&b, 5 * PAGE, 3);
				bench_close(&b);
			}
}

/* The nth read or write fails: what was written before is there, and the file has no more than that. */
static void test_failures(void **state)
{
	const size_t bytes = 2 * WINDOW + 100;
	uint64_t nth;
	unsigned what;
	em_status st;

	(void)state;
	for (what = 0; what < 2; what++) {
		for (nth = test_nth_after(0, 1), st = EM_ERR_IO; st != EM_OK; nth = test_nth_after(nth, 1)) {
			size_t done;
			bench b;

			bench_open(&b, 0, 0);
			assert_int_equal(write_at(&b, 5000, 0, &done), EM_OK);
			w.reads = w.writes = 0;
			w.fail_read = what == 0 ? nth : 0;
			w.fail_write = what == 1 ? nth : 0;
			st = write_at(&b, bytes, 3000, &done);
			assert_int_equal(st, (what == 0 ? w.reads : w.writes) >= nth ? EM_ERR_IO : EM_OK);
			assert_true(nth > 1 || st == EM_ERR_IO);
			if (what == 1 && nth == 2)
				assert_int_equal(done, WINDOW - 3000);
			w.fail_read = w.fail_write = 0;
			assert_file(&b);
			bench_close(&b);
		}
	}
}

/* The same in the middle of what is written at a time: no page that was written behind the end stays. */
static void test_cut_after_failure(void **state)
{
	const size_t before = 5000;
	struct stat sb;
	size_t done;
	bench b;

	(void)state;
	bench_open(&b, PAGE, 0);
	assert_int_equal(write_at(&b, before, 0, &done), EM_OK);
	w.writes = 0;
	w.fail_write = 3;
	assert_int_equal(write_at(&b, 3 * PAGE, 3000, &done), EM_ERR_IO);
	assert_int_equal(done, 0);
	assert_int_equal(w.writes, 3);
	assert_int_equal(stat(b.path, &sb), 0);
	assert_int_equal(sb.st_size, before);
	bench_close(&b);
}

/* A read that fails tells what it has before. */
static void test_failing_read(void **state)
{
	emi_request rq;
	size_t done;
	bench b;

	(void)state;
	bench_open(&b, 0, 0);
	assert_int_equal(write_at(&b, 2 * WINDOW + 100, 0, &done), EM_OK);
	w.reads = 0;
	w.fail_read = 2;
	memset(&rq, 0, sizeof rq);
	emi_read(b.f, &rq, b.buf, 2 * WINDOW, 10, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_ERR_IO);
	assert_int_equal(rq.done, WINDOW - 10);
	assert_memory_equal(b.buf, b.model + 10, rq.done);
	bench_close(&b);
}

/* Where the end is unknown nothing is written. */
static void test_unknown_size(void **state)
{
	size_t done;
	bench b;

	(void)state;
	bench_open(&b, 0, 0);
	assert_int_equal(write_at(&b, 5000, 0, &done), EM_OK);
	w.writes = 0;
	w.no_size = 1;
	assert_int_equal(write_at(&b, 100, 4990, &done), EM_ERR_IO);
	assert_int_equal(done, 0);
	/* Of whole pages nothing has to be read. */
	assert_int_equal(write_at(&b, 2 * PAGE, PAGE, &done), EM_ERR_IO);
	assert_int_equal(done, 0);
	assert_int_equal(w.writes, 0);
	assert_file(&b);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_short_transfers),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_cut_after_failure),
		cmocka_unit_test(test_failing_read),
		cmocka_unit_test(test_unknown_size),
	};

	return cmocka_run_group_tests_name("unaligned", tests, NULL, NULL);
}
