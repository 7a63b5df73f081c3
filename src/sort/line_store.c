/* SPDX-License-Identifier: BSL-1.0 */
/* line_store.c -- see line_store.h. */
#include "sort/line_store.h"

#include <string.h>

#include "base/pieces.h"
#include "sort/plan_vary.h"

#define REACH_TIMES 4u          /* a store for a long frame has room for so many, if it has to be another one */

em_status emi_line_store_begin(emi_line_store *p, emi_job *job, size_t bytes, em_errinfo *err)
{
	memset(p, 0, sizeof *p);
	p->job = job;
	p->most = job->opts.run_records;
	return emi_line_store_take(p, bytes, err);
}

em_status emi_line_store_equip(emi_line_store *p, em_errinfo *err)
{
	emi_job *job = p->job;
	em_status st = emi_partition_room_init(&p->buckets, job, err);

	if (st == EM_OK && job->plan.hot_bytes != 0) {
		p->hot = emi_buffer_alloc(job->ctx, job->plan.threads * job->plan.hot_bytes, err);
		if (p->hot == NULL)
			st = err->status;
	}
	if (st == EM_OK) {
		p->work = emi_buffer_alloc(job->ctx, job->plan.threads * EMI_KERN_WORK, err);
		if (p->work == NULL)
			st = err->status;
	}
	return st;
}

em_status emi_line_store_few(emi_line_store *p, em_errinfo *err)
{
	p->work = emi_piece_alloc(p->job->ctx, EMI_KERN_WORK, err);
	return p->work != NULL ? EM_OK : err->status;
}

em_status emi_line_store_init(emi_line_store *p, emi_job *job, size_t bytes, em_errinfo *err)
{
	em_status st = emi_line_store_begin(p, job, bytes, err);

	if (st == EM_OK)
		st = emi_line_store_equip(p, err);
	if (st != EM_OK)
		emi_line_store_free(p);
	return st;
}

void emi_line_store_free(emi_line_store *p)
{
	if (p->job == NULL)
		return;
	if (p->work != NULL)
		emi_piece_free(p->job->ctx, p->work, p->job->plan.threads * EMI_KERN_WORK);
	if (p->hot != NULL)
		emi_buffer_free(p->job->ctx, p->hot, p->job->plan.threads * p->job->plan.hot_bytes);
	if (p->base != NULL)
		emi_piece_free(p->job->ctx, p->base, p->bytes);
	if (p->buckets.ctx != NULL)
		emi_partition_room_free(&p->buckets);
	memset(p, 0, sizeof *p);
}

void emi_line_store_let(emi_line_store *p)
{
	emi_buffer_free(p->job->ctx, p->base, p->bytes);
	p->base = NULL;
}

/* As many bytes as it has when so many are wanted. */
static size_t whole(size_t bytes)
{
	return (bytes < EMI_PAGE ? EMI_PAGE : bytes) / 16 * 16;
}

em_status emi_line_store_take(emi_line_store *p, size_t bytes, em_errinfo *err)
{
	p->bytes = whole(bytes);
	p->base = emi_piece_alloc(p->job->ctx, p->bytes, err);
	if (p->base == NULL)
		return err->status;
	emi_line_store_clear(p);
	return EM_OK;
}

em_status emi_line_store_move(emi_line_store *p, size_t bytes, em_errinfo *err)
{
	const size_t now = whole(bytes), frames = p->bytes - (size_t)(p->low - p->base);
	uintptr_t shift;
	emi_pair *e;
	uint64_t i;
	char *base;

	if (now < emi_line_store_used(p))
		return emi_fail(err, EM_ERR_INTERNAL, "records do not fit in the memory for a run");
	base = emi_piece_alloc(p->job->ctx, now, err);
	if (base == NULL)
		return err->status;
	memcpy(base, p->base, (size_t)p->n * sizeof *e);
	memcpy(base + (now - frames), p->low, frames);
	shift = (uintptr_t)(base + (now - frames)) - (uintptr_t)p->low;
	e = (emi_pair *)(void *)base;
	for (i = 0; i < p->n; i++)
		e[i].val = (uintptr_t)e[i].val + shift;
	if (p->first != NULL)
		p->first = (const unsigned char *)base + (now - frames) + (p->first - (const unsigned char *)p->low);
	emi_piece_free(p->job->ctx, p->base, p->bytes);
	p->base = base;
	p->bytes = now;
	p->low = base + (now - frames);
	return EM_OK;
}

