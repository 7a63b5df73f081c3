/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_id.c -- blocks by their ids: rows, wrong ids, owners, and what is counted and reported.
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

#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "block/scratch_set.h"

/* Slow builds try so much less. */
static unsigned slower(void)
{
	return TEST_TSAN || test_fewer() > 1 ? 10 : 1;
}

static em_status transfer(emi_disk *d, int write, size_t bytes, em_bid bid, em_errinfo *err)
{
	char *buf = calloc(1, 4 * PAGE);
	emi_request rq;
	em_status st;

	memset(&rq, 0, sizeof rq);
	assert_non_null(buf);
	*err = clean();
	if (write)
		emi_block_write(d, &rq, buf, bytes, bid, NULL);
	else
		emi_block_read(d, &rq, buf, bytes, bid, NULL);
	st = emi_wait(&rq, err);
	assert_int_equal(err->status, st);
	free(buf);
	return st;
}

/* It fails, and says what is wrong with which block. */
static void transfer_fails(emi_disk *d, int write, size_t bytes, em_bid bid, em_status status, const char *why)
{
	em_errinfo err;

	assert_int_equal(transfer(d, write, bytes, bid, &err), status);
	assert_string_equal(err.op, write ? "write" : "read");
	assert_int_equal(err.offset, bid.offset);
	assert_int_equal(err.bytes, bytes);
	assert_int_equal(err.sys_errno, 0);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, err.path));
}

/* The same; nothing has changed then. */
static void free_fails(set *s, emi_disk *d, em_bid bid, size_t bytes, em_status status, const char *why)
{
	const unsigned warnings = s->log.warnings;
	emi_disk_usage before, after;
	em_errinfo err = clean();

	emi_disk_usage_all(d, &before);
	assert_int_equal(emi_bids_free(d, &bid, 1, bytes, &err), status);
	assert_int_equal(err.status, status);
	assert_string_equal(err.op, "free");
	assert_int_equal(err.offset, bid.offset);
	assert_non_null(strstr(err.text, why));
	assert_non_null(strstr(err.text, s->dir));
	assert_int_equal(s->log.warnings, warnings);
	/* Who does not look has it logged. */
	assert_int_equal(emi_bid_free(d, bid, bytes), status);
	assert_int_equal(s->log.warnings, warnings + 1);
	assert_non_null(strstr(s->log.line, why));
	emi_disk_usage_all(d, &after);
	assert_memory_equal(&before, &after, sizeof before);
}

static em_bid at(uint32_t disk, uint64_t offset)
{
	const em_bid bid = { disk, 0, offset };

	return bid;
}

