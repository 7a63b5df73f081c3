/* SPDX-License-Identifier: BSL-1.0 */
/* test_cancel.c -- a context is canceled before, while and after whatever can be done with it is done. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/file.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/request.h>
#include <extmem/sys/sort_blocks.h>

#include "sort/cancel_case.h"

enum { N = 1100, B = 4096, BLOCKS = 24 };

static em_sort_opts small_runs(void)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;

	opts.block_bytes = B;
	opts.run_records = 290;
	opts.fan_in = 2;
	return opts;
}

static em_status merge(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->sorted, p->sorted, p->sorted };
	const em_sort_opts opts = small_runs();
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);

	if (st == EM_OK)
		st = em_merge_files(ctx, order, inputs, 3, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

static em_status sort(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->in };
	const em_sort_opts opts = small_runs();
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);

	if (st == EM_OK)
		st = em_sort_files(ctx, order, inputs, 1, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

static em_status sort_text(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->lines };
	const em_sort_opts opts = small_runs();
	em_order *order;
	em_status st = cancel_lines(&order, ctx);

	if (st == EM_OK)
		st = em_sort_files(ctx, order, inputs, 1, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

static em_status top_files(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->in };
	const em_sort_opts opts = small_runs();
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);

	if (st == EM_OK)
		st = em_top_files(ctx, order, inputs, 1, 10, 700, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

static em_status unique_files(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->lines };
	const em_sort_opts sort = small_runs();
	em_unique_opts opts = EM_UNIQUE_OPTS_INIT;
	em_order *order;
	em_status st = cancel_lines(&order, ctx);

	opts.sort = &sort;
	opts.flags = EM_UNIQUE_COUNT;
	if (st == EM_OK)
		st = em_unique_files(ctx, order, inputs, 1, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

static em_status shuffle_files(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->in };
	em_shuffle_opts opts = EM_SHUFFLE_OPTS_INIT;

	opts.block_bytes = B;
	opts.run_records = 290;
	opts.fan_in = 2;
	return em_shuffle_files(ctx, p->shape.bytes, inputs, 1, p->out, &opts, NULL);
}

static em_status check_file(em_ctx *ctx, const cancel_place *p)
{
	em_check_info info = EM_CHECK_INFO_INIT;
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);

	if (st == EM_OK)
		st = em_check_file(ctx, order, p->sorted, NULL, &info, NULL, NULL);
	em_order_close(order);
	if (st == EM_OK)
		st = cancel_lines(&order, ctx);
	if (st != EM_OK)
		return st;
	st = em_check_file(ctx, order, p->lines, NULL, &info, NULL, NULL);
	em_order_close(order);
	return st;
}

/* Canceling stays, and is told. */
static void assert_stays(em_sorter *s, const void *records)
{
	const em_batch *batch;
	em_errinfo err;

	assert_int_equal(em_sorter_push(s, records, 1), EM_ERR_CANCELED);
	assert_int_equal(em_sorter_finish(s), EM_ERR_CANCELED);
	assert_int_equal(em_sorter_next(s, &batch), EM_ERR_CANCELED);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, EM_ERR_CANCELED);
	assert_true(err.text[0] != '\0');
}

static em_status sorter(em_ctx *ctx, const cancel_place *p)
{
	const em_sort_opts opts = small_runs();
	const em_batch *batch;
	em_sorter *s = NULL;
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);
	uint64_t i;

	if (st == EM_OK)
		st = em_sorter_open(&s, ctx, order, &opts);
	em_order_close(order);
	for (i = 0; st == EM_OK && i < p->n; i += 10)
		st = em_sorter_push(s, p->records + i * p->shape.bytes, 10);
	if (st == EM_OK)
		st = em_sorter_finish(s);
	while (st == EM_OK)
		st = em_sorter_next(s, &batch);
	if (st == EM_ERR_CANCELED && s != NULL)
		assert_stays(s, p->records);
	em_sorter_close(s);
	return st == EM_END ? EM_OK : st;
}

