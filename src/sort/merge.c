/* SPDX-License-Identifier: BSL-1.0 */
/* merge.c -- see merge.h. */
#include "sort/merge.h"

#include <string.h>

#include "sort/block_vary.h"
#include "sort/merge_task.h"

#define LEAST_REACH 64u         /* bytes of any length to look ahead, at least */

/* The run that is in memory is one whose blocks all came, or whose last one did: it has no request and no buffer. */
static void take_kept(emi_merger *m, emi_merge_input *in, const emi_kept_run *kept)
{
	m->kept = *kept;
	m->total += kept->bytes;
	in->behind = kept->blocks;
	if (kept->blocks != 0)
		return;
	in->at = kept->first;
	in->left = kept->bytes;
}

/* The next block of the run that is in memory. */
static void next_kept(emi_merger *m, emi_merge_input *in)
{
	in->base = m->kept.first + (size_t)emi_block_place(m->kept_block++, m->kept_byte);
	in->at = (const char *)emi_block_first(in->base);
	in->left = (size_t)emi_block_frames(in->base);
	in->out = 0;
	in->behind--;
	m->kept_byte += in->left;
}

em_status emi_merger_open(emi_merger *m, emi_job *job, const emi_plan *plan, emi_run_fetch *fetch, const emi_run *runs,
			  uint32_t k, const emi_kept_run *kept, emi_outseq *q, em_errinfo *err)
{
	const size_t rb = job->by.codec->record_bytes;
	em_status st;
	uint32_t i;

	memset(m, 0, sizeof *m);
	m->job = job;
	m->plan = plan;
	m->fetch = fetch;
	m->q = q;
	m->k = k + (kept->area != NULL);
	m->cutter = rb != 0 ? &emi_cut_fixed : &emi_cut_vary;
	m->target = rb != 0 ? q->cap * rb : q->cap;
	m->least = rb != 0 ? rb : LEAST_REACH;
	m->in = emi_alloc_array(job->ctx, m->k, sizeof *m->in, err);
	m->task = emi_alloc_array(job->ctx, plan->tasks, sizeof *m->task, err);
	if (m->in == NULL || m->task == NULL) {
		st = err->status;
		goto out;
	}
	m->ntasks = plan->tasks;
	for (i = 0; i < m->ntasks; i++) {
		st = emi_merge_task_init(&m->task[i], job, plan, q, m->k, err);
		if (st != EM_OK)
			goto out;
	}
	for (i = 0; i < k; i++) {
		m->in[i].behind = runs[i].blocks;
		m->in[i].rest = runs[i].bytes;
		m->total += runs[i].bytes;
	}
	if (kept->area != NULL)
		take_kept(m, &m->in[k], kept);
	for (i = 0; i < m->k; i++)
		m->in[i].out_extra = (uint32_t)job->out_extra;
	st = emi_run_fetch_turn(fetch, err);
	m->reach = m->target / m->k;
	if (m->k > job->widest_merge)
		job->widest_merge = m->k;
out:
	if (st != EM_OK)
		emi_merger_close(m);
	return st;
}

void emi_merger_close(emi_merger *m)
{
	uint32_t i;

	if (m->job == NULL)
		return;
	for (; m->ntasks > 1 && m->retired < m->dispatched && !emi_ctx_forked(m->job->ctx); m->retired++)
		emi_task_wait(m->job->ctx, &m->task[m->retired % m->ntasks].task);
	if (m->task != NULL) {
		for (i = 0; i < m->ntasks; i++)
			emi_merge_task_free(&m->task[i], m->k);
		emi_free_array(m->job->ctx, m->task, m->plan->tasks, sizeof *m->task);
	}
	if (m->in != NULL)
		emi_free_array(m->job->ctx, m->in, m->k, sizeof *m->in);
	memset(m, 0, sizeof *m);
}

/* Wait for the oldest task, and take back the blocks that it was the last to use. */
static em_status retire(emi_merger *m, em_errinfo *err)
{
	struct emi_merge_task *t = &m->task[m->retired % m->ntasks];

	if (m->ntasks > 1)
		emi_task_wait(m->job->ctx, &t->task);
	m->retired++;
	while (t->used_up != NULL) {
		emi_fetched *f = t->used_up;

		t->used_up = f->next;
		emi_prefetch_return(&m->fetch->blocks, f);
	}
	emi_watch_add(&m->job->watch, t->bytes);
	return emi_run_fetch_advance(m->fetch, err);
}

/* A block came from a disk: it is not looked into before it was checked. */
static em_status admit_block(emi_merger *m, emi_merge_input *in, em_errinfo *err)
{
	em_status st = emi_run_fetch_admit(m->fetch, in->block, err);

	if (st != EM_OK)
		return st;
	if (!m->cutter->begin(&m->job->by, in) || in->left > in->rest || (in->behind == 0 && in->left != in->rest))
		return emi_merge_damaged(m->job, in->block, err);
	in->rest -= in->left;
	return EM_OK;
}

