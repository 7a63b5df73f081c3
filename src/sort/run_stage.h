/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_stage.h -- writing a run of records of any length that come one after the other, in order.
 *
 * How long a block is going to be must be known before it is filled: frames are staged until no more fit in a block, and moved then.
 */
#ifndef EMI_RUN_STAGE_H
#define EMI_RUN_STAGE_H

#include "sort/engine.h"

typedef struct emi_run_stage {
	emi_engine *e;
	unsigned char *base;    /* frames of the next block */
	size_t bytes, filled;
	uint64_t block;         /* its number in the run */
	int begun;              /* there is a run: it begins with its first record */
} emi_run_stage;

em_status emi_run_stage_init(emi_run_stage *s, emi_engine *e, em_errinfo *err);
/* All zeroes need no freeing. */
void emi_run_stage_free(emi_run_stage *s);

/* Add a record, whose string may be anywhere. */
em_status emi_run_stage_put(emi_run_stage *s, const emi_frame *f, em_errinfo *err);

/* The run is complete, and joins the job's runs; without records there is none. */
em_status emi_run_stage_end(emi_run_stage *s, em_errinfo *err);

#endif
