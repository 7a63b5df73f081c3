/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disk_gives_back.c -- the scratch disk: space that is free goes back to the file system, or is kept where it does
 * not.
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/plain_disk.h"

/* How many bytes a file of this process that has no name takes up. */
static uint64_t allocated(em_ctx *ctx, emi_disk *d)
{
	char *page = emi_buffer_alloc(ctx, PAGE, NULL);
	emi_request rq;
	em_bid bid;
	struct stat sb;

	memset(&rq, 0, sizeof rq);
	assert_non_null(page);
	assert_int_equal(emi_bid_alloc(d, PAGE, &bid, NULL), EM_OK);
	memset(page, 0, PAGE);
	emi_block_write(d, &rq, page, PAGE, bid, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(fstat(emi_file_fd(rq.file), &sb), 0);
	emi_buffer_free(ctx, page, PAGE);
	return (uint64_t)sb.st_blocks * 512;
}

/* Space of blocks that are freed goes back, in batches of gaps that are large enough; what is read is what was
 * written. */
static void test_give_back(void **state)
{
	enum { N = 256, BYTES = 64 << 10 };
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "syscall", NULL, NULL);
	emi_disk *d = disk_acquire(ctx);
	char *buf = emi_buffer_alloc(ctx, BYTES, NULL);
	uint64_t full, held, i, peak;
	em_bid bid[N], other;
	emi_request rq;

	(void)state;
	memset(&rq, 0, sizeof rq);
	for (i = 0; i < N; i++) {
		assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
		memset(buf, (int)i, BYTES);
		emi_block_write(d, &rq, buf, BYTES, bid[i], NULL);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	}
	full = allocated(ctx, d);
	held = emi_disk_held(d);
	peak = emi_disk_held_peak(d);
	assert_true(full >= (uint64_t)N * BYTES && held >= (uint64_t)N * BYTES && peak >= held);
	/* What is reserved ahead goes at once. */
	emi_disk_slack(d, N / 4 * BYTES);
	emi_disk_give_back(d, 16 * BYTES);
	if (emi_disk_held(d) != emi_disk_used(d)) {
		print_message("this file system makes no holes\n");
		goto out;
	}
	/* What is in small gaps may stay, up to a limit. */
	for (i = 0; i < N; i += 4)
		emi_bid_free(d, bid[i], BYTES);
	held = emi_disk_held(d);
	assert_true(held >= (uint64_t)N * BYTES);
	for (i = 1; i < N; i += 4) {
		emi_bid_free(d, bid[i], BYTES);
		/* At most that and four times the lag. */
		assert_true(emi_disk_held(d) <= emi_disk_used(d) + (4 * 16 + N / 4) * (uint64_t)BYTES);
	}
	(void)emi_disk_give_all(d);
	assert_int_equal(emi_disk_held(d), emi_disk_used(d));
	assert_true(emi_disk_give_all(d) == 0);
	assert_true(allocated(ctx, d) <= full - (uint64_t)N * BYTES / 4);
	/* New blocks are nowhere where holes are, and old ones are what they were. */
	for (i = 0; i < N / 2; i++) {
		assert_int_equal(emi_bid_alloc(d, BYTES, &other, NULL), EM_OK);
		assert_true(other.offset >= (uint64_t)N * BYTES);
	}
	for (i = 2; i < N; i += 4) {
		emi_block_read(d, &rq, buf, BYTES, bid[i], NULL);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
		assert_int_equal((unsigned char)buf[0], i);
		assert_memory_equal(buf, buf + 1, BYTES - 1);
	}
	/* Nobody gives any more. */
	emi_disk_keep(d);
	held = emi_disk_held(d);
	for (i = 2; i < N; i++)
		if (i % 4 >= 2)
			emi_bid_free(d, bid[i], BYTES);
	assert_int_equal(emi_disk_held(d), held);
out:
	emi_buffer_free(ctx, buf, BYTES);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Gaps that are of no use go back when there are too many, also while blocks are allocated. */
static void test_slack(void **state)
{
	enum { N = 512, BYTES = 16 << 10 };
	char *dir = test_dir_make();
	em_ctx *ctx = disk_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = disk_acquire(ctx);
	em_bid bid[N], large;
	uint64_t peak;
	unsigned i;

	(void)state;
	for (i = 0; i < N; i++)
		assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
	for (i = 0; i < N; i += 2)
		emi_bid_free(d, bid[i], BYTES);
	peak = emi_disk_peak(d);
	/* Without a limit they stay. */
	assert_int_equal(emi_bid_alloc(d, 2 * BYTES, &large, NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak + 2 * BYTES);
	emi_disk_slack(d, N / 4 * BYTES);
	for (i = 0; i < N / 8; i++)
		assert_int_equal(emi_bid_alloc(d, 2 * BYTES, &large, NULL), EM_OK);
	(void)emi_disk_held(d);
	assert_int_equal(emi_disk_peak(d), peak + 2 * BYTES);
	/* Half of what is allowed is still there for those that fit. */
	for (i = 0; i < N / 8; i++) {
		assert_int_equal(emi_bid_alloc(d, BYTES, &large, NULL), EM_OK);
		assert_true(large.offset < (uint64_t)N * BYTES);
	}
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A file system that takes nothing back is asked once; then gaps are reused as ever. */
static void test_nothing_goes_back(void **state)
{
	enum { N = 64, BYTES = 64 << 10 };
	static const int kinds[] = {EOPNOTSUPP, EIO, ENOSPC};
	em_backend old = *em_backend_find("memory");
	em_fault fault;
	em_bid bid[N];
	unsigned i, k;

	(void)state;
	for (k = 0; k < 4; k++) {
		char *dir = test_dir_make();
		uint64_t peak;
		em_ctx *ctx;
		emi_disk *d;

		/* One that lacks it is never asked. */
		old.discard = NULL;
		assert_int_equal(em_fault_init(&fault, sizeof fault, k < 3 ? NULL : &old), EM_OK);
		fault.ops = EM_FAULT_DISCARD;
		fault.nth = 1;
		fault.times = UINT64_MAX;
		fault.sys_errno = k < 3 ? kinds[k] : 0;
		ctx = disk_ctx(dir, NULL, &fault, NULL);
		d = disk_acquire(ctx);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
		for (i = 0; i < N; i += 2)
			emi_bid_free(d, bid[i], BYTES);
		peak = emi_disk_peak(d);
		emi_disk_slack(d, BYTES);
		emi_disk_give_back(d, BYTES);
		for (i = 1; i < N; i += 2)
			emi_bid_free(d, bid[i], BYTES);
		assert_int_equal(emi_disk_give_all(d), 0);
		assert_int_equal(emi_disk_used(d), 0);
		assert_int_equal(fault.injected, k < 3);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
		assert_int_equal(emi_disk_peak(d), peak);
		emi_disk_keep(d);
		emi_scratch_release(ctx, d);
		em_ctx_close(ctx);
		test_dir_remove(dir);
	}
}

/* A gap that could not be given back is free again, though some before it went. */
static void test_some_go_back(void **state)
{
	enum { N = 64, BYTES = 64 << 10 };
	char *dir = test_dir_make();
	em_fault fault;
	em_bid bid[N];
	uint64_t held;
	em_ctx *ctx;
	emi_disk *d;
	unsigned i;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
	fault.ops = EM_FAULT_DISCARD;
	fault.nth = 5;
	fault.times = UINT64_MAX;
	ctx = disk_ctx(dir, NULL, &fault, NULL);
	d = disk_acquire(ctx);
	for (i = 0; i < N; i++)
		assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
	held = emi_disk_held(d);
	for (i = 0; i < N; i += 2)
		emi_bid_free(d, bid[i], BYTES);
	assert_int_equal(emi_disk_give_all(d), 1);
	assert_int_equal(fault.injected, 1);
	assert_int_equal(emi_disk_held(d), held - 4 * BYTES);
	for (i = 8; i < N; i += 2) {
		assert_int_equal(emi_bid_alloc(d, BYTES, &bid[i], NULL), EM_OK);
		assert_true(bid[i].offset < (uint64_t)N * BYTES && bid[i].offset >= 8 * BYTES);
	}
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What becomes free at the end goes back when it is much, and not because of blocks that come and go there. */
static void test_end_goes_back(void **state)
{
	enum { N = 400, BYTES = 1 << 20 };
	char *dir = test_dir_make();
	em_fault fault;
	em_bid bid[N], more[64];
	uint64_t before;
	em_ctx *ctx;
	emi_disk *d;
	unsigned i, k;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
	fault.ops = EM_FAULT_DISCARD | EM_FAULT_RESERVE;
	ctx = disk_ctx(dir, NULL, &fault, NULL);
	d = disk_acquire(ctx);
	assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid, N, NULL), EM_OK);
	assert_true(emi_disk_held(d) >= (uint64_t)N * BYTES);
	/* A stack of 64 MiB comes and goes: its space is set aside once. */
	for (k = 0; k < 20; k++) {
		before = fault.count;
		for (i = 0; i < 64; i++)
			assert_int_equal(emi_bid_alloc(d, BYTES, &more[i], NULL), EM_OK);
		while (i-- > 0)
			assert_int_equal(emi_bid_free(d, more[i], BYTES), EM_OK);
		assert_true(k == 0 || fault.count == before);
	}
	/* Space goes back while there is less and less, a few times in all, and what is kept is in proportion. */
	before = fault.count;
	for (i = N; i-- > 0;) {
		unsigned patience = 100000;

		assert_int_equal(emi_bid_free(d, bid[i], BYTES), EM_OK);
		assert_true(emi_disk_held(d) >= emi_disk_used(d));
		/* It may still be on its way. */
		while (emi_disk_held(d) > emi_disk_used(d) + emi_disk_used(d) / 7 + (uint64_t)72 * BYTES &&
		       patience-- > 0)
			usleep(100);
		assert_true(patience > 0);
	}
	assert_true(fault.count > before && fault.count <= before + 8);
	(void)emi_disk_give_all(d);
	assert_int_equal(emi_disk_held(d), 0);
	/* It comes again, from the front. */
	assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid, N, NULL), EM_OK);
	assert_int_equal(bid[0].offset, 0);
	assert_int_equal(emi_bids_free(d, bid + 1, N - 1, BYTES, NULL), EM_OK);
	/* What cannot go back is still there. */
	(void)emi_disk_held(d);
	em_fault_set(&fault, EM_FAULT_DISCARD, 1, UINT64_MAX);
	assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_OK);
	assert_int_equal(emi_bids_free(d, bid + 1, N - 1, BYTES, NULL), EM_OK);
	assert_int_equal(emi_disk_give_all(d), 0);
	assert_int_equal(fault.injected, 1);
	before = emi_disk_held(d);
	assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_OK);
	assert_true(emi_disk_held(d) >= (uint64_t)N * BYTES && emi_disk_held(d) >= before);
	assert_int_equal(emi_bids_free(d, bid, N, BYTES, NULL), EM_OK);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What was refused is not held, by a disk and by all together. */
