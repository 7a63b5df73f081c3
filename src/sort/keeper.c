/* SPDX-License-Identifier: BSL-1.0 */
/* keeper.c -- see keeper.h. */
#include "sort/keeper.h"

#include <string.h>

#include "base/copy.h"
#include "base/memory.h"

#define SLACK 8u                /* bytes behind a string that may be read */

void emi_keeper_init(emi_keeper *k, const emi_collation *by)
{
	memset(k, 0, sizeof *k);
	k->by = by;
	k->v = by->vary;
}

void emi_keeper_free(emi_keeper *k)
{
	if (k->room != NULL)
		emi_buffer_free(emi_order_ctx(k->by->order), k->room, k->room_bytes + SLACK);
	memset(k, 0, sizeof *k);
}

uint64_t emi_keeper_memory(uint64_t longest)
{
	return longest + SLACK + EMI_PAGE;
}

em_status emi_keeper_reserve(emi_keeper *k, size_t n, em_errinfo *err)
{
	em_ctx *ctx = emi_order_ctx(k->by->order);

	if (k->room != NULL && n <= k->room_bytes)
		return EM_OK;
	if (k->room != NULL)
		emi_buffer_free(ctx, k->room, k->room_bytes + SLACK);
	/* Whole pages are what a buffer takes. */
	k->room_bytes = (n + SLACK + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE - SLACK;
	k->room = emi_buffer_alloc(ctx, k->room_bytes + SLACK, err);
	return k->room != NULL ? EM_OK : err->status;
}

void emi_keeper_hold(emi_keeper *k, const void *elem)
{
	const void *record = k->v == NULL ? emi_elem_record(k->by->codec, elem) : NULL;

	if (k->by->own != NULL)
		k->elem.pair.val = (uintptr_t)record;
	else
		emi_copy(&k->elem, elem, k->by->codec->elem_bytes);
	k->have = 1;
	k->there = k->v == NULL && record == NULL;
	if (k->v == NULL)
		return;
	k->frame = *(const emi_frame *)(uintptr_t)k->elem.pair.val;
	k->elem.pair.val = (uintptr_t)&k->frame;
}

em_status emi_keeper_settle(emi_keeper *k, em_errinfo *err)
{
	const void *from;
	size_t n;
	em_status st;

	if (!k->have || k->there)
		return EM_OK;
	from = k->v != NULL ? (const void *)k->frame.string : (const void *)(uintptr_t)k->elem.pair.val;
	n = k->v != NULL ? (size_t)(k->frame.key_bytes + k->frame.bytes) : k->by->codec->record_bytes;
	st = emi_keeper_reserve(k, n, err);
	if (st != EM_OK)
		return st;
	emi_copy(k->room, from, n);
	if (k->v != NULL)
		k->frame.string = k->room;
	else
		k->elem.pair.val = (uintptr_t)k->room;
	k->there = 1;
	return EM_OK;
}

int emi_keeper_same(const emi_keeper *k, const void *elem)
{
	const emi_pair *pair = elem;

	if (!k->have)
		return 0;
	if (k->v == NULL)
		return emi_elem_compare(k->by, &k->by->tie, emi_keeper_elem(k), elem) == 0;
	return k->elem.pair.key == pair->key &&
	       emi_string_compare(k->v, &k->frame, (const emi_frame *)(uintptr_t)pair->val, 0) == 0;
}
