/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_null_made.c -- functions that make objects, or do all of their work at once, with an argument that is NULL, or a
 * struct without its initialiser; see null_case.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/gen/kernels.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/file.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>

#include "abi/null_case.h"

/* The objects of which something is asked. */
static void test_constructors(void **state)
{
	const em_kernels *none = NULL;
	const char *const inputs[] = { null_in }, *const hole[] = { null_in, NULL };
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
	writer.errinfo = reader.errinfo = pool.errinfo = element.errinfo = shuffle.errinfo = unique.errinfo = &null_err;
	output.errinfo = cache.errinfo = disk.errinfo = check.errinfo = file.errinfo = sort.errinfo = &null_err;
	opts.errinfo = vector.errinfo = container.errinfo = radix.errinfo = tree.errinfo = &null_err;
	writer.block_bytes = pool.block_bytes = cache.block_bytes = info.block_bytes = B;
	writer.record_bytes = info.record_bytes = 8;
	cache.frames = 2;
	memset(&null_err, 0x5a, sizeof null_err);
	refused(em_ctx_open(NULL, &opts), "out");
	refused(em_sorter_open(NULL, null_ctx, null_order, &sort), "out");
	refused(em_sorter_open(&s, NULL, null_order, &sort), "ctx");
	refused(em_sorter_open(&s, null_ctx, NULL, &sort), "order");
	refused(em_top_open(NULL, null_ctx, null_order, 0, 1, &sort), "out");
	refused(em_top_open(&t, NULL, null_order, 0, 1, &sort), "ctx");
	refused(em_top_open(&t, null_ctx, NULL, 0, 1, &sort), "order");
	refused(em_sort_plan(NULL, null_order, 1, &sort, &plan), "ctx");
	refused(em_sort_plan(null_ctx, NULL, 1, &sort, &plan), "order");
	refused(em_sort_plan(null_ctx, null_order, 1, &sort, NULL), "info");
	refused(em_sort_files(NULL, null_order, inputs, 1, null_out, &sort, NULL), "ctx");
	refused(em_sort_files(null_ctx, NULL, inputs, 1, null_out, &sort, NULL), "order");
	refused(em_sort_files(null_ctx, null_order, NULL, 1, null_out, &sort, NULL), "inputs");
	refused(em_sort_files(null_ctx, null_order, hole, 2, null_out, &sort, NULL), "inputs[1]");
	refused(em_sort_files(null_ctx, null_order, inputs, 1, NULL, &sort, NULL), "output");
	refused(em_merge_files(NULL, null_order, inputs, 1, null_out, &sort, NULL), "ctx");
	refused(em_merge_files(null_ctx, NULL, inputs, 1, null_out, &sort, NULL), "order");
	refused(em_merge_files(null_ctx, null_order, NULL, 1, null_out, &sort, NULL), "inputs");
	refused(em_merge_files(null_ctx, null_order, hole, 2, null_out, &sort, NULL), "inputs[1]");
	refused(em_merge_files(null_ctx, null_order, inputs, 1, NULL, &sort, NULL), "output");
	refused(em_top_files(NULL, null_order, inputs, 1, 0, 1, null_out, &sort, NULL), "ctx");
	refused(em_top_files(null_ctx, NULL, inputs, 1, 0, 1, null_out, &sort, NULL), "order");
	refused(em_top_files(null_ctx, null_order, NULL, 1, 0, 1, null_out, &sort, NULL), "inputs");
	refused(em_top_files(null_ctx, null_order, inputs, 1, 0, 1, NULL, &sort, NULL), "output");
	refused(em_unique_files(NULL, null_order, inputs, 1, null_out, &unique, NULL), "ctx");
	refused(em_unique_files(null_ctx, NULL, inputs, 1, null_out, &unique, NULL), "order");
	refused(em_unique_files(null_ctx, null_order, NULL, 1, null_out, &unique, NULL), "inputs");
	refused(em_unique_files(null_ctx, null_order, inputs, 1, NULL, &unique, NULL), "output");
	refused(em_shuffle_files(NULL, 8, inputs, 1, null_out, &shuffle, NULL), "ctx");
	refused(em_shuffle_files(null_ctx, 8, NULL, 1, null_out, &shuffle, NULL), "inputs");
	refused(em_shuffle_files(null_ctx, 8, inputs, 1, NULL, &shuffle, NULL), "output");
	refused(em_check_file(NULL, null_order, null_in, &check, &checked, NULL, NULL), "ctx");
	refused(em_check_file(null_ctx, null_order, NULL, &check, &checked, NULL, NULL), "path");
	refused(em_check_file(null_ctx, null_order, null_in, &check, NULL, NULL, NULL), "info");
	refused(em_order_keys(NULL, null_ctx, 8, NULL, 0, &null_err), "out");
	refused(em_order_keys(&key, NULL, 8, NULL, 0, &null_err), "ctx");
	refused(em_order_keys(&key, null_ctx, 8, NULL, 1, &null_err), "keys");
	refused(em_order_parse(NULL, null_ctx, 8, "u64le@0", &null_err), "out");
	refused(em_order_parse(&key, NULL, 8, "u64le@0", &null_err), "ctx");
	refused(em_order_parse(&key, null_ctx, 8, NULL, &null_err), "name");
	refused(em_order_cmp(&key, null_ctx, 8, NULL, NULL, 0, NULL, NULL, &null_err), "cmp");
	refused(em_order_key_fn(&key, null_ctx, 8, NULL, NULL, 0, NULL, NULL, &null_err), "fn");
	refused(em_order_text(NULL, null_ctx, NULL, 0, NULL, &null_err), "out");
	refused(em_order_text(&key, NULL, NULL, 0, NULL, &null_err), "ctx");
	refused(em_order_text(&key, null_ctx, NULL, 1, NULL, &null_err), "keys");
	refused(em_order_kernels(&key, null_ctx, none, NULL, &null_err), "kernels");
	refused(em_file_open(NULL, null_ctx, null_in, &file), "out");
	refused(em_file_open(&f, NULL, null_in, &file), "ctx");
	refused(em_file_open(&f, null_ctx, NULL, &file), "path");
	refused(em_output_open(NULL, null_ctx, null_out, &output), "out");
	refused(em_output_open(&o, NULL, null_out, &output), "ctx");
	refused(em_output_open(&o, null_ctx, NULL, &output), "path");
	refused(em_element_reader_open(NULL, null_ctx, null_in, &element), "out");
	refused(em_element_reader_open(&er, NULL, null_in, &element), "ctx");
	refused(em_element_reader_open(&er, null_ctx, NULL, &element), "path");
	refused(em_element_writer_open(NULL, null_ctx, null_out, &element), "out");
	refused(em_element_writer_open(&ew, NULL, null_out, &element), "ctx");
	refused(em_element_writer_open(&ew, null_ctx, NULL, &element), "path");
	refused(em_disks_open(NULL, null_ctx, &disk), "out");
	refused(em_disks_open(&d, NULL, &disk), "ctx");
	refused(em_buffer_alloc(NULL, null_ctx, 1, B, &null_err), "out");
	refused(em_buffer_alloc(&buf, NULL, 1, B, &null_err), "ctx");
	refused(em_cache_open(NULL, null_disks, &cache), "out");
	refused(em_cache_open(&c, NULL, &cache), "d");
	refused(em_block_pool_open(NULL, null_disks, &pool), "out");
	refused(em_block_pool_open(&p, NULL, &pool), "d");
	refused(em_block_writer_open(NULL, null_disks, &writer), "out");
	refused(em_block_writer_open(&bw, NULL, &writer), "d");
	refused(em_block_list_open(NULL, null_disks, &info, &null_err), "out");
	refused(em_block_list_open(&list, NULL, &info, &null_err), "d");
	refused(em_block_list_open(&list, null_disks, NULL, &null_err), "info");
	assert_int_equal(em_block_list_open(&list, null_disks, &info, &null_err), EM_OK);
	refused(em_block_reader_open(NULL, list, &reader), "out");
	refused(em_block_reader_open(&br, NULL, &reader), "list");
	em_block_list_close(list);
	refused(em_stack_open(NULL, null_ctx, &container), "out");
	refused(em_stack_open(&stack, NULL, &container), "ctx");
	assert_int_equal(em_stack_open(&stack, null_ctx, NULL), EM_ERR_INVAL);
	refused(em_vector_open(NULL, null_ctx, &vector), "out");
	refused(em_vector_open(&v, NULL, &vector), "ctx");
	refused(em_btree_open(NULL, null_ctx, null_order, &tree), "out");
	refused(em_btree_open(&b, NULL, null_order, &tree), "ctx");
	refused(em_btree_open(&b, null_ctx, NULL, &tree), "order");
	refused(em_radix_heap_open(NULL, null_ctx, &radix), "out");
	refused(em_radix_heap_open(&h, NULL, &radix), "ctx");
	refused(em_radix_heap_plan(NULL, &radix, &radix_info), "ctx");
	refused(em_radix_heap_plan(null_ctx, &radix, NULL), "info");
	refused(em_cache_trace_optimum(NULL, NULL, 0, 1, NULL, &null_err), "ctx");
	refused(em_cache_trace_policy(null_ctx, NULL, 0, NULL, 0, 1, NULL, &null_err), "misses");
}

