/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_wide.c -- keys of 9 to 16 bytes that are the whole record: hashes, UUIDs, addresses, two numbers.
 *
 * The element is a pair whose value is the second half of the key.  So records of 16 bytes are sorted where they are
 * and none is looked up for a tie, as would be with a reference: kernels compare the values of equal keys.
 *
 * Fields of 8 bytes, or byte strings, are two whole words, in this machine's byte order or the other.  For these the
 * loops know the width; anything else goes piece by piece.
 */
#include "key/order_impl.h"

static uint64_t key_wide(const em_order *o, const void *record)
{
	return emi_prefix_get(&o->prefix, record);
}

static uint64_t low_wide(const em_order *o, const void *record)
{
	return emi_prefix_get(&o->low, record);
}

/* In place, each record is read before it is written. */
static void load_any(const em_order *o, const void *records, size_t n, void *elems)
{
	const emi_prefix high = o->prefix, low = o->low;
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	emi_pair *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const uint64_t key = emi_prefix_get(&high, record);

		e[i].val = emi_prefix_get(&low, record);
		e[i].key = key;
	}
}

static void store_any(const em_order *o, const void *elems, size_t n, void *records)
{
	const emi_prefix high = o->prefix, low = o->low;
	const size_t step = o->record_bytes;
	const emi_pair *e = elems;
	unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const emi_pair pair = e[i];

		emi_prefix_put(&high, record, pair.key);
		emi_prefix_put(&low, record, pair.val);
	}
}

EMI_INLINE void load_words(const em_order *o, const unsigned char *records, size_t n, emi_pair *e, int swap)
{
	const unsigned char *high = records + o->prefix.key.piece[0].at, *low = records + o->low.key.piece[0].at;
	size_t i;

	for (i = 0; i < n; i++) {
		const uint64_t key = emi_get(high + i * sizeof *e, 8, swap) ^ o->prefix.flip;

		e[i].val = emi_get(low + i * sizeof *e, 8, swap) ^ o->low.flip;
		e[i].key = key;
	}
}

EMI_INLINE void store_words(const em_order *o, const emi_pair *e, size_t n, unsigned char *records, int swap)
{
	unsigned char *high = records + o->prefix.key.piece[0].at, *low = records + o->low.key.piece[0].at;
	size_t i;

	for (i = 0; i < n; i++) {
		const emi_pair pair = e[i];

		emi_put(high + i * sizeof pair, 8, swap, pair.key ^ o->prefix.flip);
		emi_put(low + i * sizeof pair, 8, swap, pair.val ^ o->low.flip);
	}
}

static void load_native(const em_order *o, const void *records, size_t n, void *elems)
{
	load_words(o, records, n, elems, 0);
}

static void store_native(const em_order *o, const void *elems, size_t n, void *records)
{
	store_words(o, elems, n, records, 0);
}

static void load_foreign(const em_order *o, const void *records, size_t n, void *elems)
{
	load_words(o, records, n, elems, 1);
}

static void store_foreign(const em_order *o, const void *elems, size_t n, void *records)
{
	store_words(o, elems, n, records, 1);
}

/* Do both halves of the key have each byte of the record once? */
static int covers(const em_order *o)
{
	uint32_t seen = 0;
	unsigned i;

	for (i = 0; i < o->prefix.key.n; i++)
		seen |= (uint32_t)1 << o->prefix.key.at[i];
	for (i = 0; i < o->low.key.n; i++)
		seen |= (uint32_t)1 << o->low.key.at[i];
	return seen == ((uint32_t)1 << o->record_bytes) - 1;
}

/* Is it one word of 8 bytes without a float's sign, of this kind (see emi_piece)? */
static int is_word(const emi_prefix *p, int kind)
{
	return p->key.npieces == 1 && p->key.piece[0].kind == kind && p->nsigns == 0;
}

int emi_codec_wide(em_order *o, size_t width)
{
	emi_codec *c = &o->codec;

	if (o->cmp != NULL || width <= EMI_PREFIX_MAX || width > 2 * EMI_PREFIX_MAX || width != o->record_bytes ||
	    emi_cuts_float(o->fields, o->nfields, EMI_PREFIX_MAX))
		return 0;
	emi_prefix_make(&o->low, o->fields, o->nfields, EMI_PREFIX_MAX);
	if (!covers(o))
		return 0;
	c->elem = EMI_ELEM_PAIR;
	c->elem_bytes = sizeof(emi_pair);
	c->key = key_wide;
	c->low = low_wide;
	c->load = load_any;
	c->store = store_any;
	if (is_word(&o->prefix, 8) && is_word(&o->low, 8)) {
		c->load = load_native;
		c->store = store_native;
	} else if (is_word(&o->prefix, -8) && is_word(&o->low, -8)) {
		c->load = load_foreign;
		c->store = store_foreign;
	}
	return 1;
}
