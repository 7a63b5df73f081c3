/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_public_file.c -- a file of the caller's, or coherent scratch disks, under caches, pools, readers and writers, as
 * callers outside have them: they see each other, in a file and in its length, and what cannot be is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/pool.h>

#include "block/fixture.h"

#define BLOCK 4096u
enum { BLOCKS = 24, ODD = BLOCKS * BLOCK - 1000, RECORD = 8 };

/* Disks that are a file or scratch, all that may be on them, and what blocks should have. */
typedef struct bench {
	fixture f;
	char *dir, *path;
	em_disks *d;
	em_cache *c;
	em_block_pool *p;
	void *own; /* a buffer */
	em_bid bid[BLOCKS];
	unsigned char mem[BLOCKS * BLOCK];
	em_errinfo err;
} bench;

static void write_file(const char *path, const void *from, size_t bytes)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(from, 1, bytes, f), bytes);
	fclose(f);
}

static void start(bench *b, int file, uint32_t flags)
{
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_cache_opts cache = EM_CACHE_OPTS_INIT;
	em_block_pool_opts pool = EM_BLOCK_POOL_OPTS_INIT;
	uint32_t i;

	fixture_open(&b->f, "memory");
	memset(b->mem, 0, sizeof b->mem);
	b->dir = test_dir_make();
	b->path = test_path(b->dir, "blocks");
	opts.errinfo = cache.errinfo = pool.errinfo = &b->err;
	opts.flags = flags;
	if (file) {
		test_fill(&b->f.rng, b->mem, ODD);
		write_file(b->path, b->mem, ODD);
		opts.path = b->path;
	}
	if (em_disks_open(&b->d, b->f.ctx, &opts) != EM_OK)
		fail_msg("%s", b->err.text);
	if (!file)
		assert_int_equal(em_bids_alloc(b->d, b->bid, BLOCKS, BLOCK, NULL, 0), EM_OK);
	for (i = 0; file && i < BLOCKS; i++) {
		memset(&b->bid[i], 0, sizeof b->bid[i]);
		b->bid[i].offset = (uint64_t)i * BLOCK;
	}
	cache.frames = 5;
	cache.block_bytes = pool.block_bytes = BLOCK;
	pool.write_buffers = pool.prefetch_buffers = 2;
	assert_int_equal(em_cache_open(&b->c, b->d, &cache), EM_OK);
	assert_int_equal(em_block_pool_open(&b->p, b->d, &pool), EM_OK);
	assert_int_equal(em_buffer_alloc(&b->own, b->f.ctx, 1, BLOCK, NULL), EM_OK);
}

static void stop(bench *b)
{
	em_cache_close(b->c);
	em_block_pool_close(b->p);
	em_buffer_free(b->f.ctx, b->own, 1, BLOCK);
	em_disks_close(b->d);
	fixture_close(&b->f);
	free(b->path);
	test_dir_remove(b->dir);
}

static unsigned char *block(bench *b, uint32_t i)
{
	return b->mem + (size_t)i * BLOCK;
}

/* A new content of block i, before the end of an odd file. */
static void change(bench *b, uint32_t i, void *buf)
{
	test_fill(&b->f.rng, block(b, i), i == BLOCKS - 1 ? BLOCK - 1000 : BLOCK);
	memcpy(buf, block(b, i), BLOCK);
}

static void by_cache(bench *b, uint32_t i, uint32_t mode)
{
	void *buf;

	if (em_cache_get(b->c, b->bid[i], mode, &buf) != EM_OK) {
		em_cache_error(b->c, &b->err);
		fail_msg("%s", b->err.text);
	}
	if (mode != EM_CACHE_FRESH)
		assert_memory_equal(buf, block(b, i), BLOCK);
	if (mode != EM_CACHE_READ)
		change(b, i, buf);
	assert_int_equal(em_cache_unpin(b->c, buf, mode != EM_CACHE_READ), EM_OK);
}

static void by_pool(bench *b, uint32_t i, int write)
{
	void *buf;

	if (!write) {
		assert_int_equal(em_block_pool_read(b->p, &b->own, b->bid[i]), EM_OK);
		assert_memory_equal(b->own, block(b, i), BLOCK);
		return;
	}
	assert_int_equal(em_block_pool_lend(b->p, &buf), EM_OK);
	change(b, i, buf);
	assert_int_equal(em_block_pool_write(b->p, buf, b->bid[i]), EM_OK);
}

