/* SPDX-License-Identifier: BSL-1.0 */
/*
 * subjects.c -- every struct that begins with its size, and a call that takes it; see subjects.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "abi/subjects.h"
#include "common/test.h"

#define EM_GEN_NAME by_number
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

#define MIB ((uint64_t)1 << 20)

enum { MOST = 64 };
subject subjects[MOST];
size_t nsubjects;
em_errinfo subjects_err;

/* What calls are made with. */
static em_ctx *ctx;
static em_order *order, *by_line;
static em_disks *disks;
static char *dir, *in, *out;
static const uint64_t numbers[] = { 3, 1, 2 };

static void *own_alloc(void *user, size_t bytes)
{
	(void)user;
	return malloc(bytes);
}

static void own_release(void *user, void *ptr, size_t bytes)
{
	(void)user;
	(void)bytes;
	free(ptr);
}

static em_status open_ctx(const em_ctx_opts *opts)
{
	em_ctx *c;
	const em_status st = em_ctx_open(&c, opts);

	em_ctx_close(c);
	return st;
}

static em_status with_allocator(void *theirs)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	o.allocator = theirs;
	o.errinfo = &subjects_err;
	return open_ctx(&o);
}

em_status subject_backend(void *theirs)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_file_opts fo = EM_FILE_OPTS_INIT;
	em_file *f = NULL;
	em_status st;
	em_ctx *c;

	o.custom = theirs;
	o.errinfo = fo.errinfo = &subjects_err;
	fo.flags = EM_OPEN_TEMP;
	st = em_ctx_open(&c, &o);
	if (st == EM_OK)
		st = em_file_open(&f, c, dir, &fo);
	if (st == EM_OK)
		st = em_file_write(f, numbers, sizeof numbers, 0);
	em_file_close(f);
	em_ctx_close(c);
	return st;
}

static em_status with_fault(void *theirs)
{
	em_fault *fault = theirs;
	em_status st = em_fault_init(fault, fault->size, em_backend_find("syscall"));

	if (st == EM_OK) {
		st = subject_backend((void *)(uintptr_t)em_fault_backend(fault));
		assert_true(fault->count >= 2);
	}
	return st;
}

static em_status with_simdisk(void *theirs)
{
	em_simdisk *sim = theirs;
	em_status st = em_simdisk_init(sim, sim->size, "120gxp", &subjects_err);

	if (st == EM_OK)
		st = em_simdisk_parse(sim, "rate=10GB,seek=0s,rpm=0", &subjects_err);
	if (st == EM_OK)
		st = em_simdisk_check(sim, &subjects_err);
	if (st == EM_OK) {
		st = subject_backend((void *)(uintptr_t)em_simdisk_backend(sim));
		assert_int_equal(sim->requests, 1);
	}
	return st;
}

static em_status with_ctx_opts(void *theirs)
{
	return open_ctx(theirs);
}

static em_status with_disk_opts(void *theirs)
{
	const em_disk_opts *const list[] = { theirs };
	em_ctx_opts o = EM_CTX_OPTS_INIT;

	o.disks = list;
	o.ndisks = 1;
	o.errinfo = &subjects_err;
	return open_ctx(&o);
}

static em_status with_disks_opts(void *theirs)
{
	em_disks *d;
	const em_status st = em_disks_open(&d, ctx, theirs);

	em_disks_close(d);
	return st;
}

static em_status with_disks_stats(void *theirs)
{
	return em_disks_stats_get(disks, EM_DISKS_ALL, theirs);
}

/* Given and taken back. */
static em_status with_list_info(void *theirs)
{
	em_block_list *l;
	em_status st = em_block_list_open(&l, disks, theirs, &subjects_err);

	if (st == EM_OK)
		st = em_block_list_info_get(l, theirs);
	em_block_list_close(l);
	return st;
}

static em_status with_pool_opts(void *theirs)
{
	em_block_pool *p;
	const em_status st = em_block_pool_open(&p, disks, theirs);

	em_block_pool_close(p);
	return st;
}

