/* SPDX-License-Identifier: BSL-1.0 */
/* merge_inputs.c -- see merge_inputs.h. */
#include "sort/merge_inputs.h"

#include "base/copy.h"
#include "sort/plan_vary.h"

#define MADE 256u               /* elements merged between two looks at the clock */
#define SLACK 8u                /* bytes behind a string that may be read */

static size_t tree_bytes(uint32_t most)
{
	return emi_merge_tree_bytes(most);
}

em_status emi_merge_inputs_init(emi_merge_inputs *m, emi_job *job, uint32_t most, const emi_presorted_opts *opts,
				em_errinfo *err)
{
	memset(m, 0, sizeof *m);
	m->job = job;
	m->v = emi_order_vary(job->order);
	m->opts = opts;
	m->most = most;
	m->in = emi_alloc_array(job->ctx, most, sizeof *m->in, err);
	if (m->in != NULL)
		m->win = emi_alloc_array(job->ctx, most, sizeof *m->win, err);
	if (m->win != NULL)
		m->tree = emi_alloc(job->ctx, tree_bytes(most), err);
	if (m->tree != NULL)
		m->made = emi_alloc_array(job->ctx, MADE, sizeof *m->made, err);
	if (m->made != NULL)
		return EM_OK;
	emi_merge_inputs_free(m);
	return err->status;
}

uint64_t emi_merge_inputs_memory(const emi_job *job, uint32_t most)
{
	const uint64_t each = sizeof(emi_presorted) + sizeof(emi_window);
	const uint64_t last = (job->flags & EM_SORT_UNIQUE) != 0 ? emi_vary_longest(job) + EMI_PAGE : 0;

	return most * each + tree_bytes(most) + MADE * sizeof(emi_pair) + last;
}

static void close_inputs(emi_merge_inputs *m)
{
	while (m->k != 0)
		emi_presorted_close(&m->in[--m->k]);
}

void emi_merge_inputs_free(emi_merge_inputs *m)
{
	em_ctx *ctx;

	if (m->job == NULL)
		return;
	ctx = m->job->ctx;
	close_inputs(m);
	if (m->last_room != NULL)
		emi_buffer_free(ctx, m->last_room, m->last_bytes + SLACK);
	if (m->made != NULL)
		emi_free_array(ctx, m->made, MADE, sizeof *m->made);
	if (m->tree != NULL)
		emi_free(ctx, m->tree, tree_bytes(m->most));
	if (m->win != NULL)
		emi_free_array(ctx, m->win, m->most, sizeof *m->win);
	if (m->in != NULL)
		emi_free_array(ctx, m->in, m->most, sizeof *m->in);
	memset(m, 0, sizeof *m);
}

em_status emi_merge_inputs_add(emi_merge_inputs *m, const char *path, em_errinfo *err)
{
	em_status st = emi_presorted_open(&m->in[m->k], m->job, path, m->opts, err);

	m->k += st == EM_OK;
	if (m->k > m->job->widest_merge)
		m->job->widest_merge = m->k;
	return st;
}

static int tie(void *arg, uint64_t a, uint64_t b)
{
	const emi_merge_inputs *m = arg;

	return emi_string_compare(m->v, (const emi_frame *)(uintptr_t)a, (const emi_frame *)(uintptr_t)b, 0);
}

/* Keep the string of a record, to know its equals. */
static em_status keep_last(emi_merge_inputs *m, const emi_frame *f, uint64_t key, em_errinfo *err)
{
	em_ctx *ctx = m->job->ctx;
	const size_t n = (size_t)(f->key_bytes + f->bytes);

	if (m->last_room == NULL || n > m->last_bytes) {
		if (m->last_room != NULL)
			emi_buffer_free(ctx, m->last_room, m->last_bytes + SLACK);
		/* Whole pages are what a buffer takes. */
		m->last_bytes = (n + SLACK + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE - SLACK;
		m->last_room = emi_buffer_alloc(ctx, m->last_bytes + SLACK, err);
		if (m->last_room == NULL)
			return err->status;
	}
	emi_copy(m->last_room, f->string, n);
	m->last = *f;
	m->last.string = m->last_room;
	m->last_key = key;
	m->have_last = 1;
	return EM_OK;
}

/* Put n elements that were merged. */
static em_status put_made(emi_merge_inputs *m, size_t n, emi_put_frame put, void *arg, em_errinfo *err)
{
	const int unique = (m->job->flags & EM_SORT_UNIQUE) != 0;
	uint64_t bytes = 0;
	em_status st = EM_OK;
	size_t i;

	for (i = 0; st == EM_OK && i < n; i++) {
		const emi_frame *f = (const emi_frame *)(uintptr_t)m->made[i].val;
		const uint64_t key = m->made[i].key;

		bytes += f->bytes + m->job->out_extra;
		if (unique) {
			if (m->have_last && m->last_key == key && emi_string_compare(m->v, &m->last, f, 0) == 0)
				continue;
			st = keep_last(m, f, key, err);
		}
		if (st == EM_OK)
			st = put(arg, f, err);
	}
	m->job->records_in += n;
	emi_watch_add(&m->job->watch, bytes);
	return st;
}

static em_status drive(emi_merge_inputs *m, emi_put_frame put, void *arg, em_errinfo *err)
{
	emi_merge merge;
	em_status st = EM_OK;
	uint32_t i, dry;

	for (i = 0; st == EM_OK && i < m->k; i++)
		st = emi_presorted_next(&m->in[i], &m->win[i], err);
	if (st != EM_OK)
		return st;
	memset(&merge, 0, sizeof merge);
	merge.k = m->k;
	merge.win = m->win;
	merge.tree = m->tree;
	merge.tie.fn = tie;
	merge.tie.arg = m;
	m->job->kern->merge_start(&merge);
	for (;;) {
		const size_t n = m->job->kern->merge_run(&merge, m->made, MADE, &dry);

		/* All of a window is put before the next one takes its place. */
		st = put_made(m, n, put, arg, err);
		if (st == EM_OK)
			st = emi_job_check(m->job, err);
		if (st == EM_OK && dry != EMI_NONE)
			st = emi_presorted_next(&m->in[dry], &m->win[dry], err);
		if (st != EM_OK || (dry == EMI_NONE && n < MADE))
			return st;
	}
}

em_status emi_merge_inputs_run(emi_merge_inputs *m, emi_put_frame put, void *arg, em_errinfo *err)
{
	em_status st = m->k != 0 ? drive(m, put, arg, err) : EM_OK;

	close_inputs(m);
	m->have_last = 0;
	return st;
}
