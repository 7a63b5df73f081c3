/* SPDX-License-Identifier: BSL-1.0 */
/* public_ends.c -- see public_ends.h: what callers give is checked, and the detail of failures is kept. */
#include "container/public_ends.h"

#include <inttypes.h>

#include "base/context.h"
#include "base/copy.h"
#include "base/structs.h"
#include "container/given.h"

void emi_container_let(emi_container *c)
{
	em_block_pool *shared = c->shared;

	if (--c->users != 0)
		return;
	if (c->ends != NULL)
		emi_ends_close(c->ends);
	emi_object_free(c, sizeof *c);
	if (shared != NULL)
		emi_pool_let(shared);
}

/* Have the flag of those with whom it shares a pool; the blocks of others are its own. */
static void take_turn(emi_container *c)
{
	c->object.turn = c->shared != NULL ? c->shared->share.object.turn : &c->object;
	if (c->shared == NULL)
		emi_store_watch(c->ends->store, &c->object.canceled);
}

/* With readers it goes on for these. */
static void release(void *container)
{
	emi_container_let(container);
}

static void init_window(emi_container *c, emi_end end, int pushes, int pops, ptrdiff_t step)
{
	emi_window *w = &c->window[end];

	w->of = c;
	w->end = end;
	w->pushes = pushes;
	w->pops = pops;
	w->w.step = step;
}

static em_status open_container(emi_container **out, em_ctx *ctx, const em_container_opts *o, emi_ends_kind kind,
				em_errinfo *err)
{
	em_block_pool *shared = o->pool;
	emi_ends_shape shape;
	emi_container *c;
	em_status st = emi_ends_shape_init(&shape, kind, o, ctx, shared != NULL ? &shared->pool : NULL, err);

	if (st != EM_OK)
		return st;
	c = emi_object_new(ctx, sizeof *c, 0, release, err);
	if (c == NULL)
		return err->status;
	c->users = 1;
	c->record = shape.record;
	init_window(c, EMI_BACK, 1, kind != EMI_QUEUE, (ptrdiff_t)shape.record);
	init_window(c, EMI_FRONT, kind == EMI_DEQUE, kind != EMI_STACK, -(ptrdiff_t)shape.record);
	st = emi_ends_open(&c->ends, ctx, &shape, o->placement, shared != NULL ? &shared->pool : NULL, err);
	if (st != EM_OK) {
		emi_container_let(c);
		return st;
	}
	if (shared != NULL) {
		emi_pool_hold(shared);
		c->shared = shared;
	}
	take_turn(c);
	*out = c;
	return EM_OK;
}

em_status emi_container_open(emi_container **out, em_ctx *ctx, const em_container_opts *opts, emi_ends_kind kind)
{
	em_container_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(opts, "opts", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_container_opts, &o, opts, &err);
	if (st == EM_OK)
		st = emi_given_pool(ctx, o.pool, &err);
	if (st == EM_OK)
		st = open_container(out, ctx, &o, kind, &err);
	return emi_tell(EMI_ERRINFO_OF(em_container_opts, opts), st, &err);
}

uint64_t emi_container_memory(const em_container_opts *opts, emi_ends_kind kind, uint64_t records)
{
	emi_ends_shape shape;
	em_container_opts o;
	em_errinfo err;
	uint64_t bytes;

	emi_errinfo_clear(&err);
	if (opts == NULL || EMI_STRUCT_TAKE(em_container_opts, &o, opts, &err) != EM_OK ||
	    emi_ends_shape_init(&shape, kind, &o, NULL, o.pool != NULL ? &o.pool->pool : NULL, &err) != EM_OK)
		return 0;
	bytes = emi_ends_memory(&shape, records);
	return bytes <= UINT64_MAX - sizeof(emi_container) ? bytes + sizeof(emi_container) : UINT64_MAX;
}

static emi_ends_block *block_at(const emi_ends *e, emi_end end)
{
	return emi_ends_at(e, end == EMI_FRONT ? 0 : e->blocks - 1);
}

/* What was pushed and popped in a window since it was shown, in bytes that `at' of its end has moved by. */
static ptrdiff_t moved(const emi_container *c, emi_end end)
{
	const emi_ends *e = c->ends;
	const em_window *w = &c->window[end].w;

	if (w->cur == NULL)
		return 0;
	return w->cur - (block_at(e, end)->buf + (end == EMI_FRONT ? e->front_at : e->back_at));
}

static void take_back(emi_container *c, emi_end end)
{
	em_window *w = &c->window[end].w;
	size_t *at = end == EMI_FRONT ? &c->ends->front_at : &c->ends->back_at;

	*at = (size_t)((ptrdiff_t)*at + moved(c, end));
	w->cur = w->low = w->high = NULL;
}

