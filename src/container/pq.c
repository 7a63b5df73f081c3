/* SPDX-License-Identifier: BSL-1.0 */
/* pq.c -- see pq.h. */
#include "container/pq.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"

/* Records that are looked at one by one after they were loaded together. */
#define AT_A_TIME 512u

/* Bytes of an item for which no memory is asked. */
#define SMALL 64u

void emi_pq_init(em_pq *p, em_ctx *ctx, const em_placement *placement)
{
	if (placement != NULL) {
		p->placement = *placement;
		p->sequences.placement = &p->placement;
	}
	emi_pq_sequences_init(&p->sequences, ctx, &p->plan, &p->items, p->shared != NULL ? &p->shared->pool : NULL);
	p->sequences.canceled = &p->object.canceled;
	emi_pq_insertion_init(&p->in, ctx, &p->items, &p->sequences.pieces, p->plan.threads);
	emi_pq_early_init(&p->early, ctx, &p->items, p->plan.early);
}

static size_t front_left(const em_pq *p)
{
	return p->front != p->front_end ? (size_t)(p->front_end - p->front) / p->items.bytes : 0;
}

static void set_limit(em_pq *p, const char *item)
{
	if (p->limit_item != NULL) {
		memcpy(p->limit_item, item, p->items.bytes);
		item = p->limit_item;
	}
	p->limit = emi_pq_pair(&p->items, item);
	p->limited = 1;
}

static void remove_limit(em_pq *p)
{
	p->limited = 0;
	p->limit.key = p->limit.val = 0;
}

void emi_pq_emptied(em_pq *p)
{
	remove_limit(p);
	emi_pq_insertion_empty(&p->in);
	emi_pq_sequences_empty(&p->sequences);
}

void emi_pq_clear(em_pq *p)
{
	em_ctx *ctx = p->object.ctx;

	emi_pq_insertion_drop(&p->in);
	emi_pq_sequences_drop(&p->sequences);
	emi_pq_early_drop(&p->early);
	emi_piece_free(ctx, p->front_buf, p->front_bytes);
	if (p->lent != NULL)
		emi_buffer_free(ctx, p->lent, (size_t)p->plan.front * p->items.record);
	if (p->limit_item != NULL)
		emi_free(ctx, p->limit_item, p->items.bytes);
	emi_cursor_clear(&p->cursor);
	p->front = p->front_end = p->front_buf = p->lent = p->limit_item = NULL;
	p->front_bytes = 0;
	p->n = 0;
	remove_limit(p);
	emi_pq_items_forget(&p->items);
}

/* Have a piece for a sequence.  Sequences are merged only when all are sorted. */
static em_status reserve(em_pq *p, em_errinfo *err)
{
	if (emi_pq_sequences_full(&p->sequences))
		emi_pq_sort_end(&p->in.sorting);
	return emi_pq_sequences_reserve(&p->sequences, err);
}

/* The piece of the insertion buffer becomes a sequence. */
static em_status give_piece(em_pq *p, em_errinfo *err)
{
	const char *from, *to;
	emi_pq_sequence *q;
	em_status st = reserve(p, err);
	char *piece;

	if (st != EM_OK)
		return st;
	q = emi_pq_sequence_new(&p->sequences, err);
	if (q == NULL)
		return err->status;
	st = emi_pq_insertion_give(&p->in, &piece, &from, &to, err);
	if (st == EM_OK)
		emi_pq_sequences_add(&p->sequences, q, piece, from, to, 0);
	else
		emi_free(p->object.ctx, q, sizeof *q);
	return st;
}

