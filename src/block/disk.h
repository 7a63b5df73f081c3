/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk.h -- the scratch disks of a context, and block ids.
 *
 * Disks are big files in which blocks of several sizes live side by side.  An emi_disk is a user of all those of a
 * context, one or several; a block id (BID) names a block: which of them it is on, and its offset there.  Blocks that
 * are freed are given out again before the file grows, and the first gap is taken that is long enough; what is free at
 * the end, or, when nobody is going to need it, anywhere, goes back to the file system.
 *
 * A block belongs to the user that allocated it: everybody may read it, nobody else should write or free it (LEDA-SM's
 * U_ID; Crauser and Mehlhorn 1998, section 1.2).  Each data structure is a user of its own, or several are one.
 *
 * What is plainly wrong about a block id is always noticed: no such disk, an offset where no block can be, space that
 * is not in use (EM_ERR_STATE), a read of what was never written (EM_ERR_STATE).  In a context with EM_CTX_CHECKED
 * everything else is, too (ledger.h): EM_ERR_INVAL when no block of that size is there, EM_ERR_STATE when it is another
 * user's.
 */
#ifndef EMI_DISK_H
#define EMI_DISK_H

#include <extmem/sys/block.h>

#include "io/file.h"

typedef struct emi_disk emi_disk;

/* Become a user of the scratch disks of a context, which are opened when the first one comes and gone with the last.
 * Blocks that are allocated then are reported to the log: a warning when uses are checked, with whose they are.  Any
 * thread; so may be all that follows, by several at the same time.  EM_ERR_FORK, what opening a file can fail with. */
em_status emi_scratch_acquire(em_ctx *ctx, emi_disk **out, em_errinfo *err);
void emi_scratch_release(em_ctx *ctx, emi_disk *disk);

/* The number of this user, drawn from the set: 1 or more. */
uint32_t emi_disk_owner(const emi_disk *disk);

/* This user leaves its blocks for good when it is released, which is nothing to report; those that are known
 * (EM_CTX_CHECKED, emi_disk_account()) are freed then. */
void emi_disk_abandon(emi_disk *disk);

/* Know which blocks this user has, before it has any: others may have the disks for long, and should not have what it
 * leaves.  That takes a bit for each EMI_PAGE it has; where a context has no memory left for that, blocks stay unknown.
 * EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_disk_account(emi_disk *disk, em_errinfo *err);

/* Bytes of memory that the scratch disks take when nothing is in use on them yet, by one user, who accounts for it; and
 * in a context of so much memory when up to so many blocks are, by several users. */
uint64_t emi_scratch_memory(const em_ctx *ctx);
uint64_t emi_scratch_memory_in(const em_ctx *ctx, uint64_t memory, uint32_t users, uint64_t blocks,
			       uint64_t block_bytes);

/* How many more than for none it is when all that is in use is written, and has so many ends on each disk (space.h). */
uint64_t emi_scratch_bits(uint32_t disks, uint64_t bytes, uint64_t ends);

/* How many they are, open or not, and the path of one; the most bytes that they may take together, 0: any number. */
uint32_t emi_scratch_disks(const em_ctx *ctx);
const char *emi_scratch_path(const em_ctx *ctx, uint32_t disk);
uint64_t emi_scratch_most(const em_ctx *ctx);

/* Bytes that are free for scratch on all file systems together: 1, or 0 where that is not certain. */
int emi_scratch_room(em_ctx *ctx, uint64_t *bytes);
uint32_t emi_disk_count(const emi_disk *disk);

/* Allocate a block of bytes, a multiple of EMI_PAGE, on one disk after the other.  EM_ERR_NOSPACE (also when
 * the context allows no more), EM_ERR_IO, EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_INVAL, EM_ERR_FORK. */
em_status emi_bid_alloc(emi_disk *disk, size_t bytes, em_bid *bid, em_errinfo *err);

/* The same on the disk of that index (modulo their number), or on the next one that has room. */
em_status emi_bid_alloc_on(emi_disk *disk, uint32_t index, size_t bytes, em_bid *bid, em_errinfo *err);

