/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vector_faults.c -- vectors while any transfer fails by chance: what has failed may be tried again, and each
 * record stays what it is said to be.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/fault_trials.h"
#include "container/vector_case.h"

/* A call of MOST records may need as many blocks: at worst a fifth of its tries succeed. */
enum { OPERATIONS = 1200, BOUND = 250, MOST = 12, TRIES = 400, MOST_RECORD = 5000 };

typedef struct trial {
	vector_case c;
	em_status failed;       /* the last failure; EM_OK: there was none */
	uint64_t failures;
} trial;

static uint64_t below(trial *t, uint64_t n)
{
	return test_below(&t->c.f.rng, n);
}

static unsigned char *is(trial *t, uint64_t i)
{
	return t->c.is + i * t->c.opts.record_bytes;
}

static size_t bytes_of(const trial *t, uint64_t n)
{
	return (size_t)(n * t->c.opts.record_bytes);
}

/* Count and look at a failure.  Returns whether it was one, after which the call may be tried again. */
static int failed(trial *t, em_status st)
{
	em_errinfo err;

	if (st >= EM_OK)
		return 0;
	em_vector_error(t->c.v, &err);
	assert_int_equal(err.status, st);
	if (st != EM_ERR_IO)
		fail_msg("%s", err.text);
	t->failed = st;
	t->failures++;
	return 1;
}

/* A call has failed so often in a row; it may be tried again.  A block that could not be written keeps its memory until
 * it is flushed. */
static void try_again(trial *t, unsigned tries)
{
	if (tries > 3)
		(void)failed(t, em_vector_flush(t->c.v, 0));
	if (tries < TRIES)
		return;
	em_vector_error(t->c.v, &t->c.err);
	fail_msg("%s", t->c.err.text);
}

/* Make a call until it works. */
#define insist(t, call) \
	do { \
		unsigned tries_ = 0; \
		while (failed(t, call)) \
			try_again(t, ++tries_); \
	} while (0)

static void one_record(trial *t)
{
	const uint64_t i = below(t, t->c.n);

	if (below(t, 2) == 0) {
		insist(t, em_vector_get(t->c.v, i, t->c.buf));
		assert_memory_equal(t->c.buf, is(t, i), bytes_of(t, 1));
	} else {
		vector_case_draw(&t->c, 1);
		insist(t, em_vector_set(t->c.v, i, t->c.buf));
		vector_case_put(&t->c, i, 1);
	}
}

/* Those before the record that a failure names are written, and the others as they were. */
static void write_range(trial *t, uint64_t i, uint64_t n)
{
	const int whole = t->c.opts.path != NULL, leaves = !whole && below(t, 4) == 0;
	unsigned tries = 0;
	uint64_t done;

	vector_case_draw(&t->c, n);
	while (failed(t, em_vector_write(t->c.v, i, t->c.buf, n))) {
		em_errinfo err;

		em_vector_error(t->c.v, &err);
		assert_true(err.record != 0 && err.record <= n);
		done = err.record - 1;
		vector_case_put(&t->c, i, done);
		if (leaves)
			return;
		try_again(t, ++tries);
		i += done;
		n -= done;
		memmove(t->c.buf, t->c.buf + bytes_of(t, done), bytes_of(t, n));
	}
	vector_case_put(&t->c, i, n);
}

static void range(trial *t)
{
	const uint64_t i = below(t, t->c.n + 1), n = t->c.n - i < MOST ? t->c.n - i : MOST;

	if (below(t, 2) == 0) {
		insist(t, em_vector_read(t->c.v, i, t->c.buf, n));
		assert_memory_equal(t->c.buf, is(t, i), bytes_of(t, n));
	} else {
		write_range(t, i, below(t, 3) == 0 ? t->c.n - i : n);
	}
}

static void scattered(trial *t)
{
	uint64_t at[MOST], k;

	for (k = 0; k < MOST; k++) {
		at[k] = below(t, t->c.n);
		if (below(t, 8) == 0)
			em_vector_hint(t->c.v, at[k]);
	}
	insist(t, em_vector_read_many(t->c.v, at, MOST, t->c.buf));
	for (k = 0; k < MOST; k++)
		assert_memory_equal(t->c.buf + bytes_of(t, k), is(t, at[k]), bytes_of(t, 1));
}

