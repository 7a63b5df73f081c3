/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_block_stream.c -- what is written block by block is read in the same order or in the opposite one, however many
 * buffers there are and however records are asked for; and what fails is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "block/block_reader.h"
#include "block/block_writer.h"
#include "block/fixture.h"

#define BLOCK 4096u
#define MOST_RECORD BLOCK

typedef struct bench {
	fixture f;
	emi_store *store;
	size_t record;
	size_t capacity;
	uint32_t nbuffers;
	uint64_t first;         /* number of the first record */
} bench;

static void bench_open_on(bench *b, const em_backend *backend, size_t record, uint32_t nbuffers)
{
	fixture_open_on(&b->f, &backend, 1);
	assert_int_equal(emi_store_open_disks(&b->store, b->f.ctx, b->f.disk, &b->f.err), EM_OK);
	b->record = record;
	b->capacity = BLOCK / record;
	b->nbuffers = nbuffers;
	b->first = 0;
}

static void bench_open(bench *b, size_t record, uint32_t nbuffers)
{
	bench_open_on(b, em_backend_find("memory"), record, nbuffers);
}

static void bench_close(bench *b)
{
	em_fault_set(&b->f.fault[0], 0, 0, 0);
	assert_int_equal(emi_disk_used(b->f.disk), 0);
	emi_store_close(b->store);
	fixture_close(&b->f);
}

/* Record i. */
static void make(const bench *b, uint64_t i, char *record)
{
	size_t k;

	i += b->first;
	for (k = 0; k < b->record; k++)
		record[k] = (char)((i * 0x9e3779b97f4a7c15u >> (k % 8 * 8)) + k);
}

static em_status write_lent(bench *b, emi_block_writer *w, uint64_t *i, uint64_t n, em_errinfo *err)
{
	size_t room, k, most;
	char *records;
	em_status st = emi_block_writer_lend(w, &records, &room, err);

	if (st != EM_OK) {
		assert_null(records);
		assert_int_equal(room, 0);
		return st;
	}
	assert_true(room > 0);
	most = room < n - *i ? room : (size_t)(n - *i);
	most = (size_t)test_below(&b->f.rng, most + 1);
	for (k = 0; k < most; k++)
		make(b, *i + k, records + (w->order == EMI_REVERSE ? room - 1 - k : k) * b->record);
	emi_block_writer_took(w, most);
	*i += most;
	return EM_OK;
}

/* Write n records, one by one or into lent room, as chance will have it. */
static em_status write_all(bench *b, emi_block_writer *w, uint64_t n, em_errinfo *err)
{
	char record[MOST_RECORD];
	em_status st = EM_OK;
	uint64_t i = 0;

	while (st == EM_OK && i < n) {
		if (test_below(&b->f.rng, 4) == 0) {
			st = write_lent(b, w, &i, n, err);
		} else {
			make(b, i++, record);
			st = emi_block_writer_push(w, record, err);
		}
	}
	return st;
}

static em_status write_list(bench *b, emi_block_order order, uint64_t n, emi_block_list *list, em_errinfo *err)
{
	emi_block_writer w;
	em_status st =
		emi_block_writer_open(&w, b->f.ctx, b->store, BLOCK, b->record, b->nbuffers, order, 0, &b->f.io, err);

	memset(list, 0, sizeof(*list));
	if (st != EM_OK)
		return st;
	st = write_all(b, &w, n, err);
	if (st == EM_OK)
		st = emi_block_writer_finish(&w, list, err);
	if (st != EM_OK) {
		em_errinfo again;
		char *records;
		size_t room;

		/* It stays failed. */
		memset(&again, 0, sizeof(again));
		assert_int_equal(emi_block_writer_lend(&w, &records, &room, &again), st);
		assert_int_equal(again.status, st);
		assert_int_equal(emi_block_writer_finish(&w, list, NULL), st);
		assert_null(list->bid);
	}
	emi_block_writer_close(&w);
	return st;
}

static void check_record(const bench *b, uint64_t i, const char *record)
{
	char expected[MOST_RECORD];

	make(b, i, expected);
	assert_memory_equal(record, expected, b->record);
}

