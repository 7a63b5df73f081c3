/* SPDX-License-Identifier: BSL-1.0 */
/* radix_heap_buckets.c -- see radix_heap_buckets.h. */
#include "container/radix_heap_buckets.h"

#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pieces.h"

#define BUFFER_FIRST ((size_t)4096)
#define BUFFER_GROWS 4u         /* times */
#define HINTED_MOST 32u         /* buckets whose blocks are read ahead */

static uint64_t words_of(uint64_t n)
{
	return (n + 63) / 64;
}

uint64_t emi_radix_bucket_memory(size_t block)
{
	/* With bits for it and a few others. */
	return emi_buffers_memory(block, 1) + sizeof(emi_radix_bucket) + sizeof(emi_radix_stack) + 1;
}

uint64_t emi_radix_buckets_memory(size_t block, uint32_t write_buffers, uint32_t read_buffers)
{
	/* One buffer that grows is there twice. */
	return 4 * sizeof(uint64_t) + emi_buffers_memory(block, write_buffers + read_buffers + 1) +
	       emi_store_memory() + emi_block_pool_memory(0, write_buffers, read_buffers);
}

em_status emi_radix_buckets_open(emi_radix_buckets *b, em_ctx *ctx, const emi_radix_plan *plan, uint32_t n,
				 em_errinfo *err)
{
	em_status st;
	uint32_t i;

	b->ctx = ctx;
	b->record = plan->record;
	b->block_bytes = plan->block_bytes;
	b->payload = plan->block_bytes / plan->record * plan->record;
	/* One record at a time would be no gain. */
	b->stage = 2 * plan->record <= EMI_RADIX_STAGE ? EMI_RADIX_STAGE / plan->record * plan->record : 0;
	b->n = n;
	b->read_buffers = plan->read_buffers;
	b->bucket = emi_alloc_array(ctx, n, sizeof *b->bucket, err);
	b->stack = b->bucket != NULL ? emi_alloc_array(ctx, n, sizeof *b->stack, err) : NULL;
	b->used = b->stack != NULL ? emi_alloc_array(ctx, words_of(n), sizeof *b->used, err) : NULL;
	b->words = b->used != NULL ? emi_alloc_array(ctx, words_of(words_of(n)), sizeof *b->words, err) : NULL;
	st = b->words != NULL ? emi_store_open_scratch(&b->store, ctx, err) : err->status;
	if (st == EM_OK)
		st = emi_block_pool_open(&b->pool, ctx, b->store, b->block_bytes, plan->write_buffers,
					 plan->read_buffers, &b->io, err);
	emi_buffers_init(&b->buffers, ctx, b->block_bytes, n + plan->write_buffers + plan->read_buffers + 1);
	b->pool.buffers = &b->buffers;
	for (i = 0; st == EM_OK && i < n; i++)
		b->bucket[i].min = UINT64_MAX;
	if (st != EM_OK)
		emi_radix_buckets_close(b);
	return st;
}

static void free_buffer(emi_radix_buckets *b, char *buf, size_t bytes)
{
	if (bytes == b->block_bytes)
		emi_buffers_give(&b->buffers, buf);
	else
		emi_piece_free(b->ctx, buf, bytes);
}

/* Free the tables, and all records: blocks go with the store. */
static void free_bucket(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_ids *ids = b->stack[i].ids, *before;

	for (; ids != NULL; ids = before) {
		before = ids->before;
		emi_free(b->ctx, ids, sizeof *ids);
	}
	if (b->stack[i].buf != NULL)
		free_buffer(b, b->stack[i].buf, b->stack[i].bytes);
}

