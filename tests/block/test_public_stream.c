/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_stream.c -- lists of blocks, their readers and writers as callers outside have them, on several disks:
 * whole rounds, what each function refuses, what they say when a disk or an allocation fails, and closing in any order.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/sys/block_stream.h>

#include "block/round_trip.h"

enum { D = FIXTURE_DISKS, RECORD = 24, RECORDS = 20000 };

/* What em_..._error() said last. */
static em_errinfo told;

static void make(uint64_t i, char *record)
{
	size_t k;

	for (k = 0; k < RECORD; k++)
		record[k] = (char)((i * 0x9e3779b97f4a7c15u >> (k % 8 * 8)) + k);
}

static em_block_writer *open_writer(round_trip *r, uint32_t flags, uint32_t buffers)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_writer *w;

	opts.flags = flags;
	opts.block_bytes = BLOCK;
	opts.record_bytes = RECORD;
	opts.buffers = buffers;
	opts.errinfo = &r->f.err;
	if (em_block_writer_open(&w, r->d, &opts) != EM_OK)
		fail_msg("%s", r->f.err.text);
	return w;
}

/* In pieces of any size, or into what was lent. */
static em_status write_records(round_trip *r, em_block_writer *w, uint32_t flags, uint64_t n)
{
	static char piece[500 * RECORD];
	em_status st = EM_OK;
	uint64_t at = 0, i;

	while (at < n && st == EM_OK) {
		size_t many = (size_t)test_below(&r->f.rng, 500), room;
		void *lent;

		if (many > n - at)
			many = (size_t)(n - at);
		if (test_below(&r->f.rng, 4) == 0) {
			st = em_block_writer_lend(w, &lent, &room);
			many = many < room ? many : room;
			for (i = 0; i < many; i++)
				make(at + i, (char *)lent + (flags & EM_BLOCKS_REVERSE ? room - 1 - i : i) * RECORD);
			if (st == EM_OK)
				st = em_block_writer_took(w, many);
		} else {
			for (i = 0; i < many; i++)
				make(at + i, piece + i * RECORD);
			st = em_block_writer_push(w, piece, many);
		}
		at += many;
	}
	return st;
}

static em_block_list *write_list(round_trip *r, uint32_t flags, uint32_t buffers, uint64_t n)
{
	em_block_writer *w = open_writer(r, flags, buffers);
	em_block_list *l = NULL;

	if (write_records(r, w, flags, n) != EM_OK || em_block_writer_finish(w, &l) != EM_OK) {
		em_block_writer_error(w, &told);
		fail_msg("%s", told.text);
	}
	assert_int_equal(em_block_writer_push(w, r, 1), EM_ERR_STATE);
	em_block_writer_close(w);
	return l;
}

/* Read all; each record is to be the next one, or the one before if either, but not both, goes backwards. */
static void read_list(em_block_list *l, uint32_t wrote, uint32_t flags, uint32_t buffers, uint64_t n)
{
	const int down = ((wrote ^ flags) & EM_BLOCKS_REVERSE) != 0;
	em_block_reader_opts opts = EM_BLOCK_READER_OPTS_INIT;
	em_block_reader *r;
	const em_batch *batch;
	char record[RECORD];
	em_status st;
	uint64_t at = 0;
	size_t i;

	opts.flags = flags;
	opts.buffers = buffers;
	assert_int_equal(em_block_reader_open(&r, l, &opts), EM_OK);
	while ((st = em_block_reader_next(r, &batch)) == EM_OK) {
		assert_int_equal(batch->bytes, batch->n * RECORD);
		assert_null(batch->ends);
		for (i = 0; i < batch->n; i++, at++) {
			const size_t where = flags & EM_BLOCKS_REVERSE ? batch->n - 1 - i : i;

			make(down ? n - 1 - at : at, record);
			assert_memory_equal((const char *)batch->records + where * RECORD, record, RECORD);
		}
	}
	assert_int_equal(st, EM_END);
	assert_null(batch);
	assert_int_equal(at, n);
	em_block_reader_close(r);
}