static em_status top(em_ctx *ctx, const cancel_place *p)
{
	const em_sort_opts opts = small_runs();
	const em_batch *batch;
	em_top *t = NULL;
	em_order *order;
	em_status st = cancel_order(&order, ctx, p);

	if (st == EM_OK)
		st = em_top_open(&t, ctx, order, 0, 900, &opts);
	em_order_close(order);
	if (st == EM_OK)
		st = em_top_push(t, p->records, p->n);
	if (st == EM_OK)
		st = em_top_finish(t);
	while (st == EM_OK)
		st = em_top_next(t, &batch);
	if (st == EM_ERR_CANCELED && t != NULL)
		assert_int_equal(em_top_push(t, p->records, 1), EM_ERR_CANCELED);
	em_top_close(t);
	return st == EM_END ? EM_OK : st;
}

/* Written as blocks, sorted, and read again. */
static em_status blocks(em_ctx *ctx, const cancel_place *p)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	const em_sort_opts so = small_runs();
	em_block_list *list = NULL, *sorted = NULL;
	em_block_reader *r = NULL;
	em_block_writer *w = NULL;
	const em_batch *batch;
	em_order *order;
	em_disks *d = NULL;
	em_status st = cancel_order(&order, ctx, p);

	opts.block_bytes = B;
	opts.record_bytes = p->shape.bytes;
	if (st == EM_OK)
		st = em_disks_open(&d, ctx, NULL);
	if (st == EM_OK)
		st = em_block_writer_open(&w, d, &opts);
	if (st == EM_OK)
		st = em_block_writer_push(w, p->records, (size_t)p->n);
	if (st == EM_OK)
		st = em_block_writer_finish(w, &list);
	em_block_writer_close(w);
	if (st == EM_OK)
		st = em_sort_blocks(&sorted, &list, 1, order, EM_BLOCKS_CONSUME, &so, NULL);
	if (st == EM_OK)
		st = em_block_reader_open(&r, sorted, NULL);
	while (st == EM_OK)
		st = em_block_reader_next(r, &batch);
	em_block_reader_close(r);
	em_block_list_close(list);
	em_block_list_close(sorted);
	em_disks_close(d);
	em_order_close(order);
	return st == EM_END ? EM_OK : st;
}

/* Reading exchanges *own. */
static em_status pool_work(em_block_pool *p, const em_bid *bid, void **own)
{
	em_status st = EM_OK;
	void *buf;
	int i;

	for (i = 0; i < BLOCKS && st == EM_OK; i++) {
		st = em_block_pool_lend(p, &buf);
		if (st != EM_OK)
			break;
		memset(buf, i, B);
		st = em_block_pool_write(p, buf, bid[i]);
		if (st == EM_ERR_CANCELED)
			assert_int_equal(em_block_pool_return(p, buf), EM_OK);
	}
	if (st == EM_OK)
		st = em_block_pool_flush(p);
	for (i = 0; i < BLOCKS && st == EM_OK; i++) {
		(void)em_block_pool_hint(p, bid[(i + 2) % BLOCKS]);
		st = em_block_pool_read(p, own, bid[i]);
		if (st == EM_OK)
			assert_int_equal(*(char *)*own, i);
	}
	return st;
}

static em_status pool(em_ctx *ctx, const cancel_place *p)
{
	em_block_pool_opts opts = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *pool = NULL;
	em_bid bid[BLOCKS];
	em_disks *d = NULL;
	void *own = NULL;
	em_status st = em_disks_open(&d, ctx, NULL);

	(void)p;
	opts.block_bytes = B;
	opts.write_buffers = 3;
	opts.prefetch_buffers = 2;
	if (st == EM_OK)
		st = em_bids_alloc(d, bid, BLOCKS, B, NULL, 0);
	if (st == EM_OK) {
		st = em_buffer_alloc(&own, ctx, 1, B, NULL);
		if (st == EM_OK)
			st = em_block_pool_open(&pool, d, &opts);
		if (st == EM_OK)
			st = pool_work(pool, bid, &own);
		em_block_pool_close(pool);
		em_buffer_free(ctx, own, 1, B);
		assert_int_equal(em_bids_free(d, bid, BLOCKS, B), EM_OK);
	}
	em_disks_close(d);
	return st;
}

