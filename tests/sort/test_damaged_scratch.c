/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_damaged_scratch.c -- sorts whose scratch file is cut short or written over between the runs and the merge, in
 * every backend.
 *
 * What happens is an output that is right, as only free space was hit, or EM_ERR_CORRUPT with the path and an offset.
 *  What is missing, and pages of zeros in a
 * block, are noticed always, anything else where uses are checked; and no damage leads astray.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem.h>
#include <extmem/disk.h>

#include "block/packer.h"
#include "common/test.h"
#include "sort/lines_model.h"
#include "sort/run.h"
#include "sort/sort_model.h"

enum { PAGE = 4096, RECORDS = 12000, LINES = 6000 };

static const char *const backends[] = { "syscall", "libaio", "io_uring", "stdio", "mmap" };

/* How the file is damaged. */
typedef enum harm { HARM_NONE, HARM_CUT, HARM_CUT_ALL, HARM_HOLE, HARM_NOISE, HARM_BYTE, HARM_SWAP, HARM_BYTES } harm;

/* A sorter with scratch in a file that has a name. */
typedef struct bench {
	test_rng rng;
	char *dir, *path;
	em_ctx *ctx;
	em_order *order;
	em_sorter *s;
	lines l;                /* lines, or ... */
	unsigned char *records, *expected; /* ... records */
	sort_shape shape;
	size_t at;              /* records that came out */
	int any;                /* whatever they are */
} bench;

static int bench_open(bench *b, const char *backend, int checked, int text, int compress)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_disk_opts *list = &disk;
	em_sort_opts so = EM_SORT_OPTS_INIT;
	static uint64_t number;
	uint64_t n = RECORDS;
	FILE *f;

	memset(b, 0, sizeof *b);
	b->rng = test_rng_make(test_seed() + number++);
	b->dir = test_dir_make();
	b->path = test_path(b->dir, "scratch");
	f = fopen(b->path, "w");
	assert_non_null(f);
	fclose(f);
	disk.path = b->path;
	disk.direct = EM_DIRECT_OFF;
	opts.memory = (uint64_t)64 << 20;
	opts.threads = 2;
	opts.backend = backend;
	opts.disks = &list;
	opts.ndisks = 1;
	opts.flags = checked ? EM_CTX_CHECKED : 0;
	if (em_ctx_open(&b->ctx, &opts) != EM_OK)
		return 0;
	so.block_bytes = 2 * PAGE;
	so.last_run = EM_LAST_RUN_WRITTEN;
	so.compress = compress && emi_packer_supported() ? EM_COMPRESS_ALWAYS : EM_COMPRESS_NEVER;
	if (text) {
		b->order = lines_order(b->ctx, 0);
		so.run_records = LINES / 8;
		lines_add_random(&b->l, &b->rng, LINES_WORDS, LINES);
	} else {
		b->shape = sort_shape_of(EM_KEY_U64, 0, 0, 100);
		b->order = sort_order(b->ctx, &b->shape);
		so.run_records = RECORDS / 8;
		b->records = sort_records(&b->rng, &b->shape, SORT_RANDOM, n);
		b->expected = sort_expected(&b->shape, b->records, &n, 0);
	}
	assert_int_equal(em_sorter_open(&b->s, b->ctx, b->order, &so), EM_OK);
	return 1;
}

static void bench_close(bench *b)
{
	em_sorter_close(b->s);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	lines_free(&b->l);
	free(b->records);
	free(b->expected);
	free(b->path);
	test_dir_remove(b->dir);
}

static void push_lines(bench *b)
{
	size_t i;

	for (i = 0; i < b->l.n; i++) {
		size_t n;
		const unsigned char *record = lines_at(&b->l, i, &n);
		const uint64_t end = n;
		const em_batch one = { record, 1, n, &end };

		assert_int_equal(em_sorter_push_batch(b->s, one.records, one.ends, one.n), EM_OK);
	}
	lines_sort(b->order, &b->l, 0, 0);
}

static void push(bench *b)
{
	if (b->records == NULL)
		push_lines(b);
	else
		assert_int_equal(em_sorter_push(b->s, b->records, RECORDS), EM_OK);
	assert_int_equal(em_sorter_finish(b->s), EM_OK);
}

