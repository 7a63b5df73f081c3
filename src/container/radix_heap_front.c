/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap_front.c -- see radix_heap_front.h. */
#include "container/radix_heap_front.h"

#include <string.h>

#include "base/copy.h"
#include "base/pieces.h"

#define HEAP_MOST 256u          /* a heap that is larger is merged into what is sorted; ... */
#define HEAP_ALONE 16u          /* ... if nothing is sorted, this one */
#define PLACES_MOST 4096u       /* of a scatter: with 2 bytes for each all counts are in the first cache */
#define INSERTED_MOST 24u       /* more pairs in one place are scattered again, or sorted as a heap */
#define SCATTERS_MOST 2         /* one within the other */

void emi_radix_front_init(emi_radix_front *f, em_ctx *ctx, size_t record, uint32_t most)
{
	memset(f, 0, sizeof *f);
	f->ctx = ctx;
	f->record = record;
	f->most = most;
	f->free_slot = EMI_RADIX_NO_SLOT;
}

static void drop_pairs(emi_radix_front *f, emi_radix_pairs *p)
{
	emi_piece_free(f->ctx, p->at, p->bytes);
	p->at = NULL;
	p->bytes = 0;
}

void emi_radix_front_drop(emi_radix_front *f)
{
	drop_pairs(f, &f->in_order);
	drop_pairs(f, &f->latest);
	drop_pairs(f, &f->spare);
	emi_piece_free(f->ctx, f->slot, f->slot_bytes);
	f->slot = NULL;
	f->slot_bytes = 0;
	f->sorted = f->late = f->heap = f->slots = 0;
	f->free_slot = EMI_RADIX_NO_SLOT;
}

static size_t piece_of(uint64_t n, size_t bytes)
{
	const size_t least = (size_t)n * bytes;

	return emi_piece_bytes(least < EMI_PIECE_FIRST ? EMI_PIECE_FIRST : least);
}

uint64_t emi_radix_front_memory(size_t record, uint64_t most)
{
	const uint64_t pairs = piece_of(most, sizeof(emi_radix_pair));
	const uint64_t slots = record > EMI_RADIX_IN_PAIR ? piece_of(most, record) : 0;

	/* A piece that grows is there twice, the second time with half the size. */
	return 3 * pairs + slots + (slots > pairs ? slots : pairs) / 2;
}

/* Have room for n pairs, of which `used' are to stay. */
static em_status widen(emi_radix_front *f, emi_radix_pairs *p, uint32_t used, uint32_t n, em_errinfo *err)
{
	void *at = p->at;
	em_status st;

	if (n <= p->bytes / sizeof *p->at)
		return EM_OK;
	st = emi_piece_grow(f->ctx, &at, &p->bytes, used * sizeof *p->at, piece_of(n, sizeof *p->at), err);
	p->at = at;
	return st;
}

em_status emi_radix_front_reserve(emi_radix_front *f, uint32_t n, em_errinfo *err)
{
	const uint32_t all = emi_radix_front_count(f) + n;
	em_status st = widen(f, &f->latest, f->late, f->late + n, err);
	void *at = f->slot;

	if (st != EM_OK || f->record <= EMI_RADIX_IN_PAIR || all <= f->slot_bytes / f->record)
		return st;
	st = emi_piece_grow(f->ctx, &at, &f->slot_bytes, f->slots * f->record, piece_of(all, f->record), err);
	f->slot = at;
	return st;
}

const char *emi_radix_front_record(const emi_radix_front *f, const emi_radix_pair *p)
{
	return f->record <= EMI_RADIX_IN_PAIR ? (const char *)&p->val : f->slot + p->val * f->record;
}

static void free_slot_of(emi_radix_front *f, const emi_radix_pair *p)
{
	if (f->record <= EMI_RADIX_IN_PAIR)
		return;
	memcpy(f->slot + p->val * f->record, &f->free_slot, sizeof f->free_slot);
	f->free_slot = (uint32_t)p->val;
}

/* The heap of late pairs, the least first. */

static void sift_up(emi_radix_pair *a, uint32_t i)
{
	const emi_radix_pair p = a[i];

	while (i != 0 && p.key < a[(i - 1) / 2].key) {
		a[i] = a[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	a[i] = p;
}

/* Pair p has its place in a heap of n, of which the top is free. */
static void sift_down(emi_radix_pair *a, uint32_t n, emi_radix_pair p)
{
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < n; i = child) {
		child += child + 1 < n && a[child + 1].key < a[child].key;
		if (p.key <= a[child].key)
			break;
		a[i] = a[child];
	}
	a[i] = p;
}

/* Sorting, the largest key first. */

static void insert_all(emi_radix_pair *a, size_t n)
{
	size_t i, k;

	for (i = 1; i < n; i++) {
		const emi_radix_pair p = a[i];

		for (k = i; k != 0 && a[k - 1].key < p.key; k--)
			a[k] = a[k - 1];
		a[k] = p;
	}
}

static void sort_as_heap(emi_radix_pair *a, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n; i++)
		sift_up(a, i);
	while (n > 1) {
		const emi_radix_pair last = a[--n];

		a[n] = a[0];
		sift_down(a, n, last);
	}
}