/* Read a list whose records are numbered from 0 on, or the other way round, and look at each. */
static em_status read_list(bench *b, const emi_block_list *list, emi_block_order order, int backwards, int frees,
			   em_errinfo *err)
{
	const uint64_t n = list->records;
	em_status st;
	uint64_t i = 0;
	emi_block_reader r;

	st = emi_block_reader_open(&r, b->f.ctx, b->store, BLOCK, b->record, b->nbuffers, list, 1, order, frees,
				   &b->f.io, err);
	if (st != EM_OK)
		return st;
	while (st == EM_OK) {
		const char *records;

		if (test_below(&b->f.rng, 4) == 0) {
			size_t k, got;

			st = emi_block_reader_next(&r, &records, &got, err);
			assert_true((got > 0) == (st == EM_OK));
			for (k = 0; k < got; k++, i++)
				check_record(b, backwards ? n - 1 - i : i,
					     records + (order == EMI_REVERSE ? got - 1 - k : k) * b->record);
		} else {
			st = emi_block_reader_get(&r, &records, err);
			if (st == EM_OK) {
				check_record(b, backwards ? n - 1 - i : i, records);
				i++;
			}
		}
	}
	if (st == EM_END)
		assert_int_equal(i, n);
	else
		assert_int_equal(emi_block_reader_turn(&r, NULL), st);
	emi_block_reader_close(&r);
	return st;
}

static void write_and_read(bench *b, uint64_t n)
{
	int order;

	for (order = 0; order < 2; order++) {
		const int backwards = order == EMI_REVERSE;
		const uint64_t blocks = (n + b->capacity - 1) / b->capacity;
		emi_block_list list;
		em_errinfo err;

		memset(&err, 0, sizeof(err));
		memset(&b->f.io, 0, sizeof(b->f.io));
		if (write_list(b, (emi_block_order)order, n, &list, &err) != EM_OK)
			fail_msg("%s", err.text);
		assert_int_equal(list.records, n);
		assert_int_equal(list.blocks, blocks);
		assert_int_equal(b->f.io.ios_written, blocks);
		assert_int_equal(emi_disk_used(b->f.disk), blocks * BLOCK);
		if (blocks > 0) {
			const size_t partial = (size_t)(n - (blocks - 1) * b->capacity);

			assert_int_equal(list.skip, backwards ? b->capacity - partial : 0);
		}
		assert_int_equal(read_list(b, &list, EMI_FORWARD, backwards, 0, &err), EM_END);
		assert_int_equal(read_list(b, &list, EMI_REVERSE, !backwards, 0, &err), EM_END);
		assert_int_equal(b->f.io.ios_read, 2 * blocks);
		assert_int_equal(emi_disk_used(b->f.disk), blocks * BLOCK);
		/* And as it is used up. */
		if (test_below(&b->f.rng, 2) == 0)
			assert_int_equal(read_list(b, &list, EMI_FORWARD, backwards, 1, &err), EM_END);
		else
			assert_int_equal(read_list(b, &list, EMI_REVERSE, !backwards, 1, &err), EM_END);
		assert_int_equal(emi_disk_used(b->f.disk), 0);
		emi_block_list_release(&list, b->f.ctx);
	}
}

/* All numbers of records about the edges of blocks, by the size of a record and the number of buffers. */
static void test_sizes(void **state)
{
	static const size_t record[] = {1, 8, 24, 100, 1000, 2049, 4096};
	static const uint64_t blocks[] = {0, 1, 2, 3, 7, 40};
	uint32_t nbuffers;
	size_t r, k;

	(void)state;
	for (r = 0; r < sizeof(record) / sizeof(*record); r++) {
		for (nbuffers = 1; nbuffers <= 5; nbuffers++) {
			bench b;

			bench_open(&b, record[r], nbuffers);
			for (k = 0; k < (record[r] == 1 ? 3 : sizeof(blocks) / sizeof(*blocks)); k++) {
				const uint64_t n = blocks[k] * b.capacity;

				write_and_read(&b, n);
				write_and_read(&b, n + 1);
				if (n > 0)
					write_and_read(&b, n - 1);
			}
			bench_close(&b);
		}
	}
}

