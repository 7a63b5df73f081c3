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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/disk.h"
#include "common/test.h"

enum { PAGE = 4096 };

static em_ctx *make_ctx(const char *dir, const char *backend, const em_fault *fault, test_memory *mem)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx = NULL;

	memset(&err, 0, sizeof err);
	opts.memory = (uint64_t)64 << 20;
	opts.dirs = &dir;
	opts.ndirs = 1;
	opts.backend = backend;
	opts.errinfo = &err;
	if (fault)
		opts.custom = em_fault_backend(fault);
	if (mem) {
		test_memory_init(mem, 0);
		opts.allocator = &mem->allocator;
	}
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		fail_msg("%s", err.text);
	return ctx;
}

static em_errinfo clean(void)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	return err;
}

static emi_disk *acquire(em_ctx *ctx)
{
	em_errinfo err = clean();
	emi_disk *d = NULL;

	if (emi_scratch_acquire(ctx, &d, &err) != EM_OK)
		fail_msg("%s", err.text);
	return d;
}

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
	em_ctx *ctx = make_ctx(dir, backend, NULL, &mem);
	emi_disk *d = acquire(ctx);
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
			emi_block_free(d, x->bid, x->bytes);
			emi_buffer_free(ctx, x->buf, x->bytes);
			used -= x->bytes;
			x->buf = NULL;
			continue;
		}
		x->bytes = PAGE * pages[test_below(&rng, sizeof pages / sizeof *pages)];
		x->buf = emi_buffer_alloc(ctx, x->bytes, NULL);
		assert_non_null(x->buf);
		assert_int_equal(emi_block_alloc(d, x->bytes, &x->bid, NULL), EM_OK);
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
			emi_block_free(d, b[i].bid, b[i].bytes);
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
	em_ctx *ctx = make_ctx(dir, NULL, NULL, &mem);
	uint64_t used = em_ctx_memory_used(ctx);
	emi_disk *a = acquire(ctx), *b = acquire(ctx);

	(void)state;
	assert_int_not_equal(emi_disk_owner(a), 0);
	assert_int_not_equal(emi_disk_owner(a), emi_disk_owner(b));
	assert_dir_empty(dir);
	assert_true(em_ctx_memory_used(ctx) - used <= 2 * emi_scratch_memory(ctx, 0));
	assert_int_equal(ctx->fds_used, 1);
	emi_scratch_release(ctx, a);
	assert_non_null(ctx->scratch);
	emi_scratch_release(ctx, b);
	assert_null(ctx->scratch);
	assert_int_equal(em_ctx_memory_used(ctx), used);
	assert_int_equal(ctx->fds_used, 0);
	a = acquire(ctx);
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
	em_ctx *ctx = make_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = acquire(ctx);
	size_t bytes = 1 << 20;
	em_bid bid[64];
	uint64_t peak;
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++)
		assert_int_equal(emi_block_alloc(d, bytes, &bid[i], NULL), EM_OK);
	peak = emi_disk_peak(d);
	assert_int_equal(peak, 64 * bytes);
	for (i = 0; i < 64; i += 2)
		emi_block_free(d, bid[i], bytes);
	for (i = 0; i < 64; i += 2)
		assert_int_equal(emi_block_alloc(d, bytes, &bid[i], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak);
	for (i = 0; i < 64; i++)
		emi_block_free(d, bid[i], bytes);
	for (i = 0; i < 64 * 256; i++)
		assert_int_equal(emi_block_alloc(d, PAGE, &bid[0], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak);
	assert_int_equal(emi_block_alloc(d, PAGE, &bid[0], NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak + PAGE);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_sizes_refused(void **state)
{
	static const size_t wrong[] = {0, 1, 4095, 4097};
	char *dir = test_dir_make();
	em_ctx *ctx = make_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = acquire(ctx);
	em_bid bid;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		em_errinfo err = clean();

		assert_int_equal(emi_block_alloc(d, wrong[i], &bid, &err), EM_ERR_INVAL);
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
	em_fault_init(&fault, em_backend_find("memory"));
	fault.ops = EM_FAULT_RESERVE;
	fault.nth = 1;
	fault.times = 3;
	fault.sys_errno = ENOSPC;
	ctx = make_ctx(dir, NULL, &fault, NULL);
	d = acquire(ctx);
	assert_int_equal(emi_block_alloc(d, PAGE, &bid, &err), EM_OK);
	assert_int_equal(fault.injected, 3);
	em_fault_set(&fault, EM_FAULT_RESERVE, 1, UINT64_MAX);
	while (emi_block_alloc(d, PAGE, &bid, &err) == EM_OK)
		continue;
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_string_equal(err.op, "reserve");
	assert_string_equal(err.path, dir);
	assert_int_equal(emi_disk_used(d), emi_disk_peak(d));
	em_fault_set(&fault, 0, 0, 0);
	assert_int_equal(emi_block_alloc(d, PAGE, &bid, &err), EM_OK);
	/* Anything but a lack of space is not tried again. */
	fault.injected = 0;
	fault.sys_errno = EIO;
	em_fault_set(&fault, EM_FAULT_RESERVE, 1, UINT64_MAX);
	err = clean();
	assert_int_equal(emi_block_alloc(d, 64 << 20, &bid, &err), EM_ERR_IO);
	assert_int_equal(fault.injected, 1);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What is reserved ahead stays in proportion. */
static void test_reserved_ahead(void **state)
{
	char *dir = test_dir_make();
	em_ctx *ctx = make_ctx(dir, "syscall", NULL, NULL);
	emi_disk *d = acquire(ctx);
	uint64_t size = 0, used;
	emi_request rq;
	em_bid bid;
	char *buf = emi_buffer_alloc(ctx, PAGE, NULL);
	unsigned i;

	(void)state;
	memset(buf, 0, PAGE);
	memset(&rq, 0, sizeof rq);
	for (i = 0; i < 600; i++)
		assert_int_equal(emi_block_alloc(d, 1 << 20, &bid, NULL), EM_OK);
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

/* How many bytes a file of this process that has no name takes up. */
static uint64_t allocated(em_ctx *ctx, emi_disk *d)
{
	char *page = emi_buffer_alloc(ctx, PAGE, NULL);
	emi_request rq;
	em_bid bid;
	struct stat sb;

	memset(&rq, 0, sizeof rq);
	assert_non_null(page);
	assert_int_equal(emi_block_alloc(d, PAGE, &bid, NULL), EM_OK);
	memset(page, 0, PAGE);
	emi_block_write(d, &rq, page, PAGE, bid, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(fstat(emi_file_fd(rq.file), &sb), 0);
	emi_buffer_free(ctx, page, PAGE);
	return (uint64_t)sb.st_blocks * 512;
}

/* Space of blocks that are freed goes back, in batches of gaps that are large enough; what is read is what was written. */
static void test_give_back(void **state)
{
	enum { N = 256, BYTES = 64 << 10 };
	char *dir = test_dir_make();
	em_ctx *ctx = make_ctx(dir, "syscall", NULL, NULL);
	emi_disk *d = acquire(ctx);
	char *buf = emi_buffer_alloc(ctx, BYTES, NULL);
	uint64_t full, held, i, peak;
	em_bid bid[N], other;
	emi_request rq;

	(void)state;
	memset(&rq, 0, sizeof rq);
	for (i = 0; i < N; i++) {
		assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
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
		emi_block_free(d, bid[i], BYTES);
	held = emi_disk_held(d);
	assert_true(held >= (uint64_t)N * BYTES);
	for (i = 1; i < N; i += 4) {
		emi_block_free(d, bid[i], BYTES);
		/* At most that and four times the lag. */
		assert_true(emi_disk_held(d) <= emi_disk_used(d) + (4 * 16 + N / 4) * (uint64_t)BYTES);
	}
	(void)emi_disk_give_all(d);
	assert_int_equal(emi_disk_held(d), emi_disk_used(d));
	assert_true(emi_disk_give_all(d) == 0);
	assert_true(allocated(ctx, d) <= full - (uint64_t)N * BYTES / 4);
	/* New blocks are nowhere where holes are, and old ones are what they were. */
	for (i = 0; i < N / 2; i++) {
		assert_int_equal(emi_block_alloc(d, BYTES, &other, NULL), EM_OK);
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
			emi_block_free(d, bid[i], BYTES);
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
	em_ctx *ctx = make_ctx(dir, "memory", NULL, NULL);
	emi_disk *d = acquire(ctx);
	em_bid bid[N], large;
	uint64_t peak;
	unsigned i;

	(void)state;
	for (i = 0; i < N; i++)
		assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
	for (i = 0; i < N; i += 2)
		emi_block_free(d, bid[i], BYTES);
	peak = emi_disk_peak(d);
	/* Without a limit they stay. */
	assert_int_equal(emi_block_alloc(d, 2 * BYTES, &large, NULL), EM_OK);
	assert_int_equal(emi_disk_peak(d), peak + 2 * BYTES);
	emi_disk_slack(d, N / 4 * BYTES);
	for (i = 0; i < N / 8; i++)
		assert_int_equal(emi_block_alloc(d, 2 * BYTES, &large, NULL), EM_OK);
	(void)emi_disk_held(d);
	assert_int_equal(emi_disk_peak(d), peak + 2 * BYTES);
	/* Half of what is allowed is still there for those that fit. */
	for (i = 0; i < N / 8; i++) {
		assert_int_equal(emi_block_alloc(d, BYTES, &large, NULL), EM_OK);
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

		/* One that was made before there was such a thing is never asked. */
		old.size = offsetof(em_backend, discard);
		em_fault_init(&fault, k < 3 ? NULL : &old);
		fault.ops = EM_FAULT_DISCARD;
		fault.nth = 1;
		fault.times = UINT64_MAX;
		fault.sys_errno = k < 3 ? kinds[k] : 0;
		ctx = make_ctx(dir, NULL, &fault, NULL);
		d = acquire(ctx);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
		for (i = 0; i < N; i += 2)
			emi_block_free(d, bid[i], BYTES);
		peak = emi_disk_peak(d);
		emi_disk_slack(d, BYTES);
		emi_disk_give_back(d, BYTES);
		for (i = 1; i < N; i += 2)
			emi_block_free(d, bid[i], BYTES);
		assert_int_equal(emi_disk_give_all(d), 0);
		assert_int_equal(emi_disk_used(d), 0);
		assert_int_equal(fault.injected, k < 3);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
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
	em_fault_init(&fault, em_backend_find("memory"));
	fault.ops = EM_FAULT_DISCARD;
	fault.nth = 5;
	fault.times = UINT64_MAX;
	ctx = make_ctx(dir, NULL, &fault, NULL);
	d = acquire(ctx);
	for (i = 0; i < N; i++)
		assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
	held = emi_disk_held(d);
	for (i = 0; i < N; i += 2)
		emi_block_free(d, bid[i], BYTES);
	assert_int_equal(emi_disk_give_all(d), 1);
	assert_int_equal(fault.injected, 1);
	assert_int_equal(emi_disk_held(d), held - 4 * BYTES);
	for (i = 8; i < N; i += 2) {
		assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], NULL), EM_OK);
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
	em_fault_init(&fault, em_backend_find("memory"));
	fault.ops = EM_FAULT_DISCARD | EM_FAULT_RESERVE;
	ctx = make_ctx(dir, NULL, &fault, NULL);
	d = acquire(ctx);
	assert_int_equal(emi_blocks_alloc_row(d, 0, BYTES, bid, N, NULL), EM_OK);
	assert_true(emi_disk_held(d) >= (uint64_t)N * BYTES);
	/* A stack of 64 MiB comes and goes: its space is set aside once. */
	for (k = 0; k < 20; k++) {
		before = fault.count;
		for (i = 0; i < 64; i++)
			assert_int_equal(emi_block_alloc(d, BYTES, &more[i], NULL), EM_OK);
		while (i-- > 0)
			assert_int_equal(emi_block_free(d, more[i], BYTES), EM_OK);
		assert_true(k == 0 || fault.count == before);
	}
	/* Space goes back while there is less and less, a few times in all, and what is kept is in proportion. */
	before = fault.count;
	for (i = N; i-- > 0;) {
		unsigned patience = 100000;

		assert_int_equal(emi_block_free(d, bid[i], BYTES), EM_OK);
		assert_true(emi_disk_held(d) >= emi_disk_used(d));
		/* It may still be on its way. */
		while (emi_disk_held(d) > emi_disk_used(d) + emi_disk_used(d) / 7 + (uint64_t)72 * BYTES && patience-- > 0)
			usleep(100);
		assert_true(patience > 0);
	}
	assert_true(fault.count > before && fault.count <= before + 8);
	(void)emi_disk_give_all(d);
	assert_int_equal(emi_disk_held(d), 0);
	/* It comes again, from the front. */
	assert_int_equal(emi_blocks_alloc_row(d, 0, BYTES, bid, N, NULL), EM_OK);
	assert_int_equal(bid[0].offset, 0);
	assert_int_equal(emi_blocks_free(d, bid + 1, N - 1, BYTES, NULL), EM_OK);
	/* What cannot go back is still there. */
	(void)emi_disk_held(d);
	em_fault_set(&fault, EM_FAULT_DISCARD, 1, UINT64_MAX);
	assert_int_equal(emi_blocks_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_OK);
	assert_int_equal(emi_blocks_free(d, bid + 1, N - 1, BYTES, NULL), EM_OK);
	assert_int_equal(emi_disk_give_all(d), 0);
	assert_int_equal(fault.injected, 1);
	before = emi_disk_held(d);
	assert_int_equal(emi_blocks_alloc_row(d, 0, BYTES, bid + 1, N - 1, NULL), EM_OK);
	assert_true(emi_disk_held(d) >= (uint64_t)N * BYTES && emi_disk_held(d) >= before);
	assert_int_equal(emi_blocks_free(d, bid, N, BYTES, NULL), EM_OK);
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
		em_fault_init(&fault, em_backend_find("memory"));
		fault.ops = EM_FAULT_RESERVE;
		ctx = make_ctx(dir, NULL, &fault, NULL);
		d = acquire(ctx);
		if (k == 1)
			emi_disk_expect(d, (uint64_t)N * BYTES);
		for (i = 0; i < N; i++)
			assert_int_equal(emi_block_alloc(d, BYTES, &bid, NULL), EM_OK);
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
	d = acquire(ctx);
	for (i = 0; i < N; i++)
		assert_int_equal(emi_block_alloc(d, BYTES, &bid[i], &err), EM_OK);
	assert_true(emi_disk_held_peak(d) <= opts.scratch_max);
	assert_int_equal(emi_block_alloc(d, PAGE, &large, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, 0);
	assert_int_equal(err.bytes, (uint64_t)N * BYTES + PAGE);
	assert_string_equal(err.path, dir);
	assert_non_null(strstr(err.text, "limited to 4198399 bytes"));
	assert_non_null(strstr(err.text, dir));
	/* Many small gaps make room for a large block. */
	for (i = 0; i < N; i += 2)
		emi_block_free(d, bid[i], BYTES);
	err = clean();
	assert_int_equal(emi_block_alloc(d, N / 2 * BYTES, &large, &err), EM_OK);
	assert_true(large.offset >= (uint64_t)N * BYTES);
	assert_int_equal(emi_block_alloc(d, PAGE, &large, &err), EM_ERR_NOSPACE);
	assert_true(emi_disk_held_peak(d) <= opts.scratch_max);
	emi_scratch_release(ctx, d);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_missing_directory(void **state)
{
	char *dir = test_dir_make(), *gone = test_path(dir, "gone");
	em_ctx *ctx = make_ctx(gone, "syscall", NULL, NULL);
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
		t->wrong |= emi_block_alloc(t->d, PAGE * (1 + i % 3), &t->bid[i], NULL) != EM_OK;
		if (i % 3 == 2) {
			emi_block_free(t->d, t->bid[i - 1], PAGE * (1 + (i - 1) % 3));
			t->wrong |= emi_block_alloc(t->d, PAGE * (1 + (i - 1) % 3), &t->bid[i - 1], NULL) != EM_OK;
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
	em_ctx *ctx = make_ctx(dir, "memory", NULL, NULL);
	taker *t = calloc(3, sizeof *t);
	uint64_t *span = calloc(1500, 2 * sizeof *span);
	pthread_t thread[3];
	unsigned i, k, n = 0;

	(void)state;
	for (k = 0; k < 3; k++) {
		t[k].d = acquire(ctx);
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
	em_ctx *ctx = make_ctx(dir, NULL, NULL, NULL);
	emi_disk *d = acquire(ctx), *e = NULL;
	em_bid bid;
	int status = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(emi_block_alloc(d, PAGE, &bid, NULL), EM_OK);
	pthread_mutex_lock(&ctx->lock);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int wrong = emi_scratch_acquire(ctx, &e, NULL) != EM_ERR_FORK;

		wrong |= emi_block_alloc(d, PAGE, &bid, NULL) != EM_ERR_FORK;
		emi_block_free(d, bid, PAGE);
		emi_scratch_release(ctx, d);
		em_ctx_close(ctx);
		_exit(wrong);
	}
	pthread_mutex_unlock(&ctx->lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(emi_block_alloc(d, PAGE, &bid, NULL), EM_OK);
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
		cmocka_unit_test(test_give_back),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_nothing_goes_back),
		cmocka_unit_test(test_some_go_back),
		cmocka_unit_test(test_end_goes_back),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_missing_directory),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("block/disk", tests, NULL, NULL);
}