void emi_radix_buckets_close(emi_radix_buckets *b)
{
	emi_radix_ids *ids;
	uint32_t i;

	for (i = 0; b->bucket != NULL && b->stack != NULL && i < b->n; i++)
		free_bucket(b, i);
	while ((ids = b->free_ids) != NULL) {
		b->free_ids = ids->before;
		emi_free(b->ctx, ids, sizeof *ids);
	}
	emi_block_pool_close(&b->pool);
	emi_buffers_close(&b->buffers);
	emi_store_close(b->store);
	emi_free_array(b->ctx, b->words, words_of(words_of(b->n)), sizeof *b->words);
	emi_free_array(b->ctx, b->used, words_of(b->n), sizeof *b->used);
	emi_free_array(b->ctx, b->stack, b->n, sizeof *b->stack);
	emi_free_array(b->ctx, b->bucket, b->n, sizeof *b->bucket);
	b->store = NULL;
	b->words = b->used = NULL;
	b->stack = NULL;
	b->bucket = NULL;
	b->blocks = 0;
}

/* A buffer of so many bytes. */
static char *take_buffer(emi_radix_buckets *b, size_t bytes, em_errinfo *err)
{
	return bytes == b->block_bytes ? emi_buffers_take(&b->buffers, err) : emi_piece_alloc(b->ctx, bytes, err);
}

static char *end_of_buffer(const emi_radix_buckets *b, uint32_t i)
{
	const size_t bytes = b->stack[i].bytes;

	return b->stack[i].buf + (bytes == b->block_bytes ? b->payload : bytes / b->record * b->record);
}

/* The next record goes there, in the buffer. */
static void go_on_at(emi_radix_buckets *b, uint32_t i, char *at)
{
	b->bucket[i].at = at;
	b->bucket[i].end = end_of_buffer(b, i);
	b->stack[i].staged_to = NULL;
}

/* The next records go to the stage, as many as fit into it, and then into the buffer. */
static void stage(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_bucket *k = &b->bucket[i];
	const size_t room = (size_t)(k->end - k->at);

	if (b->stage == 0 || room == 0)
		return;
	b->stack[i].staged_to = k->at;
	b->stack[i].buf_end = k->end;
	emi_radix_expect(k->at);
	k->at = k->stage;
	k->end = k->stage + (room < b->stage ? room : b->stage);
}

void emi_radix_unstage(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_bucket *k = &b->bucket[i];
	char *to = b->stack[i].staged_to;
	const size_t bytes = (size_t)(k->at - k->stage);

	if (to == NULL)
		return;
	memcpy(to, k->stage, bytes);
	go_on_at(b, i, to + bytes);
}

/* The first buffer of a bucket. */
static em_status begin(emi_radix_buckets *b, uint32_t i, em_errinfo *err)
{
	emi_radix_stack *s = &b->stack[i];
	size_t bytes = b->record <= BUFFER_FIRST ? BUFFER_FIRST : emi_piece_bytes(b->record);

	if (b->buffers.free != NULL || bytes > b->block_bytes)
		bytes = b->block_bytes;
	s->buf = take_buffer(b, bytes, err);
	if (s->buf == NULL)
		return err->status;
	s->bytes = bytes;
	go_on_at(b, i, s->buf);
	b->used[i / 64] |= (uint64_t)1 << i % 64;
	b->words[i / 4096] |= (uint64_t)1 << i / 64 % 64;
	return EM_OK;
}

/* A larger buffer. */
static em_status grow(emi_radix_buckets *b, uint32_t i, size_t bytes, em_errinfo *err)
{
	emi_radix_stack *s = &b->stack[i];
	const size_t used = (size_t)(b->bucket[i].at - s->buf), before = s->bytes;
	char *buf;

	if (bytes >= b->block_bytes)
		bytes = b->block_bytes;
	buf = take_buffer(b, bytes, err);
	if (buf == NULL)
		return err->status;
	memcpy(buf, s->buf, used);
	free_buffer(b, s->buf, before);
	s->buf = buf;
	s->bytes = bytes;
	go_on_at(b, i, buf + used);
	return EM_OK;
}

/* Have room for one id more. */
static em_status id_room(emi_radix_buckets *b, emi_radix_stack *s, em_errinfo *err)
{
	emi_radix_ids *ids = b->free_ids;

	if (s->ids != NULL && s->ids->n < EMI_RADIX_IDS)
		return EM_OK;
	if (ids != NULL)
		b->free_ids = ids->before;
	else
		ids = emi_alloc(b->ctx, sizeof *ids, err);
	if (ids == NULL)
		return err->status;
	ids->n = 0;
	ids->before = s->ids;
	s->ids = ids;
	return EM_OK;
}

