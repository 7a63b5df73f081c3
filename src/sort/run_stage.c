/* SPDX-License-Identifier: BSL-1.0 */
/* run_stage.c -- see run_stage.h. */
#include "sort/run_stage.h"

#include <string.h>

#include "sort/block_vary.h"

#define SLACK 8u                /* bytes behind the last frame that may be read */

em_status emi_run_stage_init(emi_run_stage *s, emi_engine *e, em_errinfo *err)
{
	const size_t record_bytes = e->job.by.codec->record_bytes;

	memset(s, 0, sizeof *s);
	s->bytes = record_bytes != 0 ? e->job.plan.block_records * record_bytes : emi_block_room(e->job.plan.block_bytes);
	s->base = emi_buffer_alloc(e->job.ctx, s->bytes + SLACK, err);
	if (s->base == NULL)
		return err->status;
	s->e = e;
	return EM_OK;
}

void emi_run_stage_free(emi_run_stage *s)
{
	if (s->e != NULL)
		emi_buffer_free(s->e->job.ctx, s->base, s->bytes + SLACK);
	memset(s, 0, sizeof *s);
}

static em_status status_of_out(const emi_run_stage *s, em_errinfo *err)
{
	const em_status st = emi_outseq_status(&s->e->out);

	if (st != EM_OK && err->status == EM_OK)
		*err = s->e->out.err;
	return st;
}

/* Write the records of one size that are staged as a block. */
static em_status put_records(emi_run_stage *s, em_errinfo *err)
{
	char *base = emi_outseq_take(&s->e->out, s->block, s->filled, 0);

	if (base == NULL)
		return status_of_out(s, err);
	memcpy(base, s->base, s->filled);
	emi_outseq_full(&s->e->out, s->block++, s->filled / s->e->job.by.codec->record_bytes);
	s->filled = 0;
	return status_of_out(s, err);
}

/* Write the frames that are staged as a block. */
static em_status put_frames(emi_run_stage *s, em_errinfo *err)
{
	const emi_vary *v = s->e->job.by.vary;
	const unsigned char *p = s->base, *end = p + s->filled;
	emi_block_builder b;
	char *base;

	base = emi_outseq_take(&s->e->out, s->block, (size_t)emi_block_bytes(s->filled), 0);
	if (base == NULL)
		return status_of_out(s, err);
	emi_block_begin(&b, base, s->filled);
	while (p < end) {
		const emi_frame f = emi_frame_get(v, p);

		emi_block_add(&b, p, (size_t)(emi_frame_end(&f) - p), f.bytes + s->e->job.out_extra);
		p = emi_frame_end(&f);
	}
	emi_block_end(&b);
	emi_outseq_full(&s->e->out, s->block++, b.records);
	s->filled = 0;
	return status_of_out(s, err);
}

static em_status put_block(emi_run_stage *s, em_errinfo *err)
{
	if (s->filled == 0)
		return EM_OK;
	return s->e->job.by.codec->record_bytes != 0 ? put_records(s, err) : put_frames(s, err);
}

/* The run begins with its first record. */
static em_status begin(emi_run_stage *s, em_errinfo *err)
{
	em_status st = EM_OK;

	if (s->begun)
		return EM_OK;
	st = emi_engine_begin_run(s->e, 0, err);
	s->begun = st == EM_OK;
	s->block = 0;
	return st;
}

/* A frame that is longer than a block is one by itself. */
static em_status put_long(emi_run_stage *s, const emi_frame *f, const unsigned char *head, size_t head_bytes, em_errinfo *err)
{
	const size_t string = (size_t)(f->key_bytes + f->bytes), bytes = head_bytes + string;
	char *base = emi_outseq_take(&s->e->out, s->block, (size_t)emi_block_bytes(bytes), 0);
	emi_block_builder b;

	if (base == NULL)
		return status_of_out(s, err);
	emi_block_begin(&b, base, bytes);
	emi_block_add(&b, head, head_bytes, f->bytes + s->e->job.out_extra);
	memcpy(b.at, f->string, string);
	b.at += string;
	emi_block_end(&b);
	emi_outseq_full(&s->e->out, s->block++, 1);
	return status_of_out(s, err);
}

em_status emi_run_stage_put(emi_run_stage *s, const emi_frame *f, em_errinfo *err)
{
	unsigned char head[2 * EMI_LENGTH_MAX], *h = emi_length_put(head, f->bytes);
	const size_t string = (size_t)(f->key_bytes + f->bytes);
	size_t head_bytes;
	em_status st = begin(s, err);

	if (s->e->job.by.vary->keyed)
		h = emi_length_put(h, f->key_bytes);
	head_bytes = (size_t)(h - head);
	if (st == EM_OK && head_bytes + string > s->bytes - s->filled)
		st = put_block(s, err);
	if (st != EM_OK)
		return st;
	if (head_bytes + string > s->bytes)
		return put_long(s, f, head, head_bytes, err);
	emi_copy(s->base + s->filled, head, head_bytes);
	emi_copy(s->base + s->filled + head_bytes, f->string, string);
	s->filled += head_bytes + string;
	return EM_OK;
}

em_status emi_run_stage_put_elems(emi_run_stage *s, const void *elems, size_t n, em_errinfo *err)
{
	const emi_codec *codec = s->e->job.by.codec;
	const char *elem = elems;
	em_status st = begin(s, err);

	while (st == EM_OK && n != 0) {
		const size_t room = (s->bytes - s->filled) / codec->record_bytes, some = n < room ? n : room;

		emi_collation_store(&s->e->job.by, elem, some, s->base + s->filled);
		s->filled += some * codec->record_bytes;
		elem += some * codec->elem_bytes;
		n -= some;
		if (s->filled == s->bytes)
			st = put_block(s, err);
	}
	return st;
}

em_status emi_run_stage_end(emi_run_stage *s, em_errinfo *err)
{
	em_status st = put_block(s, err);

	if (st == EM_OK && s->begun)
		st = emi_engine_end_run(s->e, err);
	s->begun = 0;
	return st;
}
