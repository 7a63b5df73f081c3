/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records.c -- the records that extmem generate writes.
 *
 * Record i depends on the seed and on i alone.  Random records: all bytes random, but from 16 bytes up the
 * last 8 are the number of the record, little-endian; so 16 bytes are a random 64-bit key
 * and where it came from, and two records of a file are never the same.
 *
 * Records in the manner of the sort benchmark (100 bytes):
 *
 *     0..9    key, random bytes
 *     10..11  00 11
 *     12..43  the number of the record, 32 hexadecimal digits
 *     44..47  88 99 AA BB
 *     48..95  filler: 12 random hexadecimal digits, each four times
 *     96..99  CC DD EE FF
 */
#include <string.h>

#include "cli/bytes.h"
#include "cli/random.h"
#include "cli/records.h"

#define NUMBER_BYTES 8

/* Fill bytes that are less than a word. */
static void fill_rest(unsigned char *p, size_t bytes, uint64_t v)
{
	for (; bytes; bytes--, v >>= 8)
		*p++ = (unsigned char)v;
}

void records_random(unsigned char *p, uint64_t seed, uint64_t first, size_t n, size_t record_size)
{
	const uint64_t start = random_start(seed);
	const int numbered = record_size >= 2 * NUMBER_BYTES;
	const size_t bytes = numbered ? record_size - NUMBER_BYTES : record_size;
	const size_t words = bytes / 8, rest = bytes % 8, per_record = words + (rest != 0);
	uint64_t i = first, at = first * per_record;
	size_t j;

	for (; n; n--, i++) {
		for (j = 0; j < words; j++, p += 8)
			store_le64(p, random_at(start, at++));
		if (rest) {
			fill_rest(p, rest, random_at(start, at++));
			p += rest;
		}
		if (numbered) {
			store_le64(p, i);
			p += NUMBER_BYTES;
		}
	}
}

void records_gensort(unsigned char *p, uint64_t seed, uint64_t first, size_t n)
{
	static const unsigned char digit[] = "0123456789ABCDEF";
	const uint64_t start = random_start(seed);
	uint64_t i = first, v;
	int j;

	for (; n; n--, i++, p += GENSORT_RECORD_SIZE) {
		store_le64(p, random_at(start, 2 * i));
		v = random_at(start, 2 * i + 1);
		p[8] = (unsigned char)v;
		p[9] = (unsigned char)(v >> 8);
		memcpy(p + 10, "\x00\x11", 2);
		memset(p + 12, '0', 16);
		for (j = 0; j < 16; j++)
			p[28 + j] = digit[i >> (60 - 4 * j) & 15];
		memcpy(p + 44, "\x88\x99\xAA\xBB", 4);
		for (j = 0; j < 12; j++)
			memset(p + 48 + 4 * j, digit[v >> (16 + 4 * j) & 15], 4);
		memcpy(p + 96, "\xCC\xDD\xEE\xFF", 4);
	}
}
