/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_block_list.h -- lists of blocks as callers outside have them, for what makes them and reads them: writers,
 * readers, and sorts.
 *
 * A list is there until it was closed and no reader needs it.
 */
#ifndef EMI_PUBLIC_BLOCK_LIST_H
#define EMI_PUBLIC_BLOCK_LIST_H

#include <extmem/sys/block_stream.h>

#include "block/block_list.h"
#include "block/share.h"

struct em_block_list {
	emi_share share;
	emi_block_list list;
	size_t block_bytes, record;
	uint32_t users;         /* the caller and readers; atomic */
	uint32_t readers;       /* atomic */
};

/* An empty list, for em_block_list_close(); NULL with err filled: EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK. */
em_block_list *emi_list_new(em_disks *d, size_t block_bytes, size_t record, em_errinfo *err);

/* Read it: nobody frees its blocks, or has them alone, before it is let go.  EM_ERR_STATE: it is to be had alone, and
 * has another reader. */
em_status emi_list_hold(em_block_list *l, int alone, em_errinfo *err);
void emi_list_let(em_block_list *l);

/* What blocks and records of sizes as callers give them look like: EM_ERR_INVAL. */
em_status emi_list_sizes(const em_disks *d, uint64_t block_bytes, uint64_t record, em_block_layout *layout,
			 em_errinfo *err);

#endif