static void by_hand(bench *b, uint32_t i)
{
	assert_int_equal(em_blocks_fetch(b->d, b->bid[i], b->own, BLOCK), EM_OK);
	assert_memory_equal(b->own, block(b, i), BLOCK);
}

/* All that are whole, in one go. */
static void by_reader(bench *b)
{
	em_block_list_info info = EM_BLOCK_LIST_INFO_INIT;
	em_block_list *list;
	em_block_reader *r;
	const em_batch *batch;
	uint32_t i;

	info.block_bytes = BLOCK;
	info.record_bytes = RECORD;
	info.records = (BLOCKS - 1) * BLOCK / RECORD;
	info.blocks = BLOCKS - 1;
	info.bids = b->bid;
	assert_int_equal(em_block_list_open(&list, b->d, &info, &b->err), EM_OK);
	assert_int_equal(em_block_reader_open(&r, list, NULL), EM_OK);
	for (i = 0; i < BLOCKS - 1; i++) {
		assert_int_equal(em_block_reader_next(r, &batch), EM_OK);
		assert_memory_equal(batch->records, block(b, i), BLOCK);
	}
	assert_int_equal(em_block_reader_next(r, &batch), EM_END);
	em_block_reader_close(r);
	em_block_list_close(list);
}

static void check_file(bench *b, size_t bytes)
{
	unsigned char *all = malloc(bytes + 1);
	FILE *f = fopen(b->path, "rb");

	assert_non_null(all);
	assert_non_null(f);
	assert_int_equal(fread(all, 1, bytes + 1, f), bytes);
	assert_memory_equal(all, b->mem, bytes);
	fclose(f);
	free(all);
}

static void test_all_of_them(void **state)
{
	uint32_t file, k, i;
	bench b;

	(void)state;
	for (file = 0; file < 2; file++) {
		start(&b, (int)file, file ? 0 : EM_DISKS_COHERENT);
		assert_int_equal(em_disks_length(b.d), file ? ODD : 0);
		for (i = 0; i < BLOCKS; i++)
			by_cache(&b, i, EM_CACHE_WRITE);
		for (k = 0; k < 2000; k++) {
			i = (uint32_t)test_below(&b.f.rng, BLOCKS);
			switch (test_below(&b.f.rng, 8)) {
			case 0:
				by_cache(&b, i, (uint32_t)test_below(&b.f.rng, 3));
				break;
			case 1:
				by_pool(&b, i, 0);
				break;
			case 2:
				by_pool(&b, i, 1);
				break;
			case 3:
				em_cache_hint(b.c, b.bid[i]);
				(void)em_block_pool_hint(b.p, b.bid[i]);
				break;
			case 4:
				assert_int_equal(em_blocks_flush(b.d, b.bid[i], 3 * BLOCK), EM_OK);
				break;
			case 5:
				assert_int_equal(em_blocks_flush(b.d, b.bid[i], BLOCK), EM_OK);
				assert_int_equal(em_blocks_forget(b.d, b.bid[i], BLOCK), EM_OK);
				break;
			case 6:
				if (k % 16 == 0)
					by_reader(&b);
				break;
			default:
				by_hand(&b, i);
			}
		}
		assert_int_equal(em_disks_flush(b.d), EM_OK);
		if (file)
			check_file(&b, ODD);
		stop(&b);
	}
}