static void test_refused(void **state)
{
	enum { N = 8, BYTES = 1 << 20 };
	char *dir = test_dir_make();
	em_fault fault;
	uint64_t held;
	em_bid bid[N];
	em_ctx *ctx;
	emi_disk *d;
	unsigned i;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
	fault.sys_errno = ENOSPC;
	fault.ops = 0;
	ctx = disk_ctx(dir, NULL, &fault, NULL);
	d = disk_acquire(ctx);
	assert_int_equal(emi_bid_alloc(d, BYTES, &bid[0], NULL), EM_OK);
	held = emi_disk_held(d);
	em_fault_set(&fault, EM_FAULT_RESERVE, 1, UINT64_MAX);
	for (i = 0; i < 3; i++)
		assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_ERR_NOSPACE);
	assert_true(fault.injected >= 3);
	assert_int_equal(emi_disk_held(d), held);
	em_fault_set(&fault, 0, 0, 0);
	assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_OK);
	assert_int_equal(emi_bids_free(d, bid, N, BYTES, NULL), EM_OK);
	(void)emi_disk_give_all(d);
	assert_int_equal(emi_disk_held(d), 0);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* A backend whose discards take until space is asked for again, or a while. */
static struct {
	em_backend be;
	const em_backend *inner;
	int discarding;         /* atomic */
	int together;           /* space was asked for meanwhile; atomic */
	int discards;           /* atomic */
} slow;

