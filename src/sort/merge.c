/* SPDX-License-Identifier: BSL-1.0 */
/* merge.c -- see merge.h. */
#include "sort/merge.h"

#include <string.h>

#include "sort/merge_task.h"

/* One run: its front block, and what is behind it. */
struct emi_merge_input {
	emi_fetched *block;     /* NULL: none in hand */
	const char *at;         /* next record in it */
	size_t left;            /* records from there */
	uint64_t behind;        /* records in blocks not yet in hand */
};

/* Where a cut is made: right behind this record. */
typedef struct bound {
	const char *record;     /* NULL: no bound, everything in hand is before it */
	uint64_t key;
	uint32_t run;
} bound;

em_status emi_merger_open(emi_merger *m, emi_job *job, const emi_run *runs, uint32_t k, emi_outseq *q,
			  em_errinfo *err)
{
	em_status st;
	uint32_t i;

	memset(m, 0, sizeof *m);
	m->job = job;
	m->q = q;
	m->k = k;
	m->in = emi_alloc_array(job->ctx, k, sizeof *m->in, err);
	m->task = emi_alloc_array(job->ctx, job->plan.tasks, sizeof *m->task, err);
	if (m->in == NULL || m->task == NULL) {
		st = err->status;
		goto out;
	}
	m->ntasks = job->plan.tasks;
	for (i = 0; i < m->ntasks; i++) {
		st = emi_merge_task_init(&m->task[i], job, q, k, err);
		if (st != EM_OK)
			goto out;
	}
	for (i = 0; i < k; i++) {
		m->in[i].behind = runs[i].records;
		m->total += runs[i].records;
	}
	st = emi_run_reader_open(&m->reader, job, runs, k, err);
	if (st == EM_OK)
		st = emi_prefetch_open(&m->fetch, job->ctx, job->scratch, k, job->plan.read_buffers,
				       job->plan.block_bytes, emi_run_hint, &m->reader, &job->io, job->mispredict, err);
	if (st == EM_OK)
		st = emi_prefetch_advance(&m->fetch, err);
	m->reach = q->cap / k > 1 ? q->cap / k : 1;
	if (k > job->widest_merge)
		job->widest_merge = k;
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
	emi_prefetch_close(&m->fetch);
	emi_run_reader_close(&m->reader);
	if (m->task != NULL) {
		for (i = 0; i < m->ntasks; i++)
			emi_merge_task_free(&m->task[i], m->k);
		emi_free_array(m->job->ctx, m->task, m->job->plan.tasks, sizeof *m->task);
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
		emi_prefetch_return(&m->fetch, f);
	}
	emi_watch_add(&m->job->watch, (uint64_t)t->n * m->job->codec->record_bytes);
	return emi_prefetch_advance(&m->fetch, err);
}

/* Have records of run i in hand, unless it has ended. */
static em_status need_input(emi_merger *m, uint32_t i, em_errinfo *err)
{
	emi_merge_input *in = &m->in[i];
	size_t cap = m->job->plan.block_records;
	em_status st;

	if (in->left != 0 || in->behind == 0)
		return EM_OK;
	while (emi_prefetch_starved(&m->fetch, i)) {
		if (m->retired == m->dispatched)
			return emi_fail(err, EM_ERR_INTERNAL, "no buffer for run %u", (unsigned)i);
		st = retire(m, err);
		if (st != EM_OK)
			return st;
	}
	st = emi_prefetch_next(&m->fetch, i, &in->block, err);
	if (st != EM_OK)
		return st;
	if (in->block == NULL)
		return emi_fail(err, EM_ERR_CORRUPT, "scratch space is damaged: run %u is too short", (unsigned)i);
	st = emi_watch_wait(&m->job->watch, &in->block->rq, err);
	if (st != EM_OK)
		return st;
	emi_block_free(m->job->scratch, in->block->hint.bid, in->block->hint.bytes);
	in->at = in->block->buf;
	in->left = in->behind < cap ? (size_t)in->behind : cap;
	in->behind -= in->left;
	return EM_OK;
}

