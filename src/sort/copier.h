/* SPDX-License-Identifier: BSL-1.0 */
/*
 * copier.h -- bytes to a sink, where they cannot be made in the buffers that are written.
 *
 * Two buffers take turns: one is filled while the other is on its way.
 */
#ifndef EMI_COPIER_H
#define EMI_COPIER_H

#include "sort/job.h"
#include "stream/sink.h"

#define EMI_COPIER_BUFFERS EMI_PLAN_COPIES

/* Takes n bytes in place of a sink. */
typedef em_status (*emi_copier_take)(void *arg, const char *data, size_t n, em_errinfo *err);

typedef struct emi_copier {
	emi_job *job;
	emi_sink *sink;
	emi_sink_part *part;    /* not NULL: of that sink, this part */
	emi_copier_take take;   /* not NULL: it gets what all buffers hold when they are full */
	void *arg;
	uint32_t full;          /* buffers that wait for that */
	size_t bytes;           /* of each buffer */
	emi_outbuf buf[EMI_COPIER_BUFFERS];
	uint32_t cur;
	size_t filled;          /* bytes in the current one */
	uint64_t at;            /* bytes written so far; in a part: the position in the file */
} emi_copier;

em_status emi_copier_init(emi_copier *c, emi_job *job, emi_sink *sink, size_t bytes, em_errinfo *err);

/* Before anything is written: write to this part, from its beginning on. */
void emi_copier_to_part(emi_copier *c, emi_sink_part *part);

/* Before anything is written: hold what is written, as long as there is room in the buffers, and have that function
 * take it, in order, then or when all is flushed.  The sink may be NULL. */
void emi_copier_hold(emi_copier *c, emi_copier_take take, void *arg);

/* Waits for what is on its way.  All zeroes need no freeing. */
void emi_copier_free(emi_copier *c);

em_status emi_copier_write(emi_copier *c, const void *data, size_t n, em_errinfo *err);

/* Write what is in the buffers, and wait for it. */
em_status emi_copier_flush(emi_copier *c, em_errinfo *err);

#endif