/* Tables in front that have become empty are free. */
static void trim_ids(emi_radix_buckets *b, emi_radix_stack *s)
{
	emi_radix_ids *ids;

	while ((ids = s->ids) != NULL && ids->n == 0) {
		s->ids = ids->before;
		ids->before = b->free_ids;
		b->free_ids = ids;
	}
}

/* A buffer of the pool.  If blocks that could not be written have all of them, those are tried again. */
static em_status lend(emi_radix_buckets *b, char **buf, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	em_status st = emi_block_pool_lend(&b->pool, buf, &own);

	if (st == EM_OK)
		return st;
	if (b->pool.list[EMI_POOL_FAILED].n == 0) {
		*err = own;
		return st;
	}
	st = emi_block_pool_flush(&b->pool, err);
	return st == EM_OK ? emi_block_pool_lend(&b->pool, buf, err) : st;
}

/* A block is full: it goes to disk. */
static em_status write_block(emi_radix_buckets *b, uint32_t i, em_errinfo *err)
{
	emi_radix_stack *s = &b->stack[i];
	em_status st = id_room(b, s, err);
	char *buf = NULL;
	em_bid bid;

	if (st == EM_OK)
		st = lend(b, &buf, err);
	if (st == EM_OK)
		st = emi_store_alloc(b->store, b->placement, b->placed, b->block_bytes, &bid, 1, err);
	if (st == EM_OK) {
		st = emi_block_pool_write(&b->pool, s->buf, bid, err);
		if (st != EM_OK)
			(void)emi_store_free(b->store, &b->pool.holder, bid, b->block_bytes, NULL);
	}
	if (st != EM_OK) {
		if (buf != NULL)
			emi_block_pool_return(&b->pool, buf);
		trim_ids(b, s);
		return st;
	}
	s->ids->bid[s->ids->n++] = bid;
	s->blocks++;
	b->blocks++;
	b->placed++;
	s->buf = buf;
	go_on_at(b, i, buf);
	return EM_OK;
}

em_status emi_radix_room(emi_radix_buckets *b, uint32_t i, em_errinfo *err)
{
	const int fresh = b->stack[i].buf == NULL, staged = fresh || b->stack[i].staged_to != NULL;
	em_status st = EM_OK;

	emi_radix_unstage(b, i);
	if (fresh)
		st = begin(b, i, err);
	else if (b->bucket[i].at != b->bucket[i].end)
		st = EM_OK;
	else if (b->stack[i].bytes < b->block_bytes)
		st = grow(b, i, BUFFER_GROWS * b->stack[i].bytes, err);
	else
		st = write_block(b, i, err);
	if (st == EM_OK && staged)
		stage(b, i);
	return st;
}

/* The first bucket with records from this one on, or EMI_RADIX_NONE. */
static uint32_t next_in_use(const emi_radix_buckets *b, uint32_t i)
{
	uint64_t w = i / 64, bits;

	if (i >= b->n)
		return EMI_RADIX_NONE;
	bits = b->used[w] & UINT64_MAX << i % 64;
	while (bits == 0) {
		if (++w == words_of(b->n))
			return EMI_RADIX_NONE;
		bits = b->used[w];
	}
	return (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(bits));
}

void emi_radix_hint(emi_radix_buckets *b, uint32_t i)
{
	uint32_t left = b->read_buffers, tried = 0;
	const emi_radix_ids *ids;
	uint64_t k;

	for (; i != EMI_RADIX_NONE && tried < HINTED_MOST; i = next_in_use(b, i + 1), tried++)
		for (ids = b->stack[i].ids; ids != NULL; ids = ids->before)
			for (k = ids->n; k != 0; k--)
				if (left-- == 0 || !emi_block_pool_hint(&b->pool, ids->bid[k - 1]))
					return;
}

