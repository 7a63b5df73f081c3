/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top_fixed.c -- candidates of one size: looking at records, keeping them, cutting them to the first ones.
 *
 * They lie in an area as the records of a sorter's run do.  A cut sorts elements.  Where elements hold their records,
 * the first ones are stored back, sorted; where they refer to them, the records are moved together as they lie, in the
 * order of the input.  Either way a later sort, being stable, finds equal ones in the order of the input.
 */
#include "sort/top.h"

#include <string.h>

#define LITTLE_BYTES ((uint64_t)1 << 20) /* of candidates and their elements, however few are asked for */
#define LITTLE_RECORDS 16u
#define TIMES 4u                /* candidates for each record that is asked for, if there is room */
#define BLOCK_BYTES ((uint64_t)64 << 10) /* of a batch, if no run is ever written */

static size_t page_up(uint64_t n)
{
	return (size_t)((n + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE);
}

/* All that is asked for fits: plan for so few candidates that they stay in the cache if possible, and for no runs. */
static void plan_small(em_top *t)
{
	emi_job *job = &t->front.e.job;
	const size_t record = job->by.codec->record_bytes;
	const uint64_t each = record + 2 * job->by.codec->elem_bytes, most = job->plan.run_records;
	const uint64_t little = LITTLE_BYTES / each < LITTLE_RECORDS ? LITTLE_RECORDS : LITTLE_BYTES / each;
	emi_plan_input in = job->plan_input;
	emi_plan plan;

	in.n = t->need > most / TIMES ? most : t->need * TIMES;
	if (in.n < little)
		in.n = little < most ? little : most;
	if (in.block_bytes == 0)
		in.block_bytes = BLOCK_BYTES > record ? BLOCK_BYTES : page_up(record);
	if (emi_plan_make(&plan, &in, NULL) != EM_OK || plan.runs != 0)
		return;
	job->plan = plan;
	job->plan_input = in;
	emi_free_array(job->ctx, job->runs.run, job->runs.room, sizeof *job->runs.run);
	job->runs.run = NULL;
	job->runs.room = 0;
}

em_status emi_top_room_fixed(em_top *t, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	em_status st;

	if (job->opts.run_records == 0 && t->need <= job->plan.run_records / EMI_TOP_SPARE * (EMI_TOP_SPARE - 1))
		plan_small(t);
	st = emi_front_prepare(&t->front, err);
	if (st != EM_OK)
		return st;
	t->room = job->plan.run_records;
	t->limit_bytes = job->by.codec->record_bytes;
	t->limit = emi_alloc(job->ctx, t->limit_bytes, err);
	return t->limit != NULL ? EM_OK : err->status;
}

static void keep(emi_strand *s, const unsigned char *record, uint64_t number)
{
	emi_top_kept *k = &s->kept[s->nkept++];

	k->record = record;
	k->number = number;
}

static void look_u32(emi_strand *s, size_t n, size_t bytes)
{
	const uint32_t *e = (const uint32_t *)(const void *)s->scratch, limit = (uint32_t)s->top->limit_key;
	size_t i;

	for (i = 0; i < n; i++)
		if (e[i] < limit)
			keep(s, s->at + i * bytes, s->number + i);
}

static void look_u64(emi_strand *s, size_t n, size_t bytes)
{
	const uint64_t *e = (const uint64_t *)(const void *)s->scratch, limit = s->top->limit_key;
	size_t i;

	for (i = 0; i < n; i++)
		if (e[i] < limit)
			keep(s, s->at + i * bytes, s->number + i);
}

/* Does an element with the limit's key come before the limit? */
static int ties_before(const em_top *t, uint64_t val)
{
	const emi_collation *by = &t->front.e.job.by;

	return by->tie.fn != NULL && by->tie.fn(by->tie.arg, val, emi_collation_val(by, t->limit)) < 0;
}

static void look_pair(emi_strand *s, size_t n, size_t bytes)
{
	const emi_pair *e = (const emi_pair *)(const void *)s->scratch;
	const uint64_t limit = s->top->limit_key;
	size_t i;

	for (i = 0; i < n; i++) {
		if (e[i].key < limit || (e[i].key == limit && ties_before(s->top, e[i].val)))
			keep(s, s->at + i * bytes, s->number + i);
	}
}

static void look_elems(emi_strand *s, size_t n, size_t bytes)
{
	const emi_elem elem = s->top->front.e.job.by.codec->elem;

	if (elem == EMI_ELEM_U32)
		look_u32(s, n, bytes);
	else if (elem == EMI_ELEM_U64)
		look_u64(s, n, bytes);
	else
		look_pair(s, n, bytes);
}

/* Records with kernels of their own need their alignment. */
static void look_own(emi_strand *s, size_t n, size_t bytes)
{
	const size_t align = s->top->front.e.job.by.codec->align;
	size_t i;

	for (i = 0; i < n; i++) {
		const unsigned char *record = s->at + i * bytes;

		if ((uintptr_t)record % align != 0)
			memcpy(s->scratch, record, bytes);
		if (ties_before(s->top, (uint64_t)(uintptr_t)((uintptr_t)record % align != 0 ? s->scratch : record)))
			keep(s, record, s->number + i);
	}
}

void emi_strand_look_fixed(emi_strand *s)
{
	const emi_job *job = &s->top->front.e.job;
	const size_t bytes = job->by.codec->record_bytes;
	const uint64_t end = s->number + EMI_TOP_LOOK;

	while (s->left != 0 && s->nkept < EMI_TOP_KEPT && s->number < end) {
		const uint64_t room = EMI_TOP_KEPT - s->nkept;
		const size_t n = (size_t)(s->left < room ? s->left : room);

		if (job->by.own != NULL) {
			look_own(s, n, bytes);
		} else {
			emi_collation_load(&job->by, s->at, n, s->scratch);
			look_elems(s, n, bytes);
		}
		s->at += n * bytes;
		s->number += n;
		s->left -= n;
	}
}

static char *elem_at(const em_top *t, const void *elems, size_t i)
{
	return (char *)(uintptr_t)elems + i * t->front.e.job.by.codec->elem_bytes;
}

static uint64_t elem_key(const em_top *t, const char *elem)
{
	switch (t->front.e.job.by.codec->elem) {
	case EMI_ELEM_OWN: return 0;
	case EMI_ELEM_U32: return *(const uint32_t *)(const void *)elem;
	default: return *(const uint64_t *)(const void *)elem;
	}
}

/* What the tie function wants to know of an element. */
static uint64_t elem_val(const em_top *t, const char *elem)
{
	return t->front.e.job.by.own != NULL ? (uint64_t)(uintptr_t)elem : ((const emi_pair *)(const void *)elem)->val;
}

/* Keep the first of equal ones; returns how many are left, no more than are needed. */
static size_t drop_equal(const em_top *t, const void *elems, size_t n)
{
	const emi_collation *by = &t->front.e.job.by;
	const size_t bytes = by->codec->elem_bytes;
	size_t i, kept = 1;

	for (i = 1; i < n && kept < t->need; i++) {
		if (emi_elem_compare(by, &by->tie, elem_at(t, elems, kept - 1), elem_at(t, elems, i)) == 0)
			continue;
		if (kept != i)
			memcpy(elem_at(t, elems, kept), elem_at(t, elems, i), bytes);
		kept++;
	}
	return kept;
}

/* The last of those that are needed is the limit, unless a run's was lower. */
static void set_limit(em_top *t, const char *elem)
{
	const emi_collation *by = &t->front.e.job.by;
	const uint64_t key = elem_key(t, elem);

	if (t->limited && (key > t->limit_key ||
			   (key == t->limit_key && (by->tie.fn == NULL || !ties_before(t, elem_val(t, elem))))))
		return;
	if (by->codec->ref)
		memcpy(t->limit, (const void *)(uintptr_t)elem_val(t, elem), by->codec->record_bytes);
	else
		emi_collation_store(by, elem, 1, t->limit);
	t->limit_key = key;
	t->limited = 1;
}

void emi_top_by_address(const em_top *t, emi_pair *e, emi_pair *other, size_t n, void *work)
{
	const emi_tie none = { NULL, NULL, NULL, 0 };
	size_t i;

	for (i = 0; i < n; i++)
		e[i].key = e[i].val;
	t->front.e.job.by.kern->sort(e, other, n, &none, work);
}

/* Move together, in the area, the records of elements that refer to it. */
static void gather(em_top *t, emi_pair *e, size_t n)
{
	const emi_former *f = &t->front.e.former;
	const size_t bytes = t->front.e.job.by.codec->record_bytes;
	char *to = t->front.area;
	size_t i;

	emi_top_by_address(t, e, f->elems[0] == (void *)e ? f->elems[1] : f->elems[0], n, f->work);
	for (i = 0; i < n; i++, to += bytes)
		memmove(to, (const void *)(uintptr_t)e[i].val, bytes);
}

em_status emi_top_cut_fixed(em_top *t, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	const void *elems;
	em_status st = emi_form_elems(&t->front.e.former, t->front.area, t->front.n, &elems, err);
	size_t n = (size_t)t->front.n;

	if (st != EM_OK)
		return st;
	if ((job->flags & EM_SORT_UNIQUE) != 0)
		n = drop_equal(t, elems, n);
	if (n >= t->need) {
		n = (size_t)t->need;
		set_limit(t, elem_at(t, elems, n - 1));
	}
	if (job->by.codec->ref)
		gather(t, (emi_pair *)(uintptr_t)elems, n);
	else
		emi_collation_store(&job->by, elems, n, t->front.area);
	t->front.n = n;
	/* A comparison may have failed meanwhile. */
	return emi_job_check(job, err);
}

/* The area is full. */
static em_status make_room(em_top *t, em_errinfo *err)
{
	em_status st = EM_OK;

	if (t->front.n >= t->need || (t->front.e.job.flags & EM_SORT_UNIQUE) != 0)
		st = emi_top_cut_fixed(t, err);
	if (st == EM_OK && emi_top_crowded(t->front.n, t->room))
		st = emi_front_spill(&t->front, err);
	return st;
}

em_status emi_top_add_fixed(em_top *t, emi_strand *s, em_errinfo *err)
{
	const size_t bytes = t->front.e.job.by.codec->record_bytes;
	em_status st = EM_OK;
	size_t i;

	for (i = 0; i < s->nkept; i++) {
		if (t->front.n == t->room)
			st = make_room(t, err);
		if (st != EM_OK)
			return st;
		memcpy(t->front.area + (size_t)t->front.n++ * bytes, s->kept[i].record, bytes);
	}
	s->nkept = 0;
	return EM_OK;
}

em_status emi_top_add_all_fixed(em_top *t, emi_strand *s, em_errinfo *err)
{
	const size_t bytes = t->front.e.job.by.codec->record_bytes;
	em_status st = EM_OK;

	while (s->left != 0 && !t->limited) {
		uint64_t n = t->room - t->front.n;

		if (n == 0) {
			st = make_room(t, err);
			if (st != EM_OK)
				return st;
			continue;
		}
		if (n > s->left)
			n = s->left;
		memcpy(t->front.area + (size_t)t->front.n * bytes, s->at, (size_t)n * bytes);
		t->front.n += n;
		s->at += (size_t)n * bytes;
		s->number += n;
		s->left -= n;
	}
	return EM_OK;
}
