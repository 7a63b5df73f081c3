/* SPDX-License-Identifier: BSL-1.0 */
/*
 * form.h -- sorting in memory what fits in it: runs, and inputs that need none.
 *
 * The records of an area are turned into elements, partitioned into buckets that fit in the cache (partition.h), and
 * the buckets are sorted one by one and stored to where the outseq wants them.  All steps use all threads; every step
 * is stable.
 */
#ifndef EMI_FORM_H
#define EMI_FORM_H

#include "sort/job.h"
#include "sort/outseq.h"
#include "sort/partition.h"

#define EMI_FORM_LEVELS 4u      /* buckets of so many partitions one in another; with one thread, of one */

typedef struct emi_former {
	emi_job *job;
	uint64_t room;          /* records */
	void *elems[2];         /* the first is NULL where elements take the place of the records */
	size_t elems_bytes;
	uint16_t *tags;         /* one for each record, for kernels of the order's own */
	char *hot;              /* scratch for sorting buckets, plan.hot_bytes for each thread: it stays in the cache */
	char *work;             /* scratch of kernels, EMI_KERN_WORK bytes for each thread */
	emi_partition_room buckets[EMI_FORM_LEVELS];
} emi_former;

/* Partitions one in another with so many threads. */
uint32_t emi_former_levels(uint32_t threads);

/* Memory for up to room records at a time. */
em_status emi_former_init(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err);
/* The same for fewer than EMI_PARTITION_LEAST, which emi_form_elems() sorts, with emi_job_few_plan(). */
em_status emi_former_init_few(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err);
void emi_former_free(emi_former *f);

/* Sort n > 0 records, which are overwritten, into a sequence that was begun for them.  There must be
 * EMI_PAGE bytes of room in front of a `records' that is not aligned for its elements. */
em_status emi_form_run(emi_former *f, void *records, uint64_t n, emi_outseq *q, em_errinfo *err);

/* Sort n > 0 records into memory, where they are records again: room for as many, or, if that is NULL and elements do
 * not refer to records, where they were, as in emi_form_run(), *first. */
em_status emi_form_kept(emi_former *f, void *records, uint64_t n, char *room, char **first, em_errinfo *err);

/* Sort n > 0 records and leave them as elements, which are valid until the next call. */
em_status emi_form_elems(emi_former *f, void *records, uint64_t n, const void **elems, em_errinfo *err);

#endif
