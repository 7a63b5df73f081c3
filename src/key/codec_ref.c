/* SPDX-License-Identifier: BSL-1.0 */
/*
 * codec_ref.c -- collecting records from where their elements point.
 *
 * After a sort the addresses are in random order, so each record is a miss in the cache.  The misses overlap
 * when they are asked for ahead of time.  A copy of known size is a few moves instead of a call; the sizes that
 * get one are those that people use.
 */
#include "key/order_impl.h"

/* Records asked for ahead; a core has some 10 to 16 misses under way at once. */
#define AHEAD 16u
#define CACHE_LINE 64u
/* Lines of a record that are asked for: the processor sees by itself where longer ones go on. */
#define MAX_LINES 4u

EMI_INLINE const unsigned char *address(const emi_pair *e)
{
	return (const unsigned char *)(uintptr_t)e->val;
}

EMI_INLINE void want(const unsigned char *record, size_t bytes)
{
	size_t at;

	for (at = 0; at < bytes && at < MAX_LINES * CACHE_LINE; at += CACHE_LINE)
		__builtin_prefetch(record + at);
	if (bytes > 1 && bytes < MAX_LINES * CACHE_LINE)
		__builtin_prefetch(record + bytes - 1);
}

EMI_INLINE void collect(const emi_pair *e, size_t n, unsigned char *out, size_t bytes)
{
	size_t i;

	/* The elements ahead are still whole when records and elements are the same memory. */
	for (i = 0; i < n; i++) {
		if (n - i > AHEAD)
			want(address(e + i + AHEAD), bytes);
		memcpy(out, address(e + i), bytes);
		out += bytes;
	}
}

void emi_store_ref(const em_order *o, const void *elems, size_t n, void *records)
{
	switch (o->record_bytes) {
	case 12: collect(elems, n, records, 12); break;
	case 16: collect(elems, n, records, 16); break;
	case 20: collect(elems, n, records, 20); break;
	case 24: collect(elems, n, records, 24); break;
	case 32: collect(elems, n, records, 32); break;
	case 40: collect(elems, n, records, 40); break;
	case 48: collect(elems, n, records, 48); break;
	case 64: collect(elems, n, records, 64); break;
	case 80: collect(elems, n, records, 80); break;
	case 96: collect(elems, n, records, 96); break;
	case 100: collect(elems, n, records, 100); break;
	case 128: collect(elems, n, records, 128); break;
	default: collect(elems, n, records, o->record_bytes); break;
	}
}