/* Have room for so many items in the insertion buffer, of as many as a piece has. */
static em_status need_room(em_pq *p, size_t n, em_errinfo *err)
{
	em_status st = EM_OK;

	while (st == EM_OK && (p->in.buf == NULL || (size_t)(p->in.end - p->in.at) < n * p->items.bytes)) {
		if (p->in.buf != NULL && p->in.bytes == p->in.whole) {
			/* What was taken of it is room when the rest is sorted together. */
			if (emi_pq_insertion_used(&p->in) <= p->in.whole / 2)
				st = emi_pq_insertion_sort(&p->in, 1, err);
			else
				st = give_piece(p, err);
		} else {
			st = emi_pq_insertion_grow(&p->in, err);
		}
	}
	return st;
}

/* What is left of the deletion buffer becomes a sequence: there is room for a piece. */
static em_status return_front(em_pq *p, em_errinfo *err)
{
	const size_t n = front_left(p);
	emi_pq_sequence *q;
	char *piece;

	if (n == 0)
		return EM_OK;
	q = emi_pq_sequence_new(&p->sequences, err);
	if (q == NULL)
		return err->status;
	piece = emi_buffers_take(&p->sequences.pieces, err);
	if (piece == NULL) {
		emi_free(p->object.ctx, q, sizeof *q);
		return err->status;
	}
	memcpy(piece, p->front, n * p->items.bytes);
	emi_pq_sequences_add(&p->sequences, q, piece, piece, piece + n * p->items.bytes, p->stable);
	p->front = p->front_end;
	p->returned += n;
	return EM_OK;
}

/* The early heap is full. */
static em_status return_early(em_pq *p, em_errinfo *err)
{
	em_status st = need_room(p, p->early.n, err);

	if (st == EM_OK)
		st = reserve(p, err);
	if (st == EM_OK)
		st = return_front(p, err);
	if (st != EM_OK)
		return st;
	while (p->early.n != 0) {
		emi_pq_early_pop(&p->early, p->in.at);
		p->in.at += p->items.bytes;
	}
	remove_limit(p);
	return EM_OK;
}

em_status emi_pq_push_slowly(em_pq *p, const char *record, em_errinfo *err)
{
	em_status st = need_room(p, 1, err);
	int early;

	if (st != EM_OK)
		return st;
	emi_pq_load_one(&p->items, record, p->in.at);
	early = emi_pq_is_early(p, p->in.at);
	st = emi_pq_items_check(&p->items, err);
	if (st == EM_OK && early && p->early.n == p->early.most) {
		/* Then there is no limit, but the item may have to be loaded elsewhere. */
		st = return_early(p, err);
		return st == EM_OK ? emi_pq_push_slowly(p, record, err) : st;
	}
	if (st == EM_OK && early)
		st = emi_pq_early_reserve(&p->early, err);
	if (st != EM_OK)
		return st;
	if (early)
		emi_pq_early_push(&p->early, p->in.at);
	else
		p->in.at += p->items.bytes;
	p->n++;
	return EM_OK;
}

/* Of the records that there is room for, load those that need not be looked at, or all up to one that is early. */
static uint64_t push_some(em_pq *p, const char *records, uint64_t n)
{
	const size_t item = p->items.bytes;
	const uint64_t room = p->in.at != p->in.end ? (uint64_t)(p->in.end - p->in.at) / item : 0;
	uint64_t i;

	n = n < room ? n : room;
	if (p->limited && n > AT_A_TIME)
		n = AT_A_TIME;
	if (n == 0)
		return 0;
	emi_pq_load(&p->items, records, (size_t)n, p->in.at);
	if (p->limited) {
		for (i = 0; i < n && !emi_pq_is_early(p, p->in.at + i * item); i++)
			continue;
		n = i;
	}
	return n;
}

em_status emi_pq_push(em_pq *p, const char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t some;

	for (*done = 0; *done < n; *done += some) {
		const char *at = records + *done * p->items.record;

		some = push_some(p, at, n - *done);
		st = emi_pq_items_check(&p->items, err);
		if (st != EM_OK)
			break;
		if (some != 0) {
			p->in.at += some * p->items.bytes;
			p->n += some;
			continue;
		}
		st = emi_pq_push_slowly(p, at, err);
		if (st != EM_OK)
			break;
		some = 1;
	}
	return st;
}

