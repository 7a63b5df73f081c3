/* SPDX-License-Identifier: BSL-1.0 */
/*
 * compare.c -- comparing two whole records, for callers and for the kernels' ties.
 *
 * Fields are compared one after the other, from the first: the elements of a tie agree on the prefix already, but
 * looking at 8 bytes again costs less than finding out where in which field the prefix ended.
 */
#include "key/order_impl.h"

static int by_fields(const em_order *o, const unsigned char *a, const unsigned char *b)
{
	uint32_t i;
	int c = 0;

	for (i = 0; i < o->nfields && c == 0; i++)
		c = emi_field_compare(&o->fields[i], a, b);
	return c;
}

int em_order_compare(const em_order *order, const void *a, const void *b)
{
	int c;

	if (order->cmp == NULL)
		return by_fields(order, a, b);
	c = order->cmp(a, b, order->user);
	return c == EM_CMP_ERROR ? 0 : (c > 0) - (c < 0);
}

static const void *record_of(uint64_t val)
{
	return (const void *)(uintptr_t)val;
}

static int tie_fields(void *arg, uint64_t a, uint64_t b)
{
	const emi_compare *compare = arg;

	return by_fields(compare->order, record_of(a), record_of(b));
}

/* One byte string: by far the most usual key of more than 8 bytes. */
static int tie_bytes(void *arg, uint64_t a, uint64_t b)
{
	const emi_compare *compare = arg;
	const emi_field *f = &compare->order->fields[0];
	const unsigned char *x = record_of(a), *y = record_of(b);

	return memcmp(x + f->offset, y + f->offset, f->width);
}

/* Once the function has failed the sort is lost; calling it again would only delay that. */
static int tie_cmp(void *arg, uint64_t a, uint64_t b)
{
	emi_compare *compare = arg;
	int c;

	if (__atomic_load_n(&compare->failed, __ATOMIC_RELAXED))
		return 0;
	c = compare->order->cmp(record_of(a), record_of(b), compare->order->user);
	if (c != EM_CMP_ERROR)
		return c;
	__atomic_store_n(&compare->failed, 1, __ATOMIC_RELAXED);
	return 0;
}

emi_tie emi_order_tie(const em_order *o, emi_compare *cmp)
{
	emi_tie tie = { NULL, NULL };

	if (o->codec.exact)
		return tie;
	cmp->order = o;
	tie.arg = cmp;
	if (o->codec.low != NULL)
		tie.fn = emi_tie_numbers;
	else if (o->text != NULL)
		tie.fn = emi_tie_vary;
	else if (o->cmp != NULL)
		tie.fn = tie_cmp;
	else if (o->nfields == 1 && (o->fields[0].flags & EM_KEY_DESCENDING) == 0)
		tie.fn = tie_bytes;     /* a single field of more than 8 bytes is one */
	else
		tie.fn = tie_fields;
	return tie;
}
