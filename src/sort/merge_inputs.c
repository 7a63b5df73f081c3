/* SPDX-License-Identifier: BSL-1.0 */
/* merge_inputs.c -- see merge_inputs.h. */
#include "sort/merge_inputs.h"

#include <string.h>

#include "sort/plan_vary.h"

#define MADE 256u               /* elements merged between two looks at the clock */

static size_t tree_bytes(uint32_t most)
{
	return emi_merge_tree_bytes(most);
}

em_status emi_merge_inputs_init(emi_merge_inputs *m, emi_job *job, uint32_t most, const emi_presorted_opts *opts,
				em_errinfo *err)
{
	memset(m, 0, sizeof *m);
	m->job = job;
	m->opts = opts;
	m->most = most;
	emi_keeper_init(&m->last, &job->by);
	m->in = emi_alloc_array(job->ctx, most, sizeof *m->in, err);
	if (m->in != NULL)
		m->win = emi_alloc_array(job->ctx, most, sizeof *m->win, err);
	if (m->win != NULL)
		m->tree = emi_alloc(job->ctx, tree_bytes(most), err);
	if (m->tree != NULL)
		m->made = emi_alloc_array(job->ctx, MADE, job->by.codec->elem_bytes, err);
	if (m->made != NULL)
		return EM_OK;
	emi_merge_inputs_free(m);
	return err->status;
}

uint64_t emi_merge_inputs_memory(const emi_job *job, uint32_t most)
{
	const uint64_t each = sizeof(emi_presorted) + sizeof(emi_window);
	const uint64_t last = (job->flags & EM_SORT_UNIQUE) != 0 ? emi_keeper_memory(emi_longest_record(job)) : 0;

	return most * each + tree_bytes(most) + MADE * job->by.codec->elem_bytes + last;
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
	emi_keeper_free(&m->last);
	if (m->made != NULL)
		emi_free_array(ctx, m->made, MADE, m->job->by.codec->elem_bytes);
	if (m->tree != NULL)
		emi_free(ctx, m->tree, tree_bytes(m->most));
	if (m->win != NULL)
		emi_free_array(ctx, m->win, m->most, sizeof *m->win);
	if (m->in != NULL)
		emi_free_array(ctx, m->in, m->most, sizeof *m->in);
	memset(m, 0, sizeof *m);
}

em_status emi_merge_inputs_add(emi_merge_inputs *m, const char *path, const emi_extent *range, em_errinfo *err)
{
	em_status st = emi_presorted_open(&m->in[m->k], m->job, path, range, m->opts, err);

	m->k += st == EM_OK;
	if (m->k > m->job->widest_merge)
		m->job->widest_merge = m->k;
	return st;
}

/* Of equal elements leave the first; returns how many are left. */
static size_t drop_equal(emi_merge_inputs *m, size_t n, em_status *st, em_errinfo *err)
{
	const size_t elem_bytes = m->job->by.codec->elem_bytes;
	char *made = m->made;
	size_t i, kept = 0;

	for (i = 0; i < n; i++) {
		const char *elem = made + i * elem_bytes;

		if (emi_keeper_same(&m->last, elem))
			continue;
		emi_keeper_hold(&m->last, elem);
		if (kept != i)
			memcpy(made + kept * elem_bytes, elem, elem_bytes);
		kept++;
	}
	*st = emi_keeper_settle(&m->last, err);
	return kept;
}

/* Bytes that n records take in files. */
static uint64_t bytes_of(const emi_merge_inputs *m, size_t n)
{
	const emi_pair *elem = m->made;
	uint64_t bytes = 0;
	size_t i;

	if (m->job->by.vary == NULL)
		return (uint64_t)n * m->job->by.codec->record_bytes;
	for (i = 0; i < n; i++)
		bytes += ((const emi_frame *)(uintptr_t)elem[i].val)->bytes + m->job->out_extra;
	return bytes;
}

/* Put n elements that were merged. */
static em_status put_made(emi_merge_inputs *m, size_t n, emi_put_elems put, void *arg, em_errinfo *err)
{
	const uint64_t bytes = bytes_of(m, n);
	em_status st = EM_OK;

	m->job->records_in += n;
	if ((m->job->flags & EM_SORT_UNIQUE) != 0)
		n = drop_equal(m, n, &st, err);
	if (st == EM_OK && n != 0)
		st = put(arg, m->made, n, err);
	emi_watch_add(&m->job->watch, bytes);
	return st;
}

static em_status drive(emi_merge_inputs *m, emi_put_elems put, void *arg, em_errinfo *err)
{
	const emi_tie tie = emi_collation_frames(&m->job->by);
	emi_merging merge;
	em_status st = EM_OK;
	uint32_t i, dry;

	for (i = 0; st == EM_OK && i < m->k; i++)
		st = emi_presorted_next(&m->in[i], &m->win[i], err);
	if (st != EM_OK)
		return st;
	emi_merging_start(&merge, &m->job->by, m->k, m->win, m->tree, &tie, NULL);
	for (;;) {
		const size_t n = emi_merging_run(&merge, m->made, MADE, &dry);

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

em_status emi_merge_inputs_run(emi_merge_inputs *m, emi_put_elems put, void *arg, em_errinfo *err)
{
	em_status st = m->k != 0 ? drive(m, put, arg, err) : EM_OK;

	close_inputs(m);
	m->last.have = 0;
	return st;
}
