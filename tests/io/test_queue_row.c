/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_queue_row.c -- requests that are made as one transfer: which they are, and what becomes of each when it is
 * short or fails.
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

#include <extmem/sys/fault.h>

#include "io/gate.h"
#include "io/queue.h"

enum { MOST = 64 };

static char buf[MOST][PAGE];

/* A gate with such transfers; threads alone, or a channel. */
static gate *make(int async, uint32_t depth)
{
	gate *g = gate_make(1, async);
	unsigned i;

	gate_have_vectors(g);
	(void)gate_file(g, depth);
	for (i = 0; i < PAGES; i++)
		memset(g->data + i * PAGE, (int)i + 1, PAGE);
	return g;
}

/* Ask for these pages, by requests from the first on. */
static void ask(gate *g, const unsigned *page, unsigned n, int write)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		memset(buf[i], write ? (int)(100 + i) : 0, PAGE);
		if (write)
			emi_write(g->f, &g->rq[i], buf[i], PAGE, page[i] * PAGE, NULL);
		else
			emi_read(g->f, &g->rq[i], buf[i], PAGE, page[i] * PAGE, NULL);
	}
}

/* Each has what it asked for. */
static void assert_moved(const gate *g, const unsigned *page, unsigned n, int write)
{
	unsigned i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < PAGE; k += 511) {
			assert_int_equal((unsigned char)buf[i][k], write ? 100 + i : page[i] + 1);
			assert_int_equal((unsigned char)g->data[page[i] * PAGE + k], write ? 100 + i : page[i] + 1);
		}
}

static void await(gate *g, unsigned n)
{
	unsigned i;

	/* Who waits with an end runs nothing. */
	for (i = 0; i < n; i++)
		while (!emi_wait_for(&g->rq[i], 10))
			continue;
	gate_assert_done(g, n);
}

static const unsigned some[] = { 3, 4, 5, 9, 10, 12, 11, 20, 21 };
static const struct { uint64_t page; uint32_t n; } rows[] = { { 3, 3 }, { 9, 2 }, { 12, 1 }, { 11, 1 }, { 20, 2 } };
enum { SOME = sizeof some / sizeof *some, ROWS = sizeof rows / sizeof *rows };

/* Those that come while the plug is in, and lie side by side in the order in which they came. */
static void test_threads(void **state)
{
	int write;

	(void)state;
	for (write = 0; write < 2; write++) {
		gate *g = make(0, 0);
		unsigned i;

		emi_file_plug(g->f);
		ask(g, some, SOME, write);
		assert_int_equal(g->entered, 0);
		emi_file_unplug(g->f);
		await(g, SOME);
		assert_int_equal(g->entered, ROWS);
		for (i = 0; i < ROWS; i++) {
			assert_int_equal(g->page[i], rows[i].page);
			assert_int_equal(g->buffers[i], rows[i].n);
		}
		assert_moved(g, some, SOME, write);
		gate_end(g);
	}
}

static void test_channel(void **state)
{
	int write;

	(void)state;
	for (write = 0; write < 2; write++) {
		gate *g = make(1, 0);
		unsigned i;

		emi_file_plug(g->f);
		ask(g, some, SOME, write);
		assert_int_equal(g->taken, 0);
		emi_file_unplug(g->f);
		assert_int_equal(g->submits, ROWS);
		for (i = 0; i < ROWS; i++) {
			assert_int_equal(g->submit_page[i], rows[i].page);
			assert_int_equal(g->submit_buffers[i], rows[i].n == 1 ? 0 : rows[i].n);
		}
		await(g, SOME);
		assert_moved(g, some, SOME, write);
		gate_end(g);
	}
}

/* There is a most. */
static void test_long(void **state)
{
	unsigned page[40], i;
	gate *g = make(1, 0);

	(void)state;
	for (i = 0; i < 40; i++)
		page[i] = i;
	emi_file_plug(g->f);
	ask(g, page, 40, 0);
	emi_file_unplug(g->f);
	assert_int_equal(g->submits, 3);
	assert_int_equal(g->submit_buffers[0], EM_PIECES_MOST);
	assert_int_equal(g->submit_buffers[1], EM_PIECES_MOST);
	assert_int_equal(g->submit_buffers[2], 40 - 2 * EM_PIECES_MOST);
	await(g, 40);
	assert_moved(g, page, 40, 0);
	gate_end(g);
}

