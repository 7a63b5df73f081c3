/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_first.c -- programs that were compiled against the first release go on.
 *
 * Each struct that begins with its size is used as such a program has it: with the size of the first release, in memory
 * that ends there, or, if the library fills it, with bytes behind it that must stay as they are.  One byte less is
 * EM_ERR_VERSION, as is 0, which is what a forgotten initialiser looks like; the message names the struct.
 *
 * scripts/check-growth.sh also compiles this file against the headers as they are, and runs it with a library in which
 * every struct has grown.  So it uses nothing of the library but what is public, and the table of first sizes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>
#include <extmem/sys/element_stream.h>

#include "common/test.h"

#define EM_GEN_NAME by_number
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

#define MIB ((uint64_t)1 << 20)
#define GUARD 0x99

/* What calls are made with. */
static em_ctx *ctx;
static em_order *order;
static em_disks *disks;
static char *dir, *in, *out;
static em_errinfo err;          /* the detail of a call that has one */
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
	o.errinfo = &err;
	return open_ctx(&o);
}

/* Write a little through a backend. */
static em_status with_backend(void *theirs)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_file_opts fo = EM_FILE_OPTS_INIT;
	em_file *f = NULL;
	em_status st;
	em_ctx *c;

	o.custom = theirs;
	o.errinfo = fo.errinfo = &err;
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
		st = with_backend((void *)(uintptr_t)em_fault_backend(fault));
		assert_true(fault->count >= 2);
	}
	return st;
}

