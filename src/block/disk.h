/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk.h -- the scratch disks of a context, and block ids.
 *
 * Disks are big files in which blocks of several sizes live side by side.  An emi_disk is all those of a context, one or several; a block id
 * (BID) names a block: which of them it is on, and its offset there.  Blocks that are freed are given out again before the file grows; or, when nobody is
 * going to need them, their space goes back to the file system.
 */
#ifndef EMI_DISK_H
#define EMI_DISK_H

#include <extmem/sys/block.h>

#include "io/file.h"

typedef struct emi_disk emi_disk;

typedef em_bid emi_bid;

/* The scratch disks of a context: opened when the first user comes, gone with the last.  Any thread. */
em_status emi_scratch_acquire(em_ctx *ctx, emi_disk **out, em_errinfo *err);
void emi_scratch_release(em_ctx *ctx, emi_disk *disk);

/* Bytes of memory that the scratch disks take when up to bytes are in use on them. */
uint64_t emi_scratch_memory(const em_ctx *ctx, uint64_t bytes);

/* How many they are, open or not, and the path of one; the most bytes that they may take together, 0: any number. */
uint32_t emi_scratch_disks(const em_ctx *ctx);
const char *emi_scratch_path(const em_ctx *ctx, uint32_t disk);
uint64_t emi_scratch_most(const em_ctx *ctx);
uint32_t emi_disk_count(const emi_disk *disk);

/* The file that blocks with that index of a disk are in. */
em_file *emi_disk_file(const emi_disk *disk, uint32_t index);

/* Allocate a block of bytes, a multiple of EMI_PAGE, on one disk after the other.  Any thread.  EM_ERR_NOSPACE (also when
 * the context allows no more), EM_ERR_IO, EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_block_alloc(emi_disk *disk, size_t bytes, emi_bid *bid, em_errinfo *err);

/* The same on the disk of that index, or on the next one that has room. */
em_status emi_block_alloc_on(emi_disk *disk, uint32_t index, size_t bytes, emi_bid *bid, em_errinfo *err);
void emi_block_free(emi_disk *disk, emi_bid bid, size_t bytes);

/* Transfer a block; see io/file.h. */
void emi_block_read(emi_disk *disk, emi_request *rq, void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats);
void emi_block_write(emi_disk *disk, emi_request *rq, const void *buf, size_t bytes, emi_bid bid, emi_io_stats *stats);

/* Gaps between blocks that nobody fills may have so many bytes together; without this call, any number. */
void emi_disk_slack(emi_disk *disk, uint64_t bytes);

/*
 * The caller is going to free blocks and not to allocate more: space goes back to the file system.  What is reserved
 * ahead does at once; of gaps the largest go, whenever blocks of `lag' bytes were freed and more is free than
 * emi_disk_slack() allows, while others work.  With what is late, less than four times lag, that is what the file has
 * more than is in use.  A file system that cannot take it back keeps it, which is no failure.  emi_disk_keep() ends
 * it.
 */
void emi_disk_give_back(emi_disk *disk, uint64_t lag);
void emi_disk_keep(emi_disk *disk);

/* Give all gaps back, however small, and wait until they are: 1 if there were any. */
int emi_disk_give_all(emi_disk *disk);

/* Bytes in use now, and the most that blocks and the gaps between them ever took, summed over disks. */
uint64_t emi_disk_used(emi_disk *disk);
uint64_t emi_disk_peak(emi_disk *disk);

/* Bytes that file systems have set aside for all disks now, and at most. */
uint64_t emi_disk_held(emi_disk *disk);
uint64_t emi_disk_held_peak(emi_disk *disk);

#endif
