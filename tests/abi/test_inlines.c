/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_inlines.c -- functions that are inline in the headers are symbols of the library, and do the same.
 */
#define em_cursor_next em_inline_cursor_next
#define em_cursor_next_sized em_inline_cursor_next_sized
#define em_cursor_peek em_inline_cursor_peek
#define em_window_pop_back em_inline_window_pop_back
#define em_window_pop_front em_inline_window_pop_front
#define em_window_push_back em_inline_window_push_back
#define em_window_push_front em_inline_window_push_front
#define em_bid_equal em_inline_bid_equal
#define em_bid_is_none em_inline_bid_is_none
#define em_bid_none em_inline_bid_none
#define em_block_at em_inline_block_at
#define em_block_info em_inline_block_info
#define em_block_link em_inline_block_link
#define em_block_record em_inline_block_record

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/cursor.h>
#include <extmem/sys/typed_block.h>
#include <extmem/window.h>

#include "base/cursor.h"

#undef em_cursor_next
#undef em_cursor_next_sized
#undef em_cursor_peek
#undef em_window_pop_back
#undef em_window_pop_front
#undef em_window_push_back
#undef em_window_push_front
#undef em_bid_equal
#undef em_bid_is_none
#undef em_bid_none
#undef em_block_at
#undef em_block_info
#undef em_block_link
#undef em_block_record
em_status em_cursor_next(em_cursor *c, const void **record);
em_status em_cursor_next_sized(em_cursor *c, const void **record, size_t *bytes);
em_status em_cursor_peek(em_cursor *c, const void **record);
em_status em_window_pop_back(em_window *w, void *record, size_t bytes);
em_status em_window_pop_front(em_window *w, void *record, size_t bytes);
em_status em_window_push_back(em_window *w, const void *record, size_t bytes);
em_status em_window_push_front(em_window *w, const void *record, size_t bytes);
int em_bid_equal(em_bid a, em_bid b);
int em_bid_is_none(em_bid bid);
em_bid em_bid_none(void);
char *em_block_at(const em_block_layout *l, void *blocks, size_t i);
void *em_block_info(const em_block_layout *l, void *block);
em_bid *em_block_link(const em_block_layout *l, void *block, uint32_t i);
void *em_block_record(const em_block_layout *l, void *block, size_t i);

static em_status no_more(emi_cursor *c, void *object)
{
	(void)c;
	(void)object;
	return EM_END;
}

static void test_cursor(void **state)
{
	static const uint32_t numbers[] = { 7, 8, 9 };
	static const em_batch batch = { numbers, 3, sizeof numbers, NULL };
	const void *record = NULL;
	emi_cursor c;
	size_t bytes;

	(void)state;
	emi_cursor_init(&c, sizeof(uint32_t), no_more, NULL);
	emi_cursor_show(&c, &batch);
	assert_int_equal(em_cursor_peek(&c.c, &record), EM_OK);
	assert_ptr_equal(record, numbers);
	assert_int_equal(em_cursor_next(&c.c, &record), EM_OK);
	assert_ptr_equal(record, numbers);
	assert_int_equal(em_cursor_next_sized(&c.c, &record, &bytes), EM_OK);
	assert_ptr_equal(record, numbers + 1);
	assert_int_equal(bytes, sizeof(uint32_t));
	assert_int_equal(em_inline_cursor_next(&c.c, &record), EM_OK);
	assert_ptr_equal(record, numbers + 2);
	assert_int_equal(em_cursor_next(&c.c, &record), EM_END);
	assert_null(record);
	assert_int_equal(em_cursor_next(NULL, &record), EM_ERR_INVAL);
	assert_int_equal(em_cursor_next(&c.c, NULL), EM_ERR_INVAL);
	assert_int_equal(em_cursor_peek(NULL, &record), EM_ERR_INVAL);
	assert_int_equal(em_cursor_next_sized(&c.c, &record, NULL), EM_ERR_INVAL);
}

static void test_window(void **state)
{
	uint16_t room[4] = { 0 }, number = 5;
	em_window back, front;

	(void)state;
	back.cur = back.low = (char *)room;
	back.high = (char *)(room + 4);
	back.step = sizeof number;
	assert_int_equal(em_window_push_back(&back, &number, sizeof number), EM_OK);
	assert_int_equal(room[0], 5);
	number = 0;
	assert_int_equal(em_window_pop_back(&back, &number, sizeof number), EM_OK);
	assert_int_equal(number, 5);
	assert_ptr_equal(back.cur, room);
	front.low = (char *)room;
	front.cur = front.high = (char *)(room + 4);
	front.step = -(ptrdiff_t)sizeof number;
	number = 6;
	assert_int_equal(em_window_push_front(&front, &number, sizeof number), EM_OK);
	assert_int_equal(room[3], 6);
	number = 0;
	assert_int_equal(em_window_pop_front(&front, &number, sizeof number), EM_OK);
	assert_int_equal(number, 6);
	assert_int_equal(em_window_push_back(NULL, &number, sizeof number), EM_ERR_INVAL);
	assert_int_equal(em_window_push_front(&front, NULL, sizeof number), EM_ERR_INVAL);
	assert_int_equal(em_window_pop_back(NULL, &number, sizeof number), EM_ERR_INVAL);
	assert_int_equal(em_window_pop_front(&front, NULL, sizeof number), EM_ERR_INVAL);
}

static void test_blocks(void **state)
{
	const em_bid none = em_bid_none(), some = { 1, 0, 4096 };
	em_block_layout l;
	uint64_t block[1024];
	char *at = (char *)block;

	(void)state;
	assert_true(em_bid_is_none(none));
	assert_false(em_bid_is_none(some));
	assert_true(em_bid_equal(some, some));
	assert_false(em_bid_equal(some, none));
	assert_int_equal(em_block_layout_init(&l, 4096, 8, 1, 16, NULL), EM_OK);
	assert_ptr_equal(em_block_at(&l, block, 1), at + 4096);
	assert_ptr_equal(em_block_record(&l, block, 3), at + 24);
	assert_ptr_equal(em_block_link(&l, block, 0), at + l.links_at);
	assert_ptr_equal(em_block_info(&l, block), at + l.info_at);
	assert_null(em_block_at(NULL, block, 1));
	assert_null(em_block_record(&l, NULL, 1));
	assert_null(em_block_link(NULL, block, 0));
	assert_null(em_block_info(&l, NULL));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests_name("abi/inlines", tests, NULL, NULL);
}