/* What is wrong in any context. */
static void plain_errors(uint32_t flags)
{
	static const char none[] = "is allocated there";
	em_errinfo err = clean();
	em_bid bid[4];
	unsigned i;
	set s;

	set_prepare(&s, 2, flags);
	set_start(&s);
	assert_int_equal(emi_bids_alloc_row(s.d, 0, 2 * PAGE, bid, 4, &err), EM_OK);
	free_fails(&s, s.d, at(2, 0), 2 * PAGE, EM_ERR_INVAL, "a disk that is not there");
	free_fails(&s, s.d, at(UINT32_MAX, 0), 2 * PAGE, EM_ERR_INVAL, "a disk that is not there");
	free_fails(&s, s.d, at(0, 1), 2 * PAGE, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 2 * PAGE), PAGE + 1, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 2 * PAGE), 0, EM_ERR_INVAL, "no block can be there");
	free_fails(&s, s.d, at(0, 8 * PAGE), 2 * PAGE, EM_ERR_STATE, none);
	free_fails(&s, s.d, at(0, UINT64_MAX - PAGE + 1), 2 * PAGE, EM_ERR_STATE, none);
	free_fails(&s, s.d, at(1, 0), 2 * PAGE, EM_ERR_STATE, none);
	transfer_fails(s.d, 0, PAGE, at(2, 0), EM_ERR_INVAL, "a disk that is not there");
	transfer_fails(s.d, 1, PAGE, at(0, 17), EM_ERR_INVAL, "no block can be there");
	/* Transfers of what is not there, and reads of what was never written, at least since it was allocated. */
	transfer_fails(s.d, 0, 2 * PAGE, at(0, 8 * PAGE), EM_ERR_STATE, none);
	transfer_fails(s.d, 1, 2 * PAGE, at(0, UINT64_MAX - PAGE + 1), EM_ERR_STATE, none);
	transfer_fails(s.d, 0, 2 * PAGE, bid[1], EM_ERR_STATE, "nothing was ever written");
	assert_int_equal(transfer(s.d, 1, 2 * PAGE, bid[1], &err), EM_OK);
	assert_int_equal(transfer(s.d, 0, 2 * PAGE, bid[1], &err), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, bid[2], EM_ERR_STATE, "nothing was ever written");
	assert_int_equal(emi_bid_free(s.d, bid[1], 2 * PAGE), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, bid[1], EM_ERR_STATE, none);
	transfer_fails(s.d, 1, 2 * PAGE, bid[1], EM_ERR_STATE, none);
	assert_int_equal(emi_bid_alloc_on(s.d, 0, 2 * PAGE, &bid[1], &err), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, bid[1], EM_ERR_STATE, "nothing was ever written");
	assert_int_equal(emi_bid_free(s.d, bid[1], 2 * PAGE), EM_OK);
	free_fails(&s, s.d, bid[1], 2 * PAGE, EM_ERR_STATE, none);
	/* Those of many that can be are freed. */
	assert_int_equal(emi_bids_free(s.d, bid, 4, 2 * PAGE, &err), EM_ERR_STATE);
	assert_int_equal(err.offset, bid[1].offset);
	for (i = 0; i < 4; i++)
		free_fails(&s, s.d, bid[i], 2 * PAGE, EM_ERR_STATE, none);
	assert_int_equal(emi_disk_used(s.d), 0);
	/* No blocks are no failure; too many are one. */
	err = clean();
	assert_int_equal(emi_bids_alloc(s.d, NULL, 0, PAGE, NULL, 0, &err), EM_OK);
	assert_int_equal(emi_bids_alloc_row(s.d, 0, PAGE, NULL, 0, &err), EM_OK);
	assert_int_equal(emi_bids_free(s.d, NULL, 0, PAGE, &err), EM_OK);
	assert_int_equal(emi_bids_alloc(s.d, NULL, 0, PAGE + 1, bid, 4, &err), EM_ERR_INVAL);
	err = clean();
	assert_int_equal(emi_bids_alloc_row(s.d, 0, 0, bid, 4, &err), EM_ERR_INVAL);
	set_stop(&s);
}

static void test_plain_errors(void **state)
{
	(void)state;
	plain_errors(0);
	plain_errors(EM_CTX_CHECKED);
}

