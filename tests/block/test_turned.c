/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_turned.c -- a write that finds its disk full and turns to another one, while its request is canceled, or while
 * the disks are closed.
 *
 * The backend can be slow or be held, and is asked by one thread, so that a request that comes meanwhile has to wait.
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
#include <string.h>
#include <time.h>

#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/request.h>

#include "base/memory.h"
#include "block/disk.h"
#include "block/two_disks.h"

enum { PAGE = 4096, BLOCK = 2 * PAGE, DISKS = 2 };

/* The backend.  Its functions get no more than a handle, so there is one.  What threads use is atomic. */
static struct {
	em_backend be;
	const em_backend *inner;
	void *file[DISKS];      /* in the order in which they were opened */
	int files;
	int full;               /* which of them has no room for what is written; -1: none */
	int slow;               /* transfers take a while */
	int held;               /* they begin when this is over */
	int inside;             /* transfers that are under way */
	int closed;             /* files */
	int late;               /* a file was closed meanwhile, or is used after that */
} w;

static int late_open(void *user, em_backend_open *how)
{
	int e = w.inner->open(w.inner->user, how);

	(void)user;
	if (e == 0 && w.files < DISKS)
		w.file[w.files++] = how->handle;
	if (e == 0)
		how->disk = 1;
	return e;
}

static void late_close(void *handle, int forked)
{
	if (__atomic_load_n(&w.inside, __ATOMIC_SEQ_CST) != 0)
		__atomic_store_n(&w.late, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&w.closed, 1, __ATOMIC_SEQ_CST);
	w.inner->close(handle, forked);
}

static void begin(void)
{
	const struct timespec while_others_come = { 0, 200000000 }, moment = { 0, 1000000 };

	__atomic_add_fetch(&w.inside, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&w.held, __ATOMIC_SEQ_CST))
		(void)nanosleep(&moment, NULL);
	if (__atomic_load_n(&w.slow, __ATOMIC_SEQ_CST))
		(void)nanosleep(&while_others_come, NULL);
	if (__atomic_load_n(&w.closed, __ATOMIC_SEQ_CST) != 0)
		__atomic_store_n(&w.late, 1, __ATOMIC_SEQ_CST);
}

static int64_t end(int64_t r)
{
	__atomic_sub_fetch(&w.inside, 1, __ATOMIC_SEQ_CST);
	return r;
}

static int64_t late_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	begin();
	return end(w.full >= 0 && handle == w.file[w.full] ? -ENOSPC : w.inner->write(handle, buf, bytes, offset));
}

static int64_t late_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	begin();
	return end(w.inner->read(handle, buf, bytes, offset));
}

static void hold(int held)
{
	__atomic_store_n(&w.held, held, __ATOMIC_SEQ_CST);
}

typedef struct bench {
	two_disks on;
	char *buf, *other;
} bench;

static void bench_open(bench *b)
{
	memset(b, 0, sizeof *b);
	memset(&w, 0, sizeof w);
	w.full = -1;
	w.inner = em_backend_find("syscall");
	w.be = *w.inner;
	w.be.threads = 1;
	w.be.open = late_open;
	w.be.close = late_close;
	w.be.read = late_read;
	w.be.write = late_write;
	two_disks_open(&b->on, &w.be);
	b->buf = emi_buffer_alloc(b->on.ctx, BLOCK, NULL);
	b->other = emi_buffer_alloc(b->on.ctx, BLOCK, NULL);
	assert_true(b->buf != NULL && b->other != NULL);
}

static void bench_close(bench *b)
{
	emi_buffer_free(b->on.ctx, b->buf, BLOCK);
	emi_buffer_free(b->on.ctx, b->other, BLOCK);
	two_disks_close(&b->on);
}

