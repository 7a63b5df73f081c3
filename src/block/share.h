/* SPDX-License-Identifier: BSL-1.0 */
/*
 * share.h -- what each public object of the block layer begins with: that it is one (base/object.h), and a share in its
 * disks, so that these and the context may be closed before it.
 *
 * All objects on an em_disks are one user of the disks, so that what one of them has allocated the others may write and
 * free.
 */
#ifndef EMI_SHARE_H
#define EMI_SHARE_H

#include "base/object.h"
#include "block/store.h"
#include "block/suffice.h"

typedef struct emi_share {
	emi_object object;
	em_disks *disks;
	emi_disk *set;          /* what they are inside; NULL: a file */
	uint32_t n;             /* how many they are; 1 of a file */
	emi_store *store;       /* on them; of disks: NULL, unless all that is on them is coherent; NULL of lists */
} emi_share;

struct em_disks {
	emi_share share;
	uint32_t users;         /* the caller and other objects; atomic */
	em_file *file;          /* or NULL */
};

/* An object of so many zeroed bytes that begins with its share, and the rest as emi_object_new(). */
void *emi_share_new(em_disks *d, size_t bytes, uint32_t flags, void (*release)(void *object), em_errinfo *err);

/* Have a store on the disks.  If all that is on them is coherent it is theirs, and so is the flag that tells of a call
 * in progress. */
em_status emi_share_store(emi_share *s, em_errinfo *err);

/* Free the object and leave the disks.  What the object has must be freed before. */
void emi_share_free(void *object, size_t bytes);

/* emi_enter() for a call that is about a block.  Also EM_ERR_INVAL, if there is no such disk. */
em_status emi_share_enter_at(void *object, em_bid bid, em_errinfo *err);

/* The size of a block as a caller gave it, or the usual one if it is 0. */
uint64_t emi_share_block_bytes(const emi_share *s, uint64_t bytes);

/* The same for objects that have no store. */
void emi_share_turn(emi_share *s);

/* Free n blocks of a size, when all who have them in memory have forgotten them.  EM_ERR_STATE: one is pinned, and none
 * was freed; what others fail with is logged, if they are another's, and the first is returned. */
em_status emi_share_free_blocks(emi_share *s, const em_bid *bid, size_t n, size_t bytes, em_errinfo *err);

/* What an object wants of its context that takes so many bytes with so many blocks of that size. */
emi_wants emi_share_wants(const emi_share *s, uint64_t bytes, uint64_t blocks, uint64_t block_bytes);

/* EM_ERR_INVAL if there is no such disk. */
em_status emi_share_check(const emi_share *s, em_bid bid, em_errinfo *err);

#endif
