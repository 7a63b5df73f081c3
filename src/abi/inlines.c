/* SPDX-License-Identifier: BSL-1.0 */
/*
 * inlines.c -- functions that are inline in the public headers, as symbols of the library.
 *
 * Languages that call functions by their names need them.  The headers are included with other names for their
 * functions, so that the symbols can have the right ones here.  These look for NULL, as all other symbols do.
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

#include <extmem/cursor.h>
#include <extmem/sys/typed_block.h>
#include <extmem/window.h>

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

EM_API em_status em_cursor_next(em_cursor *c, const void **record);
EM_API em_status em_cursor_next_sized(em_cursor *c, const void **record, size_t *bytes);
EM_API em_status em_cursor_peek(em_cursor *c, const void **record);
EM_API em_status em_window_pop_back(em_window *w, void *record, size_t bytes);
EM_API em_status em_window_pop_front(em_window *w, void *record, size_t bytes);
EM_API em_status em_window_push_back(em_window *w, const void *record, size_t bytes);
EM_API em_status em_window_push_front(em_window *w, const void *record, size_t bytes);
EM_API int em_bid_equal(em_bid a, em_bid b);
EM_API int em_bid_is_none(em_bid bid);
EM_API em_bid em_bid_none(void);
EM_API char *em_block_at(const em_block_layout *l, void *blocks, size_t i);
EM_API void *em_block_info(const em_block_layout *l, void *block);
EM_API em_bid *em_block_link(const em_block_layout *l, void *block, uint32_t i);
EM_API void *em_block_record(const em_block_layout *l, void *block, size_t i);

em_status em_cursor_next(em_cursor *c, const void **record)
{
	return c != NULL && record != NULL ? em_inline_cursor_next(c, record) : (em_status)EM_ERR_INVAL;
}

em_status em_cursor_next_sized(em_cursor *c, const void **record, size_t *bytes)
{
	if (c == NULL || record == NULL || bytes == NULL)
		return EM_ERR_INVAL;
	return em_inline_cursor_next_sized(c, record, bytes);
}

em_status em_cursor_peek(em_cursor *c, const void **record)
{
	return c != NULL && record != NULL ? em_inline_cursor_peek(c, record) : (em_status)EM_ERR_INVAL;
}

em_status em_window_pop_back(em_window *w, void *record, size_t bytes)
{
	return w != NULL && record != NULL ? em_inline_window_pop_back(w, record, bytes) : (em_status)EM_ERR_INVAL;
}

em_status em_window_pop_front(em_window *w, void *record, size_t bytes)
{
	return w != NULL && record != NULL ? em_inline_window_pop_front(w, record, bytes) : (em_status)EM_ERR_INVAL;
}

em_status em_window_push_back(em_window *w, const void *record, size_t bytes)
{
	return w != NULL && record != NULL ? em_inline_window_push_back(w, record, bytes) : (em_status)EM_ERR_INVAL;
}

em_status em_window_push_front(em_window *w, const void *record, size_t bytes)
{
	return w != NULL && record != NULL ? em_inline_window_push_front(w, record, bytes) : (em_status)EM_ERR_INVAL;
}

int em_bid_equal(em_bid a, em_bid b)
{
	return em_inline_bid_equal(a, b);
}

int em_bid_is_none(em_bid bid)
{
	return em_inline_bid_is_none(bid);
}

em_bid em_bid_none(void)
{
	return em_inline_bid_none();
}

char *em_block_at(const em_block_layout *l, void *blocks, size_t i)
{
	return l != NULL && blocks != NULL ? em_inline_block_at(l, blocks, i) : NULL;
}

void *em_block_info(const em_block_layout *l, void *block)
{
	return l != NULL && block != NULL ? em_inline_block_info(l, block) : NULL;
}

em_bid *em_block_link(const em_block_layout *l, void *block, uint32_t i)
{
	return l != NULL && block != NULL ? em_inline_block_link(l, block, i) : NULL;
}

void *em_block_record(const em_block_layout *l, void *block, size_t i)
{
	return l != NULL && block != NULL ? em_inline_block_record(l, block, i) : NULL;
}