/* Sort n pairs into `to', by which `from' is overwritten.  depth: scatters around this one. */
static void sort_into(emi_radix_pair *from, emi_radix_pair *to, uint32_t n, int depth)
{
	uint64_t least = UINT64_MAX, most = 0, span;
	uint16_t end[PLACES_MOST];
	uint32_t i, places = 1, sum = 0, large = 0;
	unsigned shift = 0;

	for (i = 0; i < n; i++) {
		least = from[i].key < least ? from[i].key : least;
		most = from[i].key > most ? from[i].key : most;
	}
	while (places < n && places < PLACES_MOST)
		places *= 2;
	for (span = most - least; span >> shift >= places;)
		shift++;
	memset(end, 0, places * sizeof *end);
	for (i = 0; i < n; i++)
		end[(most - from[i].key) >> shift]++;
	for (i = 0; i < places; i++) {
		const uint16_t here = end[i];

		large |= here > INSERTED_MOST;
		end[i] = (uint16_t)sum;
		sum += here;
	}
	for (i = 0; i < n; i++)
		to[end[(most - from[i].key) >> shift]++] = from[i];
	/* If the place is the key, all is done. */
	for (i = 0; large && shift != 0 && i < places; i++) {
		const uint32_t first = i != 0 ? end[i - 1] : 0, here = end[i] - first;

		if (here <= INSERTED_MOST)
			continue;
		if (depth + 1 < SCATTERS_MOST) {
			sort_into(to + first, from + first, here, depth + 1);
			memcpy(to + first, from + first, here * sizeof *to);
		} else {
			sort_as_heap(to + first, here);
		}
	}
	if (shift != 0)
		insert_all(to, n);
}

/* Merge what is late and was sorted into f->spare with what is in order, where there is room for both.  The smallest
 * keys are at the end, so what is larger than all that is new stays where it is. */
static void merge_late(emi_radix_front *f)
{
	emi_radix_pair *a = f->in_order.at;
	const emi_radix_pair *b = f->spare.at;
	uint32_t i = f->sorted, k = f->late, to = f->sorted + f->late;

	while (k != 0) {
		if (i != 0 && a[i - 1].key < b[k - 1].key)
			a[--to] = a[--i];
		else
			a[--to] = b[--k];
	}
}

em_status emi_radix_front_sort(emi_radix_front *f, em_errinfo *err)
{
	const emi_radix_pairs before = f->in_order;
	em_status st;

	if (f->late == 0)
		return EM_OK;
	st = widen(f, &f->spare, 0, f->late, err);
	if (st == EM_OK && f->sorted != 0)
		st = widen(f, &f->in_order, f->sorted, emi_radix_front_count(f), err);
	if (st != EM_OK)
		return st;
	sort_into(f->latest.at, f->spare.at, f->late, 0);
	if (f->sorted != 0) {
		merge_late(f);
	} else {
		f->in_order = f->spare;
		f->spare = before;
	}
	f->ordered += f->late;
	f->sorted += f->late;
	f->late = f->heap = 0;
	return EM_OK;
}

/* What was appended gets its place: in the heap if those are few, else among what is sorted. */
static em_status settle(emi_radix_front *f, em_errinfo *err)
{
	if (f->late > (f->sorted != 0 ? HEAP_MOST : HEAP_ALONE))
		return emi_radix_front_sort(f, err);
	for (; f->heap < f->late; f->heap++)
		sift_up(f->latest.at, f->heap);
	return EM_OK;
}

/* Is the least one in the heap?  All that came late are there. */
static int late_is_first(const emi_radix_front *f)
{
	return f->sorted == 0 || (f->late != 0 && f->latest.at[0].key < f->in_order.at[f->sorted - 1].key);
}

em_status emi_radix_front_first(emi_radix_front *f, uint64_t *key, em_errinfo *err)
{
	const em_status st = f->heap != f->late ? settle(f, err) : EM_OK;

	if (st == EM_OK)
		*key = late_is_first(f) ? f->latest.at[0].key : f->in_order.at[f->sorted - 1].key;
	return st;
}

em_status emi_radix_front_least(emi_radix_front *f, uint64_t *key, char *record, int take, em_errinfo *err)
{
	em_status st = f->heap != f->late ? settle(f, err) : EM_OK;
	emi_radix_pair p;
	int late;

	if (st != EM_OK)
		return st;
	late = late_is_first(f);
	p = late ? f->latest.at[0] : f->in_order.at[f->sorted - 1];
	*key = p.key;
	if (f->record == EMI_RADIX_IN_PAIR)
		memcpy(record, &p.val, EMI_RADIX_IN_PAIR);
	else
		emi_copy(record, emi_radix_front_record(f, &p), f->record);
	if (!take)
		return EM_OK;
	free_slot_of(f, &p);
	if (!late) {
		f->sorted--;
	} else {
		f->heap = --f->late;
		sift_down(f->latest.at, f->late, f->latest.at[f->late]);
	}
	return EM_OK;
}

void emi_radix_front_cut(emi_radix_front *f, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		free_slot_of(f, &f->in_order.at[i]);
	f->sorted -= n;
	memmove(f->in_order.at, f->in_order.at + n, f->sorted * sizeof *f->in_order.at);
}
