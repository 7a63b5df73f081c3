/* SPDX-License-Identifier: BSL-1.0 */
/* codes.c -- see codes.h. */
#include "key/codes.h"

#include "key/order_impl.h"

#define VALUE_BYTES 7u
#define VALUE_BITS (8 * VALUE_BYTES)

static uint64_t make_code(unsigned v, uint64_t value)
{
	return (uint64_t)(UINT8_MAX - v) << VALUE_BITS | value;
}

static unsigned where_of(uint64_t code)
{
	return UINT8_MAX - (unsigned)(code >> VALUE_BITS);
}

/* What is left of 8 bytes of a key if there are more of them than make a value. */
static uint64_t cut(const emi_prefix *p, uint64_t bytes)
{
	return p->key.n > VALUE_BYTES ? bytes >> (64 - VALUE_BITS) : bytes;
}

static uint64_t value_of(const emi_codes *c, unsigned v, const void *record)
{
	return cut(&c->value[v], emi_prefix_get(&c->value[v], record));
}

/* Compare two keys that agree in their first v values: *lose is the code of the one that comes second, relative to the
 * first. */
static int compare_from(const emi_codes *c, unsigned v, const void *a, const void *b, uint64_t *lose)
{
	int order = 0;

	for (; v < c->n; v++) {
		const uint64_t x = value_of(c, v, a), y = value_of(c, v, b);

		if (x == y)
			continue;
		*lose = make_code(v, x > y ? x : y);
		return x < y ? -1 : 1;
	}
	if (c->more)
		order = em_order_compare(c->order, a, b);
	*lose = order != 0 ? make_code(c->n, 0) : 0;
	return order;
}

void emi_codes_init(emi_codes *c, const em_order *o)
{
	const size_t width = emi_key_width(o);
	unsigned n;

	memset(c, 0, sizeof *c);
	c->order = o;
	if (!o->codec.ref || o->codec.exact || o->nfields == 0)
		return;
	for (n = 0; n < EMI_CODES && n * VALUE_BYTES < width; n++) {
		if (emi_cuts_float(o->fields, o->nfields, n * VALUE_BYTES))
			return;
		emi_prefix_make(&c->value[n], o->fields, o->nfields, n * VALUE_BYTES);
	}
	c->more = n * VALUE_BYTES < width;
	c->n = n;
}

void emi_codes_make(const emi_codes *c, emi_pair *e, size_t n, const void *before)
{
	size_t i;

	/* From the last one on, as each takes the key of the one in front of it. */
	for (i = n; i-- > 0;) {
		const void *last = i != 0 ? (const void *)(uintptr_t)e[i - 1].val : before;
		const uint64_t mine = cut(&c->value[0], e[i].key);
		uint64_t key;

		if (last == NULL) {
			e[i].key = make_code(0, mine);
			return;
		}
		key = i != 0 ? e[i - 1].key : c->order->codec.key(c->order, before);
		if (cut(&c->value[0], key) != mine)
			e[i].key = make_code(0, mine);
		else
			(void)compare_from(c, 1, last, (const void *)(uintptr_t)e[i].val, &e[i].key);
	}
}

int emi_codes_alike(const emi_codes *c, const void *a, const void *b)
{
	unsigned v = 0;

	while (v + 1 < c->n && value_of(c, v, a) == value_of(c, v, b))
		v++;
	return !c->more && v + 1 == c->n;
}

void emi_codes_load_last(const emi_codes *c, const void *records, size_t n, emi_pair *e)
{
	const unsigned char *record = records;
	size_t i;

	for (i = 0; i < n; i++, record += c->order->record_bytes) {
		e[i].key = value_of(c, c->n - 1, record);
		e[i].val = (uintptr_t)record;
	}
}

int emi_codes_recode(void *arg, uint64_t a, uint64_t b, uint64_t code, uint64_t *lose)
{
	const emi_codes *c = arg;

	*lose = 0;
	/* Both equal the record that came before them. */
	if (code == 0)
		return 0;
	return compare_from(c, where_of(code) + 1, (const void *)(uintptr_t)a, (const void *)(uintptr_t)b, lose);
}
