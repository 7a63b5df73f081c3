/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_store.c -- a cache, a pool, readers and writers on one store of each kind, against memory: whoever looks at a
 * block sees what was written to it last, whoever did that; and what stores refuse.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
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

#include "base/memory.h"
#include "block/block_pool.h"
#include "block/block_reader.h"
#include "block/block_writer.h"
#include "block/cache.h"
#include "block/policy.h"
#include "block/store_case.h"

enum { RECORD = 16, IN_BLOCK = CASE_BLOCK / RECORD };

typedef struct users {
	store_case s;
	emi_cache *c;
	emi_block_pool p;
	char *own; /* a buffer for the pool */
	emi_block_list list; /* all whole blocks, in the order of their numbers */
	emi_block_reader r;
	int reads;
	uint32_t at; /* the block that the reader is at */
} users;

static uint64_t below(users *u, uint64_t n)
{
	return test_below(&u->s.f.rng, n);
}

static uint32_t any(users *u)
{
	return (uint32_t)below(u, u->s.n);
}

static void open_users(users *u, store_kind kind, uint32_t n)
{
	emi_cache_opts opts;

	memset(u, 0, sizeof *u);
	store_case_open(&u->s, kind, n);
	memset(&opts, 0, sizeof opts);
	opts.store = u->s.store;
	opts.frames = 6;
	opts.block_bytes = CASE_BLOCK;
	assert_int_equal(emi_cache_open(&u->c, u->s.f.ctx, &opts, &u->s.f.err), EM_OK);
	assert_int_equal(emi_block_pool_open(&u->p, u->s.f.ctx, u->s.store, CASE_BLOCK, 3, 2, NULL, &u->s.f.err),
			 EM_OK);
	u->own = emi_buffer_alloc(u->s.f.ctx, CASE_BLOCK, NULL);
	assert_non_null(u->own);
	u->list.bid = u->s.bid;
	u->list.blocks = n;
	u->list.records = (uint64_t)n * IN_BLOCK;
}

static void close_users(users *u)
{
	if (u->reads)
		emi_block_reader_close(&u->r);
	assert_int_equal(emi_cache_flush(u->c, &u->s.f.err), EM_OK);
	assert_int_equal(emi_block_pool_flush(&u->p, &u->s.f.err), EM_OK);
	emi_cache_close(u->c);
	emi_block_pool_close(&u->p);
	emi_buffer_free(u->s.f.ctx, u->own, CASE_BLOCK);
	store_case_close(&u->s);
}

static void by_cache(users *u, uint32_t i)
{
	const uint32_t mode = store_case_changes(&u->s) ? (uint32_t)below(u, 3) : EM_CACHE_READ;
	uint32_t frame;

	if (emi_cache_get(u->c, u->s.bid[i], mode, &frame, &u->s.f.err) != EM_OK)
		fail_msg("%s", u->s.f.err.text);
	if (mode != EM_CACHE_FRESH)
		store_case_check(&u->s, i, emi_cache_buf(u->c, frame));
	if (mode != EM_CACHE_READ)
		store_case_change(&u->s, i, emi_cache_buf(u->c, frame));
	emi_cache_unpin(u->c, frame, mode != EM_CACHE_READ);
}

static void by_pool(users *u, uint32_t i)
{
	char *buf;

	if (below(u, 2)) {
		(void)emi_block_pool_hint(&u->p, u->s.bid[i]);
		return;
	}
	if (!store_case_changes(&u->s) || below(u, 2)) {
		if (emi_block_pool_read(&u->p, &u->own, u->s.bid[i], &u->s.f.err) != EM_OK)
			fail_msg("%s", u->s.f.err.text);
		store_case_check(&u->s, i, u->own);
		return;
	}
	assert_int_equal(emi_block_pool_lend(&u->p, &buf, &u->s.f.err), EM_OK);
	store_case_change(&u->s, i, buf);
	assert_int_equal(emi_block_pool_write(&u->p, buf, u->s.bid[i], &u->s.f.err), EM_OK);
}

/* The next block, or from the first on again.  Scratch has blocks that were never written, and a list must not. */
static void by_reader(users *u)
{
	const char *records;
	size_t n;
	em_status st;

	if (!u->reads) {
		assert_int_equal(emi_block_reader_open(&u->r, u->s.f.ctx, u->s.store, CASE_BLOCK, RECORD,
						       1 + (uint32_t)below(u, 5), &u->list, 1, EMI_FORWARD, 0, NULL,
						       NULL),
				 EM_OK);
		u->reads = 1;
		u->at = 0;
		return;
	}
	st = emi_block_reader_next(&u->r, &records, &n, &u->s.f.err);
	if (st == EM_OK) {
		assert_int_equal(n, IN_BLOCK);
		store_case_check(&u->s, u->at++, records);
		return;
	}
	if (st != EM_END)
		fail_msg("%s", u->s.f.err.text);
	assert_int_equal(u->at, u->s.n);
	emi_block_reader_close(&u->r);
	u->reads = 0;
}

