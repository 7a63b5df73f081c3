/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_cut_off.c -- scratch files that somebody makes shorter while they are in use: whoever reads what is missing is
 * told so, with path and
 * offset, in every backend; what is still there is read as ever.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/disk.h>
#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/request.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/block_pool.h"
#include "block/block_reader.h"
#include "common/test.h"

enum { PAGE = 4096, BLOCK = 4 * PAGE, BLOCKS = 8, KEPT = 3 };

static const char *const backends[] = { "syscall", "libaio", "io_uring", "stdio", "mmap" };

/* Blocks in a file that has a name. */
typedef struct bench {
	char *dir, *path;
	em_ctx *ctx;
	em_disks *disks;
	emi_disk *d;            /* the same, inside, ... */
	emi_store *store;       /* ... and a store on them */
	em_bid bid[BLOCKS];
	char *buf;              /* of a block */
	em_errinfo err;
} bench;

static void fill(char *buf, unsigned i)
{
	memset(buf, 'a' + (int)i, BLOCK);
}

static int is_block(const char *buf, unsigned i)
{
	size_t at;

	for (at = 0; at < BLOCK; at++)
		if (buf[at] != 'a' + (int)i)
			return 0;
	return 1;
}

static void write_blocks(bench *b)
{
	em_request *rq;
	unsigned i;

	assert_int_equal(em_bids_alloc_row(b->disks, b->bid, BLOCKS, BLOCK, 0), EM_OK);
	for (i = 0; i < BLOCKS; i++) {
		fill(b->buf, i);
		assert_int_equal(em_block_write(b->disks, b->bid[i], b->buf, BLOCK, NULL, NULL, &rq), EM_OK);
		assert_int_equal(em_request_wait(rq), EM_OK);
		em_request_close(rq);
	}
}

/* 0: the backend does not work here. */
static int bench_open(bench *b, const char *backend, int32_t direct)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_disk_opts *list = &disk;
	em_disks_opts how = EM_DISKS_OPTS_INIT;
	FILE *f;

	memset(b, 0, sizeof *b);
	b->dir = test_dir_make();
	b->path = test_path(b->dir, "scratch");
	f = fopen(b->path, "w");
	assert_non_null(f);
	fclose(f);
	disk.path = b->path;
	disk.direct = direct;
	opts.memory = (uint64_t)64 << 20;
	opts.threads = 1;
	opts.backend = backend;
	opts.disks = &list;
	opts.ndisks = 1;
	if (em_ctx_open(&b->ctx, &opts) != EM_OK)
		return 0;
	how.flags = EM_DISKS_ABANDON;
	how.errinfo = &b->err;
	if (em_disks_open(&b->disks, b->ctx, &how) != EM_OK)
		fail_msg("%s", b->err.text);
	assert_int_equal(emi_scratch_acquire(b->ctx, &b->d, &b->err), EM_OK);
	assert_int_equal(emi_store_open_disks(&b->store, b->ctx, b->d, &b->err), EM_OK);
	b->buf = emi_buffer_alloc(b->ctx, BLOCK, &b->err);
	assert_non_null(b->buf);
	write_blocks(b);
	return 1;
}

static void bench_close(bench *b)
{
	if (b->ctx != NULL) {
		emi_buffer_free(b->ctx, b->buf, BLOCK);
		emi_store_close(b->store);
		emi_scratch_release(b->ctx, b->d);
		em_disks_close(b->disks);
		em_ctx_close(b->ctx);
	}
	free(b->path);
	test_dir_remove(b->dir);
}

/* Cut the file in, before or behind block KEPT. */
static void cut(const bench *b, int where)
{
	const uint64_t at = b->bid[KEPT].offset;

	assert_int_equal(truncate(b->path, (off_t)(where < 0 ? at - 1 : where == 0 ? at : at + BLOCK - 1)), 0);
}

/* Is this how one must be told of a block that is missing? */
static void assert_told(const bench *b, em_status st, const em_errinfo *err, unsigned i)
{
	assert_int_equal(st, EM_ERR_CORRUPT);
	assert_int_equal(err->status, EM_ERR_CORRUPT);
	assert_string_equal(err->path, b->path);
	assert_int_equal(err->offset, b->bid[i].offset);
	assert_true(strstr(err->text, "scratch '") != NULL && strstr(err->text, "damaged") != NULL);
}

typedef void (*read_fn)(bench *b, unsigned i, int there);

/* Read all blocks in a way, of which the first n are there. */
static void read_all(bench *b, read_fn fn, unsigned n)
{
	unsigned i;

	for (i = 0; i < BLOCKS; i++) {
		memset(&b->err, 0, sizeof b->err);
		memset(b->buf, 'Z', BLOCK);
		fn(b, i, i < n);
	}
}

static void each(read_fn fn)
{
	size_t i;
	int direct, where;

	for (i = 0; i < sizeof backends / sizeof *backends; i++)
		for (direct = 0; direct < 2; direct++)
			for (where = -1; where < 2; where++) {
				bench b;

				if (bench_open(&b, backends[i], direct ? EM_DIRECT_TRY : EM_DIRECT_OFF)) {
					read_all(&b, fn, BLOCKS);
					cut(&b, where);
					read_all(&b, fn, where < 0 ? KEPT - 1 : KEPT);
				}
				bench_close(&b);
			}
}

static void read_plain(bench *b, unsigned i, int there)
{
	emi_request rq;
	em_status st;

	emi_block_read(b->d, &rq, b->buf, BLOCK, b->bid[i], NULL);
	st = emi_wait(&rq, &b->err);
	if (!there) {
		assert_told(b, st, &b->err, i);
		return;
	}
	assert_int_equal(st, EM_OK);
	assert_true(is_block(b->buf, i));
}

