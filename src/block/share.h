/* SPDX-License-Identifier: BSL-1.0 */
/*
 * share.h -- what each object that callers outside have of the block layer has in common: a share in its context and in the context's disks, so that they may be
 * closed before it, and the detail of its last failure.
 */
#ifndef EMI_SHARE_H
#define EMI_SHARE_H

#include "block/disk.h"

typedef struct emi_share {
	em_ctx *ctx;
	emi_disk *set;
	em_errinfo err;         /* of the last call that failed */
} emi_share;

/* The public object. */
struct em_disks {
	emi_share share;
};

/* An object of so many zeroed bytes that begins with its share; NULL with err filled: as emi_scratch_acquire(). */
void *emi_share_new(em_ctx *ctx, size_t bytes, em_errinfo *err);

/* Leave the disks, free the object, and leave the context.  What the object has must be freed before. */
void emi_share_free(void *object, size_t bytes);

/* Keep the detail of a failure; returns the status. */
em_status emi_share_told(emi_share *s, em_status status, const em_errinfo *err);

/* EM_ERR_INVAL if there is no such disk. */
em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err);

#endif
