/* SPDX-License-Identifier: BSL-1.0 */
/* stream.c -- how nodes are made, pulled and closed; see stream.h. */
#include "flow/stream.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/graph.h"
#include "flow/paths.h"

/* Of the window that the kind made as much as may be lent at a time. */
static void open_window(em_stream *s)
{
	const size_t n = (size_t)(s->held - s->source.at) / s->record;

	s->source.end = s->held;
	if (s->most != 0 && n > s->most)
		s->source.end = s->source.at + s->most * s->record;
}

/* Does it tick?  See graph.h. */
static int ticks(const em_stream *s)
{
	return s->inputs == 0 || (s->kind->flags & (EMI_STREAM_BLOCKS | EMI_STREAM_THREAD)) != 0;
}

/* It is over: what it has is given back, and the next pull says the same. */
static em_status ended(em_stream *s, em_status st, em_errinfo *err)
{
	s->status = st;
	emi_stream_retire(s);
	if (st < EM_OK) {
		(void)emi_tell(&s->failure, st, err);
		*err = s->failure;
		(void)emi_keep(&s->object, st, err);
	}
	return st;
}

static em_status pull(emi_sorted_source *source, em_errinfo *err)
{
	em_stream *s = emi_stream_of(source);
	em_status st = s->status;
	uint64_t n;

	if (s->source.at != s->held) {
		open_window(s);
		return EM_OK;
	}
	if (st != EM_OK) {
		if (st < EM_OK)
			*err = s->failure;
		return st;
	}
	s->begun = 1;
	if (emi_ctx_canceled(s->object.ctx))
		return ended(s, emi_fail(err, EM_ERR_CANCELED, "canceled: the context was"), err);
	if (ticks(s) && (st = emi_graph_tick(s, err)) != EM_OK)
		return ended(s, st, err);
	/* What is below a stage with a thread of its own is pulled there. */
	__atomic_store_n(&s->mild, 0, __ATOMIC_RELAXED);
	st = s->kind->next(s, err);
	if (st < EM_OK && __atomic_load_n(&s->mild, __ATOMIC_RELAXED)) {
		/* All is as it was.  So it is for the node that asked, if it has nothing to lend. */
		s->source.at = s->source.end = s->held = NULL;
		if (s->owner != NULL)
			__atomic_store_n(&s->owner->mild, 1, __ATOMIC_RELAXED);
		return emi_keep(&s->object, st, err);
	}
	if (st != EM_OK) {
		s->source.at = s->source.end = NULL;
		s->held = NULL;
		return ended(s, st, err);
	}
	s->held = s->source.end;
	n = (size_t)(s->held - s->source.at) / s->record;
	s->lent += n;
	if (s->left != EM_STREAM_UNKNOWN)
		s->left -= n < s->left ? n : s->left;
	open_window(s);
	return EM_OK;
}

/* As a source of a merge it is closed by whoever owns it. */
static void close_source(emi_sorted_source *source)
{
	(void)source;
}

static const emi_sorted_ops ops = { pull, close_source };

static void free_room(em_stream *s)
{
	if (s->room != NULL)
		emi_buffer_free(s->object.ctx, s->room, s->room_records * s->record);
	s->room = NULL;
}

void emi_stream_retire(em_stream *s)
{
	uint32_t i;

	if (s->retired)
		return;
	s->retired = 1;
	if (s->kind->retire != NULL)
		s->kind->retire(s);
	free_room(s);
	s->source.at = s->source.end = s->held = NULL;
	if (s->status == EM_OK)
		s->status = EM_END;
	for (i = 0; i < s->inputs; i++)
		if (s->input[i]->owner == s)
			emi_stream_retire(s->input[i]);
}

static void release(void *stream)
{
	em_stream *s = stream;
	uint32_t i;

	emi_stream_retire(s);
	for (i = 0; i < s->inputs; i++) {
		s->input[i]->owner = NULL;
		emi_object_close(s->input[i]);
	}
	if (s->stem != NULL && --s->stem->users == 0)
		emi_object_close(s->stem);
	emi_user_free(&s->owned);
	emi_user_free(&s->watching);
	emi_user_free(&s->progress.user);
	emi_object_free(s, s->bytes);
}

em_status emi_stream_check_record(uint64_t record_bytes, em_errinfo *err)
{
	if (record_bytes != 0 && record_bytes <= EM_STREAM_RECORD_MAX)
		return EM_OK;
	return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes: they have 1 to %" PRIu64, record_bytes,
			EM_STREAM_RECORD_MAX);
}

