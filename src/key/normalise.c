/* SPDX-License-Identifier: BSL-1.0 */
/*
 * normalise.c -- the types of key fields, one field compared, and the prefix described.
 *
 * Everything that depends on a field's type is here; the codec knows only prefixes.
 */
#include "key/normalise.h"

typedef struct type_info {
	const char *name;
	size_t width;
	int is_signed;          /* floats too */
	int is_float;
} type_info;

static const type_info types[] = {
	[EM_KEY_U8] = { "u8", 1, 0, 0 },
	[EM_KEY_U16] = { "u16", 2, 0, 0 },
	[EM_KEY_U32] = { "u32", 4, 0, 0 },
	[EM_KEY_U64] = { "u64", 8, 0, 0 },
	[EM_KEY_I8] = { "i8", 1, 1, 0 },
	[EM_KEY_I16] = { "i16", 2, 1, 0 },
	[EM_KEY_I32] = { "i32", 4, 1, 0 },
	[EM_KEY_I64] = { "i64", 8, 1, 0 },
	[EM_KEY_F32] = { "f32", 4, 1, 1 },
	[EM_KEY_F64] = { "f64", 8, 1, 1 },
	[EM_KEY_BYTES] = { "bytes", 1, 0, 0 },
};

size_t emi_type_width(int32_t type)
{
	return type >= EM_KEY_U8 && type <= EM_KEY_BYTES ? types[type].width : 0;
}

const char *emi_type_name(int32_t type)
{
	return type >= EM_KEY_U8 && type <= EM_KEY_BYTES ? types[type].name : NULL;
}

/* Is the most significant byte of the field its first? */
static int first_is_highest(const emi_field *f)
{
	return f->type == EM_KEY_BYTES || (f->flags & EM_KEY_BIG_ENDIAN) != 0;
}

/* A number whose order is the field's, ascending. */
static uint64_t normalised(const emi_field *f, const unsigned char *record)
{
	const type_info *t = &types[f->type];
	const unsigned width = (unsigned)t->width;
	const uint64_t sign = (uint64_t)1 << (8 * width - 1);
	uint64_t v = emi_get(record + f->offset, width, first_is_highest(f) != EMI_BIG_ENDIAN);

	if (t->is_float)
		v = emi_invert(v, 8 * width - 1, sign - 1);
	return t->is_signed ? v ^ sign : v;
}

int emi_field_compare(const emi_field *f, const unsigned char *a, const unsigned char *b)
{
	int c;

	if (f->type == EM_KEY_BYTES) {
		c = memcmp(a + f->offset, b + f->offset, f->width);
		c = (c > 0) - (c < 0);
	} else {
		const uint64_t x = normalised(f, a), y = normalised(f, b);

		c = (x > y) - (x < y);
	}
	return (f->flags & EM_KEY_DESCENDING) != 0 ? -c : c;
}

/* The lowest n bits. */
static uint64_t ones(unsigned n)
{
	return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

/* How many bytes from the i-th on lie side by side: upwards, or downwards. */
static unsigned stretch(const emi_bytes *b, unsigned i, int upwards)
{
	unsigned n = 1;

	while (i + n < b->n && (upwards ? b->at[i + n] == b->at[i] + n : b->at[i + n] + n == b->at[i]))
		n++;
	return n;
}

void emi_bytes_cut(emi_bytes *b)
{
	unsigned i = 0;

	b->npieces = 0;
	while (i < b->n) {
		const unsigned up = stretch(b, i, 1), down = stretch(b, i, 0);
		const int upwards = up >= down;
		const unsigned n = upwards ? up : down;
		const unsigned width = n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
		emi_piece *piece = &b->piece[b->npieces++];

		piece->at = upwards ? b->at[i] : b->at[i + width - 1];
		piece->kind = width > 1 && upwards != EMI_BIG_ENDIAN ? -(int)width : (int)width;
		piece->shift = 8 * (b->n - i - width);
		i += width;
	}
}

/* Add `take' bytes of a field behind the first `skip' most significant ones to a prefix that will have `total'
 * bytes. */
static void add_field(emi_prefix *p, const emi_field *f, size_t skip, unsigned take, unsigned total)
{
	const type_info *t = &types[f->type];
	const unsigned low = 8 * (total - p->key.n - take); /* the lowest bit of what is added */
	const unsigned sign = low + 8 * take - 1;
	const uint64_t bits = ones(8 * take) << low;
	const uint64_t sign_bit = (uint64_t)1 << sign;
	unsigned i;

	for (i = 0; i < take; i++)
		p->key.at[p->key.n + i] = f->offset + (first_is_highest(f) ? skip + i : f->width - 1 - skip - i);
	p->key.n += take;
	if (t->is_float) {
		p->sign[p->nsigns].bit = sign;
		p->sign[p->nsigns].inverts = bits ^ sign_bit;
		p->nsigns++;
	}
	if (t->is_signed && skip == 0)
		p->flip ^= sign_bit;
	if ((f->flags & EM_KEY_DESCENDING) != 0)
		p->flip ^= bits;
}

/* The first field with a byte of the key from `from' on, which becomes where in the field that is. */
static uint32_t find_field(const emi_field *fields, uint32_t n, size_t *from)
{
	uint32_t i;

	for (i = 0; i < n && *from >= fields[i].width; i++)
		*from -= fields[i].width;
	return i;
}

int emi_cuts_float(const emi_field *fields, uint32_t n, size_t from)
{
	const uint32_t i = find_field(fields, n, &from);

	return i < n && from != 0 && types[fields[i].type].is_float;
}

void emi_prefix_make(emi_prefix *p, const emi_field *fields, uint32_t n, size_t from)
{
	const uint32_t first = find_field(fields, n, &from);
	size_t total = 0, skip = from;
	uint32_t i;

	memset(p, 0, sizeof(*p));
	for (i = first; i < n && total < EMI_PREFIX_MAX; i++, skip = 0) {
		const size_t width = fields[i].width - skip, room = EMI_PREFIX_MAX - total;

		total += width < room ? width : room;
	}
	for (i = first, skip = from; p->key.n < total; i++, skip = 0) {
		const size_t width = fields[i].width - skip, room = total - p->key.n;

		add_field(p, &fields[i], skip, (unsigned)(width < room ? width : room), (unsigned)total);
	}
	emi_bytes_cut(&p->key);
}
