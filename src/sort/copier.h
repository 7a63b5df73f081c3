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

typedef struct emi_copier {
	emi_job *job;
	emi_sink *sink;
	emi_sink_part *part;    /* not NULL: of that sink, this part */
	size_t bytes;           /* of each buffer */
	emi_outbuf buf[EMI_COPIER_BUFFERS];
	uint32_t cur;
	size_t filled;          /* bytes in the current one */
	uint64_t at;            /* bytes written so far; in a part: the position in the file */
} emi_copier;

em_status emi_copier_init(emi_copier *c, emi_job *job, emi_sink *sink, size_t bytes, em_errinfo *err);

/* Before anything is written: write to this part, from its beginning on. */
void emi_copier_to_part(emi_copier *c, emi_sink_part *part);

/* Waits for what is on its way.  All zeroes need no freeing. */
void emi_copier_free(emi_copier *c);

em_status emi_copier_write(emi_copier *c, const void *data, size_t n, em_errinfo *err);

/* Write what is in the buffers, and wait for it. */
em_status emi_copier_flush(emi_copier *c, em_errinfo *err);

#endif
