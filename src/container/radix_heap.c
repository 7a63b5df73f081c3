/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap.c -- see radix_heap.h. */
#include "container/radix_heap.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/copy.h"
#include "base/error.h"

/* Of the front, what a bucket may have that becomes it: the rest is for what is pushed meanwhile. */
#define SMALL_SHARE 2u

void emi_radix_heap_init(em_radix_heap *h, em_ctx *ctx, const em_placement *placement)
{
	h->key = h->plan.key;
	h->range = EMI_RADIX_ALL;
	h->equal = h->source = EMI_RADIX_NONE;
	h->small = h->plan.front / SMALL_SHARE * (uint64_t)h->plan.record;
	emi_radix_front_init(&h->front, ctx, h->plan.record, h->plan.front);
	emi_radix_runs_init(&h->runs, ctx, &h->plan);
	emi_radix_digits_init(&h->digits, h->plan.levels, h->plan.radix);
	if (placement != NULL) {
		h->placement = *placement;
		h->buckets.placement = &h->placement;
	}
}

void emi_radix_heap_clear(em_radix_heap *h)
{
	emi_radix_front_drop(&h->front);
	emi_radix_runs_drop(&h->runs);
	emi_radix_buckets_close(&h->buckets);
	h->range = EMI_RADIX_ALL;
	h->equal = h->source = EMI_RADIX_NONE;
	h->n = h->last = 0;
}

uint64_t emi_radix_heap_memory(const emi_radix_plan *plan, uint64_t records)
{
	const uint64_t blocks = records / (plan->block_bytes / plan->record);

	if (records <= plan->front)
		return sizeof(em_radix_heap) + emi_radix_front_memory(plan->record, records);
	if (blocks >= (UINT64_MAX - plan->takes) / EMI_RADIX_IDS_BYTES)
		return UINT64_MAX;
	return plan->takes + (blocks + 1) * EMI_RADIX_IDS_BYTES;
}

em_status emi_radix_heap_check(const em_radix_heap *h, uint64_t key, uint64_t number, em_errinfo *err)
{
	if (emi_radix_heap_admits(h, key))
		return EM_OK;
	if (key > h->key.last)
		return emi_fail_record(err, EM_ERR_RANGE, NULL, number, 0,
				       "the key of record %" PRIu64 " is a float that is negative or no number: bits "
				       "0x%" PRIx64 "; the last minimum has 0x%" PRIx64,
				       number, key, h->last);
	if (key < h->last)
		return emi_fail_record(err, EM_ERR_RANGE, NULL, number, 0,
				       "the key of record %" PRIu64 ", %" PRIu64 ", is below the last minimum, %"
				       PRIu64, number, key, h->last);
	return emi_fail_record(err, EM_ERR_RANGE, NULL, number, 0,
			       "the key of record %" PRIu64 ", %" PRIu64 ", is more than %" PRIu64
			       " above the last minimum, %" PRIu64,
			       number, key, h->plan.most, h->last);
}

/* To a bucket, where the record's level is known to be `top' or lower. */
static inline em_status put(em_radix_heap *h, const char *record, uint64_t key, size_t bytes, uint32_t top,
			    em_errinfo *err)
{
	const uint32_t i = emi_radix_bucket_of(&h->digits, key, top);
	emi_radix_bucket *b = &h->buckets.bucket[i];

	if (b->at == b->end && !emi_radix_restage(&h->buckets, i)) {
		const em_status st = emi_radix_room(&h->buckets, i, err);

		if (st != EM_OK)
			return st;
	}
	emi_radix_append(b, record, key, bytes);
	return EM_OK;
}

/* Distribute what is in the buffer of a bucket to the levels below, the last record first. */
static inline em_status put_all(em_radix_heap *h, emi_radix_bucket *b, const char *buf, uint32_t top,
				const emi_radix_key *key, size_t bytes, em_errinfo *err)
{
	const char *const end = b->at;
	em_status st = EM_OK;

	while (b->at != buf) {
		const char *record = b->at - bytes;

		st = put(h, record, emi_radix_key_of(key, record), bytes, top, err);
		if (st != EM_OK)
			break;
		b->at -= bytes;
	}
	h->distributed += (uint64_t)(end - b->at) / bytes;
	return st;
}