static void push(trial *t)
{
	const uint64_t room = t->c.room - t->c.n;
	uint64_t n = below(t, 3) == 0 ? below(t, room + 1) : room != 0, pushed = 77;
	unsigned tries;

	vector_case_draw(&t->c, n);
	if (n == 1) {
		insist(t, em_vector_push(t->c.v, t->c.buf));
		vector_case_put(&t->c, t->c.n, 1);
		return;
	}
	for (tries = 1; failed(t, em_vector_push_many(t->c.v, t->c.buf, n, &pushed)); tries++) {
		assert_true(pushed < n);
		vector_case_put(&t->c, t->c.n, pushed);
		assert_int_equal(em_vector_size(t->c.v), t->c.n);
		n -= pushed;
		memmove(t->c.buf, t->c.buf + bytes_of(t, pushed), bytes_of(t, n));
		try_again(t, tries);
	}
	assert_int_equal(pushed, n);
	vector_case_put(&t->c, t->c.n, n);
}

/* What was cut off and comes back is zeros, as is what is new. */
static void resize(trial *t)
{
	const uint64_t n = below(t, t->c.room + 1);

	insist(t, em_vector_resize(t->c.v, n));
	if (n < t->c.n)
		memset(is(t, n), 0, bytes_of(t, t->c.n - n));
	t->c.n = n;
}

static void pinned(trial *t)
{
	const uint64_t i = below(t, t->c.n);
	const int change = (int)below(t, 2);
	void *at;

	insist(t, em_vector_pin(t->c.v, i, change, &at));
	assert_memory_equal(at, is(t, i), bytes_of(t, 1));
	vector_case_draw(&t->c, 1);
	if (change) {
		memcpy(at, t->c.buf, bytes_of(t, 1));
		vector_case_put(&t->c, i, 1);
	}
	one_record(t);
	assert_int_equal(em_vector_unpin(t->c.v, i, change), EM_OK);
}

static uint64_t buffers(trial *t)
{
	return below(t, 2) == 0 ? 0 : 2 + below(t, 5);
}

/* Read a range, while records change; and from where a reader has failed by another one. */
static void reader(trial *t)
{
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	const int reverse = (int)below(t, 2);
	uint64_t from = below(t, t->c.n + 1), to = from + below(t, t->c.n - from + 1);
	em_status st = EM_OK;
	unsigned tries;

	opts.direction = reverse ? EM_VECTOR_REVERSE : EM_VECTOR_FORWARD;
	opts.buffers = (uint32_t)buffers(t);
	for (tries = 0; st != EM_END; tries++) {
		em_vector_reader *r;
		const em_batch *b;

		opts.from = from;
		opts.n = to - from;
		insist(t, em_vector_reader_open(&r, t->c.v, &opts));
		while ((st = em_vector_reader_next(r, &b)) == EM_OK) {
			assert_true(b->n != 0 && b->n <= to - from);
			to -= reverse ? b->n : 0;
			assert_memory_equal(b->records, is(t, reverse ? to : from), b->bytes);
			from += reverse ? 0 : b->n;
			if (below(t, 4) == 0)
				one_record(t);
			tries = 0;
		}
		if (st != EM_END) {
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(em_vector_reader_next(r, &b), EM_ERR_IO);
			t->failures++;
		}
		em_vector_reader_close(r);
		if (st != EM_END)
			try_again(t, tries);
	}
	assert_int_equal(from, to);
}

/* Does a record lie in two blocks?  Only in a file it does. */
static int straddles(const trial *t, uint64_t i)
{
	const uint64_t block = t->c.opts.block_bytes;

	return t->c.opts.path != NULL && bytes_of(t, i) / block != (bytes_of(t, i + 1) - 1) / block;
}

/* Each byte of one is that of what was or of what was pushed; then that is what was. */
static void mix(const char *one, unsigned char *was, const char *pushed, size_t bytes)
{
	size_t k;

	for (k = 0; k < bytes; k++) {
		const unsigned char byte = (unsigned char)one[k];

		assert_true(byte == was[k] || byte == (unsigned char)pushed[k]);
		was[k] = byte;
	}
}

