/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top_vary.c -- candidates of any length: looking at records, keeping them, cutting them to the first ones.
 *
 * They are frames in a store.  A cut sorts the store's elements, and then moves the frames that stay together at the
 * end of the store.  Frames lie in the store in the order of the input, the first one last, so going through them from
 * the end of the store to its front none is moved over one that is still needed, and the elements that are made again
 * stand in the order of the input.
 */
#include "sort/top.h"

#include <string.h>

#include "sort/plan_vary.h"

#define LITTLE_BYTES ((uint64_t)16 << 20) /* of the store, however few are asked for */
#define BYTES_EACH 2048u        /* of the store, for each record that is asked for */
#define LITTLE_RECORDS 4096u
#define TIMES 4u                /* candidates for each record that is asked for, if there is room */
#define SLACK 8u                /* bytes behind a frame that may be read */

/* Bytes for the store: no more than a small number of records will need, but at least the two longest records. */
static size_t store_bytes(const em_top *t, const emi_needs *needs)
{
	const emi_job *job = &t->front.e.job;
	const uint64_t planned = emi_vary_store(job, needs) - t->limit_bytes;
	const uint64_t least = 2 * emi_vary_longest(job) + 4u * EMI_PAGE;
	uint64_t want = t->need > planned / BYTES_EACH ? planned : t->need * BYTES_EACH;

	if (want < LITTLE_BYTES)
		want = LITTLE_BYTES;
	if (want < least)
		want = least;
	return (size_t)(want < planned && job->opts.run_records == 0 ? want : planned);
}

em_status emi_top_room_vary(em_top *t, const emi_needs *needs, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	em_status st;

	/* The store has room for two of the longest frames and some pages, so it can spare this. */
	t->limit_bytes = (size_t)emi_vary_longest(job) + SLACK;
	st = emi_engine_prepare_vary(&t->front.e, store_bytes(t, needs), 1, err);
	if (st != EM_OK)
		return st;
	t->room = t->need > UINT64_MAX / TIMES ? UINT64_MAX : t->need * TIMES;
	if (t->room < LITTLE_RECORDS)
		t->room = LITTLE_RECORDS;
	t->limit = emi_buffer_alloc(job->ctx, t->limit_bytes, err);
	return t->limit != NULL ? EM_OK : err->status;
}

/* The next record of a strand. */
static const unsigned char *take(emi_strand *s, size_t *n)
{
	const unsigned char *record = s->at;

	if (s->format != NULL) {
		record = emi_record_take(s->format, &s->at, s->end, n);
	} else {
		s->at = s->base + (size_t)s->ends[s->number];
		*n = (size_t)(s->at - record);
		s->left--;
	}
	s->number++;
	return record;
}

void emi_strand_pass_vary(emi_strand *s)
{
	size_t n;

	while (!emi_strand_finished(s))
		take(s, &n);
}

static int before_limit(const em_top *t, const emi_frame *f)
{
	const emi_vary *v = t->front.e.job.by.vary;
	const uint64_t key = emi_string_key(v, f, 0);

	if (key != t->limit_key)
		return key < t->limit_key;
	return emi_string_compare(v, f, &t->limit_frame, 0) < 0;
}

/* May a record come before the limit?  Without keys it is looked at where it is, if eight bytes can be read there. */
static int may_come_before(const emi_strand *s, const unsigned char *record, size_t n)
{
	const em_top *t = s->top;
	const emi_vary *v = t->front.e.job.by.vary;
	emi_frame f;

	if (!v->keyed && (s->format != NULL || n >= 8)) {
		f.string = record;
		f.key_bytes = 0;
		f.bytes = n;
	} else {
		if (emi_frame_make(v, record, n, s->scratch, t->strand_scratch - SLACK, NULL) == 0)
			return 1;
		f = emi_frame_get(v, s->scratch);
	}
	return before_limit(t, &f);
}

void emi_strand_look_vary(emi_strand *s)
{
	const uint64_t end = s->number + EMI_TOP_LOOK_VARY;

	while (!emi_strand_finished(s) && s->nkept < EMI_TOP_KEPT && s->number < end) {
		const uint64_t number = s->number;
		const unsigned char *record;
		emi_top_kept *k = &s->kept[s->nkept];
		size_t n;

		record = take(s, &n);
		if (!may_come_before(s, record, n))
			continue;
		k->record = record;
		k->n = n;
		k->number = number;
		s->nkept++;
	}
}

/* The last of those that are needed is the limit, unless a run's was lower. */
static void set_limit(em_top *t, const emi_pair *e)
{
	const emi_vary *v = t->front.e.job.by.vary;
	const unsigned char *frame = (const unsigned char *)(uintptr_t)e->val;
	const emi_frame f = emi_frame_get(v, frame);

	if (t->limited && !before_limit(t, &f))
		return;
	memcpy(t->limit, frame, (size_t)(emi_frame_end(&f) - frame));
	memset(t->limit + (emi_frame_end(&f) - frame), 0, SLACK);
	t->limit_frame = emi_frame_get(v, t->limit);
	t->limit_key = emi_string_key(v, &t->limit_frame, 0);
	t->limited = 1;
}

