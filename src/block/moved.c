/* SPDX-License-Identifier: BSL-1.0 */
/* moved.c -- see moved.h. */
#include "block/moved.h"

#include <string.h>

#include "base/memory.h"

#define ROOM 64u                /* at first: the writes that are on their way to a disk when it is full */

em_status emi_moved_init(emi_moved *m, em_ctx *ctx, uint32_t disks, em_errinfo *err)
{
	memset(m, 0, sizeof *m);
	m->ctx = ctx;
	pthread_mutex_init(&m->lock, NULL);
	if (disks < 2)
		return EM_OK;
	m->move = emi_alloc_array(ctx, ROOM, sizeof *m->move, err);
	if (m->move == NULL)
		return err->status;
	m->room = ROOM;
	return EM_OK;
}

void emi_moved_free(emi_moved *m, int forked)
{
	if (m->move != NULL)
		emi_free_array(m->ctx, m->move, m->room, sizeof *m->move);
	if (m->ctx != NULL && !forked)
		pthread_mutex_destroy(&m->lock);
	memset(m, 0, sizeof *m);
}

uint64_t emi_moved_memory(uint32_t disks)
{
	return disks < 2 ? 0 : ROOM * sizeof(emi_move);
}

static int is_before(em_bid a, em_bid b)
{
	return a.disk != b.disk ? a.disk < b.disk : a.offset < b.offset;
}

/* The first that ends behind that place, or n. */
static uint32_t search(const emi_moved *m, em_bid at)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const emi_move *v = &m->move[mid];
		em_bid last = v->from;

		last.offset += v->bytes - 1;
		if (is_before(last, at))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int grow(emi_moved *m)
{
	emi_move *more = emi_alloc_array(m->ctx, 2 * (uint64_t)m->room, sizeof *more, NULL);

	if (more == NULL)
		return 0;
	memcpy(more, m->move, m->n * sizeof *more);
	emi_free_array(m->ctx, m->move, m->room, sizeof *more);
	m->move = more;
	m->room *= 2;
	return 1;
}

static int insert(emi_moved *m, uint32_t i, const emi_move *move)
{
	if (m->n == m->room && (m->room == 0 || !grow(m)))
		return 0;
	memmove(&m->move[i + 1], &m->move[i], (m->n - i) * sizeof *move);
	m->move[i] = *move;
	__atomic_store_n(&m->n, m->n + 1, __ATOMIC_RELEASE);
	return 1;
}

int emi_moved_add(emi_moved *m, const emi_move *move)
{
	int added;

	pthread_mutex_lock(&m->lock);
	added = insert(m, search(m, move->from), move);
	pthread_mutex_unlock(&m->lock);
	return added;
}

/* Which one it is, cut to [at, at + bytes); n: none. */
static uint32_t find(const emi_moved *m, em_bid at, uint64_t bytes, emi_move *part)
{
	const uint32_t i = search(m, at);
	uint64_t front, end;

	if (i == m->n || m->move[i].from.disk != at.disk || m->move[i].from.offset >= at.offset + bytes)
		return m->n;
	*part = m->move[i];
	front = at.offset > part->from.offset ? at.offset - part->from.offset : 0;
	end = part->from.offset + part->bytes;
	part->from.offset += front;
	part->to.offset += front;
	part->bytes = (end < at.offset + bytes ? end : at.offset + bytes) - part->from.offset;
	return i;
}

int emi_moved_find(emi_moved *m, em_bid at, uint64_t bytes, emi_move *part)
{
	int found;

	if (emi_moved_none(m))
		return 0;
	pthread_mutex_lock(&m->lock);
	found = find(m, at, bytes, part) != m->n;
	pthread_mutex_unlock(&m->lock);
	return found;
}

/* Cut a part out of the i-th: what is before it stays there, what is behind it comes next. */
static int cut_out(emi_moved *m, uint32_t i, const emi_move *part)
{
	const uint64_t front = part->from.offset - m->move[i].from.offset;
	const uint64_t back = m->move[i].bytes - front - part->bytes;
	emi_move rest = m->move[i];

	rest.from.offset += front + part->bytes;
	rest.to.offset += front + part->bytes;
	rest.bytes = back;
	if (front != 0 && back != 0 && !insert(m, i + 1, &rest))
		return 0;
	if (front != 0) {
		m->move[i].bytes = front;
	} else if (back != 0) {
		m->move[i] = rest;
	} else {
		memmove(&m->move[i], &m->move[i + 1], (m->n - i - 1) * sizeof rest);
		__atomic_store_n(&m->n, m->n - 1, __ATOMIC_RELEASE);
	}
	return 1;
}

int emi_moved_take(emi_moved *m, em_bid at, uint64_t bytes, emi_move *part, int *whole)
{
	uint32_t i;
	int found = 0;

	if (emi_moved_none(m))
		return 0;
	pthread_mutex_lock(&m->lock);
	i = find(m, at, bytes, part);
	if (i != m->n) {
		*whole = part->bytes == m->move[i].bytes;
		/* Without memory for what is left in two pieces it stays as it is, which takes space and does no
		 * harm: nobody asks for the part any more. */
		found = cut_out(m, i, part);
	}
	pthread_mutex_unlock(&m->lock);
	return found;
}