/* Neither are those of two files, nor a read and a write. */
static void test_apart(void **state)
{
	static const unsigned page[] = { 7 };
	gate *g = make(1, 0);
	em_file *other = io_open(g->ctx, "/", EMI_OPEN_TEMP);
	emi_request rq[2];

	(void)state;
	emi_file_plug(g->f);
	emi_file_plug(other);
	ask(g, page, 1, 0);
	emi_read(other, &rq[0], buf[1], PAGE, 8 * PAGE, NULL);
	emi_write(g->f, &rq[1], buf[2], PAGE, 8 * PAGE, NULL);
	emi_file_unplug(g->f);
	emi_file_unplug(other);
	assert_int_equal(emi_wait(&rq[0], NULL), EM_OK);
	assert_int_equal(emi_wait(&rq[1], NULL), EM_OK);
	await(g, 1);
	assert_int_equal(g->submits, 3);
	assert_int_equal(g->submit_buffers[0] + g->submit_buffers[1] + g->submit_buffers[2], 0);
	emi_file_close(other);
	gate_end(g);
}

/* A plug holds nobody up who waits, and begins all that have come when it is asked to. */
static void test_plug(void **state)
{
	int k;

	(void)state;
	for (k = 0; k < 4; k++) {
		const int async = k % 2, which = k / 2;
		gate *g = make(async, 0);

		emi_file_plug(g->f);
		emi_file_plug(g->f);
		ask(g, some, SOME, 0);
		emi_file_unplug(g->f);
		assert_int_equal(g->entered + g->taken, 0);
		if (which == 0)
			emi_file_go_on(g->f);
		else
			assert_int_equal(emi_wait(&g->rq[1], NULL), EM_OK);
		if (which == 0)
			while (!emi_wait_for(&g->rq[0], 10))
				continue;
		emi_file_unplug(g->f);
		await(g, SOME);
		assert_moved(g, some, SOME, 0);
		gate_end(g);
	}
}

/* A page that cannot be moved is the only one that fails, and what is short goes on. */
static void test_each_its_own(void **state)
{
	int async, write, half;
	unsigned i;

	(void)state;
	for (async = 0; async < 2; async++)
		for (write = 0; write < 2; write++)
			for (half = 0; half < 2; half++) {
				gate *g = make(async, 0);

				g->half = half;
				g->bad = half ? 0 : 4;
				emi_file_plug(g->f);
				ask(g, some, SOME, write);
				emi_file_unplug(g->f);
				for (i = 0; i < SOME; i++) {
					em_errinfo err = EM_ERRINFO_INIT;
					const em_status st = emi_wait(&g->rq[i], &err);

					assert_int_equal(st, g->bad != 0 && some[i] == g->bad ? EM_ERR_IO : EM_OK);
					if (st != EM_OK)
						assert_int_equal(err.offset, 4 * PAGE);
					else
						assert_int_equal(buf[i][7], write ? 100 + (int)i : (int)some[i] + 1);
				}
				gate_end(g);
			}
}

/* Some are behind the end. */
static void test_end(void **state)
{
	static const unsigned page[] = { 3, 4, 5, 6, 7 };
	int async;

	(void)state;
	for (async = 0; async < 2; async++) {
		gate *g = make(async, 0);

		g->end = 5 * PAGE + 100;
		emi_file_plug(g->f);
		ask(g, page, 5, 0);
		emi_file_unplug(g->f);
		await(g, 5);
		assert_moved(g, page, 2, 0);
		assert_int_equal(g->rq[1].done, PAGE);
		assert_int_equal(g->rq[2].done, 100);
		assert_int_equal(g->rq[3].done, 0);
		assert_int_equal(g->rq[4].done, 0);
		gate_end(g);
	}
}

/* What the backend does not take comes again, in its order, and is done. */
static void test_refused(void **state)
{
	static const int how[] = { EAGAIN, EINVAL };
	unsigned k;

	(void)state;
	for (k = 0; k < 2; k++) {
		gate *g = make(1, 2);

		g->refuse = how[k];
		emi_file_plug(g->f);
		ask(g, some, SOME, 0);
		emi_file_unplug(g->f);
		g->refuse = 0;
		await(g, SOME);
		assert_moved(g, some, SOME, 0);
		gate_end(g);
	}
}

/* Of a context that was canceled none begins. */
static void test_canceled(void **state)
{
	int async;
	unsigned i;

	(void)state;
	for (async = 0; async < 2; async++) {
		gate *g = make(async, 0);

		emi_file_plug(g->f);
		ask(g, some, SOME, 0);
		em_ctx_cancel(g->ctx);
		emi_file_unplug(g->f);
		for (i = 0; i < SOME; i++)
			assert_int_equal(emi_wait(&g->rq[i], NULL), EM_ERR_CANCELED);
		assert_int_equal(g->entered + g->taken, 0);
		gate_end(g);
	}
}