/* Records that go into a file, from the beginning and in its middle. */
static void test_writer(void **state)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_writer *w;
	em_block_list *list;
	bench b;

	(void)state;
	start(&b, 1, 0);
	opts.block_bytes = BLOCK;
	opts.record_bytes = RECORD;
	by_cache(&b, 2, EM_CACHE_WRITE);
	by_cache(&b, 3, EM_CACHE_READ);
	opts.offset = BLOCK * 2;
	assert_int_equal(em_block_writer_open(&w, b.d, &opts), EM_OK);
	test_fill(&b.f.rng, block(&b, 2), 2 * BLOCK);
	assert_int_equal(em_block_writer_push(w, block(&b, 2), 2 * BLOCK / RECORD), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	em_block_list_close(list);
	by_cache(&b, 2, EM_CACHE_READ);
	by_cache(&b, 3, EM_CACHE_READ);
	assert_int_equal(em_disks_length(b.d), ODD);
	/* Longer: 90 bytes of records in a file that had none. */
	assert_int_equal(em_disks_resize(b.d, 0), EM_OK);
	opts.offset = 0;
	assert_int_equal(em_block_writer_open(&w, b.d, &opts), EM_OK);
	assert_int_equal(em_block_writer_push(w, b.mem, 10), EM_OK);
	assert_int_equal(em_block_writer_finish(w, &list), EM_OK);
	em_block_writer_close(w);
	em_block_list_close(list);
	assert_int_equal(em_disks_length(b.d), 10 * RECORD);
	assert_int_equal(em_disks_flush(b.d), EM_OK);
	check_file(&b, 10 * RECORD);
	stop(&b);
}

static void test_get_many(void **state)
{
	void *blocks[BLOCKS];
	em_bid bad[2];
	size_t got, i;
	bench b;

	(void)state;
	start(&b, 1, 0);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 4, EM_CACHE_READ, b.bid + 4, 4, blocks, &got), EM_OK);
	assert_int_equal(got, 4);
	for (i = 0; i < got; i++) {
		assert_memory_equal(blocks[i], block(&b, (uint32_t)i), BLOCK);
		assert_int_equal(em_cache_unpin(b.c, blocks[i], 0), EM_OK);
	}
	/* As many as there are frames; the rest later. */
	assert_int_equal(em_cache_get_many(b.c, b.bid + 8, 9, EM_CACHE_READ, NULL, 0, blocks, &got), EM_OK);
	assert_int_equal(got, 5);
	assert_null(blocks[5]);
	assert_int_equal(em_cache_resize(b.c, 4), EM_ERR_STATE);
	assert_int_equal(em_cache_resize(b.c, 0), EM_ERR_RANGE);
	assert_int_equal(em_cache_resize(b.c, 1 << 24), EM_ERR_MEMLIMIT);
	assert_int_equal(em_cache_resize(b.c, 20), EM_OK);
	for (i = 0; i < got; i++)
		assert_int_equal(em_cache_unpin(b.c, blocks[i], 0), EM_OK);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 20, EM_CACHE_READ, NULL, 0, blocks, &got), EM_OK);
	assert_int_equal(got, 20);
	for (i = 0; i < got; i++)
		assert_int_equal(em_cache_unpin(b.c, blocks[i], 0), EM_OK);
	assert_int_equal(em_cache_resize(b.c, 2), EM_OK);
	by_cache(&b, 7, EM_CACHE_WRITE);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 0, EM_CACHE_READ, NULL, 0, NULL, &got), EM_OK);
	/* What cannot be asked for. */
	assert_int_equal(em_cache_get_many(NULL, b.bid, 1, EM_CACHE_READ, NULL, 0, blocks, &got), EM_ERR_INVAL);
	assert_int_equal(em_cache_get_many(b.c, NULL, 1, EM_CACHE_READ, NULL, 0, blocks, &got), EM_ERR_INVAL);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 1, EM_CACHE_READ, NULL, 1, blocks, &got), EM_ERR_INVAL);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 1, EM_CACHE_READ, NULL, 0, NULL, &got), EM_ERR_INVAL);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 1, EM_CACHE_READ, NULL, 0, blocks, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cache_get_many(b.c, b.bid, 1, 3, NULL, 0, blocks, &got), EM_ERR_INVAL);
	bad[0] = b.bid[0];
	bad[1] = em_bid_none();
	assert_int_equal(em_cache_get_many(b.c, bad, 2, EM_CACHE_READ, NULL, 0, blocks, &got), EM_ERR_INVAL);
	assert_int_equal(got, 0);
	bad[1] = b.bid[1];
	bad[1].offset = (uint64_t)BLOCKS * BLOCK;
	assert_int_equal(em_cache_get_many(b.c, bad, 2, EM_CACHE_READ, NULL, 0, blocks, &got), EM_OK);
	assert_int_equal(got, 1);
	assert_int_equal(em_cache_unpin(b.c, blocks[0], 0), EM_OK);
	assert_int_equal(em_cache_get_many(b.c, bad + 1, 1, EM_CACHE_READ, NULL, 0, blocks, &got), EM_ERR_RANGE);
	assert_null(blocks[0]);
	assert_int_equal(em_cache_resize(NULL, 1), EM_ERR_INVAL);
	stop(&b);
}

