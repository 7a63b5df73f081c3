/* SPDX-License-Identifier: BSL-1.0 */
/*
 * one_disk.h -- one scratch disk: a file in which blocks of several sizes live side by side.
 *
 * The functions do what those of disk.h do for all disks of a context, with blocks known by their offsets.
 */
#ifndef EMI_ONE_DISK_H
#define EMI_ONE_DISK_H

#include "base/context.h"
#include "block/disk.h"

typedef struct emi_one_disk emi_one_disk;

/* What the file systems may set aside for all disks together, and what is on these.  Atomic, but for most. */
typedef struct emi_allowance {
	uint64_t most;          /* bytes; 0: any number */
	uint64_t held;          /* bytes that are set aside */
	uint64_t peak;          /* most that ever were */
	uint64_t blocks, bytes; /* in use */
	uint64_t blocks_peak, bytes_peak; /* most that ever were */
} emi_allowance;

em_status emi_one_disk_open(emi_one_disk **out, em_ctx *ctx, emi_disk_choice *choice, emi_allowance *all,
			    em_errinfo *err);
void emi_one_disk_close(emi_one_disk *d, int forked);

/* Most bytes of memory that it takes in a context of so much, when up to bytes are in use on it. */
uint64_t emi_one_disk_memory(const em_ctx *ctx, uint64_t memory, const emi_disk_choice *choice, uint64_t bytes);

em_file *emi_one_disk_file(const emi_one_disk *d);

/* n > 0 blocks of bytes, a multiple of EMI_PAGE, one behind the other. */
em_status emi_one_disk_alloc(emi_one_disk *d, size_t bytes, uint64_t n, uint64_t *offset, em_errinfo *err);

/* Space of blocks, at a multiple of EMI_PAGE, with which n of them are gone.  EM_ERR_STATE when that is not in use. */
em_status emi_one_disk_free(emi_one_disk *d, uint64_t offset, size_t bytes, uint64_t n, em_errinfo *err);

/* May so many bytes be transferred there?  A write that may is noted.  EM_ERR_STATE when not all of that is in use, or
 * when it is to be read, and nothing of it was written. */
em_status emi_one_disk_admit(emi_one_disk *d, emi_request_kind kind, uint64_t offset, size_t bytes, const char **why);

/* A write has found that the file system is full: what is not in use was not set aside, whatever that said. */
void emi_one_disk_fill(emi_one_disk *d);

/* Was anything written that should be there?  Of a page in which that begins this is not known if some were written
 * in part. */
int emi_one_disk_wrote(emi_one_disk *d, uint64_t offset, size_t bytes);

void emi_one_disk_expect(emi_one_disk *d, uint64_t bytes);

void emi_one_disk_slack(emi_one_disk *d, uint64_t bytes);
void emi_one_disk_give_back(emi_one_disk *d, uint64_t lag);
void emi_one_disk_keep(emi_one_disk *d);
int emi_one_disk_give_all(emi_one_disk *d);

/* Note what is on its way back and has arrived. */
void emi_one_disk_settle(emi_one_disk *d);

void emi_one_disk_usage(emi_one_disk *d, emi_disk_usage *usage);
uint64_t emi_one_disk_peak(emi_one_disk *d);

#endif