/* Show the part of a block from `low' to `high' that records are in or may be. */
static void show_part(emi_container *c, emi_end end, size_t low, size_t high)
{
	em_window *w = &c->window[end].w;
	char *buf = block_at(c->ends, end)->buf;

	if (buf == NULL)
		return;
	w->low = buf + low;
	w->high = buf + high;
	w->cur = buf + (end == EMI_FRONT ? c->ends->front_at : c->ends->back_at);
}

static void show(emi_container *c)
{
	const emi_ends *e = c->ends;
	const emi_ends_shape *s = &e->shape;
	const size_t limit = e->piece != 0 ? e->piece / s->record * s->record : s->full;
	size_t low = 0, high = limit;

	/* Readers are to know of each record that comes or goes. */
	if (e->blocks == 0 || c->users > 1 || (c->object.state & EMI_OBJECT_CHECKED) != 0)
		return;
	/* One block has both ends: up to there its records are the front's, and from there on the back's. */
	if (e->blocks == 1) {
		low = high = e->front_at;
		if (s->kind == EMI_QUEUE)
			low = high = e->back_at;
		if (s->kind == EMI_DEQUE)
			low = high = e->front_at + (e->back_at - e->front_at) / s->record / 2 * s->record;
	}
	if (c->window[EMI_FRONT].pops)
		show_part(c, EMI_FRONT, c->window[EMI_FRONT].pushes ? 0 : e->front_at, high);
	show_part(c, EMI_BACK, c->window[EMI_BACK].pops ? low : e->back_at, limit);
}

em_status emi_container_enter(emi_container *c, em_errinfo *err)
{
	const em_status st = emi_enter(c, err);

	if (st == EM_OK) {
		take_back(c, EMI_FRONT);
		take_back(c, EMI_BACK);
	}
	return st;
}

em_status emi_container_leave(emi_container *c, em_status status, const em_errinfo *err)
{
	show(c);
	return emi_leave(c, status, err);
}

uint64_t emi_container_size(const emi_container *c)
{
	ptrdiff_t bytes;

	if (c == NULL)
		return 0;
	bytes = moved(c, EMI_BACK) - moved(c, EMI_FRONT);
	return emi_ends_size(c->ends) + (uint64_t)(int64_t)(bytes / (ptrdiff_t)c->ends->shape.record);
}

uint64_t emi_container_record_bytes(const emi_container *c)
{
	return c != NULL ? c->ends->shape.record : 0;
}

em_status emi_container_copy(char *to, const char *from, size_t bytes)
{
	emi_copy(to, from, bytes);
	return EM_OK;
}

em_status emi_container_check(const emi_container *c, const void *records, uint64_t n, em_errinfo *err)
{
	const em_status st = n != 0 ? emi_given(records, n == 1 ? "record" : "records", err) : EM_OK;

	if (st == EM_OK && n > SIZE_MAX / c->ends->shape.record)
		return emi_fail(err, EM_ERR_INVAL,
				"%" PRIu64 " records of %" PRIu64 " bytes are more than memory can have", n,
				(uint64_t)c->ends->shape.record);
	return st;
}

em_status emi_container_push(emi_container *c, emi_end end, const void *records, uint64_t n, uint64_t *pushed)
{
	em_errinfo err;
	em_status st = emi_container_enter(c, &err);
	uint64_t done = 0;

	if (pushed != NULL)
		*pushed = 0;
	if (st != EM_OK)
		return st;
	st = emi_container_check(c, records, n, &err);
	if (st == EM_OK)
		st = emi_ends_push(c->ends, end, records, n, &done, &err);
	if (pushed != NULL)
		*pushed = done;
	return emi_container_leave(c, st, &err);
}

em_status emi_container_pop(emi_container *c, emi_end end, void *records, uint64_t n, uint64_t *popped)
{
	em_errinfo err;
	em_status st = emi_container_enter(c, &err);
	uint64_t done = 0;

	if (popped != NULL)
		*popped = 0;
	if (st != EM_OK)
		return st;
	st = emi_container_check(c, records, n, &err);
	if (st == EM_OK)
		st = emi_ends_pop(c->ends, end, records, n, &done, &err);
	if (popped != NULL)
		*popped = done;
	return emi_container_leave(c, st, &err);
}

em_status emi_container_peek(emi_container *c, emi_end end, void *record)
{
	em_errinfo err;
	em_status st = emi_container_enter(c, &err);

	if (st != EM_OK)
		return st;
	st = emi_given(record, "record", &err);
	if (st == EM_OK)
		st = emi_ends_peek(c->ends, end, record, &err);
	return emi_container_leave(c, st, &err);
}

em_status emi_container_clear(emi_container *c)
{
	em_errinfo err;
	const em_status st = emi_container_enter(c, &err);

	return st == EM_OK ? emi_container_leave(c, emi_ends_clear(c->ends, &err), &err) : st;
}

