/* SPDX-License-Identifier: BSL-1.0 */
/*
 * paths.h -- may streams become inputs of one node?
 *
 * Where two of them come from one tee, what one path has read and the other has not is in the tee's buffer.  If a node
 * on a path reads its input to the end before it lends anything, as a sort does, that is all of it; and if a path has a
 * thread of its own, two threads would use the tee.  Both are found here, before anything is pulled.
 */
#ifndef EMI_FLOW_PATHS_H
#define EMI_FLOW_PATHS_H

#include "flow/stream.h"

/* n > 1 inputs that a node of a kind is to have.  EM_ERR_MEMLIMIT: the buffer of a tee would have to hold more than it
 * does; EM_ERR_INVAL: two threads would use one.  Nothing changes. */
em_status emi_paths_check(const emi_stream_kind *kind, em_stream *const *inputs, uint32_t n, em_errinfo *err);

#endif
