/* SPDX-License-Identifier: BSL-1.0 */
/*
 * keeper.h -- the record that others are compared with, to know which are equal to it.
 *
 * Records come as elements (kern/kern.h) in batches, which refer to memory that is gone when the batch is.  Most groups
 * of equal records begin and end within a batch: so a record is only held, and copied when its batch ends before its
 * group does.
 *
 * The value of an element of a record of any length is the address of an emi_frame.
 */
#ifndef EMI_KEEPER_H
#define EMI_KEEPER_H

#include "key/collation.h"

/* An element of any kind. */
typedef union emi_any_elem {
	uint32_t u32;
	uint64_t u64;
	emi_pair pair;
} emi_any_elem;

typedef struct emi_keeper {
	const emi_collation *by;
	const emi_vary *v;      /* NULL: records of one size */
	int have;               /* there is a record */
	int there;              /* nothing that it needs is the batch's */
	emi_any_elem elem;      /* of a record that is its element: a pair with its address */
	emi_frame frame;        /* any length: what elem refers to */
	unsigned char *room;    /* for the copy */
	size_t room_bytes;
} emi_keeper;

void emi_keeper_init(emi_keeper *k, const emi_collation *by);
/* All zeroes need no freeing. */
void emi_keeper_free(emi_keeper *k);

/* Most bytes that it allocates when the longest record has so many; and having room for a record of n bytes at once. */
uint64_t emi_keeper_memory(uint64_t longest);
em_status emi_keeper_reserve(emi_keeper *k, size_t n, em_errinfo *err);

/* The element of the record that is held. */
static inline const void *emi_keeper_elem(const emi_keeper *k)
{
	return k->by->own != NULL ? (const void *)(uintptr_t)k->elem.pair.val : &k->elem;
}

/* Hold the record of an element. */
void emi_keeper_hold(emi_keeper *k, const void *elem);

/* The batch ends: copy what is still needed of it. */
em_status emi_keeper_settle(emi_keeper *k, em_errinfo *err);

/* Is there a record that equals that of an element? */
int emi_keeper_same(const emi_keeper *k, const void *elem);

#endif
