/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_stage.h -- writing a run of records that come one after the other, in order, until there are no more.
 *
 * How long a block is going to be must be known before it is filled: frames, or records of one size, are staged until no more fit in a block,
 * and moved then.
 */
#ifndef EMI_RUN_STAGE_H
#define EMI_RUN_STAGE_H

#include "sort/engine.h"

typedef struct emi_run_stage {
	emi_engine *e;
	unsigned char *base;    /* frames, or records, of the next block */
	size_t bytes, filled;
	uint64_t block;         /* its number in the run */
	int begun;              /* there is a run: it begins with its first record */
} emi_run_stage;

em_status emi_run_stage_init(emi_run_stage *s, emi_engine *e, em_errinfo *err);
/* All zeroes need no freeing. */
void emi_run_stage_free(emi_run_stage *s);

/* Add a record of any length, whose string may be anywhere; or the records of n elements of records of one size. */
em_status emi_run_stage_put(emi_run_stage *s, const emi_frame *f, em_errinfo *err);
em_status emi_run_stage_put_elems(emi_run_stage *s, const void *elems, size_t n, em_errinfo *err);

/* The run is complete, and joins the job's runs; without records there is none. */
em_status emi_run_stage_end(emi_run_stage *s, em_errinfo *err);

#endif