static em_status with_pool_stats(void *theirs)
{
	em_block_pool_opts o = EM_BLOCK_POOL_OPTS_INIT;
	em_block_pool *p;
	em_status st;

	o.block_bytes = 4096;
	assert_int_equal(em_block_pool_open(&p, disks, &o), EM_OK);
	st = em_block_pool_stats_get(p, theirs);
	em_block_pool_close(p);
	return st;
}

static em_status with_writer_opts(void *theirs)
{
	em_block_writer *w;
	const em_status st = em_block_writer_open(&w, disks, theirs);

	em_block_writer_close(w);
	return st;
}

static em_status with_reader_opts(void *theirs)
{
	em_block_list_info i = EM_BLOCK_LIST_INFO_INIT;
	em_block_reader *r;
	em_block_list *l;
	em_status st;

	i.record_bytes = 8;
	i.block_bytes = 4096;
	assert_int_equal(em_block_list_open(&l, disks, &i, NULL), EM_OK);
	st = em_block_reader_open(&r, l, theirs);
	em_block_reader_close(r);
	em_block_list_close(l);
	return st;
}

static em_status with_cache_opts(void *theirs)
{
	em_cache *c;
	const em_status st = em_cache_open(&c, disks, theirs);

	assert_int_equal(em_cache_memory(theirs) != 0, st == EM_OK);
	em_cache_close(c);
	return st;
}

static em_status with_policy(void *theirs)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;

	o.frames = 2;
	o.block_bytes = 4096;
	o.policy = theirs;
	o.errinfo = &subjects_err;
	st = em_cache_open(&c, disks, &o);
	em_cache_close(c);
	return st;
}

static em_status with_cache_stats(void *theirs)
{
	em_cache_opts o = EM_CACHE_OPTS_INIT;
	em_cache *c;
	em_status st;

	o.frames = 2;
	o.block_bytes = 4096;
	assert_int_equal(em_cache_open(&c, disks, &o), EM_OK);
	st = em_cache_stats_get(c, theirs);
	em_cache_close(c);
	return st;
}

static em_status with_check_opts(void *theirs)
{
	em_check_info info = EM_CHECK_INFO_INIT;

	return em_check_file(ctx, order, in, theirs, &info, NULL, NULL);
}

static em_status with_check_info(void *theirs)
{
	em_check_opts o = EM_CHECK_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_check_file(ctx, order, in, &o, theirs, NULL, NULL);
}

static em_status with_format(void *theirs)
{
	em_check_info info = EM_CHECK_INFO_INIT;
	em_check_opts o = EM_CHECK_OPTS_INIT;

	o.format = theirs;
	o.errinfo = &subjects_err;
	return em_check_file(ctx, NULL, in, &o, &info, NULL, NULL);
}

static em_status with_text_opts(void *theirs)
{
	em_order *text;
	const em_status st = em_order_text(&text, ctx, NULL, 0, theirs, &subjects_err);

	em_order_close(text);
	return st;
}

static em_status with_kernels(void *theirs)
{
	em_order *own;
	const em_status st = em_order_kernels(&own, ctx, theirs, NULL, &subjects_err);

	em_order_close(own);
	return st;
}

static em_status with_file_opts(void *theirs)
{
	em_file *f;
	const em_status st = em_file_open(&f, ctx, in, theirs);

	em_file_close(f);
	return st;
}

static em_status with_io_stats(void *theirs)
{
	em_io_stats before = EM_IO_STATS_INIT;
	em_status st = em_ctx_io_stats_get(ctx, theirs);
	char text[1024];

	if (st == EM_OK) {
		em_io_stats_since(theirs, &before);
		assert_true(em_io_stats_text(theirs, text, sizeof text) < sizeof text);
		assert_true(em_io_stats_json(theirs, text, sizeof text) < sizeof text);
	}
	return st;
}

static em_status with_output_opts(void *theirs)
{
	em_output *o;
	const em_status st = em_output_open(&o, ctx, out, theirs);

	em_output_close(o);
	return st;
}

static em_status with_sort_opts(void *theirs)
{
	em_sorter *s;
	const em_status st = em_sorter_open(&s, ctx, order, theirs);

	em_sorter_close(s);
	return st;
}

static em_status with_plan_info(void *theirs)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_sort_plan(ctx, order, 1000, &o, theirs);
}

