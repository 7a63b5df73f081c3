/* SPDX-License-Identifier: BSL-1.0 */
/* transform.c -- nodes whose function takes any number of records of each input, and makes any number. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "flow/stream.h"

typedef struct transform {
	em_stream s;
	em_transform_fn fn;     /* NULL: it is */
	em_flat_map_fn flat;
	void *user;
	em_transform_in *in;    /* one for each input */
} transform;

/* Have records of each input in hand.  *over: all are over. */
static em_status look(transform *t, int *over, em_errinfo *err)
{
	uint32_t i;

	*over = 1;
	for (i = 0; i < t->s.inputs; i++) {
		em_stream *in = t->s.input[i];
		const em_status st = emi_stream_need(in, err);

		if (st < EM_OK)
			return st;
		memset(&t->in[i], 0, sizeof t->in[i]);
		t->in[i].over = st == EM_END;
		if (st == EM_OK) {
			t->in[i].records = in->source.at;
			t->in[i].n = emi_stream_hand(in);
			*over = 0;
		}
	}
	return EM_OK;
}

static int call(transform *t, size_t *room)
{
	size_t n = t->in[0].n;
	int failed;

	if (t->fn != NULL)
		return t->fn(t->user, t->in, t->s.inputs, t->s.room, room);
	failed = t->flat(t->user, t->in[0].records, &n, t->s.room, room);
	t->in[0].taken = n;
	return failed;
}

/* *taken: in all. */
static em_status take(transform *t, size_t *taken, em_errinfo *err)
{
	uint32_t i;

	*taken = 0;
	for (i = 0; i < t->s.inputs; i++) {
		em_stream *in = t->s.input[i];

		if (t->in[i].taken > t->in[i].n)
			return emi_fail(err, EM_ERR_USER, "a function took %zu records of %zu", t->in[i].taken,
					t->in[i].n);
		if (t->in[i].taken != 0)
			in->source.at += t->in[i].taken * in->record;
		*taken += t->in[i].taken;
	}
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	transform *t = (transform *)(void *)s;
	em_status st = emi_stream_room(s, err);

	while (st == EM_OK) {
		size_t room = s->room_records, taken;
		int over, failed;

		st = look(t, &over, err);
		if (st != EM_OK)
			return st;
		failed = call(t, &room);
		if (failed != 0)
			return emi_stream_user_failed("transforms records", failed, err);
		if (room > s->room_records)
			return emi_fail(err, EM_ERR_USER, "a function wrote %zu records in room for %zu", room,
					s->room_records);
		st = take(t, &taken, err);
		if (st == EM_OK && (room != 0 || over))
			return emi_stream_show(s, room);
		if (st == EM_OK && taken == 0)
			return emi_fail(err, EM_ERR_USER, "a function neither took nor wrote a record");
	}
	return st;
}

static void retire(em_stream *s)
{
	transform *t = (transform *)(void *)s;

	if (t->in != NULL)
		emi_free_array(s->object.ctx, t->in, s->inputs, sizeof *t->in);
	t->in = NULL;
}

static em_status make(em_stream *const *inputs, uint32_t n, uint64_t record_bytes, em_transform_fn fn,
		      em_flat_map_fn flat, void *user, em_errinfo *err, em_stream **made)
{
	static const emi_stream_kind transforms = { next, retire, "transform", 0 };
	static const emi_stream_kind flat_maps = { next, retire, "flat-map", 0 };
	const emi_stream_kind *kind = flat != NULL ? &flat_maps : &transforms;
	em_status st = emi_given(inputs, "inputs", err);
	transform *t = NULL;

	if (st == EM_OK && n == 0)
		st = emi_fail(err, EM_ERR_INVAL, "there are no inputs");
	if (st == EM_OK && fn == NULL && flat == NULL)
		st = emi_fail(err, EM_ERR_INVAL, "fn is NULL");
	if (st != EM_OK)
		return st;
	t = (transform *)(void *)emi_stream_new(NULL, sizeof *t, kind, record_bytes, inputs, n, EM_STREAM_UNKNOWN,
						err);
	if (t == NULL)
		return err->status;
	t->fn = fn;
	t->flat = flat;
	t->user = user;
	t->in = emi_alloc_array(t->s.object.ctx, n, sizeof *t->in, err);
	if (t->in == NULL) {
		emi_stream_drop(&t->s);
		return err->status;
	}
	*made = &t->s;
	return EM_OK;
}

em_status em_stream_transform(em_stream **out, em_stream *const *inputs, uint32_t n, uint64_t record_bytes,
			      em_transform_fn fn, void *user, void (*user_free)(void *user), em_errinfo *theirs)
{
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, n, &err);

	if (st == EM_OK)
		st = make(inputs, n, record_bytes, fn, NULL, user, &err, &s);
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}

em_status em_stream_flat_map(em_stream **out, em_stream *in, uint64_t record_bytes, em_flat_map_fn fn, void *user,
			     void (*user_free)(void *user), em_errinfo *theirs)
{
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_one(out, in, &err);

	if (st == EM_OK)
		st = make(&in, 1, record_bytes, NULL, fn, user, &err, &s);
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}
