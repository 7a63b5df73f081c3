/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_join.c -- small records as one number: the key above, and the rest below.
 *
 * An element has 16 bytes where a record has a key and a rest, even if both together have only 8.  Who does not care
 * which of two equal keys comes first may put the rest below the key, and has an element of 8 bytes.
 */
#include "key/order_impl.h"

unsigned emi_order_joined_bits(const em_order *o)
{
	const emi_codec *c = &o->codec;

	if (o->nfields == 0 || c->elem != EMI_ELEM_PAIR || c->ref || c->low != NULL ||
	    c->record_bytes > sizeof(uint64_t))
		return 0;
	return 8 * o->prefix.rest.n;
}
