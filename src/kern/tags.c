/* SPDX-License-Identifier: BSL-1.0 */
/* tags.c -- see tags.h.  The same for all processors: it is memory that takes the time. */
#include "kern/tags.h"

#include "kern/k_util.h"

#define T_FN(name) name##_4
#define T_BYTES 4
#include "kern/tags.inc"

#define T_FN(name) name##_8
#define T_BYTES 8
#include "kern/tags.inc"

#define T_FN(name) name##_16
#define T_BYTES 16
#include "kern/tags.inc"

#define T_FN(name) name##_32
#define T_BYTES 32
#include "kern/tags.inc"

void emi_count_tags(const uint16_t *tag, size_t n, size_t *count)
{
	size_t i;

	for (i = 0; i < n; i++)
		count[tag[i]]++;
}

/* Records whose size is not that of a part of a line. */
static K_INLINE void scatter_any(const char *a, const uint16_t *tag, size_t n, const size_t bytes, char *dst,
				 size_t *pos)
{
	size_t i;

	for (i = 0; i < n; i++)
		memcpy(dst + bytes * pos[tag[i]]++, a + bytes * i, bytes);
}

void emi_scatter_tags(const void *a, const uint16_t *tag, size_t n, size_t record_bytes, unsigned bits, void *dst,
		      size_t *pos, void *work)
{

	switch (record_bytes) {
	case 4: scatter_4(a, tag, n, bits, dst, pos, work); break;
	case 8: scatter_8(a, tag, n, bits, dst, pos, work); break;
	case 16: scatter_16(a, tag, n, bits, dst, pos, work); break;
	case 32: scatter_32(a, tag, n, bits, dst, pos, work); break;
	case 12: scatter_any(a, tag, n, 12, dst, pos); break;
	case 24: scatter_any(a, tag, n, 24, dst, pos); break;
	case 40: scatter_any(a, tag, n, 40, dst, pos); break;
	case 48: scatter_any(a, tag, n, 48, dst, pos); break;
	case 64: scatter_any(a, tag, n, 64, dst, pos); break;
	default: scatter_any(a, tag, n, record_bytes, dst, pos); break;
	}
}
