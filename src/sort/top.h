/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top.h -- an em_top: a sorter that knows how many records will be asked for.
 *
 * Candidates are collected where a sorter collects the records of a run: an area, or a store for records of any length.
 * Where a sorter would write a run, candidates are sorted and cut to the first ones, of which the last becomes the
 * limit; only when those take most of the room, or are too few to tell a limit, they are written as a run.  From there
 * on all is a sorter's business: runs are merged, records are pulled.
 *
 * What comes in is looked at by all threads, each with a strand of the input.  A record that does not come before the
 * limit is dropped; the others are noted, and the calling thread adds them in the order of the input.  Looking may keep
 * too much (the limit may have fallen meanwhile, a long record may not fit in a strand's scratch), as the next cut
 * takes that away; it never drops too much.
 */
#ifndef EMI_TOP_H
#define EMI_TOP_H

#include <extmem/top.h>

#include "sort/front.h"

#define EMI_TOP_SPARE 8u        /* a cut is to leave this part of the room, or it comes too often */
#define EMI_TOP_LOOK ((uint64_t)1 << 18) /* records of one size that are looked at between two ticks ... */
#define EMI_TOP_LOOK_VARY ((uint64_t)1 << 14) /* ... and of any length */
#define EMI_TOP_KEPT 1024u      /* records that a strand notes before they are added */

/* A record that a strand kept. */
typedef struct emi_top_kept {
	const unsigned char *record;
	size_t n;
	uint64_t number;        /* in its strand, from 0 */
} emi_top_kept;

/* A part of the input, looked at by one thread. */
typedef struct emi_strand {
	struct em_top *top;
	const unsigned char *at;
	/* What says where records end: a format (then `end' is the end of them all), or their ends, ... */
	const em_format *format;
	const unsigned char *end;
	const uint64_t *ends;   /* ... offsets from `base', or that all have one size */
	const unsigned char *base;
	uint64_t left;          /* records to come, but with a format */
	uint64_t number;        /* records taken */
	emi_top_kept *kept;
	size_t nkept;
	unsigned char *scratch; /* EMI_TOP_KEPT elements, or a frame */
} emi_strand;

/* Bytes that whoever reads files for it has taken, and is going to take with so much memory and so many threads, beside
 * what is planned; and how many files are open at once. */
typedef struct emi_top_use {
	uint64_t taken;
	uint64_t (*later)(const void *arg, uint64_t memory, uint32_t threads); /* NULL: nothing */
	const void *arg;
	uint32_t files;
	uint32_t open;          /* that are open already */
} emi_top_use;

struct em_top {
	emi_front front;        /* candidates are what was pushed */
	emi_user watching;      /* of progress */
	uint64_t from, k;       /* still to be left out, and to be lent */
	uint64_t need;          /* from + k, as it was; 0: nothing is asked for */
	uint64_t read;          /* bytes of input, for the progress function */
	uint64_t lent;          /* records */
	em_batch batch;

	uint64_t room;          /* most candidates */

	int limited;            /* there is a limit: */
	uint64_t limit_key;     /* its element's key, ... */
	emi_frame limit_frame;  /* ... its frame, if it is of any length, ... */
	unsigned char *limit;   /* ... and the record, or frame, itself */
	size_t limit_bytes;     /* of memory */

	emi_strand *strand;     /* one for each thread */
	uint32_t strands;
	unsigned char *scratch; /* of all strands */
	emi_top_kept *kept;     /* of all strands */
	size_t strand_scratch;  /* bytes for each */

	emi_top_use use;        /* of memory and files */

	/* A record that is too long: its strand, its number there, and what its frame takes. */
	uint32_t long_strand;
	uint64_t long_number;
	uint64_t long_need;
};

/* em_top_open() in two steps; in between t->front.e.job is open, and its memory still free.  t is zeroes before, and
 * closed with emi_top_end() if the first step was done.  The second one takes all memory, or begins with little: then
 * `use' has no more than what was taken. */
em_status emi_top_begin(em_top *t, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
			const em_sort_opts *opts, em_errinfo *err);
em_status emi_top_prepare(em_top *t, const emi_top_use *use, em_errinfo *err);
em_status emi_top_prepare_few(em_top *t, const emi_top_use *use, em_errinfo *err);
void emi_top_end(em_top *t);

/* Take all that is in the first n strands, which were begun. */
em_status emi_top_take(em_top *t, uint32_t n, em_errinfo *err);

/* Begin a strand: a chunk of whole records in a format; or so many records of one size; or of any length with the ends
 * of the records from the first-th on, as in a batch. */
void emi_strand_chunk(emi_strand *s, const em_format *format, const unsigned char *data, size_t bytes);
void emi_strand_records(emi_strand *s, const void *records, uint64_t n);
void emi_strand_batch(emi_strand *s, const em_batch *batch, size_t first, size_t n);

/* End the input; lend the next batch. */
em_status emi_top_finish(em_top *t, em_errinfo *err);
em_status emi_top_lend(em_top *t, const em_batch **batch, em_errinfo *err);

/* top_fixed.c and top_vary.c: records of one size, and of any length. */

/* Memory for them, the plan being made. */
em_status emi_top_room_fixed(em_top *t, em_errinfo *err);
em_status emi_top_room_vary(em_top *t, const emi_needs *needs, em_errinfo *err);

/* Look at some records of a strand, no more than can be noted, if all are kept.  Any thread. */
void emi_strand_look_fixed(emi_strand *s);
void emi_strand_look_vary(emi_strand *s);

/* Count the records of a strand, of which none is asked for. */
void emi_strand_pass_vary(emi_strand *s);

/* Add what a strand kept; or what is left of it, without looking, until there is a limit.  EM_ERR_RANGE without a
 * detail: see t->long_number. */
em_status emi_top_add_fixed(em_top *t, emi_strand *s, em_errinfo *err);
em_status emi_top_add_vary(em_top *t, emi_strand *s, em_errinfo *err);
em_status emi_top_add_all_fixed(em_top *t, emi_strand *s, em_errinfo *err);
em_status emi_top_add_all_vary(em_top *t, emi_strand *s, em_errinfo *err);

/* Sort the candidates, n > 0, and keep those that are needed; if they are so many, the last of them tells the limit. */
em_status emi_top_cut_fixed(em_top *t, em_errinfo *err);
em_status emi_top_cut_vary(em_top *t, em_errinfo *err);

/* Sort the elements of pairs by their values, which are addresses; other has room for as many. */
void emi_top_by_address(const em_top *t, emi_pair *e, emi_pair *other, size_t n, void *work);

/* Are candidates to be written as a run, so many units of room being taken? */
static inline int emi_top_crowded(uint64_t taken, uint64_t room)
{
	return taken > room - room / EMI_TOP_SPARE || taken == room;
}

static inline int emi_strand_finished(const emi_strand *s)
{
	return s->format != NULL ? s->at == s->end : s->left == 0;
}

#endif
