/* SPDX-License-Identifier: BSL-1.0 */
/*
 * large_pages.h -- memory of the benchmarks, in large pages as the library's own buffers are.
 *
 * What is in one page is one piece for a disk: blocks of small pages are cut to as many pieces as a request to the disk
 * can have.
 */
#ifndef LARGE_PAGES_H
#define LARGE_PAGES_H

#include <stdlib.h>
#include <sys/mman.h>

/* To be freed with free().  NULL when there is no memory. */
static inline void *large_pages(size_t bytes)
{
	const size_t page = (size_t)2 << 20, room = (bytes + page - 1) / page * page;
	void *p = aligned_alloc(page, room);

#ifdef MADV_HUGEPAGE
	if (p)
		(void)madvise(p, room, MADV_HUGEPAGE);
#endif
	return p;
}

#endif
