/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan_memory.h -- how much of its memory a sort plans with.
 *
 * Memory that a caller names is used, and so is all there is where runs of some size are forced.  The default is an
 * upper bound: more memory makes longer runs, which saves passes, but fresh memory costs time, and data that fit in it
 * are read, sorted and written one after the other.  So a sort of N bytes plans with M = sqrt(N * 16 MiB), between 64
 * MiB and the bound: 128 MiB for 1 GiB, 512 MiB for 16 GiB, and its N/M runs grow as M does, which one merge has memory
 * for.  Records of any length have shorter runs and longer blocks: there it is sqrt(N * 64 MiB), and at least 128 MiB,
 * as it is for so little input that all is sorted in memory.  Up to 1 GiB is sorted as a whole also where fresh memory
 * turns out to be cheap (base/memory_price.h).  When nobody knows N, it is taken to be 1 GiB.  What is above M is for
 * blocks of runs that stay in memory (run_memory.h), and for the last merge, if that saves a pass.
 */
#ifndef EMI_PLAN_MEMORY_H
#define EMI_PLAN_MEMORY_H

#include "sort/job.h"

/* Find out whether memory is cheap, where that matters: before a job is planned. */
void emi_plan_price(emi_job *job, const emi_needs *needs);

/* Bytes to plan with, of `memory' that the job may have. */
uint64_t emi_plan_memory(const emi_job *job, const emi_needs *needs, uint64_t memory);

/* Have a context's memory raised to so many bytes, if it is less and that is allowed. */
int emi_plan_raise(em_ctx *ctx, uint64_t bytes);

/* Tell what a context's memory is now, in place of what it was, or of what the caller named if that was never told. */
void emi_plan_tell(em_ctx *ctx, uint64_t was);

#endif
