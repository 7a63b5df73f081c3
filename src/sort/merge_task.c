/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task.c -- see merge_task.h.
 *
 * Where records are elements already, the kernel merges the slices as they are.  Otherwise each
 * slice gets a window of a few elements, which is filled again when it runs dry: the windows of all
 * slices together stay in the cache, and memory does not double.  Elements of longer keys are merged by offset-value
 * codes (key/codes.h), or by what little their keys differ in.  What can be mixed, is (merge_task_mix.c).
 */
#include "sort/merge_task.h"

#include <string.h>

typedef struct emi_merge_task merge_task;

em_status emi_merge_task_init(merge_task *t, emi_job *job, const emi_plan *plan, emi_outseq *q, uint32_t k,
			      em_errinfo *err)
{
	size_t eb = job->by.codec->elem_bytes;
	int ok;

	memset(t, 0, sizeof *t);
	t->job = job;
	t->plan = plan;
	t->q = q;
	t->slice = emi_alloc_array(job->ctx, k, sizeof *t->slice, err);
	t->win = emi_alloc_array(job->ctx, k, sizeof *t->win, err);
	t->tree = emi_alloc(job->ctx, emi_merge_tree_bytes(k), err);
	ok = t->slice != NULL && t->win != NULL && t->tree != NULL;
	if (ok && plan->window != 0) {
		t->elems = emi_alloc_array(job->ctx, (uint64_t)k * plan->window, eb, err);
		ok = t->elems != NULL;
	}
	if (ok && !emi_codec_in_place(job->by.codec)) {
		t->made = emi_alloc_array(job->ctx, EMI_TASK_OUT, eb, err);
		ok = t->made != NULL;
	}
	if (ok && plan->mix_bytes != 0) {
		t->taken = emi_alloc_array(job->ctx, k, sizeof *t->taken, err);
		t->mixed = emi_alloc(job->ctx, plan->mix_bytes, err);
		ok = t->taken != NULL && t->mixed != NULL;
	}
	if (ok)
		return EM_OK;
	emi_merge_task_free(t, k);
	return err->status;
}

void emi_merge_task_free(merge_task *t, uint32_t k)
{
	em_ctx *ctx;
	size_t eb;

	if (t->job == NULL)
		return;
	ctx = t->job->ctx;
	eb = t->job->by.codec->elem_bytes;
	if (t->mixed != NULL)
		emi_free(ctx, t->mixed, t->plan->mix_bytes);
	if (t->taken != NULL)
		emi_free_array(ctx, t->taken, k, sizeof *t->taken);
	if (t->made != NULL)
		emi_free_array(ctx, t->made, EMI_TASK_OUT, eb);
	if (t->elems != NULL)
		emi_free_array(ctx, t->elems, (uint64_t)k * t->plan->window, eb);
	if (t->tree != NULL)
		emi_free(ctx, t->tree, emi_merge_tree_bytes(k));
	if (t->win != NULL)
		emi_free_array(ctx, t->win, k, sizeof *t->win);
	if (t->slice != NULL)
		emi_free_array(ctx, t->slice, k, sizeof *t->slice);
	memset(t, 0, sizeof *t);
}

em_status emi_merge_damaged(const emi_job *job, const emi_fetched *block, em_errinfo *err)
{
	if (block == NULL)
		return emi_fail(err, EM_ERR_INTERNAL, "a run that is in memory is damaged");
	return emi_hint_damaged(job->runs.scratch, &block->hint, err);
}

/* One run alone has all of it: its records are moved as they are. */
static void copy_slice(merge_task *t)
{
	const size_t rb = t->job->by.codec->record_bytes, all = t->bytes / rb;
	const uint64_t pos = t->pos / rb;
	size_t done = 0;

	while (done < all) {
		size_t n = all - done;
		void *dst = emi_outseq_place(t->q, pos + done, &n);

		if (dst == NULL)
			return;
		memcpy(dst, t->slice[0].first + done * rb, n * rb);
		emi_outseq_filled(t->q, pos + done, n);
		done += n;
	}
}

/* All records of the task lie between the front ones of its slices and its bound. */
static int is_alike(const merge_task *t)
{
	const emi_codes *codes = &t->job->by.codes;
	uint32_t i;

	if (codes->n == 0 || t->bound == NULL)
		return 0;
	for (i = 0; i < t->slices; i++)
		if (!emi_codes_alike(codes, t->slice[i].first, t->bound))
			return 0;
	return 1;
}

