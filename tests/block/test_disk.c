/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disk.c -- the scratch disk: blocks keep what was written, space is reused, failures are told.
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
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/plain_disk.h"

enum { BLOCKS = 60 };

typedef struct block {
	em_bid bid;
	size_t bytes;
	char *buf;
	emi_request rq;
	uint64_t stamp;
} block;

static void stamp(block *b)
{
	size_t at;

	for (at = 0; at < b->bytes; at += 512)
		memcpy(b->buf + at, &b->stamp, sizeof b->stamp);
}

static void check(block *b)
{
	size_t at;

	for (at = 0; at < b->bytes; at += 512)
		assert_memory_equal(b->buf + at, &b->stamp, sizeof b->stamp);
}

/* Blocks of mixed sizes come and go with their writes in flight; each keeps what is its own. */
static void blocks_of(const char *backend)
{
	static const size_t pages[] = {1, 1, 2, 3, 16, 64, 100};
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	test_memory mem;
	em_ctx *ctx = disk_ctx(dir, backend, NULL, &mem);
	emi_disk *d = disk_acquire(ctx);
	block *b = calloc(BLOCKS, sizeof *b);
	uint64_t used = 0, most = 0;
	emi_io_stats stats;
	unsigned i, k;

	memset(&stats, 0, sizeof stats);
	assert_non_null(b);
	for (k = 0; k < 1500; k++) {
		block *x = &b[i = (unsigned)test_below(&rng, BLOCKS)];

		if (x->buf) {
			assert_int_equal(emi_wait(&x->rq, NULL), EM_OK);
			memset(x->buf, 0, x->bytes);
			emi_block_read(d, &x->rq, x->buf, x->bytes, x->bid, &stats);
			assert_int_equal(emi_wait(&x->rq, NULL), EM_OK);
			check(x);
			emi_bid_free(d, x->bid, x->bytes);
			emi_buffer_free(ctx, x->buf, x->bytes);
			used -= x->bytes;
			x->buf = NULL;
			continue;
		}
		x->bytes = PAGE * pages[test_below(&rng, sizeof pages / sizeof *pages)];
		x->buf = emi_buffer_alloc(ctx, x->bytes, NULL);
		assert_non_null(x->buf);
		assert_int_equal(emi_bid_alloc(d, x->bytes, &x->bid, NULL), EM_OK);
		assert_int_equal(x->bid.offset % PAGE, 0);
		used += x->bytes;
		most = used > most ? used : most;
		assert_int_equal(emi_disk_used(d), used);
		assert_true(emi_disk_peak(d) >= most);
		x->stamp = test_random(&rng);
		stamp(x);
		emi_block_write(d, &x->rq, x->buf, x->bytes, x->bid, &stats);
	}
	for (i = 0; i < BLOCKS; i++)
		if (b[i].buf) {
			assert_int_equal(emi_wait(&b[i].rq, NULL), EM_OK);
			emi_bid_free(d, b[i].bid, b[i].bytes);
			emi_buffer_free(ctx, b[i].buf, b[i].bytes);
		}
	assert_true(stats.ios_written > 0 && stats.ios_read > 0);
	assert_int_equal(emi_disk_used(d), 0);
	assert_dir_empty(dir);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
	free(b);
	test_dir_remove(dir);
}

static void test_blocks(void **state)
{
	uint32_t i;

	(void)state;
	/* simdisk is memory and waiting, 15 seconds of it. */
	for (i = 0; i < em_backend_count(); i++)
		if (strcmp(em_backend_at(i)->name, "simdisk") != 0)
			blocks_of(em_backend_at(i)->name);
}

/* All users share one disk; it is gone with the last. */
static void test_shared(void **state)
{
	char *dir = test_dir_make();
	test_memory mem;
	em_ctx *ctx = disk_ctx(dir, NULL, NULL, &mem);
	uint64_t used = em_ctx_memory_used(ctx);
	emi_disk *a = disk_acquire(ctx), *b = disk_acquire(ctx);

	(void)state;
	assert_int_not_equal(emi_disk_owner(a), 0);
	assert_int_not_equal(emi_disk_owner(a), emi_disk_owner(b));
	assert_dir_empty(dir);
	assert_true(em_ctx_memory_used(ctx) - used <= 2 * emi_scratch_memory(ctx));
	assert_int_equal(ctx->fds_used, 1);
	emi_scratch_release(ctx, a);
	assert_non_null(ctx->scratch);
	emi_scratch_release(ctx, b);
	assert_null(ctx->scratch);
	assert_int_equal(em_ctx_memory_used(ctx), used);
	assert_int_equal(ctx->fds_used, 0);
	a = disk_acquire(ctx);
	/* The order of closing does not matter. */
	emi_scratch_release(ctx, a);
	emi_scratch_release(ctx, NULL);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
	test_dir_remove(dir);
}

