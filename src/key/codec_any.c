/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_any.c -- codecs for any prefix and any rest, byte by byte.
 *
 * The byte counts are the same for every record, so the loops over records are made once for each number
 * of key bytes: with it constant, the loop over bytes disappears.
 */
#include "key/order_impl.h"

static uint64_t key_any(const em_order *o, const void *record)
{
	return emi_prefix_get(&o->prefix, record, o->prefix.n);
}

/* Elements that are nothing but their key. */
EMI_INLINE void load_bare(const em_order *o, const unsigned char *record, size_t n, void *elems, unsigned width)
{
	const emi_prefix p = o->prefix;
	uint32_t *e32 = elems;
	uint64_t *e64 = elems;
	size_t i;

	for (i = 0; i < n; i++, record += width) {
		if (width <= 4)
			e32[i] = (uint32_t)emi_prefix_get(&p, record, width);
		else
			e64[i] = emi_prefix_get(&p, record, width);
	}
}

EMI_INLINE void store_bare(const em_order *o, const void *elems, size_t n, unsigned char *record, unsigned width)
{
	const emi_prefix p = o->prefix;
	const uint32_t *e32 = elems;
	const uint64_t *e64 = elems;
	size_t i;

	for (i = 0; i < n; i++, record += width)
		emi_prefix_put(&p, record, width, width <= 4 ? e32[i] : e64[i]);
}

/* Pairs: val is the rest of the record, or its address. */
EMI_INLINE void load_pair(const em_order *o, const unsigned char *record, size_t n, emi_pair *e, unsigned width)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const int ref = o->codec.ref;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const uint64_t key = emi_prefix_get(&p, record, width);

		/* Both are computed before either is written: the record may be where the element goes. */
		e[i].val = ref ? (uint64_t)(uintptr_t)record : emi_gather(record, p.rest, p.nrest);
		e[i].key = key;
	}
}

EMI_INLINE void store_pair(const em_order *o, const emi_pair *e, size_t n, unsigned char *record, unsigned width)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const emi_pair pair = e[i];

		emi_prefix_put(&p, record, width, pair.key);
		emi_spread(record, p.rest, p.nrest, pair.val);
	}
}

static void load_any_bare(const em_order *o, const void *records, size_t n, void *elems)
{
	switch (o->prefix.n) {
	case 1: load_bare(o, records, n, elems, 1); break;
	case 2: load_bare(o, records, n, elems, 2); break;
	case 3: load_bare(o, records, n, elems, 3); break;
	case 4: load_bare(o, records, n, elems, 4); break;
	case 5: load_bare(o, records, n, elems, 5); break;
	case 6: load_bare(o, records, n, elems, 6); break;
	case 7: load_bare(o, records, n, elems, 7); break;
	default: load_bare(o, records, n, elems, 8); break;
	}
}

static void store_any_bare(const em_order *o, const void *elems, size_t n, void *records)
{
	switch (o->prefix.n) {
	case 1: store_bare(o, elems, n, records, 1); break;
	case 2: store_bare(o, elems, n, records, 2); break;
	case 3: store_bare(o, elems, n, records, 3); break;
	case 4: store_bare(o, elems, n, records, 4); break;
	case 5: store_bare(o, elems, n, records, 5); break;
	case 6: store_bare(o, elems, n, records, 6); break;
	case 7: store_bare(o, elems, n, records, 7); break;
	default: store_bare(o, elems, n, records, 8); break;
	}
}

/* Only here a prefix can have no bytes at all: the order is a function. */
static void load_any_pair(const em_order *o, const void *records, size_t n, void *elems)
{
	switch (o->prefix.n) {
	case 0: load_pair(o, records, n, elems, 0); break;
	case 4: load_pair(o, records, n, elems, 4); break;
	case 8: load_pair(o, records, n, elems, 8); break;
	default: load_pair(o, records, n, elems, o->prefix.n); break;
	}
}

static void store_any_pair(const em_order *o, const void *elems, size_t n, void *records)
{
	switch (o->prefix.n) {
	case 4: store_pair(o, elems, n, records, 4); break;
	case 8: store_pair(o, elems, n, records, 8); break;
	default: store_pair(o, elems, n, records, o->prefix.n); break;
	}
}

void emi_codec_any(emi_codec *c)
{
	c->key = key_any;
	if (c->elem != EMI_ELEM_PAIR) {
		c->load = load_any_bare;
		c->store = store_any_bare;
	} else {
		c->load = load_any_pair;
		c->store = c->ref ? emi_store_ref : store_any_pair;
	}
}
