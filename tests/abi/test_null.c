/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_null.c -- NULL is never a crash (extmem/base.h).
 *
 * null.inc has every public function with nothing but NULL; none can be forgotten, as that list is compared with what
 * the library exports.  Here each argument of the others is NULL in its turn: the call is refused, the detail names the
 * argument, and the object can be used as before.
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
#include <extmem/gen/kernels.h>
#include <extmem/sys/allocator.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/file.h>
#include <extmem/sys/io_stats.h>
#include <extmem/sys/output.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/request.h>
#include <extmem/sys/schedule.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>
#include <extmem/sys/typed_block.h>

#include "common/test.h"

#define MIB ((uint64_t)1 << 20)
#define B 4096u

/* What a function does with nothing: a number, or a text. */
typedef struct outcome {
	int64_t number;
	const char *text;
} outcome;

static const outcome nothing = { 0, NULL };

static outcome number(int64_t n)
{
	const outcome o = { n, NULL };

	return o;
}

static outcome text(const char *s)
{
	const outcome o = { 0, s };

	return o;
}

#define NULL_STATUS(name, args) static outcome with_##name(void) { return number(name args); }
#define NULL_NUMBER(name, args, n) static outcome with_##name(void) { return number((int64_t)name args); }
#define NULL_TEXT(name, args, s) static outcome with_##name(void) { return text(name args); }
#define NULL_POINTER(name, args) static outcome with_##name(void) { return number(name args != NULL); }
#define NULL_HERE(name, args) static outcome with_##name(void) { return number(name args != NULL); }
#define NULL_VOID(name, args) static outcome with_##name(void) { name args; return nothing; }
#define NULL_TAKEN(name)
#define NULL_INLINE(name)
#include "null.inc"
#undef NULL_STATUS
#undef NULL_NUMBER
#undef NULL_TEXT
#undef NULL_POINTER
#undef NULL_HERE
#undef NULL_VOID
#undef NULL_TAKEN
#undef NULL_INLINE

typedef struct function {
	const char *name;
	outcome (*run)(void);   /* NULL: it takes no pointer */
	int64_t number;
	const char *text;
} function;

static const function functions[] = {
#define NULL_STATUS(name, args) { #name, with_##name, EM_ERR_INVAL, NULL },
#define NULL_NUMBER(name, args, n) { #name, with_##name, n, NULL },
#define NULL_TEXT(name, args, s) { #name, with_##name, 0, s },
#define NULL_POINTER(name, args) { #name, with_##name, 0, NULL },
#define NULL_HERE(name, args) { #name, with_##name, 1, NULL },
#define NULL_VOID(name, args) { #name, with_##name, 0, NULL },
#define NULL_TAKEN(name) { #name, NULL, 0, NULL },
#define NULL_INLINE(name) { #name, NULL, 0, NULL },
#include "null.inc"
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void test_nothing(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < FUNCTIONS; i++) {
		const function *f = &functions[i];
		const outcome o = f->run != NULL ? f->run() : nothing;

		if (f->text != NULL ? o.text == NULL || strcmp(o.text, f->text) != 0 : o.number != f->number)
			fail_msg("%s() of nothing: %lld, \"%s\"", f->name, (long long)o.number,
				 o.text != NULL ? o.text : "");
	}
}

static FILE *open_map(void)
{
	const char *const near[] = { getenv("EM_SRCDIR"), "..", "../..", "." };
	char path[4096];
	FILE *map = NULL;
	size_t i;

	for (i = 0; i < sizeof near / sizeof near[0] && map == NULL; i++) {
		snprintf(path, sizeof path, "%s/src/libextmem.map", near[i] != NULL ? near[i] : ".");
		map = fopen(path, "r");
	}
	return map;
}

/* The list is what the library exports, and in the same order. */
static void test_all(void **state)
{
	FILE *map = open_map();
	char line[256];
	size_t i = 0;

	(void)state;
	if (map == NULL)
		fail_msg("there is no src/libextmem.map: EM_SRCDIR says where the sources are");
	while (fgets(line, sizeof line, map) != NULL) {
		char *end = strchr(line, ';');

		if (strncmp(line, "\tem_", 4) != 0 || end == NULL)
			continue;
		*end = '\0';
		if (i == FUNCTIONS || strcmp(functions[i].name, line + 1) != 0)
			fail_msg("null.inc has no %s behind %s", line + 1, i != 0 ? functions[i - 1].name : "its top");
		i++;
	}
	fclose(map);
	assert_int_equal(i, FUNCTIONS);
}

static char *dir, *in, *out;
static em_ctx *ctx;
static em_order *order;
static em_disks *disks;
static em_errinfo err;
static const uint64_t numbers[] = { 3, 1, 2 };