static em_status cache_work(em_cache *c, const em_bid *bid)
{
	em_status st = EM_OK;
	void *block;
	int i;

	for (i = 0; i < 2 * BLOCKS && st == EM_OK; i++) {
		em_cache_hint(c, bid[(i + 1) % BLOCKS]);
		st = em_cache_get(c, bid[i % BLOCKS], i < BLOCKS ? EM_CACHE_FRESH : EM_CACHE_WRITE, &block);
		if (st != EM_OK)
			break;
		if (i < BLOCKS)
			memset(block, 0, B);
		assert_int_equal(*(char *)block, i < BLOCKS ? 0 : i - BLOCKS + 1);
		*(char *)block = (char)(i + 1);
		st = em_cache_unpin(c, block, 1);
	}
	return st == EM_OK ? em_cache_flush(c) : st;
}

static em_status cache(em_ctx *ctx, const cancel_place *p)
{
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	em_bid bid[BLOCKS];
	em_disks *d = NULL;
	em_cache *c = NULL;
	em_status st = em_disks_open(&d, ctx, NULL);

	(void)p;
	opts.frames = 5;
	opts.block_bytes = B;
	if (st == EM_OK)
		st = em_bids_alloc(d, bid, BLOCKS, B, NULL, 0);
	if (st == EM_OK) {
		st = em_cache_open(&c, d, &opts);
		if (st == EM_OK)
			st = cache_work(c, bid);
		em_cache_close(c);
		assert_int_equal(em_bids_free(d, bid, BLOCKS, B), EM_OK);
	}
	em_disks_close(d);
	return st;
}

static em_status output(em_ctx *ctx, const cancel_place *p)
{
	em_output *o = NULL;
	em_status st = em_output_open(&o, ctx, p->out, NULL);
	int i;

	for (i = 0; i < 200 && st == EM_OK; i++)
		st = em_output_write(o, p->records, (size_t)p->n * p->shape.bytes);
	if (st == EM_OK)
		st = em_output_commit(o);
	em_output_close(o);
	return st;
}

/* Many transfers at a time: those that have not begun are over. */
static em_status requests(em_ctx *ctx, const cancel_place *p)
{
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_request *rq[BLOCKS] = { NULL };
	em_file *f = NULL;
	em_status st, one;
	size_t moved;
	char byte;
	int i;

	opts.flags = EM_OPEN_WRITE | EM_OPEN_CREATE;
	st = em_file_open(&f, ctx, p->out, &opts);
	for (i = 0; i < BLOCKS && st == EM_OK; i++)
		st = em_file_write_async(f, p->records, 100, (uint64_t)i * 50, NULL, NULL, &rq[i]);
	for (i = 0; i < BLOCKS && rq[i] != NULL; i++) {
		one = em_request_wait(rq[i]);
		if (st == EM_OK)
			st = one;
		em_request_close(rq[i]);
	}
	if (st == EM_OK)
		st = em_file_write(f, p->records, 100, 0);
	if (st == EM_OK)
		st = em_file_read(f, &byte, 1, 0, &moved);
	if (st == EM_OK)
		st = em_file_sync(f);
	em_file_close(f);
	if (st != EM_OK)
		unlink(p->out);
	return st;
}

static em_status elements(em_ctx *ctx, const cancel_place *p)
{
	em_element_opts opts = EM_ELEMENT_OPTS_INIT;
	em_element_writer *w = NULL;
	em_element_reader *r = NULL;
	em_status st = EM_OK;
	uint64_t element = 0;
	int i;

	opts.element_bytes = sizeof element;
	opts.buffer_bytes = 64;
	st = em_element_writer_open(&w, ctx, p->out, &opts);
	for (i = 0; i < 100 && st == EM_OK; i++)
		st = em_element_writer_push(w, &element);
	if (st == EM_OK)
		st = em_element_writer_finish(w);
	em_element_writer_close(w);
	if (st == EM_OK)
		st = em_element_reader_open(&r, ctx, p->out, &opts);
	for (i = 0; i < 100 && st == EM_OK; i++)
		st = em_element_reader_next(r, &element);
	em_element_reader_close(r);
	if (st != EM_OK)
		unlink(p->out);
	return st;
}

