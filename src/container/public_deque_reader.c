/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_deque_reader.c -- readers of deques.
 *
 * Blocks at the ends are lent where they are.  Those on disks come by a pool of the reader's own, on the store of the
 * deque, so what others have changed in them is seen.
 *
 * It is of one thread with its deque, so it has that one's flag that tells of a call in progress, and keeps it.
 */
#include <inttypes.h>

#include <extmem/deque.h>

#include "base/cursor.h"
#include "base/pieces.h"
#include "base/structs.h"
#include "block/suffice.h"
#include "container/public_ends.h"

#define BUFFERS_MOST ((uint32_t)1 << 16)

struct em_deque_reader {
	emi_object object;
	emi_container *deque;
	emi_block_pool pool;
	char *buf;              /* of the block that is lent */
	uint32_t depth;         /* blocks that are read ahead */
	int reverse;
	uint64_t from, end;     /* positions: [from, end) are still to be lent */
	uint64_t asked;         /* the number of the block to be asked for next, */
	uint64_t left;          /* and how many are left to be asked for from that one on */
	uint64_t version, size, front; /* of the deque, when the reader was opened */
	em_batch batch;
	emi_cursor cursor;
};

static void release_reader(void *reader)
{
	em_deque_reader *r = reader;
	emi_container *c = r->deque;

	emi_block_pool_close(&r->pool);
	if (r->buf != NULL)
		emi_piece_free(c->object.ctx, r->buf, c->ends->shape.block_bytes);
	emi_object_free(r, sizeof *r);
	emi_container_let(c);
}

/* The number of the block that record i is in. */
static uint64_t number_of(const emi_ends *e, uint64_t i)
{
	return e->number + emi_ends_find(e, i).block;
}

/* The place of the first record among all that there ever might be. */
static uint64_t front_of(const emi_ends *e)
{
	return e->number * (e->shape.full / e->shape.record) + e->front_at / e->shape.record;
}

/* Have the blocks that come next be read, if they are on disks. */
static void hint(em_deque_reader *r)
{
	const emi_ends *e = r->deque->ends;
	const uint64_t now = number_of(e, r->reverse ? r->end - 1 : r->from);
	const uint64_t passed = r->reverse ? r->asked - now : now - r->asked;

	/* There was no buffer for these when it was time. */
	if (passed - 1 < r->left) {
		r->asked = now;
		r->left -= passed;
	}
	while (r->left != 0 && (r->reverse ? now - r->asked : r->asked - now) <= r->depth) {
		const emi_ends_block *b = emi_ends_at(e, r->asked - e->number);

		if (b->buf == NULL && !emi_block_pool_hint(&r->pool, b->bid))
			break;
		r->asked += r->reverse ? UINT64_MAX : 1;
		r->left--;
	}
}