/* Past all of them. */
static void by_hand(users *u, uint32_t i)
{
	const emi_span span = {u->s.bid[i], CASE_BLOCK};
	emi_request rq;

	if (!store_case_changes(&u->s) || below(u, 2)) {
		assert_int_equal(emi_store_fetch(u->s.store, u->s.buf, CASE_BLOCK, span.at, NULL, &u->s.f.err), EM_OK);
		store_case_check(&u->s, i, u->s.buf);
		return;
	}
	store_case_change(&u->s, i, u->s.buf);
	assert_int_equal(emi_store_forget(u->s.store, NULL, &span, &u->s.f.err), EM_OK);
	assert_int_equal(emi_store_write(u->s.store, &rq, u->s.buf, CASE_BLOCK, span.at, NULL, &u->s.f.err), EM_OK);
	assert_int_equal(emi_wait(&rq, &u->s.f.err), EM_OK);
}

static void write_all(users *u)
{
	uint32_t i;

	for (i = 0; i < u->s.n && u->s.kind < STORE_FILE; i++) {
		uint32_t frame;

		assert_int_equal(emi_cache_get(u->c, u->s.bid[i], EM_CACHE_WRITE, &frame, &u->s.f.err), EM_OK);
		emi_cache_unpin(u->c, frame, 1);
	}
}

static void test_coherent(void **state)
{
	uint32_t kind, round, k;

	(void)state;
	for (kind = 0; kind < STORE_KINDS; kind++) {
		for (round = 0; round < 4; round++) {
			users u;

			open_users(&u, kind, 10 + 9 * round);
			write_all(&u);
			for (k = 0; k < 3000; k++) {
				const uint32_t i = any(&u), what = (uint32_t)below(&u, 20);

				if (what < 7)
					by_cache(&u, i);
				else if (what < 12)
					by_pool(&u, i);
				else if (what < 17)
					by_reader(&u);
				else
					by_hand(&u, i);
			}
			close_users(&u);
		}
	}
}

/* A writer's blocks are seen by all who had others there, and a file is as long as what is in it. */
static void test_writer(void **state)
{
	static const uint32_t records[] = {0, 1, IN_BLOCK - 1, IN_BLOCK, IN_BLOCK + 1, 7 * IN_BLOCK + 5, 40 * IN_BLOCK};
	uint32_t kind, k, i;

	(void)state;
	for (kind = STORE_ARRAY; kind < STORE_READ_ONLY; kind++) {
		for (k = 0; k < sizeof records / sizeof *records; k++) {
			const uint32_t n = records[k], from = (uint32_t)(k % 3), buffers = 1 + k % 4;
			uint64_t end, before;
			emi_block_writer w;
			emi_block_list list;
			users u;

			open_users(&u, kind, 60);
			before = CASE_BLOCK * 5 + 17;
			assert_int_equal(store_case_resize(&u.s, before), EM_OK);
			for (i = 0; i < 5; i++)
				by_cache(&u, i);
			if (emi_block_writer_open(&w, u.s.f.ctx, u.s.store, CASE_BLOCK, RECORD, buffers, EMI_FORWARD,
						  from * (uint64_t)CASE_BLOCK, NULL, &u.s.f.err) != EM_OK)
				fail_msg("%s", u.s.f.err.text);
			end = from * (uint64_t)CASE_BLOCK + (uint64_t)n * RECORD;
			if (u.s.length < end)
				u.s.length = end;
			test_fill(&u.s.f.rng, store_case_block(&u.s, from), (size_t)n * RECORD);
			for (i = 0; i < n; i++)
				assert_int_equal(emi_block_writer_push(&w, store_case_block(&u.s, from) + i * RECORD,
								       &u.s.f.err),
						 EM_OK);
			if (emi_block_writer_finish(&w, &list, &u.s.f.err) != EM_OK)
				fail_msg("%s", u.s.f.err.text);
			emi_block_writer_close(&w);
			/* The rest of the last block was written, too, as far as it was there: zeros, or what the
			 * buffer had. */
			if (list.blocks != 0 && n % IN_BLOCK != 0) {
				i = from + (uint32_t)list.blocks - 1;
				assert_int_equal(
					emi_store_fetch(u.s.store, u.s.buf, CASE_BLOCK, u.s.bid[i], NULL, NULL), EM_OK);
				memcpy(store_case_block(&u.s, i) + n % IN_BLOCK * RECORD,
				       u.s.buf + n % IN_BLOCK * RECORD, CASE_BLOCK - n % IN_BLOCK * RECORD);
			}
			assert_int_equal(list.records, n);
			assert_int_equal(emi_store_length(u.s.store), u.s.length);
			for (i = 0; store_case_there(&u.s, i) != 0; i++)
				by_cache(&u, i);
			emi_block_list_release(&list, u.s.f.ctx);
			close_users(&u);
		}
	}
}