/* The same, with what is usual known when this is compiled. */
static em_status put_buffer(em_radix_heap *h, uint32_t i, uint32_t top, em_errinfo *err)
{
	const emi_radix_key first64 = { 0, 8, 0, 0, UINT64_MAX }, first32 = { 0, 4, 0, 0, UINT32_MAX };
	const size_t bytes = h->plan.record;
	emi_radix_bucket *b = &h->buckets.bucket[i];
	const char *buf;

	emi_radix_unstage(&h->buckets, i);
	buf = h->buckets.stack[i].buf;
	if (!h->key.swap && h->key.offset == 0 && h->key.sign == 0) {
		if (h->key.width == 8 && bytes == 8)
			return put_all(h, b, buf, top, &first64, 8, err);
		if (h->key.width == 8 && bytes == 16)
			return put_all(h, b, buf, top, &first64, 16, err);
		if (h->key.width == 4 && bytes == 4)
			return put_all(h, b, buf, top, &first32, 4, err);
		if (h->key.width == 4 && bytes == 8)
			return put_all(h, b, buf, top, &first32, 8, err);
	}
	return put_all(h, b, buf, top, &h->key, bytes, err);
}

/* Distribute what is in the runs of a bucket, which may be sorted just now. */
static em_status put_runs(em_radix_heap *h, uint32_t i, uint32_t top, em_errinfo *err)
{
	emi_radix_runs *r = &h->runs;
	char room[EMI_RADIX_ITEM_ROOM];
	em_status st = EM_OK;
	emi_radix_run *run;
	int more;

	while (st == EM_OK && (run = emi_radix_run_of(r, i, &more)) != NULL) {
		emi_pq_sort_end(&r->sorting);
		for (; st == EM_OK && run->at != run->end; h->distributed += st == EM_OK) {
			const char *record = emi_radix_runs_record(r, run->at, room);

			st = put(h, record, emi_radix_key_of(&h->key, record), h->plan.record, top, err);
			if (st == EM_OK)
				run->at += r->items.bytes;
		}
		if (st == EM_OK)
			run->bucket = EMI_RADIX_NONE;
	}
	return st;
}

/* Go on with the bucket that is being distributed. */
static em_status distribute(em_radix_heap *h, em_errinfo *err)
{
	const uint32_t i = h->source, level = emi_radix_level_of(&h->digits, i);
	em_status st = put_runs(h, i, level - 1, err);

	while (st == EM_OK) {
		st = put_buffer(h, i, level - 1, err);
		if (st != EM_OK || h->buckets.stack[i].blocks == 0)
			break;
		st = emi_object_check(&h->object, err);
		if (st == EM_OK)
			st = emi_radix_fetch(&h->buckets, i, err);
		if (st != EM_OK)
			break;
	}
	if (st == EM_OK) {
		emi_radix_drained(&h->buckets, i);
		h->source = EMI_RADIX_NONE;
	}
	return st;
}

/* The front gets all records of a bucket that are in its buffer, for which it has room. */
static em_status add_to_front(em_radix_heap *h, uint32_t i, em_errinfo *err)
{
	emi_radix_bucket *b = &h->buckets.bucket[i];
	char *const buf = h->buckets.stack[i].buf;
	const char *record = buf;
	const uint64_t n = b->at != buf ? (uint64_t)(b->at - buf) / h->plan.record : 0;
	const em_status st = n != 0 ? emi_radix_front_reserve(&h->front, (uint32_t)n, err) : EM_OK;

	for (; st == EM_OK && record != b->at; record += h->plan.record)
		emi_radix_front_add(&h->front, emi_radix_key_of(&h->key, record), record);
	if (st == EM_OK)
		b->at = buf;
	return st;
}

/* All of a bucket are in the front and the open run. */
static void became_front(em_radix_heap *h, uint32_t i)
{
	h->edge = emi_radix_last(&h->digits, i);
	emi_radix_refer(&h->digits, h->buckets.bucket[i].min, emi_radix_level_of(&h->digits, i));
	emi_radix_drained(&h->buckets, i);
	h->range = EMI_RADIX_OPEN;
}

