/* SPDX-License-Identifier: BSL-1.0 */
/*
 * compare.c -- comparing two whole records, for callers and for the kernels' ties.
 *
 * Fields are compared one after the other, from the first: the elements of a tie agree on the prefix already, but
 * looking at 8 bytes again costs less than finding out where in which field the prefix ended.
 */
#include "key/order_impl.h"

#define AHEAD 16u               /* records asked for ahead of time */
#define TICK_CALLS 1024u        /* calls of a caller's function between two looks at the clock */

static int by_fields(const em_order *o, const unsigned char *a, const unsigned char *b)
{
	uint32_t i;
	int c = 0;

	for (i = 0; i < o->nfields && c == 0; i++)
		c = emi_field_compare(&o->fields[i], a, b);
	return c;
}

static int by_key(const em_order *o, const void *a, const void *b, int *failed)
{
	const uint32_t failures = emi_order_key_failures(o);
	const uint64_t x = o->codec.key(o, a), y = o->codec.key(o, b);

	*failed |= emi_order_key_failures(o) != failures;
	return (x > y) - (x < y);
}

int emi_order_compare(const em_order *order, const void *a, const void *b, int *failed)
{
	int c;

	if (order->key_fn != NULL)
		return by_key(order, a, b, failed);
	if (order->cmp != NULL)
		c = order->cmp(a, b, order->user);
	else if (order->own != NULL)
		c = order->own->compare(a, b, order->own_arg);
	else
		return by_fields(order, a, b);
	*failed |= c == EM_CMP_ERROR;
	return c == EM_CMP_ERROR ? 0 : (c > 0) - (c < 0);
}

int em_order_compare(const em_order *order, const void *a, const void *b)
{
	int failed = 0;

	return order != NULL && a != NULL && b != NULL ? emi_order_compare(order, a, b, &failed) : 0;
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

static int equal(const void *a, const void *b, void *user)
{
	(void)a;
	(void)b;
	(void)user;
	return 0;
}

void emi_compare_tick(emi_compare *cmp)
{
	cmp->calls = TICK_CALLS;
	if (cmp->tick(cmp->tick_arg) != EM_OK)
		__atomic_store_n(&cmp->fn, equal, __ATOMIC_RELAXED);
}

/* The sort is lost then; calling the function again would only delay that. */
void emi_compare_failed(emi_compare *cmp)
{
	__atomic_store_n(&cmp->fn, equal, __ATOMIC_RELAXED);
	__atomic_store_n(&cmp->failed, 1, __ATOMIC_RELAXED);
}

static int tie_cmp(void *arg, uint64_t a, uint64_t b)
{
	return emi_compare_call(arg, record_of(a), record_of(b));
}

static int tie_own(void *arg, uint64_t a, uint64_t b)
{
	const em_order *o = ((const emi_compare *)arg)->order;

	return o->own->compare(record_of(a), record_of(b), o->own_arg);
}

/* The next bytes of each key.  Records are anywhere, so they are asked for ahead of time. */
static int deepen_fields(void *arg, emi_pair *e, size_t n, unsigned depth)
{
	const em_order *o = ((const emi_compare *)arg)->order;
	const size_t from = (size_t)depth * EMI_PREFIX_MAX;
	emi_prefix p;
	size_t i;

	if (emi_cuts_float(o->fields, o->nfields, from))
		return -1;
	emi_prefix_make(&p, o->fields, o->nfields, from);
	if (p.key.n == 0)
		return 0;
	for (i = 0; i < n; i++) {
		if (n - i > AHEAD)
			__builtin_prefetch((const unsigned char *)record_of(e[i + AHEAD].val) + p.key.at[0]);
		e[i].key = emi_prefix_get(&p, record_of(e[i].val));
	}
	return 1;
}

emi_tie emi_order_tie(const em_order *o, emi_compare *cmp)
{
	emi_tie tie = { NULL, NULL, NULL, 0 };

	if (o->codec.exact)
		return tie;
	cmp->order = o;
	cmp->fn = o->cmp;
	cmp->user = o->user;
	cmp->calls = TICK_CALLS;
	tie.arg = cmp;
	if (o->codec.low != NULL)
		tie.fn = emi_tie_numbers;
	else if (o->text != NULL)
		tie.fn = emi_tie_vary;
	else if (o->cmp != NULL)
		tie.fn = tie_cmp;
	else if (o->own != NULL)
		tie.fn = tie_own;
	else {
		/* A single field of more than 8 bytes is one of bytes. */
		tie.fn = o->nfields == 1 && (o->fields[0].flags & EM_KEY_DESCENDING) == 0 ? tie_bytes : tie_fields;
		tie.deepen = deepen_fields;
	}
	return tie;
}
