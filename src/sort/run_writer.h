/* SPDX-License-Identifier: BSL-1.0 */
/*
 * run_writer.h -- writing a run: blocks as they come out of an outseq, and the directory beside them.
 */
#ifndef EMI_RUN_WRITER_H
#define EMI_RUN_WRITER_H

#include <extmem/sys/placement.h>

#include "sort/outseq.h"
#include "sort/runs.h"

typedef struct emi_run_writer {
	emi_runs *runs;
	emi_dir_page *page[2];  /* one is being filled while the other is on its way to the disk */
	emi_request rq[2];
	int cur;
	em_bid at;             /* where the page being filled is going to be */
	emi_run run;            /* being written */
	uint64_t begun;         /* runs that were */
	em_placement place;     /* of its blocks */
	uint64_t records;       /* in it */
} emi_run_writer;

em_status emi_run_writer_init(emi_run_writer *w, emi_runs *runs, em_errinfo *err);
void emi_run_writer_free(emi_run_writer *w);

/* Begin a run; w is then the argument of emi_run_dest, which takes its blocks. */
em_status emi_run_writer_begin(emi_run_writer *w, em_errinfo *err);
emi_dest emi_run_dest(emi_run_writer *w);

/* All blocks were put: finish the directory, and describe the run.  Blocks may still be on their way. */
em_status emi_run_writer_finish(emi_run_writer *w, emi_run *run, em_errinfo *err);

/* Wait until directories are on the disk. */
em_status emi_run_writer_end(emi_run_writer *w, em_errinfo *err);

#endif
