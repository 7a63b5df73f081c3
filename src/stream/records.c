/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records.c -- records of any length: the life of a reader, and its calls.
 *
 * Buffers go round: free, being read (the queue, see records_read.c), with the consumer, free.  The first of the queue
 * is cut behind its last whole record (see records_cut.c); what follows, the tail, is copied in front of what the next
 * buffer reads.  So nothing is copied but one record for each buffer, and that only if it is short.
 *
 * A tail that is longer than the headroom is put together with the rest of its record in memory of its own, `joined',
 * which exists from then until the consumer gives the record back.  That record is a chunk by itself.  What
 * follows it stays where it is, in the buffer in which the record ended, and is the next chunk.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stream/records.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "stream/records_impl.h"

/* Nothing is as long; sums with it do not overflow. */
#define LONGEST_MOST ((uint64_t)1 << 62)
/* The part of a buffer that is headroom, if records may be as long. */
#define HEAD_PART 8u
/* Most bytes around a record: a prefix or a delimiter. */
#define AROUND 9u

static uint64_t page_ceil(uint64_t x)
{
	return x + (EMI_PAGE - x % EMI_PAGE) % EMI_PAGE;
}

static uint64_t longest_of(const emi_records_opts *opts)
{
	const uint64_t longest = opts->record_bytes != 0 ? opts->record_bytes : opts->longest;

	return longest < LONGEST_MOST ? longest : LONGEST_MOST;
}

static uint64_t head_of(const emi_records_opts *opts)
{
	const uint64_t part = page_ceil(opts->chunk_bytes / HEAD_PART), all = page_ceil(longest_of(opts) + AROUND);

	return part < all ? part : all;
}

static uint64_t area_of(const emi_records_opts *opts)
{
	return head_of(opts) + opts->chunk_bytes + EMI_PAGE;
}

uint64_t emi_records_memory(const emi_records_opts *opts)
{
	const uint64_t each = area_of(opts) + sizeof(emi_records_buffer);
	uint64_t sum = sizeof(emi_records);

	if (longest_of(opts) + AROUND > head_of(opts))
		sum += page_ceil(longest_of(opts) + AROUND + EMI_RECORDS_SLACK);
	if (opts->chunks > (UINT64_MAX - sum) / each)
		return UINT64_MAX;
	return sum + opts->chunks * each;
}

uint64_t emi_records_memory_evenly(const emi_records_opts *opts, uint64_t chunk_bytes)
{
	const uint64_t each = chunk_bytes + chunk_bytes / HEAD_PART + 3u * EMI_PAGE + sizeof(emi_records_buffer);

	return sizeof(emi_records) + longest_of(opts) + AROUND + EMI_RECORDS_SLACK + EMI_PAGE + opts->chunks * each;
}

em_status emi_records_failed(emi_records *r, em_status st)
{
	if (r->status == EM_OK)
		r->status = st;
	return r->status;
}

static em_status tell(const emi_records *r, em_errinfo *err)
{
	if (err != NULL && err->status == EM_OK)
		*err = r->err;
	return r->status;
}

/* A message for a field that has no sense. */
static em_status bad_format(const char *what, uint32_t value, em_errinfo *err)
{
	return emi_fail(err, EM_ERR_INVAL, "no such format of records: %s %" PRIu32, what, value);
}

em_status emi_format_check(const em_format *f, em_errinfo *err)
{
	if (f->kind != EM_FORMAT_DELIMITED && f->kind != EM_FORMAT_PREFIXED && f->kind != EM_FORMAT_CSV)
		return bad_format("kind", (uint32_t)f->kind, err);
	if (emi_format_delimited(f) && (f->delimiter > UINT8_MAX || (f->kind == EM_FORMAT_CSV && f->delimiter == '"')))
		return bad_format("delimiter", f->delimiter, err);
	if (emi_format_delimited(f) ? f->width != 0
				    : f->width != 1 && f->width != 2 && f->width != 4 && f->width != 8)
		return bad_format("width of a prefix", f->width, err);
	if ((f->flags & ~(f->kind == EM_FORMAT_PREFIXED ? EM_FORMAT_BIG_ENDIAN : 0)) != 0)
		return bad_format("flags", f->flags, err);
	if (f->kind == EM_FORMAT_CSV ? f->separator > UINT8_MAX || f->separator == '"' : f->separator != 0)
		return bad_format("separator", f->separator, err);
	return EM_OK;
}

static em_status check_opts(const emi_records_opts *opts, em_errinfo *err)
{
	em_status st = opts->record_bytes == 0 ? emi_format_check(&opts->format, err) : EM_OK;

	if (st != EM_OK)
		return st;
	if (opts->chunk_bytes == 0 || opts->chunk_bytes % EMI_PAGE != 0 || opts->chunks < 2)
		return emi_fail(err, EM_ERR_INVAL, "a reader needs two chunks or more, made of pages");
	if (opts->chunk_bytes > SIZE_MAX / 2 || area_of(opts) > SIZE_MAX)
		return emi_fail(err, EM_ERR_NOMEM, "a chunk of %zu bytes does not fit in the memory",
				opts->chunk_bytes);
	return EM_OK;
}

static em_status take_buffers(emi_records *r, const emi_records_opts *opts, em_errinfo *err)
{
	uint32_t i;

	r->buffer = emi_alloc_array(r->ctx, opts->chunks, sizeof *r->buffer, err);
	if (r->buffer == NULL)
		return err->status;
	r->buffers = opts->chunks;
	r->area_bytes = (size_t)area_of(opts);
	/* Side by side: huge pages are for what is large. */
	r->arena = emi_buffer_alloc_array(r->ctx, r->buffers, r->area_bytes, err);
	if (r->arena == NULL)
		return err->status;
	for (i = 0; i < r->buffers; i++)
		r->buffer[i].area = r->arena + i * r->area_bytes;
	return EM_OK;
}

/* Read a part of a file only, from the page on in which it begins. */
static em_status set_range(emi_records *r, const emi_extent *range, em_errinfo *err)
{
	emi_input *in = r->in.item;

	if (range->bytes == 0)
		return EM_OK;
	if (r->in.n != 1 || in->kind != EMI_INPUT_FILE)
		return emi_fail(err, EM_ERR_INVAL, "a part of what is not one regular file");
	r->skip = (size_t)(range->offset % EMI_PAGE);
	r->pos = range->offset - r->skip;
	in->size = range->offset + range->bytes;
	r->in.bytes = range->bytes;
	return EM_OK;
}

em_status emi_records_open(emi_records **out, em_ctx *ctx, const char *const *paths, uint32_t n,
			   const emi_records_opts *opts, emi_io_stats *stats, em_errinfo *err)
{
	em_errinfo scratch;
	emi_records *r;
	em_status st;

	*out = NULL;
	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	if (n > 0 && paths == NULL)
		return emi_fail(err, EM_ERR_INVAL, "a reader needs paths");
	if ((st = check_opts(opts, err)) != EM_OK || (st = emi_ctx_check(ctx, err)) != EM_OK)
		return st;
	r = emi_alloc(ctx, sizeof *r, err);
	if (r == NULL)
		return err->status;
	emi_ctx_ref(ctx);
	r->ctx = ctx;
	r->stats = stats;
	r->format = opts->format;
	r->longest = longest_of(opts);
	r->record_bytes = opts->record_bytes;
	r->chunk_bytes = opts->chunk_bytes;
	r->head = (size_t)head_of(opts);
	r->pipe.fd = -1;
	r->pipe.prompt = opts->prompt != 0;
	if ((st = emi_inputs_init(&r->in, ctx, paths, n, r->record_bytes != 0 ? r->record_bytes : 1, err)) != EM_OK ||
	    (st = set_range(r, &opts->range, err)) != EM_OK || (st = take_buffers(r, opts, err)) != EM_OK)
		goto out;
	if (opts->prompt && n > 0 && r->in.item->kind == EMI_INPUT_STREAM &&
	    (st = emi_records_open_stream(r)) != EM_OK) {
		*err = r->err;
		goto out;
	}
	*out = r;
	return EM_OK;
out:
	emi_records_close(r);
	return st;
}

static void free_joined(emi_records *r)
{
	if (r->joined.area != NULL)
		emi_buffer_free(r->ctx, r->joined.area, r->joined_bytes);
	memset(&r->joined, 0, sizeof r->joined);
}

void emi_records_close(emi_records *r)
{
	em_ctx *ctx;
	uint32_t i;

	if (r == NULL)
		return;
	ctx = r->ctx;
	/* Closing waits for what is being read into the buffers. */
	for (i = 0; i < EMI_RECORDS_OPEN; i++)
		emi_file_close(r->slot[i].file);
	if (r->pipe.fd >= 0)
		emi_input_drop(&r->in.item[r->cur], ctx, r->pipe.fd);
	free_joined(r);
	if (r->arena != NULL)
		emi_buffer_free_array(ctx, r->arena, r->buffers, r->area_bytes);
	if (r->buffer != NULL)
		emi_free_array(ctx, r->buffer, r->buffers, sizeof *r->buffer);
	emi_inputs_free(&r->in, ctx);
	emi_free(ctx, r, sizeof *r);
	emi_ctx_unref(ctx);
}

uint64_t emi_records_bytes(const emi_records *r)
{
	return r->in.bytes;
}

/* The consumer gets a buffer. */
static void give(emi_records *r, emi_records_buffer *b, uint64_t offset, emi_chunk *chunk)
{
	memset(chunk, 0, sizeof *chunk);
	b->state = EMI_RECORDS_OUT;
	chunk->data = b->area + b->from;
	chunk->bytes = b->to - b->from;
	chunk->file = b->file;
	chunk->offset = offset;
	if (r->format.kind == EM_FORMAT_CSV && r->record_bytes == 0)
		chunk->lines = emi_records_count(&r->format, chunk->data, chunk->data + chunk->bytes);
	chunk->priv = b;
}

/* Records are numbered from now on in this file. */
static void number_file(emi_records *r, uint32_t file)
{
	if (r->num_file == file)
		return;
	r->num_file = file;
	r->num = 0;
}

/* Move the long tail to where its record is put together. */
static em_status begin_joined(emi_records *r, em_errinfo *err)
{
	emi_records_buffer *joined = &r->joined, *owner = r->tail.owner;
	const uint64_t span = emi_records_span(r, &r->tail);

	if (joined->state == EMI_RECORDS_OUT)
		return emi_fail(err, EM_ERR_STATE, "the long record before this one is in use");
	if (span > SIZE_MAX / 2) {
		(void)emi_records_failed(r, emi_fail(&r->err, EM_ERR_NOMEM, "a record of %" PRIu64
						     " bytes does not fit in the memory", span));
		return tell(r, err);
	}
	r->joined_bytes = (size_t)span + 1 + EMI_RECORDS_SLACK;
	joined->area = emi_buffer_alloc(r->ctx, r->joined_bytes, &r->err);
	if (joined->area == NULL) {
		(void)emi_records_failed(r, r->err.status);
		return tell(r, err);
	}
	r->joined_need = (size_t)span;
	joined->state = EMI_RECORDS_QUEUED;
	joined->file = owner->file;
	joined->offset = r->tail.offset;
	joined->from = 0;
	joined->to = r->tail.bytes;
	memcpy(joined->area, owner->area + r->tail.at, r->tail.bytes);
	emi_records_join_begin(r);
	if (owner->state == EMI_RECORDS_KEPT)
		owner->state = EMI_RECORDS_FREE;
	memset(&r->tail, 0, sizeof r->tail);
	return EM_OK;
}

/* Go on with the record that is being put together.  1: chunk is it. */
static int join(emi_records *r, emi_records_buffer *b, emi_chunk *chunk)
{
	int whole;

	if (emi_records_join(r, b, &whole) != EM_OK)
		return 0;
	if (b->from == b->to) {
		emi_records_dequeue(r);
		b->state = EMI_RECORDS_FREE;
	}
	if (whole)
		give(r, &r->joined, r->joined.offset, chunk);
	return whole;
}

/* Cut the first buffer of the queue.  1: chunk is what is whole of it. */
static int cut(emi_records *r, emi_records_buffer *b, emi_chunk *chunk)
{
	size_t end;

	number_file(r, b->file);
	if (emi_records_cut(r, b, &end) != EM_OK)
		return 0;
	emi_records_dequeue(r);
	emi_records_keep_tail(r, b, end);
	b->to = end;
	if (b->from < end) {
		give(r, b, b->offset + b->from - r->head, chunk);
		return 1;
	}
	b->state = r->tail.bytes > r->head ? EMI_RECORDS_KEPT : EMI_RECORDS_FREE;
	return 0;
}

/* The queue is empty: why?  EM_OK when now it is not. */
static em_status refill(emi_records *r, em_errinfo *err)
{
	if (r->ahead != EM_OK) {
		r->err = r->ahead_err;
		(void)emi_records_failed(r, r->ahead);
		return tell(r, err);
	}
	if (!emi_records_more(r))
		return EM_END;
	if (r->in.item[r->cur].kind != EMI_INPUT_STREAM || !emi_records_queue_stream(r))
		return emi_fail(err, EM_ERR_STATE, "all chunks are in use");
	return EM_OK;
}

em_status emi_records_next(emi_records *r, emi_chunk *chunk, em_status (*tick)(void *arg), void *arg, em_errinfo *err)
{
	emi_ticker ticker;
	em_status st;
	int given = 0;

	emi_ticker_init(&ticker, tick, arg);
	while (!given) {
		if (r->status != EM_OK)
			return tell(r, err);
		emi_records_ahead(r);
		if (r->tail.bytes > r->head) {
			if ((st = begin_joined(r, err)) != EM_OK)
				return st;
			continue;
		}
		if (r->first == NULL) {
			if ((st = refill(r, err)) != EM_OK)
				return st;
		}
		if ((st = emi_records_wait(r, r->first, &ticker)) != EM_OK)
			return r->status != EM_OK ? tell(r, err) : emi_fail(err, st, "%s", em_status_text(st));
		if (r->joined.state == EMI_RECORDS_QUEUED)
			given = join(r, r->first, chunk);
		else
			given = cut(r, r->first, chunk);
	}
	/* A file may have been closed, so that the next one can be opened. */
	emi_records_ahead(r);
	return EM_OK;
}

void emi_records_release(emi_records *r, emi_chunk *chunk, uint64_t records)
{
	emi_records_buffer *b = chunk->priv;

	if (b == NULL)
		return;
	if (b->file == r->num_file)
		r->num += emi_chunk_count(chunk, records);
	chunk->data = NULL;
	chunk->bytes = 0;
	chunk->priv = NULL;
	if (b == &r->joined)
		free_joined(r);
	else
		b->state = r->tail.owner == b && r->tail.bytes > r->head ? EMI_RECORDS_KEPT : EMI_RECORDS_FREE;
	emi_records_ahead(r);
}
