/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run.h -- sorted runs on the scratch disks.
 *
 * A run is a sequence of blocks of whole records: floor(B/R) of them, or as many as fit when they are of any length (block_vary.h).  Only the last block has
 * fewer, and the first, each run's by another part of a block: runs of one input are much alike, and a merge would want the next blocks of all of them at
 * the same time.  Where they are, how long (cut to whole pages) and with which key each begins stands in
 * the run's directory: a chain of pages on the scratch disks, so that what memory knows of a run does not grow with it.  The keys are what prefetching
 * predicts from: a block is needed when everything before its first key has been merged.
 */
#ifndef EMI_RUN_H
#define EMI_RUN_H

#include "block/disk.h"

#define EMI_DIR_BYTES 4096u
#define EMI_DIR_ENTRIES 127u
#define EMI_DIR_END UINT64_MAX

typedef struct emi_dir_entry {
	uint64_t key;           /* element key of the block's first record */
	uint64_t offset;        /* of the block on its disk */
	uint64_t bytes;         /* of data in it */
	uint32_t packed;        /* what these were packed to (block/packer.h); 0: they were not */
	uint32_t disk;          /* that it is on */
} emi_dir_entry;

typedef struct emi_dir_page {
	uint64_t next;          /* offset of the next page, or EMI_DIR_END ... */
	uint32_t count;
	uint32_t next_disk;     /* ... and its disk */
	uint64_t padding[2];
	emi_dir_entry entry[EMI_DIR_ENTRIES];
} emi_dir_page;

typedef struct emi_run {
	uint64_t bytes;         /* of records or frames */
	uint64_t blocks;
	uint64_t longest;       /* bytes of data in its largest block */
	em_bid dir;            /* first page of the directory */
	uint32_t level;         /* merges its records went through */
	uint32_t coming;        /* the end of it may still be on its way to the disks */
} emi_run;

/* The part of a block by which the first block of the i-th run is shorter, less than 1: multiples of the golden ratio are spread evenly, however many they are. */
static inline double emi_run_short(uint64_t i)
{
	return (double)(uint32_t)(i * 0x9e3779b9u) / 4294967296.0;
}

#endif