static void test_read_only(void **state)
{
	em_block_writer_opts opts = EM_BLOCK_WRITER_OPTS_INIT;
	em_block_writer *w;
	void *buf;
	bench b;

	(void)state;
	start(&b, 1, EM_DISKS_READ_ONLY);
	by_cache(&b, 0, EM_CACHE_READ);
	by_pool(&b, BLOCKS - 1, 0);
	by_reader(&b);
	assert_int_equal(em_cache_get(b.c, b.bid[0], EM_CACHE_WRITE, &buf), EM_ERR_INVAL);
	assert_null(buf);
	em_cache_error(b.c, &b.err);
	assert_non_null(strstr(b.err.text, "reading only"));
	assert_int_equal(em_cache_get(b.c, b.bid[0], EM_CACHE_FRESH, &buf), EM_ERR_INVAL);
	assert_int_equal(em_cache_get(b.c, b.bid[0], EM_CACHE_READ, &buf), EM_OK);
	assert_int_equal(em_cache_unpin(b.c, buf, 1), EM_ERR_INVAL);
	assert_int_equal(em_cache_unpin(b.c, buf, 0), EM_OK);
	assert_int_equal(em_block_pool_lend(b.p, &buf), EM_OK);
	assert_int_equal(em_block_pool_write(b.p, buf, b.bid[0]), EM_ERR_INVAL);
	assert_int_equal(em_block_pool_return(b.p, buf), EM_OK);
	assert_int_equal(em_disks_resize(b.d, 0), EM_ERR_INVAL);
	opts.block_bytes = BLOCK;
	opts.record_bytes = RECORD;
	assert_int_equal(em_block_writer_open(&w, b.d, &opts), EM_ERR_INVAL);
	assert_int_equal(em_disks_flush(b.d), EM_OK);
	check_file(&b, ODD);
	stop(&b);
}

