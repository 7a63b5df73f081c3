/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_select.c -- what is found by an order in ranges of vectors: the k-th record, a place, a disorder; see
 * extmem/vector_scan.h.
 *
 * The k-th record.  Of a sample of s records two are taken whose ranks in it are those of k, less and more one and a
 * half standard deviations of it.  First the range is partitioned by that one of which less is left then, and that part
 * by the other.  What is between is sorted, or, in the few cases in which the k-th is not there, what is on its side.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "container/vector_algorithm.h"
#include "key/order.h"

#define SORT_AT_ONCE ((uint64_t)1 << 20) /* bytes of a range */
#define SAMPLE_MOST 1024u
#define SAMPLE_LEAST 16u

/* An order, and whether a function of it has failed. */
typedef struct judge {
	const em_order *order;
	int failed;
} judge;

static int compare(judge *j, const void *a, const void *b)
{
	return emi_order_compare(j->order, a, b, &j->failed);
}

/* What came of it is worth nothing when a function has failed. */
static em_status heard(const judge *j, em_status st, em_errinfo *err)
{
	return st != EM_OK || !j->failed ? st : emi_fail(err, EM_ERR_USER, "a function of the order failed");
}

/* A test: is a record before another one, or not behind it? */
typedef struct bound {
	judge *by;
	const char *record;
	int equal;              /* also what is equal */
} bound;

static int is_before(void *user, const void *record)
{
	const bound *b = user;
	const int c = compare(b->by, record, b->record);

	return c < 0 || (c == 0 && b->equal);
}

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Positions of the sample, of records of no more than an eighth of the blocks. */
static void choose(const emi_vector *v, uint64_t from, uint64_t n, uint32_t s, uint64_t *position)
{
	const uint64_t per_block = v->layout.payload / v->layout.record + 1, blocks = n / per_block + 1;
	const uint64_t most = blocks / 8 + 1;
	uint64_t seed = n, place[SAMPLE_MOST];
	uint32_t k;

	for (k = 0; k < s; k++) {
		place[k] = k < most ? draw(&seed) % blocks : place[k % most];
		position[k] = from + (place[k] * per_block + draw(&seed) % per_block) % n;
	}
}

static uint32_t root(uint32_t x)
{
	uint32_t r = 0;

	while ((r + 1) * (r + 1) <= x)
		r++;
	return r;
}

/* Sorted, s of them. */
static void sort_sample(judge *by, char *sample, uint32_t s, size_t record, char *one)
{
	uint32_t gap, i, j;

	for (gap = s / 2; gap != 0; gap = gap == 2 ? 1 : gap * 5 / 11)
		for (i = gap; i < s; i++) {
			memcpy(one, sample + i * record, record);
			for (j = i; j >= gap && compare(by, sample + (j - gap) * record, one) > 0; j -= gap)
				memcpy(sample + j * record, sample + (j - gap) * record, record);
			memcpy(sample + j * record, one, record);
		}
}

/* The part in which the k-th is has become shorter: [*from, *from + *n), and *k in it. */
static em_status cut(emi_vector *v, uint64_t *from, uint64_t *n, uint64_t *k, bound *b, int *after, em_errinfo *err)
{
	uint64_t middle = 0;
	const em_status st = heard(b->by, emi_vector_partition(v, *from, *n, is_before, b, &middle, err), err);

	if (st != EM_OK)
		return st;
	middle -= *from;
	*after = *k >= middle;
	if (*after) {
		*from += middle;
		*n -= middle;
		*k -= middle;
	} else {
		*n = middle;
	}
	return EM_OK;
}

/* Cut by two records of the sample: 1 when all that is left is equal. */
static em_status cut_twice(emi_vector *v, uint64_t *from, uint64_t *n, uint64_t *k, judge *by, const char *sample,
			   uint32_t s, int *equal, em_errinfo *err)
{
	const size_t record = (size_t)v->layout.record;
	const uint32_t rank = (uint32_t)((double)*k / (double)*n * s), d = root(s) * 3 / 4 + 1;
	const uint32_t low = rank > d ? rank - d : 0, high = rank + d < s ? rank + d : s - 1;
	bound below = { by, sample + low * record, 0 }, upto = { by, sample + high * record, 1 };
	const int upper_first = *k < *n / 2;
	bound *b = upper_first ? &upto : &below;
	const int wanted = !upper_first;
	int turn, after;

	*equal = 0;
	for (turn = 0; turn < 2; turn++) {
		const em_status st = cut(v, from, n, k, b, &after, err);

		if (st != EM_OK)
			return st;
		/* It is not between the two: there is no use in the other. */
		if (after != (turn == 0 ? wanted : !wanted))
			return EM_OK;
		b = b == &upto ? &below : &upto;
	}
	*equal = compare(by, below.record, upto.record) == 0;
	return EM_OK;
}

