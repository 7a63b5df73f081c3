/* SPDX-License-Identifier: BSL-1.0 */
/* lines_case.h -- what tests of streams of records of any length share: a model of lines in memory. */
#ifndef LINES_CASE_H
#define LINES_CASE_H

#include "flow/flow_case.h"

/* Lines one behind the other, and where each ends. */
typedef struct lines_model {
	char *text;
	uint64_t *ends;
	size_t n, bytes, room, most;
} lines_model;

void lines_add(lines_model *m, const char *line, size_t bytes);
const char *lines_at(const lines_model *m, size_t i, size_t *bytes);
void lines_free(lines_model *m);

/* n lines of a few letters; one of twenty may have up to `longest' bytes. */
void lines_random(flow_case *t, lines_model *m, size_t n, size_t longest);

/* A file of them: bytes of a number before each record, or, with width 0, a newline behind it; last: also the last. */
void lines_write(const char *path, const lines_model *m, unsigned width, int last);

/* n lines of up to so many bytes, sorted, in a file. */
void lines_sorted(flow_case *t, const em_order *order, size_t n, size_t longest, const char *path, lines_model *m);

/* All lines of a stream, by batches and its cursor in turn; or until m has about so many.  They come behind those that
 * m has, or m is filled anew. */
em_status lines_more(flow_case *t, em_stream *s, lines_model *m, size_t limit);
em_status lines_drain(flow_case *t, em_stream *s, lines_model *m, size_t limit);

void lines_assert_same(const lines_model *a, const lines_model *b);

/* The stream has these lines, and ends; it is closed. */
void lines_assert(flow_case *t, em_stream *s, const lines_model *want);

#endif
