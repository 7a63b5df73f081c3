/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run.h -- sorted runs on the scratch disks.
 *
 * A run is a sequence of blocks of whole records: floor(B/R) of them, or as many as fit when they are of any length
 * (block_vary.h).  Only the last block has fewer, and the first, each run's by another part of a block: runs of one
 * input are much alike, and a merge would want the next blocks of all of them at the same time.  Where they are, how
 * long (cut to whole pages) and with which key each begins stands in the run's directory: a chain of pages on the
 * scratch disks, so that what memory knows of a run does not grow with it.  The keys are what prefetching predicts
 * from: a block is needed when everything before its first key has been merged.
 *
 * What comes back from a disk is believed only when it was checked.  A page has a sum of itself and of each block.
 * That is one of the beginnings of the block's pages and of its end, which tells of what is missing or in a wrong place
 * and costs next to nothing.  Where uses of blocks are checked (EM_CTX_CHECKED) it is one of all bytes.
 */
#ifndef EMI_RUN_H
#define EMI_RUN_H

#include <extmem/disk.h>

#include "block/disk.h"
#include "sort/record_hash.h"

#define EMI_DIR_BYTES 4096u
#define EMI_DIR_ENTRIES 127u
#define EMI_DIR_END UINT64_MAX
#define EMI_IN_MEMORY (EMI_DIR_BYTES - 1)       /* em_bid.disk of what is in memory; the offset is its number times
                                                   EMI_DIR_BYTES */

typedef struct emi_dir_entry {
	uint64_t key;           /* element key of the block's first record */
	uint64_t place;         /* of the block on its disk, and in the bits that are 0 there, which disk it is */
	uint64_t bytes;         /* of data in it */
	uint32_t packed;        /* what these were packed to (block/packer.h); 0: they were not */
	uint32_t sum;           /* of the bytes that were written */
} emi_dir_entry;

/* Disks are numbered in the bits of a place in a page. */
typedef char disks_are_fewer_than_bytes_of_a_page[EM_DISKS_MAX < EMI_IN_MEMORY ? 1 : -1];

typedef struct emi_dir_page {
	uint64_t next;          /* offset of the next page, or EMI_DIR_END ... */
	uint32_t count;
	uint32_t next_disk;     /* ... and its disk */
	uint64_t sum;           /* of the page, this being 0 */
	uint64_t padding;
	emi_dir_entry entry[EMI_DIR_ENTRIES];
} emi_dir_page;

typedef struct emi_run {
	uint64_t bytes;         /* of records or frames */
	uint64_t blocks;
	uint64_t longest;       /* bytes of data in its largest block */
	em_bid dir;            /* first page of the directory */
	uint32_t level;         /* merges its records went through */
	uint32_t coming;        /* the end of it may still be on its way to the disks */
	uint32_t from;          /* the first entry of that page that counts: blocks before it are left out */
	uint32_t reserved;
} emi_run;

static inline uint64_t emi_dir_place(em_bid bid)
{
	return bid.offset | bid.disk;
}

static inline em_bid emi_dir_bid(const emi_dir_entry *e)
{
	const em_bid bid = { (uint32_t)(e->place % EMI_DIR_BYTES), 0, e->place / EMI_DIR_BYTES * EMI_DIR_BYTES };

	return bid;
}

/* The sum of a page. */
static inline uint64_t emi_dir_sum(emi_dir_page *page)
{
	const uint64_t sum = page->sum;
	uint64_t h;

	page->sum = 0;
	h = emi_record_hash((const unsigned char *)page, sizeof *page);
	page->sum = sum;
	return h;
}

/* That of n bytes of a block, of all of them or of some; what is behind them up to the next multiple of eight may be
 * read. */
static inline uint32_t emi_block_sum(const void *block, size_t n, int all)
{
	const unsigned char *p = block;
	uint64_t h = n;
	size_t at;

	if (all || n < 16)
		h = emi_record_hash(p, n);
	for (at = 0; !all && n >= 16; at += EMI_DIR_BYTES) {
		/* The last one ends where they end. */
		const size_t from = at + 16 <= n ? at : n - 16;

		h = emi_hash_join(emi_hash_join(h, emi_hash_load(p + from)), emi_hash_load(p + from + 8));
		if (from != at)
			break;
	}
	return (uint32_t)(h >> 32 ^ h);
}

/* The part of a block by which the first block of the i-th run is shorter, less than 1: multiples of the golden ratio
 * are spread evenly, however many they are. */
static inline double emi_run_short(uint64_t i)
{
	return (double)(uint32_t)(i * 0x9e3779b9u) / 4294967296.0;
}

#endif
