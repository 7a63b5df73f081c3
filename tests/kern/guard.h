/* SPDX-License-Identifier: BSL-1.0 */
/*
 * guard.h -- memory between two pages that nobody may touch.
 *
 * An array that ends where the page behind begins, or begins where the page before ends, makes the first byte read or
 * written beyond it a crash, also in code that no sanitizer looks into, such as vector instructions.  Where an array
 * does not fill the room up to a page on either side, the rest holds a pattern that guard_check() looks at.
 */
#ifndef EM_GUARD_H
#define EM_GUARD_H

#include <stddef.h>

typedef struct guard {
	unsigned char *map;
	size_t map_bytes;
	unsigned char *begin, *end;     /* what may be touched */
	unsigned char *at;              /* the array given out last */
	size_t bytes;
} guard;

/* Where an array lies.  With the last two its address is a multiple of `skew' and not of twice that. */
enum { GUARD_END, GUARD_BEGIN, GUARD_END_SKEWED, GUARD_BEGIN_SKEWED, GUARD_PLACES };

/* Room for arrays of up to so many bytes. */
void guard_init(guard *g, size_t bytes);
void guard_free(guard *g);

/* An array of so many bytes; the one before is forgotten.  Its contents are a pattern. */
void *guard_take(guard *g, size_t bytes, int place, size_t skew);

/* Fail the test when something was written beside the array. */
void guard_check(const guard *g);

#endif