static em_status with_sort_stats(void *theirs)
{
	const char *const inputs[] = { in };
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_status st;

	o.errinfo = &subjects_err;
	st = em_sort_files(ctx, order, inputs, 1, out, &o, theirs);
	if (st == EM_OK) {
		assert_int_equal(em_sort_stats_phase(theirs, EM_PHASE_RUNS, &phase), EM_OK);
		assert_int_equal(phase.bytes_read, sizeof numbers);
	}
	return st;
}

static em_status with_phase_stats(void *theirs)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	const char *const inputs[] = { in };

	assert_int_equal(em_sort_files(ctx, order, inputs, 1, out, NULL, &stats), EM_OK);
	return em_sort_stats_phase(&stats, EM_PHASE_RUNS, theirs);
}

static em_status with_shuffle_opts(void *theirs)
{
	const char *const inputs[] = { in };

	return em_shuffle_files(ctx, 8, inputs, 1, out, theirs, NULL);
}

static em_status with_unique_opts(void *theirs)
{
	const char *const inputs[] = { in };

	return em_unique_files(ctx, order, inputs, 1, out, theirs, NULL);
}

static em_status with_stream_opts(void *theirs)
{
	em_element_reader *r;
	const em_status st = em_element_reader_open(&r, ctx, in, theirs);

	em_element_reader_close(r);
	return st;
}

static em_status with_stream_stats(void *theirs)
{
	em_element_opts o = EM_ELEMENT_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_element_predict(&o, 1000, theirs);
}

static em_status with_btree_opts(void *theirs)
{
	em_btree *t;
	const em_status st = em_btree_open(&t, ctx, order, theirs);

	assert_int_equal(em_btree_memory(order, theirs, 1) != 0, st == EM_OK);
	em_btree_close(t);
	return st;
}

static em_status with_btree_load_opts(void *theirs)
{
	em_btree_loader *l;
	em_btree *t;
	em_status st;

	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	st = em_btree_loader_open(&l, t, theirs);
	em_btree_loader_close(l);
	em_btree_close(t);
	return st;
}

static em_status with_btree_stats(void *theirs)
{
	em_btree *t;
	em_status st;

	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	st = em_btree_stats_get(t, theirs);
	em_btree_close(t);
	return st;
}

static em_status with_pq_opts(void *theirs)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
	em_pq *q;
	const em_status st = em_pq_open(&q, ctx, theirs);

	assert_int_equal(em_pq_memory(theirs, 1) != 0, st == EM_OK);
	assert_int_equal(em_pq_plan(ctx, theirs, &info), st);
	em_pq_close(q);
	return st;
}

static em_status with_pq_plan_info(void *theirs)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;

	o.order = order;
	o.errinfo = &subjects_err;
	return em_pq_plan(ctx, &o, theirs);
}

static em_status with_pq_stats(void *theirs)
{
	em_pq_opts o = EM_PQ_OPTS_INIT;
	em_status st;
	em_pq *q;

	o.order = order;
	assert_int_equal(em_pq_open(&q, ctx, &o), EM_OK);
	st = em_pq_stats_get(q, theirs);
	em_pq_close(q);
	return st;
}

static em_status with_radix_heap_opts(void *theirs)
{
	em_radix_heap_plan_info info = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_radix_heap *h;
	const em_status st = em_radix_heap_open(&h, ctx, theirs);

	assert_int_equal(em_radix_heap_memory(theirs, 1) != 0, st == EM_OK);
	assert_int_equal(em_radix_heap_plan(ctx, theirs, &info), st);
	em_radix_heap_close(h);
	return st;
}

static em_status with_radix_heap_plan_info(void *theirs)
{
	em_radix_heap_opts o = EM_RADIX_HEAP_OPTS_INIT;

	o.record_bytes = 8;
	o.errinfo = &subjects_err;
	return em_radix_heap_plan(ctx, &o, theirs);
}

static em_status with_radix_heap_stats(void *theirs)
{
	em_radix_heap_opts o = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap *h;
	em_status st;

	o.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, ctx, &o), EM_OK);
	st = em_radix_heap_stats_get(h, theirs);
	em_radix_heap_close(h);
	return st;
}