/* Blocks are freed as the reader goes on, and when it is closed. */
static void test_freeing(void **state)
{
	uint32_t stop, nbuffers;

	(void)state;
	for (nbuffers = 1; nbuffers <= 3; nbuffers++) {
		for (stop = 0; stop <= 6; stop++) {
			const emi_block_order order = stop % 2 ? EMI_REVERSE : EMI_FORWARD;
			emi_block_list list;
			emi_block_reader r;
			const char *records;
			uint32_t i;
			size_t n;
			bench b;

			bench_open(&b, 8, nbuffers);
			assert_int_equal(write_list(&b, EMI_FORWARD, 5 * b.capacity, &list, NULL), EM_OK);
			assert_int_equal(emi_block_reader_open(&r, b.f.ctx, b.store, BLOCK, 8, nbuffers, &list, 1,
							       order, 1, NULL, NULL),
					 EM_OK);
			for (i = 0; i < stop; i++) {
				assert_int_equal(emi_block_reader_next(&r, &records, &n, NULL), i < 5 ? EM_OK : EM_END);
				assert_int_equal(emi_disk_used(b.f.disk), (5 - i) * BLOCK);
			}
			emi_block_reader_close(&r);
			emi_block_list_release(&list, b.f.ctx);
			bench_close(&b);
		}
	}
}

#define SEQUENCE 9u
#define SEQUENCE_BLOCKS 3u

/* Write lists of few blocks, of some none, in either order; which record is where when they are read one after the
 * other from the beginning. */
static uint64_t write_sequence(bench *b, emi_block_list *list, uint64_t *number)
{
	uint64_t all = 0, k;
	uint32_t i;

	for (i = 0; i < SEQUENCE; i++) {
		const emi_block_order order = (emi_block_order)test_below(&b->f.rng, 2);
		const uint64_t n =
			test_below(&b->f.rng, 3) * test_below(&b->f.rng, SEQUENCE_BLOCKS * b->capacity / 2 + 1);

		b->first = all;
		assert_int_equal(write_list(b, order, n, &list[i], NULL), EM_OK);
		for (k = 0; k < n; k++)
			number[all + k] = order == EMI_REVERSE ? all + n - 1 - k : all + k;
		all += n;
	}
	b->first = 0;
	return all;
}

/* Read them, and look at each record.  With n buffers n - 1 blocks are under way whenever there are so many, whichever
 * lists they are of. */
static void read_sequence(bench *b, const emi_block_list *list, const uint64_t *number, uint64_t all,
			  emi_block_order order, int frees)
{
	uint64_t blocks = 0, at = 0;
	emi_block_reader r;
	em_status st;
	uint32_t i;

	for (i = 0; i < SEQUENCE; i++)
		blocks += list[i].blocks;
	assert_int_equal(emi_block_reader_open(&r, b->f.ctx, b->store, BLOCK, b->record, b->nbuffers, list, SEQUENCE,
					       order, frees, &b->f.io, NULL),
			 EM_OK);
	for (;;) {
		const uint64_t left = blocks - r.taken.n;
		const char *records;
		size_t n, k;

		st = emi_block_reader_next(&r, &records, &n, NULL);
		if (st != EM_OK)
			break;
		assert_int_equal(r.asked.n - r.taken.n, left < b->nbuffers ? left - 1 : b->nbuffers - 1);
		for (k = 0; k < n; k++)
			check_record(b, number[order == EMI_REVERSE ? all - at - n + k : at + k],
				     records + k * b->record);
		at += n;
		if (frees)
			assert_int_equal(emi_disk_used(b->f.disk), left * BLOCK);
	}
	assert_int_equal(st, EM_END);
	assert_int_equal(at, all);
	assert_int_equal(r.taken.n, blocks);
	emi_block_reader_close(&r);
}

/* Lists that are read one after the other are read as one would be. */
static void test_sequence(void **state)
{
	uint32_t i, round;

	(void)state;
	for (round = 0; round < 40; round++) {
		const emi_block_order order = (emi_block_order)(round % 2);
		uint64_t number[SEQUENCE * (SEQUENCE_BLOCKS + 1) * 4], all;
		emi_block_list list[SEQUENCE];
		bench b;

		bench_open(&b, 1000, 1 + round % 7);
		assert_true(b.capacity == 4);
		all = write_sequence(&b, list, number);
		assert_true(all <= sizeof(number) / sizeof(*number));
		read_sequence(&b, list, number, all, order, 0);
		read_sequence(&b, list, number, all, order, 1);
		for (i = 0; i < SEQUENCE; i++)
			emi_block_list_release(&list[i], b.f.ctx);
		bench_close(&b);
	}
}

