/* SPDX-License-Identifier: BSL-1.0 */
/* lines.c -- see lines.h. */
#include "flow/lines.h"

#include <string.h>

#include "base/memory.h"

/* Bytes of text for which memory is taken at first. */
#define TEXT_LEAST ((size_t)16 << 10)

void emi_lines_show(em_stream *s, const char *text, const uint64_t *ends, size_t n)
{
	s->text = text;
	s->first = ends;
	s->source.at = (const char *)ends;
	s->source.end = (const char *)(ends + n);
}

void emi_lines_look(const em_stream *in, uint64_t *ends, size_t most, em_batch *batch)
{
	const uint64_t *at = (const uint64_t *)(const void *)in->source.at;
	const uint64_t begin = at == in->first ? 0 : at[-1];
	const size_t hand = emi_stream_hand(in), n = hand < most ? hand : most;
	size_t i;

	for (i = 0; i < n; i++)
		ends[i] = at[i] - begin;
	batch->records = in->text + begin;
	batch->n = n;
	batch->bytes = (size_t)ends[n - 1];
	batch->ends = ends;
}

em_status emi_lines_lend(em_stream *s, em_errinfo *err)
{
	const uint64_t *at = (const uint64_t *)(const void *)s->source.at;
	em_status st = EM_OK;

	if (at == s->first) {
		s->batch.records = s->text;
		s->batch.n = emi_stream_hand(s);
		s->batch.bytes = (size_t)at[s->batch.n - 1];
		s->batch.ends = at;
	} else {
		st = emi_stream_room(s, err);
		if (st == EM_OK)
			emi_lines_look(s, (uint64_t *)(void *)s->room, s->room_records, &s->batch);
	}
	if (st == EM_OK)
		s->source.at += s->batch.n * s->record;
	return st;
}

em_status emi_text_room_need(emi_text_room *r, em_ctx *ctx, size_t bytes, size_t used, em_errinfo *err)
{
	const size_t twice = r->bytes < SIZE_MAX / 2 ? 2 * r->bytes : SIZE_MAX;
	char *more;

	if (bytes <= r->bytes && r->at != NULL)
		return EM_OK;
	if (bytes < twice && r->bytes < ((size_t)1 << 20))
		bytes = twice;
	if (bytes < TEXT_LEAST)
		bytes = TEXT_LEAST;
	more = emi_buffer_alloc(ctx, bytes, err);
	if (more == NULL)
		return err->status;
	if (used != 0)
		memcpy(more, r->at, used);
	emi_text_room_free(r, ctx);
	r->at = more;
	r->bytes = bytes;
	return EM_OK;
}

void emi_text_room_free(emi_text_room *r, em_ctx *ctx)
{
	if (r->at != NULL)
		emi_buffer_free(ctx, r->at, r->bytes);
	r->at = NULL;
	r->bytes = 0;
}