/* What only the ledger knows. */
static void test_checked(void **state)
{
	em_errinfo err = clean();
	em_bid a, row[3];
	emi_disk *other;
	set s;

	(void)state;
	set_prepare(&s, 2, EM_CTX_CHECKED);
	set_start(&s);
	other = set_user(&s);
	assert_int_equal(emi_bid_alloc_on(s.d, 1, 2 * PAGE, &a, &err), EM_OK);
	assert_int_equal(emi_bids_alloc_row(other, 1, PAGE, row, 3, &err), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	/* Blocks of another size, their parts, and what only looks like one. */
	free_fails(&s, s.d, a, PAGE, EM_ERR_INVAL, "has another size");
	free_fails(&s, s.d, a, 4 * PAGE, EM_ERR_INVAL, "has another size");
	free_fails(&s, s.d, at(1, a.offset + PAGE), PAGE, EM_ERR_STATE, "no block is allocated there");
	transfer_fails(s.d, 1, PAGE, a, EM_ERR_INVAL, "has another size");
	transfer_fails(s.d, 1, PAGE, at(1, a.offset + PAGE), EM_ERR_STATE, "no block is allocated there");
	/* Others' blocks can be read, and nothing else. */
	transfer_fails(other, 1, 2 * PAGE, a, EM_ERR_STATE, "belongs to another user");
	transfer_fails(other, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	assert_int_equal(transfer(s.d, 1, 2 * PAGE, a, &err), EM_OK);
	assert_int_equal(transfer(s.d, 0, 2 * PAGE, a, &err), EM_OK);
	assert_int_equal(transfer(other, 0, 2 * PAGE, a, &err), EM_OK);
	free_fails(&s, other, a, 2 * PAGE, EM_ERR_STATE, "belongs to another user");
	/* A block that was freed and allocated again was never written. */
	assert_int_equal(emi_bid_free(s.d, a, 2 * PAGE), EM_OK);
	transfer_fails(s.d, 0, 2 * PAGE, a, EM_ERR_STATE, "no block is allocated there");
	transfer_fails(s.d, 1, 2 * PAGE, a, EM_ERR_STATE, "no block is allocated there");
	assert_int_equal(emi_bid_alloc_on(other, 1, 2 * PAGE, &a, &err), EM_OK);
	transfer_fails(other, 0, 2 * PAGE, a, EM_ERR_STATE, "nothing was ever written");
	transfer_fails(s.d, 1, 2 * PAGE, a, EM_ERR_STATE, "belongs to another user");
	assert_int_equal(emi_bid_free(other, a, 2 * PAGE), EM_OK);
	assert_int_equal(emi_bids_free(other, row, 3, PAGE, &err), EM_OK);
	s.log.line[0] = '\0';
	emi_scratch_release(s.ctx, other);
	set_stop(&s);
	assert_string_equal(s.log.line, "");
}

/* Blocks that nobody freed are reported when the last user goes: whose they are where that is known. */
static void test_left(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		em_errinfo err = clean();
		em_bid bid[5], mine;
		emi_disk *second, *third;
		set s;

		set_prepare(&s, 2, flags);
		set_start(&s);
		second = set_user(&s);
		third = set_user(&s);
		assert_int_equal(emi_bid_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_bids_alloc(third, NULL, 0, 2 * PAGE, bid, 5, &err), EM_OK);
		emi_scratch_release(s.ctx, third);
		emi_scratch_release(s.ctx, second);
		assert_string_equal(s.log.line, "");
		set_stop(&s);
		assert_non_null(strstr(s.log.line, "6 blocks of 45056 bytes"));
		assert_int_equal(s.log.level, flags ? EM_LOG_WARN : EM_LOG_INFO);
		assert_true((strstr(s.log.line, "(user 1: 1, user 3: 5)") != NULL) == (flags != 0));
		/* Who said that he would leave some is not asked. */
		set_prepare(&s, 2, flags);
		set_start(&s);
		second = set_user(&s);
		assert_int_equal(emi_bid_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_bids_alloc(second, NULL, 0, 2 * PAGE, bid, 5, &err), EM_OK);
		emi_disk_abandon(second);
		emi_scratch_release(s.ctx, second);
		assert_int_equal(emi_disk_used(s.d), (flags != 0 ? 1 : 11) * PAGE);
		assert_int_equal(emi_bid_free(s.d, mine, PAGE), EM_OK);
		set_stop(&s);
		assert_string_equal(s.log.line, "");
	}
}

/* One user accounts for its blocks: what it leaves goes with it, in any context; what it freed or others have does not,
 * and is told if it stays. */
static void test_accounted(void **state)
{
	em_errinfo err;
	uint32_t flags;

	(void)state;
	memset(&err, 0, sizeof err);
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		em_bid bid[200], mine;
		emi_disk *second;
		set s;

		set_prepare(&s, 2, flags);
		set_start(&s);
		second = set_user(&s);
		assert_int_equal(emi_disk_account(second, &err), EM_OK);
		assert_int_equal(emi_bid_alloc(s.d, PAGE, &mine, &err), EM_OK);
		assert_int_equal(emi_bids_alloc(second, NULL, 0, 2 * PAGE, bid, 200, &err), EM_OK);
		assert_int_equal(emi_bids_free(second, bid, 50, 2 * PAGE, &err), EM_OK);
		assert_int_equal(emi_bids_free(second, &mine, 1, PAGE, &err), EM_ERR_STATE);
		assert_int_equal(emi_disk_used(s.d), 301 * PAGE);
		emi_disk_abandon(second);
		emi_scratch_release(s.ctx, second);
		assert_int_equal(emi_disk_used(s.d), PAGE);
		set_stop(&s);
		assert_non_null(strstr(s.log.line, "1 blocks of 4096 bytes"));
	}
}

