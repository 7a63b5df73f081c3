/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_full_disk_waits.c -- a write finds its disk full, and is noticed by a thread that waits for something else.
 *
 * Whoever collects a transfer of a caller outside finds another place for its block.  That takes the locks of disks,
 * and it may wait.  So nobody may collect with such a lock, and nobody may find a place while others cannot collect.
 *
 * A backend makes its transfers at once when they are submitted, and tells of them when it is asked.  It can be slow in
 * what threads do.
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
#include <string.h>
#include <time.h>

#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/request.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/disk.h"
#include "block/two_disks.h"

enum { PAGE = 4096, BLOCK = 4 * PAGE, BLOCKS = 8, ROOM = 64 };

/* The backend.  Its functions get no more than a handle, so there is one. */
static struct {
	em_backend be;
	const em_backend *inner;
	pthread_mutex_t lock;
	void *first;            /* the file of the first disk */
	int full;               /* that has no room for what is written */
	int plain;              /* threads make all transfers, one thread of each queue */
	int slow;               /* what threads do takes its time; atomic */
	int inside;             /* a thread is at it; atomic */
	em_transfer *done[ROOM]; /* not collected yet */
	int n;
} w;

static int late_open(void *user, em_backend_open *how)
{
	int e = w.inner->open(w.inner->user, how);

	(void)user;
	if (e != 0)
		return e;
	if (w.first == NULL)
		w.first = how->handle;
	how->direct = 1;
	how->async = !w.plain;
	how->async_from = 0;
	how->disk = 1;
	return 0;
}

static void be_slow(void)
{
	const struct timespec while_others_come = { 0, 300000000 };

	if (!__atomic_load_n(&w.slow, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&w.inside, 1, __ATOMIC_SEQ_CST);
	(void)nanosleep(&while_others_come, NULL);
}

static int64_t write_at(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	return w.full && handle == w.first ? -ENOSPC : w.inner->write(handle, buf, bytes, offset);
}

static int64_t late_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	be_slow();
	return write_at(handle, buf, bytes, offset);
}

static int late_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	(void)handle;
	(void)offset;
	(void)bytes;
	be_slow();
	return 0;
}

static int late_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	em_transfer *t = list[0];

	(void)channel;
	(void)n;
	t->result = t->write ? write_at(t->handle, t->buf, t->bytes, t->offset)
			     : w.inner->read(t->handle, t->buf, t->bytes, t->offset);
	pthread_mutex_lock(&w.lock);
	assert_true(w.n < ROOM);
	w.done[w.n++] = t;
	pthread_mutex_unlock(&w.lock);
	return 1;
}

static int late_reap(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	int n = 0;

	(void)channel;
	(void)timeout_ns;
	pthread_mutex_lock(&w.lock);
	while (w.n > 0 && (uint32_t)n < max)
		list[n++] = w.done[--w.n];
	pthread_mutex_unlock(&w.lock);
	return n;
}

static int late_open_channel(void *user, uint32_t depth, void **channel)
{
	(void)user;
	(void)depth;
	*channel = &w;
	return 0;
}

static void late_close_channel(void *channel, int forked)
{
	(void)channel;
	(void)forked;
}

static void late_init(int plain)
{
	memset(&w, 0, sizeof w);
	w.plain = plain;
	pthread_mutex_init(&w.lock, NULL);
	w.inner = em_backend_find("syscall");
	w.be = *w.inner;
	w.be.threads = (uint32_t)plain;
	w.be.open = late_open;
	w.be.write = late_write;
	w.be.discard = late_discard;
	w.be.submit = late_submit;
	w.be.reap = late_reap;
	w.be.open_channel = late_open_channel;
	w.be.close_channel = late_close_channel;
}

typedef struct bench {
	two_disks on;           /* the first of which is going to be full */
	emi_disk *disk;
	em_bid bid;             /* a block on the first */
	char *buf;
	em_request *rq;         /* its write, that failed: nobody knows yet */
} bench;

static void bench_open(bench *b, int plain)
{
	memset(b, 0, sizeof *b);
	late_init(plain);
	two_disks_open(&b->on, &w.be);
	assert_int_equal(emi_scratch_acquire(b->on.ctx, &b->disk, NULL), EM_OK);
	b->buf = emi_buffer_alloc(b->on.ctx, 2 * BLOCK, NULL);
	assert_non_null(b->buf);
	memset(b->buf, 'x', 2 * BLOCK);
}