static em_status need_front(em_pq *p, size_t bytes, em_errinfo *err)
{
	if (p->items.kind == EMI_PQ_RECORD && p->limit_item == NULL) {
		p->limit_item = emi_alloc(p->object.ctx, p->items.bytes, err);
		if (p->limit_item == NULL)
			return err->status;
	}
	if (bytes <= p->front_bytes)
		return EM_OK;
	emi_piece_free(p->object.ctx, p->front_buf, p->front_bytes);
	p->front = p->front_end = NULL;
	p->front_bytes = 0;
	bytes = emi_piece_bytes(bytes);
	p->front_buf = emi_piece_alloc(p->object.ctx, bytes, err);
	if (p->front_buf == NULL)
		return err->status;
	p->front_bytes = bytes;
	return EM_OK;
}

/* All that there is are the items of one run. */
static void refill_from_run(em_pq *p, emi_sorted_memory *run, size_t most)
{
	const size_t left = (size_t)(run->source.end - run->source.at), bytes = left < most ? left : most;

	memcpy(p->front_buf, run->source.at, bytes);
	run->source.at += bytes;
	p->front_end = p->front_buf + bytes;
}

/* Merge what comes next.  A failure matters if there is nothing by then. */
static em_status refill_by_merging(em_pq *p, size_t most, em_errinfo *err)
{
	const size_t item = p->items.bytes;
	char *to = p->front_buf;
	em_status st = emi_pq_sequences_join(&p->sequences, p->in.run, p->in.runs, err);

	if (st != EM_OK)
		return st;
	do {
		emi_kway_stop stop = { (most - (size_t)(to - p->front_buf)) / item, NULL, 0 };
		const char *items;
		size_t n;

		st = emi_kway_next(&p->sequences.kway, &stop, &items, &n, err);
		if (st != EM_OK)
			break;
		memcpy(to, items, n * item);
		to += n * item;
	} while ((size_t)(to - p->front_buf) < most / 2);
	emi_pq_sequences_part(&p->sequences, p->in.run, p->in.runs);
	p->front_end = to;
	if (to != p->front_buf) {
		emi_errinfo_clear(err);
		return EM_OK;
	}
	return st == EM_END ? emi_fail(err, EM_ERR_INTERNAL, "items of a priority queue are missing") : st;
}

/* The deletion buffer and the early heap are empty, and there are items. */
static em_status refill(em_pq *p, em_errinfo *err)
{
	const uint64_t n = p->n < p->plan.front ? p->n : p->plan.front;
	const size_t most = (size_t)n * p->items.bytes;
	em_status st = emi_object_check(&p->object, err);

	emi_pq_sort_end(&p->in.sorting);
	if (st == EM_OK)
		st = emi_pq_insertion_sort(&p->in, 0, err);
	if (st == EM_OK)
		st = need_front(p, most, err);
	if (st != EM_OK)
		return st;
	p->front = p->front_end = p->front_buf;
	if (emi_pq_sequences_none(&p->sequences) && p->in.runs == 1)
		refill_from_run(p, &p->in.run[0], most);
	else
		st = refill_by_merging(p, most, err);
	if (st != EM_OK)
		return st;
	set_limit(p, p->front_end - p->items.bytes);
	p->refills++;
	return EM_OK;
}

em_status emi_pq_bring(em_pq *p, em_errinfo *err)
{
	return p->front != p->front_end || p->early.n != 0 ? EM_OK : refill(p, err);
}

/* Have the first item of one or more, and know where.  A comparison that failed is told here, before anything is taken
 * out by it. */
static em_status find_first(em_pq *p, int *early, em_errinfo *err)
{
	const em_status st = emi_pq_bring(p, err);

	*early = emi_pq_early_is_first(p);
	return st == EM_OK && p->items.functions ? emi_pq_items_check(&p->items, err) : st;
}