/* Have records of run i in hand, unless it has ended. */
static em_status need_input(emi_merger *m, uint32_t i, em_errinfo *err)
{
	emi_merge_input *in = &m->in[i];
	em_status st;

	if (in->left != 0 || in->behind == 0)
		return EM_OK;
	if (m->kept.area != NULL && i == m->k - 1) {
		next_kept(m, in);
		return EM_OK;
	}
	while (emi_prefetch_starved(&m->fetch->blocks, i)) {
		if (m->retired == m->dispatched)
			return emi_fail(err, EM_ERR_INTERNAL, "no buffer for run %u", (unsigned)i);
		st = retire(m, err);
		if (st != EM_OK)
			return st;
	}
	st = emi_prefetch_next(&m->fetch->blocks, i, &in->block, err);
	if (st != EM_OK)
		return st;
	if (in->block == NULL)
		return emi_fail(err, EM_ERR_INTERNAL, "run %u is too short", (unsigned)i);
	st = emi_watch_wait(&m->job->watch, &in->block->rq, err);
	if (st != EM_OK)
		return st;
	in->behind--;
	return admit_block(m, in, err);
}

/* The smallest, over all runs, of the records s bytes ahead.  s == 0: of the front ones. */
static void find_bound(const emi_merger *m, size_t s, emi_bound *b)
{
	uint32_t i;

	b->record = NULL;
	for (i = 0; i < m->k; i++) {
		emi_merge_input *in = &m->in[i];
		const char *r;

		/* The end of a run bounds nothing; unless one record is all that there is sure to be room for. */
		if (in->left == 0 || (s != 0 && in->left <= s && in->behind == 0))
			continue;
		r = m->cutter->ahead(&m->job->by, in, s);
		/* Of equal records that of the first run is the smallest, so a later one must be really before it. */
		if (b->record == NULL || emi_is_before(&m->job->by, r, UINT32_MAX, b)) {
			b->record = r;
			b->key = emi_collation_key(&m->job->by, r);
			b->val = emi_collation_val(&m->job->by, r);
			b->run = i;
		}
	}
}

/* The next records of run i that belong to the cut. */
static emi_slice cut(const emi_merger *m, uint32_t i, size_t s, const emi_bound *b)
{
	emi_merge_input *in = &m->in[i];
	const emi_slice none = { in->at, 0, 0, NULL, NULL };

	if (in->left == 0)
		return none;
	if (b->record == NULL)
		return m->cutter->rest(&m->job->by, in);
	/* A single step is the bound alone, even if the order contradicts itself. */
	if (i != b->run && (s == 0 || !emi_is_before(&m->job->by, in->at, i, b)))
		return none;
	return m->cutter->cut(&m->job->by, in, i, b, m->cutter->ahead(&m->job->by, in, s));
}

/* Cut with s bytes of reach in each run: fills the slices of a task, and returns how many bytes they are going to
 * be. */
static uint64_t cut_all(const emi_merger *m, size_t s, struct emi_merge_task *t)
{
	emi_bound b;
	uint32_t i;

	find_bound(m, s, &b);
	t->bound = b.record;
	t->slices = 0;
	t->bytes = 0;
	t->out = 0;
	for (i = 0; i < m->k; i++) {
		const emi_slice slice = cut(m, i, s, &b);

		if (slice.bytes == 0)
			continue;
		t->slice[t->slices++] = slice;
		t->bytes += slice.bytes;
		t->out += slice.out;
	}
	return m->q->dest.text ? t->out : t->bytes;
}

/* The reach that would have cut nearly a block, if what is cut grows with it; at most twice or half of what it was. */
static size_t better_reach(const emi_merger *m, uint64_t size)
{
	const double fit = (double)m->target * 15 / 16 / (double)size, most = (double)m->plan->block_bytes;
	const double reach = (double)m->reach * (fit > 2 ? 2 : fit < 0.5 ? 0.5 : fit);

	return (size_t)(reach < most ? reach : most);
}

/*
 * Find the next task: about a block of records, and never more, but for a single record that is larger.  Mixed keys
 * give nearly k * s bytes; where one run is far before the others, as in sorted or equal input, only s.  So the reach
 * adapts: it shrinks until the cut is small enough, and the next one begins with what would have been right for this
 * one.
 */
static uint64_t find_task(emi_merger *m, struct emi_merge_task *t)
{
	uint64_t size;

	while ((size = cut_all(m, m->reach, t)) > m->target && m->reach != 0) {
		const size_t reach = better_reach(m, size);

		m->reach = reach >= m->least ? reach : 0;
	}
	if (m->reach == 0)
		m->reach = size < m->target / 2 ? m->least : 0;
	else if (size != 0)
		m->reach = better_reach(m, size) > m->least ? better_reach(m, size) : m->least;
	return size;
}