/* A writer that is closed unfinished leaves nothing behind, nor does room that was lent in vain. */
static void test_unfinished(void **state)
{
	uint64_t n;

	(void)state;
	for (n = 0; n < 30; n++) {
		emi_block_writer w;
		emi_block_list list;
		char *records;
		size_t room;
		bench b;

		bench_open(&b, 1000, 1 + (uint32_t)n % 4);
		assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK, 1000, b.nbuffers,
						       (emi_block_order)(n % 2), 0, NULL, NULL),
				 EM_OK);
		assert_int_equal(write_all(&b, &w, n, NULL), EM_OK);
		emi_block_writer_close(&w);
		emi_block_writer_close(&w);
		assert_int_equal(emi_disk_used(b.f.disk), 0);

		assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK, 1000, b.nbuffers,
						       (emi_block_order)(n % 2), 0, NULL, NULL),
				 EM_OK);
		assert_int_equal(write_all(&b, &w, n, NULL), EM_OK);
		assert_int_equal(emi_block_writer_lend(&w, &records, &room, NULL), EM_OK);
		assert_int_equal(emi_block_writer_finish(&w, &list, NULL), EM_OK);
		emi_block_writer_close(&w);
		assert_int_equal(list.records, n);
		assert_int_equal(list.blocks, (n + b.capacity - 1) / b.capacity);
		assert_int_equal(read_list(&b, &list, EMI_FORWARD, n % 2 != 0, 1, NULL), EM_END);
		emi_block_list_release(&list, b.f.ctx);
		bench_close(&b);
	}
}

/* Sizes that cannot be. */
static void test_misuse(void **state)
{
	const emi_block_list none = {NULL, 0, 0, 0, 0};
	emi_block_writer w;
	emi_block_reader r;
	bench b;

	(void)state;
	bench_open(&b, 8, 1);
	assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK, 8, 0, EMI_FORWARD, 0, NULL, NULL),
			 EM_ERR_INVAL);
	assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK, BLOCK + 1, 1, EMI_FORWARD, 0, NULL, NULL),
			 EM_ERR_INVAL);
	assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK + 8, 8, 1, EMI_FORWARD, 0, NULL, NULL),
			 EM_ERR_INVAL);
	assert_int_equal(emi_block_reader_open(&r, b.f.ctx, b.store, BLOCK, 8, 0, &none, 1, EMI_FORWARD, 1, NULL, NULL),
			 EM_ERR_INVAL);
	assert_int_equal(emi_block_reader_open(&r, b.f.ctx, b.store, BLOCK, 0, 1, &none, 1, EMI_FORWARD, 1, NULL, NULL),
			 EM_ERR_INVAL);
	bench_close(&b);
}

static void read_fails(bench *b, em_bid bid, em_status st, const char *text)
{
	emi_block_list list = {NULL, 1, 1, 3, 0};
	em_errinfo err;

	list.bid = &bid;
	memset(&err, 0, sizeof(err));
	assert_int_equal(read_list(b, &list, EMI_FORWARD, 0, 0, &err), st);
	assert_non_null(strstr(err.text, text));
}