/* Has a bucket few records, all of them in its buffer? */
static int is_small(const em_radix_heap *h, uint32_t i)
{
	const emi_radix_stack *s = &h->buckets.stack[i];

	return s->blocks == 0 &&
	       (s->buf == NULL || (uint64_t)(h->buckets.bucket[i].at - s->buf) <= h->small);
}

/* May a bucket become a run, with what it has there already? */
static int may_run(em_radix_heap *h, uint32_t i)
{
	uint64_t n = emi_radix_bucket_count(&h->buckets, i);
	const emi_radix_run *run;
	int more;

	if (h->plan.run == 0 || n > h->plan.run)
		return 0;
	run = emi_radix_run_of(&h->runs, i, &more);
	return !more && (run == NULL || n + emi_radix_run_count(&h->runs, run) <= h->plan.run);
}

/* Begin to sort the bucket that comes next, if it is one to run. */
static void make_ready(em_radix_heap *h)
{
	const uint32_t i = emi_radix_lowest(&h->buckets);
	em_errinfo own = EM_ERRINFO_INIT;
	emi_radix_run *run;
	em_status st;
	int more;

	if (i == EMI_RADIX_NONE || emi_radix_level_of(&h->digits, i) == 0 ||
	    emi_radix_run_of(&h->runs, i, &more) != NULL)
		return;
	emi_radix_unstage(&h->buckets, i);
	if (is_small(h, i) || !may_run(h, i))
		return;
	st = emi_radix_run_take(&h->runs, i, &run, &own);
	if (st == EM_OK && run != NULL)
		st = emi_radix_run_fill(&h->runs, run, &h->buckets, &own);
	if (st == EM_OK && run != NULL)
		(void)emi_radix_run_sort(&h->runs, run, 1, &own);
}

/* A bucket that is not large becomes the open run.  If it was made ready, what came since then is for the front.  0 in
 * *done: there is no run for it. */
static em_status become_run(em_radix_heap *h, uint32_t i, int *done, em_errinfo *err)
{
	emi_radix_run *run;
	em_status st = emi_radix_run_take(&h->runs, i, &run, err);

	*done = run != NULL;
	if (st != EM_OK || !*done)
		return st;
	if (run->at != run->end && run->sorted && is_small(h, i))
		st = add_to_front(h, i, err);
	else
		st = emi_radix_run_fill(&h->runs, run, &h->buckets, err);
	if (st == EM_OK)
		st = emi_radix_run_sort(&h->runs, run, 0, err);
	if (st != EM_OK)
		return st;
	h->run_sorted += emi_radix_run_count(&h->runs, run);
	emi_radix_run_open(&h->runs, run);
	became_front(h, i);
	make_ready(h);
	return EM_OK;
}

/* Go on to lower the reference.  That the last minimum is higher meanwhile is no matter, unless it has another digit
 * above all levels: what was moved is then distributed anew. */
static em_status lower(em_radix_heap *h, em_errinfo *err)
{
	const uint64_t before = h->digits.reference;
	const uint32_t end = h->digits.level[h->lowering].first;
	em_status st = EM_OK;
	uint32_t i;

	if (h->source != EMI_RADIX_NONE && h->source == h->lower_to)
		h->source = EMI_RADIX_NONE;
	while (st == EM_OK && (i = emi_radix_highest_before(&h->buckets, end)) != EMI_RADIX_NONE) {
		st = emi_radix_move(&h->buckets, i, h->lower_to, err);
		if (st != EM_OK)
			break;
		emi_radix_runs_move(&h->runs, i, h->lower_to);
		if (h->source == i)
			h->source = EMI_RADIX_NONE;
	}
	if (st != EM_OK)
		return st;
	if (h->lowering == h->digits.levels) {
		emi_radix_refer(&h->digits, h->last, h->digits.levels);
		if (emi_radix_bucket_of(&h->digits, before, h->digits.levels) != h->lower_to &&
		    emi_radix_in_use(&h->buckets, h->lower_to))
			h->source = h->lower_to;
	} else {
		emi_radix_refer(&h->digits, h->lower_by, h->lowering);
	}
	h->range = EMI_RADIX_CLOSED;
	return EM_OK;
}

