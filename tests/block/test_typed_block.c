/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_typed_block.c -- records, links and info of a block have room beside each other, and no record more would have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/sys/typed_block.h>

#include "common/test.h"

/* The same number for the compiler. */
typedef char four_pages_of_24[EM_BLOCK_CAPACITY(16384, 24, 2, 12) == (16384 - 32 - 16) / 24 ? 1 : -1];

static void check_layout(size_t bytes, size_t record, uint32_t links, size_t info)
{
	em_block_layout l;
	uint32_t i;
	char *block;
	void *room;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	uint64_t before;
	em_ctx *ctx;

	opts.memory = 4u << 20;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	before = em_ctx_memory_used(ctx);
	assert_int_equal(em_block_layout_init(&l, bytes, record, links, info, NULL), EM_OK);
	assert_true(l.capacity >= 1);
	assert_int_equal(l.capacity, EM_BLOCK_CAPACITY(bytes, record, links, info));
	assert_true(l.capacity * record <= l.links_at);
	assert_true((l.capacity + 1) * record > l.links_at);
	assert_int_equal(l.links_at % EM_BLOCK_ALIGN, 0);
	assert_int_equal(l.info_at % EM_BLOCK_ALIGN, 0);
	assert_true(l.info_at + info <= bytes && l.info_at + info + EM_BLOCK_ALIGN > bytes);
	/* Each part where nothing else is. */
	assert_int_equal(em_buffer_alloc(&room, ctx, 3, bytes, NULL), EM_OK);
	block = room;
	assert_int_equal(em_ctx_memory_used(ctx), before + 3 * bytes);
	memset(block, 0, 3 * bytes);
	block = em_block_at(&l, block, 1);
	for (i = 0; i < l.capacity; i++)
		memset(em_block_record(&l, block, i), (int)(i % 100 + 1), record);
	for (i = 0; i < links; i++) {
		assert_true(em_bid_equal(*em_block_link(&l, block, i), (em_bid){0, 0, 0}));
		*em_block_link(&l, block, i) = em_bid_none();
	}
	if (info > 0)
		memset(em_block_info(&l, block), 0x7f, info);
	for (i = 0; i < l.capacity; i++)
		assert_int_equal(*(char *)em_block_record(&l, block, i), i % 100 + 1);
	for (i = 0; i < links; i++)
		assert_true(em_bid_is_none(*em_block_link(&l, block, i)));
	assert_int_equal(block[-1], 0);
	assert_int_equal(block[bytes], 0);
	em_buffer_free(ctx, room, 3, bytes);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
}

static void test_layouts(void **state)
{
	static const size_t record[] = {1, 2, 4, 7, 8, 12, 16, 24, 100, 1000};
	static const uint32_t links[] = {0, 1, 2, 17};
	static const size_t info[] = {0, 1, 8, 12, 64};
	size_t r, k, i;

	(void)state;
	for (r = 0; r < sizeof(record) / sizeof(*record); r++)
		for (k = 0; k < sizeof(links) / sizeof(*links); k++)
			for (i = 0; i < sizeof(info) / sizeof(*info); i++)
				check_layout(r % 2 ? 4096 : 16384, record[r], links[k], info[i]);
}

/* Exactly one record, and one byte too many. */
static void test_limits(void **state)
{
	em_block_layout l;
	em_errinfo err;

	(void)state;
	check_layout(4096, 4096, 0, 0);
	check_layout(4096, 4096 - 16, 1, 0);
	check_layout(4096, 8, 255, 8);
	memset(&err, 0, sizeof(err));
	assert_int_equal(em_block_layout_init(&l, 4096, 4097, 0, 0, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "no room"));
	assert_int_equal(em_block_layout_init(&l, 4096, 4096, 0, 1, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, 4096 - 15, 1, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, 8, 256, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, 8, UINT32_MAX, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, 8, 0, SIZE_MAX, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, SIZE_MAX, 0, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 4096, 0, 0, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 0, 8, 0, 0, NULL), EM_ERR_INVAL);
	assert_int_equal(em_block_layout_init(&l, 5000, 8, 0, 0, NULL), EM_ERR_INVAL);
	assert_false(em_bid_equal((em_bid){0, 0, 4096}, (em_bid){1, 0, 4096}));
	assert_false(em_bid_equal((em_bid){1, 0, 0}, (em_bid){1, 0, 4096}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("typed_block", tests, NULL, NULL);
}
