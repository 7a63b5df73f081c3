/* SPDX-License-Identifier: BSL-1.0 */
/*
 * record_hash.h -- a hash of a record, for checksums of files that do not depend on the order of their records.
 *
 * It is the same on all machines, and the one that the command uses for records of one size: what it prints is
 * comparable.
 */
#ifndef EMI_RECORD_HASH_H
#define EMI_RECORD_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMI_HASH_1 UINT64_C(0x9fb21c651e98df25)
#define EMI_HASH_2 UINT64_C(0xd6e8feb86659fd93)
#define EMI_HASH_3 UINT64_C(0xa0761d6478bd642f)

static inline uint64_t emi_hash_load(const unsigned char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof x);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline uint64_t emi_hash_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* One word more: it is mixed on its own before it joins, so that what has to wait for the word before is short. */
static inline uint64_t emi_hash_join(uint64_t h, uint64_t word)
{
	return emi_hash_rotate(h ^ emi_hash_rotate(word * EMI_HASH_1, 31) * EMI_HASH_2, 27) * EMI_HASH_3 + EMI_HASH_2;
}

/* Of n bytes; eight more may be read. */
static inline uint64_t emi_record_hash(const unsigned char *p, size_t n)
{
	uint64_t h = n * EMI_HASH_1 + EMI_HASH_3;

	for (; n >= 8; n -= 8, p += 8)
		h = emi_hash_join(h, emi_hash_load(p));
	if (n != 0)
		h = emi_hash_join(h, emi_hash_load(p) & (((uint64_t)1 << 8 * n) - 1));
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

#endif