/* The reference is above the last minimum and has to be lowered. */
static void begin_to_lower(em_radix_heap *h)
{
	const emi_radix_digits *d = &h->digits;
	uint32_t l = 0;

	while (l < d->levels && h->last < d->level[l].start)
		l++;
	h->lowering = l;
	h->lower_by = h->last;
	if (l == d->levels)
		h->lower_to = emi_radix_top_bucket(d, d->reference);
	else
		h->lower_to = d->level[l].first +
			      (uint32_t)emi_radix_divide(d, &d->level[l], d->reference - d->level[l].start);
	h->range = EMI_RADIX_LOWERING;
}

/* The last minimum has another digit above all levels than the reference: a front that was spread in part had keys of
 * both.  All buckets are empty but that of its digit, which is distributed, as keys with the next digit may come. */
static void catch_up(em_radix_heap *h)
{
	const uint32_t i = emi_radix_top_bucket(&h->digits, h->last);

	emi_radix_refer(&h->digits, h->last, h->digits.levels);
	if (emi_radix_in_use(&h->buckets, i))
		h->source = i;
}

/* The reference may be raised to the last minimum, if the bucket that this is in has nothing. */
static void raise(em_radix_heap *h)
{
	const uint32_t i = emi_radix_bucket_of(&h->digits, h->last, h->digits.levels);

	if (h->source == EMI_RADIX_NONE && !emi_radix_in_use(&h->buckets, i))
		emi_radix_refer(&h->digits, h->last, emi_radix_level_of(&h->digits, i));
}

/* Have a reference that is not above the last minimum, and buckets. */
static em_status refer_to_last(em_radix_heap *h, em_errinfo *err)
{
	em_status st = EM_OK;

	h->equal = EMI_RADIX_NONE;
	if (h->range == EMI_RADIX_ALL) {
		if (h->buckets.bucket == NULL) {
			st = emi_radix_buckets_open(&h->buckets, h->object.ctx, &h->plan, emi_radix_count(&h->digits),
						    err);
			if (st == EM_OK)
				emi_store_watch(h->buckets.store, &h->object.canceled);
		}
		emi_radix_refer(&h->digits, h->last, h->digits.levels);
		return st;
	}
	if (h->range != EMI_RADIX_LOWERING && h->last < h->digits.reference)
		begin_to_lower(h);
	if (h->range == EMI_RADIX_LOWERING)
		return lower(h, err);
	if (emi_radix_heap_is_behind(h))
		catch_up(h);
	else if (h->last > h->digits.reference)
		raise(h);
	return EM_OK;
}

/* The key of the last record of the open run, or of the next one. */
static uint64_t key_in_run(const em_radix_heap *h, const char *item)
{
	char room[EMI_RADIX_ITEM_ROOM];

	return emi_radix_key_of(&h->key, emi_radix_runs_record(&h->runs, item, room));
}

/* The front is sorted: put the largest records of that and of the open run into buckets. */
static em_status spread_all(em_radix_heap *h, em_errinfo *err)
{
	emi_radix_runs *r = &h->runs;
	const emi_radix_pair *p = h->front.in_order.at;
	const emi_radix_pair *const end = h->front.sorted != 0 ? p + h->front.sorted : p;
	em_status st = EM_OK;

	while (st == EM_OK && (p != end || emi_radix_runs_open(r))) {
		const char *last = emi_radix_runs_open(r) ? r->end - r->items.bytes : NULL;
		char room[EMI_RADIX_ITEM_ROOM];

		if (last != NULL && (p == end || key_in_run(h, last) >= p->key)) {
			const char *record = emi_radix_runs_record(r, last, room);

			st = put(h, record, emi_radix_key_of(&h->key, record), h->plan.record, h->digits.levels, err);
			if (st == EM_OK)
				emi_radix_runs_cut(r);
		} else {
			st = put(h, emi_radix_front_record(&h->front, p), p->key, h->plan.record, h->digits.levels,
				 err);
			p += st == EM_OK;
		}
	}
	if (h->front.sorted != 0)
		emi_radix_front_cut(&h->front, (uint32_t)(p - h->front.in_order.at));
	return st;
}