em_status emi_stream_check_records(const void *records, uint64_t n, size_t record, em_errinfo *err)
{
	if (n > SIZE_MAX / record)
		return emi_fail(err, EM_ERR_INVAL,
				"%" PRIu64 " records of %zu bytes are more than memory can have", n, record);
	return n != 0 ? emi_given(records, "records", err) : EM_OK;
}

/* May it become an input?  It is in ctx, if that is not NULL. */
static em_status check_input(const emi_stream_kind *kind, em_stream *in, const em_ctx *ctx, uint32_t i,
			     em_errinfo *err)
{
	em_status st;

	if (in == NULL)
		return emi_fail(err, EM_ERR_INVAL, "input %" PRIu32 " is NULL", i);
	if (ctx != NULL && in->object.ctx != ctx)
		return emi_fail(err, EM_ERR_INVAL, "input %" PRIu32 " is of another context", i);
	st = emi_ctx_check(in->object.ctx, err);
	if (st == EM_OK && in->owner != NULL)
		st = emi_fail(err, EM_ERR_STATE, "input %" PRIu32 " is that of another node", i);
	if (st == EM_OK && (st = emi_enter_quickly(&in->object)) != EM_OK)
		return emi_fail(err, st, "input %" PRIu32 " is at work", i);
	if (st == EM_OK)
		emi_leave_quickly(&in->object);
	if (st == EM_OK && in->varied && (kind->flags & EMI_STREAM_VARIED) == 0)
		st = emi_fail(err, EM_ERR_NOTSUP, "input %" PRIu32 " has records of any length, which a %s cannot take",
			      i, kind->name);
	return st;
}

static em_status check_inputs(const emi_stream_kind *kind, em_stream *const *inputs, uint32_t n, const em_ctx *ctx,
			      em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i, k;

	for (i = 0; i < n && st == EM_OK; i++) {
		st = check_input(kind, inputs[i], ctx, i, err);
		for (k = 0; st == EM_OK && k < i; k++)
			if (inputs[k] == inputs[i])
				st = emi_fail(err, EM_ERR_INVAL,
					      "inputs %" PRIu32 " and %" PRIu32 " are the same stream", k, i);
		if (st == EM_OK)
			ctx = inputs[i]->object.ctx;
	}
	return st;
}

em_status emi_stream_begin(em_stream **out, em_errinfo *err)
{
	return emi_stream_begin_node(out, NULL, 0, err);
}

em_status emi_stream_begin_node(em_stream **out, em_stream *const *inputs, uint32_t n, em_errinfo *err)
{
	uint32_t i;

	emi_errinfo_clear(err);
	for (i = 0; out != NULL && inputs != NULL && i < n; i++)
		if (*out == inputs[i])
			return EM_OK;
	if (out != NULL)
		*out = NULL;
	return emi_given(out, "out", err);
}

em_status emi_stream_begin_one(em_stream **out, em_stream *in, em_errinfo *err)
{
	const em_status st = emi_stream_begin_node(out, &in, 1, err);

	return st == EM_OK ? emi_given(in, "in", err) : st;
}

em_status emi_stream_begin_by(em_stream **out, em_stream *in, int given, em_errinfo *err)
{
	const em_status st = emi_stream_begin_one(out, in, err);

	return st == EM_OK && !given ? emi_fail(err, EM_ERR_INVAL, "fn is NULL") : st;
}

em_stream *emi_stream_new(em_ctx *ctx, size_t bytes, const emi_stream_kind *kind, uint64_t record_bytes,
			  em_stream *const *inputs, uint32_t n, uint64_t count, em_errinfo *err)
{
	em_status st = n != 0 ? check_inputs(kind, inputs, n, ctx, err) : emi_given(ctx, "ctx", err);
	const size_t whole = (bytes + sizeof(em_stream *) - 1) / sizeof(em_stream *) * sizeof(em_stream *);
	em_stream *s = NULL;

	if (st == EM_OK)
		st = emi_stream_check_record(record_bytes, err);
	if (st == EM_OK && n > 1)
		st = emi_paths_check(kind, inputs, n, err);
	if (st == EM_OK && n > (SIZE_MAX - whole) / sizeof(em_stream *))
		st = emi_fail(err, EM_ERR_MEMLIMIT, "%" PRIu32 " inputs", n);
	if (st == EM_OK)
		s = emi_object_new(ctx != NULL ? ctx : inputs[0]->object.ctx, whole + n * sizeof(em_stream *), 0,
				   release, err);
	if (s == NULL)
		return NULL;
	s->bytes = whole + n * sizeof(em_stream *);
	s->input = (em_stream **)(void *)((char *)s + whole);
	s->inputs = n;
	if (n != 0)
		memcpy(s->input, inputs, n * sizeof(em_stream *));
	s->source.ops = &ops;
	s->kind = kind;
	s->record = (size_t)record_bytes;
	s->left = count;
	s->claim = EMI_STREAM_ROOM + s->record;
	emi_cursor_init(&s->cursor, (ptrdiff_t)s->record, NULL, s);
	return s;
}