static void test_refused(void **state)
{
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_disks_stats stats = EM_DISKS_STATS_INIT;
	em_request *rq;
	em_bid bid;
	em_disks *d;
	void *buf;
	bench b;

	(void)state;
	start(&b, 1, 0);
	assert_int_equal(em_disks_count(b.d), 1);
	assert_int_equal(em_disks_owner(b.d), 0);
	assert_string_equal(em_disks_path(b.d, 0), b.path);
	assert_string_equal(em_disks_path(b.d, 1), "");
	assert_int_equal(em_disks_stats_get(b.d, 0, &stats), EM_ERR_NOTSUP);
	assert_int_equal(em_bids_alloc(b.d, &bid, 1, BLOCK, NULL, 0), EM_ERR_NOTSUP);
	assert_int_equal(em_bids_alloc_row(b.d, &bid, 1, BLOCK, 0), EM_ERR_NOTSUP);
	assert_int_equal(em_block_read(b.d, b.bid[0], b.own, BLOCK, NULL, NULL, &rq), EM_ERR_NOTSUP);
	assert_null(rq);
	assert_int_equal(em_bids_free(b.d, b.bid, BLOCKS, BLOCK), EM_OK);
	bid = b.bid[1];
	bid.disk = 1;
	assert_int_equal(em_cache_get(b.c, bid, EM_CACHE_READ, &buf), EM_ERR_INVAL);
	assert_int_equal(em_blocks_fetch(b.d, bid, b.own, BLOCK), EM_ERR_INVAL);
	assert_int_equal(em_blocks_flush(b.d, bid, BLOCK), EM_ERR_INVAL);
	assert_int_equal(em_blocks_forget(b.d, bid, BLOCK), EM_ERR_INVAL);
	bid.disk = 0;
	bid.offset = 512;
	assert_int_equal(em_cache_get(b.c, bid, EM_CACHE_READ, &buf), EM_ERR_INVAL);
	bid.offset = (uint64_t)BLOCKS * BLOCK;
	assert_int_equal(em_blocks_fetch(b.d, bid, b.own, BLOCK), EM_ERR_RANGE);
	assert_int_equal(em_blocks_fetch(b.d, b.bid[0], NULL, BLOCK), EM_ERR_INVAL);
	assert_int_equal(em_blocks_fetch(b.d, b.bid[0], b.own, 5), EM_ERR_INVAL);
	/* What is pinned stays. */
	assert_int_equal(em_cache_get(b.c, b.bid[2], EM_CACHE_READ, &buf), EM_OK);
	assert_int_equal(em_blocks_forget(b.d, b.bid[0], 5 * BLOCK), EM_ERR_STATE);
	assert_int_equal(em_bids_free(b.d, b.bid, BLOCKS, BLOCK), EM_ERR_STATE);
	assert_int_equal(em_disks_resize(b.d, BLOCK), EM_ERR_STATE);
	assert_int_equal(em_cache_unpin(b.c, buf, 0), EM_OK);
	assert_int_equal(em_disks_resize(b.d, BLOCK), EM_OK);
	assert_int_equal(em_cache_get(b.c, b.bid[2], EM_CACHE_READ, &buf), EM_ERR_RANGE);
	assert_int_equal(em_disks_resize(NULL, 1), EM_ERR_INVAL);
	assert_int_equal(em_disks_flush(NULL), EM_ERR_INVAL);
	assert_int_equal(em_disks_length(NULL), 0);
	/* Opening. */
	opts.flags = EM_DISKS_CREATE;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_ERR_INVAL);
	opts.flags = EM_DISKS_READ_ONLY;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_ERR_INVAL);
	opts.path = b.path;
	opts.flags = EM_DISKS_READ_ONLY | EM_DISKS_CREATE;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_ERR_INVAL);
	assert_int_equal(remove(b.path), 0);
	opts.flags = 0;
	opts.errinfo = &b.err;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_ERR_NOENT);
	assert_null(d);
	assert_non_null(strstr(b.err.text, b.path));
	opts.flags = EM_DISKS_CREATE;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_OK);
	assert_int_equal(em_disks_length(d), 0);
	em_disks_close(d);
	/* Scratch without the flag knows nothing. */
	opts.path = NULL;
	opts.flags = 0;
	assert_int_equal(em_disks_open(&d, b.f.ctx, &opts), EM_OK);
	assert_int_equal(em_disks_resize(d, 0), EM_ERR_NOTSUP);
	assert_int_equal(em_disks_flush(d), EM_ERR_NOTSUP);
	assert_int_equal(em_blocks_flush(d, b.bid[0], BLOCK), EM_ERR_NOTSUP);
	assert_int_equal(em_blocks_forget(d, b.bid[0], BLOCK), EM_ERR_NOTSUP);
	assert_int_equal(em_blocks_fetch(d, b.bid[0], b.own, BLOCK), EM_ERR_NOTSUP);
	em_disks_close(d);
	stop(&b);
}

/* Opening a file takes memory, and each allocation may fail. */
static void test_without_memory(void **state)
{
	em_disks_opts opts = EM_DISKS_OPTS_INIT;
	em_status st = EM_ERR_NOMEM;
	em_disks *d;
	uint64_t n, before;
	bench b;

	(void)state;
	start(&b, 1, 0);
	opts.path = b.path;
	before = em_ctx_memory_used(b.f.ctx);
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		b.f.mem.fail_at = b.f.mem.calls + n;
		st = em_disks_open(&d, b.f.ctx, &opts);
		b.f.mem.fail_at = 0;
		if (st == EM_OK)
			break;
		assert_int_equal(st, EM_ERR_NOMEM);
		assert_null(d);
		assert_int_equal(em_ctx_memory_used(b.f.ctx), before);
	}
	assert_true(n >= 3);
	em_disks_close(d);
	stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_of_them), cmocka_unit_test(test_writer),
		cmocka_unit_test(test_get_many),    cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("files of blocks", tests, NULL, NULL);
}