static em_status with_vector_opts(void *theirs)
{
	em_vector *v;
	const em_status st = em_vector_open(&v, ctx, theirs);

	assert_int_equal(em_vector_memory(theirs, 1) != 0, st == EM_OK);
	em_vector_close(v);
	return st;
}

static em_vector *open_vector(void)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;
	em_vector *v;

	o.record_bytes = 8;
	assert_int_equal(em_vector_open(&v, ctx, &o), EM_OK);
	assert_int_equal(em_vector_push_many(v, numbers, 3, NULL), EM_OK);
	return v;
}

static em_status with_vector_stats(void *theirs)
{
	em_vector *v = open_vector();
	const em_status st = em_vector_stats_get(v, theirs);

	em_vector_close(v);
	return st;
}

/* Of a stack, a queue and a deque. */
static em_status with_container_opts(void *theirs)
{
	em_stack *stack;
	em_queue *q;
	em_deque *d;
	const em_status st = em_stack_open(&stack, ctx, theirs);

	assert_int_equal(em_stack_memory(theirs, 1) != 0, st == EM_OK);
	em_stack_close(stack);
	assert_int_equal(em_queue_open(&q, ctx, theirs), st);
	em_queue_close(q);
	assert_int_equal(em_deque_open(&d, ctx, theirs), st);
	em_deque_close(d);
	return st;
}

static em_deque *open_deque(void)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;
	em_deque *d;

	o.record_bytes = 8;
	assert_int_equal(em_deque_open(&d, ctx, &o), EM_OK);
	assert_int_equal(em_deque_push_back_many(d, numbers, 3, NULL), EM_OK);
	return d;
}

static em_status with_container_stats(void *theirs)
{
	em_deque *d = open_deque();
	const em_status st = em_deque_stats_get(d, theirs);

	em_deque_close(d);
	return st;
}

static em_status with_deque_reader_opts(void *theirs)
{
	em_deque *d = open_deque();
	em_deque_reader *r;
	const em_status st = em_deque_reader_open(&r, d, theirs);

	em_deque_close(d);
	em_deque_reader_close(r);
	return st;
}

/* Of a reader and of a writer. */
static em_status with_vector_stream_opts(void *theirs)
{
	em_vector *v = open_vector();
	em_vector_reader *r;
	em_vector_writer *w;
	em_status st = em_vector_reader_open(&r, v, theirs);

	em_vector_reader_close(r);
	assert_int_equal(em_vector_writer_open(&w, v, theirs), st);
	em_vector_writer_close(w);
	em_vector_close(v);
	return st;
}

static subject make(const char *name, size_t first, em_status (*use)(void *theirs), int told)
{
	subject s;

	memset(&s, 0, sizeof s);
	s.name = name;
	s.first = first;
	s.use = use;
	s.told = told;
	return s;
}

#define MAKE(type, use, told) make(#type, first_##type, use, told)

static em_status no_more(void *user, em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	return EM_END;
}

static em_status with_stream_ops(void *theirs)
{
	em_stream *s;
	const em_status st = em_stream_open(&s, ctx, 8, 0, theirs, NULL, &subjects_err);

	em_stream_close(s);
	return st;
}

static em_status take_all(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	return EM_OK;
}

static em_status with_sink_ops(void *theirs)
{
	em_sink *k;
	const em_status st = em_sink_open(&k, ctx, 8, theirs, NULL, &subjects_err);

	em_sink_close(k);
	return st;
}

static const em_key by_first = { 0, 0, EM_KEY_U64, 0, { 0 } };

static em_status with_join_opts(void *theirs)
{
	em_stream *both[2], *s;
	em_status st;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(em_stream_memory(&both[i], ctx, 8, numbers, 1, NULL), EM_OK);
	st = em_stream_join(&s, both[0], both[1], theirs, &subjects_err);
	em_stream_close(s);
	for (i = 0; i < 2 && st != EM_OK; i++)
		em_stream_close(both[i]);
	return st;
}

