/* SPDX-License-Identifier: BSL-1.0 */
/*
 * tee.c -- the records of a stream several times.
 *
 * Behind all outputs is a stem, which owns the input.  It is a stream that nobody pulls, and is freed with the last
 * output.
 * Each output has a queue (extmem/queue.h) of what others have read and it has not.  One whose queue is empty has the
 * stem read on: some records of the input are copied to its own buffer, and pushed to the queues of the others.  So no
 * output sees the window of the input, which goes on without it.
 *
 * Whether records may go to a disk is a matter of the queue's memory: without EM_TEE_SPILL it has so much that it never
 * writes, and how many records it has is limited.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/tee.h"

#define MEMORY_SHARE 64u
#define BLOCKS_LEAST 16u

static em_status queue_failed(const em_queue *q, em_status st, em_errinfo *err)
{
	em_queue_error(q, err);
	if (err->status == st)
		return st;
	emi_errinfo_clear(err);
	return emi_fail(err, st, "%s", em_status_text(st));
}

/* Of n records, how many can the others keep?  None: one of them is too far behind, and this changes nothing. */
static em_status check_room(const emi_tee *t, const emi_tee_output *reads, size_t *n, em_errinfo *err)
{
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		const emi_tee_output *o = t->output[i];
		uint64_t room;

		if (o == NULL || o == reads)
			continue;
		room = t->most - em_queue_size(o->queue);
		if (room == 0)
			return emi_fail(err, EM_ERR_MEMLIMIT,
					"output %" PRIu32 " of a tee is %" PRIu64 " records behind output %" PRIu32
					", and the buffer holds no more: EM_TEE_SPILL, or more buffer_bytes",
					o->i, t->most, reads->i);
		*n = *n < room ? *n : (size_t)room;
	}
	return EM_OK;
}

static em_status keep(emi_tee *t, emi_tee_output *o, const char *records, size_t n, em_errinfo *err)
{
	em_container_opts opts = t->queue;
	em_status st = EM_OK;

	opts.errinfo = err;
	if (o->queue == NULL)
		st = em_queue_open(&o->queue, t->s.object.ctx, &opts);
	if (st != EM_OK)
		return st;
	st = em_queue_push_many(o->queue, records, n, NULL);
	return st == EM_OK ? st : queue_failed(o->queue, st, err);
}

/* It can be told to every output: what the others were to get is lost to them. */
static em_status fail_all(emi_tee *t, em_status st, const em_errinfo *err)
{
	t->status = st;
	t->failure = *err;
	return st;
}

/* Some records of the input to an output, and to the queues of the others. */
static em_status read_on(emi_tee_output *o, em_errinfo *err)
{
	emi_tee *t = o->stem;
	em_stream *in = t->s.input[0];
	em_status st = t->status;
	uint32_t i;
	size_t n;

	if (st < EM_OK)
		*err = t->failure;
	if (st != EM_OK)
		return st;
	if (t->reading)
		return emi_fail(err, EM_ERR_BUSY, "the input of the tee is at work");
	t->reading = 1;
	st = emi_stream_need(in, err);
	t->reading = 0;
	if (st < EM_OK && t->s.mild) {
		t->s.mild = 0;
		o->s.mild = 1;
		return st;
	}
	if (st != EM_OK)
		return fail_all(t, st, err);
	n = emi_stream_hand(in);
	if (n > o->s.room_records)
		n = o->s.room_records;
	st = check_room(t, o, &n, err);
	if (st != EM_OK)
		return st;
	for (i = 0; i < t->n; i++) {
		if (t->output[i] == NULL || t->output[i] == o)
			continue;
		st = keep(t, t->output[i], in->source.at, n, err);
		if (st != EM_OK)
			return fail_all(t, st, err);
	}
	memcpy(o->s.room, in->source.at, n * o->s.record);
	in->source.at += n * o->s.record;
	return emi_stream_show(&o->s, n);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	emi_tee_output *o = (emi_tee_output *)(void *)s;
	em_status st = emi_stream_room(s, err);
	uint64_t got;

	if (st != EM_OK)
		return st;
	if (em_queue_size(o->queue) == 0)
		return read_on(o, err);
	st = em_queue_pop_many(o->queue, s->room, s->room_records, &got);
	return st == EM_OK ? emi_stream_show(s, (size_t)got) : queue_failed(o->queue, st, err);
}

static void free_stem(em_stream *s)
{
	emi_tee *t = (emi_tee *)(void *)s;

	if (t->output != NULL)
		emi_free_array(s->object.ctx, t->output, t->n, sizeof *t->output);
	t->output = NULL;
}

static void retire(em_stream *s)
{
	emi_tee_output *o = (emi_tee_output *)(void *)s;
	emi_tee *t = o->stem;

	em_queue_close(o->queue);
	o->queue = NULL;
	o->stem = NULL;
	if (t == NULL)
		return;
	t->output[o->i] = NULL;
	if (t->s.above == s)
		t->s.above = NULL;
	if (--t->outputs == 0)
		emi_stream_retire(&t->s);
}

