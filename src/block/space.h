/* SPDX-License-Identifier: BSL-1.0 */
/*
 * space.h -- which units of a disk are in use.
 */
#ifndef EMI_SPACE_H
#define EMI_SPACE_H

#include <extmem/ctx.h>

#define EMI_UNIT 4096u

typedef struct emi_space {
	em_ctx *ctx;
	uint64_t **page;        /* bitmaps, a set bit is a unit in use */
	uint64_t pages;         /* of them there are */
	uint64_t table;         /* entries of page */
	uint64_t high;          /* no unit from here on was ever in use */
	uint64_t used;          /* units in use */
	uint64_t cursor;        /* where the last search ended */
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

/* Bytes of memory for a space of that many units. */
uint64_t emi_space_memory(uint64_t units);

#endif