static em_status nth(emi_vector *v, uint64_t from, uint64_t n, uint64_t k, const em_order *order, em_errinfo *err)
{
	const size_t record = (size_t)v->layout.record;
	const uint64_t share = SAMPLE_MOST * record < SORT_AT_ONCE ? SAMPLE_MOST : SORT_AT_ONCE / record;
	const uint32_t s = share > SAMPLE_LEAST ? (uint32_t)share : SAMPLE_LEAST;
	const size_t bytes = ((s + 1) * record + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	judge by = { order, 0 };
	uint64_t position[SAMPLE_MOST], left;
	int equal = 0;
	char *sample;
	em_status st;

	if (n * record <= SORT_AT_ONCE)
		return emi_vector_sort(v, from, n, order, NULL, &left, err);
	sample = emi_buffer_alloc(v->ctx, bytes, err);
	if (sample == NULL)
		return err->status;
	choose(v, from, n, s, position);
	st = emi_vector_read_many(v, position, s, sample, err);
	if (st == EM_OK) {
		sort_sample(&by, sample, s, record, sample + s * record);
		st = cut_twice(v, &from, &n, &k, &by, sample, s, &equal, err);
	}
	emi_buffer_free(v->ctx, sample, bytes);
	if (st == EM_OK && !equal)
		st = emi_vector_sort(v, from, n, order, NULL, &left, err);
	return st;
}

em_status em_vector_nth_element(em_vector *v, uint64_t from, uint64_t n, uint64_t k, const em_order *order)
{
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = emi_vector_order(v, order, &err);
	if (st == EM_OK)
		st = emi_vector_change_range(v, from, &n, &err);
	if (st == EM_OK && k >= n)
		st = emi_fail(&err, EM_ERR_RANGE, "there is no record %" PRIu64 " among %" PRIu64, k, n);
	if (st == EM_OK)
		st = nth(&v->inner, from, n, k, order, &err);
	return emi_leave(v, st, &err);
}

static em_status lower_bound(emi_vector *v, uint64_t from, uint64_t n, const em_order *order, const void *record,
			     uint64_t *position, em_errinfo *err)
{
	char *one = emi_alloc(v->ctx, (size_t)v->layout.record, err);
	uint64_t low = from, high = from + n;
	judge by = { order, 0 };
	em_status st = one != NULL ? EM_OK : err->status;
	int found = 0;

	while (st == EM_OK && low < high) {
		const uint64_t middle = low + (high - low) / 2;

		st = emi_vector_read(v, middle, one, 1, err);
		if (st == EM_OK) {
			const int c = compare(&by, one, record);

			if (c < 0)
				low = middle + 1;
			else
				high = middle;
			found |= c == 0;
		}
	}
	emi_free(v->ctx, one, (size_t)v->layout.record);
	st = heard(&by, st, err);
	if (st != EM_OK)
		return st;
	*position = low;
	return found ? EM_OK : EM_NOT_FOUND;
}

em_status em_vector_lower_bound(em_vector *v, uint64_t from, uint64_t n, const em_order *order, const void *record,
				uint64_t *position)
{
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = emi_vector_order(v, order, &err);
	if (st == EM_OK)
		st = record != NULL ? emi_given(position, "position", &err) : emi_given(NULL, "record", &err);
	if (st == EM_OK)
		st = emi_vector_range(v, from, &n, &err);
	if (st == EM_OK)
		st = lower_bound(&v->inner, from, n, order, record, position, &err);
	return emi_leave(v, st, &err);
}

/* A walk that compares neighbours. */
typedef struct check {
	judge by;
	size_t record;
	char *last;             /* of the records before, the last one */
	int any;                /* there was one */
	uint64_t found;
} check;

static em_status compare_all(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	check *c = arg;
	const char *before = c->last;
	uint64_t k;

	for (k = 0; k < n; k++, records += c->record) {
		if ((k != 0 || c->any) && compare(&c->by, before, records) > 0) {
			c->found = i + k;
			return EM_END;
		}
		before = records;
	}
	c->any = 1;
	memcpy(c->last, before, c->record);
	return heard(&c->by, EM_OK, err);
}

em_status em_vector_find_disorder(em_vector *v, uint64_t from, uint64_t n, const em_order *order, uint64_t *position)
{
	check c = { { order, 0 }, 0, NULL, 0, UINT64_MAX };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	c.record = (size_t)v->inner.layout.record;
	st = emi_vector_order(v, order, &err);
	if (st == EM_OK)
		st = emi_given(position, "position", &err);
	if (st == EM_OK)
		st = emi_vector_range(v, from, &n, &err);
	if (st == EM_OK) {
		c.last = emi_alloc(v->object.ctx, c.record, &err);
		st = c.last != NULL ? emi_vector_visit(&v->inner, from, n, compare_all, &c, &err) : err.status;
		emi_free(v->object.ctx, c.last, c.record);
	}
	st = heard(&c.by, st, &err);
	if (st == EM_OK) {
		*position = c.found != UINT64_MAX ? c.found : from + n;
		st = c.found != UINT64_MAX ? EM_OK : EM_NOT_FOUND;
	}
	return emi_leave(v, st, &err);
}