/* Each record of the range is what it was or what was pushed. */
static void find_out(trial *t, uint64_t i, const char *pushed, uint64_t n)
{
	const uint64_t size = em_vector_size(t->c.v);
	char one[MOST_RECORD];
	uint64_t k;

	for (k = 0; k < n && i + k < size; k++) {
		insist(t, em_vector_get(t->c.v, i + k, one));
		/* One that lies in two blocks may be both. */
		if (straddles(t, i + k))
			mix(one, is(t, i + k), pushed + bytes_of(t, k), bytes_of(t, 1));
		if (i + k < t->c.n && memcmp(one, is(t, i + k), bytes_of(t, 1)) == 0)
			continue;
		assert_memory_equal(one, pushed + bytes_of(t, k), bytes_of(t, 1));
		memcpy(is(t, i + k), one, bytes_of(t, 1));
	}
	assert_true(size >= t->c.n);
	t->c.n = size;
}

/* While a writer writes these from i on, a record is what it was or what is pushed; and that is what it may be set to.
 */
static void look_at_one(trial *t, uint64_t i, const char *data, uint64_t n)
{
	const uint64_t size = em_vector_size(t->c.v), k = below(t, n);
	char one[MOST_RECORD];

	if (i + k >= size || straddles(t, i + k))
		return;
	insist(t, em_vector_get(t->c.v, i + k, one));
	if (i + k >= t->c.n || memcmp(one, is(t, i + k), bytes_of(t, 1)) != 0)
		assert_memory_equal(one, data + bytes_of(t, k), bytes_of(t, 1));
	if (below(t, 2) == 0)
		insist(t, em_vector_set(t->c.v, i + k, data + bytes_of(t, k)));
}

/* From record i on. */
static em_status write_by_parts(trial *t, em_vector_writer *w, uint64_t i, const char *data, uint64_t n)
{
	em_status st = EM_OK;
	uint64_t k, m;

	for (k = 0; k < n && st == EM_OK; k += m) {
		m = 1 + below(t, n - k < 100 ? n - k : 100);
		st = em_vector_writer_push(w, data + bytes_of(t, k), m);
		if (below(t, 4) == 0)
			look_at_one(t, i, data, n);
	}
	return st == EM_OK ? em_vector_writer_finish(w) : st;
}

/* Write a range, which may fail in part. */
static void writer(trial *t)
{
	em_vector_stream_opts opts = EM_VECTOR_STREAM_OPTS_INIT;
	const uint64_t i = below(t, t->c.n + 1), n = below(t, t->c.room - i + 1);
	char *data = malloc(bytes_of(t, n) + 1);
	em_vector_writer *w;
	em_status st;

	assert_non_null(data);
	test_fill(&t->c.f.rng, data, bytes_of(t, n));
	opts.from = i;
	opts.buffers = (uint32_t)buffers(t);
	insist(t, em_vector_writer_open(&w, t->c.v, &opts));
	st = write_by_parts(t, w, i, data, n);
	if (st == EM_OK) {
		memcpy(is(t, i), data, bytes_of(t, n));
		t->c.n = i + n > t->c.n ? i + n : t->c.n;
	} else {
		t->failures++;
		assert_int_equal(st, EM_ERR_IO);
		assert_int_equal(em_vector_writer_finish(w), EM_ERR_IO);
	}
	em_vector_writer_close(w);
	if (st != EM_OK)
		find_out(t, i, data, n);
	free(data);
}

static void whole(trial *t)
{
	switch (below(t, 7)) {
	case 0:
		insist(t, em_vector_flush(t->c.v, 0));
		break;
	case 1:
		insist(t, em_vector_shrink(t->c.v));
		break;
	case 2:
		insist(t, em_vector_reserve(t->c.v, below(t, t->c.room)));
		break;
	case 3:
	case 4:
		writer(t);
		break;
	default:
		reader(t);
	}
}

