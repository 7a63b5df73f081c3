/* SPDX-License-Identifier: BSL-1.0 */
/*
 * partition.h -- the first steps of sorting in memory: elements into buckets that fit in the cache, with all threads.
 *
 * Each thread takes a contiguous part of the elements.  They are surveyed (which key bits differ, are they in order
 * already, or in reverse), counted by the leading bits that differ, and moved, out of place, to where their buckets
 * begin: parts keep their order within a bucket, so the partition is stable.  Whoever asked then sorts the buckets, one
 * by one.
 *
 * Elements that have kernels of their own are told apart by splitters in place of a digit: see partition_own.c.
 */
#ifndef EMI_PARTITION_H
#define EMI_PARTITION_H

#include "sort/job.h"

#define EMI_BUCKET_BITS 9u        /* of a digit, */
#define EMI_BARE_BUCKET_BITS 10u  /* ... and for bare keys: half as many buckets of a large run were too large for
                                     networks; EMI_MAX_RADIX_BITS at most */
#define EMI_BUCKETS ((size_t)1 << EMI_BUCKET_BITS)
#define EMI_MOST_BUCKETS ((size_t)1 << EMI_BARE_BUCKET_BITS)

#define EMI_PARTITION_LEAST 32768u /* elements; fewer are not worth waking threads for, and are not partitioned */

/* Memory of a partition, kept from one to the next. */
typedef struct emi_partition_room {
	em_ctx *ctx;
	uint32_t threads;
	size_t *count;          /* threads * EMI_MOST_BUCKETS places */
	size_t *bound;          /* EMI_MOST_BUCKETS + 1 beginnings of buckets */
	emi_digit last;         /* that told the buckets of the last partition; no bits: there was none */
} emi_partition_room;

typedef struct emi_partition {
	emi_job *job;
	emi_partition_room *room;
	/* Make elements [i, i + n) of what they stand for; NULL: they are there. */
	void (*load)(void *arg, uint64_t i, size_t n);
	void *load_arg;
	char *a;                /* n elements */
	char *b;                /* as many again */
	uint64_t n;
	uint16_t *tags;         /* n, for elements with kernels of their own; else NULL */
	char *work;             /* EMI_KERN_WORK bytes for each thread */
	int ties;               /* equal keys are not equal elements: sorted keys are not enough */
	int turns;              /* elements of which each has a lesser key than the one before may be turned around:
	                           then they are in order, ties or not */
	int alike;              /* keys are likely to be like those of the last partition in this room */
	/* results */
	char *sorted;           /* where the buckets are: a or b */
	int must_sort;          /* 0: a is in order as it is */
	int reversed;           /* it is since it was turned around */
	int same;               /* all keys are equal */
	unsigned depth;         /* of the keys in the elements (see emi_tie): what comes before them is the same in all
	                           records, ... */
	uint64_t common;        /* ... if the depth is not 0, and begins with this */
	unsigned bits;          /* there are 2^bits buckets; 0: all is one */
	emi_digit digit;        /* that tells them, if there are keys */
	em_kern_splitters splitters; /* what partitions elements with kernels of their own */
	size_t buckets;
	int counting;           /* elements are counted by that of the last partition while they are surveyed */
	em_status status;       /* atomic; first failure of a tick */
	uint32_t parts;
	struct emi_survey {
		uint64_t first, last, diff;
		int sorted, reversed;
	} *survey;              /* of each part */
} emi_partition;

/* Bytes of memory of a room for so many threads, while what it is for is partitioned. */
uint64_t emi_partition_room_bytes(uint32_t threads);

em_status emi_partition_room_init(emi_partition_room *r, emi_job *job, em_errinfo *err);
void emi_partition_room_free(emi_partition_room *r);

/* Partition: job, room, load, a, b, n > 0, work and ties are set, the rest is zero.  EM_ERR_CANCELED, EM_ERR_NOMEM,
 * EM_ERR_MEMLIMIT. */
em_status emi_partition_run(emi_partition *p, em_errinfo *err);

/* What p partitions is a bucket of another partition, whose digit tells in which bits keys may differ: they are counted
 * while they are surveyed. */
void emi_partition_expect(emi_partition *p, const emi_partition *of);

/* Elements [*lo, *hi) of bucket i. */
void emi_partition_bucket(const emi_partition *p, size_t i, uint64_t *lo, uint64_t *hi);

/* partition.c, for partition_own.c: where a part begins; are there too few elements to be partitioned; counts become
 * places; elements are turned around. */
uint64_t emi_partition_begin(const emi_partition *p, uint32_t part);
int emi_partition_small(const emi_partition *p);
void emi_partition_place(emi_partition *p);
void emi_partition_turn(emi_partition *p);

/* partition_own.c: all steps, p->survey being there. */
em_status emi_partition_own(emi_partition *p);

/* Is the work to go on?  The thread that drives the job ticks. */
int emi_partition_go_on(emi_partition *p, int ticks);

#endif
