/* SPDX-License-Identifier: BSL-1.0 */
/* distinct.h -- the node of em_stream_unique() that does not count. */
#ifndef EMI_FLOW_DISTINCT_H
#define EMI_FLOW_DISTINCT_H

#include "flow/stream.h"

/* To be ended by emi_stream_end(); NULL, with err filled. */
em_stream *emi_stream_distinct(em_stream *in, const em_order *order, em_errinfo *err);

#endif
