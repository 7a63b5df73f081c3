/* SPDX-License-Identifier: BSL-1.0 */
/*
 * job.h -- what all parts of one sort share.
 *
 * One thread, the caller's, drives a job; others only run tasks that it hands out.
 */
#ifndef EMI_JOB_H
#define EMI_JOB_H

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/user.h"
#include "key/collation.h"
#include "sort/plan.h"
#include "sort/runs.h"

typedef struct emi_job {
	em_ctx *ctx;
	emi_collation by;       /* what records are sorted by */
	uint32_t flags;         /* EM_SORT_... */
	em_sort_opts opts;
	emi_plan_input plan_input;
	emi_plan plan;
	emi_runs runs;          /* those that there are, in input order */
	emi_io_stats io;
	emi_watch watch;
	em_status status;       /* sticky failure, with its detail */
	em_errinfo err;

	uint64_t records_in;
	uint64_t records_out;
	uint64_t runs_formed;
	uint64_t longest_run;
	uint64_t kept_records;  /* of the last run, if it stayed in memory */
	uint32_t passes;
	uint32_t widest_merge;
	int reuses;             /* the output takes the scratch that runs leave: nothing goes back to the file system */
	int gives;              /* space of the scratch disks goes back as blocks are freed */
	uint64_t line;          /* any length: bytes of a frame that must be possible, whatever the memory */
	uint64_t beyond;        /* any length: bytes of the longest frame that there is memory for beyond the plan, or
	                           0: ... */
	int lifted;             /* ... as much as the machine has (emi_memory_lift()), not what was kept for it */
	em_format format;       /* any length: how records stand in files ... */
	uint64_t out_extra;     /* ... and what each takes there beside its own bytes */
	uint64_t lent;          /* bytes in use that go back while the memory of the plan is taken */
	int cheap;              /* fresh memory is: emi_plan_price() */
	int shares;             /* it waits for a fair share of the memory: emi_sharers_enter() */
	int keeps;              /* the first of equal records is kept until all of them are there: see groups.h */
	uint64_t mispredict;    /* for tests: scrambles the predicted order of blocks when not 0 */
} emi_job;

/* Set up for a context, an order and options (NULL: defaults).  Takes references.  After a failure
 * nothing is held. */
em_status emi_job_open(emi_job *job, em_ctx *ctx, const em_order *order, const em_sort_opts *opts, em_errinfo *err);

/* A copy of a job for another thread, with counters and failures of its own.  It ends with the job, and is not
 * closed. */
void emi_job_view(emi_job *view, const emi_job *job);

/* The user of progress in options; nothing in options of no version. */
emi_user emi_job_user(const em_sort_opts *opts);

/* The detail that the options of a call name, or own. */
em_errinfo *emi_job_errinfo(const em_sort_opts *opts, em_errinfo *own);

/* What a sort needs beside what is planned for it. */
typedef struct emi_needs emi_needs;
struct emi_needs {
	uint64_t n;             /* records to come, or EMI_UNKNOWN */
	int pushed;             /* they are pushed, not read from files */
	uint32_t spare;         /* block buffers that the caller wants for itself, ... */
	uint32_t files;         /* files that are going to be open at once, the scratch disks not among them */
	uint64_t held;          /* bytes that the caller took for this sort already */
	uint64_t bytes;         /* any length: of the input in files; pushed: that are expected; or EMI_UNKNOWN */
	uint32_t form;          /* ... and more of them while runs are formed */
	int all;                /* all of the memory is wanted: it has other uses than forming runs */
	uint32_t open;          /* files that are open already, and the caller's as what he holds is */
	uint64_t later;         /* bytes that the caller is going to take for this sort */
	int fair;               /* where nobody names a size, others are left as much as it takes, if that does */
	uint64_t have;          /* one size: records that a run must have room for; any length: bytes of a store */
	uint32_t threads;       /* no more of them; 0: as many as there are */
	int once;               /* any length: records cannot be read again with memory for a long one:
	                           emi_vary_beyond() */
	/* Where what the caller needs depends on the memory that there is, and on the threads: change it to that, needs
	 * being a copy.  Or NULL. */
	void (*scale)(emi_needs *needs, const emi_job *job, uint64_t memory, uint32_t threads);
	void *arg;              /* of scale */
};

/* Gaps on the scratch disks that no block fits in may have this part of the memory. */
#define EMI_SLACK_SHARE 2u

/* A run of so many records was formed. */
void emi_job_count_run(emi_job *job, uint64_t records);

/* Append a run of so many records to the list. */
em_status emi_job_add_run(emi_job *job, const emi_run *run, uint64_t records, em_errinfo *err);

/* Make the list of runs twice as long; merges have as much less memory. */
em_status emi_job_more_runs(emi_job *job, em_errinfo *err);

/* Fork, cancellation, a failed comparison: EM_OK or what is wrong. */
em_status emi_job_check(emi_job *job, em_errinfo *err);

/* Note how a call ended: the first failure, whose detail is in job->err, is kept and returned ever after. */
em_status emi_job_result(emi_job *job, em_status status);

void emi_job_stats(const emi_job *job, em_sort_stats *stats);

/* Nothing is going to be done any more: give back memory and disks, and keep what statistics tell. */
void emi_job_release(emi_job *job);
void emi_job_close(emi_job *job);

#endif