/* Does record a of run i come before the bound, or is it up to it? */
static int is_before(const emi_merger *m, const char *a, uint32_t i, const bound *b)
{
	const emi_job *job = m->job;
	uint64_t key = job->codec->key(job->order, a);

	if (key != b->key)
		return key < b->key;
	if (job->tie.fn != NULL) {
		int c = job->tie.fn(job->tie.arg, (uint64_t)(uintptr_t)a, (uint64_t)(uintptr_t)b->record);

		if (c != 0)
			return c < 0;
	}
	return i <= b->run;
}

static size_t reach(const emi_merge_input *in, size_t s)
{
	return in->left < s ? in->left : s;
}

/* The smallest, over all runs, of the records s ahead. */
static void find_bound(const emi_merger *m, size_t s, bound *b)
{
	size_t rb = m->job->codec->record_bytes;
	uint32_t i;

	b->record = NULL;
	for (i = 0; i < m->k; i++) {
		const emi_merge_input *in = &m->in[i];
		const char *r;

		/* The end of a run bounds nothing; unless one record is all that there is sure to be room for. */
		if (in->left == 0 || (s > 1 && in->left <= s && in->behind == 0))
			continue;
		r = in->at + (reach(in, s) - 1) * rb;
		/* Of equal records that of the first run is the smallest, so a later one must be really before it. */
		if (b->record == NULL || is_before(m, r, UINT32_MAX, b)) {
			b->record = r;
			b->key = m->job->codec->key(m->job->order, r);
			b->run = i;
		}
	}
}

/* How many of the next records of run i belong to the cut. */
static size_t cut(const emi_merger *m, uint32_t i, size_t s, const bound *b)
{
	const emi_merge_input *in = &m->in[i];
	size_t rb = m->job->codec->record_bytes, lo = 0, hi = reach(in, s);

	if (b->record == NULL || i == b->run)
		return hi;
	/* A single step is the bound alone, even if the order contradicts itself. */
	if (s == 1 || hi == 0 || !is_before(m, in->at, i, b))
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (is_before(m, in->at + mid * rb, i, b))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Cut with s records of reach in each run: fills the slices of a task, and returns how many records they hold. */
static size_t cut_all(const emi_merger *m, size_t s, struct emi_merge_task *t)
{
	size_t total = 0;
	uint32_t i;
	bound b;

	find_bound(m, s, &b);
	t->slices = 0;
	for (i = 0; i < m->k; i++) {
		size_t n = cut(m, i, s, &b);

		if (n == 0)
			continue;
		t->slice[t->slices].first = m->in[i].at;
		t->slice[t->slices].n = n;
		t->slices++;
		total += n;
	}
	return total;
}

/*
 * Find the next task: about a block of records, never more.  Mixed keys give nearly k * s records; where one run is far
 * before the others, as in sorted or equal input, only s.  So the reach adapts: it is halved until the cut is small enough, and
 * doubled for the next one when it was much too small.
 */
static size_t find_task(emi_merger *m, struct emi_merge_task *t)
{
	size_t target = m->q->cap, n;

	while ((n = cut_all(m, m->reach, t)) > target && m->reach > 1)
		m->reach /= 2;
	if (n < target / 2 && m->reach < m->job->plan.block_records)
		m->reach *= 2;
	return n;
}

/* The records of a task leave their runs. */
static void take_slices(emi_merger *m, struct emi_merge_task *t)
{
	size_t rb = m->job->codec->record_bytes;
	uint32_t i, slice = 0;

	for (i = 0; i < m->k && slice < t->slices; i++) {
		emi_merge_input *in = &m->in[i];

		if (in->left == 0 || in->at != t->slice[slice].first)
			continue;
		in->at += t->slice[slice].n * rb;
		in->left -= t->slice[slice].n;
		slice++;
		if (in->left == 0) {
			in->block->next = t->used_up;
			t->used_up = in->block;
			in->block = NULL;
		}
	}
}

static em_status dispatch(emi_merger *m, em_errinfo *err)
{
	struct emi_merge_task *t = &m->task[m->dispatched % m->ntasks];
	em_status st;
	uint32_t i;

	for (i = 0; i < m->k; i++) {
		st = need_input(m, i, err);
		if (st != EM_OK)
			return st;
	}
	t->n = find_task(m, t);
	t->pos = m->pos;
	take_slices(m, t);
	m->pos += t->n;
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
	uint64_t end = m->total - m->pos < m->q->cap ? m->total : m->pos + m->q->cap;

	return (end - 1) / m->q->cap;
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