static void operate(trial *t)
{
	const uint64_t what = below(t, 40);

	if (what < 4 || t->c.n == 0)
		push(t);
	else if (what == 4 && below(t, 8) == 0)
		resize(t);
	else if (what == 5)
		whole(t);
	else if (what < 12)
		range(t);
	else if (what < 16)
		scattered(t);
	else if (what < 18 && t->c.opts.path == NULL)
		pinned(t);
	else
		one_record(t);
}

static void open_number(void *what, unsigned number)
{
	static const uint32_t records[] = { 8, 100, 1000, 1365, 3000, MOST_RECORD };
	const int bound = (int)(number % 2);
	trial *t = what;

	memset(t, 0, sizeof *t);
	vector_case_open(&t->c, em_backend_find(bound ? "syscall" : "memory"), records[number / 2 % 6],
			 120000 / records[number / 2 % 6] + MOST);
	t->c.opts.block_bytes = !bound && number / 2 % 6 == 5 ? 8192 : 4096;
	t->c.opts.page_blocks = (uint32_t)below(t, 3);
	t->c.opts.cache_bytes = (4 + below(t, 8)) * t->c.opts.block_bytes;
	vector_case_make(&t->c, bound);
}

static void work(void *what)
{
	trial *t = what;
	unsigned i;

	for (i = 0; i < (t->c.opts.path != NULL ? BOUND : OPERATIONS); i++)
		operate(t);
	insist(t, em_vector_flush(t->c.v, 0));
	assert_int_equal(vector_case_stats(&t->c).blocks_dirty, 0);
}

/* All is there, and what is on disks is, too. */
static void close_trial(void *what)
{
	trial *t = what;

	vector_case_check(&t->c);
	vector_case_reopen(&t->c);
	vector_case_check(&t->c);
	vector_case_close(&t->c);
}

static void test_chance(void **state)
{
	unsigned number;

	(void)state;
	for (number = 0; number < 12; number += test_step()) {
		trial t;
		const fault_trials trials = { &t, open_number, work, close_trial, &t.c.f, &t.failures, &t.failed };

		assert_true(fault_trials_random(&trials, number) != 0);
	}
}

/* A writer passes over all of the vector, and the nth write fails.  What was never written before is zeros still,
 * whatever its blocks have got on the disk. */
static void fail_first(uint64_t nth)
{
	enum { BLOCKS = 40, PER = 512, N = BLOCKS * PER };
	em_vector_stream_opts how = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_opts other_opts = EM_VECTOR_OPTS_INIT;
	em_vector *other;
	em_vector_writer *w;
	trial t;

	memset(&t, 0, sizeof t);
	vector_case_numbers(&t.c, em_backend_find("memory"), N, 8);
	vector_case_draw(&t.c, N);
	assert_vector_ok(&t.c, em_vector_push_many(t.c.v, t.c.buf, N, NULL));
	assert_vector_ok(&t.c, em_vector_flush(t.c.v, 0));
	vector_case_put(&t.c, 0, N);
	/* The disk ends with somebody else's block, so what is free before stays in its file. */
	other_opts.record_bytes = 8;
	other_opts.block_bytes = t.c.opts.block_bytes;
	assert_int_equal(em_vector_open(&other, t.c.f.ctx, &other_opts), EM_OK);
	assert_int_equal(em_vector_push_many(other, t.c.buf, PER, NULL), EM_OK);
	assert_int_equal(em_vector_flush(other, 0), EM_OK);
	assert_vector_ok(&t.c, em_vector_resize(t.c.v, PER / 2));
	assert_vector_ok(&t.c, em_vector_resize(t.c.v, N));
	memset(is(&t, PER / 2), 0, bytes_of(&t, N - PER / 2));
	vector_case_check(&t.c);
	how.buffers = 4;
	vector_case_draw(&t.c, N);
	em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE, nth, 1);
	assert_vector_ok(&t.c, em_vector_writer_open(&w, t.c.v, &how));
	assert_int_equal(em_vector_writer_push(w, t.c.buf, N) | em_vector_writer_finish(w), EM_ERR_IO);
	em_vector_writer_close(w);
	assert_int_equal(t.c.f.fault[0].injected, 1);
	find_out(&t, 0, t.c.buf, N);
	vector_case_check(&t.c);
	em_vector_close(other);
	vector_case_close(&t.c);
}

