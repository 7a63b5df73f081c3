/* SPDX-License-Identifier: BSL-1.0 */
/* own_stream.c -- streams whose records come from functions of the caller's, or lie in memory. */
#include <inttypes.h>

#include "base/error.h"
#include "base/structs.h"
#include "flow/stream.h"

typedef struct own_stream {
	em_stream s;
	em_stream_ops ops;
	void *user;
} own_stream;

static em_status own_next(em_stream *s, em_errinfo *err)
{
	own_stream *o = (own_stream *)(void *)s;
	em_batch batch = { NULL, 0, 0, NULL };
	em_status st;

	/* What he does not fill is not to be what was there. */
	emi_errinfo_clear(err);
	st = emi_stream_user_status(o->ops.next(o->user, &batch, err), 1, "a stream's own function", err);

	if (st != EM_OK)
		return st;
	if (batch.ends != NULL)
		return emi_fail(err, EM_ERR_NOTSUP, "a stream's own function lent records of any length");
	if (batch.n == 0 || batch.records == NULL || batch.n > SIZE_MAX / s->record)
		return emi_fail(err, EM_ERR_USER, "a stream's own function lent no records");
	s->source.at = batch.records;
	s->source.end = s->source.at + batch.n * s->record;
	return EM_OK;
}

static void own_retire(em_stream *s)
{
	own_stream *o = (own_stream *)(void *)s;

	if (o->ops.close != NULL)
		o->ops.close(o->user);
}

em_status em_stream_open(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count, const em_stream_ops *ops,
			 void *user, em_errinfo *theirs)
{
	static const emi_stream_kind kind = { own_next, own_retire, "stream", 0 };
	em_stream_ops o;
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin(out, &err);

	/* Whatever is wrong, user is freed. */
	(void)EMI_STRUCT_TAKE(em_stream_ops, &o, ops, NULL);
	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(ops, "ops", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_stream_ops, &o, ops, &err);
	if (st == EM_OK && o.next == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "ops->next is NULL");
	if (st == EM_OK) {
		s = emi_stream_new(ctx, sizeof(own_stream), &kind, record_bytes, NULL, 0, count, &err);
		st = s != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		((own_stream *)(void *)s)->ops = o;
		((own_stream *)(void *)s)->user = user;
	}
	return emi_stream_end_user(s, out, st, user, o.user_free, theirs, &err);
}

typedef struct generated {
	em_stream s;
	em_generate_fn fn;
	void *user;
	uint64_t i;             /* number of the next record */
	uint64_t end;           /* that there is not; EM_STREAM_UNKNOWN */
} generated;

static em_status generate(em_stream *s, em_errinfo *err)
{
	generated *g = (generated *)(void *)s;
	const em_status st = emi_stream_room(s, err);
	const uint64_t left = g->end - g->i;
	size_t n = s->room_records, most;
	int failed;

	if (st != EM_OK || left == 0)
		return st != EM_OK ? st : EM_END;
	if (left < n)
		n = (size_t)left;
	most = n;
	failed = g->fn(g->user, g->i, s->room, &n);
	if (failed != 0)
		return emi_stream_user_failed("generates records", failed, err);
	if (n > most)
		return emi_fail(err, EM_ERR_USER, "a function made %zu records in room for %zu", n, most);
	g->i += n;
	return emi_stream_show(s, n);
}

em_status em_stream_generate(em_stream **out, em_ctx *ctx, uint64_t record_bytes, uint64_t count, em_generate_fn fn,
			     void *user, void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { generate, NULL, "generator", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK && fn == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "fn is NULL");
	if (st == EM_OK) {
		s = emi_stream_new(ctx, sizeof(generated), &kind, record_bytes, NULL, 0, count, &err);
		st = s != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		generated *g = (generated *)(void *)s;

		g->fn = fn;
		g->user = user;
		g->end = count;
	}
	return emi_stream_end_user(s, out, st, user, user_free, theirs, &err);
}

typedef struct in_memory {
	em_stream s;
	const char *records;    /* NULL: they were lent */
	size_t n;
} in_memory;

static em_status lend_memory(em_stream *s, em_errinfo *err)
{
	in_memory *m = (in_memory *)(void *)s;

	(void)err;
	if (m->records == NULL || m->n == 0)
		return EM_END;
	s->source.at = m->records;
	s->source.end = m->records + m->n * s->record;
	m->records = NULL;
	return EM_OK;
}

em_status em_stream_memory(em_stream **out, em_ctx *ctx, uint64_t record_bytes, const void *records, uint64_t n,
			   em_errinfo *theirs)
{
	static const emi_stream_kind kind = { lend_memory, NULL, "memory", 0 };
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_stream_check_record(record_bytes, &err);
	if (st == EM_OK)
		st = emi_stream_check_records(records, n, (size_t)record_bytes, &err);
	if (st == EM_OK) {
		s = emi_stream_new(ctx, sizeof(in_memory), &kind, record_bytes, NULL, 0, n, &err);
		st = s != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		((in_memory *)(void *)s)->records = records;
		((in_memory *)(void *)s)->n = (size_t)n;
		emi_stream_made(s, out);
	}
	return emi_tell(theirs, st, &err);
}