/* A block that is not there, one that was never written, and one in which the file ends. */
static void test_damage(void **state)
{
	const em_bid none = {0, 0, (uint64_t)1 << 40};
	em_backend bare = *em_backend_find("memory");
	const em_backend *backend = &bare;
	emi_request rq;
	em_bid bid;
	char *page;
	bench b;

	(void)state;
	/* Nothing is set aside, so the file ends behind what was written. */
	bare.reserve = NULL;
	bench_open_on(&b, backend, 8, 2);
	page = emi_buffer_alloc(b.f.ctx, BLOCK, NULL);
	memset(page, 0, BLOCK);
	assert_int_equal(emi_bid_alloc(b.f.disk, BLOCK, &bid, NULL), EM_OK);
	read_fails(&b, none, EM_ERR_STATE, "no block is allocated there");
	read_fails(&b, bid, EM_ERR_STATE, "nothing was ever written");
	memset(&rq, 0, sizeof(rq));
	emi_block_write(b.f.disk, &rq, page, BLOCK / 8, bid, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	read_fails(&b, bid, EM_ERR_CORRUPT, "damaged");
	assert_int_equal(emi_bid_free(b.f.disk, bid, BLOCK), EM_OK);
	emi_buffer_free(b.f.ctx, page, BLOCK);
	bench_close(&b);
}

/* Each write fails once: the writer says so, and leaves no block. */
static void test_failing_write(void **state)
{
	uint64_t nth;
	uint32_t nbuffers;
	int more;

	(void)state;
	for (nbuffers = 1; nbuffers <= 4; nbuffers++) {
		for (nth = test_nth_after(0, 1), more = 1; more; nth = test_nth_after(nth, 1)) {
			emi_block_list list;
			em_errinfo err;
			bench b;

			bench_open(&b, 8, nbuffers);
			b.f.fault[0].ops = EM_FAULT_WRITE;
			b.f.fault[0].sys_errno = ENOSPC;
			b.f.fault[0].nth = nth;
			memset(&err, 0, sizeof(err));
			assert_int_equal(
				write_list(&b, nth % 2 ? EMI_REVERSE : EMI_FORWARD, 9 * b.capacity + 5, &list, &err),
				nth <= 10 ? EM_ERR_NOSPACE : EM_OK);
			more = nth <= 10;
			if (more) {
				assert_string_equal(err.op, "write");
				assert_int_equal(err.sys_errno, ENOSPC);
			} else {
				assert_int_equal(read_list(&b, &list, EMI_FORWARD, 1, 1, NULL), EM_END);
				emi_block_list_release(&list, b.f.ctx);
			}
			bench_close(&b);
		}
	}
}

/* Each read fails once: records before that block are right, then the reader says so. */
static void test_failing_read(void **state)
{
	uint64_t nth;
	uint32_t nbuffers;
	int more;

	(void)state;
	for (nbuffers = 1; nbuffers <= 4; nbuffers++) {
		for (nth = test_nth_after(0, 1), more = 1; more; nth = test_nth_after(nth, 1)) {
			emi_block_list list;
			em_errinfo err;
			bench b;

			bench_open(&b, 8, nbuffers);
			assert_int_equal(write_list(&b, EMI_FORWARD, 9 * b.capacity + 5, &list, NULL), EM_OK);
			b.f.fault[0].ops = EM_FAULT_READ;
			b.f.fault[0].count = 0;
			b.f.fault[0].nth = nth;
			memset(&err, 0, sizeof(err));
			assert_int_equal(
				read_list(&b, &list, nth % 2 ? EMI_REVERSE : EMI_FORWARD, nth % 2 != 0, 1, &err),
				nth <= 10 ? EM_ERR_IO : EM_END);
			more = nth <= 10;
			if (more)
				assert_string_equal(err.op, "read");
			emi_block_list_release(&list, b.f.ctx);
			bench_close(&b);
		}
	}
}

/* Any operation fails by chance: what failed has left all blocks, or none, and comes to its end when it is tried
 * again. */
static void test_chance(void **state)
{
	static const uint64_t one_in[] = {50, 10};
	uint64_t failures = 0, injected = 0;
	unsigned k;

	(void)state;
	for (k = 0; k < 32; k++) {
		const emi_block_order order = (emi_block_order)(k / 2 % 2), back = (emi_block_order)(k / 4 % 2);
		emi_block_list list;
		em_status st;
		bench b;

		bench_open(&b, 100, 1 + k / 8 % 4);
		em_fault_set_random(&b.f.fault[0], EM_FAULT_ALL, one_in[k % 2], test_random(&b.f.rng));
		while ((st = write_list(&b, order, 9 * b.capacity + 5, &list, NULL)) != EM_OK) {
			failures++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(emi_disk_used(b.f.disk), 0);
		}
		assert_int_equal(list.records, 9 * b.capacity + 5);
		while ((st = read_list(&b, &list, back, order != back, 0, NULL)) != EM_END) {
			failures++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(emi_disk_used(b.f.disk), 10 * BLOCK);
		}
		st = read_list(&b, &list, back, order != back, 1, NULL);
		assert_true(st == EM_END || st == EM_ERR_IO);
		failures += st != EM_END;
		injected += b.f.fault[0].injected;
		emi_block_list_release(&list, b.f.ctx);
		bench_close(&b);
	}
	print_message("%llu failures by %llu operations\n", (unsigned long long)failures, (unsigned long long)injected);
	assert_true(failures != 0 && failures <= injected);
}

/* No allocation can fail unnoticed, and none is lost. */
static void test_out_of_memory(void **state)
{
	em_status st = EM_ERR_NOMEM;
	emi_block_list list;
	uint64_t n, before;
	bench b;

	(void)state;
	bench_open(&b, 100, 3);
	/* The disk's own memory is there. */
	assert_int_equal(write_list(&b, EMI_FORWARD, 100 * b.capacity, &list, NULL), EM_OK);
	emi_block_list_free_blocks(&list, b.f.disk, BLOCK, 0, list.blocks);
	emi_block_list_release(&list, b.f.ctx);
	before = em_ctx_memory_used(b.f.ctx);
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		b.f.mem.fail_at = b.f.mem.calls + n;
		st = write_list(&b, EMI_REVERSE, 100 * b.capacity, &list, NULL);
		b.f.mem.fail_at = 0;
		if (st != EM_OK) {
			assert_int_equal(st, EM_ERR_NOMEM);
			assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
			assert_int_equal(emi_disk_used(b.f.disk), 0);
		}
	}
	/* Requests, buffers, and the list, which grew twice. */
	assert_true(n == 2 + 3 + 1 + 1 || !test_sweeps());
	before = em_ctx_memory_used(b.f.ctx);
	for (n = test_nth_after(0, 1), st = EM_ERR_NOMEM; st != EM_END; n = test_nth_after(n, 1)) {
		b.f.mem.fail_at = b.f.mem.calls + n;
		st = read_list(&b, &list, EMI_REVERSE, 0, 0, NULL);
		b.f.mem.fail_at = 0;
		assert_int_equal(st, n <= 2 ? EM_ERR_NOMEM : EM_END);
		assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
	}
	emi_block_list_free_blocks(&list, b.f.disk, BLOCK, 0, list.blocks);
	emi_block_list_release(&list, b.f.ctx);
	bench_close(&b);
}