/* Allocate n blocks of a size, block i on the disk where `place' has block first + i of its sequence, or on the next
 * one that has room; place NULL: one disk after the other.  All, or none on failure. */
em_status emi_bids_alloc(emi_disk *disk, const em_placement *place, uint64_t first, size_t bytes, em_bid *bid, size_t n,
			 em_errinfo *err);

/* The same, contiguous: one behind the other on one disk, that of the index or the next one that has room. */
em_status emi_bids_alloc_row(emi_disk *disk, uint32_t index, size_t bytes, em_bid *bid, size_t n, em_errinfo *err);

/* Free a block.  Requests for it must be done.  EM_ERR_INVAL: it is no block of that size (plainly, or checked);
 * EM_ERR_STATE: nothing is allocated there; it is another user's (checked).  Then nothing has changed.  What nobody
 * looks at is not lost: it is logged as a warning.  In a child nothing is done, as nobody will ask for the space. */
em_status emi_bid_free(emi_disk *disk, em_bid bid, size_t bytes);

/* Free n blocks of a size, in any order, however they were allocated.  Those that can be are freed, the first failure
 * is returned, and others are logged. */
em_status emi_bids_free(emi_disk *disk, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err);

/* Transfer a block; see io/file.h.  What is refused ends like a transfer that fails, with EM_ERR_INVAL or
 * EM_ERR_STATE.  A read brings all that was asked for, or fails
 * with EM_ERR_CORRUPT. */
void emi_block_read(emi_disk *disk, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *stats);
void emi_block_write(emi_disk *disk, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *stats);

/* As emi_file_gather(), of all disks. */
void emi_disk_gather(emi_disk *disk, int on);

/* A read of a block of which all, or what is behind the first `there' > 0 bytes, may never have been written: those are
 * zeros.  1: a transfer is under way; 0: there is none, and rq is idle, as nothing at all was written. */
int emi_block_read_or_zero(emi_disk *disk, emi_request *rq, void *buf, size_t bytes, size_t there, em_bid bid,
			   emi_io_stats *stats);

/* Why a block is not read that was never written: this very text. */
extern const char emi_never_written[];

/* The file of a block that may be transferred; else why it may not: EM_ERR_INVAL or EM_ERR_STATE.  A write that may be
 * is noted. */
em_status emi_block_admit(emi_disk *disk, emi_request_kind kind, em_bid bid, size_t bytes, em_file **file,
			  const char **why);

/* What a transfer of such a file is to be submitted with by who asked for that.  A read may end with done < bytes, if
 * nothing was written to what is missing. */
emi_request_calls emi_block_calls(emi_disk *disk);

/* What was read of a block is not what was written: EM_ERR_CORRUPT, with the disk's path and the block's place in it.
 * */
em_status emi_block_damaged(const emi_disk *disk, em_bid bid, size_t bytes, em_errinfo *err);

/* So many bytes of blocks are still to be allocated: space for them may be set aside in large steps, as they will be
 * needed anyway. */
void emi_disk_expect(emi_disk *disk, uint64_t bytes);

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

/* What is on disks, by all users, and what file systems have set aside for it. */
typedef struct emi_disk_usage {
	uint64_t blocks;        /* in use now ... */
	uint64_t blocks_peak;   /* ... and at most at a time */
	uint64_t bytes;         /* in them */
	uint64_t bytes_peak;
	uint64_t held;          /* bytes that are set aside now, and at most */
	uint64_t held_peak;
} emi_disk_usage;

/* Of one disk, or of all together. */
void emi_disk_usage_of(emi_disk *disk, uint32_t index, emi_disk_usage *usage);
void emi_disk_usage_all(emi_disk *disk, emi_disk_usage *usage);

/* Bytes in use now, and the most that blocks and the gaps between them ever took, summed over disks. */
uint64_t emi_disk_used(emi_disk *disk);
uint64_t emi_disk_peak(emi_disk *disk);

/* Bytes that file systems have set aside for all disks now, and at most. */
uint64_t emi_disk_held(emi_disk *disk);
uint64_t emi_disk_held_peak(emi_disk *disk);

#endif
