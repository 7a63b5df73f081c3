/* SPDX-License-Identifier: BSL-1.0 */
/*
 * space.h -- which units of a disk are in use.
 */
#ifndef EMI_SPACE_H
#define EMI_SPACE_H

#include <extmem/ctx.h>

#define EMI_UNIT 4096u

/* A bitmap of the units of a part of the disk. */
typedef struct emi_space_page {
	uint64_t *word;         /* a set bit is a unit in use or cut out; NULL: all are cut out */
	uint64_t cut;           /* units that are cut out */
} emi_space_page;

typedef struct emi_space {
	em_ctx *ctx;
	emi_space_page *page;
	uint64_t pages;         /* there are */
	uint64_t table;         /* entries of page */
	uint64_t high;          /* no unit from here on was ever in use */
	uint64_t used;          /* units in use */
	uint64_t cut;           /* units below high that are cut out */
	uint64_t cursor;        /* where the last search ended */
	uint64_t cutter;        /* where the last search for what may be cut out ended */
	uint64_t missing;       /* below high there is certainly no gap of so many units */
} emi_space;

void emi_space_init(emi_space *s, em_ctx *ctx);
void emi_space_free(emi_space *s);

/* Find a gap of n > 0 units below high and take it: 1, or 0 when there is none. */
int emi_space_reuse(emi_space *s, uint64_t n, uint64_t *unit);

/* Take n units at high, which goes up. */
em_status emi_space_extend(emi_space *s, uint64_t n, uint64_t *unit, em_errinfo *err);

/* Give units back. */
void emi_space_drop(emi_space *s, uint64_t unit, uint64_t n);

/* Cut out the next gap of at least `least' units, as far as it reaches: *unit and its length, or 0 when none is left
 * between where the last search ended and the end; the next one begins in front again.  What is cut out is never given
 * out again, unless it is mended. */
uint64_t emi_space_cut(emi_space *s, uint64_t least, uint64_t *unit);
void emi_space_mend(emi_space *s, uint64_t unit, uint64_t n);

/* Bytes of memory for a space of that many units. */
uint64_t emi_space_memory(uint64_t units);

#endif