static void of_no_version(em_status st)
{
	assert_int_equal(st, EM_ERR_VERSION);
	assert_int_equal(null_err.status, EM_ERR_VERSION);
	memset(&null_err, 0x5a, sizeof null_err);
}

/* test_first.c has every struct without its initialiser; here is every function that takes one which others take,
 * too. */
static void test_no_initialiser(void **state)
{
	const char *const inputs[] = { null_in };
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
	sort.errinfo = element.errinfo = &null_err;
	of_no_version(em_sorter_open(&s, null_ctx, null_order, &sort));
	of_no_version(em_top_open(&t, null_ctx, null_order, 0, 1, &sort));
	of_no_version(em_sort_plan(null_ctx, null_order, 1, &sort, &plan));
	of_no_version(em_sort_files(null_ctx, null_order, inputs, 1, null_out, &sort, NULL));
	of_no_version(em_merge_files(null_ctx, null_order, inputs, 1, null_out, &sort, NULL));
	of_no_version(em_top_files(null_ctx, null_order, inputs, 1, 0, 1, null_out, &sort, NULL));
	unique.sort = &sort;
	of_no_version(em_unique_files(null_ctx, null_order, inputs, 1, null_out, &unique, NULL));
	of_no_version(em_element_writer_open(&w, null_ctx, null_out, &element));
	sort.size = sizeof sort;
	unique.sort = NULL;
	unique.errinfo = &null_err;
	of_no_version(em_sort_files(null_ctx, null_order, inputs, 1, null_out, &sort, &stats));
	of_no_version(em_merge_files(null_ctx, null_order, inputs, 1, null_out, &sort, &stats));
	of_no_version(em_top_files(null_ctx, null_order, inputs, 1, 0, 1, null_out, &sort, &stats));
	of_no_version(em_unique_files(null_ctx, null_order, inputs, 1, null_out, &unique, &stats));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constructors),
		cmocka_unit_test(test_no_initialiser),
	};

	return cmocka_run_group_tests_name("abi/null_made", tests, null_open, null_close);
}
