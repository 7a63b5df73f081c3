/* SPDX-License-Identifier: BSL-1.0 */
/*
 * graph.h -- what a graph as a whole takes, and how far it got.
 *
 * A sort reads all of its input before it lends its first record.  So sorts cut a graph into phases: in each of them
 * one sort forms its runs, or the last node is pulled.  What lives in a phase is what is between the sort that reads
 * and those that it reads from: both, and the nodes in between.  Each node claims what it is going to take, when it is
 * made.  A sort whose options name no memory has a share: of what is left, less what is claimed in its phases, divided
 * by the sorts of the phase that has most.  It lives in two: that in which it forms runs, and that in which it merges
 * them.
 *
 * Nothing here depends on how far a graph got, but for em_stream_graph_info_get() and progress.  So a thread below
 * em_stream_ahead() may ask while another one is pulling.
 *
 * A program may want to hear how far it got.  Each source ticks with a window, and so do nodes that read all of their
 * input first, and those whose input has a thread: then at least one stream ticks for each window that comes out of the
 * graph, and others cost nothing.  A sort has its own ticks, which are passed on (emi_graph_watch()).
 */
#ifndef EMI_FLOW_GRAPH_H
#define EMI_FLOW_GRAPH_H

#include <extmem/sort.h>

#include "flow/stream.h"

/* What lives at the same time. */
typedef struct emi_graph_phase {
	uint64_t claims;        /* bytes, but for those of shares */
	uint32_t sorts;         /* that have shares */
} emi_graph_phase;

/* What ticks of a sort come to. */
typedef struct emi_graph_watcher {
	em_stream *s;
	em_progress_fn fn;      /* of the options of the sort, or NULL */
	void *user;
} emi_graph_watcher;

/* The memory of a sort whose options name none: a share, or 0: it is the only one.  Then *later is what others are
 * going to take beside it. */
uint64_t emi_graph_share(em_stream *sort, uint64_t *later);

/* Does the program listen to the graph from what s is a part of, and may this thread tell it? */
int emi_graph_listens(const em_stream *s);

/* Tell it, if it is time.  EM_OK, or EM_ERR_CANCELED with err filled: the program has had enough. */
em_status emi_graph_tick(em_stream *s, em_errinfo *err);

/* Have a sort, the node s, tick for its graph, too: its options call w in place of what they called, which w calls.  If
 * nobody listens nothing changes. */
void emi_graph_watch(em_stream *s, em_sort_opts *opts, emi_graph_watcher *w);

#endif