static int slow_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	int i, e;

	__atomic_add_fetch(&slow.discards, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&slow.discarding, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < 200 && !__atomic_load_n(&slow.together, __ATOMIC_SEQ_CST); i++)
		usleep(100);
	e = slow.inner->discard(handle, offset, bytes);
	__atomic_store_n(&slow.discarding, 0, __ATOMIC_SEQ_CST);
	return e;
}

static int slow_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	if (__atomic_load_n(&slow.discarding, __ATOMIC_SEQ_CST))
		__atomic_store_n(&slow.together, 1, __ATOMIC_SEQ_CST);
	return slow.inner->reserve(handle, offset, bytes);
}

/* What is on its way back at the end has gone before it is set aside again, or the file system would take what is in
 * use. */
static void test_end_comes_again(void **state)
{
	enum { N = 300, BYTES = 1 << 20 };
	char *dir = test_dir_make();
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *dirs = dir;
	em_bid bid[N];
	em_ctx *ctx;
	emi_disk *d;
	int round;

	(void)state;
	memset(&slow, 0, sizeof slow);
	slow.inner = em_backend_find("memory");
	slow.be = *slow.inner;
	slow.be.discard = slow_discard;
	slow.be.reserve = slow_reserve;
	opts.custom = &slow.be;
	opts.dirs = &dirs;
	opts.ndirs = 1;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	d = disk_acquire(ctx);
	for (round = 0; round < 3; round++) {
		assert_int_equal(emi_bids_alloc_row(d, 0, BYTES, bid, N, NULL), EM_OK);
		assert_int_equal(emi_bids_free(d, bid, N, BYTES, NULL), EM_OK);
	}
	assert_true(__atomic_load_n(&slow.discards, __ATOMIC_RELAXED) > 0);
	assert_int_equal(__atomic_load_n(&slow.together, __ATOMIC_SEQ_CST), 0);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_nothing_goes_back),
		cmocka_unit_test(test_some_go_back),
		cmocka_unit_test(test_end_goes_back),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_end_comes_again),
	};

	return cmocka_run_group_tests_name("block/disk_gives_back", tests, NULL, NULL);
}
