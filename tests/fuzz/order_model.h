/* SPDX-License-Identifier: BSL-1.0 */
/*
 * order_model.h -- what fuzz targets share: key fields made of bytes, and what they mean, in the most literal way.
 */
#ifndef EM_FUZZ_ORDER_MODEL_H
#define EM_FUZZ_ORDER_MODEL_H

#include <extmem/order.h>

#define ORDER_KEYS_MOST 4u
#define ORDER_KEY_BYTES 4u      /* of input for a field */

/* A field of four bytes; most of them are wrong for a record of few bytes. */
em_key order_key_any(const unsigned char *p);

/* One that is right for a record of so many bytes. */
em_key order_key_right(const unsigned char *p, size_t record_bytes);

/* What making an order of n fields is to return, and the first field that is wrong. */
em_status order_verdict(const em_key *key, uint32_t n, uint64_t record_bytes, uint32_t *wrong);

/* Compare two records by n right fields, or none, which is all bytes: -1, 0, 1. */
int order_compare(const em_key *key, uint32_t n, size_t record_bytes, const unsigned char *a, const unsigned char *b);

#endif
