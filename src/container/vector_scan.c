/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_scan.c -- algorithms that pass through a range from its beginning to its end; see extmem/vector_scan.h.
 *
 * What changes a range in place is a writer that follows a reader: it writes a block when the reader is behind that.
 */
#include <inttypes.h>
#include <string.h>

#include "container/vector_algorithm.h"

em_status emi_vector_range(em_vector *v, uint64_t from, uint64_t *n, em_errinfo *err)
{
	if (*n == UINT64_MAX && from <= v->inner.n)
		*n = v->inner.n - from;
	return emi_vector_check(v, from, *n, err);
}

/* EM_ERR_STATE: a record is pinned in a block of the range. */
static em_status check_pins(const em_vector *v, uint64_t from, uint64_t n, em_errinfo *err)
{
	const emi_vector *in = &v->inner;
	emi_span span;

	if (in->pinned == 0 || n == 0)
		return EM_OK;
	span.at = emi_vector_bid(in, emi_vector_place_of(&in->layout, from * in->layout.record).block);
	span.bytes = emi_vector_bid(in, emi_vector_place_of(&in->layout, (from + n) * in->layout.record - 1).block + 1)
			     .offset -
		     span.at.offset;
	if (!emi_store_pins(in->store, &span))
		return EM_OK;
	return emi_fail(err, EM_ERR_STATE, "a record is pinned in a block of the range");
}

em_status emi_vector_change_range(em_vector *v, uint64_t from, uint64_t *n, em_errinfo *err)
{
	em_status st = emi_vector_may_push(v, err);

	if (st == EM_OK)
		st = emi_vector_range(v, from, n, err);
	return st == EM_OK ? check_pins(v, from, *n, err) : st;
}

em_status emi_vector_grow_range(em_vector *v, uint64_t from, uint64_t n, em_errinfo *err)
{
	em_status st = emi_vector_may_push(v, err);
	uint64_t bytes;

	if (st == EM_OK)
		st = emi_vector_check(v, from, 0, err);
	if (st == EM_OK && n > UINT64_MAX - from)
		st = emi_fail(err, EM_ERR_RANGE, "%" PRIu64 " records from %" PRIu64 " on", n, from);
	if (st == EM_OK)
		st = emi_vector_bytes(&v->inner.layout, from + n, &bytes, err);
	return st == EM_OK ? check_pins(v, from, n, err) : st;
}

em_status emi_vector_pass(emi_vector_reader *r, uint64_t i, emi_vector_visit_fn fn, void *arg, em_errinfo *err)
{
	const char *records;
	uint64_t n;
	em_status st;

	while ((st = emi_vector_reader_next(r, &records, &n, err)) == EM_OK) {
		st = fn(arg, i, records, n, err);
		if (st != EM_OK)
			break;
		i += n;
	}
	return st == EM_END ? EM_OK : st;
}

em_status emi_vector_visit(emi_vector *v, uint64_t from, uint64_t n, emi_vector_visit_fn fn, void *arg, em_errinfo *err)
{
	emi_vector_reader r;
	em_status st;

	memset(&r, 0, sizeof r);
	st = emi_vector_reader_open(&r, v, from, n, 0, 0, err);
	if (st == EM_OK) {
		st = emi_vector_pass(&r, from, fn, arg, err);
		emi_vector_reader_close(&r);
	}
	return st;
}

#define NO_WRITER { { NULL, NULL, NULL }, NULL, { 0, 0, NULL, NULL, NULL }, 0, 0, 0, 0, 0, 0, 0, EM_ERRINFO_INIT }

/* What a function of the caller's is called with. */
typedef struct call {
	const emi_vector *v;
	em_vector_visit_fn visit;
	em_vector_change_fn change;
	em_vector_test_fn test;
	void *user;
	uint64_t found;         /* a position, or how many */
	emi_vector_writer w;
} call;

static em_status visit(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	call *c = arg;

	return emi_returned(c->visit(c->user, i, records, n), err);
}