static em_status with_simdisk(void *theirs)
{
	em_simdisk *sim = theirs;
	em_status st = em_simdisk_init(sim, sim->size, "120gxp", &err);

	if (st == EM_OK)
		st = em_simdisk_parse(sim, "rate=10GB,seek=0s,rpm=0", &err);
	if (st == EM_OK)
		st = em_simdisk_check(sim, &err);
	if (st == EM_OK) {
		st = with_backend((void *)(uintptr_t)em_simdisk_backend(sim));
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
	o.errinfo = &err;
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
	em_status st = em_block_list_open(&l, disks, theirs, &err);

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
	o.errinfo = &err;
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

	o.errinfo = &err;
	return em_check_file(ctx, order, in, &o, theirs, NULL, NULL);
}

static em_status with_format(void *theirs)
{
	em_check_info info = EM_CHECK_INFO_INIT;
	em_check_opts o = EM_CHECK_OPTS_INIT;

	o.format = theirs;
	o.errinfo = &err;
	return em_check_file(ctx, NULL, in, &o, &info, NULL, NULL);
}

static em_status with_text_opts(void *theirs)
{
	em_order *text;
	const em_status st = em_order_text(&text, ctx, NULL, 0, theirs, &err);

	em_order_close(text);
	return st;
}

static em_status with_kernels(void *theirs)
{
	em_order *own;
	const em_status st = em_order_kernels(&own, ctx, theirs, NULL, &err);

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

	o.errinfo = &err;
	return em_sort_plan(ctx, order, 1000, &o, theirs);
}

static em_status with_sort_stats(void *theirs)
{
	const char *const inputs[] = { in };
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_status st;

	o.errinfo = &err;
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

	o.errinfo = &err;
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
	o.errinfo = &err;
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

/* A struct as an initialiser makes it, and what is done with it. */
typedef struct subject {
	const char *name;
	size_t first;
	em_status (*use)(void *theirs);
	int told;               /* a refusal has a detail */
	union {
		uint32_t size;
		em_allocator allocator;
		em_backend backend;
		em_block_list_info list_info;
		em_block_pool_opts pool_opts;
		em_block_writer_opts writer_opts;
		em_block_reader_opts reader_opts;
		em_cache_opts cache_opts;
		em_check_opts check_opts;
		em_container_opts container_opts;
		em_ctx_opts ctx_opts;
		em_deque_reader_opts deque_reader_opts;
		em_disk_opts disk_opts;
		em_disks_opts disks_opts;
		em_file_opts file_opts;
		em_format format;
		em_kernels kernels;
		em_output_opts output_opts;
		em_policy policy;
		em_btree_load_opts btree_load_opts;
		em_btree_opts btree_opts;
		em_radix_heap_opts radix_heap_opts;
		em_shuffle_opts shuffle_opts;
		em_sort_opts sort_opts;
		em_element_opts stream_opts;
		em_text_opts text_opts;
		em_unique_opts unique_opts;
		em_vector_opts vector_opts;
		em_vector_stream_opts vector_stream_opts;
		unsigned char bytes[4096];
	} u;
} subject;

#define END(type, field) (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define EM_FIRST(type, field) static const size_t first_##type = END(type, field);
#include "base/structs.inc"
#undef EM_FIRST

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

/* All of them, but for those that the library makes. */
static size_t make_subjects(subject *s)
{
	static const em_block_list_info list_info = EM_BLOCK_LIST_INFO_INIT;
	static const em_block_pool_opts pool_opts = EM_BLOCK_POOL_OPTS_INIT;
	static const em_block_reader_opts reader_opts = EM_BLOCK_READER_OPTS_INIT;
	static const em_block_writer_opts writer_opts = EM_BLOCK_WRITER_OPTS_INIT;
	static const em_cache_opts cache_opts = EM_CACHE_OPTS_INIT;
	static const em_check_opts check_opts = EM_CHECK_OPTS_INIT;
	static const em_container_opts container_opts = EM_CONTAINER_OPTS_INIT;
	static const em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	static const em_deque_reader_opts deque_reader_opts = EM_DEQUE_READER_OPTS_INIT;
	static const em_disk_opts disk_opts = EM_DISK_OPTS_INIT;
	static const em_disks_opts disks_opts = EM_DISKS_OPTS_INIT;
	static const em_file_opts file_opts = EM_FILE_OPTS_INIT;
	static const em_format format = EM_FORMAT_INIT;
	static const em_output_opts output_opts = EM_OUTPUT_OPTS_INIT;
	static const em_btree_load_opts btree_load_opts = EM_BTREE_LOAD_OPTS_INIT;
	static const em_btree_opts btree_opts = EM_BTREE_OPTS_INIT;
	static const em_radix_heap_opts radix_heap_opts = EM_RADIX_HEAP_OPTS_INIT;
	static const em_shuffle_opts shuffle_opts = EM_SHUFFLE_OPTS_INIT;
	static const em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	static const em_element_opts stream_opts = EM_ELEMENT_OPTS_INIT;
	static const em_text_opts text_opts = EM_TEXT_OPTS_INIT;
	static const em_unique_opts unique_opts = EM_UNIQUE_OPTS_INIT;
	static const em_vector_opts vector_opts = EM_VECTOR_OPTS_INIT;
	static const em_vector_stream_opts vector_stream_opts = EM_VECTOR_STREAM_OPTS_INIT;
	size_t n = 0;

	s[n] = MAKE(em_allocator, with_allocator, 1);
	s[n].u.allocator.alloc = own_alloc;
	s[n++].u.allocator.release = own_release;
	s[n] = MAKE(em_backend, with_backend, 1);
	s[n++].u.backend = *em_backend_find("syscall");
	s[n] = MAKE(em_block_list_info, with_list_info, 1);
	s[n].u.list_info = list_info;
	s[n].u.list_info.block_bytes = 4096;
	s[n++].u.list_info.record_bytes = 8;
	s[n] = MAKE(em_block_pool_opts, with_pool_opts, 1);
	s[n].u.pool_opts = pool_opts;
	s[n].u.pool_opts.block_bytes = 4096;
	s[n++].u.pool_opts.errinfo = &err;
	s[n++] = MAKE(em_block_pool_stats, with_pool_stats, 0);
	s[n] = MAKE(em_block_reader_opts, with_reader_opts, 1);
	s[n].u.reader_opts = reader_opts;
	s[n++].u.reader_opts.errinfo = &err;
	s[n] = MAKE(em_block_writer_opts, with_writer_opts, 1);
	s[n].u.writer_opts = writer_opts;
	s[n].u.writer_opts.block_bytes = 4096;
	s[n].u.writer_opts.record_bytes = 8;
	s[n++].u.writer_opts.errinfo = &err;
	s[n] = MAKE(em_cache_opts, with_cache_opts, 1);
	s[n].u.cache_opts = cache_opts;
	s[n].u.cache_opts.block_bytes = 4096;
	s[n].u.cache_opts.frames = 2;
	s[n++].u.cache_opts.errinfo = &err;
	s[n++] = MAKE(em_cache_stats, with_cache_stats, 0);
	s[n++] = MAKE(em_check_info, with_check_info, 1);
	s[n] = MAKE(em_check_opts, with_check_opts, 1);
	s[n].u.check_opts = check_opts;
	s[n++].u.check_opts.errinfo = &err;
	s[n] = MAKE(em_ctx_opts, with_ctx_opts, 1);
	s[n].u.ctx_opts = ctx_opts;
	s[n++].u.ctx_opts.errinfo = &err;
	s[n] = MAKE(em_disk_opts, with_disk_opts, 1);
	s[n].u.disk_opts = disk_opts;
	s[n++].u.disk_opts.path = dir;
	s[n] = MAKE(em_disks_opts, with_disks_opts, 1);
	s[n].u.disks_opts = disks_opts;
	s[n++].u.disks_opts.errinfo = &err;
	s[n++] = MAKE(em_disks_stats, with_disks_stats, 0);
	s[n++] = MAKE(em_fault, with_fault, 0);
	s[n] = MAKE(em_file_opts, with_file_opts, 1);
	s[n].u.file_opts = file_opts;
	s[n++].u.file_opts.errinfo = &err;
	s[n] = MAKE(em_format, with_format, 1);
	s[n++].u.format = format;
	s[n++] = MAKE(em_io_stats, with_io_stats, 0);
	s[n] = MAKE(em_kernels, with_kernels, 1);
	s[n++].u.kernels = by_number_kernels;
	s[n] = MAKE(em_output_opts, with_output_opts, 1);
	s[n].u.output_opts = output_opts;
	s[n++].u.output_opts.errinfo = &err;
	s[n++] = MAKE(em_phase_stats, with_phase_stats, 0);
	s[n] = MAKE(em_policy, with_policy, 1);
	s[n++].u.policy = *em_policy_clock();
	s[n] = MAKE(em_btree_load_opts, with_btree_load_opts, 1);
	s[n].u.btree_load_opts = btree_load_opts;
	s[n++].u.btree_load_opts.errinfo = &err;
	s[n] = MAKE(em_btree_opts, with_btree_opts, 1);
	s[n].u.btree_opts = btree_opts;
	s[n++].u.btree_opts.errinfo = &err;
	s[n++] = MAKE(em_btree_stats, with_btree_stats, 0);
	s[n] = MAKE(em_radix_heap_opts, with_radix_heap_opts, 1);
	s[n].u.radix_heap_opts = radix_heap_opts;
	s[n].u.radix_heap_opts.record_bytes = 8;
	s[n++].u.radix_heap_opts.errinfo = &err;
	s[n++] = MAKE(em_radix_heap_plan_info, with_radix_heap_plan_info, 1);
	s[n++] = MAKE(em_radix_heap_stats, with_radix_heap_stats, 0);
	s[n] = MAKE(em_shuffle_opts, with_shuffle_opts, 1);
	s[n].u.shuffle_opts = shuffle_opts;
	s[n++].u.shuffle_opts.errinfo = &err;
	s[n++] = MAKE(em_simdisk, with_simdisk, 1);
	s[n] = MAKE(em_sort_opts, with_sort_opts, 1);
	s[n].u.sort_opts = sort_opts;
	s[n++].u.sort_opts.errinfo = &err;
	s[n++] = MAKE(em_sort_plan_info, with_plan_info, 1);
	s[n++] = MAKE(em_sort_stats, with_sort_stats, 1);
	s[n] = MAKE(em_element_opts, with_stream_opts, 1);
	s[n].u.stream_opts = stream_opts;
	s[n++].u.stream_opts.errinfo = &err;
	s[n++] = MAKE(em_element_stats, with_stream_stats, 1);
	s[n] = MAKE(em_text_opts, with_text_opts, 1);
	s[n++].u.text_opts = text_opts;
	s[n] = MAKE(em_unique_opts, with_unique_opts, 1);
	s[n].u.unique_opts = unique_opts;
	s[n++].u.unique_opts.errinfo = &err;
	s[n] = MAKE(em_container_opts, with_container_opts, 1);
	s[n].u.container_opts = container_opts;
	s[n].u.container_opts.record_bytes = 8;
	s[n++].u.container_opts.errinfo = &err;
	s[n++] = MAKE(em_container_stats, with_container_stats, 0);
	s[n] = MAKE(em_deque_reader_opts, with_deque_reader_opts, 1);
	s[n].u.deque_reader_opts = deque_reader_opts;
	s[n++].u.deque_reader_opts.errinfo = &err;
	s[n] = MAKE(em_vector_opts, with_vector_opts, 1);
	s[n].u.vector_opts = vector_opts;
	s[n].u.vector_opts.record_bytes = 8;
	s[n++].u.vector_opts.errinfo = &err;
	s[n++] = MAKE(em_vector_stats, with_vector_stats, 0);
	s[n] = MAKE(em_vector_stream_opts, with_vector_stream_opts, 1);
	s[n].u.vector_stream_opts = vector_stream_opts;
	s[n++].u.vector_stream_opts.errinfo = &err;
	return n;
}

enum { MOST = 64 };
static subject subjects[MOST];
static size_t nsubjects;

/* Use a struct with a size, in memory of its first size, behind which nothing may be read or written. */
static em_status use(const subject *s, size_t size)
{
	unsigned char *theirs = malloc(s->first);
	const uint32_t told = (uint32_t)size;
	em_status st;

	assert_non_null(theirs);
	memcpy(theirs, s->u.bytes, s->first);
	memcpy(theirs, &told, sizeof told);
	/* What the detail holds before does not matter. */
	memset(&err, GUARD, sizeof err);
	st = s->use(theirs);
	if (st == EM_OK)
		assert_memory_equal(theirs, &told, sizeof told);
	free(theirs);
	return st;
}

static void test_first_size(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const em_status st = use(&subjects[i], subjects[i].first);

		if (st != EM_OK)
			fail_msg("%s: %s: %s", subjects[i].name, em_status_name(st), subjects[i].told ? err.text : "");
	}
}

static void test_no_initialiser(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const size_t sizes[] = { 0, subjects[i].first - 1 };

		for (k = 0; k < 2; k++) {
			const em_status st = use(&subjects[i], sizes[k]);

			if (st != EM_ERR_VERSION)
				fail_msg("%s of %u bytes: %s", subjects[i].name, (unsigned)sizes[k], em_status_name(st));
			/* Where the detail goes is said in the struct itself, which is believed if it was zeroed. */
			if (!subjects[i].told || (k == 1 && err.status != EM_ERR_VERSION))
				continue;
			assert_int_equal(err.status, EM_ERR_VERSION);
			if (strstr(err.text, subjects[i].name) == NULL)
				fail_msg("\"%s\" does not name %s", err.text, subjects[i].name);
		}
	}
}