static void test_reuse_before_growth(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = disk_acquire(ctx);
	size_t bytes = 1 << 20;
	em_bid bid[64];
	uint64_t peak;
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++)
		assert_int_equal(emi_bid_alloc(d, bytes, &bid[i], NULL), EM_OK);
	peak = emi_disk_peak(d);
	assert_int_equal(peak, 64 * bytes);
	for (i = 0; i < 64; i += 2)
		emi_bid_free(d, bid[i], bytes);
	for (i = 0; i < 64; i += 2)
		assert_int_equal(emi_bid_alloc(d, bytes, &bid[i], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak);
	for (i = 0; i < 64; i++)
		emi_bid_free(d, bid[i], bytes);
	for (i = 0; i < 64 * 256; i++)
		assert_int_equal(emi_bid_alloc(d, PAGE, &bid[0], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak);
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid[0], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak + PAGE);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_sizes_refused(void **state)
{
	static const size_t wrong[] = {0, 1, 4095, 4097};
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = disk_acquire(ctx);
	em_bid bid;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		em_errinfo err = clean();

		assert_int_equal(emi_bid_alloc(d, wrong[i], &bid, &err), EM_ERR_INVAL);
		assert_int_equal(err.status, EM_ERR_INVAL);
	}
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A big step that does not fit is followed by smaller ones; only when the block itself does not fit it fails, and
 * later it may fit again. */
static void test_no_space(void **state)
{
	char *dir = test_dir_make();
	em_errinfo err = clean();
	em_fault fault;
	em_ctx *ctx;
	emi_disk *d;
	em_bid bid;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
	fault.ops = EM_FAULT_RESERVE;
	fault.nth = 1;
	fault.times = 3;
	fault.sys_errno = ENOSPC;
	ctx = disk_ctx(dir, NULL, &fault, NULL);
	d = disk_acquire(ctx);
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid, &err), EM_OK);
	assert_int_equal(fault.injected, 3);
	em_fault_set(&fault, EM_FAULT_RESERVE, 1, UINT64_MAX);
	while (emi_bid_alloc(d, PAGE, &bid, &err) == EM_OK)
		continue;
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_string_equal(err.op, "reserve");
	assert_string_equal(err.path, dir);
	assert_int_equal(emi_disk_used(d), emi_disk_peak(d));
	em_fault_set(&fault, 0, 0, 0);
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid, &err), EM_OK);
	/* Anything but a lack of space is not tried again. */
	fault.injected = 0;
	fault.sys_errno = EIO;
	em_fault_set(&fault, EM_FAULT_RESERVE, 1, UINT64_MAX);
	err = clean();
	assert_int_equal(emi_bid_alloc(d, 64 << 20, &bid, &err), EM_ERR_IO);
	assert_int_equal(fault.injected, 1);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What is reserved ahead stays in proportion. */
static void test_reserved_ahead(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "syscall", NULL, NULL);
	emi_disk *d = disk_acquire(ctx);
	uint64_t size = 0, used;
	emi_request rq;
	em_bid bid;
	char *buf = emi_buffer_alloc(ctx, PAGE, NULL);
	unsigned i;

	(void)state;
	memset(buf, 0, PAGE);
	memset(&rq, 0, sizeof rq);
	for (i = 0; i < 600; i++)
		assert_int_equal(emi_bid_alloc(d, 1 << 20, &bid, NULL), EM_OK);
	used = emi_disk_used(d);
	emi_block_write(d, &rq, buf, PAGE, bid, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(emi_file_size(rq.file, &size, NULL), EM_OK);
	assert_true(size <= used + used / 25);
	emi_buffer_free(ctx, buf, PAGE);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Who says how much is coming has it set aside in few steps, and no more than that. */
static void test_expected(void **state)
{
	enum { N = 300, BYTES = 1 << 20 };
	char *dir = test_dir_make();
	uint64_t steps[2];
	em_fault fault;
	em_bid bid;
	em_ctx *ctx;
	emi_disk *d;
	unsigned i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
		fault.ops = EM_FAULT_RESERVE;
		ctx = disk_ctx(dir, NULL, &fault, NULL);
		d = disk_acquire(ctx);
		if (k == 1)
			emi_disk_expect(d, (uint64_t)N * BYTES);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_bid_alloc(d, BYTES, &bid, NULL), EM_OK);
		steps[k] = fault.count;
		if (k == 1)
			assert_int_equal(emi_disk_held_peak(d), (uint64_t)N * BYTES);
		emi_scratch_release(ctx, d);
		em_ctx_close(ctx);
	}
	assert_true(steps[1] <= 2 && steps[0] >= 50);
	test_dir_remove(dir);
}