/* One that is not finished leaves the length as it was. */
static void test_writer_given_up(void **state)
{
	char record[RECORD] = {1};
	emi_block_writer w;
	uint32_t i;
	users u;

	(void)state;
	open_users(&u, STORE_ARRAY, 20);
	assert_int_equal(store_case_resize(&u.s, 0), EM_OK);
	assert_int_equal(
		emi_block_writer_open(&w, u.s.f.ctx, u.s.store, CASE_BLOCK, RECORD, 2, EMI_FORWARD, 0, NULL, NULL),
		EM_OK);
	for (i = 0; i < 9 * IN_BLOCK; i++)
		assert_int_equal(emi_block_writer_push(&w, record, NULL), EM_OK);
	assert_true(emi_store_length(u.s.store) > 0);
	emi_block_writer_close(&w);
	assert_int_equal(emi_store_length(u.s.store), 0);
	close_users(&u);
}

/* What is not there, or may not be changed. */
static void test_refused(void **state)
{
	uint32_t kind;

	(void)state;
	for (kind = 0; kind < STORE_KINDS; kind++) {
		const int numbered = kind >= STORE_ARRAY;
		emi_block_writer w;
		em_bid bid;
		char *buf;
		users u;

		open_users(&u, kind, 5);
		bid = u.s.bid[1];
		bid.disk = 9;
		assert_int_equal(emi_store_check(u.s.store, EMI_READ, bid, CASE_BLOCK, NULL), EM_ERR_INVAL);
		bid = u.s.bid[1];
		bid.offset += CASE_BLOCK / 2;
		assert_int_equal(emi_store_check_block(u.s.store, EMI_READ, bid, CASE_BLOCK, NULL), EM_ERR_INVAL);
		assert_int_equal(emi_store_check_block(u.s.store, EMI_WRITE, u.s.bid[1], CASE_BLOCK, NULL),
				 kind == STORE_READ_ONLY ? EM_ERR_INVAL : EM_OK);
		assert_int_equal(emi_store_alloc(u.s.store, NULL, 0, CASE_BLOCK, &bid, 1, NULL),
				 numbered ? EM_ERR_NOTSUP : EM_OK);
		if (!numbered)
			assert_int_equal(emi_store_free(u.s.store, NULL, bid, CASE_BLOCK, NULL), EM_OK);
		bid = u.s.bid[4];
		bid.offset += CASE_BLOCK;
		if (numbered) {
			assert_int_equal(emi_store_check_block(u.s.store, EMI_READ, bid, CASE_BLOCK, NULL),
					 EM_ERR_RANGE);
			assert_int_equal(emi_block_pool_hint(&u.p, bid), 0);
			assert_int_equal(emi_block_pool_read(&u.p, &u.own, bid, NULL), EM_ERR_RANGE);
			assert_int_equal(emi_block_writer_open(&w, u.s.f.ctx, u.s.store, CASE_BLOCK, RECORD, 1,
							       EMI_REVERSE, 0, NULL, NULL),
					 EM_ERR_INVAL);
			assert_int_equal(emi_block_writer_open(&w, u.s.f.ctx, u.s.store, CASE_BLOCK, RECORD, 1,
							       EMI_FORWARD, 1, NULL, NULL),
					 EM_ERR_INVAL);
		}
		if (kind == STORE_READ_ONLY) {
			assert_int_equal(emi_block_pool_lend(&u.p, &buf, NULL), EM_OK);
			assert_int_equal(emi_block_pool_write(&u.p, buf, u.s.bid[0], NULL), EM_ERR_INVAL);
			emi_block_pool_return(&u.p, buf);
			assert_int_equal(emi_store_resize(u.s.store, 0, NULL), EM_ERR_INVAL);
			assert_int_equal(emi_block_writer_open(&w, u.s.f.ctx, u.s.store, CASE_BLOCK, RECORD, 1,
							       EMI_FORWARD, 0, NULL, NULL),
					 EM_ERR_INVAL);
		}
		assert_int_equal(emi_store_sync(u.s.store, NULL), EM_OK);
		close_users(&u);
	}
}