static void test_all(void **state)
{
	static const struct {
		const char *name;
		cancel_work work;
	} all[] = {
		{ "sort of files", sort },	    { "sort of lines", sort_text }, { "merge of files", merge },
		{ "first records of files", top_files }, { "groups of lines", unique_files },
		{ "shuffle", shuffle_files },	    { "check", check_file },	    { "sorter", sorter },
		{ "top", top },			    { "blocks", blocks },	    { "pool", pool },
		{ "cache", cache },		    { "output", output },	    { "requests", requests },
		{ "elements", elements },
	};
	cancel_place p = cancel_place_make(N);
	size_t i;

	(void)state;
	for (i = 0; i < sizeof all / sizeof all[0]; i++) {
		cancel_everywhere(all[i].name, all[i].work, &p, "syscall", 150);
		/* Transfers that the system makes by itself take another way; disks are slow. */
		if (em_backend_supported("libaio"))
			cancel_everywhere(all[i].name, all[i].work, &p, "libaio", 15);
	}
	cancel_place_free(&p);
}

/* Far more than are under way at a time: those that are not begun are not made. */
static em_status many_requests(em_ctx *ctx, const cancel_place *p)
{
	enum { MANY = 400 };
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_request *rq[MANY];
	em_file *f;
	em_status st = EM_OK, one;
	uint64_t before;
	int i;

	opts.flags = EM_OPEN_WRITE | EM_OPEN_TEMP;
	assert_int_equal(em_file_open(&f, ctx, p->dir, &opts), EM_OK);
	for (i = 0; i < MANY; i++)
		assert_int_equal(em_file_write_async(f, p->records, B, (uint64_t)i * B, NULL, NULL, &rq[i]), EM_OK);
	em_ctx_cancel(ctx);
	before = cancel_events();
	for (i = 0; i < MANY; i++) {
		one = em_request_wait(rq[i]);
		if (st == EM_OK)
			st = one;
		em_request_close(rq[i]);
	}
	/* Those that threads were about to begin. */
	assert_in_range(cancel_events() - before, 0, 20);
	em_file_close(f);
	return st;
}

static void test_not_begun(void **state)
{
	cancel_place p = cancel_place_make(N);
	cancel_how how = { CANCEL_AT, "syscall", 0, 20000 };
	uint64_t events;

	(void)state;
	assert_int_equal(cancel_run(many_requests, &p, &how, &events), EM_ERR_CANCELED);
	cancel_place_free(&p);
}

/* The progress function says that the work may go on, and at a call of choice cancels all. */
static unsigned calls, call_that_cancels;

static int go_on(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	(void)phase;
	(void)done;
	(void)total;
	if (++calls == call_that_cancels)
		em_ctx_cancel(user);
	return 0;
}

static em_status watched_sort(em_ctx *ctx, const cancel_place *p)
{
	const char *const inputs[] = { p->in };
	em_sort_opts opts = small_runs();
	em_order *order;
	em_status st;

	calls = 0;
	opts.progress = go_on;
	opts.progress_user = ctx;
	st = cancel_order(&order, ctx, p);
	if (st == EM_OK)
		st = em_sort_files(ctx, order, inputs, 1, p->out, &opts, NULL);
	em_order_close(order);
	return st;
}

/* Transfers take so long that it is called now and then. */
static void test_progress(void **state)
{
	cancel_place p = cancel_place_make(N);
	cancel_how how = { CANCEL_AT, "syscall", 0, 10000 };
	uint64_t events;
	em_status st;

	(void)state;
	for (call_that_cancels = 1; call_that_cancels <= 3; call_that_cancels++) {
		st = cancel_run(watched_sort, &p, &how, &events);
		assert_int_equal(st, calls < call_that_cancels ? EM_OK : EM_ERR_CANCELED);
		assert_true(calls <= call_that_cancels);
	}
	cancel_place_free(&p);
}