void emi_stream_drop(em_stream *s)
{
	emi_object_free(s, s->bytes);
}

void emi_stream_vary(em_stream *s)
{
	s->varied = 1;
	emi_cursor_init(&s->cursor, 0, NULL, s);
}

void emi_stream_put_back(em_stream *in)
{
	const em_cursor *c = &in->cursor.c;

	if (c->cur == c->end && c->ends == c->last)
		return;
	/* Ends may be copies, of the last ones before `at'. */
	if (in->varied)
		in->source.at -= (size_t)(c->last - c->ends) * in->record;
	else
		in->source.at = c->cur;
	open_window(in);
	emi_cursor_clear(&in->cursor);
}

void emi_stream_made(em_stream *s, em_stream **out)
{
	uint32_t i;

	for (i = 0; i < s->inputs; i++) {
		emi_stream_put_back(s->input[i]);
		s->input[i]->owner = s;
	}
	*out = s;
}

em_status emi_stream_end(em_stream *s, em_stream **out, em_status st, em_errinfo *theirs, const em_errinfo *err)
{
	if (st == EM_OK && s == NULL)
		st = err->status;
	if (st == EM_OK)
		emi_stream_made(s, out);
	return emi_tell(theirs, st, err);
}

em_status emi_stream_end_user(em_stream *s, em_stream **out, em_status st, void *user, void (*user_free)(void *user),
			      em_errinfo *theirs, const em_errinfo *err)
{
	const emi_user u = { user, user_free };

	st = emi_stream_end(s, out, st, theirs, err);
	return emi_user_give(st == EM_OK ? &s->owned : NULL, &u, st);
}

em_status emi_stream_room(em_stream *s, em_errinfo *err)
{
	size_t n = s->most;

	if (s->room != NULL)
		return EM_OK;
	if (n == 0)
		n = s->record < EMI_STREAM_ROOM ? EMI_STREAM_ROOM / s->record : 1;
	s->room = emi_buffer_alloc(s->object.ctx, n * s->record, err);
	s->room_records = n;
	return s->room != NULL ? EM_OK : err->status;
}

em_status emi_stream_show(em_stream *s, size_t n)
{
	s->source.at = s->source.end = s->room;
	if (n == 0)
		return EM_END;
	s->source.end += n * s->record;
	return EM_OK;
}

uint64_t emi_stream_left(const em_stream *s)
{
	const em_cursor *c = &s->cursor.c;

	if (s->left == EM_STREAM_UNKNOWN)
		return s->left;
	return s->left + (size_t)(s->held - s->source.at) / s->record + (size_t)(c->end - c->cur) / s->record;
}

uint64_t emi_stream_left_bytes(const em_stream *s)
{
	const uint64_t n = s->varied ? EM_STREAM_UNKNOWN : emi_stream_left(s);

	return n < EM_STREAM_UNKNOWN / s->record ? n * s->record : EM_STREAM_UNKNOWN;
}

em_status emi_stream_user_failed(const char *does, int returned, em_errinfo *err)
{
	return emi_fail(err, EM_ERR_USER, "a function that %s returned %d", does, returned);
}

em_status emi_stream_user_status(em_status st, int ends, const char *what, em_errinfo *err)
{
	if (st == EM_OK || (ends && st == EM_END)) {
		emi_errinfo_clear(err);
		return st;
	}
	err->text[sizeof err->text - 1] = '\0';
	err->path[sizeof err->path - 1] = '\0';
	err->op[sizeof err->op - 1] = '\0';
	if (st > EM_OK) {
		emi_errinfo_clear(err);
		return emi_fail(err, EM_ERR_USER, "%s returned %" PRId32 ", which is no failure", what, st);
	}
	if (err->text[0] == '\0') {
		emi_errinfo_clear(err);
		return emi_fail(err, st, "%s: %s", what, em_status_text(st));
	}
	err->status = st;
	return st;
}

void emi_stream_is_sort(em_stream *s, uint64_t named)
{
	s->sorts = 1;
	s->named = named != 0;
	s->claim = named;
}
