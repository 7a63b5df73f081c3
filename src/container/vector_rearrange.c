/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_rearrange.c -- reversing and partitioning a range of a vector in place; see extmem/vector_scan.h.
 *
 * Both work from either end at once.  A section of each is read into memory, and written when it is done; its blocks
 * are in the cache meanwhile, unless they had to go.
 */
#include <string.h>

#include "base/memory.h"
#include "container/vector_algorithm.h"

#define SECTION_MOST ((uint64_t)2 << 20)

em_status emi_vector_section_open(emi_vector_section *s, const emi_vector *v, em_errinfo *err)
{
	const uint64_t record = v->layout.record,
		       share = emi_cache_frames(v->cache) * (uint64_t)v->layout.block_bytes / 2;
	const uint64_t most = share < SECTION_MOST ? share : SECTION_MOST;

	s->half = most / record / 2;
	s->half += s->half == 0;
	s->bytes = (size_t)((2 * s->half * record + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE);
	s->room = emi_buffer_alloc(v->ctx, s->bytes, err);
	return s->room != NULL ? EM_OK : err->status;
}

void emi_vector_section_close(emi_vector_section *s, const emi_vector *v)
{
	emi_buffer_free(v->ctx, s->room, s->bytes);
	memset(s, 0, sizeof *s);
}

static void exchange(char *a, char *b, size_t bytes)
{
	char part[64];

	for (; bytes != 0 && a != b;) {
		const size_t n = bytes < sizeof part ? bytes : sizeof part;

		memcpy(part, a, n);
		memcpy(a, b, n);
		memcpy(b, part, n);
		a += n;
		b += n;
		bytes -= n;
	}
}

static void turn_round(char *records, uint64_t n, size_t record)
{
	char *a = records, *b = records + (size_t)n * record;

	for (n /= 2; n != 0; n--, a += record) {
		b -= record;
		exchange(a, b, record);
	}
}

static em_status reverse(emi_vector *v, uint64_t from, uint64_t n, emi_vector_section *s, em_errinfo *err)
{
	const size_t record = (size_t)v->layout.record;
	char *first = s->room, *second = s->room + (size_t)s->half * record;
	em_status st = EM_OK;
	uint64_t done;

	while (n > 1 && st == EM_OK) {
		const uint64_t some = n / 2 < s->half ? n / 2 : s->half, last = from + n - some;

		st = emi_vector_read(v, from, first, some, err);
		if (st == EM_OK)
			st = emi_vector_read(v, last, second, some, err);
		if (st != EM_OK)
			break;
		turn_round(first, some, record);
		turn_round(second, some, record);
		st = emi_vector_write(v, from, second, some, &done, err);
		if (st == EM_OK)
			st = emi_vector_write(v, last, first, some, &done, err);
		from += some;
		n -= 2 * some;
	}
	return st;
}

em_status em_vector_reverse(em_vector *v, uint64_t from, uint64_t n)
{
	emi_vector_section s;
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = emi_vector_change_range(v, from, &n, &err);
	if (st == EM_OK) {
		st = emi_vector_section_open(&s, &v->inner, &err);
		if (st == EM_OK)
			st = reverse(&v->inner, from, n, &s, &err);
		emi_vector_section_close(&s, &v->inner);
	}
	return emi_leave(v, st, &err);
}

/* A partition on its way: before [low, high) the test is true of all, behind it of none. */
typedef struct parting {
	emi_vector *v;
	emi_vector_section s;   /* its halves are for what is at low, and for what is before high */
	uint64_t have[2];       /* records in either; 0: there are none */
	uint64_t at[2];         /* those before at[0] are at their place, as are those from at[1] on */
	int changed[2];
	uint64_t low, high;
	em_vector_test_fn test;
	void *user;
} parting;

/* Where a section that was read stands. */
static uint64_t place_of(const parting *p, int end)
{
	return end == 0 ? p->low : p->high - p->have[1];
}

static char *record_at(const parting *p, int end, uint64_t i)
{
	return p->s.room + (size_t)(i + (end == 0 ? 0 : p->s.half)) * (size_t)p->v->layout.record;
}

static em_status load(parting *p, int end, uint64_t n, em_errinfo *err)
{
	em_status st;

	p->have[end] = n;
	p->at[end] = end == 0 ? 0 : n;
	p->changed[end] = 0;
	st = emi_vector_read(p->v, place_of(p, end), record_at(p, end, 0), n, err);
	if (st != EM_OK)
		p->have[end] = 0;
	return st;
}

/* Write a section back, if that is needed. */
static em_status store(parting *p, int end, em_errinfo *err)
{
	em_status st = EM_OK;
	uint64_t done;

	if (p->have[end] != 0 && p->changed[end])
		st = emi_vector_write(p->v, place_of(p, end), record_at(p, end, 0), p->have[end], &done, err);
	return st;
}

/* Exchange what is at the wrong end, until a section is done. */
static void part(parting *p)
{
	for (;;) {
		while (p->at[0] < p->have[0] && p->test(p->user, record_at(p, 0, p->at[0])))
			p->at[0]++;
		while (p->at[1] > 0 && !p->test(p->user, record_at(p, 1, p->at[1] - 1)))
			p->at[1]--;
		if (p->at[0] == p->have[0] || p->at[1] == 0)
			return;
		p->at[1]--;
		exchange(record_at(p, 0, p->at[0]), record_at(p, 1, p->at[1]), (size_t)p->v->layout.record);
		p->at[0]++;
		p->changed[0] = p->changed[1] = 1;
	}
}

/* The same of records that are all there. */
static void part_one(parting *p)
{
	uint64_t low = 0, high = p->have[0];

	while (low < high) {
		if (p->test(p->user, record_at(p, 0, low))) {
			low++;
		} else if (!p->test(p->user, record_at(p, 0, high - 1))) {
			high--;
		} else {
			exchange(record_at(p, 0, low++), record_at(p, 0, --high), (size_t)p->v->layout.record);
			p->changed[0] = 1;
		}
	}
	p->at[0] = low;
}

/* As long as there are two halves' records. */
static em_status run(parting *p, em_errinfo *err)
{
	const uint64_t half = p->s.half;
	em_status st = EM_OK;

	while (st == EM_OK && p->high - p->low >= 2 * half) {
		if (p->have[0] == 0)
			st = load(p, 0, half, err);
		if (st == EM_OK && p->have[1] == 0)
			st = load(p, 1, half, err);
		if (st != EM_OK)
			break;
		part(p);
		if (p->at[0] == half) {
			st = store(p, 0, err);
			p->low += half;
			p->have[0] = 0;
		}
		if (st == EM_OK && p->at[1] == 0) {
			st = store(p, 1, err);
			p->high -= half;
			p->have[1] = 0;
		}
	}
	return st;
}

em_status emi_vector_partition(emi_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test, void *user,
			       uint64_t *middle, em_errinfo *err)
{
	parting p;
	em_status st;

	memset(&p, 0, sizeof p);
	p.v = v;
	p.low = from;
	p.high = from + n;
	p.test = test;
	p.user = user;
	st = emi_vector_section_open(&p.s, v, err);
	if (st == EM_OK)
		st = run(&p, err);
	/* What is left has room in the section, when those halves that were begun are back. */
	if (st == EM_OK)
		st = store(&p, 0, err);
	if (st == EM_OK)
		st = store(&p, 1, err);
	p.have[0] = p.have[1] = 0;
	if (st == EM_OK && p.high != p.low) {
		st = load(&p, 0, p.high - p.low, err);
		if (st == EM_OK)
			part_one(&p);
		if (st == EM_OK)
			st = store(&p, 0, err);
	}
	if (st == EM_OK)
		*middle = p.low + p.at[0] * (p.high != p.low);
	emi_vector_section_close(&p.s, v);
	return st;
}

em_status em_vector_partition(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test, void *user,
			      uint64_t *middle)
{
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = test != NULL ? emi_given(middle, "middle", &err) : emi_given(NULL, "test", &err);
	if (st == EM_OK)
		st = emi_vector_change_range(v, from, &n, &err);
	if (st == EM_OK)
		st = emi_vector_partition(&v->inner, from, n, test, user, middle, &err);
	return emi_leave(v, st, &err);
}