/* As callers outside do, who get to know it in three ways. */
static void note(em_request *rq, void *user)
{
	*(em_status *)user = em_request_status(rq);
}

static void read_public(bench *b, unsigned i, int there)
{
	em_status told = EM_ERR_INTERNAL, st;
	em_request *rq;
	size_t moved;

	assert_int_equal(em_block_read(b->disks, b->bid[i], b->buf, BLOCK, note, &told, &rq), EM_OK);
	st = em_request_wait(rq);
	moved = em_request_moved(rq);
	em_request_error(rq, &b->err);
	assert_int_equal(told, st);
	assert_int_equal(em_request_status(rq), st);
	em_request_close(rq);
	if (!there) {
		assert_told(b, st, &b->err, i);
		return;
	}
	assert_int_equal(st, EM_OK);
	assert_true(is_block(b->buf, i) && moved == BLOCK);
}

static void read_pool(bench *b, unsigned i, int there)
{
	int hinted;

	for (hinted = 0; hinted < 2; hinted++) {
		emi_block_pool p;
		em_status st;

		memset(&b->err, 0, sizeof b->err);
		assert_int_equal(emi_block_pool_open(&p, b->ctx, b->store, BLOCK, 1, 2, NULL, &b->err), EM_OK);
		if (hinted)
			assert_true(emi_block_pool_hint(&p, b->bid[i]));
		st = emi_block_pool_read(&p, &b->buf, b->bid[i], &b->err);
		if (there) {
			assert_int_equal(st, EM_OK);
			assert_true(is_block(b->buf, i));
		} else {
			assert_told(b, st, &b->err, i);
		}
		emi_block_pool_close(&p);
	}
}

static void read_list(bench *b, unsigned i, int there)
{
	const emi_block_list list = { &b->bid[i], 1, 1, BLOCK, 0 };
	const char *records;
	emi_block_reader r;
	em_status st;
	size_t n;

	assert_int_equal(
		emi_block_reader_open(&r, b->ctx, b->store, BLOCK, 1, 2, &list, 1, EMI_FORWARD, 0, NULL, &b->err),
		EM_OK);
	st = emi_block_reader_next(&r, &records, &n, &b->err);
	if (there) {
		assert_int_equal(st, EM_OK);
		assert_true(n == BLOCK && is_block(records, i));
	} else {
		assert_told(b, st, &b->err, i);
	}
	emi_block_reader_close(&r);
}

static void read_cache(bench *b, unsigned i, int there)
{
	em_cache_opts how = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;
	void *block;

	how.block_bytes = BLOCK;
	how.frames = 2;
	assert_int_equal(em_cache_open(&c, b->disks, &how), EM_OK);
	st = em_cache_get(c, b->bid[i], 0, &block);
	if (there) {
		assert_int_equal(st, EM_OK);
		assert_true(is_block(block, i));
	} else {
		em_cache_error(c, &b->err);
		assert_told(b, st, &b->err, i);
	}
	em_cache_close(c);
}

static void test_plain(void **state)
{
	(void)state;
	each(read_plain);
}

static void test_public(void **state)
{
	(void)state;
	each(read_public);
}

static void test_pool(void **state)
{
	(void)state;
	each(read_pool);
}

static void test_list(void **state)
{
	(void)state;
	each(read_list);
}

static void test_cache(void **state)
{
	(void)state;
	each(read_cache);
}

/* A part of a block that nobody wrote may be missing, as nothing is lost with it. */
static void test_part(void **state)
{
	em_request *rq;
	bench b;

	(void)state;
	assert_true(bench_open(&b, "syscall", EM_DIRECT_OFF));
	assert_int_equal(em_bids_free(b.disks, &b.bid[BLOCKS - 1], 1, BLOCK), EM_OK);
	assert_int_equal(em_bids_alloc_row(b.disks, &b.bid[BLOCKS - 1], 1, BLOCK, 0), EM_OK);
	assert_int_equal(em_block_write(b.disks, b.bid[BLOCKS - 1], b.buf, PAGE, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_int_equal(truncate(b.path, (off_t)b.bid[BLOCKS - 1].offset + PAGE), 0);
	assert_int_equal(em_block_read(b.disks, b.bid[BLOCKS - 1], b.buf, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	assert_int_equal(em_request_moved(rq), PAGE);
	em_request_close(rq);
	assert_int_equal(truncate(b.path, (off_t)b.bid[BLOCKS - 1].offset), 0);
	assert_int_equal(em_block_read(b.disks, b.bid[BLOCKS - 1], b.buf, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_ERR_CORRUPT);
	em_request_close(rq);
	/* Where pages were written in part nobody knows how much there is of one. */
	assert_int_equal(em_bids_free(b.disks, &b.bid[BLOCKS - 1], 1, BLOCK), EM_OK);
	assert_int_equal(em_bids_alloc_row(b.disks, &b.bid[BLOCKS - 1], 1, BLOCK, 0), EM_OK);
	assert_int_equal(em_block_write(b.disks, b.bid[BLOCKS - 1], b.buf, 100, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_int_equal(truncate(b.path, (off_t)b.bid[BLOCKS - 1].offset + 100), 0);
	assert_int_equal(em_block_read(b.disks, b.bid[BLOCKS - 1], b.buf, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	assert_int_equal(em_request_moved(rq), 100);
	em_request_close(rq);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_public),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_part),
	};

	return cmocka_run_group_tests_name("cut_off", tests, NULL, NULL);
}
