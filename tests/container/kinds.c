/* SPDX-License-Identifier: BSL-1.0 */
/* kinds.c -- see kinds.h. */
#include "container/kinds.h"

static em_status vector_open(void **out, em_ctx *ctx, const container_how *how)
{
	em_vector_opts o = EM_VECTOR_OPTS_INIT;

	o.record_bytes = 8;
	o.block_bytes = how->block_bytes;
	o.cache_bytes = how->memory_bytes;
	o.placement = how->placement;
	o.path = how->path;
	o.flags = how->path != NULL ? EM_VECTOR_CREATE : 0;
	o.errinfo = how->errinfo;
	return em_vector_open((em_vector **)out, ctx, &o);
}

static em_status vector_pop(em_vector *v, uint64_t *numbers, uint64_t n, uint64_t *done)
{
	const uint64_t left = em_vector_size(v) - n;
	const em_status st = em_vector_read(v, left, numbers, n);

	(void)done;
	return st == EM_OK ? em_vector_resize(v, left) : st;
}

static em_status vector_clear(em_vector *v)
{
	return em_vector_resize(v, 0);
}

static em_status vector_touch(void *x, uint64_t i)
{
	return em_vector_set(x, i, &i);
}

static em_container_opts ends(const container_how *how)
{
	em_container_opts o = EM_CONTAINER_OPTS_INIT;

	o.record_bytes = 8;
	o.block_bytes = how->block_bytes;
	o.memory_bytes = how->memory_bytes;
	o.placement = how->placement;
	o.errinfo = how->errinfo;
	return o;
}

static em_status stack_open(void **out, em_ctx *ctx, const container_how *how)
{
	const em_container_opts o = ends(how);

	return em_stack_open((em_stack **)out, ctx, &o);
}

static em_status queue_open(void **out, em_ctx *ctx, const container_how *how)
{
	const em_container_opts o = ends(how);

	return em_queue_open((em_queue **)out, ctx, &o);
}

static em_status deque_open(void **out, em_ctx *ctx, const container_how *how)
{
	const em_container_opts o = ends(how);

	return em_deque_open((em_deque **)out, ctx, &o);
}

static em_status deque_touch(void *x, uint64_t i)
{
	return em_deque_get(x, i, &i);
}

static em_status pq_open(void **out, em_ctx *ctx, const container_how *how)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_pq_opts o = EM_PQ_OPTS_INIT;
	em_order *order;
	em_status st = em_order_keys(&order, ctx, 8, &key, 1, how->errinfo);

	if (st != EM_OK)
		return st;
	o.order = order;
	o.block_bytes = how->block_bytes;
	o.memory_bytes = how->memory_bytes;
	o.placement = how->placement;
	o.errinfo = how->errinfo;
	st = em_pq_open((em_pq **)out, ctx, &o);
	em_order_close(order);
	return st;
}

static em_status radix_heap_open(void **out, em_ctx *ctx, const container_how *how)
{
	em_radix_heap_opts o = EM_RADIX_HEAP_OPTS_INIT;

	o.record_bytes = 8;
	o.block_bytes = how->block_bytes;
	o.memory_bytes = how->memory_bytes;
	o.placement = how->placement;
	o.errinfo = how->errinfo;
	return em_radix_heap_open((em_radix_heap **)out, ctx, &o);
}

static em_status btree_open(void **out, em_ctx *ctx, const container_how *how)
{
	const uint64_t least = EM_BTREE_FRAMES_MIN * how->block_bytes, share = how->memory_bytes / 16;
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_btree_opts o = EM_BTREE_OPTS_INIT;
	em_order *order;
	em_status st = em_order_keys(&order, ctx, 8, &key, 1, how->errinfo);

	if (st != EM_OK)
		return st;
	o.leaf_bytes = o.node_bytes = how->block_bytes;
	o.cache_bytes = how->memory_bytes;
	o.node_cache_bytes = share > least ? share : least;
	o.flags = EM_BTREE_DUPLICATES;
	o.placement = how->placement;
	o.errinfo = how->errinfo;
	st = em_btree_open((em_btree **)out, ctx, order, &o);
	em_order_close(order);
	return st;
}

/* From both ends. */
static em_status btree_pop(em_btree *t, uint64_t *numbers, uint64_t n, uint64_t *done)
{
	em_status st = EM_OK;
	uint64_t i;

	(void)done;
	for (i = 0; st == EM_OK && i < n; i++)
		st = i % 3 != 0 ? em_btree_pop_min(t, &numbers[i]) : em_btree_pop_max(t, &numbers[i]);
	return st;
}

#define PASTE(a, b, c) a##b##c
#define NAME(a, b, c) PASTE(a, b, c)
#define MINE(method) NAME(KIND, _, method##_of)
#define THEIRS(method) NAME(em_, KIND, _##method)

#define KIND vector
#define PUSH em_vector_push_many
#define POP vector_pop
#define CLEAR vector_clear
#include "container/kind.inc"

#define KIND stack
#define PUSH em_stack_push_many
#define POP em_stack_pop_many
#define CLEAR em_stack_clear
#include "container/kind.inc"

#define KIND queue
#define PUSH em_queue_push_many
#define POP em_queue_pop_many
#define CLEAR em_queue_clear
#include "container/kind.inc"

#define KIND deque
#define PUSH em_deque_push_front_many
#define POP em_deque_pop_back_many
#define CLEAR em_deque_clear
#include "container/kind.inc"

#define KIND pq
#define PUSH em_pq_push_many
#define POP em_pq_pop_many
#define CLEAR em_pq_clear
#include "container/kind.inc"

#define KIND radix_heap
#define PUSH em_radix_heap_push_many
#define POP em_radix_heap_pop_many
#define CLEAR em_radix_heap_clear
#include "container/kind.inc"

#define KIND btree
#define PUSH em_btree_insert_many
#define POP btree_pop
#define CLEAR em_btree_clear
#include "container/kind.inc"

#define METHODS(kind) \
	kind##_open, kind##_push_of, kind##_pop_of, kind##_clear_of, kind##_size_of, kind##_cancel_of, \
		kind##_error_of, kind##_close_of

const container_kind container_kinds[CONTAINER_KINDS] = {
	{ 8, METHODS(vector), vector_touch },
	{ 16, METHODS(stack), NULL },
	{ 16, METHODS(queue), NULL },
	{ 16, METHODS(deque), deque_touch },
	{ 64, METHODS(pq), NULL },
	{ 256, METHODS(radix_heap), NULL },
	{ 8, METHODS(btree), NULL },
};