/* A file of every backend, of which pieces are read and written, many side by side: by the backend itself, with faults
 * of single requests, and with faults of transfers of several buffers. */

enum { REGION = 256, ROUNDS = 60, FLIGHT = 48 };

enum { BARE, FAULTY, FAULTY_ROWS, WAYS };

/* Rows of a backend, of which some fail: a table has no user. */
static struct {
	const em_backend *inner;
	uint64_t nth, times;    /* the first that fails, and how many do */
	int32_t sys_errno;      /* 0: half of its bytes are moved */
	uint64_t seen;
} vector;

/* What becomes of the next one: bytes that it may move, or a negative errno. */
static int64_t row_fate(const em_piece *piece, uint32_t n)
{
	const uint64_t seen = __atomic_add_fetch(&vector.seen, 1, __ATOMIC_RELAXED);
	int64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		bytes += (int64_t)piece[i].bytes;
	if (seen < vector.nth || seen - vector.nth >= vector.times)
		return bytes;
	return vector.sys_errno != 0 ? -vector.sys_errno : bytes / 2 / (int64_t)PAGE * (int64_t)PAGE;
}

/* As many of the buffers as have so many bytes, which are whole pages. */
static uint32_t row_part(const em_piece *piece, int64_t bytes)
{
	uint32_t n = 0;

	for (; bytes > 0; bytes -= (int64_t)piece[n++].bytes)
		assert_true(bytes >= (int64_t)piece[n].bytes);
	return n;
}

static int64_t row_readv(void *handle, const em_piece *piece, uint32_t n, uint64_t offset)
{
	const int64_t bytes = row_fate(piece, n);

	return bytes <= 0 ? bytes : vector.inner->readv(handle, piece, row_part(piece, bytes), offset);
}

static int64_t row_writev(void *handle, const em_piece *piece, uint32_t n, uint64_t offset)
{
	const int64_t bytes = row_fate(piece, n);

	return bytes <= 0 ? bytes : vector.inner->writev(handle, piece, row_part(piece, bytes), offset);
}

/* It without a channel, so that a row is a call. */
static em_backend faulty_rows(const em_backend *be)
{
	em_backend own = *be;

	memset(&vector, 0, sizeof vector);
	vector.inner = be;
	own.submit = NULL;
	own.reap = NULL;
	own.open_channel = NULL;
	own.close_channel = NULL;
	if (be->readv != NULL) {
		own.readv = row_readv;
		own.writev = row_writev;
	}
	return own;
}

typedef struct traffic {
	em_fault fault;
	em_backend faulty;
	em_ctx *ctx;
	em_file *f;
	test_rng rng;
	unsigned char *model, *room; /* REGION pages; FLIGHT pages */
	emi_request rq[FLIGHT];
	uint64_t page[FLIGHT];
	int write;
	uint64_t failures;
} traffic;

/* Some pages in their order, with gaps. */
static unsigned choose(traffic *t)
{
	uint64_t at = test_below(&t->rng, REGION);
	unsigned n = 0, most = 1 + (unsigned)test_below(&t->rng, FLIGHT);

	for (; n < most && at < REGION; n++) {
		t->page[n] = at;
		at += test_below(&t->rng, 5) == 0 ? 1 + test_below(&t->rng, 4) : 1;
	}
	return n;
}

static void settle(traffic *t, unsigned i)
{
	unsigned char *mine = t->room + (size_t)i * PAGE, *should = t->model + t->page[i] * PAGE;
	const em_status st = emi_wait(&t->rq[i], NULL);

	if (st == EM_OK) {
		assert_int_equal(t->rq[i].done, PAGE);
		if (!t->write)
			assert_memory_equal(mine, should, PAGE);
		return;
	}
	assert_int_equal(st, EM_ERR_IO);
	t->failures++;
	/* A part of it may be written. */
	if (t->write)
		while (io_write(t->f, mine, PAGE, t->page[i] * PAGE, NULL) != EM_OK)
			t->failures++;
}