em_status emi_line_store_reach(emi_line_store *p, size_t frame, em_errinfo *err)
{
	const size_t least = frame + 2 * sizeof(emi_pair) + EMI_LINE_STORE_SLACK + 16;

	if (p->bytes >= least)
		return EM_OK;
	emi_line_store_let(p);
	return emi_line_store_take(p, least < SIZE_MAX / REACH_TIMES ? least * REACH_TIMES : least, err);
}

void emi_line_store_clear(emi_line_store *p)
{
	p->low = p->base + (p->bytes - EMI_LINE_STORE_SLACK);
	p->n = p->out = 0;
	p->first = NULL;
	p->common = UINT64_MAX;
}

int emi_line_store_grow(emi_line_store *p, uint64_t frames, uint64_t n, unsigned char **frame, emi_pair **elem)
{
	const uint64_t room = (uint64_t)(p->low - p->base);

	if (p->most != 0 && p->n != 0 && (p->n >= p->most || n > p->most - p->n))
		return 0;
	if (n > room / (2 * sizeof(emi_pair)) || frames > room || (p->n + n) * 2 * sizeof(emi_pair) + frames > room)
		return 0;
	p->low -= (size_t)frames;
	*frame = (unsigned char *)p->low;
	*elem = emi_line_store_elems(p) + (size_t)p->n;
	p->n += n;
	return 1;
}

void emi_line_store_share(emi_line_store *p, const unsigned char *frame, uint64_t common)
{
	const emi_vary *v = p->job->by.vary;

	if (p->first == NULL) {
		p->first = frame;
		p->common = common;
		return;
	}
	if (common > p->common)
		common = p->common;
	if (common != 0) {
		const emi_frame a = emi_frame_get(v, p->first), b = emi_frame_get(v, frame);
		const uint64_t both = emi_string_common(v, &a, &b, 0);

		common = both < common ? both : common;
	}
	p->common = common;
}

int emi_line_store_add(emi_line_store *p, const void *record, size_t n, size_t *need)
{
	const emi_vary *v = p->job->by.vary;
	const uint64_t used = p->n * 2 * sizeof(emi_pair);
	const size_t gap = (size_t)(p->low - p->base - (ptrdiff_t)used);
	unsigned char *frame;
	emi_frame f;
	emi_pair *e;
	size_t room, bytes;

	/* Its length is only known when it is made: so it is made at the low end of the gap, and moved. */
	if (gap < 2 * sizeof(emi_pair) || (p->most != 0 && p->n >= p->most)) {
		emi_frame_make(v, record, n, NULL, 0, need);
		return 0;
	}
	frame = (unsigned char *)p->base + used + 2 * sizeof(emi_pair);
	room = gap - 2 * sizeof(emi_pair);
	/* Nothing downstream has room for a longer one. */
	if (room > emi_vary_longest(p->job))
		room = (size_t)emi_vary_longest(p->job);
	bytes = emi_frame_make(v, record, n, frame, room, need);
	if (bytes == 0)
		return 0;
	memmove(p->low - bytes, frame, bytes);
	if (!emi_line_store_grow(p, bytes, 1, &frame, &e))
		return 0;
	f = emi_frame_get(v, frame);
	e->key = emi_string_key(v, &f, 0);
	e->val = (uintptr_t)frame;
	p->out += n + p->job->out_extra;
	emi_line_store_share(p, frame, emi_string_bytes(v, &f));
	return 1;
}