static void write_to_full_disk(bench *b)
{
	b->bid = two_disks_alloc(&b->on, 0, BLOCK);
	w.full = 1;
	assert_int_equal(em_block_write(b->on.disks, b->bid, b->buf, BLOCK, NULL, NULL, &b->rq), EM_OK);
	if (!w.plain)
		assert_int_equal(em_request_status(b->rq), EM_ERR_STATE);
}

/* It is at another place, and what is read is what was written. */
static void assert_moved(bench *b)
{
	assert_int_equal(em_request_wait(b->rq), EM_OK);
	em_request_close(b->rq);
	two_disks_assert(&b->on, b->bid, b->buf, BLOCK, 'x');
	assert_int_equal(em_bids_free(b->on.disks, &b->bid, 1, BLOCK), EM_OK);
}

static void bench_close(bench *b)
{
	emi_buffer_free(b->on.ctx, b->buf, 2 * BLOCK);
	emi_scratch_release(b->on.ctx, b->disk);
	two_disks_close(&b->on);
	pthread_mutex_destroy(&w.lock);
}

/* Space goes back, and who frees a block looks whether it has gone, or waits until it has. */
static void freed(int waits)
{
	em_bid bid[BLOCKS];
	bench b;
	int i;

	bench_open(&b, 0);
	for (i = 0; i < BLOCKS; i++)
		assert_int_equal(emi_bid_alloc_on(b.disk, 0, BLOCK, &bid[i], NULL), EM_OK);
	emi_disk_slack(b.disk, 0);
	emi_disk_give_back(b.disk, BLOCK);
	write_to_full_disk(&b);
	__atomic_store_n(&w.slow, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(emi_bid_free(b.disk, bid[0], BLOCK), EM_OK);
	two_disks_await(&w.inside);
	if (waits)
		(void)emi_disk_give_all(b.disk);
	for (i = 2; i < BLOCKS; i += 2)
		assert_int_equal(emi_bid_free(b.disk, bid[i], BLOCK), EM_OK);
	__atomic_store_n(&w.slow, 0, __ATOMIC_SEQ_CST);
	assert_moved(&b);
	for (i = 1; i < BLOCKS; i += 2)
		assert_int_equal(emi_bid_free(b.disk, bid[i], BLOCK), EM_OK);
	emi_disk_keep(b.disk);
	bench_close(&b);
}

static void test_looks(void **state)
{
	(void)state;
	freed(0);
}

static void test_waits(void **state)
{
	(void)state;
	freed(1);
}

/* The other place is behind a write that is not aligned, for which the new one has to wait. */
static void test_other_disk_is_busy(void **state)
{
	em_bid bid;
	bench b;
	em_request *rq;

	(void)state;
	bench_open(&b, 0);
	assert_int_equal(emi_bid_alloc_on(b.disk, 1, BLOCK, &bid, NULL), EM_OK);
	write_to_full_disk(&b);
	assert_int_equal(emi_bid_free(b.disk, bid, BLOCK), EM_OK);
	bid = two_disks_alloc(&b.on, 1, BLOCK);
	__atomic_store_n(&w.slow, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(em_block_write(b.on.disks, bid, b.buf + 1, BLOCK, NULL, NULL, &rq), EM_OK);
	two_disks_await(&w.inside);
	__atomic_store_n(&w.slow, 0, __ATOMIC_SEQ_CST);
	assert_moved(&b);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_int_equal(em_bids_free(b.on.disks, &bid, 1, BLOCK), EM_OK);
	bench_close(&b);
}

/* The same, and the only thread that would make that write is the one that finds the other place. */
static void test_no_other_thread(void **state)
{
	em_request *rq;
	em_bid bid;
	bench b;

	(void)state;
	bench_open(&b, 1);
	bid = two_disks_alloc(&b.on, 1, BLOCK);
	__atomic_store_n(&w.slow, 1, __ATOMIC_SEQ_CST);
	write_to_full_disk(&b);
	two_disks_await(&w.inside);
	__atomic_store_n(&w.slow, 0, __ATOMIC_SEQ_CST);
	assert_int_equal(em_block_write(b.on.disks, bid, b.buf + 1, BLOCK, NULL, NULL, &rq), EM_OK);
	assert_moved(&b);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_int_equal(em_bids_free(b.on.disks, &bid, 1, BLOCK), EM_OK);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_other_disk_is_busy),
		cmocka_unit_test(test_no_other_thread),
	};

	return cmocka_run_group_tests_name("full_disk_waits", tests, NULL, NULL);
}
