/* SPDX-License-Identifier: BSL-1.0 */
/*
 * space.h -- which units of a disk are in use, and which of them were written.
 */
#ifndef EMI_SPACE_H
#define EMI_SPACE_H

#include <extmem/ctx.h>

#define EMI_UNIT 4096u

typedef struct emi_space_bits emi_space_bits;

/* Free units of a part of the disk: in front, in its longest gap, and at its back. */
typedef struct emi_space_gaps {
	uint64_t front, most, back;
} emi_space_gaps;

/* What all units of a page are, if they are alike. */
typedef enum emi_space_alike {
	EMI_SPACE_FREE,
	EMI_SPACE_WRITTEN,      /* in use, and written */
	EMI_SPACE_CUT           /* cut out */
} emi_space_alike;

/* A part of the disk. */
typedef struct emi_space_page {
	emi_space_bits *bits;   /* NULL: all of its units are alike */
	emi_space_alike alike;
	uint32_t cut;           /* units that are cut out */
	uint32_t dropped;       /* of a written page, units that are free, when there was no memory to tell which */
} emi_space_page;

typedef struct emi_space {
	em_ctx *ctx;
	emi_space_page *page;
	emi_space_bits *spare;  /* of a page whose units became alike: the next page is sure to have it */
	emi_space_gaps *gaps;   /* a tree over pages: those of node i are 2i and 2i + 1, those of page p are node table
	                           + p */
	uint64_t pages;         /* there are */
	uint64_t table;         /* entries of page: a power of two */
	uint64_t high;          /* no unit from here on is in use or cut out; the one before it is */
	uint64_t used;          /* units in use */
	uint64_t cut;           /* units that are cut out */
} emi_space;

void emi_space_init(emi_space *s, em_ctx *ctx);
void emi_space_free(emi_space *s);

/* Take the first gap of n > 0 units below high: 1, or 0 when there is none, or no memory to tell what is left of it. */
int emi_space_reuse(emi_space *s, uint64_t n, uint64_t *unit);

/* Take n units at high, which goes up. */
em_status emi_space_extend(emi_space *s, uint64_t n, uint64_t *unit, em_errinfo *err);

/* Are all of these units in use (or cut out, which can be told for whole pages only)?  Any numbers will do. */
int emi_space_in_use(const emi_space *s, uint64_t unit, uint64_t n);

/* These units are going to be written: note that, unless not all of them are in use: 0. */
int emi_space_write(emi_space *s, uint64_t unit, uint64_t n);

/* Was any of these units, all of them in use, written since it was taken? */
int emi_space_written(const emi_space *s, uint64_t unit, uint64_t n);

/*
 * Give units back; when they were the last ones, high goes down to what is before them.  That may take memory, but does
 * not fail without: of a page that is used as a whole, no unit is given out again then before all of them are back.
 */
void emi_space_drop(emi_space *s, uint64_t unit, uint64_t n);

/* Cut out the first gap of at least `least' units, as far as it reaches: *unit and its length, or 0 when there is none.
 * What is cut out is never given out again, unless it is mended. */
uint64_t emi_space_cut(emi_space *s, uint64_t least, uint64_t *unit);
void emi_space_mend(emi_space *s, uint64_t unit, uint64_t n);

/*
 * Bytes of memory for a space of that many units, whatever happens; and at most, when what is in use is written, and
 * has so many ends: units beside which there are others that are free, or not yet written.
 */
uint64_t emi_space_memory(uint64_t units);
uint64_t emi_space_memory_of(uint64_t units, uint64_t ends);

#endif
