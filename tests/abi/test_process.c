/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_process.c -- what extmem/base.h says of a process: its children after a fork, and its limit on the size of
 * files.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/file.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>

#include "common/test.h"

#define MIB ((uint64_t)1 << 20)
#define B 4096u
#define BLOCKS 12

static const uint64_t numbers[] = { 3, 1, 2 };

/* One of everything, at work. */
typedef struct things {
	em_ctx *ctx;
	em_order *order;
	em_sorter *s;
	em_top *t;
	em_file *f;
	em_output *o;
	em_element_writer *e;
	em_disks *d;
	em_bid bid;
	em_cache *c;
	em_block_pool *p;
	em_block_writer *w;
	em_pq *pq;
	em_btree *b;
	em_radix_heap *h;
	em_vector *v;
	em_vector_writer *vw;
	em_stack *st;
	em_queue *q;
	em_deque *dq;
	em_deque_reader *dr;
	void *block;
} things;

/* So many that some are on a disk. */
static void push_blocks(things *x)
{
	char block[B];
	int i;

	for (i = 0; i < BLOCKS; i++) {
		memset(block, i, B);
		assert_int_equal(em_stack_push(x->st, block), EM_OK);
	}
}

static void open_all(things *x, const char *dir, const char *file, const char *output, const char *elements)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_block_writer_opts w = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_pool_opts p = EM_BLOCK_POOL_OPTS_INIT;
	em_container_opts e = EM_CONTAINER_OPTS_INIT;
	em_pq_opts q = EM_PQ_OPTS_INIT;
	em_radix_heap_opts h = EM_RADIX_HEAP_OPTS_INIT;
	em_vector_opts v = EM_VECTOR_OPTS_INIT;
	em_file_opts f = EM_FILE_OPTS_INIT;
	em_cache_opts c = EM_CACHE_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	o.dirs = &dir;
	o.ndirs = 1;
	o.memory = 16 * MIB;
	f.flags = EM_OPEN_READ | EM_OPEN_WRITE | EM_OPEN_CREATE;
	w.block_bytes = p.block_bytes = c.block_bytes = B;
	w.record_bytes = 8;
	c.frames = p.write_buffers = p.prefetch_buffers = 2;
	assert_int_equal(em_ctx_open(&x->ctx, &o), EM_OK);
	assert_int_equal(em_order_keys(&x->order, x->ctx, 8, &key, 1, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&x->s, x->ctx, x->order, NULL), EM_OK);
	assert_int_equal(em_sorter_push(x->s, numbers, 3), EM_OK);
	assert_int_equal(em_top_open(&x->t, x->ctx, x->order, 0, 2, NULL), EM_OK);
	assert_int_equal(em_top_push(x->t, numbers, 3), EM_OK);
	assert_int_equal(em_file_open(&x->f, x->ctx, file, &f), EM_OK);
	assert_int_equal(em_file_write(x->f, numbers, 8, 0), EM_OK);
	assert_int_equal(em_output_open(&x->o, x->ctx, output, NULL), EM_OK);
	assert_int_equal(em_output_write(x->o, numbers, 8), EM_OK);
	assert_int_equal(em_element_writer_open(&x->e, x->ctx, elements, NULL), EM_OK);
	assert_int_equal(em_element_writer_push(x->e, numbers), EM_OK);
	assert_int_equal(em_disks_open(&x->d, x->ctx, NULL), EM_OK);
	assert_int_equal(em_bids_alloc(x->d, &x->bid, 1, B, NULL, 0), EM_OK);
	assert_int_equal(em_cache_open(&x->c, x->d, &c), EM_OK);
	assert_int_equal(em_cache_get(x->c, x->bid, EM_CACHE_FRESH, &x->block), EM_OK);
	memset(x->block, 7, B);
	assert_int_equal(em_cache_unpin(x->c, x->block, 1), EM_OK);
	assert_int_equal(em_block_pool_open(&x->p, x->d, &p), EM_OK);
	assert_int_equal(em_block_writer_open(&x->w, x->d, &w), EM_OK);
	assert_int_equal(em_block_writer_push(x->w, numbers, 3), EM_OK);
	q.order = x->order;
	assert_int_equal(em_pq_open(&x->pq, x->ctx, &q), EM_OK);
	assert_int_equal(em_pq_push_many(x->pq, numbers, 3, NULL), EM_OK);
	assert_int_equal(em_btree_open(&x->b, x->ctx, x->order, NULL), EM_OK);
	assert_int_equal(em_btree_insert(x->b, numbers), EM_OK);
	h.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&x->h, x->ctx, &h), EM_OK);
	assert_int_equal(em_radix_heap_push_many(x->h, numbers, 3, NULL), EM_OK);
	v.record_bytes = 8;
	assert_int_equal(em_vector_open(&x->v, x->ctx, &v), EM_OK);
	assert_int_equal(em_vector_push_many(x->v, numbers, 3, NULL), EM_OK);
	assert_int_equal(em_vector_writer_open(&x->vw, x->v, NULL), EM_OK);
	assert_int_equal(em_vector_writer_push(x->vw, numbers, 3), EM_OK);
	e.record_bytes = e.block_bytes = B;
	e.memory_bytes = 8 * B;
	e.pool = x->p;
	assert_int_equal(em_stack_open(&x->st, x->ctx, &e), EM_OK);
	push_blocks(x);
	e.pool = NULL;
	e.record_bytes = 8;
	assert_int_equal(em_queue_open(&x->q, x->ctx, &e), EM_OK);
	assert_int_equal(em_queue_push_many(x->q, numbers, 3, NULL), EM_OK);
	assert_int_equal(em_deque_open(&x->dq, x->ctx, &e), EM_OK);
	assert_int_equal(em_deque_push_back_many(x->dq, numbers, 3, NULL), EM_OK);
	assert_int_equal(em_deque_reader_open(&x->dr, x->dq, NULL), EM_OK);
}