/* The first item is that of the early heap: copy its record, or take it out. */
static void early_record(em_pq *p, char *record, int take)
{
	/* An item that is a record needs no other form; others have 16 bytes at most. */
	uint64_t other[2];
	char *item = p->items.form == EMI_PQ_AS_IS ? record : (char *)other;

	if (take)
		emi_pq_early_pop(&p->early, item);
	else
		emi_pq_early_top(&p->early, item);
	if (item != record)
		emi_pq_store_one(&p->items, item, record);
}

em_status emi_pq_top(em_pq *p, char *record, em_errinfo *err)
{
	int early;
	const em_status st = find_first(p, &early, err);

	if (st != EM_OK)
		return st;
	if (early)
		early_record(p, record, 0);
	else
		emi_pq_store_one(&p->items, p->front, record);
	return EM_OK;
}

static void take_first(em_pq *p, int early, char *record)
{
	if (early) {
		early_record(p, record, 1);
	} else {
		emi_pq_store_one(&p->items, p->front, record);
		p->front += p->items.bytes;
	}
	emi_pq_left(p, 1);
}

em_status emi_pq_pop_slowly(em_pq *p, char *record, em_errinfo *err)
{
	int early;
	const em_status st = find_first(p, &early, err);

	if (st == EM_OK)
		take_first(p, early, record);
	return st;
}

static int is_within(const em_pq *p, const emi_pair *item, const emi_pair *bound, int inclusive)
{
	const int c = emi_pair_compare(&p->items.by.tie, item, bound);

	return inclusive ? c <= 0 : c < 0;
}

/* How many of the first n items of the deletion buffer are up to the bound?  Who asks often asks for few: the search
 * goes on by steps that double, and then halves the last of them. */