static void test_streams(void **state)
{
	static const uint64_t counts[] = {0, 1, BLOCK / RECORD - 1, BLOCK / RECORD, BLOCK / RECORD + 1, RECORDS};
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_list *l, *copy;
	uint32_t k, wrote, i, on[D] = {0};
	uint64_t before;
	round_trip r;

	(void)state;
	round_start(&r);
	before = round_used(r.d);
	for (k = 0; k < sizeof counts / sizeof *counts; k++) {
		for (wrote = 0; wrote < 2; wrote++) {
			l = write_list(&r, wrote, k % 4, counts[k]);
			assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
			assert_int_equal(info.records, counts[k]);
			assert_int_equal(info.blocks, (counts[k] + BLOCK / RECORD - 1) / (BLOCK / RECORD));
			assert_int_equal(round_used(r.d), before + info.blocks * BLOCK);
			read_list(l, wrote, 0, 1 + k % 3, counts[k]);
			read_list(l, wrote, EM_BLOCKS_REVERSE, 0, counts[k]);
			/* A list of the same blocks. */
			assert_int_equal(em_block_list_open(&copy, r.d, &info, NULL), EM_OK);
			for (i = 0; k == 5 && i < info.blocks; i++)
				on[info.bids[i].disk]++;
			em_block_list_close(l);
			read_list(copy, wrote, EM_BLOCKS_CONSUME | (wrote ? EM_BLOCKS_REVERSE : 0), 3, counts[k]);
			assert_int_equal(round_used(r.d), before);
			read_list(copy, 0, 0, 1, 0);
			em_block_list_close(copy);
		}
	}
	/* All disks have their share. */
	for (i = 0; i < D; i++)
		assert_true(on[i] >= 2 * (RECORDS / (BLOCK / RECORD) / D));
	l = write_list(&r, 0, 0, RECORDS);
	assert_int_equal(em_block_list_free_blocks(l), EM_OK);
	assert_int_equal(round_used(r.d), before);
	read_list(l, 0, 0, 0, 0);
	em_block_list_close(l);
	round_stop(&r);
}

