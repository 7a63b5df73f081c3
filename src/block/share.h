/* SPDX-License-Identifier: BSL-1.0 */
/*
 * share.h -- what each object that callers outside have of the block layer has in common: a share in its disks, so that these and the context may be
 * closed before it, and the detail of its last failure.
 *
 * All objects on an em_disks are one user of the disks, so that what one of them has allocated the others may write and free.
 */
#ifndef EMI_SHARE_H
#define EMI_SHARE_H

#include "block/disk.h"

typedef struct emi_share {
	em_disks *disks;
	em_ctx *ctx;            /* theirs, ... */
	emi_disk *set;          /* ... and what they are inside */
	em_errinfo err;         /* of the last call that failed */
} emi_share;

struct em_disks {
	emi_share share;
	uint32_t users;         /* the caller and other objects; atomic */
};

/* An object of so many zeroed bytes that begins with its share; NULL with err filled: EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK. */
void *emi_share_new(em_disks *d, size_t bytes, em_errinfo *err);

/* Free the object and leave the disks.  What the object has must be freed before. */
void emi_share_free(void *object, size_t bytes);

/* What opening an object ends with: a failure goes where the options say, if they do.  Returns the status. */
em_status emi_share_opened(em_status status, em_errinfo *theirs, const em_errinfo *err);

/* What a call begins with that may wait: have no failure yet.  EM_ERR_FORK; of a block also EM_ERR_INVAL, if there is no such disk. */
em_status emi_share_begin(const emi_share *s, em_errinfo *err);
em_status emi_share_begin_at(const emi_share *s, em_bid bid, em_errinfo *err);

/* ... and what calls end with: keep the detail of a failure; returns the status. */
em_status emi_share_told(emi_share *s, em_status status, const em_errinfo *err);

/* The size of a block as a caller gave it, or the usual one if it is 0. */
uint64_t emi_share_block_bytes(const emi_share *s, uint64_t bytes);

/* EM_ERR_INVAL if there is no such disk. */
em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err);

#endif
