/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records_read.c -- reading ahead into the buffers of a reader of records.
 *
 * A cursor (input, position) walks over the inputs, and each free buffer gets the next piece of at most chunk_bytes of
 * one file.  Buffers being read form a queue in the order of the files.  A file is opened when the cursor comes to it
 * and closed when the last transfer from it was waited for, so while the end of one is being read the next one can be
 * open already.  Streams are read when the queue is empty and somebody waits: nobody knows how much a pipe holds, so
 * what is behind it has to wait, too.
 *
 * A short tail goes into the headroom of the buffer that follows.  If there is none yet, it stays where it is: the next
 * buffer that gets something to read is the one, and takes the tail before the transfer starts, so it may even be the
 * tail's owner.  A long tail fits into no headroom; its owner is kept until the record is put together elsewhere.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stream/records_impl.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Records of one size may be arrays of structs to their consumer. */
#define ALIGNED 8u

static emi_records_buffer *free_buffer(emi_records *r)
{
	uint32_t i;

	for (i = 0; i < r->buffers; i++)
		if (r->buffer[i].state == EMI_RECORDS_FREE)
			return &r->buffer[i];
	return NULL;
}

static int is_small(const emi_records *r, const emi_input *in)
{
	return emi_input_small(in, r->ctx, r->chunk_bytes);
}

static void slot_close(emi_records_slot *slot)
{
	emi_file_close(slot->file);
	memset(slot, 0, sizeof *slot);
}

static void slot_drop(emi_records *r, emi_records_slot *slot)
{
	/* The file at the cursor is going to be needed again. */
	if (--slot->refs == 0 && slot->input != r->cur)
		slot_close(slot);
}

/* The file at the cursor; NULL means not now, or that it cannot be opened. */
static emi_records_slot *slot_get(emi_records *r)
{
	const emi_input *in = &r->in.item[r->cur];
	emi_records_slot *empty = NULL;
	em_errinfo err;
	em_status st;
	uint32_t i, busy = 0;

	for (i = 0; i < EMI_RECORDS_OPEN; i++) {
		emi_records_slot *slot = &r->slot[i];

		if (slot->file == NULL)
			empty = slot;
		else if (slot->input == r->cur)
			return slot;
		else
			busy++;
	}
	if (empty == NULL)
		return NULL;
	memset(&err, 0, sizeof err);
	st = emi_file_open(&empty->file, r->ctx, in->path,
			   EMI_OPEN_READ | (is_small(r, in) ? EMI_OPEN_BUFFERED : 0), &err);
	if (st == EM_OK) {
		empty->input = r->cur;
		if (is_small(r, in))
			emi_file_expect(empty->file, in->size);
		return empty;
	}
	empty->file = NULL;
	/* One descriptor may be enough, if it has to be. */
	if (st == EM_ERR_FDLIMIT && busy > 0)
		return NULL;
	r->ahead = st;
	r->ahead_err = err;
	return NULL;
}

static void next_input(emi_records *r)
{
	/* A regular file is closed later: its last transfer has only just begun. */
	if (r->pipe.fd >= 0) {
		emi_input_drop(&r->in.item[r->cur], r->ctx, r->pipe.fd);
		r->pipe.fd = -1;
	}
	r->cur++;
	r->pos = 0;
}

/* Put the tail in front of what is going to be read into the first buffer of the queue. */
static void place_tail(emi_records *r, emi_records_buffer *b)
{
	const emi_records_tail *tail = &r->tail;

	b->from -= tail->bytes;
	/* The buffer may be the tail's owner. */
	memmove(b->area + b->from, tail->owner->area + tail->at, tail->bytes);
	memset(&r->tail, 0, sizeof r->tail);
}

/* The buffer gets what is at the cursor. */
static void enqueue(emi_records *r, emi_records_buffer *b)
{
	const emi_input *in = &r->in.item[r->cur];
	const size_t odd = in->kind == EMI_INPUT_STREAM ? (size_t)(r->pos % ALIGNED) : 0;
	const uint64_t left = in->size - (r->pos - odd);

	b->file = r->cur;
	b->offset = r->pos - odd;
	b->wanted = left < r->chunk_bytes ? (size_t)left : r->chunk_bytes;
	b->got = odd;
	b->last = left == b->wanted;
	b->begun = b->there = 0;
	b->slot = NULL;
	b->from = r->head + odd + r->skip;
	b->to = r->head;
	r->skip = 0;
	b->next = NULL;
	b->state = EMI_RECORDS_QUEUED;
	if (r->first == NULL) {
		r->first = b;
		if (r->tail.bytes > 0 && r->tail.bytes <= r->head)
			place_tail(r, b);
	} else {
		r->last->next = b;
	}
	r->last = b;
}