static em_status with_lines_join_opts(void *theirs)
{
	em_stream *both[2], *s;
	em_status st;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(em_stream_lines(&both[i], ctx, NULL, 0, NULL, NULL), EM_OK);
	st = em_stream_lines_join(&s, both[0], both[1], theirs, &subjects_err);
	em_stream_close(s);
	for (i = 0; i < 2 && st != EM_OK; i++)
		em_stream_close(both[i]);
	return st;
}

static em_status with_stream_graph_info(void *theirs)
{
	em_stream *s;
	em_status st;

	assert_int_equal(em_stream_memory(&s, ctx, 8, numbers, 1, NULL), EM_OK);
	st = em_stream_graph_info_get(s, theirs);
	em_stream_close(s);
	return st;
}

static em_status with_tee_opts(void *theirs)
{
	em_stream *input, *s;
	em_status st;

	assert_int_equal(em_stream_memory(&input, ctx, 8, numbers, 1, NULL), EM_OK);
	st = em_stream_tee(&s, 1, input, theirs, &subjects_err);
	em_stream_close(s);
	if (st != EM_OK)
		em_stream_close(input);
	return st;
}

static em_runs *open_runs(const em_runs_opts *opts, em_status *st)
{
	em_runs *r;

	*st = em_runs_open(&r, ctx, order, opts, &subjects_err);
	return r;
}

static em_status with_runs_opts(void *theirs)
{
	em_status st;

	em_runs_close(open_runs(theirs, &st));
	return st;
}

static em_status with_runs_merge_opts(void *theirs)
{
	em_status st;
	em_runs *r = open_runs(NULL, &st);
	em_stream *s;

	assert_int_equal(st, EM_OK);
	st = em_runs_merge(&s, r, theirs, &subjects_err);
	em_stream_close(s);
	em_runs_close(r);
	return st;
}

static em_status with_runs_info(void *theirs)
{
	em_status st;
	em_runs *r = open_runs(NULL, &st);

	assert_int_equal(st, EM_OK);
	st = em_runs_info_get(r, theirs);
	em_runs_close(r);
	return st;
}