/* Pipes: nobody writes to the first, nobody opens the second for reading, and nobody reads from it. */
static em_status from_pipe(em_ctx *ctx, const cancel_place *p)
{
	char *pipe = test_path(p->dir, ".pipe");
	const char *const inputs[] = { pipe };
	em_order *order;
	em_status st;

	assert_int_equal(cancel_lines(&order, ctx), EM_OK);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	st = em_sort_files(ctx, order, inputs, 1, p->out, NULL, NULL);
	em_order_close(order);
	unlink(pipe);
	free(pipe);
	return st;
}

static em_status to_pipe(em_ctx *ctx, const cancel_place *p, int opened)
{
	char *pipe = test_path(p->dir, ".pipe");
	em_output *o;
	em_status st;
	int fd = -1;

	assert_int_equal(mkfifo(pipe, 0600), 0);
	if (opened)
		fd = open(pipe, O_RDONLY | O_NONBLOCK);
	st = em_output_open(&o, ctx, pipe, NULL);
	while (st == EM_OK)
		st = em_output_write(o, p->records, (size_t)p->n * p->shape.bytes);
	em_output_close(o);
	if (fd >= 0)
		close(fd);
	unlink(pipe);
	free(pipe);
	return st;
}

static em_status to_pipe_unopened(em_ctx *ctx, const cancel_place *p)
{
	return to_pipe(ctx, p, 0);
}

static em_status to_pipe_unread(em_ctx *ctx, const cancel_place *p)
{
	return to_pipe(ctx, p, 1);
}

static void test_pipes(void **state)
{
	static const cancel_work all[] = { from_pipe, to_pipe_unopened, to_pipe_unread };
	cancel_place p = cancel_place_make(N);
	cancel_how how = { CANCEL_THREAD, "syscall", 200000, 0 };
	uint64_t events, i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(cancel_run(all[i], &p, &how, &events), EM_ERR_CANCELED);
	cancel_place_free(&p);
}

/* An output that cannot be replaced is overwritten: once that has begun it comes to its end. */
static void cancel_at_overwriting(void *user, int32_t level, const char *line)
{
	(void)level;
	if (strstr(line, "is overwritten") != NULL)
		em_ctx_cancel(*(em_ctx **)user);
}

static void test_overwriting(void **state)
{
	cancel_place p = cancel_place_make(200000);
	const size_t bytes = (size_t)p.n * p.shape.bytes;
	char *other = test_path(p.dir, "other");
	em_ctx_opts opts = sort_ctx_opts();
	em_output *o;
	em_ctx *ctx;

	(void)state;
	opts.backend = "syscall";
	opts.log = cancel_at_overwriting;
	opts.log_user = &ctx;
	ctx = sort_ctx(&opts);
	sort_write_file(p.out, "as it was", 9);
	assert_int_equal(link(p.out, other), 0);
	assert_int_equal(em_output_open(&o, ctx, p.out, NULL), EM_OK);
	assert_int_equal(em_output_write(o, p.records, bytes), EM_OK);
	assert_int_equal(em_output_commit(o), EM_OK);
	assert_int_equal(em_output_open(&o, ctx, p.out, NULL) == EM_OK, 0);
	em_ctx_close(ctx);
	sort_assert_file(other, p.records, bytes);
	free(other);
	cancel_place_free(&p);
}

/* em_ctx_abandon() cancels, too; NULL is no context. */
static void test_abandon(void **state)
{
	const em_ctx_opts opts = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&opts);
	em_disks *d;

	(void)state;
	em_ctx_cancel(NULL);
	em_ctx_abandon(ctx);
	assert_int_equal(em_disks_open(&d, ctx, NULL), EM_ERR_CANCELED);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	    cmocka_unit_test(test_not_begun), cmocka_unit_test(test_progress),
		cmocka_unit_test(test_pipes),	    cmocka_unit_test(test_overwriting), cmocka_unit_test(test_abandon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
