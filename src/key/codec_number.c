/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_number.c -- codecs for records whose prefix is one number.
 *
 * A prefix is a number when it is one piece, 1, 2, 4 or 8 bytes side by side upwards (big-endian) or downwards
 * (little-endian), and at most its highest bit is a float's sign.  So it covers single fields of every
 * numeric type, the first 8 bytes of a byte string, and neighbours like u32be@0,u32be@4.  Sign and
 * direction are a constant to exclusive-or with and need no functions of their own.
 */
#include "key/order_impl.h"

typedef void load_fn(const em_order *o, const void *records, size_t n, void *elems);
typedef void store_fn(const em_order *o, const void *elems, size_t n, void *records);

typedef struct number_codec {
	unsigned width;
	int swap;
	int is_float;
	uint64_t (*key)(const em_order *o, const void *record);
	load_fn *load_bare;
	store_fn *store_bare;
	load_fn *load_ref;
	load_fn *load_pair4;            /* and 4 other bytes */
	store_fn *store_pair4;
	load_fn *load_pair8;
	store_fn *store_pair8;
} number_codec;

/* Where in the record the number begins. */
EMI_INLINE size_t start(const em_order *o)
{
	return o->prefix.key.piece[0].at;
}

#define N_FN(name) name##_u8
#define N_WIDTH 1
#define N_WORD uint32_t
#define N_SWAP 0
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_u16
#define N_WIDTH 2
#define N_WORD uint32_t
#define N_SWAP 0
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_u16_swap
#define N_WIDTH 2
#define N_WORD uint32_t
#define N_SWAP 1
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_u32
#define N_WIDTH 4
#define N_WORD uint32_t
#define N_SWAP 0
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_u32_swap
#define N_WIDTH 4
#define N_WORD uint32_t
#define N_SWAP 1
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_f32
#define N_WIDTH 4
#define N_WORD uint32_t
#define N_SWAP 0
#define N_FLOAT 1
#include "key/codec_number.inc"

#define N_FN(name) name##_f32_swap
#define N_WIDTH 4
#define N_WORD uint32_t
#define N_SWAP 1
#define N_FLOAT 1
#include "key/codec_number.inc"

#define N_FN(name) name##_u64
#define N_WIDTH 8
#define N_WORD uint64_t
#define N_SWAP 0
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_u64_swap
#define N_WIDTH 8
#define N_WORD uint64_t
#define N_SWAP 1
#define N_FLOAT 0
#include "key/codec_number.inc"

#define N_FN(name) name##_f64
#define N_WIDTH 8
#define N_WORD uint64_t
#define N_SWAP 0
#define N_FLOAT 1
#include "key/codec_number.inc"

#define N_FN(name) name##_f64_swap
#define N_WIDTH 8
#define N_WORD uint64_t
#define N_SWAP 1
#define N_FLOAT 1
#include "key/codec_number.inc"

static const number_codec *const codecs[] = {
	&codec_u8, &codec_u16, &codec_u16_swap, &codec_u32, &codec_u32_swap, &codec_f32,
	&codec_f32_swap, &codec_u64, &codec_u64_swap, &codec_f64, &codec_f64_swap,
};

static const number_codec *find(const emi_prefix *p)
{
	const emi_piece *piece = &p->key.piece[0];
	size_t i;

	if (p->key.npieces != 1)
		return NULL;
	/* A float has to begin at the top and to fill the prefix. */
	if (p->nsigns > 1 || (p->nsigns == 1 && p->sign[0].inverts != ((uint64_t)1 << (8 * p->key.n - 1)) - 1))
		return NULL;
	for (i = 0; i < sizeof(codecs) / sizeof(codecs[0]); i++) {
		const number_codec *c = codecs[i];
		const int width = (int)c->width;

		if (piece->kind == (c->swap ? -width : width) && c->is_float == (p->nsigns == 1))
			return c;
	}
	return NULL;
}

int emi_codec_number(const em_order *o, emi_codec *c)
{
	const emi_prefix *p = &o->prefix;
	const number_codec *number = find(p);
	/* The rest is in one piece when the number is at an end of the record. */
	const int at_end = number != NULL && (start(o) == 0 || start(o) + p->key.n == o->record_bytes);

	if (number == NULL)
		return 0;
	if (c->ref) {
		c->load = number->load_ref;
		c->store = emi_store_ref;
	} else if (p->rest.n == 0) {
		c->load = number->load_bare;
		c->store = number->store_bare;
	} else if (at_end && p->rest.n == 4 && number->load_pair4 != NULL) {
		c->load = number->load_pair4;
		c->store = number->store_pair4;
	} else if (at_end && p->rest.n == 8 && number->load_pair8 != NULL) {
		c->load = number->load_pair8;
		c->store = number->store_pair8;
	} else {
		return 0;
	}
	c->key = number->key;
	return 1;
}
