/* SPDX-License-Identifier: BSL-1.0 */
/*
 * strings.h -- sorting elements whose records are strings of any length.
 *
 * An element's key is eight bytes of its string.  Elements are sorted by them as numbers; those whose eight bytes are
 * equal get the next eight, and are sorted again among themselves: so every byte is looked at once, and a record is
 * touched only when its beginning does not tell.  (Multikey sorting with cached characters: Bentley and Sedgewick,
 * "Fast algorithms for sorting and searching strings", SODA 1997; Ng and Kakehi, "Cache efficient radix sort for string
 * sorting", 2007.)
 */
#ifndef EMI_STRINGS_H
#define EMI_STRINGS_H

#include "kern/kern.h"
#include "key/vary.h"

/* Sort a[0..n), stably, by their strings: val is the address of a frame, key the eight bytes of its string at `depth',
 * up to which all strings are equal.  tmp has room for n elements; work: EMI_KERN_WORK bytes.  Keys mean nothing
 * afterwards. */
void emi_sort_strings(const emi_kernels *kern, const emi_vary *v, emi_pair *a, emi_pair *tmp, size_t n, uint64_t depth,
		      void *work);

/* Set the keys of a[0..n) to the eight bytes of their strings at a depth. */
void emi_load_strings(const emi_vary *v, emi_pair *a, size_t n, uint64_t depth);

/* The same, when it is only a guess that all strings are equal up to that depth: returns how far they and that of `one'
 * are, from `from' on, up to which they are known to be.  The shortest of them has *least bytes, if that is not
 * NULL. */
uint64_t emi_load_common(const emi_vary *v, const emi_pair *one, emi_pair *a, size_t n, uint64_t from, uint64_t depth,
			 uint64_t *least);

#endif
