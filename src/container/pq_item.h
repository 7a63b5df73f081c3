/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq_item.h -- what a priority queue keeps of a record.
 *
 * An item is what the kernels sort and merge as it is.  A record of at most 16 bytes that can be made again from its
 * element (key/order.h) becomes that: a number of 4 or 8 bytes, or a pair.  So its key is made once, when it is pushed.
 * Any other record is an item itself, and its elements are loaded anew wherever items are sorted or merged.
 *
 * Items that are elements have an order of their own, which is that of numbers as this machine has them.
 *
 * Where equal keys may come in any order, a key and a rest of 8 bytes together become one number (codec_join.c), and
 * not a pair of 16.
 */
#ifndef EMI_PQ_ITEM_H
#define EMI_PQ_ITEM_H

#include "base/copy.h"
#include "key/collation.h"

typedef enum emi_pq_form {
	EMI_PQ_AS_IS,           /* an item is the record, byte for byte */
	EMI_PQ_TURNED,          /* a number of 8 bytes whose halves change places */
	EMI_PQ_JOINED,          /* the key above, the rest below */
	EMI_PQ_ELEMENT          /* what the codec loads */
} emi_pq_form;

/* What items are compared by: number, pair, or the records themselves. */
typedef enum emi_pq_kind { EMI_PQ_U32, EMI_PQ_U64, EMI_PQ_PAIR, EMI_PQ_RECORD } emi_pq_kind;

typedef struct emi_pq_items {
	emi_pq_form form;
	emi_pq_kind kind;
	size_t bytes;           /* of an item, ... */
	size_t record;          /* ... and of a record */
	unsigned rest_bits;     /* of a joined number, in whatever form; else 0 */
	int functions;          /* a function of the caller's may be called, and fail */
	em_order *order;        /* of records; a reference is held */
	const emi_codec *codec; /* of records */
	em_order *item_order;   /* of items that are elements, else NULL */
	uint32_t key_failures;  /* that the order had before */
	emi_collation by;       /* of items */
} emi_pq_items;

/* Items of an order's records, of one size.  stable: equal keys are told apart by their places, and by nothing else.
 * As em_pq_open().  What was not opened, all zero, may be closed. */
em_status emi_pq_items_open(emi_pq_items *it, const em_order *order, int stable, em_errinfo *err);
void emi_pq_items_close(emi_pq_items *it);

/* Has a function of the caller's failed?  EM_ERR_USER.  If items are made of keys that it computes, it is told once, of
 * the records that were loaded last.  If items are compared by it, it is told until the failure is forgotten, as nobody
 * knows the order of what is there. */
em_status emi_pq_items_check(emi_pq_items *it, em_errinfo *err);
void emi_pq_items_forget(emi_pq_items *it);

/* n records to items, aligned as these are, and back.  They do not overlap. */
void emi_pq_load(const emi_pq_items *it, const char *records, size_t n, char *items);
void emi_pq_store(const emi_pq_items *it, const char *items, size_t n, char *records);

static inline uint64_t emi_pq_turn(uint64_t x)
{
	return x << 32 | x >> 32;
}

/* The same with one. */
static inline void emi_pq_load_one(const emi_pq_items *it, const char *record, char *item)
{
	uint64_t x;

	switch (it->form) {
	case EMI_PQ_AS_IS:
		emi_copy(item, record, it->record);
		break;
	case EMI_PQ_TURNED:
		memcpy(&x, record, sizeof x);
		x = emi_pq_turn(x);
		memcpy(item, &x, sizeof x);
		break;
	case EMI_PQ_JOINED:
	case EMI_PQ_ELEMENT:
	default:
		emi_pq_load(it, record, 1, item);
	}
}

static inline void emi_pq_store_one(const emi_pq_items *it, const char *item, char *record)
{
	uint64_t x;

	switch (it->form) {
	case EMI_PQ_AS_IS:
		emi_copy(record, item, it->record);
		break;
	case EMI_PQ_TURNED:
		memcpy(&x, item, sizeof x);
		x = emi_pq_turn(x);
		memcpy(record, &x, sizeof x);
		break;
	case EMI_PQ_JOINED:
	case EMI_PQ_ELEMENT:
	default:
		emi_pq_store(it, item, 1, record);
	}
}

/* What an item is compared by: of a record that is one, its address, too, so that it has to stay there. */
static inline emi_pair emi_pq_pair(const emi_pq_items *it, const char *item)
{
	emi_pair p = { 0, 0 };
	uint32_t x;

	switch (it->kind) {
	case EMI_PQ_U32:
		memcpy(&x, item, sizeof x);
		p.key = x;
		break;
	case EMI_PQ_U64:
		memcpy(&p.key, item, sizeof p.key);
		break;
	case EMI_PQ_PAIR:
		memcpy(&p, item, sizeof p);
		break;
	case EMI_PQ_RECORD:
	default:
		p.key = emi_collation_key(&it->by, item);
		p.val = emi_collation_val(&it->by, item);
	}
	return p;
}

/* What to compare items with that come before another one, or are equal to it, too.  The rest of a joined number does
 * not count. */
static inline emi_pair emi_pq_bound(const emi_pq_items *it, const char *item, int inclusive)
{
	const uint64_t rest = ((uint64_t)1 << it->rest_bits) - 1;
	emi_pair p = emi_pq_pair(it, item);

	p.key = inclusive ? p.key | rest : p.key & ~rest;
	return p;
}

/* Does an item come before the one that p was made of? */
static inline int emi_pq_before(const emi_pq_items *it, const char *item, const emi_pair *p)
{
	const emi_pair mine = emi_pq_pair(it, item);

	return emi_pair_compare(&it->by.tie, &mine, p) < 0;
}

#endif
