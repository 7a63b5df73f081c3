/* SPDX-License-Identifier: BSL-1.0 */
/* copier.c -- see copier.h. */
#include "sort/copier.h"

#include "base/copy.h"

em_status emi_copier_init(emi_copier *c, emi_job *job, emi_sink *sink, size_t bytes, em_errinfo *err)
{
	uint32_t i;

	memset(c, 0, sizeof *c);
	c->job = job;
	c->sink = sink;
	c->bytes = bytes;
	for (i = 0; i < EMI_COPIER_BUFFERS; i++) {
		c->buf[i].base = emi_buffer_alloc(job->ctx, bytes + EMI_PAGE, err);
		if (c->buf[i].base == NULL) {
			emi_copier_free(c);
			return err->status;
		}
		memset(c->buf[i].base, 0, bytes + EMI_PAGE);
	}
	return EM_OK;
}

void emi_copier_to_part(emi_copier *c, emi_sink_part *part)
{
	c->part = part;
	c->at = part->begin;
}

void emi_copier_hold(emi_copier *c, emi_copier_take take, void *arg)
{
	c->take = take;
	c->arg = arg;
}

void emi_copier_free(emi_copier *c)
{
	uint32_t i;

	for (i = 0; i < EMI_COPIER_BUFFERS && c->job != NULL; i++) {
		if (c->buf[i].base == NULL)
			continue;
		emi_wait(&c->buf[i].rq, NULL);
		emi_buffer_free(c->job->ctx, c->buf[i].base, c->bytes + EMI_PAGE);
	}
	memset(c, 0, sizeof *c);
}

/* Send off the current buffer. */
static em_status put(emi_copier *c, em_errinfo *err)
{
	emi_outbuf *ob = &c->buf[c->cur];

	ob->len = c->filled;
	c->cur = (c->cur + 1) % EMI_COPIER_BUFFERS;
	c->filled = 0;
	if (c->take != NULL) {
		c->full++;
		return EM_OK;
	}
	return c->part != NULL ? emi_sink_part_put(c->part, ob, err) : emi_sink_put(c->sink, ob, err);
}

/* What the buffers hold is taken. */
static em_status hand_on(emi_copier *c, em_errinfo *err)
{
	em_status st = EM_OK;

	for (; st == EM_OK && c->full != 0; c->full--) {
		const emi_outbuf *ob = &c->buf[(c->cur + EMI_COPIER_BUFFERS - c->full) % EMI_COPIER_BUFFERS];

		st = c->take(c->arg, ob->base, ob->len, err);
	}
	return st;
}

/* The current buffer is free, and data goes into it from its lead on. */
static em_status begin_buffer(emi_copier *c, em_errinfo *err)
{
	emi_outbuf *ob = &c->buf[c->cur];

	ob->lead = 0;
	if (c->take != NULL)
		return c->full == EMI_COPIER_BUFFERS ? hand_on(c, err) : EM_OK;
	ob->lead = emi_sink_lead(c->sink, c->at);
	return emi_watch_wait(&c->job->watch, &ob->rq, err);
}

em_status emi_copier_write(emi_copier *c, const void *data, size_t n, em_errinfo *err)
{
	const char *from = data;

	while (n != 0) {
		emi_outbuf *ob = &c->buf[c->cur];
		size_t some = n < c->bytes - c->filled ? n : c->bytes - c->filled;
		em_status st = EM_OK;

		if (c->filled == 0)
			st = begin_buffer(c, err);
		if (st != EM_OK)
			return st;
		emi_copy(ob->base + ob->lead + c->filled, from, some);
		c->filled += some;
		c->at += some;
		from += some;
		n -= some;
		if (c->filled == c->bytes)
			st = put(c, err);
		if (st != EM_OK)
			return st;
	}
	return EM_OK;
}

em_status emi_copier_flush(emi_copier *c, em_errinfo *err)
{
	em_status st = c->filled != 0 ? put(c, err) : EM_OK;
	uint32_t i;

	if (c->take != NULL)
		return st == EM_OK ? hand_on(c, err) : st;
	for (i = 0; i < EMI_COPIER_BUFFERS; i++) {
		em_status w = emi_watch_wait(&c->job->watch, &c->buf[i].rq, err);

		if (st == EM_OK)
			st = w;
	}
	return st;
}
