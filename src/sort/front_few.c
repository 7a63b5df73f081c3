/* SPDX-License-Identifier: BSL-1.0 */
/*
 * front_few.c -- few records that are pushed: see front.h.
 *
 * A plan, an area for a run, output blocks and threads take a hundred times as long as sorting a thousand numbers.  So
 * a front begins with a piece of memory from those that the context keeps (base/pieces.h), which grows by doubling.  As
 * long as records, and what they are sorted with, are a small part of the share that a plan would have, and no more
 * than one thread would sort, no plan is made.
 *
 * Whether there is one is looked at when the front is opened: who wants too little is told so then, as ever, and where
 * memory is scarce, or runs of some size are forced, it engages at once.  The share itself is what is fair when it is
 * taken (emi_fair_share()): how many others wait for theirs is known then.
 */
#include "base/pieces.h"
#include "sort/front.h"
#include "sort/plan_job.h"
#include "sort/plan_vary.h"

#define SHARE_LEAST ((uint64_t)1 << 20) /* of less it engages at once */
#define FEW_SHARE 8u                    /* of the share, this part is for few records, ... */
#define FEW_BYTES ((uint64_t)2 << 20)   /* ... but no more than this */

em_status emi_front_begin(emi_front *f, const emi_needs *needs,
			  em_status (*engage)(emi_front *f, em_errinfo *err), em_errinfo *err)
{
	emi_job *job = &f->e.job;
	const emi_codec *codec = job->by.codec;
	uint64_t share, bytes;
	em_status st;

	f->needs = *needs;
	f->needs.fair = 1;
	f->engage = engage;
	if (job->opts.memory == 0)
		emi_sharers_enter(job->ctx);
	job->shares = job->opts.memory == 0;
	st = emi_job_few_share(job, &f->needs, &share, err);
	if (st != EM_OK)
		return st;
	bytes = share / FEW_SHARE < FEW_BYTES ? share / FEW_SHARE : FEW_BYTES;
	f->few_bytes = (size_t)bytes;
	f->few_records = bytes / (codec->record_bytes + 2 * codec->elem_bytes);
	if (emi_front_varied(f) || f->few_records >= EMI_PARTITION_LEAST)
		f->few_records = EMI_PARTITION_LEAST - 1;
	f->few = share >= SHARE_LEAST && f->few_records != 0;
	if (!f->few)
		return engage(f, err);
	emi_job_few_plan(job);
	if (!emi_front_varied(f))
		return EM_OK;
	st = emi_line_store_begin(&f->e.store, job, EMI_PIECE_FIRST, err);
	f->e.store.most = f->few_records;
	return st;
}

static em_status leave_few(emi_front *f, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	em_status st;

	f->few = 0;
	f->needs.have = emi_front_varied(f) ? emi_line_store_used(&f->e.store) : f->n;
	job->lent = emi_front_varied(f) ? f->e.store.bytes : f->area_bytes;
	st = f->engage(f, err);
	job->lent = 0;
	return st;
}

em_status emi_front_grow(emi_front *f, uint64_t n, em_errinfo *err)
{
	emi_job *job = &f->e.job;
	const size_t record = job->by.codec->record_bytes;
	void *area = f->area;
	size_t bytes;
	em_status st;

	if (n > f->few_records - f->n)
		return leave_few(f, err);
	bytes = emi_piece_bytes((size_t)(f->n + n) * record);
	if (bytes < EMI_PIECE_FIRST)
		bytes = EMI_PIECE_FIRST;
	st = emi_piece_grow(job->ctx, &area, &f->area_bytes, (size_t)f->n * record, bytes, err);
	f->area = area;
	f->room = f->area_bytes / record < f->few_records ? f->area_bytes / record : f->few_records;
	return st;
}

/* Have a store in which so many bytes are free, and which is twice as large at least; engage if that is too much. */
static em_status widen(emi_front *f, uint64_t free, em_errinfo *err)
{
	emi_line_store *store = &f->e.store;
	const size_t used = emi_line_store_used(store);
	size_t bytes;

	if (used > f->few_bytes || free > f->few_bytes - used)
		return leave_few(f, err);
	bytes = emi_piece_bytes(used + (size_t)free > 2 * used ? used + (size_t)free : 2 * used);
	return emi_line_store_move(store, bytes < f->few_bytes ? bytes : f->few_bytes, err);
}

/* So many records are coming, which have so many bytes: make room at once, as far as that can be known. */
static em_status expect(emi_front *f, uint64_t n, uint64_t bytes, em_errinfo *err)
{
	const emi_line_store *store = &f->e.store;
	const uint64_t each = 2 * sizeof(emi_pair) + EMI_LENGTH_MAX;

	if (n > f->few_records - store->n || bytes > f->few_bytes)
		return leave_few(f, err);
	if (bytes + n * each > store->bytes - emi_line_store_used(store))
		return widen(f, bytes + n * each, err);
	return EM_OK;
}

em_status emi_front_add_few(emi_front *f, const em_batch *batch, size_t *n, em_errinfo *err)
{
	emi_line_store *store = &f->e.store;
	em_status st = expect(f, batch->n, batch->bytes, err);
	const char *records = batch->records;

	*n = 0;
	while (st == EM_OK && f->few && *n < batch->n) {
		const uint64_t begin = *n != 0 ? batch->ends[*n - 1] : 0;
		size_t frame;

		if (emi_line_store_add(store, records + begin, (size_t)(batch->ends[*n] - begin), &frame))
			++*n;
		else if (frame > emi_vary_longest(&f->e.job))
			st = leave_few(f, err);
		else
			st = widen(f, (uint64_t)frame + 4 * sizeof(emi_pair), err);
	}
	return st;
}

em_status emi_front_end_few(emi_front *f, em_errinfo *err)
{
	if (!f->few || (f->n == 0 && f->e.store.n == 0))
		return EM_OK;
	return emi_front_varied(f) ? emi_engine_prepare_few_vary(&f->e, err) : emi_engine_prepare_few(&f->e, f->n, err);
}

uint64_t emi_front_longest(const emi_front *f)
{
	uint64_t longest;
	emi_job then;

	if (!f->few)
		return emi_vary_longest(&f->e.job);
	/* What it would be if it engaged now.  Nothing is under way yet that would change the job meanwhile. */
	then = f->e.job;
	then.shares = 0;
	then.lent = f->e.store.bytes;
	if (emi_job_plan(&then, &f->needs, NULL) != EM_OK)
		return emi_vary_longest(&f->e.job);
	longest = emi_vary_longest(&then);
	emi_job_release(&then);
	return longest;
}
