/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_any.c -- codecs for any prefix and any rest, piece by piece.
 */
#include "key/order_impl.h"

static uint64_t key_any(const em_order *o, const void *record)
{
	return emi_prefix_get(&o->prefix, record);
}

/* Elements that are nothing but their key. */
static void load_u32(const em_order *o, const void *records, size_t n, void *elems)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	uint32_t *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step)
		e[i] = (uint32_t)emi_prefix_get(&p, record);
}

static void store_u32(const em_order *o, const void *elems, size_t n, void *records)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const uint32_t *e = elems;
	unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += step)
		emi_prefix_put(&p, record, e[i]);
}

static void load_u64(const em_order *o, const void *records, size_t n, void *elems)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	uint64_t *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step)
		e[i] = emi_prefix_get(&p, record);
}

static void store_u64(const em_order *o, const void *elems, size_t n, void *records)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const uint64_t *e = elems;
	unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += step)
		emi_prefix_put(&p, record, e[i]);
}

/* Elements with the rest of their record.  They may be where the record is: each is read before it is written. */
static void load_pair(const em_order *o, const void *records, size_t n, void *elems)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	emi_pair *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const uint64_t key = emi_prefix_get(&p, record);

		e[i].val = emi_gather(record, &p.rest);
		e[i].key = key;
	}
}

static void store_pair(const em_order *o, const void *elems, size_t n, void *records)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const emi_pair *e = elems;
	unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		const emi_pair pair = e[i];

		emi_prefix_put(&p, record, pair.key);
		emi_spread(record, &p.rest, pair.val);
	}
}

static void load_ref(const em_order *o, const void *records, size_t n, void *elems)
{
	const emi_prefix p = o->prefix;
	const size_t step = o->record_bytes;
	const unsigned char *record = records;
	emi_pair *e = elems;
	size_t i;

	for (i = 0; i < n; i++, record += step) {
		e[i].key = emi_prefix_get(&p, record);
		e[i].val = (uint64_t)(uintptr_t)record;
	}
}

void emi_codec_any(emi_codec *c)
{
	c->key = key_any;
	if (c->elem == EMI_ELEM_U32) {
		c->load = load_u32;
		c->store = store_u32;
	} else if (c->elem == EMI_ELEM_U64) {
		c->load = load_u64;
		c->store = store_u64;
	} else if (c->ref) {
		c->load = load_ref;
		c->store = emi_store_ref;
	} else {
		c->load = load_pair;
		c->store = store_pair;
	}
}
