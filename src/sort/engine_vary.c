/* SPDX-License-Identifier: BSL-1.0 */
/* engine_vary.c -- the engine's steps for records of any length; see engine.h. */
#include <string.h>

#include "base/pieces.h"
#include "sort/block_vary.h"
#include "sort/engine.h"
#include "sort/plan_vary.h"

#define CHECK_EVERY 4096u       /* frames pulled between two looks at the clock */

/* Memory for batches. */
static em_status make_batch(emi_engine *e, em_errinfo *err)
{
	e->lines_bytes = emi_vary_batch(&e->job);
	e->lines = emi_piece_alloc(e->job.ctx, e->lines_bytes, err);
	if (e->lines != NULL)
		e->ends = emi_piece_alloc(e->job.ctx, e->lines_bytes, err);
	return e->ends != NULL ? EM_OK : err->status;
}

em_status emi_engine_prepare_vary(emi_engine *e, size_t store_bytes, int batches, em_errinfo *err)
{
	emi_job *job = &e->job;
	em_status st = e->store.job == NULL ? emi_line_store_begin(&e->store, job, store_bytes, err)
					    : emi_line_store_move(&e->store, store_bytes, err);

	e->store.most = job->opts.run_records;
	if (st == EM_OK)
		st = emi_workers_reach(job->ctx, job->plan.threads, err);
	if (st == EM_OK)
		st = emi_outseq_init(&e->out, &job->runs, job->plan.write_buffers, job->plan.packers,
				     job->plan.block_bytes, err);
	if (st == EM_OK)
		st = emi_line_store_equip(&e->store, err);
	return st == EM_OK && batches ? make_batch(e, err) : st;
}

em_status emi_engine_prepare_few_vary(emi_engine *e, em_errinfo *err)
{
	const em_status st = emi_line_store_few(&e->store, err);

	return st == EM_OK ? make_batch(e, err) : st;
}

em_status emi_engine_spill_store(emi_engine *e, em_errinfo *err)
{
	em_status st = emi_engine_begin_run(e, 0, err);

	if (st == EM_OK)
		st = emi_line_store_send(&e->store, &e->out, NULL, err);
	if (st == EM_OK)
		st = emi_engine_end_run(e, err);
	emi_line_store_clear(&e->store);
	return st;
}

/* Memory for the run: what those had who read the input; or what the store has free between elements and frames, of
 * which what is behind it is given back when the run is there.  NULL: that is too little, or the merge would need
 * it. */
static char *stay_room(emi_engine *e, size_t bytes)
{
	em_ctx *ctx = e->job.ctx;
	emi_line_store *store = &e->store;
	char *const gap = (char *)(emi_line_store_elems(store) + 2 * (size_t)store->n);

	if (bytes <= e->job.plan_input.form_bytes && emi_engine_can_keep(e, bytes)) {
		e->kept.area = emi_buffer_alloc(ctx, bytes, NULL);
		e->kept.area_bytes = e->kept.area != NULL ? bytes : 0;
		return e->kept.area;
	}
	if (bytes > (size_t)(store->low - gap) ||
	    !emi_engine_can_keep(e, emi_buffer_shrunk(ctx, store->bytes, (size_t)(gap - store->base) + bytes)))
		return NULL;
	return gap;
}

em_status emi_engine_keep_store(emi_engine *e, em_errinfo *err)
{
	emi_job *job = &e->job;
	uint64_t records;
	size_t bytes;
	em_status st;
	char *room;

	if (job->runs.n == 0 || e->store.n == 0)
		return EM_OK;
	bytes = emi_line_store_stay_bytes(&e->store);
	room = stay_room(e, bytes);
	if (room == NULL)
		return EM_OK;
	emi_outseq_begin_stay(&e->out, room, bytes, emi_block_room(job->plan.block_bytes));
	st = emi_line_store_send(&e->store, &e->out, &records, err);
	if (st != EM_OK)
		return st;
	if (e->kept.area == NULL) {
		e->kept.area = e->store.base;
		e->kept.area_bytes = emi_buffer_shrink(job->ctx, e->store.base, e->store.bytes,
						       (size_t)(room - e->store.base) + bytes);
		e->store.base = NULL;
	}
	emi_line_store_free(&e->store);
	e->kept.first = room;
	e->kept.bytes = (size_t)e->out.next_byte;
	e->kept.blocks = e->out.next_block;
	job->kept_records = records;
	emi_job_count_run(job, records);
	return EM_OK;
}

em_status emi_engine_send_store(emi_engine *e, const emi_dest *dest, em_errinfo *err)
{
	em_status st;

	emi_engine_begin_out(e, dest, 0);
	st = emi_line_store_send(&e->store, &e->out, NULL, err);
	return st == EM_OK ? emi_outseq_end(&e->out, err) : st;
}