static em_status check_swap(const emi_container *a, const emi_container *b, em_errinfo *err)
{
	const em_status st = emi_given(b, "b", err);

	if (st == EM_OK && a->object.ctx != b->object.ctx)
		return emi_fail(err, EM_ERR_INVAL, "they are of two contexts");
	if (st == EM_OK && (a->users > 1 || b->users > 1))
		return emi_fail(err, EM_ERR_STATE, "one of them has a reader");
	return st;
}

/* Have what another one had. */
static void have(emi_container *c, emi_ends *ends, em_block_pool *shared)
{
	c->ends = ends;
	c->shared = shared;
	c->record = ends->shape.record;
	c->window[EMI_BACK].w.step = (ptrdiff_t)c->record;
	c->window[EMI_FRONT].w.step = -(ptrdiff_t)c->record;
}

/* No call on either is in progress. */
static void swap(emi_container *a, emi_container *b)
{
	em_block_pool *shared = a->shared;
	emi_ends *ends = a->ends;

	have(a, b->ends, b->shared);
	have(b, ends, shared);
	take_turn(a);
	take_turn(b);
	show(a);
	show(b);
}

em_status emi_container_swap(emi_container *a, emi_container *b)
{
	em_errinfo err;
	em_status st = emi_container_enter(a, &err);
	int apart;

	if (st != EM_OK)
		return st;
	st = check_swap(a, b, &err);
	if (st != EM_OK || a == b)
		return emi_container_leave(a, st, &err);
	/* With one pool they have one flag. */
	apart = a->object.turn != b->object.turn;
	if (apart && emi_enter_quickly(&b->object) != EM_OK)
		return emi_container_leave(a, emi_fail(&err, EM_ERR_BUSY, "another call on b is in progress"), &err);
	take_back(b, EMI_FRONT);
	take_back(b, EMI_BACK);
	if (apart)
		emi_leave_quickly(&b->object);
	emi_leave_quickly(&a->object);
	swap(a, b);
	return EM_OK;
}

static em_status prefetch(emi_container *c, uint32_t blocks, em_errinfo *err)
{
	if (blocks > (uint32_t)1 << 28)
		return emi_fail(err, EM_ERR_INVAL, "%" PRIu32 " blocks to read ahead", blocks);
	return emi_ends_prefetch(c->ends, blocks, err);
}

em_status emi_container_prefetch(emi_container *c, uint32_t blocks)
{
	em_errinfo err;
	const em_status st = emi_container_enter(c, &err);

	return st == EM_OK ? emi_container_leave(c, prefetch(c, blocks, &err), &err) : st;
}

em_status emi_container_stats(const emi_container *c, em_container_stats *stats)
{
	em_container_stats s = EM_CONTAINER_STATS_INIT;
	const emi_ends *e;

	if (c == NULL)
		return EM_ERR_INVAL;
	e = c->ends;
	s.records = emi_container_size(c);
	s.block_bytes = e->shape.block_bytes;
	s.block_records = e->shape.full / e->shape.record;
	s.blocks = e->blocks;
	s.blocks_disk = e->disks;
	s.memory_blocks = e->shape.hold;
	s.writes = e->written;
	s.reads = e->read;
	s.recalled = e->recalled;
	return EMI_STRUCT_GIVE(em_container_stats, stats, &s);
}

static em_status check_window(const emi_window *w, int allowed, const void *record, ptrdiff_t step, em_errinfo *err)
{
	if (step != w->w.step)
		return emi_fail(err, EM_ERR_INVAL, "a step of %" PRId64 " bytes: that of the window is %" PRId64,
				(int64_t)step, (int64_t)w->w.step);
	if (!allowed)
		return emi_fail(err, EM_ERR_INVAL, "this end is not for that");
	return emi_given(record, "record", err);
}

em_status em_window_push(em_window *window, const void *record, ptrdiff_t step)
{
	emi_window *w = (emi_window *)window;
	uint64_t done;
	em_errinfo err;
	em_status st;

	if (w == NULL)
		return EM_ERR_INVAL;
	st = emi_container_enter(w->of, &err);
	if (st != EM_OK)
		return st;
	st = check_window(w, w->pushes, record, step, &err);
	if (st == EM_OK)
		st = emi_ends_push(w->of->ends, w->end, record, 1, &done, &err);
	return emi_container_leave(w->of, st, &err);
}

em_status em_window_pop(em_window *window, void *record, ptrdiff_t step)
{
	emi_window *w = (emi_window *)window;
	uint64_t done;
	em_errinfo err;
	em_status st;

	if (w == NULL)
		return EM_ERR_INVAL;
	st = emi_container_enter(w->of, &err);
	if (st != EM_OK)
		return st;
	st = check_window(w, w->pops, record, step, &err);
	if (st == EM_OK)
		st = emi_ends_pop(w->of->ends, w->end, record, 1, &done, &err);
	return emi_container_leave(w->of, st, &err);
}
