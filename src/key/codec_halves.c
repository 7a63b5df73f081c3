/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_halves.c -- codecs for records whose prefix is two numbers of 4 bytes: the edges of graphs, points, and pairs
 * of ids.
 *
 * Piece by piece (codec_any.c) these take some three times as long, as each piece has a kind that is looked at.  Both
 * numbers are in this machine's byte order, wherever in the record; in the other one they are a number of 8 bytes, or
 * rare.  What is left of the record is nothing, or 4 or 8 bytes side by side.
 */
#include "key/order_impl.h"

typedef struct halves {
	size_t high, low;       /* where the two numbers are, ... */
	size_t rest;            /* ... and what else there is */
	uint64_t flip;
} halves;

EMI_INLINE halves places(const em_order *o)
{
	const emi_prefix *p = &o->prefix;
	const halves h = { p->key.piece[0].at, p->key.piece[1].at, p->rest.n != 0 ? p->rest.piece[0].at : 0, p->flip };

	return h;
}

EMI_INLINE uint64_t get_halves(const unsigned char *record, const halves *h)
{
	return (emi_get(record + h->high, 4, 0) << 32 | emi_get(record + h->low, 4, 0)) ^ h->flip;
}

EMI_INLINE void put_halves(unsigned char *record, const halves *h, uint64_t key)
{
	emi_put(record + h->high, 4, 0, (key ^ h->flip) >> 32);
	emi_put(record + h->low, 4, 0, key ^ h->flip);
}

static uint64_t key_halves(const em_order *o, const void *record)
{
	const halves h = places(o);

	return get_halves(record, &h);
}

static void load_bare(const em_order *o, const void *records, size_t n, void *elems)
{
	const halves h = places(o);
	const unsigned char *record = records;
	uint64_t *e = elems;
	size_t i;

	for (i = 0; i < n; i++)
		e[i] = get_halves(record + i * 8, &h);
}

static void store_bare(const em_order *o, const void *elems, size_t n, void *records)
{
	const halves h = places(o);
	unsigned char *record = records;
	const uint64_t *e = elems;
	size_t i;

	for (i = 0; i < n; i++)
		put_halves(record + i * 8, &h, e[i]);
}

static void load_ref(const em_order *o, const void *records, size_t n, void *elems)
{
	const halves h = places(o);
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	emi_pair *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		e[i].key = get_halves(record, &h);
		e[i].val = (uint64_t)(uintptr_t)record;
	}
}

/* The rest has `rest' bytes.  In place, each record is read before it is written. */
EMI_INLINE void load_pair(const em_order *o, const unsigned char *record, size_t n, emi_pair *e, unsigned rest)
{
	const halves h = places(o);
	size_t i;

	for (i = 0; i < n; i++, record += 8 + rest) {
		const uint64_t key = get_halves(record, &h);

		e[i].val = emi_get(record + h.rest, rest, 0);
		e[i].key = key;
	}
}

EMI_INLINE void store_pair(const em_order *o, const emi_pair *e, size_t n, unsigned char *record, unsigned rest)
{
	const halves h = places(o);
	size_t i;

	for (i = 0; i < n; i++, record += 8 + rest) {
		const emi_pair pair = e[i];

		put_halves(record, &h, pair.key);
		emi_put(record + h.rest, rest, 0, pair.val);
	}
}

static void load_pair4(const em_order *o, const void *records, size_t n, void *elems)
{
	load_pair(o, records, n, elems, 4);
}

static void store_pair4(const em_order *o, const void *elems, size_t n, void *records)
{
	store_pair(o, elems, n, records, 4);
}

static void load_pair8(const em_order *o, const void *records, size_t n, void *elems)
{
	load_pair(o, records, n, elems, 8);
}

static void store_pair8(const em_order *o, const void *elems, size_t n, void *records)
{
	store_pair(o, elems, n, records, 8);
}

/* Is the rest one number of so many bytes? */
static int rest_is(const emi_prefix *p, unsigned bytes)
{
	return p->rest.n == bytes && p->rest.npieces == 1;
}

int emi_codec_halves(const em_order *o, emi_codec *c)
{
	const emi_prefix *p = &o->prefix;

	if (p->key.npieces != 2 || p->key.piece[0].kind != 4 || p->key.piece[1].kind != 4 || p->nsigns != 0)
		return 0;
	if (c->ref) {
		c->load = load_ref;
		c->store = emi_store_ref;
	} else if (p->rest.n == 0) {
		c->load = load_bare;
		c->store = store_bare;
	} else if (rest_is(p, 4)) {
		c->load = load_pair4;
		c->store = store_pair4;
	} else if (rest_is(p, 8)) {
		c->load = load_pair8;
		c->store = store_pair8;
	} else {
		return 0;
	}
	c->key = key_halves;
	return 1;
}