static void test_first_write(void **state)
{
	uint64_t nth;

	(void)state;
	for (nth = 1; nth <= 40; nth += nth < 8 ? 1 : 7)
		fail_first(nth);
}

/* A record of some of the blocks that a writer has sent is pinned while it is not known that the nth write has failed.
 * What it is then it stays, whether its block leaves the memory or not.  appends: blocks behind the first are new. */
static void pin_what_is_written(int appends, uint64_t nth)
{
	enum { BLOCKS = 60, PER = 512, N = BLOCKS * PER, SENT = 29, PINS = 10 };
	em_vector_stream_opts how = EM_VECTOR_STREAM_OPTS_INIT;
	uint64_t at[PINS], was[PINS], now, k, i, end = 0, lost = N;
	em_vector_writer *w;
	trial t;

	memset(&t, 0, sizeof t);
	vector_case_numbers(&t.c, em_backend_find("memory"), N, PINS + 4);
	vector_case_draw(&t.c, N);
	vector_case_put(&t.c, 0, appends ? PER : N);
	assert_vector_ok(&t.c, em_vector_push_many(t.c.v, t.c.buf, t.c.n, NULL));
	assert_vector_ok(&t.c, em_vector_flush(t.c.v, 0));
	vector_case_draw(&t.c, N);
	how.buffers = SENT + 1;
	em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE, nth, 2);
	assert_vector_ok(&t.c, em_vector_writer_open(&w, t.c.v, &how));
	assert_vector_ok(&t.c, em_vector_writer_push(w, t.c.buf, (SENT + 1) * PER));
	for (k = 0; k < PINS; k++) {
		const uint64_t some[] = { nth - 1, nth, nth + 1 };
		void *record;

		at[k] = (k < 3 && below(&t, 2) ? some[k] % SENT : below(&t, SENT)) * PER + below(&t, PER);
		assert_vector_ok(&t.c, em_vector_pin(t.c.v, at[k], 0, &record));
		memcpy(&was[k], record, 8);
		assert_memory_equal(&was[k], t.c.buf + at[k] * 8, 8);
		end = at[k] > end ? at[k] : end;
	}
	assert_int_equal(em_vector_writer_finish(w), EM_ERR_IO);
	em_vector_writer_close(w);
	assert_true(em_vector_size(t.c.v) > end);
	for (k = 0; k < PINS; k++)
		assert_int_equal(em_vector_unpin(t.c.v, at[k], 0), EM_OK);
	for (i = 0; i < 5 * BLOCKS; i++)
		assert_vector_ok(&t.c, em_vector_get(t.c.v, i * PER % em_vector_size(t.c.v), &now));
	for (k = 0; k < PINS; k++) {
		assert_vector_ok(&t.c, em_vector_get(t.c.v, at[k], &now));
		assert_int_equal(now, was[k]);
	}
	/* Where the first that was lost is before one that is pinned, what was lost is zeros. */
	for (i = 0; appends && i < em_vector_size(t.c.v); i++) {
		assert_vector_ok(&t.c, em_vector_get(t.c.v, i, &now));
		if (now != 0)
			continue;
		lost = i < lost ? i : lost;
		memset(t.c.buf + i * 8, 0, 8);
	}
	assert_true(lost < end || lost == N);
	find_out(&t, 0, t.c.buf, N);
	vector_case_check(&t.c);
	vector_case_close(&t.c);
}

static void test_pinned_while_written(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < 60; k += test_step())
		pin_what_is_written(k % 2, 1 + k / 2 % 28);
}

/* What is in a file: so many records, of u64, the first of which are those of the model. */
static void check_file(const trial *t, uint64_t n, uint64_t first)
{
	FILE *file = fopen(t->c.path, "rb");
	uint64_t *got = malloc((size_t)(t->c.room + 1) * 8);

	assert_non_null(file);
	assert_non_null(got);
	assert_int_equal(fread(got, 8, (size_t)t->c.room + 1, file), n);
	assert_memory_equal(got, t->c.is, (size_t)first * 8);
	free(got);
	assert_int_equal(fclose(file), 0);
}

