/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines.h -- streams of records of any length.
 *
 * The window of such a stream is an array of numbers: where each record that is in hand ends, counted from s->text.  So
 * `record' is the size of a number, and whatever takes records from a window moves `at' as it does elsewhere.  A record
 * begins where the one before it ends, and that of s->first at s->text.
 *
 * Functions of a program's and sorters get batches whose ends count from the first record of the batch.
 */
#ifndef EMI_FLOW_LINES_H
#define EMI_FLOW_LINES_H

#include "flow/stream.h"

/* Records that functions get at a time. */
#define EMI_LINES_MOST 512u

/* The window is n records at text, n > 0. */
void emi_lines_show(em_stream *s, const char *text, const uint64_t *ends, size_t n);

/* Records in hand, at most so many, as a batch with ends of its own, for which there is room.  There is one or more;
 * none is taken. */
void emi_lines_look(const em_stream *in, uint64_t *ends, size_t most, em_batch *batch);

/* What is in hand becomes s->batch.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_lines_lend(em_stream *s, em_errinfo *err);

/* Memory for text, which grows. */
typedef struct emi_text_room {
	char *at;               /* NULL: none yet */
	size_t bytes;
} emi_text_room;

/* Have room for so many bytes, of which the first `used' stay. */
em_status emi_text_room_need(emi_text_room *r, em_ctx *ctx, size_t bytes, size_t used, em_errinfo *err);
void emi_text_room_free(emi_text_room *r, em_ctx *ctx);

/* The window of s, which was set, is part of that of `in'. */
static inline void emi_stream_same_text(em_stream *s, const em_stream *in)
{
	s->text = in->text;
	s->first = in->first;
}

#endif
