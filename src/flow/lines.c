/* SPDX-License-Identifier: BSL-1.0 */
/* lines.c -- see lines.h. */
#include "flow/lines.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Bytes of text for which memory is taken at first. */
#define TEXT_LEAST ((size_t)16 << 10)

em_status emi_lines_check(const em_stream *in, em_errinfo *err)
{
	if (in->varied)
		return EM_OK;
	return emi_fail(err, EM_ERR_INVAL, "the records of the stream have %zu bytes each, and not any length",
			in->record);
}

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

emi_lines_made *emi_lines_made_new(em_ctx *ctx, em_errinfo *err)
{
	return emi_alloc(ctx, sizeof(emi_lines_made), err);
}

void emi_lines_made_free(emi_lines_made *m, em_ctx *ctx)
{
	if (m == NULL)
		return;
	emi_text_room_free(&m->text, ctx);
	emi_free(ctx, m, sizeof *m);
}

size_t emi_lines_most(const em_stream *s)
{
	return s->most != 0 && s->most < EMI_LINES_MOST ? s->most : EMI_LINES_MOST;
}

int emi_lines_made_whole(const emi_lines_made *m)
{
	return m->n >= EMI_LINES_MOST || m->used >= TEXT_LEAST;
}

int emi_lines_made_full(const em_stream *s, const emi_lines_made *m)
{
	return m->n >= emi_lines_most(s) || emi_lines_made_whole(m);
}

em_status emi_lines_made_put(emi_lines_made *m, em_ctx *ctx, const void *bytes, size_t n, em_errinfo *err)
{
	em_status st;

	if (n > SIZE_MAX - m->used)
		return emi_fail(err, EM_ERR_MEMLIMIT, "a record is longer than memory");
	st = emi_text_room_need(&m->text, ctx, m->used + n, m->used, err);
	if (st != EM_OK)
		return st;
	if (n != 0)
		memcpy(m->text.at + m->used, bytes, n);
	m->used += n;
	return EM_OK;
}

void emi_lines_made_end(emi_lines_made *m)
{
	m->ends[m->n++] = m->used;
}

em_status emi_lines_made_show(em_stream *s, emi_lines_made *m)
{
	const size_t n = m->n;

	m->n = m->used = 0;
	if (n == 0)
		return EM_END;
	emi_lines_show(s, m->text.at, m->ends, n);
	return EM_OK;
}

void emi_line_begin(em_line *line, em_ctx *ctx, emi_lines_made *made)
{
	line->ctx = ctx;
	line->made = made;
	line->several = 0;
	line->left = UINT64_MAX;
	emi_errinfo_clear(&line->err);
}

void emi_line_begin_several(em_line *line, em_ctx *ctx, emi_lines_made *made, uint64_t bytes)
{
	emi_line_begin(line, ctx, made);
	line->several = 1;
	line->left = bytes;
}

/* Bytes of a record that has no end yet. */
static size_t unended(const emi_lines_made *m)
{
	return m->used - (m->n != 0 ? (size_t)m->ends[m->n - 1] : 0);
}

/* A record of several begins: in other memory, if there are as many as are lent at a time. */
static em_status begin_another(em_line *line)
{
	emi_lines_made *m = line->made;

	if (!emi_lines_made_whole(m))
		return EM_OK;
	m->next = emi_lines_made_new(line->ctx, &line->err);
	if (m->next == NULL)
		return line->err.status;
	line->made = m->next;
	return EM_OK;
}

/* So many bytes more are made. */
static em_status spend(em_line *line, size_t n)
{
	if (n > line->left)
		return emi_fail(&line->err, EM_ERR_MEMLIMIT,
				"a function made more records at a time than an eighth of memory");
	line->left -= n;
	return EM_OK;
}

em_status emi_line_put(em_line *line, const void *bytes, size_t n)
{
	em_status st = line->err.status;

	if (st == EM_OK)
		st = spend(line, n);
	if (st == EM_OK && line->several && unended(line->made) == 0)
		st = begin_another(line);
	if (st != EM_OK)
		return st;
	return emi_lines_made_put(line->made, line->ctx, bytes, n, &line->err);
}

em_status em_line_put(em_line *line, const void *bytes, size_t n)
{
	return line == NULL || (bytes == NULL && n != 0) ? EM_ERR_INVAL : emi_line_put(line, bytes, n);
}

em_status em_line_add(em_line *line, const void *bytes, size_t n)
{
	em_status st;

	if (line == NULL || (bytes == NULL && n != 0))
		return EM_ERR_INVAL;
	if (!line->several && line->err.status == EM_OK)
		(void)emi_fail(&line->err, EM_ERR_STATE, "a function that makes one record added others");
	st = emi_line_put(line, bytes, n);
	if (st == EM_OK)
		st = spend(line, EMI_LINE_COST);
	if (st == EM_OK)
		emi_lines_made_end(line->made);
	return st;
}

/* What a function has failed with: the status of a call that it made comes first. */
static em_status line_failed(const em_line *line, int returned, const char *does, em_errinfo *err)
{
	if (line->err.status != EM_OK) {
		*err = line->err;
		return err->status;
	}
	return returned != 0 ? emi_stream_user_failed(does, returned, err) : EM_OK;
}

em_status emi_line_end(em_line *line, int returned, const char *does, em_errinfo *err)
{
	const em_status st = line_failed(line, returned, does, err);

	if (st == EM_OK)
		emi_lines_made_end(line->made);
	return st;
}

em_status emi_line_end_several(em_line *line, int returned, const char *does, em_errinfo *err)
{
	const em_status st = line_failed(line, returned, does, err);

	if (st != EM_OK || unended(line->made) == 0)
		return st;
	return emi_fail(err, EM_ERR_USER, "a function that %s put bytes of one, and did not add it", does);
}

/* Bytes behind a frame that may be read. */
#define FRAME_SPARE sizeof(uint64_t)

em_status emi_line_frame_make(emi_text_room *r, size_t at, const emi_vary *vary, const em_stream *in, size_t *made,
			      em_errinfo *err)
{
	const emi_one_record p = emi_one_in_hand(in);
	const unsigned char *record = (const unsigned char *)p.at;
	const size_t end = r->at != NULL ? r->bytes - FRAME_SPARE : 0;
	em_status st;
	size_t need = 0;

	*made = 0;
	if (at <= end)
		*made = emi_frame_make(vary, record, p.bytes, r->at != NULL ? (unsigned char *)r->at + at : NULL,
				       end - at, &need);
	if (*made != 0 || at != 0)
		return EM_OK;
	st = emi_text_room_need(r, in->object.ctx, need + FRAME_SPARE, 0, err);
	if (st == EM_OK)
		*made = emi_frame_make(vary, record, p.bytes, (unsigned char *)r->at, need, NULL);
	return st;
}

em_status emi_line_frame_look(emi_line_frame *f, const emi_vary *vary, const em_stream *in, em_errinfo *err)
{
	em_status st = EM_OK;
	size_t made;

	if (!f->known)
		st = emi_line_frame_make(&f->room, 0, vary, in, &made, err);
	f->known = st == EM_OK;
	return st;
}
