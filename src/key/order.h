/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order.h -- what the engine knows about an order: how to turn records into elements and back.
 *
 * An em_order holds key fields, a function that computes keys, or one that compares.  Its codec says which element of
 * the kernels (kern/kern.h) a record becomes:
 *
 *   U32, U64   the key fields together are the whole record, of at most 4 or 8 bytes: the
 *              element is the normalised key and the record can be made from it
 *   PAIR       the normalised key has at most 8 bytes and at most 8 others remain: they
 *              travel in val, and the record can be made from both
 *              Also a key of 9 to 16 bytes that is the whole record: its first 8 bytes are the element's key, the
 *              others are val, which then takes part in comparisons (`low')
 *   REF        anything else: a PAIR whose key is the first 8 bytes of the normalised key
 *              and whose val is the address of the record
 *   OWN        the order has kernels of its own (extmem/gen/kernels.h): the record itself, with a key of 0.  A function
 *              of the caller's, too, for records of some small sizes (order_cmp.c)
 *
 * `exact' says that equal element keys are equal keys; otherwise `tie' compares the rest, given the values: addresses
 * for a REF.  `identity' says that a record is its element, byte for byte: no conversion is needed.
 *
 * A key that a function computes is a PAIR with records of up to 8 bytes, a REF with others; both are exact.
 * Key fields that overlap make a record a REF, as it could not be made again from its key.  An order that is
 * a function, and has no kernels, is a REF whose keys are all 0 and never exact.
 *
 * What a caller has to see to:
 *
 *   - records may lie at any address; elements must be aligned for their type; n may be 0;
 *   - load and store work in place, on exactly the same memory, when elem_bytes == record_bytes; any other
 *     overlap of records and elements is an error.  A load in place makes no sense for a REF: its values are the
 *     addresses of the records it would overwrite;
 *   - with a REF the records stay where they are, unchanged, until their elements were stored, and store must
 *     not write over them;
 *   - in elements with less than 8 bytes of key, or of rest, the upper bits are 0;
 *   - how the rest of a record lies in val is the codec's business.
 *
 * Normalisation keeps the order: a field becomes bytes that memcmp() would compare, that is big-endian, sign bit
 * flipped for signed integers, all bits flipped for negative floats and only the sign for others, all
 * bits flipped once more if descending; the fields' bytes follow one another and are read as a number.
 */
#ifndef EMI_ORDER_H
#define EMI_ORDER_H

#include <extmem/order.h>

#include "kern/kern.h"

typedef struct emi_codec {
	emi_elem elem;
	int ref;                /* val is the record's address */
	int exact;
	int identity;
	size_t record_bytes;
	size_t elem_bytes;      /* 4, 8 or 16; OWN: record_bytes */
	/* n records, one behind the other at any alignment, to elements (aligned for their type).  Where
	 * elem_bytes == record_bytes the two may be the same memory. */
	void (*load)(const em_order *o, const void *records, size_t n, void *elems);
	/* n elements back to records; ref: copies from where they point.  The same memory is allowed as above. */
	void (*store)(const em_order *o, const void *elems, size_t n, void *records);
	/* The element key of one record (what load would give). */
	uint64_t (*key)(const em_order *o, const void *record);
	/* The element value of one record where it is the second half of the key, otherwise NULL. */
	uint64_t (*low)(const em_order *o, const void *record);
	size_t align;           /* of elements */
} emi_codec;

/* What the tie function of an order that is not exact wants to know of a record. */
static inline uint64_t emi_codec_val(const emi_codec *c, const em_order *o, const void *record)
{
	return c->low != NULL ? c->low(o, record) : (uint64_t)(uintptr_t)record;
}

/* The record of an element, where that is somewhere; NULL if it has to be made by store(). */
static inline const void *emi_elem_record(const emi_codec *c, const void *elem)
{
	if (c->elem == EMI_ELEM_OWN)
		return elem;
	return c->ref ? (const void *)(uintptr_t)((const emi_pair *)elem)->val : NULL;
}

/* Can elements take the place of their records, in the same memory? */
static inline int emi_codec_in_place(const emi_codec *c)
{
	return !c->ref && c->elem_bytes == c->record_bytes;
}

/* The codec of an order; lives as long as the order. */
const emi_codec *emi_order_codec(const em_order *o);

/* What a sorter keeps for the comparisons it makes: the failure of an order's function is latched here, not in the
 * order, which others share.  One thread compares by it at a time if it is watched, else any number. */
typedef struct emi_compare {
	const em_order *order;
	int failed;             /* the function returned EM_CMP_ERROR */
	/* To watch a function that takes its time, now and then; NULL: nobody wants to.  Not EM_OK: it is not to be
	 * called any more. */
	em_status (*tick)(void *arg);
	void *tick_arg;
	/* The rest is for src/key. */
	em_cmp_fn fn;           /* the function, or one that always says "equal" */
	void *user;
	uint32_t calls;         /* until the next tick */
} emi_compare;

/* The tie function of an order for the kernels: fn is NULL when the codec is exact, otherwise it compares two records
 * by what emi_codec_val() says of them and cmp is its argument: cmp->failed, tick and tick_arg are the caller's to
 * clear or to set before, the rest is set here.  cmp->failed is to be looked at after; it is written and should be read
 * atomically.  Once it is set the function is not called any more. */
emi_tie emi_order_tie(const em_order *o, emi_compare *cmp);

/* The kernels of an order whose elements are EMI_ELEM_OWN, otherwise NULL; and their argument, cmp being what
 * emi_order_tie() was given. */
const em_kernels *emi_order_own(const em_order *o);
void *emi_order_own_arg(const em_order *o, emi_compare *cmp);

/* Is there a function of the caller's that must run on the calling thread? */
int emi_order_on_caller(const em_order *o);

/* As em_order_compare(), of records of one size; *failed becomes 1 when a function of the caller's fails. */
int emi_order_compare(const em_order *o, const void *a, const void *b, int *failed);

/* How often the function that computes keys has failed so far. */
uint32_t emi_order_key_failures(const em_order *o);

/* Is a function of the caller's called? */
int emi_order_calls(const em_order *o);

/* If a record's key and its rest fit into 64 bits together, and elements hold them apart, how many bits are the rest's?
 * Else 0. */
unsigned emi_order_joined_bits(const em_order *o);

/* Keep a reference; em_order_close() drops it. */
void emi_order_ref(em_order *o);

em_ctx *emi_order_ctx(const em_order *o);

/* The first bytes of a record that it looks at: up to the end of the last field; of a function all. */
size_t emi_order_reach(const em_order *o);

/* A number of 4 or 8 bytes of a record, that becomes the element key, when some of its bits are
 * inverted. */
typedef struct emi_number {
	size_t at;
	unsigned width;         /* 4 or 8 */
	int swap;               /* its bytes are in the other order */
	uint64_t flip;
} emi_number;

/* Is that all that the element key of a record is made of?  Then whoever compares many can do without the codec. */
int emi_order_number(const em_order *o, emi_number *number);

/* Is it by key fields, which may lie at any address? */
int emi_order_by_fields(const em_order *o);

#endif
