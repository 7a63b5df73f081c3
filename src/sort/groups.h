/* SPDX-License-Identifier: BSL-1.0 */
/*
 * groups.h -- sorted records in, one of each group of equal ones out, if there are as many of them as is wanted.
 *
 * A group may begin in one batch and end in another.  The output goes to a copier.
 */
#ifndef EMI_GROUPS_H
#define EMI_GROUPS_H

#include "sort/copier.h"
#include "sort/keeper.h"

#define EMI_GROUPS_WINDOW 256u

/* What is wanted of groups. */
typedef struct emi_group_opts {
	int counts;             /* to be written with the records */
	uint64_t least, most;   /* records that a group must have */
} emi_group_opts;

typedef struct emi_groups {
	emi_job *job;
	const emi_group_opts *opts; /* NULL: there are no groups to be made */
	emi_copier *out;
	emi_keeper first;       /* of the group at hand */
	uint64_t count;         /* of its records; 0: there is none */
	uint64_t written;       /* groups: that is what the job's records_out says */
	emi_pair window[EMI_GROUPS_WINDOW]; /* elements of records of one size */
} emi_groups;

/* opts and out, which need not be ready yet, must live as long.  Before there is a plan, which includes that the first
 * of a group is kept. */
em_status emi_groups_init(emi_groups *g, emi_job *job, const emi_group_opts *opts, emi_copier *out, em_errinfo *err);
/* All zeroes need no freeing. */
void emi_groups_free(emi_groups *g);

/* The next n records: elements, of any length the addresses of emi_frames in them (see keeper.h); or records of one
 * size; or one frame. */
em_status emi_groups_elems(emi_groups *g, const void *elems, size_t n, em_errinfo *err);
em_status emi_groups_records(emi_groups *g, const void *records, size_t n, em_errinfo *err);
em_status emi_groups_frame(emi_groups *g, const emi_frame *f, em_errinfo *err);

/* There are no more.  All zeroes have none. */
em_status emi_groups_end(emi_groups *g, em_errinfo *err);

#endif