/* Does a batch have what comes next? */
static void take(bench *b, const em_batch *batch)
{
	size_t i, from = 0;

	if (b->any)
		return;
	if (b->records != NULL) {
		assert_memory_equal(batch->records, b->expected + b->at * b->shape.bytes, batch->n * b->shape.bytes);
		b->at += batch->n;
		return;
	}
	for (i = 0; i < batch->n; i++, b->at++) {
		size_t n;
		const unsigned char *record = lines_at(&b->l, b->at, &n);

		assert_int_equal(batch->ends[i] - from, n);
		assert_memory_equal((const char *)batch->records + from, record, n);
		from = (size_t)batch->ends[i];
	}
}

/* Pull all: EM_ERR_CORRUPT, or all that was pushed in order. */
static em_status pull(bench *b)
{
	const em_batch *batch;
	em_status st;

	while ((st = em_sorter_next(b->s, &batch)) == EM_OK)
		take(b, batch);
	if (st == EM_END && !b->any)
		assert_true(b->at == (b->records != NULL ? RECORDS : b->l.n));
	return st;
}

/* Many bytes, but none of those that are always looked at. */
static void harm_bytes(bench *b, int fd, int64_t size)
{
	unsigned char byte;
	int i;

	for (i = 0; i < 200; i++) {
		const int64_t at = (int64_t)test_below(&b->rng, (uint64_t)(size / PAGE)) * PAGE + 16 +
				   (int64_t)test_below(&b->rng, PAGE - 16);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte = test_below(&b->rng, 2) ? 255 : (unsigned char)test_random(&b->rng);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
}

static void harm_file(bench *b, harm how, int64_t page)
{
	static unsigned char junk[PAGE], other[PAGE];
	const int fd = open(b->path, O_RDWR);
	struct stat sb;

	assert_true(fd >= 0 && fstat(fd, &sb) == 0 && sb.st_size > page * PAGE);
	memset(junk, 0, PAGE);
	if (how == HARM_NOISE)
		test_fill(&b->rng, junk, PAGE);
	if (how == HARM_BYTE) {
		assert_int_equal(pread(fd, junk, PAGE, page * PAGE), PAGE);
		junk[test_below(&b->rng, PAGE)] ^= (unsigned char)(1 + test_below(&b->rng, 255));
	}
	if (how == HARM_SWAP) {
		assert_int_equal(pread(fd, junk, PAGE, page * PAGE), PAGE);
		assert_int_equal(pread(fd, other, PAGE, 0), PAGE);
		assert_int_equal(pwrite(fd, junk, PAGE, 0), PAGE);
		memcpy(junk, other, PAGE);
	}
	if (how == HARM_BYTES)
		harm_bytes(b, fd, sb.st_size);
	else if (how == HARM_CUT || how == HARM_CUT_ALL)
		assert_int_equal(ftruncate(fd, how == HARM_CUT ? page * PAGE : 0), 0);
	else if (how != HARM_NONE)
		assert_int_equal(pwrite(fd, junk, PAGE, page * PAGE), PAGE);
	close(fd);
}

static int64_t pages_of(const bench *b)
{
	struct stat sb;

	assert_int_equal(stat(b->path, &sb), 0);
	return sb.st_size / PAGE;
}

/* One sort that is harmed at the share-th of `shares' parts of the file: was it noticed? */
static int harmed(const char *backend, int checked, int text, int compress, harm how, int64_t share, int64_t shares)
{
	em_status st;
	bench b;

	if (!bench_open(&b, backend, checked, text, compress)) {
		bench_close(&b);
		return -1;
	}
	b.any = !checked && how > HARM_HOLE;
	push(&b);
	harm_file(&b, how, (pages_of(&b) - 1) * share / shares);
	st = pull(&b);
	if (st != EM_END) {
		em_errinfo err;

		em_sorter_error(b.s, &err);
		if (st != EM_ERR_CORRUPT)
			fail_msg("%s: %s", backend, err.text);
		assert_string_equal(err.path, b.path);
		assert_true(err.offset % PAGE == 0 && err.bytes != 0);
		assert_true(strstr(err.text, "scratch '") != NULL && strstr(err.text, "damaged") != NULL);
	}
	bench_close(&b);
	return st != EM_END;
}

static void try_backends(int checked, harm first, harm last)
{
	const int64_t shares = 5;
	size_t i;
	int how, text, compress;

	for (i = 0; i < sizeof backends / sizeof *backends; i++) {
		for (text = 0; text < 2; text++) {
			compress = (int)(i % 2);
			for (how = (int)first; how <= (int)last; how++) {
				int64_t share;
				int seen = 0;

				if (test_left_out())
					continue;
				for (share = 0; share <= shares; share++) {
					const int noticed = harmed(backends[i], checked, text, compress, (harm)how,
								   share, shares);

					if (noticed < 0)
						goto next;
					seen += noticed;
				}
				if (how == HARM_NONE)
					assert_int_equal(seen, 0);
				else if (checked || how <= HARM_HOLE)
					assert_true(seen > 0);
			}
		}
next:;
	}
}

static void test_unharmed(void **state)
{
	(void)state;
	try_backends(0, HARM_NONE, HARM_NONE);
	try_backends(1, HARM_NONE, HARM_NONE);
}

static void test_cut(void **state)
{
	(void)state;
	try_backends(0, HARM_CUT, HARM_CUT_ALL);
}

/* Of each page the beginning is looked at. */
static void test_zeros(void **state)
{
	(void)state;
	try_backends(0, HARM_HOLE, HARM_HOLE);
}

/* Lengths, offsets and counts that lead nowhere. */
static void test_noise(void **state)
{
	(void)state;
	try_backends(0, HARM_NOISE, HARM_SWAP);
}

/* Lines of which any length may be anything. */
static void test_bytes(void **state)
{
	int64_t round;
	int seen = 0;

	(void)state;
	for (round = 0; round < 60; round++)
		seen += harmed("syscall", 0, 1, (int)(round % 4 == 3), HARM_BYTES, round % 2, 2);
	assert_true(seen > 30);
}

static void test_checked(void **state)
{
	(void)state;
	try_backends(1, HARM_CUT, HARM_SWAP);
}

enum lie {
	LIE_LONGER, LIE_HUGE, LIE_EMPTY, LIE_PACKED, LIE_PACKED_HUGE, LIE_DISK, LIE_MORE, LIE_FEWER, LIE_NEXT,
	LIE_NEXT_DISK, LIES
};

/* What cannot be, in a page of a directory or in one of its entries. */
static void tell_lie(emi_dir_page *page, emi_dir_entry *e, int lie)
{
	switch (lie) {
	case LIE_LONGER:
		e->bytes = 2 * PAGE + 1;
		break;
	case LIE_HUGE:
		e->bytes = UINT64_MAX - PAGE;
		break;
	case LIE_EMPTY:
		e->bytes = 0;
		break;
	case LIE_PACKED:
		e->packed = (uint32_t)e->bytes;
		break;
	case LIE_PACKED_HUGE:
		e->packed = UINT32_MAX;
		break;
	case LIE_DISK:
		e->place |= 1;
		break;
	case LIE_MORE:
		page->count++;
		break;
	case LIE_FEWER:
		page->count--;
		break;
	case LIE_NEXT:
		page->next = page->next == EMI_DIR_END ? 0 : EMI_DIR_END;
		break;
	default:
		page->next_disk = 1;
	}
	page->sum = emi_dir_sum(page);
}

/* In all pages of directories, whose sums are right: how many there are. */
static unsigned tell_lies(bench *b, int lie)
{
	static emi_dir_page page;
	const int fd = open(b->path, O_RDWR);
	const int64_t pages = pages_of(b);
	unsigned found = 0;
	int64_t i;

	assert_true(fd >= 0);
	for (i = 0; i < pages; i++) {
		assert_int_equal(pread(fd, &page, PAGE, i * PAGE), PAGE);
		if (page.count == 0 || page.count > EMI_DIR_ENTRIES || page.sum != emi_dir_sum(&page))
			continue;
		tell_lie(&page, &page.entry[test_below(&b->rng, page.count)], lie);
		assert_int_equal(pwrite(fd, &page, PAGE, i * PAGE), PAGE);
		found++;
	}
	close(fd);
	return found;
}

/* Sums are no proof: a directory that says what cannot be is noticed in any case, and before it is believed. */
static void test_lies(void **state)
{
	int lie, text, checked;

	(void)state;
	for (lie = 0; lie < LIES; lie++) {
		for (text = 0; text < 2; text++) {
			for (checked = 0; checked < 2; checked++) {
				em_errinfo err;
				bench b;

				assert_true(bench_open(&b, "syscall", checked, text, text));
				b.any = 1;
				push(&b);
				assert_true(tell_lies(&b, lie) >= 8);
				if (pull(&b) != EM_ERR_CORRUPT)
					fail_msg("lie %d is not noticed", lie);
				em_sorter_error(b.s, &err);
				assert_string_equal(err.path, b.path);
				assert_int_equal(err.bytes, EMI_DIR_BYTES);
				assert_non_null(strstr(err.text, "damaged"));
				bench_close(&b);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unharmed),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_checked),
	};

	return cmocka_run_group_tests_name("damaged_scratch", tests, NULL, NULL);
}