void emi_records_dequeue(emi_records *r)
{
	r->first = r->first->next;
	if (r->first == NULL)
		r->last = NULL;
}

void emi_records_ahead(emi_records *r)
{
	while (r->ahead == EM_OK && r->status == EM_OK && r->cur < r->in.n) {
		const emi_input *in = &r->in.item[r->cur];
		emi_records_buffer *b;
		emi_records_slot *slot;
		size_t bytes;

		if (r->pos == in->size) {
			next_input(r);
			continue;
		}
		if (in->kind != EMI_INPUT_FILE || (b = free_buffer(r)) == NULL || (slot = slot_get(r)) == NULL)
			return;
		enqueue(r, b);
		b->slot = slot;
		slot->refs++;
		r->pos += b->wanted;
		b->begun = !is_small(r, in);
		if (!b->begun)
			continue;
		bytes = b->wanted;
		/* The last page is read as a whole, whatever there is of it. */
		if (emi_file_direct(slot->file))
			bytes += (EMI_PAGE - bytes % EMI_PAGE) % EMI_PAGE;
		emi_read(slot->file, &b->rq, b->area + r->head, bytes, b->offset, r->stats);
	}
}

int emi_records_more(const emi_records *r)
{
	return r->cur < r->in.n;
}

int emi_records_queue_stream(emi_records *r)
{
	emi_records_buffer *b = free_buffer(r);

	if (b == NULL)
		return 0;
	enqueue(r, b);
	return 1;
}

em_status emi_records_open_stream(emi_records *r)
{
	emi_input *in = &r->in.item[r->cur];
	em_status st;

	if (r->pipe.fd >= 0)
		return EM_OK;
	st = emi_input_fd(in, r->ctx, &r->pipe.fd, &r->err);
	if (st != EM_OK) {
		r->pipe.fd = -1;
		return emi_records_failed(r, st);
	}
	r->pipe.name = emi_input_name(in);
	r->pipe.pos = 0;
	r->pipe.stats = r->stats;
	r->pipe.ended = 0;
	return EM_OK;
}

static em_status too_short(emi_records *r, const emi_records_buffer *b, size_t done)
{
	return emi_records_failed(r, emi_fail_io(&r->err, EM_ERR_SHORT, 0, "read", emi_input_name(&r->in.item[b->file]),
						 b->offset + done, b->wanted - done));
}

static em_status wait_file(emi_records *r, emi_records_buffer *b, emi_ticker *ticker)
{
	em_status st;
	size_t done;

	while (b->begun && ticker->fn != NULL && ticker->status == EM_OK && !emi_wait_for(&b->rq, 0.1))
		(void)emi_ticker_run(ticker);
	if (emi_ticker_run(ticker) != EM_OK)
		return ticker->status;
	if (!b->begun)
		emi_read_now(b->slot->file, &b->rq, b->area + r->head, b->wanted, b->offset, r->stats);
	st = emi_wait(&b->rq, &r->err);
	done = b->rq.done;
	slot_drop(r, b->slot);
	b->slot = NULL;
	b->there = 1;
	if (st != EM_OK)
		return emi_records_failed(r, st);
	if (done < b->wanted)
		return too_short(r, b, done);
	b->to = r->head + b->wanted;
	return EM_OK;
}

static em_status wait_stream(emi_records *r, emi_records_buffer *b, emi_ticker *ticker)
{
	emi_input *in = &r->in.item[b->file];
	em_status st = emi_records_open_stream(r);
	size_t done;

	if (st != EM_OK)
		return st;
	st = emi_pipe_read(&r->pipe, b->area + r->head + b->got, b->wanted - b->got, &done, ticker, &r->err);
	b->got += done;
	r->pos += done;
	if (st != EM_OK) /* the ticker's is not ours: the stream can be read on */
		return st == ticker->status ? st : emi_records_failed(r, st);
	b->there = 1;
	b->to = r->head + b->got;
	if (r->pipe.ended && in->size != UINT64_MAX)
		return too_short(r, b, b->got);
	if (r->pipe.ended)
		in->size = r->pos;
	b->last = r->pos == in->size;
	return EM_OK;
}

em_status emi_records_wait(emi_records *r, emi_records_buffer *b, emi_ticker *ticker)
{
	if (b->there)
		return EM_OK;
	return b->slot != NULL ? wait_file(r, b, ticker) : wait_stream(r, b, ticker);
}

void emi_records_keep_tail(emi_records *r, emi_records_buffer *b, size_t at)
{
	emi_records_tail *tail = &r->tail;

	if (at == b->to)
		return;
	tail->owner = b;
	tail->at = at;
	tail->bytes = b->to - at;
	/* It may lie in front of what was read: the sum wraps around, and back. */
	tail->offset = b->offset + at - r->head;
	if (tail->bytes <= r->head && r->first != NULL)
		place_tail(r, r->first);
}
