/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorted_list.h -- lists of blocks that are sorted, each as it goes on from the one before, as a source
 * (sorted_source.h).
 *
 * It lends what a reader of blocks lends (block/block_reader.h): the records of a block, while the next ones are being
 * read.  With one that frees what it has read, the lists are consumed.
 */
#ifndef EMI_SORTED_LIST_H
#define EMI_SORTED_LIST_H

#include "block/block_reader.h"
#include "sort/sorted_source.h"

typedef struct emi_sorted_list {
	emi_sorted_source source;
	emi_block_reader *in;
} emi_sorted_list;

/* in was opened, reads forward, and is the source's from now on: closing that closes it. */
void emi_sorted_list_open(emi_sorted_list *l, emi_block_reader *in);

#endif
