/* SPDX-License-Identifier: BSL-1.0 */
/* public_stream.c -- pulling and closing streams as callers outside know it. */
#include <inttypes.h>

#include "base/error.h"
#include "flow/lines.h"

/* Lend what is in hand. */
static em_status lend(em_stream *s, em_errinfo *err)
{
	if (s->varied)
		return emi_lines_lend(s, err);
	s->batch.records = s->source.at;
	s->batch.bytes = (size_t)(s->source.end - s->source.at);
	s->batch.n = s->batch.bytes / s->record;
	s->source.at = s->source.end;
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	em_status st = EM_OK;

	if (s->owner != NULL)
		return emi_fail(err, EM_ERR_STATE, "the stream is an input of a node");
	st = emi_stream_need(s, err);
	return st == EM_OK ? lend(s, err) : st;
}

em_status em_stream_next(em_stream *s, const em_batch **batch)
{
	em_errinfo err;
	em_status st = emi_enter(s, &err);

	if (batch != NULL)
		*batch = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	if (st == EM_OK)
		st = next(s, &err);
	if (st == EM_OK) {
		*batch = &s->batch;
		emi_cursor_clear(&s->cursor);
	}
	return emi_leave(s, st, &err);
}

static em_status fill_cursor(emi_cursor *c, void *stream)
{
	em_stream *s = stream;
	em_errinfo err;
	em_status st = emi_enter(s, &err);

	if (st != EM_OK)
		return st;
	st = next(s, &err);
	if (st == EM_OK)
		emi_cursor_show(c, &s->batch);
	return emi_leave(s, st, &err);
}

em_cursor *em_stream_cursor(em_stream *s)
{
	if (s == NULL)
		return NULL;
	s->cursor.fill = fill_cursor;
	return &s->cursor.c;
}

uint64_t em_stream_record_bytes(const em_stream *s)
{
	return s != NULL && !s->varied ? s->record : 0;
}

uint64_t em_stream_count(const em_stream *s)
{
	return s != NULL ? emi_stream_left(s) : 0;
}

em_status em_stream_batch(em_stream *s, uint64_t records)
{
	em_errinfo err;
	em_status st = emi_enter(s, &err);

	if (st != EM_OK)
		return st;
	if (s->begun)
		st = emi_fail(&err, EM_ERR_STATE, "the stream was pulled already");
	else if (records > (SIZE_MAX >> 1) / s->record)
		st = emi_fail(&err, EM_ERR_RANGE, "%" PRIu64 " records of %zu bytes do not fit in memory", records,
			      s->record);
	else
		s->most = (size_t)records;
	return emi_leave(s, st, &err);
}

void em_stream_error(const em_stream *s, em_errinfo *err)
{
	emi_object_error(s, err);
}

void em_stream_close(em_stream *s)
{
	if (s != NULL && s->owner == NULL)
		emi_object_close(s);
}
