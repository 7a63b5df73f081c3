/* SPDX-License-Identifier: BSL-1.0 */
/* block_list.c -- see block_list.h. */
#include "block/block_list.h"

#include <string.h>

#include "base/memory.h"

enum { FIRST_ROOM = 32 };

em_status emi_block_list_reserve(emi_block_list *l, em_ctx *ctx, uint64_t room, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_bid *more;

	if (room <= l->room)
		return EM_OK;
	more = emi_alloc_array(ctx, room, sizeof *more, &own);
	if (more == NULL) {
		if (err != NULL && err->status >= EM_OK)
			*err = own;
		return own.status;
	}
	if (l->bid != NULL)
		memcpy(more, l->bid, (size_t)l->blocks * sizeof *more);
	emi_free_array(ctx, l->bid, l->room, sizeof *l->bid);
	l->bid = more;
	l->room = room;
	return EM_OK;
}

/* It grows by an eighth: ids are copied nine times then, which is nothing beside writing their blocks, and where they
 * are copied from and to is little more than twice what they take. */
em_status emi_block_list_add(emi_block_list *l, em_ctx *ctx, em_bid bid, em_errinfo *err)
{
	if (l->blocks == l->room) {
		const em_status st = emi_block_list_reserve(l, ctx, l->room + l->room / 8 + FIRST_ROOM, err);

		if (st != EM_OK)
			return st;
	}
	l->bid[l->blocks++] = bid;
	return EM_OK;
}

void emi_block_list_reverse(emi_block_list *l)
{
	uint64_t i;

	for (i = 0; i < l->blocks / 2; i++) {
		const em_bid bid = l->bid[i];

		l->bid[i] = l->bid[l->blocks - 1 - i];
		l->bid[l->blocks - 1 - i] = bid;
	}
}

void emi_block_list_release(emi_block_list *l, em_ctx *ctx)
{
	emi_free_array(ctx, l->bid, l->room, sizeof *l->bid);
	memset(l, 0, sizeof *l);
}

void emi_block_list_free_blocks(const emi_block_list *l, emi_disk *disk, size_t block_bytes, uint64_t from, uint64_t to)
{
	for (; from < to; from++)
		emi_bid_free(disk, l->bid[from], block_bytes);
}
