/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_task_mix.c -- merging slices a cache full at a time: what has no ties (kern/merge_mix.inc), and with kernels of
 * the order's own (extmem/gen/merge.inc).
 *
 * Slices are not copied to windows: keys that are not elements already become elements where they are, as nobody
 * else reads what belongs to a task.
 */
#include "sort/merge_task.h"

#include <string.h>

/* Records of the slice become elements. */
static void convert(const struct emi_merge_task *t, const emi_slice *s)
{
	const emi_codec *codec = t->job->by.codec;

	if (!codec->identity)
		emi_collation_load(&t->job->by, s->first, s->bytes / codec->record_bytes, (char *)(uintptr_t)s->first);
}

/* n elements go to place `at' and behind; 0: the output has failed. */
static int put(const struct emi_merge_task *t, const char *elems, uint64_t at, size_t n)
{
	const emi_codec *codec = t->job->by.codec;

	while (n != 0) {
		size_t some = n;
		char *dst = emi_outseq_place(t->q, at, &some);

		if (dst == NULL)
			return 0;
		if (codec->identity)
			memcpy(dst, elems, some * codec->elem_bytes);
		else
			emi_collation_store(&t->job->by, elems, some, dst);
		emi_outseq_filled(t->q, at, some);
		elems += some * codec->elem_bytes;
		at += some;
		n -= some;
	}
	return 1;
}

/* The records of all slices.  What is not to be stored in another form goes to its places at once, unless a block ends
 * there. */
static void mix_slices(struct emi_merge_task *t)
{
	emi_job *job = t->job;
	const emi_codec *codec = job->by.codec;
	const size_t most = job->by.own != NULL ? t->plan->mix_bytes / 2 / codec->elem_bytes : EMI_MIX;
	char *const out = t->mixed, *const tmp = out + most * codec->elem_bytes;
	uint64_t at = t->pos / codec->record_bytes;
	const uint64_t end = at + t->bytes / codec->record_bytes;
	emi_mixing m;

	emi_mixing_start(&m, &job->by, t->slices, t->win, t->taken, most);
	while (at < end) {
		size_t room = most, n;
		char *dst = codec->identity ? emi_outseq_place(t->q, at, &room) : NULL;

		if (codec->identity && dst == NULL)
			return;
		if (dst != NULL && room == most) {
			n = emi_mixing_run(&m, dst, tmp);
			emi_outseq_filled(t->q, at, n);
		} else {
			n = emi_mixing_run(&m, out, tmp);
			if (!put(t, out, at, n))
				return;
		}
		at += n;
	}
}

void emi_merge_task_run_mix(struct emi_merge_task *t)
{
	uint32_t i;

	for (i = 0; i < t->slices; i++) {
		convert(t, &t->slice[i]);
		t->win[i].cur = t->slice[i].first;
		t->win[i].end = t->slice[i].first + t->slice[i].bytes;
	}
	mix_slices(t);
}
