/* SPDX-License-Identifier: BSL-1.0 */
/* top_core.c -- what an em_top does, for its callers and for those that read files; see top.h. */
#include "sort/top.h"

#include <string.h>

#include "base/pieces.h"
#include "base/workers.h"
#include "sort/plan_job.h"
#include "sort/plan_vary.h"

#define SCRATCH_LEAST ((uint64_t)16 << 10) /* of each strand: EMI_TOP_KEPT elements */
#define SCRATCH_MOST ((uint64_t)64 << 10)
#define SCRATCH_SHARE 256u      /* of the memory, for frames that are looked at */

/* While input comes, what was read is what is done, and not what was sorted on the way. */
static int report(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	em_top *t = user;
	const em_sort_opts *o = &t->front.e.job.opts;

	if (phase == EM_PHASE_RUNS)
		done = total != 0 && t->read > total ? total : t->read;
	return o->progress(o->progress_user, phase, done, total);
}

em_status emi_top_begin(em_top *t, em_ctx *ctx, const em_order *order, uint64_t from, uint64_t k,
			const em_sort_opts *opts, em_errinfo *err)
{
	em_status st = emi_engine_open(&t->front.e, ctx, order, opts, err);
	emi_job *job = &t->front.e.job;

	if (st != EM_OK)
		return st;
	t->from = from;
	t->k = k;
	t->need = k == 0 ? 0 : from > UINT64_MAX - k ? UINT64_MAX : from + k;
	emi_watch_init(&job->watch, ctx, job->opts.progress != NULL ? report : NULL, t, &job->io);
	return EM_OK;
}

/* Bytes that a strand's scratch should have, which need not be whole pages: so what is counted grows evenly with the
 * memory. */