/* A file that somebody else has cut short is told to be, for reading and for writing, and does not become longer. */
static void test_cut_short(void **state)
{
	uint32_t frame;
	em_errinfo err;
	FILE *f;
	users u;

	(void)state;
	open_users(&u, STORE_FILE, 8);
	assert_int_equal(emi_cache_get(u.c, u.s.bid[7], EM_CACHE_WRITE, &frame, NULL), EM_OK);
	emi_cache_unpin(u.c, frame, 1);
	f = fopen(u.s.path, "r+b");
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), 3 * CASE_BLOCK + 5), 0);
	fclose(f);
	by_cache(&u, 2);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_cache_get(u.c, u.s.bid[3], EM_CACHE_READ, &frame, &err), EM_ERR_SHORT);
	assert_non_null(strstr(err.text, u.s.path));
	assert_int_equal(emi_block_pool_read(&u.p, &u.own, u.s.bid[5], NULL), EM_ERR_SHORT);
	assert_int_equal(emi_store_fetch(u.s.store, u.s.buf, CASE_BLOCK, u.s.bid[6], NULL, NULL), EM_ERR_SHORT);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_cache_flush(u.c, &err), EM_ERR_SHORT);
	assert_non_null(strstr(err.text, u.s.path));
	/* What could not be written is there. */
	by_cache(&u, 7);
	f = fopen(u.s.path, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	assert_int_equal(ftell(f), 3 * CASE_BLOCK + 5);
	/* It is as long again. */
	assert_int_equal(fseek(f, 0, SEEK_SET), 0);
	assert_int_equal(fwrite(u.s.mem, 1, (size_t)u.s.length, f), u.s.length);
	fclose(f);
	close_users(&u);
}

/* However many blocks an array has, more of them take no less memory. */
static void test_array_memory(void **state)
{
	uint64_t before = 0, n;

	(void)state;
	for (n = 1; n != 0; n *= 2) {
		assert_true(emi_store_array_memory(n - 1) >= before);
		assert_true(emi_store_array_memory(n) >= emi_store_array_memory(n - 1));
		before = emi_store_array_memory(n);
	}
	/* A place is some bytes. */
	assert_int_equal(emi_store_array_memory(UINT64_MAX), UINT64_MAX);
}

/* A block of an array that is freed has no place on the disk, and is zeros; it may be written again. */
static void test_freed(void **state)
{
	store_case s;
	uint32_t i;

	(void)state;
	store_case_open(&s, STORE_ARRAY, 12);
	for (i = 0; i < s.n; i++) {
		emi_request rq = { 0 };

		store_case_change(&s, i, s.buf);
		assert_int_equal(
			emi_store_write(s.store, &rq, store_case_block(&s, i), CASE_BLOCK, s.bid[i], NULL, NULL),
			EM_OK);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	}
	for (i = 0; i < s.n; i += 2) {
		emi_request rq = { 0 };

		assert_int_equal(emi_store_free(s.store, NULL, s.bid[i], CASE_BLOCK, NULL), EM_OK);
		memset(store_case_block(&s, i), 0, CASE_BLOCK);
		assert_int_equal(emi_store_read(s.store, &rq, s.buf, CASE_BLOCK, s.bid[i], NULL), 0);
		/* Twice is as well. */
		assert_int_equal(emi_store_free(s.store, NULL, s.bid[i], CASE_BLOCK, NULL), EM_OK);
	}
	store_case_check_store(&s, 0, s.n);
	for (i = 0; i < s.n; i += 4) {
		emi_request rq = { 0 };

		store_case_change(&s, i, s.buf);
		assert_int_equal(
			emi_store_write(s.store, &rq, store_case_block(&s, i), CASE_BLOCK, s.bid[i], NULL, NULL),
			EM_OK);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	}
	store_case_check_store(&s, 0, s.n);
	store_case_close(&s);
}

