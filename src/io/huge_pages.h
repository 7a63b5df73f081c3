/* SPDX-License-Identifier: BSL-1.0 */
/*
 * huge_pages.h -- huge pages for files in memory.
 *
 * A tmpfs takes a page of 4 KiB at a time for what is written, unless it was mounted otherwise: of what a write costs
 * there half is finding, counting and listing pages, and giving them back costs as much again.  Linux (6.1 on) makes
 * one huge page of the small ones of a range when it is asked to (MADV_COLLAPSE), however the file system is mounted,
 * and of a range that is nearly empty in no more time than it takes to clear the page.
 *
 * So of what is known to be going to be written, all of it, huge pages are made just before: nothing is taken that
 * would not be taken anyway.  Where that is refused, for want of a free huge page, of room or of such a kernel, small
 * pages do as before.
 */
#ifndef EMI_HUGE_PAGES_H
#define EMI_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* Those of a file; zeros: none.  Any thread may ask for one while another one says what is coming. */
typedef struct emi_huge_pages {
	uint64_t begin, end;    /* what is going to be written; atomic */
	int32_t refused;        /* how often; atomic */
} emi_huge_pages;

/* Bytes of one; 0 where there are none. */
size_t emi_huge_page_bytes(void);

/* Can a file have them: are there any, and is it a file of a tmpfs? */
int emi_huge_possible(int fd);

/* All of these bytes are going to be written: what was said before still holds where they follow it, else it does no
 * longer. */
void emi_huge_expect(emi_huge_pages *h, uint64_t offset, uint64_t bytes);

/* These bytes are about to be written to fd, which can have them: make those that these are part of, where nothing was
 * written yet. */
void emi_huge_make(emi_huge_pages *h, int fd, uint64_t offset, uint64_t bytes);

#endif
