/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codes.h -- offset-value codes of records of one size, whose keys are longer than what an element holds of them.
 *
 * In a sorted sequence of records an offset-value code tells where a record's key differs from that of the one before
 * it, and with what (kern/kern.h: emi_recode_fn).  A merge that plays by them looks at records only when codes are
 * equal, where one that plays by the first bytes of keys has to look at two of them for each match between keys that
 * begin alike.
 *
 * The normalised key is cut into values of 7 bytes.  A code is one byte that is smaller the further behind the value is
 * that differs, and that value; 0 for a key that equals the one before.  Keys that agree in all of the first EMI_CODES
 * values are compared as a whole.
 */
#ifndef EMI_CODES_H
#define EMI_CODES_H

#include "key/normalise.h"
#include "key/order.h"

#define EMI_CODES 8u            /* values */

typedef struct emi_codes {
	const em_order *order;
	unsigned n;             /* values that keys are cut into; 0: this order has no codes */
	int more;               /* keys go on behind them */
	emi_prefix value[EMI_CODES]; /* the 8 bytes that begin with each, or what is left */
} emi_codes;

/* The codes of an order; lives no longer than that. */
void emi_codes_init(emi_codes *c, const em_order *order);

/* Of n elements that were loaded of sorted records: make codes of their keys.  before: the record in front of them;
 * NULL: there is none. */
void emi_codes_make(const emi_codes *c, emi_pair *elems, size_t n, const void *before);

/* Do two keys agree in all values but the last, and is that the rest of them?  Where all keys between the two of them
 * are merged, that value tells all of these apart, and nothing else has to be compared. */
int emi_codes_alike(const emi_codes *c, const void *a, const void *b);

/* Then: n records to elements with that value as their keys. */
void emi_codes_load_last(const emi_codes *c, const void *records, size_t n, emi_pair *elems);

/* An emi_recode_fn; arg is an emi_codes. */
int emi_codes_recode(void *arg, uint64_t a, uint64_t b, uint64_t code, uint64_t *lose);

#endif