em_status em_vector_for_each(em_vector *v, uint64_t from, uint64_t n, em_vector_visit_fn fn, void *user)
{
	call c = { NULL, fn, NULL, NULL, user, 0, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = fn != NULL ? emi_vector_range(v, from, &n, &err) : emi_given(NULL, "fn", &err);
	if (st == EM_OK)
		st = emi_vector_visit(&v->inner, from, n, visit, &c, &err);
	return emi_leave(v, st, &err);
}

static em_status find(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	const size_t record = (size_t)((call *)arg)->v->layout.record;
	call *c = arg;

	(void)err;
	for (; n != 0; n--, i++, records += record)
		if (c->test(c->user, records)) {
			c->found = i;
			return EM_END;
		}
	return EM_OK;
}

em_status em_vector_find(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test, void *user,
			 uint64_t *position)
{
	call c = { NULL, NULL, NULL, test, user, UINT64_MAX, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	c.v = &v->inner;
	st = test != NULL ? emi_given(position, "position", &err) : emi_given(NULL, "test", &err);
	if (st == EM_OK)
		st = emi_vector_range(v, from, &n, &err);
	if (st == EM_OK)
		st = emi_vector_visit(&v->inner, from, n, find, &c, &err);
	if (st == EM_OK) {
		*position = c.found != UINT64_MAX ? c.found : from + n;
		st = c.found != UINT64_MAX ? EM_OK : EM_NOT_FOUND;
	}
	return emi_leave(v, st, &err);
}

static em_status count(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	const size_t record = (size_t)((call *)arg)->v->layout.record;
	call *c = arg;

	(void)i;
	(void)err;
	for (; n != 0; n--, records += record)
		c->found += c->test(c->user, records) != 0;
	return EM_OK;
}

em_status em_vector_count(em_vector *v, uint64_t from, uint64_t n, em_vector_test_fn test, void *user, uint64_t *result)
{
	call c = { NULL, NULL, NULL, test, user, 0, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	c.v = &v->inner;
	st = test != NULL ? emi_given(result, "count", &err) : emi_given(NULL, "test", &err);
	if (st == EM_OK)
		st = emi_vector_range(v, from, &n, &err);
	if (st == EM_OK)
		st = emi_vector_visit(&v->inner, from, n, count, &c, &err);
	if (st == EM_OK)
		*result = c.found;
	return emi_leave(v, st, &err);
}

/* Copy what was read into the writer's buffers, and change it there. */
static em_status change(void *arg, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	call *c = arg;
	const size_t record = (size_t)c->w.v->layout.record;

	while (n != 0) {
		uint64_t room;
		char *to;
		em_status st = emi_vector_writer_lend(&c->w, &to, &room, err);

		if (st != EM_OK)
			return st;
		if (room > n)
			room = n;
		if (records != NULL)
			memcpy(to, records, (size_t)room * record);
		if (c->change != NULL)
			st = emi_returned(c->change(c->user, i, to, room), err);
		if (st != EM_OK)
			return st;
		emi_vector_writer_took(&c->w, room);
		records = records != NULL ? records + (size_t)room * record : NULL;
		i += room;
		n -= room;
	}
	return EM_OK;
}

/* Write a range of `to', of what is read from another one, or, without v, of what a function makes. */
static em_status rewrite(emi_vector *to, uint64_t at, emi_vector *v, uint64_t from, uint64_t n, call *c,
			 em_errinfo *err)
{
	em_status st = emi_vector_writer_open(&c->w, to, at, n, 0, err);

	if (st != EM_OK)
		return st;
	if (v != NULL)
		st = emi_vector_visit(v, from, n, change, c, err);
	else
		st = change(c, at, NULL, n, err);
	if (st == EM_OK)
		st = emi_vector_writer_finish(&c->w, err);
	emi_vector_writer_close(&c->w);
	return st;
}

em_status emi_vector_copy(emi_vector *to, uint64_t at, emi_vector *v, uint64_t from, uint64_t n, em_errinfo *err)
{
	call c = { NULL, NULL, NULL, NULL, NULL, 0, NO_WRITER };

	return rewrite(to, at, v, from, n, &c, err);
}

em_status em_vector_mutate(em_vector *v, uint64_t from, uint64_t n, em_vector_change_fn fn, void *user)
{
	call c = { NULL, NULL, fn, NULL, user, 0, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	st = fn != NULL ? emi_vector_change_range(v, from, &n, &err) : emi_given(NULL, "fn", &err);
	if (st == EM_OK)
		st = rewrite(&v->inner, from, &v->inner, from, n, &c, &err);
	return emi_leave(v, st, &err);
}

static em_status make(em_vector *v, uint64_t from, uint64_t n, call *c, em_errinfo *err)
{
	const em_status st = emi_vector_grow_range(v, from, n, err);

	return st == EM_OK ? rewrite(&v->inner, from, NULL, 0, n, c, err) : st;
}

em_status em_vector_generate(em_vector *v, uint64_t from, uint64_t n, em_vector_change_fn fn, void *user)
{
	call c = { NULL, NULL, fn, NULL, user, 0, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st == EM_OK)
		st = emi_leave(v, fn != NULL ? make(v, from, n, &c, &err) : emi_given(NULL, "fn", &err), &err);
	return st;
}

/* One record, which is the user's, many times. */
typedef struct one {
	const void *record;
	size_t bytes;
} one;

static int put_one(void *user, uint64_t i, void *records, uint64_t n)
{
	const one *o = user;
	char *to = records;

	(void)i;
	for (; n != 0; n--, to += o->bytes)
		memcpy(to, o->record, o->bytes);
	return 0;
}

em_status em_vector_fill(em_vector *v, uint64_t from, uint64_t n, const void *record)
{
	one o = { record, 0 };
	call c = { NULL, NULL, put_one, NULL, &o, 0, NO_WRITER };
	em_errinfo err;
	em_status st = emi_enter(v, &err);

	if (st != EM_OK)
		return st;
	o.bytes = (size_t)v->inner.layout.record;
	st = emi_given(record, "record", &err);
	return emi_leave(v, st == EM_OK ? make(v, from, n, &c, &err) : st, &err);
}