/* Did anybody come across what cannot be? */
static em_status check_inputs(const emi_merger *m, em_errinfo *err)
{
	uint32_t i;

	for (i = 0; i < m->k; i++)
		if (m->in[i].damaged)
			return emi_merge_damaged(m->job, m->in[i].block, err);
	return EM_OK;
}

/* The records of a task leave their runs. */
static void take_slices(emi_merger *m, struct emi_merge_task *t)
{
	uint32_t i, slice = 0;

	for (i = 0; i < m->k && slice < t->slices; i++) {
		emi_merge_input *in = &m->in[i];

		if (in->left == 0 || in->at != t->slice[slice].first)
			continue;
		in->at += t->slice[slice].bytes;
		in->left -= t->slice[slice].bytes;
		in->out += t->slice[slice].out;
		slice++;
		if (in->left == 0 && in->block != NULL) {
			in->block->next = t->used_up;
			t->used_up = in->block;
			in->block = NULL;
		}
	}
}

static em_status dispatch(emi_merger *m, em_errinfo *err)
{
	struct emi_merge_task *t = &m->task[m->dispatched % m->ntasks];
	uint64_t size;
	em_status st;
	uint32_t i;

	for (i = 0; i < m->k; i++) {
		st = need_input(m, i, err);
		if (st != EM_OK)
			return st;
	}
	/* A block that is too large for the buffers waits for those before it: then so do we, who may lend them. */
	size = find_task(m, t);
	st = check_inputs(m, err);
	if (st != EM_OK)
		return st;
	if (size > m->target && m->retired < m->dispatched)
		return retire(m, err);
	t->index = m->dispatched;
	t->pos = m->pos;
	t->out_pos = m->out_pos;
	take_slices(m, t);
	m->pos += t->bytes;
	m->out_pos += m->q->dest.text ? t->out : t->bytes;
	m->dispatched++;
	/* A caller's function is only called on the caller's thread: then there is one task, run at once. */
	if (m->ntasks == 1)
		emi_merge_task_run(t);
	else
		emi_task_submit(m->job->ctx, &t->task, emi_merge_task_run, t);
	return EM_OK;
}

/* A new task writes at most this block: it is no larger than one. */
static uint64_t last_block(const emi_merger *m)
{
	uint64_t rb = m->job->by.codec->record_bytes, end;

	if (rb == 0)
		return m->dispatched;
	end = (m->total - m->pos < m->target ? m->total : m->pos + m->target) / rb;
	return emi_outseq_block_of(m->q, end - 1);
}

em_status emi_merger_step(emi_merger *m, em_errinfo *err)
{
	em_status st = emi_job_check(m->job, err);

	if (st != EM_OK)
		return st;
	if (emi_outseq_status(m->q) != EM_OK) {
		*err = m->q->err;
		return m->q->status;
	}
	if (m->pos < m->total && m->dispatched - m->retired < m->ntasks && emi_outseq_room(m->q, last_block(m)))
		return dispatch(m, err);
	if (m->retired < m->dispatched)
		return retire(m, err);
	if (m->pos == m->total)
		return EM_END;
	return emi_fail(err, EM_ERR_INTERNAL, "a merge waits for itself");
}

em_status emi_merger_feed(emi_merger *m, em_errinfo *err)
{
	em_status st = EM_OK;

	/* Of records of any length nobody knows beforehand how much room a task needs: it may have to wait for the
	 * block that is lent. */
	if (m->ntasks == 1 || m->job->by.codec->record_bytes == 0 || emi_outseq_status(m->q) != EM_OK)
		return EM_OK;
	while (st == EM_OK && m->pos < m->total) {
		if (m->dispatched - m->retired < m->ntasks) {
			if (!emi_outseq_room(m->q, last_block(m)))
				break;
			st = dispatch(m, err);
		} else {
			if (!emi_task_done(m->job->ctx, &m->task[m->retired % m->ntasks].task))
				break;
			st = retire(m, err);
		}
	}
	return st;
}

static em_status lend_block(void *arg, emi_outblock *block, em_errinfo *err)
{
	(void)arg;
	(void)block;
	(void)err;
	return EM_OK;
}

const emi_dest emi_dest_lends = { lend_block, NULL, NULL, 1, 0, NULL };

em_status emi_merger_pull(emi_merger *m, int *lent, const emi_outblock **block, em_errinfo *err)
{
	if (*lent)
		emi_outseq_release(m->q);
	*lent = 0;
	while ((*block = emi_outseq_front(m->q)) == NULL) {
		const em_status st = emi_merger_step(m, err);

		if (st != EM_OK)
			return st;
	}
	*lent = 1;
	return emi_merger_feed(m, err);
}
