/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scan.c -- looking at records one after the other: are they in order, how many, which.
 *
 * The checksum is the sum of a 64-bit hash of each record, modulo 2^64.  A sum does not depend on the order and, unlike
 * an exclusive or, notices when a record that is there twice is lost twice.
 *
 * Asking the library to compare each record with the one before would cost more than reading them.  So
 * the first eight bytes of the first key are made into a number that sorts as they do, once per record, and only when
 * two of those are equal is the library asked, unless the number is all of the key.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/bytes.h"
#include "cli/random.h"
#include "cli/scan.h"

#define K1 UINT64_C(0x9fb21c651e98df25)
#define K2 UINT64_C(0xd6e8feb86659fd93)
#define K3 UINT64_C(0xa0761d6478bd642f)

static inline uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* One word: mixed on its own before it joins, so that what must wait for the word before is short. */
static inline uint64_t join(uint64_t h, uint64_t word)
{
	return rotate(h ^ rotate(word * K1, 31) * K2, 27) * K3 + K2;
}

static inline uint64_t hash_bytes(const unsigned char *p, size_t bytes)
{
	uint64_t h = bytes * K1 + K3, word;

	for (; bytes >= 8; bytes -= 8, p += 8)
		h = join(h, load_le64(p));
	if (bytes) {
		for (word = 0; bytes; bytes--)
			word = word << 8 | p[bytes - 1];
		h = join(h, word);
	}
	return random_mix(h);
}

uint64_t record_hash(const unsigned char *p, size_t bytes)
{
	return hash_bytes(p, bytes);
}

static uint64_t sum_hashes(const unsigned char *p, size_t n, size_t size)
{
	uint64_t sum = 0;

	/* The usual size with its loop unrolled. */
	if (size == 16)
		for (; n; n--, p += 16)
			sum += hash_bytes(p, 16);
	else
		for (; n; n--, p += size)
			sum += hash_bytes(p, size);
	return sum;
}

static scan_prefix prefix_of_key(const em_key *key)
{
	static const struct {
		int32_t type;
		unsigned char width, is_signed, is_float;
	} number[] = {
		{ EM_KEY_U8, 1, 0, 0 },  { EM_KEY_U16, 2, 0, 0 }, { EM_KEY_U32, 4, 0, 0 }, { EM_KEY_U64, 8, 0, 0 },
		{ EM_KEY_I8, 1, 1, 0 },  { EM_KEY_I16, 2, 1, 0 }, { EM_KEY_I32, 4, 1, 0 }, { EM_KEY_I64, 8, 1, 0 },
		{ EM_KEY_F32, 4, 0, 1 }, { EM_KEY_F64, 8, 0, 1 },
	};
	scan_prefix p = { 0 };
	size_t i;

	p.offset = (size_t)key->offset;
	p.width = key->width > 8 ? 8 : (size_t)key->width;
	p.big_endian = key->type == EM_KEY_BYTES || (key->flags & EM_KEY_BIG_ENDIAN) != 0;
	p.exact = key->type != EM_KEY_BYTES || key->width <= 8;
	p.invert = key->flags & EM_KEY_DESCENDING ? UINT64_MAX : 0;
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		if (number[i].type == key->type) {
			p.width = number[i].width;
			p.is_float = number[i].is_float;
			if (number[i].is_signed | number[i].is_float)
				p.sign = (uint64_t)1 << (8 * p.width - 1);
		}
	return p;
}

static scan_prefix prefix_of_keys(const key_options *keys)
{
	em_key all = { 0 };
	scan_prefix p;

	if (keys->n) {
		p = prefix_of_key(&keys->key[0]);
		p.exact = p.exact && keys->n == 1;
	} else {
		all.width = keys->record_size;
		all.type = EM_KEY_BYTES;
		p = prefix_of_key(&all);
	}
	return p;
}

static inline uint64_t load_prefix(const scan_prefix *x, const unsigned char *record)
{
	const unsigned char *p = record + x->offset;
	uint64_t v = 0;
	size_t i;

	if (x->width == 8)
		v = x->big_endian ? load_be64(p) : load_le64(p);
	else if (x->big_endian)
		for (i = 0; i < x->width; i++)
			v = v << 8 | p[i];
	else
		for (i = 0; i < x->width; i++)
			v |= (uint64_t)p[i] << 8 * i;
	if (x->is_float && v & x->sign)
		v = ~v & (x->sign | (x->sign - 1));
	else
		v ^= x->sign;
	return v ^ x->invert;
}

/* Compare record b with a, the one before it. */
static int compare(const scan *s, uint64_t va, const unsigned char *a, uint64_t vb, const unsigned char *b)
{
	if (va != vb)
		return va < vb ? -1 : 1;
	return s->prefix.exact ? 0 : em_order_compare(s->order, a, b);
}

static size_t look_at_order(scan *s, const unsigned char *p, size_t n)
{
	const size_t size = s->record_size;
	const unsigned char *last = p;
	size_t i = 0, first = n;
	uint64_t before, now;
	int c;

	if (s->records)
		last = s->last;
	else
		i = 1; /* the first record of all follows none */
	before = load_prefix(&s->prefix, last);
	for (p += i * size; i < n; i++, last = p, p += size, before = now) {
		now = load_prefix(&s->prefix, p);
		if (before < now)
			continue;
		c = compare(s, before, last, now, p);
		if (c == 0)
			s->duplicates++;
		if (c > 0)
			s->disorders++;
		if ((c > 0 || s->unique) && c >= 0 && first == n)
			first = i;
	}
	memcpy(s->last, last, size);
	return first;
}

int scan_init(scan *s, const em_order *order, const key_options *keys)
{
	memset(s, 0, sizeof(*s));
	s->order = order;
	s->record_size = (size_t)keys->record_size;
	s->prefix = prefix_of_keys(keys);
	s->last = malloc(s->record_size);
	return s->last ? 0 : -1;
}

size_t scan_records(scan *s, const unsigned char *p, size_t n)
{
	size_t first = n;

	if (!n)
		return n;
	s->checksum += sum_hashes(p, n, s->record_size);
	if (s->order)
		first = look_at_order(s, p, n);
	s->records += n;
	return first;
}

void scan_free(scan *s)
{
	free(s->last);
	memset(s, 0, sizeof(*s));
}
