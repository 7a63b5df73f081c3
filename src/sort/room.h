/* SPDX-License-Identifier: BSL-1.0 */
/*
 * room.h -- the space on disks that a sort takes: how much, and whose turn it is to have it.
 *
 * Records are on the scratch disk once, and while the last merge writes them to the output, the scratch disk gives
 * back what was read.  So that both together never hold much more than the records once, where they share a file
 * system, space for the output is not reserved at the beginning but step by step as the output grows.  When there is
 * none for a step, scratch gives back what it still keeps, and it is tried again.
 *
 * On its own file system the output has its space from the beginning, as it always had: then a full one is noticed
 * before the work, not behind it.
 */
#ifndef EMI_ROOM_H
#define EMI_ROOM_H

#include "sort/job.h"
#include "stream/sink.h"

/* Bytes of scratch space at most in use when n records are sorted as planned. */
uint64_t emi_room_scratch(const emi_plan *plan, uint64_t n);

/* There is a plan, and so it is known what is going to be on scratch: will that stay within the context's limit, as far
 * as that can be known?  EM_ERR_NOSPACE. */
em_status emi_room_check(emi_job *job, const emi_needs *needs, em_errinfo *err);

/* The sink is going to get so many bytes; 0: nobody knows. */
em_status emi_room_output(emi_job *job, emi_sink *sink, uint64_t bytes, em_errinfo *err);

/* The last merge begins, and nothing is written to scratch any more; what it writes goes to an output of ours.  Callers
 * who pull may have none, and holes take time: for them scratch stays as it is. */
void emi_room_give_back(emi_job *job);

#endif