em_status emi_engine_pull_vary(emi_engine *e, em_errinfo *err)
{
	em_status st;

	if (e->job.runs.n != 0)
		return emi_engine_pull_begin(e, NULL, 0, err);
	if (e->store.n == 0)
		return EM_OK;
	st = emi_line_store_sort(&e->store, &e->pairs, err);
	if (st != EM_OK)
		return st;
	emi_watch_phase(&e->job.watch, EM_PHASE_OUTPUT, e->store.out);
	e->elems_end = e->store.n;
	return EM_OK;
}

/* The next frame, equal ones included. */
static em_status next_frame(emi_engine *e, const unsigned char **frame, em_errinfo *err)
{
	const emi_vary *v = e->job.by.vary;
	const emi_outblock *block;
	emi_frame f;
	em_status st = EM_OK;

	if (e->job.runs.n == 0) {
		if (e->elems_at == e->elems_end)
			return EM_END;
		if (e->elems_at % CHECK_EVERY == 0)
			st = emi_job_check(&e->job, err);
		*frame = (const unsigned char *)(uintptr_t)e->pairs[e->elems_at].val;
		e->elems_at++;
		return st;
	}
	if (e->frame == e->frames_end) {
		st = emi_job_check(&e->job, err);
		if (st == EM_OK)
			st = emi_engine_pull_block(e, &block, err);
		if (st != EM_OK)
			return st;
		e->frame = emi_block_first(block->buf.base);
		e->frames_end = e->frame + emi_block_frames(block->buf.base);
	}
	*frame = e->frame;
	f = emi_frame_get(v, e->frame);
	e->frame = emi_frame_end(&f);
	return EM_OK;
}

/* Keep a copy of the frame that was pulled last, to know its equals. */
static em_status keep_last(emi_engine *e, const unsigned char *frame, size_t bytes, em_errinfo *err)
{
	if (bytes > e->last_bytes) {
		size_t room = bytes < EMI_PAGE / 2 ? EMI_PAGE : bytes + bytes / 2 + 8;

		if (e->last != NULL)
			emi_free(e->job.ctx, e->last, e->last_bytes);
		e->last_bytes = 0;
		/* Growing in steps saves allocations, but the longest records have just their own room. */
		e->last = emi_alloc(e->job.ctx, room, NULL);
		if (e->last == NULL) {
			room = bytes + 8;
			e->last = emi_alloc(e->job.ctx, room, err);
		}
		if (e->last == NULL)
			return err->status;
		e->last_bytes = room;
	}
	memcpy(e->last, frame, bytes);
	e->have_last = 1;
	return EM_OK;
}

em_status emi_engine_pull_frame(emi_engine *e, const unsigned char **frame, em_errinfo *err)
{
	const emi_vary *v = e->job.by.vary;
	em_status st;

	for (;;) {
		emi_frame f;

		st = next_frame(e, frame, err);
		if (st != EM_OK)
			return st;
		if ((e->job.flags & EM_SORT_UNIQUE) == 0)
			break;
		f = emi_frame_get(v, *frame);
		if (e->have_last) {
			const emi_frame last = emi_frame_get(v, (const unsigned char *)e->last);

			if (emi_string_compare(v, &last, &f, 0) == 0)
				continue;
		}
		st = keep_last(e, *frame, (size_t)(emi_frame_end(&f) - *frame), err);
		if (st != EM_OK)
			return st;
		break;
	}
	e->job.records_out++;
	return EM_OK;
}

em_status emi_engine_pull_lines(emi_engine *e, const em_batch **batch, em_errinfo *err)
{
	const emi_vary *v = e->job.by.vary;
	const size_t most = e->lines_bytes / sizeof *e->ends;
	em_status st = e->lines_status;
	size_t at = 0, n = 0;

	while (st == EM_OK && n < most) {
		const unsigned char *frame = e->held;
		emi_frame f;

		e->held = NULL;
		if (frame == NULL)
			st = emi_engine_pull_frame(e, &frame, err);
		if (st != EM_OK)
			break;
		f = emi_frame_get(v, frame);
		if (f.bytes > e->lines_bytes - at) {
			/* A block goes back before the next one comes: what is left over must be from this one. */
			e->held = frame;
			break;
		}
		memcpy(e->lines + at, emi_frame_record(&f), (size_t)f.bytes);
		at += (size_t)f.bytes;
		e->ends[n++] = at;
	}
	e->batch.records = e->lines;
	if (n == 0 && e->held != NULL) {
		/* A record that no batch has room for is lent from where it is. */
		const emi_frame f = emi_frame_get(v, e->held);

		e->batch.records = emi_frame_record(&f);
		at = (size_t)f.bytes;
		e->ends[n++] = at;
		e->held = NULL;
	}
	e->lines_status = st;
	if (n == 0)
		return st;
	e->batch.n = n;
	e->batch.bytes = at;
	e->batch.ends = e->ends;
	*batch = &e->batch;
	emi_watch_add(&e->job.watch, e->job.runs.n == 0 ? at : 0);
	return EM_OK;
}
