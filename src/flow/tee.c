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
 * A queue of records of any length is one of bytes.  Whatever is read in one step is a chunk there: how many records
 * and bytes they are, where each ends, and their text.  It comes out as it went in.
 *
 * Whether records may go to a disk is a matter of the queue's memory: without EM_TEE_SPILL it has so much that it never
 * writes, and how many bytes it has is limited.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/tee.h"

#define MEMORY_SHARE 64u
#define BLOCKS_LEAST 16u
#define TEXT_MOST ((size_t)16 << 10) /* bytes of a chunk, but for a longer record */

/* What a chunk begins with. */
typedef struct chunk_head {
	uint64_t n, bytes;      /* records, and of their text */
} chunk_head;

static em_status queue_failed(const em_queue *q, em_status st, em_errinfo *err)
{
	em_queue_error(q, err);
	if (err->status == st)
		return st;
	emi_errinfo_clear(err);
	return emi_fail(err, st, "%s", em_status_text(st));
}

/* Bytes that the first n records of some take, ... */
static size_t bytes_of(const em_batch *b, size_t n)
{
	return b->ends == NULL ? b->bytes / b->n * n : (size_t)b->ends[n - 1];
}

/* ... and in a queue. */
static uint64_t bytes_in_queue(const em_batch *b, size_t n)
{
	return (b->ends == NULL ? 0 : sizeof(chunk_head) + n * sizeof *b->ends) + (uint64_t)bytes_of(b, n);
}

/* How many bytes can each of the others keep?  Fewer than there have to be: one of them is too far behind, and this
 * changes nothing. */
static em_status find_room(const emi_tee *t, const emi_tee_output *reads, uint64_t least, uint64_t *room,
			   em_errinfo *err)
{
	uint32_t i;

	*room = UINT64_MAX;
	for (i = 0; i < t->n; i++) {
		const emi_tee_output *o = t->output[i];
		uint64_t held, left;

		if (o == NULL || o == reads)
			continue;
		held = em_queue_size(o->queue) * t->unit;
		left = t->most - held;
		if (left < least)
			return emi_fail(err, EM_ERR_MEMLIMIT,
					"output %" PRIu32 " of a tee is %" PRIu64 " bytes behind output %" PRIu32
					", the next record takes %" PRIu64 ", and the buffer holds %" PRIu64
					": EM_TEE_SPILL, or more buffer_bytes",
					o->i, held, reads->i, least, t->most);
		*room = left < *room ? left : *room;
	}
	return EM_OK;
}

/* Records in hand of the input that an output may lend next, and the others can keep. */
static em_status look(const emi_tee_output *o, em_batch *b, em_errinfo *err)
{
	const em_stream *in = o->stem->s.input[0];
	const size_t hand = emi_stream_hand(in);
	uint64_t room;
	em_status st;
	size_t n;

	if (in->varied) {
		emi_lines_look(in, o->lines->ends, emi_lines_most(&o->s), b);
	} else {
		b->records = in->source.at;
		b->n = hand < o->s.room_records ? hand : o->s.room_records;
		b->bytes = b->n * in->record;
		b->ends = NULL;
	}
	st = find_room(o->stem, o, bytes_in_queue(b, 1), &room, err);
	if (st != EM_OK)
		return st;
	n = b->n;
	if (!in->varied && room / in->record < n)
		n = (size_t)(room / in->record);
	while (in->varied && n > 1 && (bytes_of(b, n) > TEXT_MOST || bytes_in_queue(b, n) > room))
		n--;
	b->bytes = bytes_of(b, n);
	b->n = n;
	return EM_OK;
}

static em_status push(em_queue *q, const em_batch *b)
{
	const chunk_head head = { b->n, b->bytes };
	em_status st;

	if (b->ends == NULL)
		return em_queue_push_many(q, b->records, b->n, NULL);
	st = em_queue_push_many(q, &head, sizeof head, NULL);
	if (st == EM_OK)
		st = em_queue_push_many(q, b->ends, b->n * sizeof *b->ends, NULL);
	return st == EM_OK ? em_queue_push_many(q, b->records, b->bytes, NULL) : st;
}