/* A block of an array that could not be written has what it had before, if its store is told. */
static void test_unwritten(void **state)
{
	enum { BLOCKS = 12, REST = 700 };
	store_case s;
	uint32_t i;

	(void)state;
	store_case_open(&s, STORE_ARRAY, BLOCKS);
	assert_int_equal(store_case_resize(&s, (BLOCKS - 1) * CASE_BLOCK + REST), EM_OK);
	assert_int_equal(store_case_resize(&s, BLOCKS * CASE_BLOCK), EM_OK);
	for (i = 0; i < BLOCKS; i++) {
		const uint32_t there = emi_store_there(s.store, s.bid[i]);
		const uint64_t used = emi_disk_used(s.f.disk);
		emi_request rq = { 0 };

		assert_true(there == 0 || there == (i + 1 < BLOCKS ? CASE_BLOCK : REST));
		memset(s.buf, 77, CASE_BLOCK);
		em_fault_set(&s.f.fault[0], EM_FAULT_WRITE, 1, 1);
		assert_int_equal(emi_store_write(s.store, &rq, s.buf, CASE_BLOCK, s.bid[i], NULL, NULL), EM_OK);
		assert_int_equal(emi_wait(&rq, NULL), EM_ERR_IO);
		assert_int_equal(emi_store_there(s.store, s.bid[i]), CASE_BLOCK);
		emi_store_unwrite(s.store, s.bid[i], there);
		assert_int_equal(emi_store_there(s.store, s.bid[i]), there);
		assert_int_equal(emi_disk_used(s.f.disk), used);
	}
	store_case_check_store(&s, 0, BLOCKS);
	store_case_close(&s);
}

/* Blocks that begin with that byte are damaged; the others are marked. */
static char damaged;

static int arrived(void *block)
{
	char *first = block;

	if (*first == damaged)
		return 0;
	*first = (char)~*first;
	return 1;
}

/* A part of a file: blocks are counted from its beginning, and shown when they come; nobody changes it. */
static void test_part(void **state)
{
	enum { AT = 3, BLOCKS = 4, ALL = 9 };
	store_case s;
	emi_store *part;
	emi_request rq;
	em_bid bid = { 0, 0, 0 };
	em_errinfo err = EM_ERRINFO_INIT;
	char *buf;
	uint32_t i;

	(void)state;
	store_case_open(&s, STORE_READ_ONLY, ALL);
	buf = emi_buffer_alloc(s.f.ctx, CASE_BLOCK, NULL);
	assert_non_null(buf);
	assert_int_equal(emi_store_open_part(&part, s.file, AT * CASE_BLOCK, BLOCKS * CASE_BLOCK, arrived, &err),
			 EM_OK);
	assert_int_equal(emi_store_length(part), BLOCKS * CASE_BLOCK);
	assert_true(emi_store_read_only(part));
	for (i = 0; i < BLOCKS; i++) {
		bid.offset = i * CASE_BLOCK;
		damaged = (char)(*store_case_block(&s, AT + i) + 1);
		assert_int_equal(emi_store_fetch(part, buf, CASE_BLOCK, bid, NULL, &err), EM_OK);
		buf[0] = (char)~buf[0];
		assert_memory_equal(buf, store_case_block(&s, AT + i), CASE_BLOCK);
		damaged = buf[0];
		assert_int_equal(emi_store_fetch(part, buf, CASE_BLOCK, bid, NULL, &err), EM_ERR_CORRUPT);
		assert_int_equal(err.offset, (AT + i) * CASE_BLOCK);
		assert_string_equal(err.path, s.path);
		memset(&err, 0, sizeof err);
	}
	bid.offset = BLOCKS * CASE_BLOCK;
	assert_int_equal(emi_store_fetch(part, buf, CASE_BLOCK, bid, NULL, NULL), EM_ERR_RANGE);
	bid.offset = 0;
	assert_int_equal(emi_store_check(part, EMI_WRITE, bid, CASE_BLOCK, NULL), EM_ERR_INVAL);
	assert_int_equal(emi_store_resize(part, 0, NULL), EM_ERR_INVAL);
	/* The file has become shorter than the part. */
	assert_int_equal(truncate(s.path, AT * CASE_BLOCK), 0);
	(void)emi_store_read(part, &rq, buf, CASE_BLOCK, bid, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_ERR_SHORT);
	emi_store_close(part);
	emi_buffer_free(s.f.ctx, buf, CASE_BLOCK);
	emi_store_close(s.store);
	s.store = NULL;
	emi_file_close(s.file);
	s.file = NULL;
	store_case_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coherent),	cmocka_unit_test(test_writer),
		cmocka_unit_test(test_writer_given_up), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cut_short),	cmocka_unit_test(test_array_memory),
		cmocka_unit_test(test_freed),		cmocka_unit_test(test_unwritten),
		cmocka_unit_test(test_part),
	};

	return cmocka_run_group_tests_name("stores", tests, NULL, NULL);
}
