/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task_mix.c -- merging slices a cache full at a time: what has no ties (kern/merge_radix.inc), and with kernels of the order's
 * own (extmem/gen/merge.inc).
 *
 * Slices are not copied to windows: keys that are not elements already become elements where they are, as nobody
 * else reads what belongs to a task.  What was mixed goes through memory that stays in the cache to its places in the output.
 */
#include "sort/merge_task.h"

#include <string.h>

/* Records of the slice become elements. */
static void convert(const struct emi_merge_task *t, const emi_slice *s)
{
	const emi_codec *codec = t->job->codec;

	if (!codec->identity)
		codec->load(t->job->order, s->first, s->bytes / codec->record_bytes, (char *)(uintptr_t)s->first);
}

/* n elements go to place `at' and behind; 0: the output has failed. */
static int put(const struct emi_merge_task *t, const char *elems, uint64_t at, size_t n)
{
	const emi_codec *codec = t->job->codec;

	while (n != 0) {
		size_t some = n;
		char *dst = emi_outseq_place(t->q, at, &some);

		if (dst == NULL)
			return 0;
		if (codec->identity)
			memcpy(dst, elems, some * codec->elem_bytes);
		else
			codec->store(t->job->order, elems, some, dst);
		emi_outseq_filled(t->q, at, some);
		elems += some * codec->elem_bytes;
		at += some;
		n -= some;
	}
	return 1;
}

/* The records of all slices, some at a time, with the kernels of the elements ... */
static void mix_elems(struct emi_merge_task *t)
{
	const emi_codec *codec = t->job->codec;
	char *const out = t->mixed, *const tmp = out + EMI_MIX * codec->elem_bytes;
	emi_mix m = { t->slices, t->win, t->taken, 0 };
	uint64_t at = t->pos / codec->record_bytes;
	size_t n;

	while ((n = t->job->kern->mix(&m, out, tmp)) != 0 && put(t, out, at, n))
		at += n;
}

/* ... or of the order. */
static void mix_own(struct emi_merge_task *t)
{
	emi_job *job = t->job;
	const size_t room = job->plan.mix_bytes / 2 / job->codec->elem_bytes;
	char *const out = t->mixed, *const tmp = out + room * job->codec->elem_bytes;
	em_mix m = { t->slices, 0, t->win, t->taken, 0, room, emi_comparing_here(&job->by, job->by.own_arg) };
	uint64_t at = t->pos / job->codec->record_bytes;
	size_t n;

	while ((n = job->own->mix(&m, out, tmp)) != 0 && put(t, out, at, n))
		at += n;
}

void emi_merge_task_run_mix(struct emi_merge_task *t)
{
	uint32_t i;

	for (i = 0; i < t->slices; i++) {
		convert(t, &t->slice[i]);
		t->win[i].cur = t->slice[i].first;
		t->win[i].end = t->slice[i].first + t->slice[i].bytes;
	}
	if (t->job->own != NULL)
		mix_own(t);
	else
		mix_elems(t);
}
