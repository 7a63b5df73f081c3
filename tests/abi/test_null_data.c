/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_null_data.c -- calls on sorts, files, disks, blocks and streams with an argument that is NULL; see null_case.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/file.h>
#include <extmem/sys/output.h>
#include <extmem/sys/pool.h>

#include "abi/null_case.h"

NULL_ERROR_OF(sorter)
NULL_ERROR_OF(top)
NULL_ERROR_OF(file)
NULL_ERROR_OF(output)
NULL_ERROR_OF(disks)
NULL_ERROR_OF(cache)
NULL_ERROR_OF(block_pool)
NULL_ERROR_OF(block_writer)
NULL_ERROR_OF(block_reader)
NULL_ERROR_OF(element_reader)
NULL_ERROR_OF(element_writer)
NULL_ERROR_OF(sink)
NULL_ERROR_OF(stream)

static void test_sorts(void **state)
{
	const em_batch *batch;
	em_sorter *s;
	em_top *t;

	(void)state;
	assert_int_equal(em_sorter_open(&s, null_ctx, null_order, NULL), EM_OK);
	told(em_sorter_push(s, NULL, 1), "records", sorter_error, s);
	told(em_sorter_push_bytes(s, NULL, 8), "records", sorter_error, s);
	told(em_sorter_push_file(s, NULL), "path", sorter_error, s);
	told(em_sorter_pull_file(s, NULL), "path", sorter_error, s);
	told(em_sorter_push_batch(s, NULL, NULL, 1), "records", sorter_error, s);
	assert_int_equal(em_sorter_push(s, null_numbers, 3), EM_OK);
	assert_int_equal(em_sorter_stats_get(s, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	told(em_sorter_next(s, NULL), "batch", sorter_error, s);
	assert_int_equal(em_sorter_next(s, &batch), EM_OK);
	assert_int_equal(batch->n, 3);
	em_sorter_close(s);
	assert_int_equal(em_top_open(&t, null_ctx, null_order, 0, 2, NULL), EM_OK);
	told(em_top_push(t, NULL, 1), "records", top_error, t);
	told(em_top_push_bytes(t, NULL, 8), "records", top_error, t);
	told(em_top_push_batch(t, NULL, NULL, 1), "records", top_error, t);
	assert_int_equal(em_top_push(t, null_numbers, 3), EM_OK);
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
	assert_int_equal(em_file_open(&f, null_ctx, null_in, NULL), EM_OK);
	told(em_file_read(f, NULL, 8, 0, NULL), "buf", file_error, f);
	told(em_file_write(f, NULL, 8, 0), "buf", file_error, f);
	told(em_file_size(f, NULL), "bytes", file_error, f);
	told(em_file_read_async(f, NULL, 8, 0, NULL, NULL, NULL), "buf", file_error, f);
	told(em_file_write_async(f, NULL, 8, 0, NULL, NULL, NULL), "buf", file_error, f);
	assert_int_equal(em_file_stats_get(f, NULL), EM_ERR_INVAL);
	assert_int_equal(em_file_read(f, &got, 8, 0, NULL), EM_OK);
	assert_int_equal(got, 3);
	em_file_close(f);
	assert_int_equal(em_output_open(&o, null_ctx, null_out, NULL), EM_OK);
	told(em_output_write(o, NULL, 1), "data", output_error, o);
	assert_int_equal(em_output_write(o, NULL, 0), EM_OK);
	assert_int_equal(em_output_write(o, null_numbers, 8), EM_OK);
	assert_int_equal(em_output_commit(o), EM_OK);
	em_output_close(o);
	assert_int_equal(em_element_writer_open(&w, null_ctx, null_out, NULL), EM_OK);
	assert_int_equal(em_element_writer_push(w, null_numbers), EM_OK);
	told(em_element_writer_push(w, NULL), "element", element_writer_error, w);
	assert_int_equal(em_element_writer_stats_get(w, NULL), EM_ERR_INVAL);
	assert_int_equal(em_element_writer_push(w, null_numbers + 1), EM_OK);
	assert_int_equal(em_element_writer_finish(w), EM_OK);
	em_element_writer_close(w);
	assert_int_equal(em_element_reader_open(&r, null_ctx, null_out, NULL), EM_OK);
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
	assert_int_equal(em_disks_open(&d, null_ctx, &coherent), EM_OK);
	told(em_blocks_fetch(d, em_bid_none(), NULL, B), "buf", disks_error, d);
	em_disks_close(d);
	told(em_bids_alloc(null_disks, NULL, 1, B, NULL, 0), "bid", disks_error, null_disks);
	told(em_bids_alloc_row(null_disks, NULL, 1, B, 0), "bid", disks_error, null_disks);
	told(em_bids_free(null_disks, NULL, 1, B), "bid", disks_error, null_disks);
	assert_int_equal(em_bids_alloc(null_disks, &bid, 1, B, NULL, 0), EM_OK);
	told(em_block_read(null_disks, bid, NULL, B, NULL, NULL, NULL), "buf", disks_error, null_disks);
	told(em_block_write(null_disks, bid, NULL, B, NULL, NULL, NULL), "buf", disks_error, null_disks);
	assert_int_equal(em_disks_stats_get(null_disks, 0, NULL), EM_ERR_INVAL);
	opts.block_bytes = writer.block_bytes = pool.block_bytes = B;
	writer.record_bytes = 8;
	opts.frames = pool.write_buffers = pool.prefetch_buffers = 2;
	assert_int_equal(em_cache_open(&c, null_disks, &opts), EM_OK);
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
	assert_int_equal(em_block_pool_open(&p, null_disks, &pool), EM_OK);
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
	assert_int_equal(em_bids_free(null_disks, &bid, 1, B), EM_OK);
	assert_int_equal(em_block_writer_open(&w, null_disks, &writer), EM_OK);
	told(em_block_writer_push(w, NULL, 1), "records", block_writer_error, w);
	told(em_block_writer_lend(w, NULL, &n), "records", block_writer_error, w);
	told(em_block_writer_lend(w, &block, NULL), "n", block_writer_error, w);
	told(em_block_writer_finish(w, NULL), "list", block_writer_error, w);
	assert_int_equal(em_block_writer_push(w, null_numbers, 3), EM_OK);
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

static void test_streams(void **state)
{
	em_stream *s, *t;
	em_sink *k;

	(void)state;
	refused(em_stream_memory(NULL, null_ctx, 8, null_numbers, 3, &null_err), "out");
	refused(em_stream_memory(&s, NULL, 8, null_numbers, 3, &null_err), "ctx");
	refused(em_stream_memory(&s, null_ctx, 8, NULL, 3, &null_err), "records");
	refused(em_stream_open(&s, null_ctx, 8, 0, NULL, NULL, &null_err), "ops");
	refused(em_stream_generate(&s, null_ctx, 8, 0, NULL, NULL, NULL, &null_err), "fn");
	refused(em_stream_file(&s, null_ctx, 8, NULL, 1, &null_err), "paths");
	refused(em_sink_open(&k, null_ctx, 8, NULL, NULL, &null_err), "ops");
	refused(em_sink_memory(&k, null_ctx, 8, NULL, 1, &null_err), "records");
	refused(em_sink_file(&k, null_ctx, 8, NULL, &null_err), "path");
	refused(em_sink_discard(&k, NULL, 8, &null_err), "ctx");
	assert_int_equal(em_stream_memory(&s, null_ctx, 8, null_numbers, 3, NULL), EM_OK);
	refused(em_stream_map(&t, s, 8, NULL, NULL, NULL, &null_err), "fn");
	refused(em_stream_filter(&t, NULL, NULL, NULL, NULL, &null_err), "in");
	refused(em_stream_sort(&t, s, NULL, NULL, &null_err), "order");
	refused(em_stream_merge(&t, NULL, 1, NULL, &null_err), "inputs");
	refused(em_stream_join(&t, s, NULL, NULL, &null_err), "right");
	refused(em_stream_lines_join(&t, s, NULL, NULL, &null_err), "right");
	refused(em_stream_lines_join(&t, NULL, s, NULL, &null_err), "left");
	refused(em_stream_tee(NULL, 1, s, NULL, &null_err), "out");
	refused(em_stream_vector(&t, NULL, 0, 0, 0, &null_err), "v");
	refused(em_sink_stack(&k, NULL, &null_err), "stack");
	assert_int_equal(em_sink_discard(&k, null_ctx, 8, NULL), EM_OK);
	told(em_stream_next(s, NULL), "batch", stream_error, s);
	told(em_stream_pump(s, NULL, NULL), "k", stream_error, s);
	told(em_sink_push(k, NULL, 1), "records", sink_error, k);
	assert_int_equal(em_sink_push(k, NULL, 0), EM_OK);
	assert_int_equal(em_stream_pump(s, k, NULL), EM_OK);
	assert_int_equal(em_sink_count(k), 3);
	em_sink_close(k);
	em_stream_close(s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests_name("abi/null_data", tests, null_open, null_close);
}