static void test_streams_refused(void **state)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_reader_opts ropts = EM_BLOCK_READER_OPTS_INIT;
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_writer *w, *now = (em_block_writer *)&opts;
	em_block_reader *a, *b;
	em_block_list *l, *no;
	const em_batch *batch;
	em_errinfo err;
	round_trip r;
	void *room;
	size_t n;

	(void)state;
	round_start(&r);
	memset(&err, 0, sizeof err);
	opts.errinfo = ropts.errinfo = &err;
	assert_int_equal(em_block_writer_open(&now, r.d, NULL), EM_ERR_INVAL);
	assert_null(now);
	assert_int_equal(em_block_writer_open(NULL, r.d, &opts), EM_ERR_INVAL);
	opts.block_bytes = BLOCK + 1;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "4097 bytes"));
	opts.block_bytes = BLOCK;
	opts.record_bytes = BLOCK + 1;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	opts.record_bytes = RECORD;
	assert_int_equal(em_block_writer_open(&now, NULL, &opts), EM_ERR_INVAL);
	opts.flags = EM_BLOCKS_CONSUME;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_INVAL);
	opts.flags = 0;
	opts.buffers = 1 << 20;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	opts.size = 8;
	assert_int_equal(em_block_writer_open(&now, r.d, &opts), EM_ERR_VERSION);
	assert_null(now);
	w = open_writer(&r, 0, 2);
	assert_int_equal(em_block_writer_push(w, NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_push(NULL, &r, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, NULL, &n), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, &room, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(NULL, &room, &n), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_took(w, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_lend(w, &room, &n), EM_OK);
	assert_int_equal(em_block_writer_took(w, n + 1), EM_ERR_INVAL);
	em_block_writer_error(w, &told);
	assert_int_equal(told.status, EM_ERR_INVAL);
	make(0, room);
	assert_int_equal(em_block_writer_took(w, 1), EM_OK);
	assert_int_equal(em_block_writer_took(NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(w, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(NULL, &l), EM_ERR_INVAL);
	assert_int_equal(em_block_writer_finish(w, &l), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &no), EM_ERR_STATE);
	assert_null(no);
	assert_int_equal(em_block_writer_lend(w, &room, &n), EM_ERR_STATE);
	assert_null(room);
	em_block_writer_close(w);
	em_block_writer_close(NULL);
	em_block_writer_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);

	assert_int_equal(em_block_reader_open(NULL, l, &ropts), EM_ERR_INVAL);
	assert_int_equal(em_block_reader_open(&a, NULL, &ropts), EM_ERR_INVAL);
	ropts.flags = 4;
	assert_int_equal(em_block_reader_open(&a, l, &ropts), EM_ERR_INVAL);
	ropts.flags = 0;
	ropts.buffers = 1 << 20;
	assert_int_equal(em_block_reader_open(&a, l, &ropts), EM_ERR_MEMLIMIT);
	ropts.buffers = 0;
	assert_int_equal(em_block_reader_open(&a, l, NULL), EM_OK);
	assert_int_equal(em_block_reader_next(a, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_reader_next(NULL, &batch), EM_ERR_INVAL);
	ropts.flags = EM_BLOCKS_CONSUME;
	assert_int_equal(em_block_reader_open(&b, l, &ropts), EM_ERR_STATE);
	assert_null(b);
	assert_int_equal(em_block_list_free_blocks(l), EM_ERR_STATE);
	assert_int_equal(em_block_list_free_blocks(NULL), EM_ERR_INVAL);
	em_block_reader_close(a);
	em_block_reader_close(NULL);
	em_block_reader_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);
	ropts.buffers = 1 << 20;
	assert_int_equal(em_block_reader_open(&b, l, &ropts), EM_ERR_MEMLIMIT);
	read_list(l, 0, 0, 0, 1);

	assert_int_equal(em_block_list_info_get(l, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_list_info_get(NULL, &info), EM_ERR_INVAL);
	assert_int_equal(em_block_list_info_get(l, &info), EM_OK);
	assert_int_equal(em_block_list_open(NULL, r.d, &info, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_list_open(&no, NULL, &info, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_list_open(&no, r.d, NULL, NULL), EM_ERR_INVAL);
	info.records = BLOCK / RECORD + 1;
	assert_int_equal(em_block_list_open(&no, r.d, &info, &told), EM_ERR_INVAL);
	assert_non_null(strstr(told.text, "1 blocks"));
	info.records = 0;
	assert_int_equal(em_block_list_open(&no, r.d, &info, NULL), EM_ERR_INVAL);
	info.records = 1;
	info.skip = BLOCK / RECORD;
	assert_int_equal(em_block_list_open(&no, r.d, &info, NULL), EM_ERR_INVAL);
	info.skip = 0;
	info.record_bytes = 0;
	assert_int_equal(em_block_list_open(&no, r.d, &info, NULL), EM_ERR_INVAL);
	info.record_bytes = RECORD;
	r.bid[0].disk = D;
	info.bids = r.bid;
	assert_int_equal(em_block_list_open(&no, r.d, &info, NULL), EM_ERR_INVAL);
	assert_null(no);
	em_block_list_close(l);
	em_block_list_close(NULL);
	round_stop(&r);
}

/* Everything that keeps the disks is closed before the reader. */
static void test_streams_closed_late(void **state)
{
	em_block_reader *reader;
	const em_batch *batch;
	em_block_writer *w;
	em_block_list *l;
	round_trip r;
	uint64_t n = 0;

	(void)state;
	round_start(&r);
	w = open_writer(&r, 0, 0);
	round_close_early(&r);
	assert_int_equal(write_records(&r, w, 0, RECORDS), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &l), EM_OK);
	em_block_writer_close(w);
	assert_int_equal(em_block_reader_open(&reader, l, NULL), EM_OK);
	em_block_list_close(l);
	while (em_block_reader_next(reader, &batch) == EM_OK)
		n += batch->n;
	assert_int_equal(n, RECORDS);
	em_block_reader_close(reader);
	round_stop(&r);
	/* A writer that was not finished takes its blocks along. */
	round_start(&r);
	w = open_writer(&r, 0, 0);
	assert_int_equal(write_records(&r, w, 0, RECORDS), EM_OK);
	assert_true(round_used(r.d) > BLOCKS * BLOCK);
	em_block_writer_close(w);
	assert_int_equal(round_used(r.d), BLOCKS * BLOCK);
	round_stop(&r);
}

static void test_streams_failing_disk(void **state)
{
	em_block_reader *reader;
	const em_batch *batch;
	em_block_writer *w;
	em_block_list *l;
	em_status st;
	round_trip r;
	uint32_t k;

	(void)state;
	for (k = 0; k < D; k++) {
		round_start(&r);
		w = open_writer(&r, k % 2 ? EM_BLOCKS_REVERSE : 0, 0);
		round_fail_disk(&r, k, EM_FAULT_WRITE);
		assert_int_equal(write_records(&r, w, k % 2 ? EM_BLOCKS_REVERSE : 0, RECORDS), EM_ERR_IO);
		em_block_writer_error(w, &told);
		round_assert_names(&r, &told, k, "write");
		assert_int_equal(em_block_writer_finish(w, &l), EM_ERR_IO);
		assert_null(l);
		assert_int_equal(round_used(r.d), BLOCKS * BLOCK);
		em_block_writer_close(w);
		round_fail_disk(&r, k, 0);
		l = write_list(&r, 0, 0, RECORDS);
		round_fail_disk(&r, k, EM_FAULT_READ);
		assert_int_equal(em_block_reader_open(&reader, l, NULL), EM_OK);
		while ((st = em_block_reader_next(reader, &batch)) == EM_OK)
			continue;
		assert_int_equal(st, EM_ERR_IO);
		assert_null(batch);
		em_block_reader_error(reader, &told);
		round_assert_names(&r, &told, k, "read");
		assert_int_equal(em_block_reader_next(reader, &batch), EM_ERR_IO);
		em_block_reader_close(reader);
		em_block_list_close(l);
		round_stop(&r);
	}
}

/* One of each, and the list that they are of. */
typedef struct opened {
	em_block_list *list, *copy;
	em_block_reader *reader;
	em_block_writer *writer;
} opened;

static em_status open_one_writer(round_trip *r, void *what)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	opened *o = what;

	opts.block_bytes = BLOCK;
	opts.record_bytes = RECORD;
	return em_block_writer_open(&o->writer, r->d, &opts);
}

static em_status open_one_reader(round_trip *r, void *what)
{
	opened *o = what;

	(void)r;
	return em_block_reader_open(&o->reader, o->list, NULL);
}

static em_status open_copy(round_trip *r, void *what)
{
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	opened *o = what;

	assert_int_equal(em_block_list_info_get(o->list, &info), EM_OK);
	return em_block_list_open(&o->copy, r->d, &info, NULL);
}

static void test_streams_without_memory(void **state)
{
	opened o = {NULL, NULL, NULL, NULL};
	round_trip r;

	(void)state;
	round_start(&r);
	o.list = write_list(&r, 0, 0, RECORDS);
	round_without_memory(&r, open_one_writer, &o);
	round_without_memory(&r, open_one_reader, &o);
	round_without_memory(&r, open_copy, &o);
	em_block_writer_close(o.writer);
	em_block_reader_close(o.reader);
	em_block_list_close(o.copy);
	em_block_list_close(o.list);
	round_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_streams_refused),
		cmocka_unit_test(test_streams_closed_late),
		cmocka_unit_test(test_streams_failing_disk),
		cmocka_unit_test(test_streams_without_memory),
	};

	return cmocka_run_group_tests_name("public stream", tests, NULL, NULL);
}