/* What is in the front and the open run goes to buckets. */
static em_status spread(em_radix_heap *h, em_errinfo *err)
{
	em_status st = emi_radix_front_sort(&h->front, err);

	if (st == EM_OK)
		st = emi_object_check(&h->object, err);
	if (st == EM_OK)
		st = refer_to_last(h, err);
	if (st == EM_OK)
		st = spread_all(h, err);
	else
		return st;
	h->range = EMI_RADIX_CLOSED;
	h->edge = 0;
	if (h->front.sorted != 0) {
		h->range = EMI_RADIX_OPEN;
		h->edge = h->front.in_order.at[0].key;
	}
	if (emi_radix_runs_open(&h->runs)) {
		const uint64_t key = key_in_run(h, h->runs.end - h->runs.items.bytes);

		h->range = EMI_RADIX_OPEN;
		h->edge = key > h->edge ? key : h->edge;
	}
	return st;
}

/* Have room in the front for a record that belongs there; or it does no longer. */
static em_status make_room(em_radix_heap *h, em_errinfo *err)
{
	if (h->range == EMI_RADIX_LOWERING || emi_radix_front_count(&h->front) == h->plan.front)
		return spread(h, err);
	return emi_radix_front_reserve(&h->front, 1, err);
}

static inline em_status push_one(em_radix_heap *h, const char *record, uint64_t key, em_errinfo *err)
{
	em_status st;

	while (emi_radix_heap_is_near(h, key)) {
		if (h->range != EMI_RADIX_LOWERING && emi_radix_front_has_room(&h->front)) {
			emi_radix_front_add(&h->front, key, record);
			return EM_OK;
		}
		st = make_room(h, err);
		if (st != EM_OK)
			return st;
	}
	if (emi_radix_heap_is_behind(h))
		catch_up(h);
	return put(h, record, key, h->plan.record, h->digits.levels, err);
}

em_status emi_radix_heap_push_one(em_radix_heap *h, const char *record, uint64_t key, em_errinfo *err)
{
	const em_status st = push_one(h, record, key, err);

	h->n += st == EM_OK;
	return st;
}

em_status emi_radix_heap_push(em_radix_heap *h, const char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	const size_t bytes = h->plan.record;
	em_status st = EM_OK;
	uint64_t k;

	for (k = 0; k < n; k++) {
		st = push_one(h, records + k * bytes, emi_radix_key_of(&h->key, records + k * bytes), err);
		if (st != EM_OK)
			break;
	}
	h->n += k;
	*done = k;
	return st;
}

/* The front is empty and there is a bucket: have something to pop, or be nearer to it. */
static em_status refine(em_radix_heap *h, em_errinfo *err)
{
	emi_radix_buckets *all = &h->buckets;
	uint32_t i, level;
	em_status st;
	int done;

	if (h->range == EMI_RADIX_LOWERING) {
		st = lower(h, err);
		if (st != EM_OK)
			return st;
	}
	if (h->source != EMI_RADIX_NONE)
		return distribute(h, err);
	i = emi_radix_lowest(all);
	if (i == EMI_RADIX_NONE)
		return emi_fail(err, EM_ERR_INTERNAL, "records of a radix heap are missing");
	level = emi_radix_level_of(&h->digits, i);
	emi_radix_unstage(all, i);
	if (level != 0 && is_small(h, i) && emi_radix_run_of(&h->runs, i, &done) == NULL) {
		st = add_to_front(h, i, err);
		if (st == EM_OK)
			became_front(h, i);
		return st;
	}
	if (level != 0 && may_run(h, i)) {
		st = become_run(h, i, &done, err);
		if (st != EM_OK || done)
			return st;
	}
	emi_radix_refer(&h->digits, all->bucket[i].min, level);
	h->range = EMI_RADIX_CLOSED;
	emi_radix_hint(all, i);
	if (level == 0) {
		h->equal = i;
		return EM_OK;
	}
	h->source = i;
	return distribute(h, err);
}