static uint64_t scratch_wanted(const emi_job *job, uint64_t memory)
{
	const uint64_t want = memory / SCRATCH_SHARE;

	/* A record, where it is its element. */
	if (job->by.own != NULL && job->by.codec->elem_bytes > SCRATCH_LEAST)
		return (job->by.codec->elem_bytes + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	if (job->by.vary == NULL || want < SCRATCH_LEAST)
		return SCRATCH_LEAST;
	return want < SCRATCH_MOST ? want : SCRATCH_MOST;
}

static uint64_t strands_memory(uint32_t strands, uint64_t scratch)
{
	return (uint64_t)strands * (sizeof(emi_strand) + EMI_TOP_KEPT * sizeof(emi_top_kept) + scratch) + 3u * EMI_PAGE;
}

static em_status make_strands(em_top *t, em_errinfo *err)
{
	em_ctx *ctx = t->front.e.job.ctx;
	uint32_t i;

	t->strand = emi_alloc_array(ctx, t->strands, sizeof *t->strand, err);
	if (t->strand != NULL)
		t->kept = emi_alloc_array(ctx, (uint64_t)t->strands * EMI_TOP_KEPT, sizeof *t->kept, err);
	if (t->kept != NULL)
		t->scratch = emi_buffer_alloc(ctx, t->strands * t->strand_scratch, err);
	if (t->scratch == NULL)
		return err->status;
	for (i = 0; i < t->strands; i++) {
		t->strand[i].top = t;
		t->strand[i].kept = t->kept + (size_t)i * EMI_TOP_KEPT;
		t->strand[i].scratch = t->scratch + i * t->strand_scratch;
	}
	return EM_OK;
}

static void scale(emi_needs *needs, const emi_job *job, uint64_t memory, uint32_t threads)
{
	const emi_top_use *use = needs->arg;

	needs->later = strands_memory(threads, scratch_wanted(job, memory)) + job->by.codec->record_bytes;
	if (use->later != NULL)
		needs->later += use->later(use->arg, memory, threads);
}

static emi_needs needs_of(em_top *t, const emi_top_use *use)
{
	emi_needs needs;

	t->use = *use;
	memset(&needs, 0, sizeof needs);
	needs.n = needs.bytes = EMI_UNKNOWN;
	needs.pushed = 1;
	needs.files = use->files;
	needs.held = use->taken;
	needs.open = use->open;
	needs.scale = scale;
	needs.arg = &t->use;
	return needs;
}

/* Plan, and take all memory. */
static em_status prepare(em_top *t, const emi_needs *needs, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	em_status st = emi_job_plan(job, needs, err);

	t->strands = job->plan.threads;
	t->strand_scratch = (size_t)scratch_wanted(job, job->plan_input.memory) / EMI_PAGE * EMI_PAGE;
	if (st == EM_OK)
		st = make_strands(t, err);
	if (st != EM_OK)
		return st;
	return emi_front_varied(&t->front) ? emi_top_room_vary(t, needs, err) : emi_top_room_fixed(t, err);
}

em_status emi_top_prepare(em_top *t, const emi_top_use *use, em_errinfo *err)
{
	const emi_needs needs = needs_of(t, use);

	return prepare(t, &needs, err);
}

/* There are more than a few candidates.  Those of any length move to the store that there is then; others come in once
 * more, as the first. */
static em_status engage(emi_front *f, em_errinfo *err)
{
	em_top *t = (em_top *)(void *)f;
	emi_job *job = &f->e.job;
	const uint64_t n = f->n;
	const size_t bytes = f->area_bytes;
	char *few = f->area;
	em_status st;

	if (emi_front_varied(f)) {
		f->needs.have += emi_vary_longest(job);
		return prepare(t, &f->needs, err);
	}
	f->area = NULL;
	f->area_bytes = 0;
	f->n = f->needs.have = job->lent = 0;
	f->needs.held += bytes;
	st = prepare(t, &f->needs, err);
	if (st == EM_OK && n != 0) {
		emi_strand_records(&t->strand[0], few, n);
		st = emi_top_take(t, 1, err);
	}
	emi_piece_free(job->ctx, few, bytes);
	return st;
}

em_status emi_top_prepare_few(em_top *t, const emi_top_use *use, em_errinfo *err)
{
	const emi_needs needs = needs_of(t, use);

	return emi_front_begin(&t->front, &needs, engage, err);
}

/* Free what is not the front's. */
static void release(em_top *t)
{
	em_ctx *ctx = t->front.e.job.ctx;

	if (emi_front_varied(&t->front))
		emi_buffer_free(ctx, t->limit, t->limit_bytes);
	else
		emi_free(ctx, t->limit, t->limit_bytes);
	emi_buffer_free(ctx, t->scratch, t->strands * t->strand_scratch);
	emi_free_array(ctx, t->kept, (uint64_t)t->strands * EMI_TOP_KEPT, sizeof *t->kept);
	emi_free_array(ctx, t->strand, t->strands, sizeof *t->strand);
	t->limit = t->scratch = NULL;
	t->kept = NULL;
	t->strand = NULL;
}

void emi_top_end(em_top *t)
{
	em_ctx *ctx = t->front.e.job.ctx;

	if (ctx == NULL)
		return;
	emi_ctx_ref(ctx);
	release(t);
	emi_front_close(&t->front);
	emi_ctx_unref(ctx);
}

static void begin_strand(emi_strand *s, const void *at)
{
	s->at = at;
	s->format = NULL;
	s->end = s->base = NULL;
	s->ends = NULL;
	s->left = s->number = 0;
	s->nkept = 0;
}

void emi_strand_chunk(emi_strand *s, const em_format *format, const unsigned char *data, size_t bytes)
{
	begin_strand(s, data);
	s->format = format;
	s->end = data + bytes;
}

void emi_strand_records(emi_strand *s, const void *records, uint64_t n)
{
	begin_strand(s, records);
	s->left = n;
}

void emi_strand_batch(emi_strand *s, const em_batch *batch, size_t first, size_t n)
{
	/* Records that are all empty need not be anywhere. */
	const unsigned char *base = batch->records != NULL ? batch->records : (const void *)"";

	begin_strand(s, base + (first != 0 ? (size_t)batch->ends[first - 1] : 0));
	s->base = base;
	s->ends = batch->ends + first;
	s->left = n;
}

static void look(void *arg, uint32_t i)
{
	em_top *t = arg;
	emi_strand *s = &t->strand[i];

	if (emi_front_varied(&t->front))
		emi_strand_look_vary(s);
	else
		emi_strand_look_fixed(s);
}

/* Add what the first strands kept, in order, up to one that is not finished; *first is that one. */
static em_status add_kept(em_top *t, uint32_t *first, uint32_t n, em_errinfo *err)
{
	em_status st = EM_OK;

	for (; *first < n; ++*first) {
		emi_strand *s = &t->strand[*first];

		st = emi_front_varied(&t->front) ? emi_top_add_vary(t, s, err) : emi_top_add_fixed(t, s, err);
		if (st != EM_OK || !emi_strand_finished(s))
			return st;
	}
	return st;
}

/* Nothing is asked for. */
static void pass_over(emi_strand *s)
{
	if (emi_front_varied(&s->top->front)) {
		emi_strand_pass_vary(s);
		return;
	}
	s->number += s->left;
	s->left = 0;
}

em_status emi_top_take(em_top *t, uint32_t n, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	uint32_t i = 0;
	em_status st = emi_job_check(job, err);

	for (; t->need == 0 && i < n; i++)
		pass_over(&t->strand[i]);
	for (; st == EM_OK && i < n && !t->limited; i += emi_strand_finished(&t->strand[i]) ? 1u : 0u)
		st = emi_front_varied(&t->front) ? emi_top_add_all_vary(t, &t->strand[i], err)
						 : emi_top_add_all_fixed(t, &t->strand[i], err);
	while (st == EM_OK && i < n) {
		if (n - i == 1)
			look(t, i);
		else
			emi_parallel(job->ctx, n, look, t);
		st = add_kept(t, &i, n, err);
		if (st == EM_OK)
			st = emi_job_check(job, err);
	}
	return st;
}

em_status emi_top_finish(em_top *t, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	em_status st = emi_job_check(job, err);

	t->front.stage = EMI_FINISHED;
	if (st == EM_OK && t->need != 0)
		st = emi_front_end_few(&t->front, err);
	if (st != EM_OK || job->runs.n == 0)
		return st;
	if (t->front.n > t->need)
		st = emi_top_cut_fixed(t, err);
	else if (t->front.e.store.n > t->need)
		st = emi_top_cut_vary(t, err);
	return st == EM_OK ? emi_front_reduce(&t->front, err) : st;
}

/* Leave out of a batch the records before it that are not asked for, and those behind.  Returns how many are left. */
static size_t clip(em_top *t, const em_batch *batch)
{
	const size_t skip = t->from < batch->n ? (size_t)t->from : batch->n;
	const size_t n = batch->n - skip < t->k ? batch->n - skip : (size_t)t->k;
	uint64_t begin, end, *ends;
	size_t i;

	t->from -= skip;
	t->k -= n;
	if (n == 0)
		return 0;
	if (batch->ends == NULL) {
		begin = (uint64_t)skip * t->front.e.job.by.codec->record_bytes;
		end = begin + (uint64_t)n * t->front.e.job.by.codec->record_bytes;
		ends = NULL;
	} else {
		/* The ends are the engine's, which makes them anew for each batch. */
		ends = (uint64_t *)(uintptr_t)batch->ends + skip;
		begin = skip != 0 ? ends[-1] : 0;
		end = ends[n - 1];
		for (i = 0; i < n && begin != 0; i++)
			ends[i] -= begin;
	}
	t->batch.records = (const char *)batch->records + begin;
	t->batch.n = n;
	t->batch.bytes = (size_t)(end - begin);
	t->batch.ends = ends;
	return n;
}

em_status emi_top_lend(em_top *t, const em_batch **batch, em_errinfo *err)
{
	const em_batch *b;

	do {
		const em_status st = t->k != 0 ? emi_front_pull(&t->front, &b, err) : EM_END;

		if (st == EM_END) {
			release(t);
			emi_front_release(&t->front);
		}
		if (st != EM_OK) {
			t->front.stage = EMI_ENDED;
			t->front.e.job.records_out = t->lent;
			return st;
		}
	} while (clip(t, b) == 0);
	t->lent += t->batch.n;
	t->front.e.job.records_out = t->lent;
	*batch = &t->batch;
	return EM_OK;
}
