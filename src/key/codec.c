/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec.c -- which element a record becomes.
 *
 * A record can be made again from its element when the element holds each of its bytes: the key
 * fields do not overlap and have at most 8 bytes, and what is left has at most 8 too.  All other
 * records stay where they are and the element refers to them.  Overlapping fields are
 * not worth a closer look: nobody sorts small records by the same byte twice.
 *
 * How a record becomes its element depends on its shape.  The functions for it are chosen here,
 * once, and run over whole blocks, so nothing is decided record by record:
 *
 *   identity   the record is the element
 *   number     the prefix is 1, 2, 4 or 8 bytes side by side in one or the other byte order,
 *              which is what nearly everybody has (codec_number.c)
 *   any        piece by piece (codec_any.c)
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

/* The width of the key, or SIZE_MAX when it is that or more. */
static size_t key_width(const em_order *o)
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

/* Is every byte of the element the byte of the record at the same place? */
static int is_identity(const emi_prefix *p, const emi_codec *c)
{
	unsigned i;

	/* Floats always have something to flip. */
	if (c->ref || c->record_bytes != c->elem_bytes || p->flip != 0)
		return 0;
	/* Elements of records as large as they are have whole words for key and val; the
	 * order of the bytes in val is ours to choose, the key's bytes have to be in place. */
	if (p->key.n != (c->elem == EMI_ELEM_U32 ? 4 : 8))
		return 0;
	for (i = 0; i < p->key.n; i++) {
		if (p->key.at[i] != (EMI_BIG_ENDIAN ? i : p->key.n - 1 - i))
			return 0;
	}
	return 1;
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
	c->mixes = o->own->mix != NULL;
	c->load = load_identity;
	c->store = store_identity;
	c->key = key_none;
}

void emi_codec_choose(em_order *o)
{
	const size_t width = key_width(o);
	emi_prefix *p = &o->prefix;
	emi_codec *c = &o->codec;

	if (o->own != NULL) {
		choose_own(o);
		return;
	}
	emi_prefix_make(p, o->fields, o->nfields);
	memset(c, 0, sizeof(*c));
	c->record_bytes = o->record_bytes;
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
	c->align = c->elem_bytes < sizeof(uint64_t) ? c->elem_bytes : sizeof(uint64_t);
	c->mixes = c->elem != EMI_ELEM_PAIR;
	c->identity = is_identity(p, c);
	if (!emi_codec_number(o, c))
		emi_codec_any(c);
	if (c->identity) {
		c->load = load_identity;
		c->store = store_identity;
	}
}
