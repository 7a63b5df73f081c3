/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec.c -- which element a record becomes.
 *
 * A record can be made again from its element when the element holds each of its bytes: the key
 * fields do not overlap and have at most 8 bytes, and what is left has at most 8 too; or when the key is
 * all of it and has at most 16.  All other
 * records stay where they are and the element refers to them.  Overlapping fields are
 * not worth a closer look: nobody sorts small records by the same byte twice.
 *
 * How a record becomes its element depends on its shape.  The functions for it are chosen here,
 * once, and run over whole blocks, so nothing is decided record by record:
 *
 *   identity   the record is the element
 *   number     the prefix is 1, 2, 4 or 8 bytes side by side in one or the other byte order,
 *              which is what nearly everybody has (codec_number.c)
 *   halves     the prefix is two numbers of 4 bytes (codec_halves.c)
 *   wide       keys of 9 to 16 bytes that are the whole record (codec_wide.c)
 *   any        piece by piece (codec_any.c)
 *   computed   by a function of the caller's (order_key_fn.c)
 *
 * Records of an order that has kernels of its own are elements as they are.
 */
#include "key/order_impl.h"

static void load_identity(const em_order *o, const void *records, size_t n, void *elems)
{
	if (elems != records && n > 0)
		memcpy(elems, records, n * o->codec.elem_bytes);
}

static void store_identity(const em_order *o, const void *elems, size_t n, void *records)
{
	if (elems != records && n > 0)
		memcpy(records, elems, n * o->codec.elem_bytes);
}

size_t emi_key_width(const em_order *o)
{
	size_t width = 0;
	uint32_t i;

	for (i = 0; i < o->nfields; i++) {
		if (o->fields[i].width > SIZE_MAX - width)
			return SIZE_MAX;
		width += o->fields[i].width;
	}
	return width;
}

/* Is the byte of the record at this offset among them? */
static int has_byte(const emi_bytes *b, size_t offset)
{
	unsigned i;

	for (i = 0; i < b->n; i++) {
		if (b->at[i] == offset)
			return 1;
	}
	return 0;
}

/* Collect the bytes of a record of at most 16 that its key does not tell.  Returns 0 when they are too many, which
 * they also are when the key tells some byte twice. */
static int find_rest(emi_prefix *p, size_t record_bytes)
{
	const size_t n = record_bytes - p->key.n;
	emi_bytes *rest = &p->rest;
	size_t offset;

	for (offset = 0; offset < record_bytes; offset++) {
		if (has_byte(&p->key, offset))
			continue;
		if (rest->n == n) {
			rest->n = 0;
			return 0;
		}
		rest->at[rest->n++] = offset;
	}
	emi_bytes_cut(rest);
	return 1;
}

/* Are the bytes of the key those of a number of n bytes, as this machine has it, at this place of the record? */
static int is_number(const emi_bytes *key, unsigned n, size_t at)
{
	unsigned i;

	for (i = 0; i < n && i < key->n; i++) {
		if (key->at[i] != at + (EMI_BIG_ENDIAN ? i : n - 1 - i))
			return 0;
	}
	return key->n == n;
}

/* Is every byte of the element the byte of the record at the same place? */
static int is_identity(const em_order *o, const emi_codec *c)
{
	const emi_prefix *p = &o->prefix;

	/* Floats always have something to flip. */
	if (c->ref || c->record_bytes != c->elem_bytes || p->flip != 0)
		return 0;
	/* Elements of records as large as they are have whole words for key and val; the
	 * order of the bytes in val is ours to choose unless they are part of the key. */
	if (c->low != NULL && (o->low.flip != 0 || !is_number(&o->low.key, 8, 8)))
		return 0;
	return is_number(&p->key, c->elem == EMI_ELEM_U32 ? 4 : 8, 0);
}

static uint64_t key_none(const em_order *o, const void *record)
{
	(void)o;
	(void)record;
	return 0;
}

/* What records of this size can be aligned to in an array, up to what C types ask for. */
static size_t natural_align(size_t record_bytes)
{
	const size_t most = 16, align = record_bytes & (0 - record_bytes);

	return align < most ? align : most;
}

static void choose_own(em_order *o)
{
	emi_codec *c = &o->codec;

	memset(c, 0, sizeof(*c));
	c->elem = EMI_ELEM_OWN;
	c->identity = 1;
	c->record_bytes = o->record_bytes;
	c->elem_bytes = o->record_bytes;
	c->align = o->cmp != NULL ? natural_align(o->record_bytes) : o->own->record_align;
	c->load = load_identity;
	c->store = store_identity;
	c->key = key_none;
}

/* The element of a key of at most 8 bytes, or of a record that stays where it is. */
static void choose_prefix(em_order *o, size_t width)
{
	emi_prefix *p = &o->prefix;
	emi_codec *c = &o->codec;

	c->exact = o->cmp == NULL && width <= EMI_PREFIX_MAX;
	c->ref = !c->exact || c->record_bytes < width || c->record_bytes - width > EMI_PREFIX_MAX ||
		 !find_rest(p, c->record_bytes);
	if (c->ref || p->rest.n > 0) {
		c->elem = EMI_ELEM_PAIR;
		c->elem_bytes = sizeof(emi_pair);
	} else if (c->record_bytes <= 4) {
		c->elem = EMI_ELEM_U32;
		c->elem_bytes = 4;
	} else {
		c->elem = EMI_ELEM_U64;
		c->elem_bytes = 8;
	}
	if (!emi_codec_number(o, c) && !emi_codec_halves(o, c))
		emi_codec_any(c);
}

void emi_codec_choose(em_order *o)
{
	const size_t width = emi_key_width(o);
	emi_codec *c = &o->codec;

	if (o->own != NULL) {
		choose_own(o);
		return;
	}
	memset(c, 0, sizeof(*c));
	c->record_bytes = o->record_bytes;
	if (o->key_fn != NULL) {
		emi_codec_key_fn(o, c);
		return;
	}
	emi_prefix_make(&o->prefix, o->fields, o->nfields, 0);
	if (!emi_codec_wide(o, width))
		choose_prefix(o, width);
	c->align = c->elem_bytes < sizeof(uint64_t) ? c->elem_bytes : sizeof(uint64_t);
	c->identity = is_identity(o, c);
	if (c->identity) {
		c->load = load_identity;
		c->store = store_identity;
	}
}