static uint64_t count_within(const em_pq *p, uint64_t n, const emi_pair *bound, int inclusive)
{
	uint64_t low = 0, high = 1;

	while (high <= n) {
		const emi_pair item = emi_pq_pair(&p->items, p->front + (high - 1) * p->items.bytes);

		if (!is_within(p, &item, bound, inclusive))
			break;
		low = high;
		high = 2 * high;
	}
	high = high <= n ? high - 1 : n;
	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;
		const emi_pair item = emi_pq_pair(&p->items, p->front + mid * p->items.bytes);

		if (is_within(p, &item, bound, inclusive))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Take out up to n records, one or more; or none if there are none up to the bound. */
static em_status pop_some(em_pq *p, char *records, uint64_t n, const emi_pair *bound, int inclusive, uint64_t *done,
			  em_errinfo *err)
{
	uint64_t left;
	int early;
	em_status st = find_first(p, &early, err);

	*done = 0;
	if (st != EM_OK)
		return st;
	if (early) {
		if (bound != NULL && !is_within(p, &p->early.heap[0].pair, bound, inclusive))
			return EM_OK;
		*done = 1;
		take_first(p, early, records);
		return EM_OK;
	}
	left = front_left(p);
	left = n < left ? n : left;
	if (bound != NULL)
		left = count_within(p, left, bound, inclusive);
	/* Those that are not before the first of the early heap come later. */
	if (p->early.n != 0)
		left = count_within(p, left, &p->early.heap[0].pair, 1);
	if (p->items.functions)
		st = emi_pq_items_check(&p->items, err);
	if (st != EM_OK)
		return st;
	emi_pq_store(&p->items, p->front, (size_t)left, records);
	p->front += left * p->items.bytes;
	emi_pq_left(p, left);
	*done = left;
	return EM_OK;
}

static em_status pop(em_pq *p, char *records, uint64_t n, const emi_pair *bound, int inclusive, uint64_t *done,
		     em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t some = 1;

	for (*done = 0; *done < n && p->n != 0 && some != 0; *done += some) {
		st = pop_some(p, records + *done * p->items.record, n - *done, bound, inclusive, &some, err);
		if (st != EM_OK)
			break;
	}
	return st;
}

em_status emi_pq_pop(em_pq *p, char *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	return pop(p, records, n, NULL, 0, done, err);
}

em_status emi_pq_next(em_pq *p, int copied, em_errinfo *err)
{
	em_status st = emi_pq_bring(p, err);
	uint64_t n = p->plan.front;

	if (st != EM_OK)
		return st;
	emi_cursor_clear(&p->cursor);
	p->batch.ends = NULL;
	if (!copied && p->early.n == 0 && p->items.form == EMI_PQ_AS_IS) {
		n = front_left(p);
		p->batch.records = p->front;
		p->front = p->front_end;
		emi_pq_left(p, n);
	} else {
		if (p->lent == NULL)
			p->lent = emi_buffer_alloc(p->object.ctx, (size_t)p->plan.front * p->items.record, err);
		if (p->lent == NULL)
			return err->status;
		/* What is in memory: no more has to be read for it. */
		n = front_left(p) + p->early.n < n ? front_left(p) + p->early.n : n;
		st = pop(p, p->lent, n, NULL, 0, &n, err);
		p->batch.records = p->lent;
	}
	p->batch.n = (size_t)n;
	p->batch.bytes = p->batch.n * p->items.record;
	return n != 0 ? EM_OK : st;
}

em_status emi_pq_pop_until(em_pq *p, const char *bound, int inclusive, char *records, uint64_t n, uint64_t *done,
			   em_errinfo *err)
{
	const size_t bytes = p->items.bytes > p->items.record ? p->items.bytes : p->items.record;
	uint64_t small[SMALL / sizeof(uint64_t)];
	/* Aligned, and there whatever happens to other memory. */
	char *item = bytes <= sizeof small ? (char *)small : emi_piece_alloc(p->object.ctx, bytes, err);
	emi_pair pair;
	em_status st;

	if (item == NULL)
		return err->status;
	emi_pq_load_one(&p->items, bound, item);
	pair = emi_pq_bound(&p->items, item, inclusive);
	st = emi_pq_items_check(&p->items, err);
	if (st == EM_OK)
		st = pop(p, records, n, &pair, inclusive, done, err);
	if (item != (char *)small)
		emi_piece_free(p->object.ctx, item, bytes);
	return st;
}

/* Have the first item in memory, and room for another one wherever it belongs. */
static em_status be_ready(em_pq *p, int *early, em_errinfo *err)
{
	em_status st = EM_OK;

	if (p->early.n == p->early.most)
		st = return_early(p, err);
	if (st == EM_OK)
		st = find_first(p, early, err);
	if (st == EM_OK)
		st = emi_pq_early_reserve(&p->early, err);
	return st == EM_OK ? need_room(p, 1, err) : st;
}

em_status emi_pq_exchange(em_pq *p, const char *pushed, char *popped, int with_it, em_errinfo *err)
{
	emi_pair mine, least;
	char *item;
	int early;
	em_status st;

	if (p->n == 0) {
		memmove(popped, pushed, p->items.record);
		return EM_OK;
	}
	st = be_ready(p, &early, err);
	if (st != EM_OK)
		return st;
	/* From here on the record that is pushed may be overwritten. */
	item = p->in.at;
	emi_pq_load_one(&p->items, pushed, item);
	mine = emi_pq_pair(&p->items, item);
	least = early ? p->early.heap[0].pair : emi_pq_pair(&p->items, p->front);
	with_it = with_it && emi_pair_compare(&p->items.by.tie, &mine, &least) < 0;
	st = emi_pq_items_check(&p->items, err);
	if (st != EM_OK)
		return st;
	if (with_it) {
		memmove(popped, pushed, p->items.record);
		return EM_OK;
	}
	/* It counts before the other one leaves, as it lies in a queue that is not empty. */
	p->n++;
	take_first(p, early, popped);
	if (emi_pq_is_early(p, item))
		emi_pq_early_push(&p->early, item);
	else
		p->in.at += p->items.bytes;
	return EM_OK;
}
