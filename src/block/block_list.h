/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_list.h -- records of one size in a list of blocks.
 *
 * Each block holds floor(B/R) records from its beginning on, but for the first, in which `skip' places in front may be
 * empty, and the last, in which places at the end may.  (A sequence that was written backwards has its gap in front.)
 * The ids are in counted memory, side by side: 16 bytes for each where their number is known before, and about 34 where
 * the memory has to grow.
 */
#ifndef EMI_BLOCK_LIST_H
#define EMI_BLOCK_LIST_H

#include <extmem/sys/typed_block.h>

#include "block/disk.h"

/* Which end of it is first. */
typedef enum emi_block_order { EMI_FORWARD, EMI_REVERSE } emi_block_order;

typedef struct emi_block_list {
	em_bid *bid;
	uint64_t blocks;
	uint64_t room;          /* entries of bid */
	uint64_t records;       /* in all blocks */
	size_t skip;            /* places in front of the first one; less than a block has */
} emi_block_list;

/* An empty list is all zero.  Room for so many blocks may be made before they are added; both fail with EM_ERR_NOMEM or
 * EM_ERR_MEMLIMIT, and the list is as it was. */
em_status emi_block_list_reserve(emi_block_list *l, em_ctx *ctx, uint64_t room, em_errinfo *err);
em_status emi_block_list_add(emi_block_list *l, em_ctx *ctx, em_bid bid, em_errinfo *err);
void emi_block_list_reverse(emi_block_list *l);

/* Release the list, not the blocks; it is empty then. */
void emi_block_list_release(emi_block_list *l, em_ctx *ctx);

/* Free blocks [from, to) on their disk. */
void emi_block_list_free_blocks(const emi_block_list *l, emi_disk *disk, size_t block_bytes, uint64_t from,
				uint64_t to);

/* Places up to the last record, empty ones in front included: those of block i begin at i * capacity. */
static inline uint64_t emi_block_list_end(const emi_block_list *l)
{
	return l->skip + l->records;
}

#endif
