/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_huge_pages.c -- what is written to a file in memory is in huge pages where it was said to be coming, and nowhere
 * else.
 *
 * Whether it is shows in what the file takes: of a huge page all, whatever was written to it.
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/conform_fs.h"
#include "io/huge_pages.h"
#include "io/io_test.h"
#include "io/queue.h"

#define KIB ((uint64_t)1024)
#define MIB ((uint64_t)1 << 20)
#define PIECE (64 * KIB)
#define TRIES 100               /* while the kernel has no memory in one piece */

static uint64_t taken(em_file *f)
{
	struct stat st;

	assert_int_equal(fstat(emi_file_fd(f), &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

typedef struct bench {
	em_ctx *ctx;
	em_file *f;
	uint64_t page;
	unsigned char *piece;   /* random bytes */
	em_errinfo err;
} bench;

static void bench_open(bench *b, const char *dir, const char *backend)
{
	test_rng rng = test_rng_make(test_seed());
	io_setup setup = {0};

	memset(b, 0, sizeof *b);
	setup.dir = dir;
	setup.backend = backend;
	b->ctx = io_ctx(&setup);
	b->f = io_open(b->ctx, dir, EMI_OPEN_TEMP);
	b->page = emi_huge_page_bytes();
	b->piece = io_buffer(&rng, PIECE);
}

static void bench_close(bench *b)
{
	emi_file_close(b->f);
	em_ctx_close(b->ctx);
	free(b->piece);
}

static void put(bench *b, uint64_t offset)
{
	assert_int_equal(io_write(b->f, b->piece, PIECE, offset, &b->err), EM_OK);
}

/* The pieces at these offsets are there, and all else is zeros. */
static void assert_pieces(bench *b, const uint64_t *at, size_t n, uint64_t size)
{
	unsigned char *got = malloc((size_t)size), *want = calloc(1, (size_t)size);
	size_t i, done = 0;

	assert_true(got != NULL && want != NULL);
	for (i = 0; i < n; i++)
		memcpy(want + at[i], b->piece, PIECE);
	assert_int_equal(emi_transfer(b->f, EMI_READ, got, (size_t)size, 0, &done, &b->err), EM_OK);
	assert_int_equal(done, size);
	assert_memory_equal(got, want, (size_t)size);
	free(got);
	free(want);
}

/* What a piece takes: a huge page, where there are any and the file is in small ones otherwise. */
static uint64_t one(const bench *b)
{
	return b->page != 0 ? b->page : PIECE;
}

/* So many bytes are taken.  0: the kernel could not make a page now, so all is to be tried again. */
static int takes(const bench *b, uint64_t bytes)
{
	if (b->f->huge.refused != 0)
		return 0;
	assert_int_equal(taken(b->f), bytes);
	return 1;
}

static int expected_of(bench *b)
{
	const uint64_t page = b->page != 0 ? b->page : 2 * MIB;
	const uint64_t at[4] = { 0, page + page / 2, 2 * page - PIECE, 3 * page };

	assert_int_equal(emi_file_set_aside(b->f, 0, 2 * page, &b->err), EM_OK);
	assert_int_equal(emi_file_set_aside(b->f, 2 * page, page + 100 * KIB, &b->err), EM_OK);
	assert_int_equal(taken(b->f), 0);
	put(b, at[0]);
	if (!takes(b, one(b)))
		return 0;
	/* In the middle of a page, and once more in the same. */
	put(b, at[1]);
	if (!takes(b, 2 * one(b)))
		return 0;
	put(b, at[2]);
	assert_true(takes(b, b->page != 0 ? 2 * b->page : 3 * PIECE));
	/* The last page would be more than what is coming. */
	put(b, at[3]);
	assert_true(takes(b, b->page != 0 ? 2 * b->page + PIECE : 4 * PIECE));
	assert_pieces(b, at, 4, 3 * page + PIECE);
	return 1;
}

/* With a file on which nothing was refused so far. */
static void try_again(const char *dir, const char *backend, int (*fn)(bench *b))
{
	unsigned tries = 0;
	int done;

	do {
		bench b;

		bench_open(&b, dir, backend);
		done = fn(&b);
		bench_close(&b);
	} while (!done && ++tries < TRIES);
	assert_true(done);
}

static void expected(const char *dir)
{
	static const char *const backends[] = { "syscall", "stdio", "mmap", "libaio" };
	size_t i;

	for (i = 0; i < sizeof backends / sizeof *backends; i++)
		if (em_backend_supported(backends[i]))
			try_again(dir, backends[i], expected_of);
}

static void test_expected(void **state)
{
	(void)state;
	conform_on_tmpfs(64 * MIB, expected);
}

/* One write may be of several pages, whole and in part. */
static int across_of(bench *b)
{
	const uint64_t page = b->page != 0 ? b->page : 2 * MIB, size = 2 * page + 3 * PIECE;
	unsigned char *all, *got = malloc((size_t)size);
	test_rng rng = test_rng_make(test_seed());
	size_t done = 0;
	int ret;

	all = io_buffer(&rng, (size_t)size);
	assert_non_null(got);
	assert_int_equal(emi_file_set_aside(b->f, 0, 4 * page, &b->err), EM_OK);
	assert_int_equal(io_write(b->f, all, (size_t)size, page / 2, &b->err), EM_OK);
	ret = takes(b, b->page != 0 ? 3 * page : size);
	assert_int_equal(emi_transfer(b->f, EMI_READ, got, (size_t)size, page / 2, &done, &b->err), EM_OK);
	assert_int_equal(done, size);
	assert_memory_equal(got, all, (size_t)size);
	free(all);
	free(got);
	return ret;
}

static void across(const char *dir)
{
	try_again(dir, "syscall", across_of);
}

static void test_across(void **state)
{
	(void)state;
	conform_on_tmpfs(64 * MIB, across);
}

static void unexpected(const char *dir)
{
	bench b;
	uint64_t page, at[3];

	bench_open(&b, dir, "syscall");
	page = b.page != 0 ? b.page : 2 * MIB;
	at[0] = 0;
	at[1] = page;
	at[2] = 5 * page;
	put(&b, at[0]);
	assert_int_equal(taken(b.f), PIECE);
	/* What is said later is not about what was before, and what was said before no longer holds when something else
	 * is said. */
	assert_int_equal(emi_file_set_aside(b.f, page / 2, page, &b.err), EM_OK);
	assert_int_equal(emi_file_set_aside(b.f, 4 * page, page, &b.err), EM_OK);
	put(&b, at[1]);
	put(&b, at[2]);
	assert_int_equal(taken(b.f), 3 * PIECE);
	/* A page with something in it stays as it is. */
	assert_int_equal(emi_file_set_aside(b.f, 5 * page, page, &b.err), EM_OK);
	assert_int_equal(io_write(b.f, b.piece, PIECE, 5 * page, &b.err), EM_OK);
	assert_int_equal(taken(b.f), 3 * PIECE);
	assert_pieces(&b, at, 3, 5 * page + PIECE);
	bench_close(&b);
}

static void test_unexpected(void **state)
{
	(void)state;
	conform_on_tmpfs(64 * MIB, unexpected);
}

/* No huge page where the file system has no room for one, but small ones to the last. */
static void full(const char *dir)
{
	uint64_t at[64];
	em_file *other;
	em_status st = EM_OK;
	bench b;
	size_t n;

	bench_open(&b, dir, "syscall");
	assert_int_equal(emi_file_set_aside(b.f, 0, 4 * MIB, &b.err), EM_OK);
	other = io_open(b.ctx, dir, EMI_OPEN_TEMP);
	assert_int_equal(emi_file_reserve(other, 0, 9 * MIB, &b.err), EM_OK);
	for (n = 0; n < 64 && st == EM_OK; n++) {
		at[n] = n * PIECE;
		st = io_write(b.f, b.piece, PIECE, at[n], &b.err);
	}
	assert_int_equal(st, EM_ERR_NOSPACE);
	assert_true(n - 1 == MIB / PIECE);
	assert_int_equal(taken(b.f), MIB);
	emi_file_close(other);
	assert_pieces(&b, at, n - 1, MIB);
	bench_close(&b);
}

static void test_full(void **state)
{
	(void)state;
	conform_on_tmpfs(10 * MIB, full);
}

/* Who is refused again and again does not ask any more. */
static void test_refused(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "f");
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), none = open(path, O_RDONLY | O_CLOEXEC);
	const uint64_t page = emi_huge_page_bytes();
	emi_huge_pages h = {0};
	uint64_t i;

	(void)state;
	assert_true(fd >= 0 && none >= 0);
	assert_false(emi_huge_possible(fd));
	emi_huge_expect(&h, 0, 100 * page);
	for (i = 0; i < 20; i++)
		emi_huge_make(&h, none, i * page, PIECE);
	assert_int_equal(h.refused, page != 0 ? 8 : 0);
	close(fd);
	close(none);
	free(path);
	test_dir_remove(dir);
}

/* Random pieces, holes and announcements, beside a model. */
static void random_traffic(const char *dir)
{
	const uint64_t size = 12 * MIB, unit = 4 * KIB;
	test_rng rng = test_rng_make(test_seed());
	unsigned char *model = calloc(1, (size_t)size), *got = malloc((size_t)size),
		      *from = io_buffer(&rng, (size_t)size);
	size_t done = 0;
	bench b;
	int i;

	assert_true(model != NULL && got != NULL);
	bench_open(&b, dir, "syscall");
	assert_int_equal(emi_file_resize(b.f, size, &b.err), EM_OK);
	for (i = 0; i < 400; i++) {
		const uint64_t bytes = (1 + test_below(&rng, test_below(&rng, 8) == 0 ? 1000 : 60)) * unit;
		const uint64_t at = test_below(&rng, (size - bytes) / unit + 1) * unit;
		const emi_extent hole = { at, bytes };
		emi_request rq = {0};

		switch (test_below(&rng, 8)) {
		case 0:
			assert_int_equal(emi_file_set_aside(b.f, at, bytes, &b.err), EM_OK);
			break;
		case 1:
			emi_discard(b.f, &rq, &hole, 1);
			assert_int_equal(emi_wait(&rq, &b.err), EM_OK);
			memset(model + at, 0, (size_t)bytes);
			break;
		case 2:
			assert_int_equal(emi_transfer(b.f, EMI_READ, got, (size_t)bytes, at, &done, &b.err), EM_OK);
			assert_int_equal(done, bytes);
			assert_memory_equal(got, model + at, (size_t)bytes);
			break;
		default:
			assert_int_equal(io_write(b.f, from + at, (size_t)bytes, at, &b.err), EM_OK);
			memcpy(model + at, from + at, (size_t)bytes);
		}
	}
	assert_int_equal(emi_transfer(b.f, EMI_READ, got, (size_t)size, 0, &done, &b.err), EM_OK);
	assert_memory_equal(got, model, (size_t)size);
	bench_close(&b);
	free(model);
	free(got);
	free(from);
}

static void test_traffic(void **state)
{
	(void)state;
	conform_on_tmpfs(64 * MIB, random_traffic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_across),
		cmocka_unit_test(test_unexpected),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