em_status emi_radix_fetch(emi_radix_buckets *b, uint32_t i, em_errinfo *err)
{
	emi_radix_stack *s = &b->stack[i];
	em_bid bid;
	em_status st;

	bid = s->ids->bid[s->ids->n - 1];
	st = emi_block_pool_read(&b->pool, &s->buf, bid, err);
	go_on_at(b, i, st == EM_OK ? end_of_buffer(b, i) : s->buf);
	if (st != EM_OK)
		return st;
	s->ids->n--;
	trim_ids(b, s);
	s->blocks--;
	b->blocks--;
	/* A block that cannot be freed is space that is lost until the store is closed, and no more. */
	(void)emi_block_pool_free(&b->pool, bid, NULL);
	emi_radix_hint(b, i);
	return EM_OK;
}

void emi_radix_give_buffer(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_bucket *k = &b->bucket[i];
	emi_radix_stack *s = &b->stack[i];

	if (s->buf != NULL)
		free_buffer(b, s->buf, s->bytes);
	s->buf = s->staged_to = NULL;
	k->at = k->end = NULL;
}

void emi_radix_drained(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_give_buffer(b, i);
	b->bucket[i].min = UINT64_MAX;
	b->used[i / 64] &= ~((uint64_t)1 << i % 64);
	if (b->used[i / 64] == 0)
		b->words[i / 4096] &= ~((uint64_t)1 << i / 64 % 64);
}

uint64_t emi_radix_bucket_count(const emi_radix_buckets *b, uint32_t i)
{
	const emi_radix_stack *s = &b->stack[i];
	uint64_t bytes = s->blocks * b->payload;

	if (s->buf != NULL)
		bytes += (uint64_t)((s->staged_to != NULL ? s->staged_to : b->bucket[i].at) - s->buf);
	return bytes / b->record;
}

em_status emi_radix_move(emi_radix_buckets *b, uint32_t from, uint32_t to, em_errinfo *err)
{
	emi_radix_bucket *f = &b->bucket[from], *t = &b->bucket[to];
	emi_radix_stack *s = &b->stack[from];
	emi_radix_ids *last = s->ids;
	em_status st = b->stack[to].buf == NULL ? begin(b, to, err) : EM_OK;

	emi_radix_unstage(b, from);
	emi_radix_unstage(b, to);
	if (st == EM_OK && b->stack[to].bytes < b->block_bytes && s->blocks != 0)
		st = grow(b, to, b->block_bytes, err);
	t->min = f->min < t->min ? f->min : t->min;
	while (st == EM_OK && f->at != s->buf) {
		if (t->at == t->end)
			st = emi_radix_room(b, to, err);
		if (st != EM_OK)
			break;
		f->at -= b->record;
		memcpy(t->at, f->at, b->record);
		t->at += b->record;
	}
	if (st != EM_OK)
		return st;
	if (last != NULL) {
		while (last->before != NULL)
			last = last->before;
		last->before = b->stack[to].ids;
		b->stack[to].ids = s->ids;
		b->stack[to].blocks += s->blocks;
		s->ids = NULL;
		s->blocks = 0;
	}
	emi_radix_drained(b, from);
	return EM_OK;
}

uint32_t emi_radix_lowest(const emi_radix_buckets *b)
{
	const uint64_t words = words_of(words_of(b->n));
	uint64_t w, k;

	for (w = 0; w < words; w++) {
		if (b->words[w] == 0)
			continue;
		k = w * 64 + (unsigned)__builtin_ctzll(b->words[w]);
		return (uint32_t)(k * 64 + (unsigned)__builtin_ctzll(b->used[k]));
	}
	return EMI_RADIX_NONE;
}

uint32_t emi_radix_highest_before(const emi_radix_buckets *b, uint32_t end)
{
	uint64_t w = words_of(end), bits;

	while (w-- != 0) {
		bits = b->used[w];
		if (w == end / 64)
			bits &= ((uint64_t)1 << end % 64) - 1;
		if (bits != 0)
			return (uint32_t)(w * 64 + 63 - (unsigned)__builtin_clzll(bits));
	}
	return EMI_RADIX_NONE;
}
