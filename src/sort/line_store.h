/* SPDX-License-Identifier: BSL-1.0 */
/*
 * line_store.h -- records of any length in memory, until they are a run.
 *
 *     elements | (as many again, to sort them) | free | frames
 *
 * One piece of memory: elements grow from its front and frames (key/vary.h) from its back, so that it is used well
 * however long records turn out to be.  An element is the first eight bytes of a record's string and the address of its
 * frame; elements stand in the order of the input, frames anywhere.
 */
#ifndef EMI_LINE_STORE_H
#define EMI_LINE_STORE_H

#include "sort/outseq.h"
#include "sort/partition.h"
#include "sort/strings.h"

#define EMI_LINE_STORE_BUCKETS 2048u    /* most buckets that it is sorted in */
#define EMI_LINE_STORE_BUCKET_BYTES 80u /* memory for each of them */
#define EMI_LINE_STORE_SLACK 64u        /* bytes behind the last frame that may be read */

typedef struct emi_line_store {
	emi_job *job;
	char *base;             /* the elements */
	size_t bytes;
	char *low;              /* the lowest byte of a frame */
	uint64_t n;             /* elements */
	uint64_t most;          /* of them, but for those that came first at once; 0: as many as fit */
	uint64_t out;           /* output bytes of the records */
	const unsigned char *first; /* some frame; NULL: none is there */
	uint64_t common;        /* bytes that all strings are known to have in common */
	emi_partition_room buckets;
	char *hot;              /* scratch for sorting buckets, plan.hot_bytes for each thread: it stays in the cache */
	char *work;             /* scratch of kernels, EMI_KERN_WORK bytes for each thread */
} emi_line_store;

em_status emi_line_store_init(emi_line_store *p, emi_job *job, size_t bytes, em_errinfo *err);

/* The same in steps: memory for records; more of it, to which those that are there move; and what is needed to sort
 * them.  Before there is a plan that is emi_line_store_few(), for fewer than EMI_PARTITION_LEAST. */
em_status emi_line_store_begin(emi_line_store *p, emi_job *job, size_t bytes, em_errinfo *err);
em_status emi_line_store_move(emi_line_store *p, size_t bytes, em_errinfo *err);
em_status emi_line_store_equip(emi_line_store *p, em_errinfo *err);
em_status emi_line_store_few(emi_line_store *p, em_errinfo *err);

void emi_line_store_free(emi_line_store *p);

/* Give up its memory, when it is empty, and take so much again. */
void emi_line_store_let(emi_line_store *p);
em_status emi_line_store_take(emi_line_store *p, size_t bytes, em_errinfo *err);

/* When it is empty, have room for a frame of so many bytes.  Where it has too little, it takes more memory, and keeps
 * it. */
em_status emi_line_store_reach(emi_line_store *p, size_t frame, em_errinfo *err);

/* Forget all records. */
void emi_line_store_clear(emi_line_store *p);

/* Room for n more records whose frames take so many bytes: where the frames and where the elements go, or 0 when
 * there is too little.  The caller fills both, and tells what all new strings have in common with
 * emi_line_store_share(). */
int emi_line_store_grow(emi_line_store *p, uint64_t frames, uint64_t n, unsigned char **frame, emi_pair **elem);
void emi_line_store_share(emi_line_store *p, const unsigned char *frame, uint64_t common);

/* Add a record: 1, or 0 when the store is full; *need is then what its frame takes. */
int emi_line_store_add(emi_line_store *p, const void *record, size_t n, size_t *need);

/* Bytes that records take. */
static inline size_t emi_line_store_used(const emi_line_store *p)
{
	return p->bytes - (size_t)(p->low - p->base) + (size_t)p->n * 2 * sizeof(emi_pair);
}

static inline emi_pair *emi_line_store_elems(const emi_line_store *p)
{
	return (emi_pair *)(void *)p->base;
}

/* form_vary.c: sort what is in the store, n > 0, into a sequence that was begun; with EM_SORT_UNIQUE only the first of
 * equal records.  *records is how many were sent off. */
em_status emi_line_store_send(emi_line_store *p, emi_outseq *q, uint64_t *records, em_errinfo *err);

/* form_vary.c: memory that suffices for their run to stay in (emi_outseq_begin_stay()). */
size_t emi_line_store_stay_bytes(const emi_line_store *p);

/* form_vary.c: sort them and leave the elements, which are valid until the store is cleared. */
em_status emi_line_store_sort(emi_line_store *p, const emi_pair **elems, em_errinfo *err);

#endif