static void close_all(things *x)
{
	em_stack_close(x->st);
	em_queue_close(x->q);
	em_deque_close(x->dq);
	em_deque_reader_close(x->dr);
	em_pq_close(x->pq);
	em_btree_close(x->b);
	em_radix_heap_close(x->h);
	em_vector_close(x->v);
	em_vector_writer_close(x->vw);
	em_block_writer_close(x->w);
	em_block_pool_close(x->p);
	em_cache_close(x->c);
	em_disks_close(x->d);
	em_element_writer_close(x->e);
	em_output_close(x->o);
	em_file_close(x->f);
	em_top_close(x->t);
	em_sorter_close(x->s);
	em_order_close(x->order);
	em_ctx_close(x->ctx);
}

/* In the child: how many calls were not refused as they should be. */
static int refused(things *x)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	const em_batch *batch;
	em_block_list *list;
	em_errinfo err;
	em_sorter *s;
	em_disks *d;
	char block[B] = { 0 };
	uint64_t one;
	void *buf;
	int bad = 0;

	bad += em_sorter_push(x->s, numbers, 1) != EM_ERR_FORK;
	bad += em_sorter_push_file(x->s, "/dev/null") != EM_ERR_FORK;
	bad += em_sorter_pull_file(x->s, "/dev/null") != EM_ERR_FORK;
	bad += em_sorter_clear(x->s) != EM_ERR_FORK;
	bad += em_sorter_push_bytes(x->s, numbers, sizeof *numbers) != EM_ERR_FORK;
	bad += em_sorter_finish(x->s) != EM_ERR_FORK;
	bad += em_sorter_next(x->s, &batch) != EM_ERR_FORK;
	em_sorter_error(x->s, &err);
	bad += err.status != EM_ERR_FORK || err.text[0] == '\0';
	bad += em_sorter_stats_get(x->s, &stats) != EM_OK || stats.records_in != 3;
	bad += em_top_push(x->t, numbers, 1) != EM_ERR_FORK;
	bad += em_top_finish(x->t) != EM_ERR_FORK;
	bad += em_file_write(x->f, numbers, 8, 0) != EM_ERR_FORK;
	bad += em_file_sync(x->f) != EM_ERR_FORK;
	bad += em_output_write(x->o, numbers, 8) != EM_ERR_FORK;
	bad += em_output_commit(x->o) != EM_ERR_FORK;
	bad += em_element_writer_finish(x->e) != EM_ERR_FORK;
	bad += em_bids_alloc(x->d, &x->bid, 1, B, NULL, 0) != EM_ERR_FORK;
	bad += em_cache_flush(x->c) != EM_ERR_FORK;
	bad += em_block_pool_lend(x->p, &buf) != EM_ERR_FORK;
	bad += em_block_pool_flush(x->p) != EM_ERR_FORK;
	bad += em_block_writer_push(x->w, numbers, 1) != EM_ERR_FORK;
	bad += em_block_writer_finish(x->w, &list) != EM_ERR_FORK;
	bad += em_pq_push_many(x->pq, numbers, 3, NULL) != EM_ERR_FORK;
	bad += em_pq_pop_many(x->pq, &one, 1, NULL) != EM_ERR_FORK;
	bad += em_pq_size(x->pq) != 3;
	bad += em_btree_count(x->b, NULL, NULL, &one) != EM_ERR_FORK;
	bad += em_btree_clear(x->b) != EM_ERR_FORK;
	bad += em_btree_size(x->b) != 1;
	bad += em_radix_heap_push_many(x->h, numbers, 3, NULL) != EM_ERR_FORK;
	bad += em_radix_heap_pop_many(x->h, &one, 1, NULL) != EM_ERR_FORK;
	bad += em_radix_heap_size(x->h) != 3;
	bad += em_vector_flush(x->v, 0) != EM_ERR_FORK;
	bad += em_vector_read(x->v, 0, &one, 1) != EM_ERR_FORK;
	bad += em_vector_size(x->v) != 3;
	bad += em_vector_writer_finish(x->vw) != EM_ERR_FORK;
	bad += em_stack_push_many(x->st, block, 1, NULL) != EM_ERR_FORK;
	bad += em_stack_clear(x->st) != EM_ERR_FORK;
	bad += em_stack_size(x->st) != BLOCKS;
	bad += em_queue_pop_many(x->q, &one, 1, NULL) != EM_ERR_FORK;
	bad += em_queue_front(x->q, &one) != EM_ERR_FORK;
	bad += em_deque_get(x->dq, 0, &one) != EM_ERR_FORK;
	bad += em_deque_reader_next(x->dr, &batch) != EM_ERR_FORK;
	bad += em_sorter_open(&s, x->ctx, x->order, NULL) != EM_ERR_FORK;
	bad += em_disks_open(&d, x->ctx, NULL) != EM_ERR_FORK;
	bad += em_ctx_memory(x->ctx) != 16 * MIB;
	close_all(x);
	return bad;
}

