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

#include <extmem/stream_lines.h>

#include "flow/stream.h"
#include "key/vary.h"

/* Records that functions get at a time. */
#define EMI_LINES_MOST 512u

/* `in' has records of any length: EM_ERR_INVAL. */
em_status emi_lines_check(const em_stream *in, em_errinfo *err);

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

/* A record where it lies. */
typedef struct emi_one_record {
	const char *at;         /* NULL: there is none */
	size_t bytes;
} emi_one_record;

/* The next record of an input, which is in hand, whatever its length. */
static inline emi_one_record emi_one_in_hand(const em_stream *in)
{
	emi_one_record p = { in->source.at, in->record };

	if (in->varied) {
		const uint64_t *end = (const uint64_t *)(const void *)in->source.at;
		const uint64_t begin = end == in->first ? 0 : end[-1];

		p.at = in->text != NULL ? in->text + begin : "";
		p.bytes = (size_t)(*end - begin);
	}
	return p;
}

/* Records of any length that a node makes. */
typedef struct emi_lines_made {
	emi_text_room text;
	size_t used;            /* bytes, also of a record that has no end yet */
	size_t n;               /* records */
	struct emi_lines_made *next; /* where they go on, of a function that makes any number */
	uint64_t ends[EMI_LINES_MOST];
} emi_lines_made;

/* EM_ERR_NOMEM, EM_ERR_MEMLIMIT: NULL. */
emi_lines_made *emi_lines_made_new(em_ctx *ctx, em_errinfo *err);
void emi_lines_made_free(emi_lines_made *m, em_ctx *ctx);

/* How many records of any length s makes at a time, at most. */
size_t emi_lines_most(const em_stream *s);

/* Is that as much as is lent at a time, if nobody says less? */
int emi_lines_made_whole(const emi_lines_made *m);

/* Is that as much as s makes at a time? */
int emi_lines_made_full(const em_stream *s, const emi_lines_made *m);

/* Bytes more of a record, and its end. */
em_status emi_lines_made_put(emi_lines_made *m, em_ctx *ctx, const void *bytes, size_t n, em_errinfo *err);
void emi_lines_made_end(emi_lines_made *m);

/* They become the window, and the next ones are made in their place.  EM_OK; EM_END: there are none. */
em_status emi_lines_made_show(em_stream *s, emi_lines_made *m);

/* One that a function of the caller's is making (extmem/stream_lines.h), or any number of them. */
struct em_line {
	em_ctx *ctx;
	emi_lines_made *made;   /* where it is made: of several, the last of a list */
	int several;            /* the function may end it, and begin another one */
	uint64_t left;          /* bytes that may still be put; each record takes EMI_LINE_COST more */
	em_errinfo err;         /* what putting failed with */
};

/* Of several records, what is counted of each beside its bytes: an end, and its part of memory for text. */
#define EMI_LINE_COST 64u

void emi_line_begin(em_line *line, em_ctx *ctx, emi_lines_made *made);
/* The same of several, which take so many bytes together. */
void emi_line_begin_several(em_line *line, em_ctx *ctx, emi_lines_made *made, uint64_t bytes);
/* Bytes more, unless that has failed before. */
em_status emi_line_put(em_line *line, const void *bytes, size_t n);
/* The function has returned that: its record ends, or there is a reason why it does not.  does: what functions do. */
em_status emi_line_end(em_line *line, int returned, const char *does, em_errinfo *err);
/* The same of several: all have ended, or there is a failure. */
em_status emi_line_end_several(em_line *line, int returned, const char *does, em_errinfo *err);

/* The next record of an input of records of any length as its order compares it: a frame (key/vary.h). */
typedef struct emi_line_frame {
	emi_text_room room;
	int known;              /* the frame is that of the next record */
} emi_line_frame;

/* Make it of the record in hand, if it is not known. */
em_status emi_line_frame_look(emi_line_frame *f, const emi_vary *vary, const em_stream *in, em_errinfo *err);

/* The same behind others, from `at' on: *made is how many bytes it has; 0: there is no room.  For the first one, with
 * at = 0, there is. */
em_status emi_line_frame_make(emi_text_room *r, size_t at, const emi_vary *vary, const em_stream *in, size_t *made,
			      em_errinfo *err);

/* What em_stream_merge() and em_stream_unique() are of records of any length, to be ended by emi_stream_end().  Inputs
 * and the order were checked, each by each.  NULL, with err filled. */
em_stream *emi_lines_merge(em_stream *const *inputs, uint32_t n, const em_order *order, uint64_t count,
			   em_errinfo *err);
em_stream *emi_lines_unique(em_stream *in, const em_order *order, int counted, em_errinfo *err);

/* The window of s, which was set, is part of that of `in'. */
static inline void emi_stream_same_text(em_stream *s, const em_stream *in)
{
	s->text = in->text;
	s->first = in->first;
}

#endif
