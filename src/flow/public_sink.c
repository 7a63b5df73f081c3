/* SPDX-License-Identifier: BSL-1.0 */
/* public_sink.c -- sinks as callers outside know them, and the pump; see flow_sink.h. */
#include <inttypes.h>

#include <extmem/stream_lines.h>

#include "base/error.h"
#include "flow/flow_sink.h"
#include "flow/lines.h"

static void release(void *sink)
{
	em_sink *k = sink;

	if (k->kind->close != NULL)
		k->kind->close(k);
	emi_object_free(k, k->bytes);
}

em_status emi_sink_begin(em_sink **out, em_errinfo *err)
{
	emi_errinfo_clear(err);
	if (out != NULL)
		*out = NULL;
	return emi_given(out, "out", err);
}

em_sink *emi_sink_new(em_ctx *ctx, size_t bytes, const emi_sink_kind *kind, uint64_t record_bytes, em_errinfo *err)
{
	em_sink *k = NULL;

	if (emi_given(ctx, "ctx", err) == EM_OK && emi_stream_check_record(record_bytes, err) == EM_OK)
		k = emi_object_new(ctx, bytes, 0, release, err);
	if (k == NULL)
		return NULL;
	k->kind = kind;
	k->record = (size_t)record_bytes;
	k->bytes = bytes;
	return k;
}

/* A failure stays. */
static em_status keep(em_sink *k, em_status st, em_errinfo *err)
{
	if (st < EM_OK && !k->mild) {
		k->status = st;
		(void)emi_tell(&k->failure, st, err);
		*err = k->failure;
	}
	return st;
}

/* May it go on? */
static em_status ready(const em_sink *k, em_errinfo *err)
{
	if (k->status < EM_OK) {
		*err = k->failure;
		return k->status;
	}
	return k->finished ? emi_fail(err, EM_ERR_STATE, "the sink is finished") : EM_OK;
}

em_status emi_sink_take(em_sink *k, const void *records, size_t n, em_errinfo *err)
{
	size_t taken = 0;
	em_status st = ready(k, err);

	if (st != EM_OK || n == 0)
		return st;
	k->mild = 0;
	st = k->kind->push(k, records, n, &taken, err);
	k->n += st == EM_OK ? n : taken;
	return keep(k, st, err);
}

em_status emi_sink_take_lines(em_sink *k, const em_batch *batch, em_errinfo *err)
{
	size_t taken = 0;
	em_status st = ready(k, err);

	if (st != EM_OK)
		return st;
	k->mild = 0;
	st = k->push_lines(k, batch, &taken, err);
	k->n += st == EM_OK ? batch->n : taken;
	return keep(k, st, err);
}

/* Are those records of any length? */
static em_status check_lines(const em_batch *b, em_errinfo *err)
{
	em_status st = emi_given(b->ends, "batch->ends", err);
	size_t i;

	for (i = 1; st == EM_OK && i < b->n; i++)
		if (b->ends[i] < b->ends[i - 1])
			st = emi_fail(err, EM_ERR_INVAL, "batch->ends[%zu] is before the end of the record before it",
				      i);
	if (st == EM_OK && b->ends[b->n - 1] > SIZE_MAX)
		st = emi_fail(err, EM_ERR_INVAL, "records of more bytes than memory can have");
	return st == EM_OK && b->ends[b->n - 1] != 0 ? emi_given(b->records, "batch->records", err) : st;
}

em_status em_sink_push_lines(em_sink *k, const em_batch *batch)
{
	em_errinfo err;
	em_status st = emi_enter(k, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	if (st == EM_OK && k->push_lines == NULL)
		st = emi_fail(&err, EM_ERR_INVAL, "the sink has records of %zu bytes, and not of any length",
			      k->record);
	if (st == EM_OK && batch->n != 0) {
		st = check_lines(batch, &err);
		if (st == EM_OK)
			st = emi_sink_take_lines(k, batch, &err);
	}
	return emi_leave(k, st, &err);
}

em_status em_sink_push(em_sink *k, const void *records, uint64_t n)
{
	em_errinfo err;
	em_status st = emi_enter(k, &err);

	if (st != EM_OK)
		return st;
	if (k->record == 0)
		st = emi_fail(&err, EM_ERR_INVAL, "the sink has records of any length: em_sink_push_lines()");
	if (st == EM_OK)
		st = emi_stream_check_records(records, n, k->record, &err);
	if (st == EM_OK)
		st = emi_sink_take(k, records, (size_t)n, &err);
	return emi_leave(k, st, &err);
}

em_status em_sink_finish(em_sink *k)
{
	em_errinfo err;
	em_status st = emi_enter(k, &err);

	if (st != EM_OK)
		return st;
	st = ready(k, &err);
	k->mild = 0;
	if (st == EM_OK && k->kind->finish != NULL)
		st = keep(k, k->kind->finish(k, &err), &err);
	k->finished |= st == EM_OK;
	return emi_leave(k, st, &err);
}

uint64_t em_sink_record_bytes(const em_sink *k)
{
	return k != NULL ? k->record : 0;
}

uint64_t em_sink_count(const em_sink *k)
{
	return k != NULL ? k->n : 0;
}

void em_sink_error(const em_sink *k, em_errinfo *err)
{
	emi_object_error(k, err);
}

void em_sink_close(em_sink *k)
{
	emi_object_close(k);
}

/* Push what is in hand, or some of it. */
static em_status push_some(em_stream *s, em_sink *k, em_errinfo *err)
{
	uint64_t ends[EMI_LINES_MOST];
	em_batch b;

	if (!s->varied)
		return emi_sink_take(k, s->source.at, emi_stream_hand(s), err);
	emi_lines_look(s, ends, EMI_LINES_MOST, &b);
	return emi_sink_take_lines(k, &b, err);
}

/* Calls on both have begun. */
static em_status pump(em_stream *s, em_sink *k, uint64_t *moved, em_errinfo *err)
{
	em_status st = EM_OK;

	if (s->owner != NULL)
		return emi_fail(err, EM_ERR_STATE, "the stream is an input of a node");
	if (em_stream_record_bytes(s) != k->record)
		return emi_fail(err, EM_ERR_INVAL,
				"a stream of records of %" PRIu64 " bytes, and a sink of %zu (0: any length)",
				em_stream_record_bytes(s), k->record);
	st = ready(k, err);
	/* Sorts that are going to share what there is leave the sink its part. */
	if (st == EM_OK && !s->begun)
		s->claim += k->claim;
	while (st == EM_OK && (st = emi_stream_need(s, err)) == EM_OK) {
		const uint64_t before = k->n;

		st = push_some(s, k, err);
		*moved += k->n - before;
		s->source.at += (size_t)(k->n - before) * s->record;
		if (st != EM_OK)
			(void)emi_keep(&k->object, st, err);
	}
	return st == EM_END ? EM_OK : st;
}

em_status em_stream_pump(em_stream *s, em_sink *k, uint64_t *moved)
{
	em_errinfo err;
	em_status st = emi_enter(s, &err);
	uint64_t n = 0;

	if (moved != NULL)
		*moved = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(k, "k", &err);
	if (st == EM_OK && (st = emi_enter_quickly(&k->object)) == EM_OK) {
		emi_stream_put_back(s);
		st = pump(s, k, &n, &err);
		emi_leave_quickly(&k->object);
	}
	if (moved != NULL)
		*moved = n;
	return emi_leave(s, st, &err);
}