/* Keep the first of equal ones; returns how many are left, no more than are needed. */
static size_t drop_equal(const em_top *t, emi_pair *e, size_t n)
{
	const emi_vary *v = t->front.e.job.by.vary;
	size_t i, kept = 1;

	for (i = 1; i < n && kept < t->need; i++) {
		const emi_frame a = emi_frame_of(v, &e[kept - 1]), b = emi_frame_of(v, &e[i]);

		if (emi_string_compare(v, &a, &b, 0) != 0)
			e[kept++] = e[i];
	}
	return kept;
}

/* Put a frame that is in the store, at or below where it is going to be, into the emptied store. */
static void put_back(em_top *t, const unsigned char *from)
{
	const emi_vary *v = t->front.e.job.by.vary;
	const emi_frame old = emi_frame_get(v, from);
	const size_t bytes = (size_t)(emi_frame_end(&old) - from);
	emi_line_store *p = &t->front.e.store;
	unsigned char *frame;
	emi_frame f;
	emi_pair *e;

	/* It was in the store with others, so it fits. */
	if (!emi_line_store_grow(p, bytes, 1, &frame, &e))
		return;
	memmove(frame, from, bytes);
	f = emi_frame_get(v, frame);
	e->key = emi_string_key(v, &f, 0);
	e->val = (uintptr_t)frame;
	p->out += f.bytes + t->front.e.job.out_extra;
	emi_line_store_share(p, frame, emi_string_bytes(v, &f));
}

em_status emi_top_cut_vary(em_top *t, em_errinfo *err)
{
	emi_job *job = &t->front.e.job;
	emi_line_store *p = &t->front.e.store;
	size_t n = (size_t)p->n, i;
	emi_pair *e, *other;
	const emi_pair *sorted;
	em_status st = emi_line_store_sort(p, &sorted, err);

	if (st != EM_OK)
		return st;
	other = emi_line_store_elems(p) + (sorted == emi_line_store_elems(p) ? n : 0);
	e = (emi_pair *)(uintptr_t)sorted;
	if ((job->flags & EM_SORT_UNIQUE) != 0)
		n = drop_equal(t, e, n);
	if (n >= t->need) {
		n = (size_t)t->need;
		set_limit(t, &e[n - 1]);
	}
	emi_top_by_address(t, e, other, n, p->work);
	/* The addresses go where the elements do not grow into them. */
	other = emi_line_store_elems(p) + n;
	if (e != other)
		memmove(other, e, n * sizeof *e);
	emi_line_store_clear(p);
	for (i = n; i != 0; i--)
		put_back(t, (const unsigned char *)(uintptr_t)other[i - 1].val);
	return EM_OK;
}

/* There are enough candidates, or the store is full. */
static em_status make_room(em_top *t, int full, em_errinfo *err)
{
	emi_line_store *p = &t->front.e.store;
	em_status st = EM_OK;

	if (p->n >= t->need || (t->front.e.job.flags & EM_SORT_UNIQUE) != 0)
		st = emi_top_cut_vary(t, err);
	if (st == EM_OK && full &&
	    (emi_top_crowded(emi_line_store_used(p), p->bytes) || (p->most != 0 && emi_top_crowded(p->n, p->most))))
		st = emi_front_spill(&t->front, err);
	return st;
}

static em_status add(em_top *t, const emi_strand *s, const unsigned char *record, size_t n, uint64_t number,
		     em_errinfo *err)
{
	const uint64_t longest = emi_vary_longest(&t->front.e.job);
	emi_line_store *p = &t->front.e.store;
	em_status st = EM_OK;
	size_t need = 0;
	int tries;

	if (p->n >= t->room)
		st = make_room(t, 0, err);
	for (tries = 0; st == EM_OK && tries < 3; tries++) {
		if (emi_line_store_add(p, record, n, &need))
			return EM_OK;
		if (need > longest || p->n == 0)
			break;
		/* What a cut leaves may still be too much for a long one. */
		st = tries == 0 ? make_room(t, 1, err) : emi_front_spill(&t->front, err);
	}
	if (st != EM_OK)
		return st;
	if (need <= longest)
		return emi_fail(err, EM_ERR_INTERNAL, "a record of %llu bytes does not fit in memory",
				(unsigned long long)n);
	t->long_strand = (uint32_t)(s - t->strand);
	t->long_number = number;
	t->long_need = need;
	return EM_ERR_RANGE;
}

em_status emi_top_add_vary(em_top *t, emi_strand *s, em_errinfo *err)
{
	em_status st = EM_OK;
	size_t i;

	for (i = 0; i < s->nkept && st == EM_OK; i++)
		st = add(t, s, s->kept[i].record, s->kept[i].n, s->kept[i].number, err);
	s->nkept = 0;
	return st;
}

em_status emi_top_add_all_vary(em_top *t, emi_strand *s, em_errinfo *err)
{
	em_status st = EM_OK;

	while (st == EM_OK && !emi_strand_finished(s) && !t->limited) {
		const uint64_t number = s->number;
		const unsigned char *record;
		size_t n;

		record = take(s, &n);
		st = add(t, s, record, n, number, err);
	}
	return st;
}