static em_status no_next(em_stream *s, em_errinfo *err)
{
	(void)s;
	return emi_fail(err, EM_ERR_INTERNAL, "the stem of a tee was pulled");
}

/* The memory of a queue that keeps so many bytes without a disk, or with one. */
static void plan_queue(emi_tee *t, const em_tee_opts *o)
{
	const em_container_opts plain = EM_CONTAINER_OPTS_INIT;
	const size_t record = t->s.record;
	const uint64_t block = (record + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE;
	uint64_t bytes = o->buffer_bytes;

	if (bytes == 0)
		bytes = em_ctx_memory(t->s.object.ctx) / MEMORY_SHARE;
	if (bytes < record)
		bytes = record;
	t->queue = plain;
	t->queue.record_bytes = record;
	t->queue.block_bytes = block;
	t->queue.memory_bytes = bytes;
	t->most = UINT64_MAX;
	if ((o->flags & EM_TEE_SPILL) == 0) {
		/* Blocks may have gaps, and half of the buffers are for others than the ends. */
		t->most = bytes / record;
		t->queue.memory_bytes = bytes > UINT64_MAX / 16 ? UINT64_MAX : 8 * bytes;
	}
	while (t->queue.block_bytes < ((uint64_t)64 << 10) &&
	       t->queue.memory_bytes / (2 * t->queue.block_bytes) > 2 * BLOCKS_LEAST)
		t->queue.block_bytes *= 2;
	if (t->queue.memory_bytes < BLOCKS_LEAST * t->queue.block_bytes)
		t->queue.memory_bytes = BLOCKS_LEAST * t->queue.block_bytes;
}

static emi_tee *new_stem(em_stream *in, uint32_t n, const em_tee_opts *o, em_errinfo *err)
{
	static const emi_stream_kind kind = { no_next, free_stem, "tee", 0 };
	emi_tee *t =
		(emi_tee *)(void *)emi_stream_new(NULL, sizeof *t, &kind, in->record, &in, 1, EM_STREAM_UNKNOWN, err);

	if (t == NULL)
		return NULL;
	t->output = emi_alloc_array(t->s.object.ctx, n, sizeof *t->output, err);
	if (t->output == NULL) {
		emi_stream_drop(&t->s);
		return NULL;
	}
	t->n = n;
	plan_queue(t, o);
	return t;
}

/* Without all outputs there are none, and the input is the caller's. */
static em_status grow(em_stream **out, uint32_t n, em_stream *in, const em_tee_opts *o, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "tee output", 0 };
	emi_tee *t = new_stem(in, n, o, err);
	em_stream *stem;
	uint32_t i;

	if (t == NULL)
		return err->status;
	for (i = 0; i < n; i++) {
		t->output[i] = (emi_tee_output *)(void *)emi_stream_new(t->s.object.ctx, sizeof(emi_tee_output), &kind,
								    in->record, NULL, 0, emi_stream_left(in), err);
		if (t->output[i] == NULL)
			break;
	}
	if (i < n) {
		while (i-- != 0)
			emi_stream_drop(&t->output[i]->s);
		free_stem(&t->s);
		emi_stream_drop(&t->s);
		return err->status;
	}
	t->outputs = t->s.users = n;
	emi_stream_made(&t->s, &stem);
	for (i = 0; i < n; i++) {
		t->output[i]->stem = t;
		t->output[i]->s.stem = stem;
		t->output[i]->i = i;
		t->output[i]->s.claim += t->most != UINT64_MAX ? t->most * in->record : t->queue.memory_bytes;
		emi_stream_made(&t->output[i]->s, &out[i]);
	}
	stem->above = out[0];
	return EM_OK;
}

em_status em_stream_tee(em_stream **out, uint32_t n, em_stream *in, const em_tee_opts *opts, em_errinfo *theirs)
{
	em_tee_opts o;
	em_errinfo err;
	em_status st;
	uint32_t i;

	emi_errinfo_clear(&err);
	for (i = 0; out != NULL && i < n; i++)
		if (in == NULL || out[i] != in)
			out[i] = NULL;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = emi_given(in, "in", &err);
	if (st == EM_OK && n == 0)
		st = emi_fail(&err, EM_ERR_INVAL, "a tee without outputs");
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_tee_opts, &o, opts, &err);
	if (st == EM_OK && (o.flags & ~EM_TEE_SPILL) != 0)
		st = emi_fail(&err, EM_ERR_INVAL, "flags 0x%" PRIx32 " are not known here", o.flags);
	if (st == EM_OK && o.buffer_bytes != 0 && o.buffer_bytes < in->record)
		st = emi_fail(&err, EM_ERR_RANGE, "a buffer of %" PRIu64 " bytes for records of %zu", o.buffer_bytes,
			      in->record);
	if (st == EM_OK)
		st = grow(out, n, in, &o, &err);
	return emi_tell(theirs, st, &err);
}