/* The parent goes on as if nothing had happened. */
static void go_on(things *x)
{
	const em_batch *batch;
	em_block_list *list;
	char *block, copy[B];
	uint64_t got;
	int i;

	assert_int_equal(em_sorter_finish(x->s), EM_OK);
	assert_int_equal(em_sorter_next(x->s, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	assert_int_equal(em_top_finish(x->t), EM_OK);
	assert_int_equal(em_top_next(x->t, &batch), EM_OK);
	assert_int_equal(batch->n, 2);
	assert_int_equal(em_file_read(x->f, &got, 8, 0, NULL), EM_OK);
	assert_int_equal(got, 3);
	assert_int_equal(em_output_commit(x->o), EM_OK);
	assert_int_equal(em_element_writer_finish(x->e), EM_OK);
	assert_int_equal(em_cache_flush(x->c), EM_OK);
	assert_int_equal(em_cache_get(x->c, x->bid, EM_CACHE_READ, (void **)(void *)&block), EM_OK);
	assert_int_equal(block[B - 1], 7);
	assert_int_equal(em_cache_unpin(x->c, block, 0), EM_OK);
	assert_int_equal(em_block_pool_flush(x->p), EM_OK);
	assert_int_equal(em_block_writer_finish(x->w, &list), EM_OK);
	em_block_list_close(list);
	for (i = BLOCKS - 1; i >= 0; i--) {
		assert_int_equal(em_stack_pop(x->st, copy), EM_OK);
		assert_int_equal(copy[0], i);
		assert_int_equal(copy[B - 1], i);
	}
	assert_int_equal(em_queue_pop(x->q, &got), EM_OK);
	assert_int_equal(got, 3);
	assert_int_equal(em_deque_reader_next(x->dr, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	assert_int_equal(em_pq_pop(x->pq, &got), EM_OK);
	assert_int_equal(em_pq_size(x->pq), 2);
	assert_int_equal(em_btree_min(x->b, &got), EM_OK);
	assert_int_equal(got, 3);
	assert_int_equal(em_radix_heap_pop(x->h, &got), EM_OK);
	assert_int_equal(em_radix_heap_size(x->h), 2);
	assert_int_equal(em_vector_writer_finish(x->vw), EM_OK);
	assert_int_equal(em_vector_get(x->v, 5, &got), EM_OK);
	assert_int_equal(got, 2);
}

static void test_fork(void **state)
{
	char *dir = test_dir_make(), *file = test_path(dir, "file"), *output = test_path(dir, "output");
	char *elements = test_path(dir, "elements");
	int status;
	pid_t child;
	things x;

	(void)state;
	open_all(&x, dir, file, output, elements);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(refused(&x));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	go_on(&x);
	close_all(&x);
	free(elements);
	free(output);
	free(file);
	test_dir_remove(dir);
}

/* In a child with a limit of 64 KiB: 0, or which call did something else. */
static int limited(const char *dir, const char *path)
{
	const struct rlimit limit = { 65536, 65536 };
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	static const char data[MIB];
	em_errinfo err = EM_ERRINFO_INIT;
	em_output *out;
	em_status st;
	em_ctx *ctx;

	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0)
		return 1;
	o.dirs = &dir;
	o.ndirs = 1;
	o.memory = 16 * MIB;
	if (em_ctx_open(&ctx, &o) != EM_OK || em_output_open(&out, ctx, path, &opts) != EM_OK)
		return 2;
	st = em_output_write(out, data, sizeof data);
	if (st == EM_OK)
		st = em_output_commit(out);
	if (st != EM_ERR_NOSPACE)
		return 3;
	em_output_error(out, &err);
	if (err.status != EM_ERR_NOSPACE || err.path[0] == '\0')
		return 4;
	em_output_close(out);
	em_ctx_close(ctx);
	return 0;
}

static void test_limit(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "output");
	int status;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(limited(dir, path));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_dir_empty(dir);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests_name("abi/process", tests, NULL, NULL);
}