static em_status keep(emi_tee *t, emi_tee_output *o, const em_batch *b, em_errinfo *err)
{
	em_container_opts opts = t->queue;
	em_status st = EM_OK;

	opts.errinfo = err;
	if (o->queue == NULL)
		st = em_queue_open(&o->queue, t->s.object.ctx, &opts);
	if (st != EM_OK)
		return st;
	st = push(o->queue, b);
	if (st != EM_OK)
		return queue_failed(o->queue, st, err);
	o->chunks += b->ends != NULL;
	return EM_OK;
}

/* Records of the input are lent by an output, which copies them. */
static em_status take(emi_tee_output *o, const em_batch *b, em_errinfo *err)
{
	em_status st;

	if (b->ends == NULL) {
		memcpy(o->s.room, b->records, b->bytes);
		return emi_stream_show(&o->s, b->n);
	}
	st = emi_text_room_need(&o->lines->text, o->s.object.ctx, b->bytes, 0, err);
	if (st != EM_OK)
		return st;
	if (b->bytes != 0)
		memcpy(o->lines->text.at, b->records, b->bytes);
	emi_lines_show(&o->s, o->lines->text.at, o->lines->ends, b->n);
	return EM_OK;
}

/* Has it records that others have read?  What is there of a chunk that is not whole is none. */
static int is_behind(const emi_tee_output *o)
{
	return o->s.varied ? o->chunks != 0 : em_queue_size(o->queue) != 0;
}

/* The next records of a queue are lent. */
static em_status pop(emi_tee_output *o, em_errinfo *err)
{
	em_stream *s = &o->s;
	chunk_head head;
	uint64_t got;
	em_status st;

	if (!s->varied) {
		st = em_queue_pop_many(o->queue, s->room, s->room_records, &got);
		return st == EM_OK ? emi_stream_show(s, (size_t)got) : queue_failed(o->queue, st, err);
	}
	o->chunks--;
	st = em_queue_pop_many(o->queue, &head, sizeof head, NULL);
	if (st == EM_OK)
		st = em_queue_pop_many(o->queue, o->lines->ends, head.n * sizeof *o->lines->ends, NULL);
	if (st != EM_OK)
		return queue_failed(o->queue, st, err);
	st = emi_text_room_need(&o->lines->text, s->object.ctx, (size_t)head.bytes, 0, err);
	if (st != EM_OK)
		return st;
	st = em_queue_pop_many(o->queue, o->lines->text.at, head.bytes, NULL);
	if (st != EM_OK)
		return queue_failed(o->queue, st, err);
	emi_lines_show(s, o->lines->text.at, o->lines->ends, (size_t)head.n);
	return EM_OK;
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
	em_batch b;
	uint32_t i;

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
	st = look(o, &b, err);
	if (st == EM_OK)
		st = take(o, &b, err);
	if (st != EM_OK)
		return st;
	for (i = 0; i < t->n; i++) {
		if (t->output[i] == NULL || t->output[i] == o)
			continue;
		st = keep(t, t->output[i], &b, err);
		if (st != EM_OK)
			return fail_all(t, st, err);
	}
	in->source.at += b.n * in->record;
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	emi_tee_output *o = (emi_tee_output *)(void *)s;
	em_status st = EM_OK;

	if (!s->varied) {
		st = emi_stream_room(s, err);
	} else if (o->lines == NULL) {
		o->lines = emi_lines_made_new(s->object.ctx, err);
		st = o->lines != NULL ? EM_OK : err->status;
	}
	if (st != EM_OK)
		return st;
	return is_behind(o) ? pop(o, err) : read_on(o, err);
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
	emi_lines_made_free(o->lines, s->object.ctx);
	o->lines = NULL;
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
	const size_t record = t->unit;
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
		t->most = bytes / record * record;
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
	static const emi_stream_kind kind = { no_next, free_stem, "tee", EMI_STREAM_VARIED };
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
	t->unit = in->varied ? 1 : in->record;
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
		t->output[i]->s.claim += t->most != UINT64_MAX ? t->most : t->queue.memory_bytes;
		if (in->varied)
			emi_stream_vary(&t->output[i]->s);
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
	if (st == EM_OK && !in->varied && o.buffer_bytes != 0 && o.buffer_bytes < in->record)
		st = emi_fail(&err, EM_ERR_RANGE, "a buffer of %" PRIu64 " bytes for records of %zu", o.buffer_bytes,
			      in->record);
	if (st == EM_OK)
		st = grow(out, n, in, &o, &err);
	return emi_tell(theirs, st, &err);
}