/* All of them, but for those that the library makes. */
static size_t make_subjects(subject *s)
{
	size_t n = 0;

	s[n] = MAKE(em_allocator, with_allocator, 1);
	s[n].u.allocator.alloc = own_alloc;
	s[n++].u.allocator.release = own_release;
	s[n] = MAKE(em_backend, subject_backend, 1);
	s[n++].u.backend = *em_backend_find("syscall");
	s[n] = MAKE(em_block_list_info, with_list_info, 1);
	s[n].u.list_info = (em_block_list_info)EM_BLOCK_LIST_INFO_INIT;
	s[n].u.list_info.block_bytes = 4096;
	s[n++].u.list_info.record_bytes = 8;
	s[n] = MAKE(em_block_pool_opts, with_pool_opts, 1);
	s[n].u.pool_opts = (em_block_pool_opts)EM_BLOCK_POOL_OPTS_INIT;
	s[n].u.pool_opts.block_bytes = 4096;
	s[n++].u.pool_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_block_pool_stats, with_pool_stats, 0);
	s[n] = MAKE(em_block_reader_opts, with_reader_opts, 1);
	s[n].u.reader_opts = (em_block_reader_opts)EM_BLOCK_READER_OPTS_INIT;
	s[n++].u.reader_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_block_writer_opts, with_writer_opts, 1);
	s[n].u.writer_opts = (em_block_writer_opts)EM_BLOCK_WRITER_OPTS_INIT;
	s[n].u.writer_opts.block_bytes = 4096;
	s[n].u.writer_opts.record_bytes = 8;
	s[n++].u.writer_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_cache_opts, with_cache_opts, 1);
	s[n].u.cache_opts = (em_cache_opts)EM_CACHE_OPTS_INIT;
	s[n].u.cache_opts.block_bytes = 4096;
	s[n].u.cache_opts.frames = 2;
	s[n++].u.cache_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_cache_stats, with_cache_stats, 0);
	s[n++] = MAKE(em_check_info, with_check_info, 1);
	s[n] = MAKE(em_check_opts, with_check_opts, 1);
	s[n].u.check_opts = (em_check_opts)EM_CHECK_OPTS_INIT;
	s[n++].u.check_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_ctx_opts, with_ctx_opts, 1);
	s[n].u.ctx_opts = (em_ctx_opts)EM_CTX_OPTS_INIT;
	s[n++].u.ctx_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_disk_opts, with_disk_opts, 1);
	s[n].u.disk_opts = (em_disk_opts)EM_DISK_OPTS_INIT;
	s[n++].u.disk_opts.path = dir;
	s[n] = MAKE(em_disks_opts, with_disks_opts, 1);
	s[n].u.disks_opts = (em_disks_opts)EM_DISKS_OPTS_INIT;
	s[n++].u.disks_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_disks_stats, with_disks_stats, 0);
	s[n++] = MAKE(em_fault, with_fault, 0);
	s[n] = MAKE(em_file_opts, with_file_opts, 1);
	s[n].u.file_opts = (em_file_opts)EM_FILE_OPTS_INIT;
	s[n++].u.file_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_format, with_format, 1);
	s[n++].u.format = (em_format)EM_FORMAT_INIT;
	s[n++] = MAKE(em_io_stats, with_io_stats, 0);
	s[n] = MAKE(em_kernels, with_kernels, 1);
	s[n++].u.kernels = by_number_kernels;
	s[n] = MAKE(em_output_opts, with_output_opts, 1);
	s[n].u.output_opts = (em_output_opts)EM_OUTPUT_OPTS_INIT;
	s[n++].u.output_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_phase_stats, with_phase_stats, 0);
	s[n] = MAKE(em_policy, with_policy, 1);
	s[n++].u.policy = *em_policy_clock();
	s[n] = MAKE(em_btree_load_opts, with_btree_load_opts, 1);
	s[n].u.btree_load_opts = (em_btree_load_opts)EM_BTREE_LOAD_OPTS_INIT;
	s[n++].u.btree_load_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_btree_opts, with_btree_opts, 1);
	s[n].u.btree_opts = (em_btree_opts)EM_BTREE_OPTS_INIT;
	s[n++].u.btree_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_btree_stats, with_btree_stats, 0);
	s[n] = MAKE(em_pq_opts, with_pq_opts, 1);
	s[n].u.pq_opts = (em_pq_opts)EM_PQ_OPTS_INIT;
	s[n].u.pq_opts.order = order;
	s[n++].u.pq_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_pq_plan_info, with_pq_plan_info, 1);
	s[n++] = MAKE(em_pq_stats, with_pq_stats, 0);
	s[n] = MAKE(em_radix_heap_opts, with_radix_heap_opts, 1);
	s[n].u.radix_heap_opts = (em_radix_heap_opts)EM_RADIX_HEAP_OPTS_INIT;
	s[n].u.radix_heap_opts.record_bytes = 8;
	s[n++].u.radix_heap_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_radix_heap_plan_info, with_radix_heap_plan_info, 1);
	s[n++] = MAKE(em_radix_heap_stats, with_radix_heap_stats, 0);
	s[n] = MAKE(em_shuffle_opts, with_shuffle_opts, 1);
	s[n].u.shuffle_opts = (em_shuffle_opts)EM_SHUFFLE_OPTS_INIT;
	s[n++].u.shuffle_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_simdisk, with_simdisk, 1);
	s[n] = MAKE(em_sort_opts, with_sort_opts, 1);
	s[n].u.sort_opts = (em_sort_opts)EM_SORT_OPTS_INIT;
	s[n++].u.sort_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_sort_plan_info, with_plan_info, 1);
	s[n++] = MAKE(em_sort_stats, with_sort_stats, 1);
	s[n] = MAKE(em_element_opts, with_stream_opts, 1);
	s[n].u.stream_opts = (em_element_opts)EM_ELEMENT_OPTS_INIT;
	s[n++].u.stream_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_element_stats, with_stream_stats, 1);
	s[n] = MAKE(em_join_opts, with_join_opts, 1);
	s[n].u.join_opts = (em_join_opts)EM_JOIN_OPTS_INIT;
	s[n].u.join_opts.left = s[n].u.join_opts.right = &by_first;
	s[n++].u.join_opts.nkeys = 1;
	s[n] = MAKE(em_lines_join_opts, with_lines_join_opts, 1);
	s[n].u.lines_join_opts = (em_lines_join_opts)EM_LINES_JOIN_OPTS_INIT;
	s[n++].u.lines_join_opts.left = by_line;
	s[n] = MAKE(em_tee_opts, with_tee_opts, 1);
	s[n++].u.tee_opts = (em_tee_opts)EM_TEE_OPTS_INIT;
	s[n++] = MAKE(em_runs_info, with_runs_info, 0);
	s[n] = MAKE(em_runs_merge_opts, with_runs_merge_opts, 1);
	s[n++].u.runs_merge_opts = (em_runs_merge_opts)EM_RUNS_MERGE_OPTS_INIT;
	s[n] = MAKE(em_runs_opts, with_runs_opts, 1);
	s[n++].u.runs_opts = (em_runs_opts)EM_RUNS_OPTS_INIT;
	s[n] = MAKE(em_sink_ops, with_sink_ops, 1);
	s[n].u.sink_ops = (em_sink_ops)EM_SINK_OPS_INIT;
	s[n++].u.sink_ops.push = take_all;
	s[n++] = MAKE(em_stream_graph_info, with_stream_graph_info, 0);
	s[n] = MAKE(em_stream_ops, with_stream_ops, 1);
	s[n].u.stream_ops = (em_stream_ops)EM_STREAM_OPS_INIT;
	s[n++].u.stream_ops.next = no_more;
	s[n] = MAKE(em_text_opts, with_text_opts, 1);
	s[n++].u.text_opts = (em_text_opts)EM_TEXT_OPTS_INIT;
	s[n] = MAKE(em_unique_opts, with_unique_opts, 1);
	s[n].u.unique_opts = (em_unique_opts)EM_UNIQUE_OPTS_INIT;
	s[n++].u.unique_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_container_opts, with_container_opts, 1);
	s[n].u.container_opts = (em_container_opts)EM_CONTAINER_OPTS_INIT;
	s[n].u.container_opts.record_bytes = 8;
	s[n++].u.container_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_container_stats, with_container_stats, 0);
	s[n] = MAKE(em_deque_reader_opts, with_deque_reader_opts, 1);
	s[n].u.deque_reader_opts = (em_deque_reader_opts)EM_DEQUE_READER_OPTS_INIT;
	s[n++].u.deque_reader_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_vector_opts, with_vector_opts, 1);
	s[n].u.vector_opts = (em_vector_opts)EM_VECTOR_OPTS_INIT;
	s[n].u.vector_opts.record_bytes = 8;
	s[n++].u.vector_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_vector_stats, with_vector_stats, 0);
	s[n] = MAKE(em_vector_stream_opts, with_vector_stream_opts, 1);
	s[n].u.vector_stream_opts = (em_vector_stream_opts)EM_VECTOR_STREAM_OPTS_INIT;
	s[n++].u.vector_stream_opts.errinfo = &subjects_err;
	return n;
}

int subjects_open(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	FILE *file;

	(void)state;
	dir = test_dir_make();
	in = test_path(dir, "in");
	out = test_path(dir, "out");
	file = fopen(in, "wb");
	if (file == NULL || fwrite(numbers, sizeof numbers, 1, file) != 1 || fclose(file) != 0)
		return -1;
	o.memory = 32 * MIB;
	o.threads = 2;
	o.backend = "memory";
	if (em_ctx_open(&ctx, &o) != EM_OK || em_order_keys(&order, ctx, 8, &key, 1, NULL) != EM_OK ||
	    em_order_text(&by_line, ctx, NULL, 0, NULL, NULL) != EM_OK ||
	    em_disks_open(&disks, ctx, NULL) != EM_OK)
		return -1;
	nsubjects = make_subjects(subjects);
	return nsubjects <= MOST ? 0 : -1;
}

int subjects_close(void **state)
{
	(void)state;
	em_disks_close(disks);
	em_order_close(order);
	em_order_close(by_line);
	em_ctx_close(ctx);
	free(in);
	free(out);
	test_dir_remove(dir);
	return 0;
}