/* What the library has no room for in a caller's struct stays as it was: bytes behind it are looked at here, and by
 * sanitizers above. */
static void test_behind(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < nsubjects; i++) {
		const uint32_t size = (uint32_t)subjects[i].first;
		const size_t bytes = sizeof subjects[i].u + 256;
		unsigned char *theirs = malloc(bytes);

		assert_non_null(theirs);
		memset(theirs, GUARD, bytes);
		memcpy(theirs, subjects[i].u.bytes, size);
		memcpy(theirs, &size, sizeof size);
		assert_int_equal(subjects[i].use(theirs), EM_OK);
		for (k = size; k < bytes; k++)
			if (theirs[k] != GUARD)
				fail_msg("%s: byte %u behind it was written", subjects[i].name, (unsigned)(k - size));
		free(theirs);
	}
}

static const em_backend *base;
static uint32_t asked;

static int own_open(void *user, em_backend_open *how)
{
	(void)user;
	asked = how->size;
	return base->open(base->user, how);
}

/* The other way round: what a caller's backend is asked has all that it knows. */
static void test_lent(void **state)
{
	em_backend be;

	(void)state;
	base = em_backend_find("syscall");
	be = *base;
	be.size = sizeof be;
	be.open = own_open;
	assert_int_equal(with_backend(&be), EM_OK);
	assert_true(asked >= first_em_backend_open);
}

/* None was forgotten. */
static void test_all(void **state)
{
	static const char *const names[] = {
#define EM_FIRST(type, field) #type,
#include "base/structs.inc"
#undef EM_FIRST
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		for (k = 0; k < nsubjects && strcmp(subjects[k].name, names[i]) != 0; k++)
			;
		if (k == nsubjects && strcmp(names[i], "em_backend_open") != 0)
			fail_msg("%s is not tested", names[i]);
	}
}

static int set_up(void **state)
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
	    em_disks_open(&disks, ctx, NULL) != EM_OK)
		return -1;
	nsubjects = make_subjects(subjects);
	return nsubjects <= MOST ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	em_disks_close(disks);
	em_order_close(order);
	em_ctx_close(ctx);
	free(in);
	free(out);
	test_dir_remove(dir);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_size),
		cmocka_unit_test(test_no_initialiser),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("abi/first", tests, set_up, tear_down);
}