static void run_round(traffic *t)
{
	const unsigned n = choose(t);
	unsigned i;

	t->write = (int)test_below(&t->rng, 2);
	emi_file_plug(t->f);
	for (i = 0; i < n; i++) {
		unsigned char *mine = t->room + (size_t)i * PAGE;

		if (t->write) {
			test_fill(&t->rng, mine, PAGE);
			memcpy(t->model + t->page[i] * PAGE, mine, PAGE);
			emi_write(t->f, &t->rq[i], mine, PAGE, t->page[i] * PAGE, NULL);
		} else {
			emi_read(t->f, &t->rq[i], mine, PAGE, t->page[i] * PAGE, NULL);
		}
	}
	emi_file_unplug(t->f);
	for (i = 0; i < n; i++)
		settle(t, i);
}

static const em_backend *backend_for(traffic *t, const em_backend *be, int way)
{
	if (way == BARE)
		return be;
	if (way == FAULTY) {
		assert_int_equal(em_fault_init(&t->fault, sizeof t->fault, be), EM_OK);
		return em_fault_backend(&t->fault);
	}
	t->faulty = faulty_rows(be);
	return &t->faulty;
}

static void begin_faults(traffic *t, int way, int32_t sys_errno, uint64_t nth, uint64_t times)
{
	if (way == FAULTY) {
		t->fault.sys_errno = sys_errno;
		em_fault_set(&t->fault, EM_FAULT_READ | EM_FAULT_WRITE | EM_FAULT_SUBMIT, nth, times);
	} else if (way == FAULTY_ROWS) {
		vector.sys_errno = sys_errno;
		vector.nth = vector.seen + nth;
		vector.times = times;
	}
}

/* What is short, or interrupted, is survived, and so is what becomes of a row: each request of it is made once more. */
static void end_faults(traffic *t, int way, int32_t sys_errno)
{
	if (way != FAULTY || sys_errno != EIO)
		assert_int_equal(t->failures, 0);
	if (way == FAULTY) {
		assert_true(t->failures <= t->fault.injected);
		em_fault_set(&t->fault, 0, 0, 0);
	}
	vector.times = 0;
}

static void run(const em_backend *be, int way, int32_t direct, uint32_t depth, int32_t sys_errno, uint64_t nth,
		uint64_t times)
{
	char *dir = test_dir_make();
	io_setup setup = { 0 };
	traffic t;
	unsigned i;

	memset(&t, 0, sizeof t);
	setup.custom = backend_for(&t, be, way);
	setup.dir = dir;
	setup.direct = direct;
	setup.depth = depth;
	t.ctx = io_ctx(&setup);
	t.f = io_open(t.ctx, dir, EMI_OPEN_TEMP);
	/* Asynchronous from the beginning, where it can be. */
	t.f->queue->async_from = 0;
	t.rng = test_rng_make(test_seed() + nth);
	t.model = io_buffer(&t.rng, REGION * PAGE);
	t.room = io_buffer(&t.rng, FLIGHT * PAGE);
	assert_int_equal(io_write(t.f, t.model, REGION * PAGE, 0, NULL), EM_OK);
	begin_faults(&t, way, sys_errno, nth, times);
	for (i = 0; i < ROUNDS; i++)
		run_round(&t);
	end_faults(&t, way, sys_errno);
	assert_int_equal(io_read(t.f, t.room, FLIGHT * PAGE, 0, NULL), EM_OK);
	assert_memory_equal(t.room, t.model, FLIGHT * PAGE);
	emi_file_close(t.f);
	em_ctx_close(t.ctx);
	free(t.room);
	free(t.model);
	test_dir_remove(dir);
}

static void test_backends(void **state)
{
	static const int32_t kinds[] = { 0, EINTR, EAGAIN, EIO };
	static const uint64_t times[] = { 1, 4, 20 };
	const em_backend *be;
	uint32_t b, c;

	(void)state;
	for (b = 0; (be = io_backend_at(b)) != NULL; b++)
		for (c = 0; c < WAYS * 2 * 4 * 3; c++) {
			const uint32_t way = c % WAYS, direct = c / WAYS % 2, k = c / (WAYS * 2) % 4, i = c / (WAYS * 8);

			if (test_left_out())
				continue;
			run(be, (int)way, direct ? EM_DIRECT_TRY : EM_DIRECT_OFF, i == 1 ? 3 : 0, kinds[k],
			    1 + (b * 7 + k * 3 + i) % 40, times[i]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_channel),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_plug),
		cmocka_unit_test(test_each_its_own),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_canceled),
		cmocka_unit_test(test_backends),
	};

	return cmocka_run_group_tests_name("io/queue_row", tests, NULL, NULL);
}