/* A call was refused, and what is in err names the argument. */
static void refused(em_status st, const char *argument)
{
	char says[64];

	assert_int_equal(st, EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
	snprintf(says, sizeof says, "%s is NULL", argument);
	if (strstr(err.text, says) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, says);
	memset(&err, 0x5a, sizeof err);
}

/* The objects of which something is asked. */
static void test_constructors(void **state)
{
	const em_kernels *none = NULL;
	const char *const inputs[] = { in }, *const hole[] = { in, NULL };
	em_block_writer_opts writer = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_reader_opts reader = EM_BLOCK_READER_OPTS_INIT;
	em_block_pool_opts pool = EM_BLOCK_POOL_OPTS_INIT;
	em_element_opts element = EM_ELEMENT_OPTS_INIT;
	em_shuffle_opts shuffle = EM_SHUFFLE_OPTS_INIT;
	em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	em_output_opts output = EM_OUTPUT_OPTS_INIT;
	em_check_info checked = EM_CHECK_INFO_INIT;
	em_cache_opts cache = EM_CACHE_OPTS_INIT;
	em_disks_opts disk = EM_DISKS_OPTS_INIT;
	em_check_opts check = EM_CHECK_OPTS_INIT;
	em_file_opts file = EM_FILE_OPTS_INIT;
	em_sort_opts sort = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_sort_plan_info plan = EM_SORT_PLAN_INFO_INIT;
	em_container_opts container = EM_CONTAINER_OPTS_INIT;
	em_vector_opts vector = EM_VECTOR_OPTS_INIT;
	em_btree_opts tree = EM_BTREE_OPTS_INIT;
	em_radix_heap_opts radix = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap_plan_info radix_info = EM_RADIX_HEAP_PLAN_INFO_INIT;
	em_element_reader *er;
	em_element_writer *ew;
	em_block_writer *bw;
	em_block_reader *br;
	em_block_list *list;
	em_block_pool *p;
	em_sorter *s;
	em_cache *c;
	em_output *o;
	em_order *key;
	em_disks *d;
	em_file *f;
	em_stack *stack;
	em_radix_heap *h;
	em_btree *b;
	em_vector *v;
	em_top *t;
	void *buf;

	(void)state;
	writer.errinfo = reader.errinfo = pool.errinfo = element.errinfo = shuffle.errinfo = unique.errinfo = &err;
	output.errinfo = cache.errinfo = disk.errinfo = check.errinfo = file.errinfo = sort.errinfo = &err;
	opts.errinfo = vector.errinfo = container.errinfo = radix.errinfo = tree.errinfo = &err;
	writer.block_bytes = pool.block_bytes = cache.block_bytes = info.block_bytes = B;
	writer.record_bytes = info.record_bytes = 8;
	cache.frames = 2;
	memset(&err, 0x5a, sizeof err);
	refused(em_ctx_open(NULL, &opts), "out");
	refused(em_sorter_open(NULL, ctx, order, &sort), "out");
	refused(em_sorter_open(&s, NULL, order, &sort), "ctx");
	refused(em_sorter_open(&s, ctx, NULL, &sort), "order");
	refused(em_top_open(NULL, ctx, order, 0, 1, &sort), "out");
	refused(em_top_open(&t, NULL, order, 0, 1, &sort), "ctx");
	refused(em_top_open(&t, ctx, NULL, 0, 1, &sort), "order");
	refused(em_sort_plan(NULL, order, 1, &sort, &plan), "ctx");
	refused(em_sort_plan(ctx, NULL, 1, &sort, &plan), "order");
	refused(em_sort_plan(ctx, order, 1, &sort, NULL), "info");
	refused(em_sort_files(NULL, order, inputs, 1, out, &sort, NULL), "ctx");
	refused(em_sort_files(ctx, NULL, inputs, 1, out, &sort, NULL), "order");
	refused(em_sort_files(ctx, order, NULL, 1, out, &sort, NULL), "inputs");
	refused(em_sort_files(ctx, order, hole, 2, out, &sort, NULL), "inputs[1]");
	refused(em_sort_files(ctx, order, inputs, 1, NULL, &sort, NULL), "output");
	refused(em_merge_files(NULL, order, inputs, 1, out, &sort, NULL), "ctx");
	refused(em_merge_files(ctx, NULL, inputs, 1, out, &sort, NULL), "order");
	refused(em_merge_files(ctx, order, NULL, 1, out, &sort, NULL), "inputs");
	refused(em_merge_files(ctx, order, hole, 2, out, &sort, NULL), "inputs[1]");
	refused(em_merge_files(ctx, order, inputs, 1, NULL, &sort, NULL), "output");
	refused(em_top_files(NULL, order, inputs, 1, 0, 1, out, &sort, NULL), "ctx");
	refused(em_top_files(ctx, NULL, inputs, 1, 0, 1, out, &sort, NULL), "order");
	refused(em_top_files(ctx, order, NULL, 1, 0, 1, out, &sort, NULL), "inputs");
	refused(em_top_files(ctx, order, inputs, 1, 0, 1, NULL, &sort, NULL), "output");
	refused(em_unique_files(NULL, order, inputs, 1, out, &unique, NULL), "ctx");
	refused(em_unique_files(ctx, NULL, inputs, 1, out, &unique, NULL), "order");
	refused(em_unique_files(ctx, order, NULL, 1, out, &unique, NULL), "inputs");
	refused(em_unique_files(ctx, order, inputs, 1, NULL, &unique, NULL), "output");
	refused(em_shuffle_files(NULL, 8, inputs, 1, out, &shuffle, NULL), "ctx");
	refused(em_shuffle_files(ctx, 8, NULL, 1, out, &shuffle, NULL), "inputs");
	refused(em_shuffle_files(ctx, 8, inputs, 1, NULL, &shuffle, NULL), "output");
	refused(em_check_file(NULL, order, in, &check, &checked, NULL, NULL), "ctx");
	refused(em_check_file(ctx, order, NULL, &check, &checked, NULL, NULL), "path");
	refused(em_check_file(ctx, order, in, &check, NULL, NULL, NULL), "info");
	refused(em_order_keys(NULL, ctx, 8, NULL, 0, &err), "out");
	refused(em_order_keys(&key, NULL, 8, NULL, 0, &err), "ctx");
	refused(em_order_keys(&key, ctx, 8, NULL, 1, &err), "keys");
	refused(em_order_parse(NULL, ctx, 8, "u64le@0", &err), "out");
	refused(em_order_parse(&key, NULL, 8, "u64le@0", &err), "ctx");
	refused(em_order_parse(&key, ctx, 8, NULL, &err), "name");
	refused(em_order_cmp(&key, ctx, 8, NULL, NULL, 0, NULL, NULL, &err), "cmp");
	refused(em_order_key_fn(&key, ctx, 8, NULL, NULL, 0, NULL, NULL, &err), "fn");
	refused(em_order_text(NULL, ctx, NULL, 0, NULL, &err), "out");
	refused(em_order_text(&key, NULL, NULL, 0, NULL, &err), "ctx");
	refused(em_order_text(&key, ctx, NULL, 1, NULL, &err), "keys");
	refused(em_order_kernels(&key, ctx, none, NULL, &err), "kernels");
	refused(em_file_open(NULL, ctx, in, &file), "out");
	refused(em_file_open(&f, NULL, in, &file), "ctx");
	refused(em_file_open(&f, ctx, NULL, &file), "path");
	refused(em_output_open(NULL, ctx, out, &output), "out");
	refused(em_output_open(&o, NULL, out, &output), "ctx");
	refused(em_output_open(&o, ctx, NULL, &output), "path");
	refused(em_element_reader_open(NULL, ctx, in, &element), "out");
	refused(em_element_reader_open(&er, NULL, in, &element), "ctx");
	refused(em_element_reader_open(&er, ctx, NULL, &element), "path");
	refused(em_element_writer_open(NULL, ctx, out, &element), "out");
	refused(em_element_writer_open(&ew, NULL, out, &element), "ctx");
	refused(em_element_writer_open(&ew, ctx, NULL, &element), "path");
	refused(em_disks_open(NULL, ctx, &disk), "out");
	refused(em_disks_open(&d, NULL, &disk), "ctx");
	refused(em_buffer_alloc(NULL, ctx, 1, B, &err), "out");
	refused(em_buffer_alloc(&buf, NULL, 1, B, &err), "ctx");
	refused(em_cache_open(NULL, disks, &cache), "out");
	refused(em_cache_open(&c, NULL, &cache), "d");
	refused(em_block_pool_open(NULL, disks, &pool), "out");
	refused(em_block_pool_open(&p, NULL, &pool), "d");
	refused(em_block_writer_open(NULL, disks, &writer), "out");
	refused(em_block_writer_open(&bw, NULL, &writer), "d");
	refused(em_block_list_open(NULL, disks, &info, &err), "out");
	refused(em_block_list_open(&list, NULL, &info, &err), "d");
	refused(em_block_list_open(&list, disks, NULL, &err), "info");
	assert_int_equal(em_block_list_open(&list, disks, &info, &err), EM_OK);
	refused(em_block_reader_open(NULL, list, &reader), "out");
	refused(em_block_reader_open(&br, NULL, &reader), "list");
	em_block_list_close(list);
	refused(em_stack_open(NULL, ctx, &container), "out");
	refused(em_stack_open(&stack, NULL, &container), "ctx");
	assert_int_equal(em_stack_open(&stack, ctx, NULL), EM_ERR_INVAL);
	refused(em_vector_open(NULL, ctx, &vector), "out");
	refused(em_vector_open(&v, NULL, &vector), "ctx");
	refused(em_btree_open(NULL, ctx, order, &tree), "out");
	refused(em_btree_open(&b, NULL, order, &tree), "ctx");
	refused(em_btree_open(&b, ctx, NULL, &tree), "order");
	refused(em_radix_heap_open(NULL, ctx, &radix), "out");
	refused(em_radix_heap_open(&h, NULL, &radix), "ctx");
	refused(em_radix_heap_plan(NULL, &radix, &radix_info), "ctx");
	refused(em_radix_heap_plan(ctx, &radix, NULL), "info");
	refused(em_cache_trace_optimum(NULL, NULL, 0, 1, NULL, &err), "ctx");
	refused(em_cache_trace_policy(ctx, NULL, 0, NULL, 0, 1, NULL, &err), "misses");
}

/* The same of calls on an object, which goes on. */
static void told(em_status st, const char *argument, void (*error)(const void *object, em_errinfo *to),
		 const void *object)
{
	memset(&err, 0x5a, sizeof err);
	error(object, &err);
	refused(st, argument);
}

#define ERROR_OF(kind) static void kind##_error(const void *o, em_errinfo *e) { em_##kind##_error(o, e); }
ERROR_OF(sorter)
ERROR_OF(top)
ERROR_OF(file)
ERROR_OF(output)
ERROR_OF(disks)
ERROR_OF(cache)
ERROR_OF(block_pool)
ERROR_OF(block_writer)
ERROR_OF(block_reader)
ERROR_OF(element_reader)
ERROR_OF(element_writer)
ERROR_OF(deque)
ERROR_OF(deque_reader)
ERROR_OF(queue)
ERROR_OF(stack)
ERROR_OF(btree)
ERROR_OF(btree_cursor)
ERROR_OF(btree_loader)
ERROR_OF(pq)
ERROR_OF(radix_heap)
ERROR_OF(sink)
ERROR_OF(stream)
ERROR_OF(vector)
ERROR_OF(vector_reader)
ERROR_OF(vector_writer)

static void test_sorts(void **state)
{
	const em_batch *batch;
	em_sorter *s;
	em_top *t;

	(void)state;
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	told(em_sorter_push(s, NULL, 1), "records", sorter_error, s);
	told(em_sorter_push_bytes(s, NULL, 8), "records", sorter_error, s);
	told(em_sorter_push_file(s, NULL), "path", sorter_error, s);
	told(em_sorter_pull_file(s, NULL), "path", sorter_error, s);
	told(em_sorter_push_batch(s, NULL, NULL, 1), "records", sorter_error, s);
	assert_int_equal(em_sorter_push(s, numbers, 3), EM_OK);
	assert_int_equal(em_sorter_stats_get(s, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	told(em_sorter_next(s, NULL), "batch", sorter_error, s);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_sorter_close(s);
	assert_int_equal(em_top_open(&t, ctx, order, 0, 2, NULL), EM_OK);
	told(em_top_push(t, NULL, 1), "records", top_error, t);
	told(em_top_push_bytes(t, NULL, 8), "records", top_error, t);
	told(em_top_push_batch(t, NULL, NULL, 1), "records", top_error, t);
	assert_int_equal(em_top_push(t, numbers, 3), EM_OK);
	assert_int_equal(em_top_stats_get(t, NULL), EM_ERR_INVAL);
	assert_int_equal(em_top_finish(t), EM_OK);
	told(em_top_next(t, NULL), "batch", top_error, t);
	assert_int_equal(em_top_next(t, &batch), EM_OK);
	assert_int_equal(batch->n, 2);
	em_top_close(t);
}

static void test_files(void **state)
{
	em_element_writer *w;
	em_element_reader *r;
	em_output *o;
	uint64_t got;
	em_file *f;

	(void)state;
	assert_int_equal(em_file_open(&f, ctx, in, NULL), EM_OK);
	told(em_file_read(f, NULL, 8, 0, NULL), "buf", file_error, f);
	told(em_file_write(f, NULL, 8, 0), "buf", file_error, f);
	told(em_file_size(f, NULL), "bytes", file_error, f);
	told(em_file_read_async(f, NULL, 8, 0, NULL, NULL, NULL), "buf", file_error, f);
	told(em_file_write_async(f, NULL, 8, 0, NULL, NULL, NULL), "buf", file_error, f);
	assert_int_equal(em_file_stats_get(f, NULL), EM_ERR_INVAL);
	assert_int_equal(em_file_read(f, &got, 8, 0, NULL), EM_OK);
	assert_int_equal(got, 3);
	em_file_close(f);
	assert_int_equal(em_output_open(&o, ctx, out, NULL), EM_OK);
	told(em_output_write(o, NULL, 1), "data", output_error, o);
	assert_int_equal(em_output_write(o, NULL, 0), EM_OK);
	assert_int_equal(em_output_write(o, numbers, 8), EM_OK);
	assert_int_equal(em_output_commit(o), EM_OK);
	em_output_close(o);
	assert_int_equal(em_element_writer_open(&w, ctx, out, NULL), EM_OK);
	assert_int_equal(em_element_writer_push(w, numbers), EM_OK);
	told(em_element_writer_push(w, NULL), "element", element_writer_error, w);
	assert_int_equal(em_element_writer_stats_get(w, NULL), EM_ERR_INVAL);
	assert_int_equal(em_element_writer_push(w, numbers + 1), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	em_element_writer_close(w);
	assert_int_equal(em_element_reader_open(&r, ctx, out, NULL), EM_OK);
	told(em_element_reader_next(r, NULL), "element", element_reader_error, r);
	assert_int_equal(em_element_reader_next(r, &got), EM_OK);
	told(em_element_reader_next(r, NULL), "element", element_reader_error, r);
	assert_int_equal(em_element_reader_next(r, &got), EM_OK);
	assert_int_equal(got, 1);
	assert_int_equal(em_element_reader_next(r, &got), EM_END);
	em_element_reader_close(r);
}

static void test_blocks(void **state)
{
	em_block_writer_opts writer = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_pool_opts pool = EM_BLOCK_POOL_OPTS_INIT;
	em_disks_opts coherent = EM_DISKS_OPTS_INIT;
	em_cache_opts opts = EM_CACHE_OPTS_INIT;
	const em_batch *batch;
	em_block_writer *w;
	em_block_reader *r;
	em_block_list *list;
	em_block_pool *p;
	void *block = NULL;
	em_cache *c;
	em_disks *d;
	em_bid bid;
	size_t n;

	(void)state;
	coherent.flags = EM_DISKS_COHERENT;
	assert_int_equal(em_disks_open(&d, ctx, &coherent), EM_OK);
	told(em_blocks_fetch(d, em_bid_none(), NULL, B), "buf", disks_error, d);
	em_disks_close(d);
	told(em_bids_alloc(disks, NULL, 1, B, NULL, 0), "bid", disks_error, disks);
	told(em_bids_alloc_row(disks, NULL, 1, B, 0), "bid", disks_error, disks);
	told(em_bids_free(disks, NULL, 1, B), "bid", disks_error, disks);
	assert_int_equal(em_bids_alloc(disks, &bid, 1, B, NULL, 0), EM_OK);
	told(em_block_read(disks, bid, NULL, B, NULL, NULL, NULL), "buf", disks_error, disks);
	told(em_block_write(disks, bid, NULL, B, NULL, NULL, NULL), "buf", disks_error, disks);
	assert_int_equal(em_disks_stats_get(disks, 0, NULL), EM_ERR_INVAL);
	opts.block_bytes = writer.block_bytes = pool.block_bytes = B;
	writer.record_bytes = 8;
	opts.frames = pool.write_buffers = pool.prefetch_buffers = 2;
	assert_int_equal(em_cache_open(&c, disks, &opts), EM_OK);
	told(em_cache_get(c, bid, EM_CACHE_FRESH, NULL), "block", cache_error, c);
	assert_int_equal(em_cache_get(c, bid, EM_CACHE_FRESH, &block), EM_OK);
	told(em_cache_unpin(c, NULL, 1), "block", cache_error, c);
	assert_int_equal(em_cache_unpin(c, block, 0), EM_OK);
	told(em_cache_get_many(c, NULL, 1, EM_CACHE_READ, NULL, 0, &block, &n), "bids", cache_error, c);
	told(em_cache_get_many(c, &bid, 1, EM_CACHE_READ, NULL, 0, NULL, &n), "blocks", cache_error, c);
	told(em_cache_get_many(c, &bid, 1, EM_CACHE_READ, NULL, 0, &block, NULL), "got", cache_error, c);
	told(em_cache_detach(c, NULL), "buf", cache_error, c);
	told(em_cache_attach(c, NULL), "buf", cache_error, c);
	assert_int_equal(em_cache_stats_get(c, NULL), EM_ERR_INVAL);
	em_cache_close(c);
	assert_int_equal(em_block_pool_open(&p, disks, &pool), EM_OK);
	told(em_block_pool_attach(p, NULL), "buf", block_pool_error, p);
	told(em_block_pool_detach(p, NULL), "buf", block_pool_error, p);
	told(em_block_pool_lend(p, NULL), "buf", block_pool_error, p);
	told(em_block_pool_write(p, NULL, bid), "buf", block_pool_error, p);
	told(em_block_pool_return(p, NULL), "buf", block_pool_error, p);
	told(em_block_pool_read(p, NULL, bid), "buf", block_pool_error, p);
	block = NULL;
	told(em_block_pool_read(p, &block, bid), "*buf", block_pool_error, p);
	assert_int_equal(em_block_pool_stats_get(p, NULL), EM_ERR_INVAL);
	em_block_pool_close(p);
	assert_int_equal(em_bids_free(disks, &bid, 1, B), EM_OK);
	assert_int_equal(em_block_writer_open(&w, disks, &writer), EM_OK);
	told(em_block_writer_push(w, NULL, 1), "records", block_writer_error, w);
	told(em_block_writer_lend(w, NULL, &n), "records", block_writer_error, w);
	told(em_block_writer_lend(w, &block, NULL), "n", block_writer_error, w);
	told(em_block_writer_finish(w, NULL), "list", block_writer_error, w);
	assert_int_equal(em_block_writer_push(w, numbers, 3), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	assert_int_equal(em_block_list_info_get(list, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_reader_open(&r, list, NULL), EM_OK);
	told(em_block_reader_next(r, NULL), "batch", block_reader_error, r);
	assert_int_equal(em_block_reader_next(r, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_block_reader_close(r);
	assert_int_equal(em_block_list_free_blocks(list), EM_OK);
	em_block_list_close(list);
}

static int visit(void *user, uint64_t i, const void *records, uint64_t n)
{
	(void)user;
	(void)i;
	(void)records;
	return n == 0;
}

static int change(void *user, uint64_t i, void *records, uint64_t n)
{
	return visit(user, i, records, n);
}

static int test(void *user, const void *record)
{
	return visit(user, 0, record, 1);
}

static void test_stacks_and_queues(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	uint64_t got = 0;
	em_stack *s;
	em_queue *q;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_stack_open(&s, ctx, &opts), EM_OK);
	told(em_stack_push(s, NULL), "record", stack_error, s);
	told(em_stack_push_many(s, NULL, 2, NULL), "records", stack_error, s);
	assert_int_equal(em_stack_push_many(s, numbers, 3, NULL), EM_OK);
	told(em_stack_pop(s, NULL), "record", stack_error, s);
	told(em_stack_pop_many(s, NULL, 2, NULL), "records", stack_error, s);
	told(em_stack_peek(s, NULL), "record", stack_error, s);
	told(em_stack_swap(s, NULL), "b", stack_error, s);
	told(em_window_push(em_stack_window(s), NULL, 8), "record", stack_error, s);
	told(em_window_pop(em_stack_window(s), NULL, 8), "record", stack_error, s);
	assert_int_equal(em_stack_stats_get(s, NULL), EM_ERR_INVAL);
	assert_int_equal(em_stack_pop(s, &got), EM_OK);
	assert_int_equal(got, numbers[2]);
	em_stack_close(s);
	assert_int_equal(em_queue_open(&q, ctx, &opts), EM_OK);
	told(em_queue_push(q, NULL), "record", queue_error, q);
	told(em_queue_push_many(q, NULL, 2, NULL), "records", queue_error, q);
	assert_int_equal(em_queue_push_many(q, numbers, 3, NULL), EM_OK);
	told(em_queue_pop(q, NULL), "record", queue_error, q);
	told(em_queue_pop_many(q, NULL, 2, NULL), "records", queue_error, q);
	told(em_queue_front(q, NULL), "record", queue_error, q);
	told(em_queue_back(q, NULL), "record", queue_error, q);
	told(em_queue_swap(q, NULL), "b", queue_error, q);
	assert_int_equal(em_queue_stats_get(q, NULL), EM_ERR_INVAL);
	assert_int_equal(em_queue_pop(q, &got), EM_OK);
	assert_int_equal(got, numbers[0]);
	em_queue_close(q);
}

static void test_deques(void **state)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	const em_batch *batch;
	em_deque_reader *r;
	uint64_t got = 0;
	em_deque *d;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_deque_open(&d, ctx, &opts), EM_OK);
	told(em_deque_push_back(d, NULL), "record", deque_error, d);
	told(em_deque_push_front(d, NULL), "record", deque_error, d);
	told(em_deque_push_back_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_push_front_many(d, NULL, 2, NULL), "records", deque_error, d);
	assert_int_equal(em_deque_push_front_many(d, numbers, 3, NULL), EM_OK);
	told(em_deque_pop_back(d, NULL), "record", deque_error, d);
	told(em_deque_pop_front(d, NULL), "record", deque_error, d);
	told(em_deque_pop_back_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_pop_front_many(d, NULL, 2, NULL), "records", deque_error, d);
	told(em_deque_front(d, NULL), "record", deque_error, d);
	told(em_deque_back(d, NULL), "record", deque_error, d);
	told(em_deque_get(d, 0, NULL), "record", deque_error, d);
	told(em_deque_set(d, 0, NULL), "record", deque_error, d);
	told(em_deque_read(d, 0, NULL, 2), "records", deque_error, d);
	told(em_deque_write(d, 0, NULL, 2), "records", deque_error, d);
	told(em_deque_swap(d, NULL), "b", deque_error, d);
	told(em_deque_reader_open(NULL, d, NULL), "out", deque_error, d);
	assert_int_equal(em_deque_stats_get(d, NULL), EM_ERR_INVAL);
	assert_int_equal(em_deque_reader_open(&r, d, NULL), EM_OK);
	told(em_deque_reader_next(r, NULL), "batch", deque_reader_error, r);
	assert_int_equal(em_deque_reader_next(r, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_deque_reader_close(r);
	assert_int_equal(em_deque_get(d, 2, &got), EM_OK);
	assert_int_equal(got, numbers[2]);
	em_deque_close(d);
}

static void test_trees(void **state)
{
	em_btree_load_opts load = EM_BTREE_LOAD_OPTS_INIT;
	em_btree_loader *l;
	em_btree_cursor *c;
	uint64_t got, n;
	em_btree *t;
	int i;

	(void)state;
	assert_int_equal(em_btree_open(&t, ctx, order, NULL), EM_OK);
	for (i = 0; i < 3; i++)
		assert_int_equal(em_btree_insert(t, &numbers[i]), EM_OK);
	load.errinfo = &err;
	told(em_btree_insert(t, NULL), "record", btree_error, t);
	told(em_btree_upsert(t, NULL), "record", btree_error, t);
	told(em_btree_get(t, NULL, &got), "key", btree_error, t);
	told(em_btree_get(t, numbers, NULL), "record", btree_error, t);
	told(em_btree_lower_bound(t, NULL, &got), "key", btree_error, t);
	told(em_btree_lower_bound(t, numbers, NULL), "record", btree_error, t);
	told(em_btree_upper_bound(t, NULL, &got), "key", btree_error, t);
	told(em_btree_upper_bound(t, numbers, NULL), "record", btree_error, t);
	told(em_btree_count(t, NULL, NULL, NULL), "n", btree_error, t);
	told(em_btree_erase(t, NULL, &got), "key", btree_error, t);
	told(em_btree_erase_equal(t, NULL, &n), "key", btree_error, t);
	told(em_btree_min(t, NULL), "record", btree_error, t);
	told(em_btree_max(t, NULL), "record", btree_error, t);
	told(em_btree_cursor_open(NULL, t), "out", btree_error, t);
	assert_int_equal(em_btree_cursor_open(&c, t), EM_OK);
	told(em_btree_cursor_seek(c, NULL, EM_BTREE_EQ), "key", btree_cursor_error, c);
	told(em_btree_cursor_insert(c, NULL), "record", btree_cursor_error, c);
	told(em_btree_cursor_put(c, NULL), "record", btree_cursor_error, c);
	told(em_btree_cursor_next_many(c, &got, 1, NULL), "got", btree_cursor_error, c);
	told(em_btree_cursor_prev_many(c, &got, 1, NULL), "got", btree_cursor_error, c);
	told(em_btree_cursor_count(c, NULL), "n", btree_cursor_error, c);
	assert_int_equal(em_btree_cursor_get(c, NULL), EM_NOT_FOUND);
	assert_int_equal(em_btree_cursor_next(c, NULL), EM_OK);
	assert_int_equal(em_btree_cursor_next_many(c, NULL, 7, &n), EM_OK);
	assert_int_equal(n, 2);
	em_btree_cursor_close(c);
	assert_int_equal(em_btree_stats_get(t, NULL), EM_ERR_INVAL);
	assert_int_equal(em_btree_count(t, NULL, NULL, &n), EM_OK);
	assert_int_equal(n, 3);
	told(em_btree_get_many(t, NULL, 1, &got, NULL, NULL), "keys", btree_error, t);
	told(em_btree_get_many(t, numbers, 1, NULL, NULL, NULL), "records", btree_error, t);
	told(em_btree_lower_bound_many(t, NULL, 1, &got, NULL, NULL), "keys", btree_error, t);
	told(em_btree_insert_many(t, NULL, 1, &n), "records", btree_error, t);
	told(em_btree_upsert_many(t, NULL, 1, &n), "records", btree_error, t);
	told(em_btree_erase_many(t, NULL, 1, &n), "keys", btree_error, t);
	told(em_btree_insert_sorted(t, NULL, &n), "sorted", btree_error, t);
	assert_int_equal(em_btree_get_many(t, numbers, 1, &got, NULL, NULL), EM_OK);
	assert_int_equal(got, numbers[0]);
	assert_int_equal(em_btree_get_many(t, NULL, 0, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_btree_insert_many(t, NULL, 0, NULL), EM_OK);
	refused(em_btree_loader_open(NULL, t, &load), "out");
	refused(em_btree_load_sorted(t, NULL, &load), "sorted");
	assert_int_equal(em_btree_loader_open(&l, t, NULL), EM_ERR_STATE);
	assert_int_equal(em_btree_pop_min(t, NULL), EM_OK);
	assert_int_equal(em_btree_erase_range(t, NULL, NULL, NULL), EM_OK);
	assert_int_equal(em_btree_size(t), 0);
	assert_int_equal(em_btree_loader_open(&l, t, NULL), EM_OK);
	told(em_btree_loader_push(l, NULL, 1, &n), "records", btree_loader_error, l);
	assert_int_equal(em_btree_loader_push(l, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_btree_loader_push(l, numbers, 1, NULL), EM_OK);
	assert_int_equal(em_btree_loader_finish(l), EM_OK);
	em_btree_loader_close(l);
	assert_int_equal(em_btree_size(t), 1);
	em_btree_close(t);
}

static void test_heaps(void **state)
{
	em_radix_heap_opts opts = EM_RADIX_HEAP_OPTS_INIT;
	em_radix_heap *h;
	uint64_t got, n;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_radix_heap_open(&h, ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_open(&h, ctx, &opts), EM_OK);
	assert_int_equal(em_radix_heap_push_many(h, numbers, 3, NULL), EM_OK);
	told(em_radix_heap_push(h, NULL), "record", radix_heap_error, h);
	told(em_radix_heap_push_many(h, NULL, 1, &n), "records", radix_heap_error, h);
	told(em_radix_heap_pop(h, NULL), "record", radix_heap_error, h);
	told(em_radix_heap_pop_many(h, NULL, 1, &n), "records", radix_heap_error, h);
	told(em_radix_heap_top(h, NULL), "record", radix_heap_error, h);
	assert_int_equal(em_radix_heap_stats_get(h, NULL), EM_ERR_INVAL);
	assert_int_equal(em_radix_heap_push_many(h, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop_many(h, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_radix_heap_pop(h, &got), EM_OK);
	assert_int_equal(em_radix_heap_size(h), 2);
	em_radix_heap_close(h);
}

static void test_streams(void **state)
{
	em_stream *s, *t;
	em_sink *k;

	(void)state;
	refused(em_stream_memory(NULL, ctx, 8, numbers, 3, &err), "out");
	refused(em_stream_memory(&s, NULL, 8, numbers, 3, &err), "ctx");
	refused(em_stream_memory(&s, ctx, 8, NULL, 3, &err), "records");
	refused(em_stream_open(&s, ctx, 8, 0, NULL, NULL, &err), "ops");
	refused(em_stream_generate(&s, ctx, 8, 0, NULL, NULL, NULL, &err), "fn");
	refused(em_stream_file(&s, ctx, 8, NULL, 1, &err), "paths");
	refused(em_sink_open(&k, ctx, 8, NULL, NULL, &err), "ops");
	refused(em_sink_memory(&k, ctx, 8, NULL, 1, &err), "records");
	refused(em_sink_file(&k, ctx, 8, NULL, &err), "path");
	refused(em_sink_discard(&k, NULL, 8, &err), "ctx");
	assert_int_equal(em_stream_memory(&s, ctx, 8, numbers, 3, NULL), EM_OK);
	refused(em_stream_map(&t, s, 8, NULL, NULL, NULL, &err), "fn");
	refused(em_stream_filter(&t, NULL, NULL, NULL, NULL, &err), "in");
	refused(em_stream_sort(&t, s, NULL, NULL, &err), "order");
	refused(em_stream_merge(&t, NULL, 1, NULL, &err), "inputs");
	refused(em_stream_join(&t, s, NULL, NULL, &err), "right");
	refused(em_stream_lines_join(&t, s, NULL, NULL, &err), "right");
	refused(em_stream_lines_join(&t, NULL, s, NULL, &err), "left");
	refused(em_stream_tee(NULL, 1, s, NULL, &err), "out");
	refused(em_stream_vector(&t, NULL, 0, 0, 0, &err), "v");
	refused(em_sink_stack(&k, NULL, &err), "stack");
	assert_int_equal(em_sink_discard(&k, ctx, 8, NULL), EM_OK);
	told(em_stream_next(s, NULL), "batch", stream_error, s);
	told(em_stream_pump(s, NULL, NULL), "k", stream_error, s);
	told(em_sink_push(k, NULL, 1), "records", sink_error, k);
	assert_int_equal(em_sink_push(k, NULL, 0), EM_OK);
	assert_int_equal(em_stream_pump(s, k, NULL), EM_OK);
	assert_int_equal(em_sink_count(k), 3);
	em_sink_close(k);
	em_stream_close(s);
}

static void test_priority_queues(void **state)
{
	em_pq_plan_info info = EM_PQ_PLAN_INFO_INIT;
	em_pq_opts opts = EM_PQ_OPTS_INIT;
	em_order *by;
	uint64_t got, n;
	em_pq *q;

	(void)state;
	assert_int_equal(em_order_keys(&by, ctx, 8, NULL, 0, NULL), EM_OK);
	opts.errinfo = &err;
	refused(em_pq_open(&q, ctx, &opts), "order");
	opts.order = by;
	refused(em_pq_open(NULL, ctx, &opts), "out");
	refused(em_pq_open(&q, NULL, &opts), "ctx");
	refused(em_pq_plan(NULL, &opts, &info), "ctx");
	refused(em_pq_plan(ctx, &opts, NULL), "info");
	assert_int_equal(em_pq_open(&q, ctx, NULL), EM_ERR_INVAL);
	assert_int_equal(em_pq_open(&q, ctx, &opts), EM_OK);
	assert_int_equal(em_pq_push_many(q, numbers, 3, NULL), EM_OK);
	told(em_pq_push(q, NULL), "record", pq_error, q);
	told(em_pq_push_many(q, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_pop(q, NULL), "record", pq_error, q);
	told(em_pq_pop_many(q, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_pop_until(q, NULL, 0, &got, 1, &n), "bound", pq_error, q);
	told(em_pq_pop_until(q, &got, 0, NULL, 1, &n), "records", pq_error, q);
	told(em_pq_top(q, NULL), "record", pq_error, q);
	told(em_pq_pushpop(q, NULL, &got), "pushed", pq_error, q);
	told(em_pq_replace(q, &got, NULL), "popped", pq_error, q);
	told(em_pq_next(q, NULL), "batch", pq_error, q);
	assert_int_equal(em_pq_stats_get(q, NULL), EM_ERR_INVAL);
	assert_int_equal(em_pq_pop(q, &got), EM_OK);
	assert_int_equal(em_pq_size(q), 2);
	em_pq_close(q);
	em_order_close(by);
}

static void test_vectors(void **state)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	uint64_t at = 0, got = 0;
	const em_batch *batch;
	em_vector_reader *r;
	em_vector_writer *w;
	em_vector *v;
	void *p;

	(void)state;
	opts.record_bytes = 8;
	assert_int_equal(em_vector_open(&v, ctx, &opts), EM_OK);
	assert_int_equal(em_vector_push_many(v, numbers, 3, NULL), EM_OK);
	told(em_vector_get(v, 0, NULL), "records", vector_error, v);
	told(em_vector_set(v, 0, NULL), "records", vector_error, v);
	told(em_vector_read(v, 0, NULL, 1), "records", vector_error, v);
	told(em_vector_write(v, 0, NULL, 1), "records", vector_error, v);
	told(em_vector_read_many(v, NULL, 1, &got), "positions", vector_error, v);
	told(em_vector_read_many(v, &at, 1, NULL), "records", vector_error, v);
	told(em_vector_push(v, NULL), "records", vector_error, v);
	told(em_vector_push_many(v, NULL, 1, NULL), "records", vector_error, v);
	told(em_vector_swap(v, NULL), "b", vector_error, v);
	told(em_vector_export(v, NULL), "path", vector_error, v);
	told(em_vector_pin(v, 0, 0, NULL), "record", vector_error, v);
	told(em_vector_reader_open(NULL, v, NULL), "out", vector_error, v);
	told(em_vector_writer_open(NULL, v, NULL), "out", vector_error, v);
	told(em_vector_for_each(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_mutate(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_generate(v, 0, 3, NULL, NULL), "fn", vector_error, v);
	told(em_vector_fill(v, 0, 3, NULL), "record", vector_error, v);
	told(em_vector_find(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_find(v, 0, 3, test, NULL, NULL), "position", vector_error, v);
	told(em_vector_count(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_count(v, 0, 3, test, NULL, NULL), "count", vector_error, v);
	told(em_vector_copy(v, 0, NULL, 0, 1), "v", vector_error, v);
	told(em_vector_partition(v, 0, 3, NULL, NULL, &at), "test", vector_error, v);
	told(em_vector_partition(v, 0, 3, test, NULL, NULL), "middle", vector_error, v);
	told(em_vector_nth_element(v, 0, 3, 1, NULL), "order", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, NULL, &got, &at), "order", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, order, NULL, &at), "record", vector_error, v);
	told(em_vector_lower_bound(v, 0, 3, order, &got, NULL), "position", vector_error, v);
	told(em_vector_sort(v, 0, 3, NULL, NULL, NULL), "order", vector_error, v);
	told(em_vector_find_disorder(v, 0, 3, NULL, &at), "order", vector_error, v);
	told(em_vector_find_disorder(v, 0, 3, order, NULL), "position", vector_error, v);
	assert_int_equal(em_vector_stats_get(v, NULL), EM_ERR_INVAL);
	assert_int_equal(em_vector_for_each(v, 0, 3, visit, NULL), EM_OK);
	assert_int_equal(em_vector_mutate(v, 0, 3, change, NULL), EM_OK);
	assert_int_equal(em_vector_get(v, 2, &got), EM_OK);
	assert_int_equal(got, 2);
	assert_int_equal(em_vector_reader_open(&r, v, NULL), EM_OK);
	told(em_vector_reader_next(r, NULL), "batch", vector_reader_error, r);
	assert_int_equal(em_vector_reader_next(r, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_vector_reader_close(r);
	assert_int_equal(em_vector_writer_open(&w, v, NULL), EM_OK);
	told(em_vector_writer_push(w, NULL, 1), "records", vector_writer_error, w);
	told(em_vector_writer_lend(w, NULL, &at), "records", vector_writer_error, w);
	told(em_vector_writer_lend(w, &p, NULL), "n", vector_writer_error, w);
	assert_int_equal(em_vector_writer_push(w, numbers, 1), EM_OK);
	assert_int_equal(em_vector_writer_finish(w), EM_OK);
	em_vector_writer_close(w);
	assert_int_equal(em_vector_size(v), 4);
	em_vector_close(v);
}

static void of_no_version(em_status st)
{
	assert_int_equal(st, EM_ERR_VERSION);
	assert_int_equal(err.status, EM_ERR_VERSION);
	memset(&err, 0x5a, sizeof err);
}

/* test_first.c has every struct without its initialiser; here is every function that takes one which others take,
 * too. */
static void test_no_initialiser(void **state)
{
	const char *const inputs[] = { in };
	em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	em_sort_plan_info plan = EM_SORT_PLAN_INFO_INIT;
	em_sort_stats stats;
	em_sort_opts sort;
	em_element_opts element;
	em_element_writer *w;
	em_sorter *s;
	em_top *t;

	(void)state;
	memset(&sort, 0, sizeof sort);
	memset(&stats, 0, sizeof stats);
	memset(&element, 0, sizeof element);
	sort.errinfo = element.errinfo = &err;
	of_no_version(em_sorter_open(&s, ctx, order, &sort));
	of_no_version(em_top_open(&t, ctx, order, 0, 1, &sort));
	of_no_version(em_sort_plan(ctx, order, 1, &sort, &plan));
	of_no_version(em_sort_files(ctx, order, inputs, 1, out, &sort, NULL));
	of_no_version(em_merge_files(ctx, order, inputs, 1, out, &sort, NULL));
	of_no_version(em_top_files(ctx, order, inputs, 1, 0, 1, out, &sort, NULL));
	unique.sort = &sort;
	of_no_version(em_unique_files(ctx, order, inputs, 1, out, &unique, NULL));
	of_no_version(em_element_writer_open(&w, ctx, out, &element));
	sort.size = sizeof sort;
	unique.sort = NULL;
	unique.errinfo = &err;
	of_no_version(em_sort_files(ctx, order, inputs, 1, out, &sort, &stats));
	of_no_version(em_merge_files(ctx, order, inputs, 1, out, &sort, &stats));
	of_no_version(em_top_files(ctx, order, inputs, 1, 0, 1, out, &sort, &stats));
	of_no_version(em_unique_files(ctx, order, inputs, 1, out, &unique, &stats));
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
	o.threads = 1;
	return em_ctx_open(&ctx, &o) != EM_OK || em_order_keys(&order, ctx, 8, &key, 1, NULL) != EM_OK ||
	       em_disks_open(&disks, ctx, NULL) != EM_OK ? -1 : 0;
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
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_constructors),
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_stacks_and_queues),
		cmocka_unit_test(test_deques),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_heaps),
		cmocka_unit_test(test_priority_queues),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_no_initialiser),
	};

	return cmocka_run_group_tests_name("abi/null", tests, set_up, tear_down);
}