static void write_block(bench *b, em_bid bid, int c)
{
	em_request *rq;

	memset(b->buf, c, BLOCK);
	assert_int_equal(em_block_write(b->on.disks, bid, b->buf, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_int_equal(em_request_wait(rq), EM_OK);
	assert_int_equal(em_request_moved(rq), BLOCK);
	em_request_close(rq);
}

/* Have a request for a block, which has to wait, and cancel it: one of a caller outside, or ... */
static void cancel_public(bench *b, em_bid bid, int reads)
{
	em_request *rq;

	if (reads)
		assert_int_equal(em_block_read(b->on.disks, bid, b->other, BLOCK, NULL, NULL, &rq), EM_OK);
	else
		assert_int_equal(em_block_write(b->on.disks, bid, b->other, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_true(em_request_cancel(rq));
	assert_int_equal(em_request_wait(rq), EM_ERR_CANCELED);
	assert_int_equal(em_request_moved(rq), 0);
	em_request_close(rq);
}

/* ... one that is judged when it is waited for. */
static void cancel_own(bench *b, em_bid bid, int reads)
{
	emi_request rq;
	emi_disk *d;

	memset(&rq, 0, sizeof rq);
	assert_int_equal(emi_scratch_acquire(b->on.ctx, &d, NULL), EM_OK);
	if (reads)
		emi_block_read(d, &rq, b->other, BLOCK, bid, NULL);
	else
		emi_block_write(d, &rq, b->other, BLOCK, bid, NULL);
	assert_true(emi_cancel(&rq));
	assert_int_equal(emi_wait(&rq, NULL), EM_ERR_CANCELED);
	assert_int_equal(rq.done, 0);
	emi_scratch_release(b->on.ctx, d);
}

/* It is for a block that was moved: nothing is written, or read, at the other place either. */
static void canceled(void (*cancel)(bench *b, em_bid bid, int reads), int reads)
{
	em_request *busy;
	em_bid moved, other;
	size_t i;
	bench b;

	bench_open(&b);
	moved = two_disks_alloc(&b.on, 0, BLOCK);
	other = two_disks_alloc(&b.on, 0, BLOCK);
	w.full = 0;
	write_block(&b, moved, 'x');
	w.full = -1;
	hold(1);
	assert_int_equal(em_block_write(b.on.disks, other, b.buf, BLOCK, NULL, NULL, &busy), EM_OK);
	two_disks_await(&w.inside);
	memset(b.other, 'y', BLOCK);
	cancel(&b, moved, reads);
	hold(0);
	assert_int_equal(em_request_wait(busy), EM_OK);
	em_request_close(busy);
	for (i = 0; i < BLOCK; i++)
		assert_int_equal(b.other[i], 'y');
	two_disks_assert(&b.on, moved, b.buf, BLOCK, 'x');
	/* It is still known where it is, and what comes next finds it. */
	write_block(&b, moved, 'z');
	two_disks_assert(&b.on, moved, b.buf, BLOCK, 'z');
	two_disks_assert(&b.on, other, b.buf, BLOCK, 'x');
	assert_int_equal(em_bids_free(b.on.disks, &moved, 1, BLOCK), EM_OK);
	assert_int_equal(em_bids_free(b.on.disks, &other, 1, BLOCK), EM_OK);
	bench_close(&b);
}

static void test_canceled_write(void **state)
{
	(void)state;
	canceled(cancel_public, 0);
	canceled(cancel_own, 0);
}

static void test_canceled_read(void **state)
{
	(void)state;
	canceled(cancel_public, 1);
	canceled(cancel_own, 1);
}

/* Disks are closed while a write to one of them is going to turn to another one, whichever of both is closed first. */
static void closed(uint32_t full)
{
	em_request *rq;
	em_bid bid;
	bench b;

	bench_open(&b);
	bid = two_disks_alloc(&b.on, full, BLOCK);
	w.full = (int)full;
	__atomic_store_n(&w.slow, 1, __ATOMIC_SEQ_CST);
	memset(b.buf, 'x', BLOCK);
	assert_int_equal(em_block_write(b.on.disks, bid, b.buf, BLOCK, NULL, NULL, &rq), EM_OK);
	two_disks_await(&w.inside);
	em_disks_close(b.on.disks);
	b.on.disks = NULL;
	assert_int_equal(w.closed, DISKS);
	assert_int_equal(w.late, 0);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	bench_close(&b);
}

static void test_closed(void **state)
{
	(void)state;
	closed(0);
	closed(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canceled_write),
		cmocka_unit_test(test_canceled_read),
		cmocka_unit_test(test_closed),
	};

	return cmocka_run_group_tests_name("turned", tests, NULL, NULL);
}