/* A writer appends, the nth write fails, and vector or context is canceled before anybody knows.  What was appended is
 * there up to the block that was lost, and a file ends behind that. */
static void cancel_writer(int bound, int all, uint64_t nth)
{
	enum { PER = 512, OLD = 4 * PER, MORE = 12 * PER };
	em_vector_stream_opts how = EM_VECTOR_STREAM_OPTS_INIT;
	em_vector_writer *w;
	uint64_t n;
	trial t;

	memset(&t, 0, sizeof t);
	vector_case_open(&t.c, em_backend_find(bound ? "syscall" : "memory"), 8, OLD + MORE);
	t.c.opts.block_bytes = 4096;
	t.c.opts.cache_bytes = 8 * 4096;
	vector_case_make(&t.c, bound);
	vector_case_draw(&t.c, OLD + MORE);
	vector_case_put(&t.c, 0, OLD + MORE);
	assert_vector_ok(&t.c, em_vector_push_many(t.c.v, t.c.is, OLD, NULL));
	assert_vector_ok(&t.c, em_vector_flush(t.c.v, 0));
	how.from = OLD;
	how.buffers = 16;
	em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE, nth, 1);
	assert_vector_ok(&t.c, em_vector_writer_open(&w, t.c.v, &how));
	assert_vector_ok(&t.c, em_vector_writer_push(w, is(&t, OLD), MORE));
	if (all)
		em_ctx_cancel(t.c.f.ctx);
	else
		em_vector_cancel(t.c.v);
	assert_int_equal(em_vector_writer_finish(w), EM_ERR_CANCELED);
	em_vector_writer_close(w);
	/* All blocks but the last were sent. */
	n = em_vector_size(t.c.v);
	assert_in_range(n, OLD, OLD + MORE - 2 * PER);
	assert_int_equal(n % PER, 0);
	em_vector_close(t.c.v);
	t.c.v = NULL;
	if (bound)
		check_file(&t, n, n);
	vector_case_close(&t.c);
}

static void test_canceled_writer(void **state)
{
	unsigned k;

	(void)state;
	for (k = 0; k < 4 * 11; k += test_step())
		cancel_writer(k % 2 == 0, k / 2 % 2, 1 + k / 4);
}

/* However a vector is closed, its file is as long as its records. */
static void test_length_when_closed(void **state)
{
	enum { N = 5000, FLUSHED = 4000 };
	unsigned way;

	(void)state;
	for (way = 0; way < 4; way++) {
		void *record;
		trial t;

		memset(&t, 0, sizeof t);
		vector_case_open(&t.c, em_backend_find("syscall"), 8, 100000);
		t.c.opts.block_bytes = 4096;
		t.c.opts.cache_bytes = 20 * 4096;
		vector_case_make(&t.c, 1);
		vector_case_draw(&t.c, N);
		vector_case_put(&t.c, 0, N);
		assert_vector_ok(&t.c, em_vector_push_many(t.c.v, t.c.is, FLUSHED, NULL));
		assert_vector_ok(&t.c, em_vector_flush(t.c.v, 0));
		assert_vector_ok(&t.c, em_vector_push_many(t.c.v, is(&t, FLUSHED), N - FLUSHED, NULL));
		if (way == 0)
			em_vector_cancel(t.c.v);
		else if (way == 1)
			em_ctx_cancel(t.c.f.ctx);
		else if (way == 2)
			em_fault_set(&t.c.f.fault[0], EM_FAULT_WRITE, 1, UINT64_MAX);
		else
			assert_vector_ok(&t.c, em_vector_pin(t.c.v, N - 1, 0, &record));
		em_vector_close(t.c.v);
		t.c.v = NULL;
		check_file(&t, N, way == 3 ? N : FLUSHED);
		vector_case_close(&t.c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_write),
		cmocka_unit_test(test_pinned_while_written),
		cmocka_unit_test(test_canceled_writer),
		cmocka_unit_test(test_length_when_closed),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