/* A limit is never exceeded, and what is free does not count. */
static void test_limit(void **state)
{
	enum { N = 64, BYTES = 64 << 10 };
	char *dir = test_dir_make();
	const char *const dirs[] = { dir };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = clean();
	em_bid bid[N], large;
	em_ctx *ctx = NULL;
	emi_disk *d;
	unsigned i;

	(void)state;
	opts.memory = (uint64_t)64 << 20;
	opts.dirs = dirs;
	opts.ndirs = 1;
	opts.scratch_max = (uint64_t)N * BYTES + PAGE - 1;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	d = disk_acquire(ctx);
	for (i = 0; i < N; i++)
		assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], &err), EM_OK);
	assert_true(emi_disk_held_peak(d) <= opts.scratch_max);
	assert_int_equal(emi_bid_alloc(d, PAGE, &large, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, 0);
	assert_int_equal(err.bytes, (uint64_t)N * BYTES + PAGE);
	assert_string_equal(err.path, dir);
	assert_non_null(strstr(err.text, "limited to 4198399 bytes"));
	assert_non_null(strstr(err.text, dir));
	/* Many small gaps make room for a large block. */
	for (i = 0; i < N; i += 2)
		emi_bid_free(d, bid[i], BYTES);
	err = clean();
	assert_int_equal(emi_bid_alloc(d, N / 2 * BYTES, &large, &err), EM_OK);
	assert_true(large.offset >= (uint64_t)N * BYTES);
	assert_int_equal(emi_bid_alloc(d, PAGE, &large, &err), EM_ERR_NOSPACE);
	assert_true(emi_disk_held_peak(d) <= opts.scratch_max);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_missing_directory(void **state)
{
	char *dir = test_dir_make(), *gone = test_path(dir, "gone");
	em_ctx *ctx = disk_ctx(gone, "syscall", NULL, NULL);
	em_errinfo err = clean();
	emi_disk *d = (emi_disk *)&err;
	uint64_t used = em_ctx_memory_used(ctx);

	(void)state;
	assert_int_equal(emi_scratch_acquire(ctx, &d, &err), EM_ERR_NOENT);
	assert_null(d);
	assert_string_equal(err.path, gone);
	assert_int_equal(emi_scratch_acquire(ctx, &d, NULL), EM_ERR_NOENT);
	assert_int_equal(em_ctx_memory_used(ctx), used);
	assert_null(ctx->scratch);
	em_ctx_close(ctx);
	free(gone);
	test_dir_remove(dir);
}

typedef struct taker {
	emi_disk *d;
	em_bid bid[500];
	int wrong;
} taker;

static void *take_and_give(void *arg)
{
	taker *t = arg;
	unsigned i;

	for (i = 0; i < 500; i++) {
		t->wrong |= emi_bid_alloc(t->d, PAGE * (1 + i % 3), &t->bid[i], NULL) != EM_OK;
		if (i % 3 == 2) {
			emi_bid_free(t->d, t->bid[i - 1], PAGE * (1 + (i - 1) % 3));
			t->wrong |= emi_bid_alloc(t->d, PAGE * (1 + (i - 1) % 3), &t->bid[i - 1], NULL) != EM_OK;
		}
	}
	return NULL;
}

static int by_offset(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Blocks that several threads take do not overlap. */
static void test_threads(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "memory", NULL, NULL);
	taker *t = calloc(3, sizeof *t);
	uint64_t *span = calloc(1500, 2 * sizeof *span);
	pthread_t thread[3];
	unsigned i, k, n = 0;

	(void)state;
	for (k = 0; k < 3; k++) {
		t[k].d = disk_acquire(ctx);
		assert_int_equal(pthread_create(&thread[k], NULL, take_and_give, &t[k]), 0);
	}
	for (k = 0; k < 3; k++) {
		pthread_join(thread[k], NULL);
		assert_false(t[k].wrong);
		for (i = 0; i < 500; i++, n++) {
			span[2 * n] = t[k].bid[i].offset;
			span[2 * n + 1] = PAGE * (1 + i % 3);
		}
	}
	qsort(span, n, 2 * sizeof *span, by_offset);
	for (i = 1; i < n; i++)
		assert_true(span[2 * i - 2] + span[2 * i - 1] <= span[2 * i]);
	for (k = 0; k < 3; k++)
		emi_scratch_release(ctx, t[k].d);
	free(t);
	free(span);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A child that inherited a disk, perhaps with its lock held, can release it. */
static void test_fork(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, NULL, NULL, NULL);
	emi_disk *d = disk_acquire(ctx), *e = NULL;
	em_bid bid;
	int status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid, NULL), EM_OK);
	pthread_mutex_lock(&ctx->lock);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int wrong = emi_scratch_acquire(ctx, &e, NULL) != EM_ERR_FORK;

		wrong |= emi_bid_alloc(d, PAGE, &bid, NULL) != EM_ERR_FORK;
		emi_bid_free(d, bid, PAGE);
		emi_scratch_release(ctx, d);
		em_ctx_close(ctx);
		_exit(wrong);
	}
	pthread_mutex_unlock(&ctx->lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid, NULL), EM_OK);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_reuse_before_growth),
		cmocka_unit_test(test_sizes_refused),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_reserved_ahead),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_missing_directory),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("block/disk", tests, NULL, NULL);
}
