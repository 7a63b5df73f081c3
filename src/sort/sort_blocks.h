/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_blocks.h -- sorting records that lie in a list of blocks on the disks of a context.
 *
 * A list whose blocks go round the disks is what a file is to one disk: whoever reads ahead in it, or writes behind, has all disks at work (Dementiev and
 * Sanders 2003, section 2.4: input and output can use any kind of striping).  So here input, runs and output are on the same disks, and take their
 * space from one another; that is the sort that those who have D disks, and all their data on them, want.
 */
#ifndef EMI_SORT_BLOCKS_H
#define EMI_SORT_BLOCKS_H

#include <extmem/sort.h>

#include "block/block_list.h"

/*
 * Sort the records of `in', of the order's one size, in blocks of block_bytes, into a new list of such blocks, placed by striping.  The list is empty before;
 * afterwards it and its blocks are the caller's, who holds the scratch disks (emi_scratch_acquire()) as long as it has either.  With `frees' the blocks of
 * `in' are freed as they are read, also if the sort fails later; the caller releases the list.  Sorted in place so, scratch holds N and a memory full.
 *
 * opts, stats: as of em_sort_files(); a forced block size must be block_bytes, and EM_SORT_UNIQUE is EM_ERR_NOTSUP.  Two passes read 2N/B blocks and write as many.
 * Returns what em_sorter_open(), push, finish and next do, and EM_ERR_INVAL (an order of records of any length; block_bytes is not a multiple
 * of EMI_PAGE, or does not hold a record).  After a failure *out is empty, and its blocks are freed; those
 * of runs are when nobody holds the scratch disks any more.
 */
em_status emi_sort_blocks(em_ctx *ctx, const em_order *order, const emi_block_list *in, size_t block_bytes, int frees, const em_sort_opts *opts,
			  emi_block_list *out, em_sort_stats *stats, em_errinfo *err);

#endif
