/* SPDX-License-Identifier: BSL-1.0 */
/* runs_stream.h -- runs of an em_runs as a stream. */
#ifndef EMI_FLOW_RUNS_STREAM_H
#define EMI_FLOW_RUNS_STREAM_H

#include "flow/kept_runs.h"

/* A stream that consumes k runs from the first-th on, as it was planned.  It is the owner's of the runs, who closes it
 * within the same call. */
em_stream *emi_runs_pass(em_runs *r, uint64_t first, uint32_t k, const emi_plan *plan, em_errinfo *err);

#endif