/* Copy up to n of the records that are equal to the reference, one or more, and, if `take' is not 0, take them out. */
static inline em_status take_equal(em_radix_heap *h, char *records, uint64_t *n, int take, em_errinfo *err)
{
	const uint32_t i = h->equal;
	emi_radix_bucket *b = &h->buckets.bucket[i];
	emi_radix_stack *s = &h->buckets.stack[i];
	uint64_t bytes;

	if (b->at == s->buf) {
		em_status st = emi_object_check(&h->object, err);

		if (st == EM_OK)
			st = emi_radix_fetch(&h->buckets, i, err);
		if (st != EM_OK)
			return st;
	}
	bytes = h->plan.record;
	if (*n == 1) {
		if (!emi_copy_usual(records, b->at - bytes, (size_t)bytes))
			emi_copy(records, b->at - bytes, (size_t)bytes);
	} else {
		if (*n > (uint64_t)(b->at - s->buf) / bytes)
			*n = (uint64_t)(b->at - s->buf) / bytes;
		bytes *= *n;
		memcpy(records, b->at - bytes, (size_t)bytes);
	}
	if (!take)
		return EM_OK;
	b->at -= bytes;
	if (b->at == s->buf && s->blocks == 0) {
		emi_radix_drained(&h->buckets, i);
		h->equal = EMI_RADIX_NONE;
	}
	return EM_OK;
}

/* There is an open run: what is least may be in the front all the same.  Of the run, all n may be taken, if there is
 * no other record. */
static em_status least_of_run(em_radix_heap *h, char *records, uint64_t *n, uint64_t *key, int take, em_errinfo *err)
{
	emi_radix_runs *r = &h->runs;
	uint64_t in_front, left = (uint64_t)(r->end - r->at) / r->items.bytes;
	em_status st;

	*key = key_in_run(h, r->at);
	if (emi_radix_front_count(&h->front) != 0) {
		st = emi_radix_front_first(&h->front, &in_front, err);
		if (st != EM_OK)
			return st;
		*n = 1;
		if (in_front < *key)
			return emi_radix_front_least(&h->front, key, records, take, err);
	}
	*n = *n < left ? *n : left;
	emi_pq_store(&r->items, r->at, (size_t)*n, records);
	*key = emi_radix_key_of(&h->key, records + (*n - 1) * h->plan.record);
	if (take)
		r->at += *n * r->items.bytes;
	return EM_OK;
}

/* Copy up to n records with the least keys, at least one; *n is how many they are, and *key the largest one's. */
static inline em_status least(em_radix_heap *h, char *records, uint64_t *n, uint64_t *key, int take, em_errinfo *err)
{
	em_status st;

	for (;;) {
		if (emi_radix_runs_open(&h->runs))
			return least_of_run(h, records, n, key, take, err);
		if (emi_radix_front_count(&h->front) != 0) {
			*n = 1;
			return emi_radix_front_least(&h->front, key, records, take, err);
		}
		if (h->equal != EMI_RADIX_NONE) {
			*key = h->digits.reference;
			return take_equal(h, records, n, take, err);
		}
		st = refine(h, err);
		if (st != EM_OK)
			return st;
	}
}

em_status emi_radix_heap_pop_one(em_radix_heap *h, char *record, em_errinfo *err)
{
	uint64_t one = 1, key;
	const em_status st = least(h, record, &one, &key, 1, err);

	if (st != EM_OK)
		return st;
	h->last = key;
	h->n--;
	return EM_OK;
}

em_status emi_radix_heap_pop(em_radix_heap *h, char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t k, some, key;

	for (k = 0; k < n; k += some) {
		some = n - k;
		st = least(h, records + k * h->plan.record, &some, &key, 1, err);
		if (st != EM_OK)
			break;
		h->last = key;
		h->n -= some;
	}
	*done = k;
	return st;
}

em_status emi_radix_heap_top(em_radix_heap *h, char *record, em_errinfo *err)
{
	uint64_t one = 1, key;

	return least(h, record, &one, &key, 0, err);
}