/* The memory that is told beforehand is what it takes, and with less there is none. */
static void test_budget(void **state)
{
	const uint64_t needed = emi_block_writer_memory(BLOCK, 4), more = emi_block_reader_memory(BLOCK, 4) - needed;
	const emi_block_list none = {NULL, 0, 0, 0, 0};
	em_errinfo err;
	int less;

	(void)state;
	for (less = 0; less < 2; less++) {
		const em_status expected = less ? EM_ERR_MEMLIMIT : EM_OK;
		emi_block_writer w;
		emi_block_reader r;
		uint64_t rest;
		void *taken;
		bench b;

		bench_open(&b, 8, 4);
		rest = em_ctx_memory(b.f.ctx) - em_ctx_memory_used(b.f.ctx) - needed + (uint64_t)less;
		taken = emi_alloc(b.f.ctx, (size_t)rest, NULL);
		assert_non_null(taken);
		memset(&err, 0, sizeof(err));
		assert_int_equal(emi_block_writer_open(&w, b.f.ctx, b.store, BLOCK, 8, 4, EMI_FORWARD, 0, NULL, &err),
				 expected);
		assert_int_equal(err.status, expected);
		emi_block_writer_close(&w);
		emi_free(b.f.ctx, taken, (size_t)rest);
		rest -= more;
		taken = emi_alloc(b.f.ctx, (size_t)rest, NULL);
		assert_int_equal(
			emi_block_reader_open(&r, b.f.ctx, b.store, BLOCK, 8, 4, &none, 1, EMI_FORWARD, 0, NULL, NULL),
			expected);
		emi_block_reader_close(&r);
		emi_free(b.f.ctx, taken, (size_t)rest);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_freeing),
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_failing_write),
		cmocka_unit_test(test_failing_read),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests_name("block_stream", tests, NULL, NULL);
}