/* The next n records of a slice to elements. */
static void load(merge_task *t, emi_slice *s, size_t n, void *elems)
{
	const emi_codec *codec = t->job->by.codec;
	const emi_codes *codes = &t->job->by.codes;

	if (t->alike) {
		emi_codes_load_last(codes, s->first, n, elems);
		return;
	}
	emi_collation_load(&t->job->by, s->first, n, elems);
	if (codes->n == 0)
		return;
	emi_codes_make(codes, elems, n, s->before);
	s->before = (const unsigned char *)s->first + (n - 1) * codec->record_bytes;
}

/* Fill the conversion window of slice i with its next records; it stays empty at the end of the slice. */
static void refill(merge_task *t, uint32_t i)
{
	const emi_codec *codec = t->job->by.codec;
	emi_slice *s = &t->slice[i];
	size_t left = s->bytes / codec->record_bytes, n = left < t->plan->window ? left : t->plan->window;
	char *win = t->elems + (size_t)i * t->plan->window * codec->elem_bytes;

	if (n != 0)
		load(t, s, n, win);
	s->first += n * codec->record_bytes;
	s->bytes -= n * codec->record_bytes;
	t->win[i].cur = win;
	t->win[i].end = win + n * codec->elem_bytes;
}

/* Merge the next n elements to out. */
static void merge_elems(merge_task *t, emi_merging *m, char *out, size_t n)
{
	size_t eb = t->job->by.codec->elem_bytes, got = 0;
	uint32_t dry;

	while (got < n) {
		size_t some = emi_merging_run(m, out + got * eb, n - got, &dry);

		got += some;
		if (dry != EMI_NONE && t->elems != NULL)
			refill(t, dry);
		else if (dry == EMI_NONE && some == 0)
			return;         /* cannot be: the windows hold n; but never loop for ever */
	}
}

/* Merge the next n records to dst. */
static void merge_records(merge_task *t, emi_merging *m, char *dst, size_t n)
{
	const emi_codec *codec = t->job->by.codec;
	size_t done = 0;

	if (codec->identity) {
		merge_elems(t, m, dst, n);
		return;
	}
	while (done < n) {
		size_t some = n - done < EMI_TASK_OUT ? n - done : EMI_TASK_OUT;
		char *to = dst + done * codec->record_bytes, *out = t->made != NULL ? t->made : to;

		merge_elems(t, m, out, some);
		emi_collation_store(&t->job->by, out, some, to);
		done += some;
	}
}

/* The windows of all slices are filled: let their elements play. */
static void start(merge_task *t, emi_merging *m)
{
	emi_job *job = t->job;
	const emi_tie by_key = { NULL, NULL, NULL, 0 }, by_codes = { NULL, &job->by.codes, NULL, 0 };

	if (t->alike)
		emi_merging_start(m, &job->by, t->slices, t->win, t->tree, &by_key, NULL);
	else if (job->by.codes.n != 0)
		emi_merging_start(m, &job->by, t->slices, t->win, t->tree, &by_codes, emi_codes_recode);
	else
		emi_merging_start(m, &job->by, t->slices, t->win, t->tree, &job->by.tie, NULL);
}

void emi_merge_task_run(void *arg)
{
	merge_task *t = arg;
	size_t rb = t->job->by.codec->record_bytes, all, done = 0;
	emi_merging m;
	uint32_t i;

	if (rb == 0) {
		emi_merge_task_run_vary(t);
		return;
	}
	all = t->bytes / rb;
	if (t->slices == 1) {
		copy_slice(t);
		return;
	}
	if (t->mixed != NULL && t->slices <= EMI_MIX_MOST) {
		emi_merge_task_run_mix(t);
		return;
	}
	t->alike = is_alike(t);
	for (i = 0; i < t->slices; i++) {
		if (t->elems != NULL) {
			refill(t, i);
		} else {
			t->win[i].cur = t->slice[i].first;
			t->win[i].end = t->slice[i].first + t->slice[i].bytes;
		}
	}
	start(t, &m);
	while (done < all) {
		size_t n = all - done;
		char *dst = emi_outseq_place(t->q, t->pos / rb + done, &n);

		if (dst == NULL)
			return;
		merge_records(t, &m, dst, n);
		emi_outseq_filled(t->q, t->pos / rb + done, n);
		done += n;
	}
}