/* So many owners that they are not all named. */
static void test_many_owners(void **state)
{
	enum { N = 100 };
	emi_disk *d[N];
	em_bid bid;
	unsigned i;
	set s;

	(void)state;
	set_prepare(&s, 1, EM_CTX_CHECKED);
	set_start(&s);
	for (i = 0; i < N; i++) {
		d[i] = set_user(&s);
		assert_int_equal(emi_bid_alloc(d[i], PAGE, &bid, NULL), EM_OK);
	}
	for (i = 0; i < N; i++)
		emi_scratch_release(s.ctx, d[i]);
	set_stop(&s);
	assert_non_null(
		strstr(s.log.line, "100 blocks of 409600 bytes together still allocated (user 2: 1, user 3: 1, "));
	assert_non_null(strstr(s.log.line, ", ...)"));
}

/* Disks become full in the middle of a batch: others are taken instead, and when there are none nothing of it is
 * left. */
static void full(uint32_t flags)
{
	em_errinfo err = clean();
	em_bid first[4], bid[64];
	emi_disk_usage before, after;
	em_placement place;
	unsigned i, on[DISKS] = {0, 0, 0};
	set s;

	set_prepare(&s, DISKS, flags);
	for (i = 0; i < DISKS; i++)
		s.disk[i].capacity = (uint64_t)(8 + 8 * i) * PAGE;
	set_start(&s);
	assert_int_equal(em_placement_init(&place, EM_PLACE_STRIPING, DISKS, 0, 1, 1), EM_OK);
	assert_int_equal(emi_bids_alloc(s.d, &place, 0, PAGE, first, 4, &err), EM_OK);
	emi_disk_usage_all(s.d, &before);
	assert_int_equal(emi_bids_alloc(s.d, &place, 0, PAGE, bid, 45, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_non_null(strstr(err.text, "all 3 scratch disks are full"));
	for (i = 0; i < 45; i++)
		assert_true(bid[i].disk == 0 && bid[i].offset == 0);
	emi_disk_usage_all(s.d, &after);
	assert_int_equal(before.blocks, after.blocks);
	assert_int_equal(before.bytes, after.bytes);
	assert_int_equal(after.blocks_peak, 48);
	err = clean();
	assert_int_equal(emi_bids_alloc(s.d, &place, 0, PAGE, bid, 44, &err), EM_OK);
	for (i = 0; i < 44; i++)
		on[bid[i].disk]++;
	assert_true(on[0] == 6 && on[1] == 15 && on[2] == 23);
	assert_int_equal(emi_bids_free(s.d, bid, 44, PAGE, &err), EM_OK);
	/* A row is on one disk, and the next one that has room is taken. */
	assert_int_equal(emi_bids_alloc_row(s.d, 0, PAGE, bid, 20, &err), EM_OK);
	for (i = 0; i < 20; i++)
		assert_true(bid[i].disk == 2 && bid[i].offset == bid[0].offset + i * PAGE);
	assert_int_equal(emi_bids_alloc_row(s.d, 0, PAGE, bid + 20, 20, &err), EM_ERR_NOSPACE);
	assert_int_equal(emi_disk_used(s.d), 24 * PAGE);
	err = clean();
	assert_int_equal(emi_bids_free(s.d, bid, 20, PAGE, &err), EM_OK);
	assert_int_equal(emi_bids_free(s.d, first, 4, PAGE, &err), EM_OK);
	set_stop(&s);
	assert_int_equal(s.log.warnings, 0);
}

static void test_full(void **state)
{
	(void)state;
	full(0);
	full(EM_CTX_CHECKED);
}

/* What happens when a batch, a row or a user cannot be had: nothing is left of it. */
static void try_all(set *s, em_status expected)
{
	const uint64_t used = em_ctx_memory_used(s->ctx);
	em_errinfo err = clean();
	em_bid bid[70], row[4];
	em_status st;

	st = emi_scratch_acquire(s->ctx, &s->d, &err);
	if (st == EM_OK) {
		st = emi_bids_alloc(s->d, NULL, 0, 600 * PAGE, bid, 70, &err);
		if (st == EM_OK) {
			st = emi_bids_alloc_row(s->d, 1, 2 * PAGE, row, 4, &err);
			if (st == EM_OK)
				assert_int_equal(emi_bids_free(s->d, row, 4, 2 * PAGE, NULL), EM_OK);
			assert_int_equal(emi_bids_free(s->d, bid, 70, 600 * PAGE, NULL), EM_OK);
		}
		assert_int_equal(emi_disk_used(s->d), 0);
		emi_scratch_release(s->ctx, s->d);
	}
	assert_int_equal(err.status, st);
	assert_true(st == EM_OK || st == expected);
	assert_int_equal(em_ctx_memory_used(s->ctx), used);
	assert_int_equal(s->log.warnings, 0);
	assert_string_equal(s->log.line, "");
}

static void test_allocations_fail(void **state)
{
	uint32_t flags;
	uint64_t n = 1;
	int more;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED)
		for (n = test_nth_after(0, 1), more = 1; more; n = test_nth_after(n, 1)) {
			set s;

			set_prepare(&s, 2, flags);
			assert_int_equal(em_ctx_open(&s.ctx, &s.opts), EM_OK);
			s.mem.calls = 0;
			s.mem.fail_at = n;
			try_all(&s, EM_ERR_NOMEM);
			more = test_memory_failed(&s.mem);
			em_ctx_close(s.ctx);
			test_memory_assert_clean(&s.mem);
			test_dir_remove(s.dir);
		}
	assert_true(n > 10);
}

/* A row of which some blocks could not be entered is not there at all, and its place is as good as before; one that
 * no file can hold is refused. */
static void test_rows_fail(void **state)
{
	enum { N = 300 };
	static em_bid bid[N];
	em_errinfo err;
	uint64_t n;
	int more = 1;

	(void)state;
	for (n = test_nth_after(0, 1); more; n = test_nth_after(n, 1)) {
		em_status st;
		set s;

		err = clean();
		set_prepare(&s, 1, EM_CTX_CHECKED);
		set_start(&s);
		s.mem.fail_at = s.mem.calls + n;
		st = emi_bids_alloc_row(s.d, 0, PAGE, bid, N, &err);
		more = test_memory_failed(&s.mem);
		assert_int_equal(st, more ? EM_ERR_NOMEM : EM_OK);
		assert_int_equal(emi_disk_used(s.d), more ? 0 : (uint64_t)N * PAGE);
		if (more)
			assert_int_equal(emi_bids_alloc_row(s.d, 0, PAGE, bid, N, &err), EM_OK);
		assert_int_equal(emi_bids_free(s.d, bid, N, PAGE, &err), EM_OK);
		assert_int_equal(emi_bid_alloc(s.d, 2 * PAGE, bid, &err), EM_OK);
		assert_int_equal(emi_bids_free(s.d, bid, 1, 2 * PAGE, &err), EM_OK);
		if (sizeof(size_t) > 4)
			assert_int_equal(emi_bids_alloc_row(s.d, 0, (size_t)((uint64_t)1 << 62), bid, 4, &err),
					 EM_ERR_NOSPACE);
		set_stop(&s);
	}
	assert_true(n > 2);
}

/* The same for space that cannot be set aside, each time it is asked for. */
static void test_reservations_fail(void **state)
{
	static const int kinds[] = { EIO, ENOSPC };
	unsigned k;

	(void)state;
	for (k = 0; k < 2; k++) {
		uint64_t nth;
		int more = 1;

		for (nth = test_nth_after(0, 1); more; nth = test_nth_after(nth, 1)) {
			em_fault fault;
			set s;

			assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
			fault.ops = EM_FAULT_RESERVE;
			fault.nth = nth;
			fault.times = UINT64_MAX;
			fault.sys_errno = kinds[k];
			set_prepare(&s, 2, EM_CTX_CHECKED);
			s.disk[0].backend = s.disk[1].backend = NULL;
			s.disk[0].custom = s.disk[1].custom = em_fault_backend(&fault);
			assert_int_equal(em_ctx_open(&s.ctx, &s.opts), EM_OK);
			try_all(&s, kinds[k] == EIO ? EM_ERR_IO : EM_ERR_NOSPACE);
			more = fault.injected != 0;
			em_ctx_close(s.ctx);
			test_memory_assert_clean(&s.mem);
			test_dir_remove(s.dir);
		}
		assert_true(nth > 10);
	}
}

typedef struct worker {
	set *s;
	emi_disk *d;
	uint64_t seed;
	unsigned steps;
	int wrong;
} worker;

/* Each thread is a user, writes what it has, and reads it before it frees it. */
static void *work(void *arg)
{
	enum { N = 32 };
	worker *w = arg;
	test_rng rng = test_rng_make(w->seed);
	em_bid bid[N][2];
	size_t bytes[N] = {0};
	char *page = emi_buffer_alloc(w->s->ctx, 3 * PAGE, NULL);
	unsigned k;

	for (k = 0; k < w->steps; k++) {
		const unsigned i = (unsigned)test_below(&rng, N);
		emi_request rq;

		memset(&rq, 0, sizeof rq);
		if (bytes[i] == 0) {
			bytes[i] = PAGE * (1 + (size_t)test_below(&rng, 3));
			if (k % 2 == 0)
				w->wrong |= emi_bids_alloc_row(w->d, k, bytes[i], bid[i], 2, NULL) != EM_OK;
			else
				w->wrong |= emi_bids_alloc(w->d, NULL, 0, bytes[i], bid[i], 2, NULL) != EM_OK;
			memset(page, (int)(w->seed + i), bytes[i]);
			emi_block_write(w->d, &rq, page, bytes[i], bid[i][1], NULL);
			w->wrong |= emi_wait(&rq, NULL) != EM_OK;
		} else {
			emi_block_read(w->d, &rq, page, bytes[i], bid[i][1], NULL);
			w->wrong |= emi_wait(&rq, NULL) != EM_OK || page[0] != (char)(w->seed + i) ||
				    memcmp(page, page + 1, bytes[i] - 1) != 0;
			emi_block_read(w->d, &rq, page, bytes[i], bid[i][0], NULL);
			w->wrong |= emi_wait(&rq, NULL) != EM_ERR_STATE;
			w->wrong |= emi_bids_free(w->d, bid[i], 2, bytes[i], NULL) != EM_OK;
			bytes[i] = 0;
		}
		if (k % 16 == 0) {
			emi_disk_usage usage;

			emi_disk_usage_all(w->d, &usage);
			w->wrong |= usage.bytes > usage.bytes_peak || usage.blocks > usage.blocks_peak;
		}
	}
	for (k = 0; k < N; k++)
		if (bytes[k] != 0)
			w->wrong |= emi_bids_free(w->d, bid[k], 2, bytes[k], NULL) != EM_OK;
	emi_buffer_free(w->s->ctx, page, 3 * PAGE);
	return NULL;
}

static void test_threads(void **state)
{
	enum { THREADS = 4 };
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		pthread_t thread[THREADS];
		worker w[THREADS];
		unsigned i;
		set s;

		set_prepare(&s, DISKS, flags);
		set_start(&s);
		for (i = 0; i < THREADS; i++) {
			const worker new = { &s, set_user(&s), test_seed() + 100 * i, 20000 / slower(), 0 };

			w[i] = new;
			assert_int_equal(pthread_create(&thread[i], NULL, work, &w[i]), 0);
		}
		for (i = 0; i < THREADS; i++) {
			pthread_join(thread[i], NULL);
			assert_false(w[i].wrong);
			emi_scratch_release(s.ctx, w[i].d);
		}
		assert_int_equal(emi_disk_used(s.d), 0);
		set_stop(&s);
		assert_string_equal(s.log.line, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_errors),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_accounted),
		cmocka_unit_test(test_many_owners),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_rows_fail),
		cmocka_unit_test(test_reservations_fail),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("block/block_id", tests, NULL, NULL);
}