static em_status fill_cursor(emi_cursor *c, void *reader)
{
	const em_batch *batch;
	const em_status st = em_deque_reader_next(reader, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static uint32_t depth_of(const emi_ends *e, uint32_t buffers, uint64_t blocks)
{
	const uint32_t usual = e->shape.depth < e->pool->nprefetch ? e->shape.depth : e->pool->nprefetch;
	uint32_t depth = buffers != 0 ? buffers : usual;

	if (depth > BUFFERS_MOST)
		depth = BUFFERS_MOST;
	return blocks < depth ? (uint32_t)blocks : depth;
}

static em_status check_options(const emi_container *c, em_deque_reader_opts *o, em_errinfo *err)
{
	const uint64_t size = emi_ends_size(c->ends);

	if (o->direction > EM_DEQUE_REVERSE)
		return emi_fail(err, EM_ERR_INVAL, "there is no direction %" PRIu32, o->direction);
	if (o->buffers > BUFFERS_MOST)
		return emi_fail(err, EM_ERR_RANGE, "%" PRIu32 " buffers", o->buffers);
	if (o->n == UINT64_MAX && o->from <= size)
		o->n = size - o->from;
	if (o->from > size || o->n > size - o->from)
		return emi_fail(err, EM_ERR_RANGE,
				"there are no %" PRIu64 " records from %" PRIu64 " on: there are %" PRIu64, o->n,
				o->from, size);
	return EM_OK;
}

static void begin(em_deque_reader *r, const em_deque_reader_opts *o)
{
	const emi_ends *e = r->deque->ends;

	r->reverse = o->direction == EM_DEQUE_REVERSE;
	r->from = o->from;
	r->end = o->from + o->n;
	r->version = e->version;
	r->size = emi_ends_size(e);
	r->front = front_of(e);
	if (o->n != 0) {
		const uint64_t low = number_of(e, r->from), high = number_of(e, r->end - 1);

		r->asked = r->reverse ? high : low;
		r->left = high - low + 1;
	}
	r->depth = depth_of(e, o->buffers, r->left);
}

/* Will the context have the memory?  The container's disks are there. */
static em_status check_memory(const em_deque_reader *r, em_errinfo *err)
{
	const emi_wants w = {
		sizeof *r + emi_block_pool_memory(r->deque->ends->shape.block_bytes, 0, r->depth), 0, 0, 0, 0, 0
	};

	return emi_suffice_check(r->object.ctx, &w, err, "buffers of %" PRIu32, r->depth);
}

static em_status open_reader(em_deque_reader **out, emi_container *c, em_deque_reader_opts *o, em_errinfo *err)
{
	const ptrdiff_t record = (ptrdiff_t)c->ends->shape.record;
	em_deque_reader *r;
	em_status st = check_options(c, o, err);

	if (st != EM_OK)
		return st;
	r = emi_object_new(c->object.ctx, sizeof *r, 0, release_reader, err);
	if (r == NULL)
		return err->status;
	r->object.turn = c->object.turn;
	r->deque = c;
	c->users++;
	begin(r, o);
	st = check_memory(r, err);
	if (st == EM_OK)
		st = emi_block_pool_open(&r->pool, c->object.ctx, c->ends->store, c->ends->shape.block_bytes, 0,
					 r->depth, NULL, err);
	if (st != EM_OK) {
		release_reader(r);
		return st;
	}
	emi_cursor_init(&r->cursor, r->reverse ? -record : record, fill_cursor, r);
	if (r->left != 0)
		hint(r);
	*out = r;
	return EM_OK;
}

em_status em_deque_reader_open(em_deque_reader **out, em_deque *d, const em_deque_reader_opts *opts)
{
	const em_deque_reader_opts plain = EM_DEQUE_READER_OPTS_INIT;
	emi_container *c = (emi_container *)d;
	em_deque_reader_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_container_enter(c, &err);
	if (st != EM_OK)
		return st;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_deque_reader_opts, &o, opts != NULL ? opts : &plain, &err);
	if (st == EM_OK)
		st = open_reader(out, c, &o, &err);
	(void)emi_tell(EMI_ERRINFO_OF(em_deque_reader_opts, opts), st, &err);
	return emi_container_leave(c, st, &err);
}

/* Have a block in memory. */
static em_status bring(em_deque_reader *r, uint64_t block, const char **buf, em_errinfo *err)
{
	const emi_ends *e = r->deque->ends;
	const emi_ends_block *b = emi_ends_at(e, block);
	em_status st;

	*buf = b->buf;
	if (b->buf != NULL)
		return EM_OK;
	if (r->buf == NULL)
		r->buf = emi_piece_alloc(r->object.ctx, e->shape.block_bytes, err);
	if (r->buf == NULL)
		return err->status;
	st = emi_block_pool_read(&r->pool, &r->buf, b->bid, err);
	*buf = r->buf;
	return st;
}

static em_status next(em_deque_reader *r, em_errinfo *err)
{
	const emi_ends *e = r->deque->ends;
	const size_t record = e->shape.record;
	emi_ends_place p;
	uint64_t n = r->end - r->from;
	const char *buf;
	em_status st;

	if (e->version != r->version || front_of(e) != r->front || emi_ends_size(e) != r->size)
		return emi_fail(err, EM_ERR_STATE,
				"the deque was pushed to or popped from since the reader was opened, or a push failed");
	if (n == 0)
		return EM_END;
	p = emi_ends_find(e, r->reverse ? r->end - 1 : r->from);
	if (r->reverse)
		p.n = p.at / record + 1;
	if (n > p.n)
		n = p.n;
	if (r->reverse)
		p.at -= (size_t)(n - 1) * record;
	hint(r);
	st = bring(r, p.block, &buf, err);
	if (st != EM_OK)
		return st;
	r->batch.records = buf + p.at;
	r->batch.n = (size_t)n;
	r->batch.bytes = (size_t)n * record;
	*(r->reverse ? &r->end : &r->from) += r->reverse ? (uint64_t)0 - n : n;
	return EM_OK;
}

em_status em_deque_reader_next(em_deque_reader *r, const em_batch **batch)
{
	em_errinfo err;
	em_status st;

	if (batch != NULL)
		*batch = NULL;
	if (r == NULL)
		return EM_ERR_INVAL;
	st = emi_container_enter(r->deque, &err);
	/* A call within another one changes nothing, so the detail stays, too. */
	if (st != EM_OK)
		return st == EM_ERR_BUSY ? st : emi_keep(&r->object, st, &err);
	st = emi_given(batch, "batch", &err);
	emi_cursor_clear(&r->cursor);
	if (st == EM_OK)
		st = next(r, &err);
	if (st == EM_OK)
		*batch = &r->batch;
	if (st < EM_OK)
		(void)emi_keep(&r->object, st, &err);
	return emi_container_leave(r->deque, st, &err);
}

em_cursor *em_deque_reader_cursor(em_deque_reader *r)
{
	return r != NULL ? &r->cursor.c : NULL;
}

void em_deque_reader_error(const em_deque_reader *r, em_errinfo *err)
{
	emi_object_error(r, err);
}

void em_deque_reader_close(em_deque_reader *r)
{
	emi_object_close(r);
}
