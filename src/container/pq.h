/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pq.h -- a priority queue inside: a sequence heap (Sanders, "Fast priority queues for cached memory", 2000).
 *
 *     push ---> insertion buffer --full--> sequences in memory --memory full--> sequences on disks
 *         \           |                        |                                    |
 *          \          +---------- merge -------+------------------------------------+
 *           \                       |
 *            +--> early heap    deletion buffer
 *                     \____________/
 *                           | pop
 *
 * When the deletion buffer is empty, the next items of all others are merged into it.  `limit' is the last of them: no
 * item elsewhere is before it.  What is pushed and comes before the limit goes to the early heap, and all else to the
 * insertion buffer.  So the first item is always that of the deletion buffer or of the early heap.
 *
 * When the early heap is full, what is left of the deletion buffer becomes a sequence, and the early items go to the
 * insertion buffer.  Then there is no limit until something is popped.
 *
 * Among equal items the deletion buffer has the oldest, then come sequences by their ranks, then the insertion buffer;
 * those in the early heap are newer than equal ones in the deletion buffer, and nothing else is equal to them.  So
 * equal items leave in the order in which they came, unless items are joined numbers (pq_item.h).
 *
 * A call that fails changes nothing that can be seen: what it did before is another arrangement of the same items.
 */
#ifndef EMI_PQ_H
#define EMI_PQ_H

#include "base/cursor.h"
#include "base/object.h"
#include "block/public_pool.h"
#include "container/pq_early.h"
#include "container/pq_insertion.h"
#include "container/pq_sequences.h"

struct em_pq {
	emi_object object;
	emi_pq_items items;
	emi_pq_plan plan;
	em_block_pool *shared;  /* or NULL */
	uint64_t n;             /* items */
	int stable;
	/* The deletion buffer. */
	char *front;            /* the next item ... */
	char *front_end;        /* ... if this is behind it */
	char *front_buf;        /* NULL: there is none yet */
	size_t front_bytes;
	/* The limit. */
	int limited;
	emi_pair limit;         /* what it is compared by; without one, less than everything where that is a number */
	char *limit_item;       /* a record */
	emi_pq_early early;
	emi_pq_insertion in;
	emi_pq_sequences sequences;
	char *lent;             /* records of a batch */
	em_batch batch;
	emi_cursor cursor;      /* its window is in `lent' */
	uint64_t refills;       /* of the deletion buffer */
	uint64_t returned;      /* items that came back from it */
	em_placement placement; /* where one was given */
};

/* Fill what begins zeroed, by items and plan in it. */
void emi_pq_init(em_pq *p, em_ctx *ctx, const em_placement *placement);

/* Forget all items, and free all memory but p. */
void emi_pq_clear(em_pq *p);

/* Add a record, or n; *done is how many entered.  All: as em_pq_push(). */
em_status emi_pq_push_slowly(em_pq *p, const char *record, em_errinfo *err);
em_status emi_pq_push(em_pq *p, const char *records, uint64_t n, uint64_t *done, em_errinfo *err);

/* Have the first item of one or more in the deletion buffer or the early heap. */
em_status emi_pq_bring(em_pq *p, em_errinfo *err);

/* Copy the first record, or take it out. */
em_status emi_pq_top(em_pq *p, char *record, em_errinfo *err);
em_status emi_pq_pop_slowly(em_pq *p, char *record, em_errinfo *err);

/* Take out up to n records, as many as there are; and those that come before a bound, or that and those equal to it.
 * *done is how many. */
em_status emi_pq_pop(em_pq *p, char *records, uint64_t n, uint64_t *done, em_errinfo *err);
em_status emi_pq_pop_until(em_pq *p, const char *bound, int inclusive, char *records, uint64_t n, uint64_t *done,
			   em_errinfo *err);

/* Lend the next records, of one or more, which are taken out.  copied: in memory where they stay, whatever is pushed
 * and popped, until more are lent. */
em_status emi_pq_next(em_pq *p, int copied, em_errinfo *err);

/* Push a record and pop the first one; with_it: which may be that itself, as it must be if there are no others. */
em_status emi_pq_exchange(em_pq *p, const char *pushed, char *popped, int with_it, em_errinfo *err);

/* Whether an item whose kind is a number is before the limit: the usual part of a push. */
static inline int emi_pq_is_early(const em_pq *p, const char *item)
{
	uint32_t u32;
	uint64_t u64;

	switch (p->items.kind) {
	case EMI_PQ_U32:
		memcpy(&u32, item, sizeof u32);
		return u32 < p->limit.key;
	case EMI_PQ_U64:
	case EMI_PQ_PAIR:
		memcpy(&u64, item, sizeof u64);
		if (u64 != p->limit.key || p->items.by.tie.fn == NULL)
			return u64 < p->limit.key;
		break;
	case EMI_PQ_RECORD:
	default:
		break;
	}
	return p->limited && emi_pq_before(&p->items, item, &p->limit);
}

/* The last item has left: no limit stays, and all room in memory is free again. */
void emi_pq_emptied(em_pq *p);

/* So many items have left. */
static inline void emi_pq_left(em_pq *p, uint64_t n)
{
	p->n -= n;
	if (p->n == 0)
		emi_pq_emptied(p);
}

/* Add a record. */
static inline em_status emi_pq_push_one(em_pq *p, const char *record, em_errinfo *err)
{
	char *at = p->in.at;

	if (at == p->in.end || p->items.functions)
		return emi_pq_push_slowly(p, record, err);
	emi_pq_load_one(&p->items, record, at);
	if (emi_pq_is_early(p, at))
		return emi_pq_push_slowly(p, record, err);
	p->in.at = at + p->items.bytes;
	p->n++;
	return EM_OK;
}

/* Is the first item, of one or more that are in memory, that of the early heap? */
static inline int emi_pq_early_is_first(const em_pq *p)
{
	emi_pair mine;

	if (p->early.n == 0 || p->front == p->front_end)
		return p->early.n != 0;
	/* Equal ones in the deletion buffer are older. */
	mine = emi_pq_pair(&p->items, p->front);
	return emi_pair_compare(&p->items.by.tie, &mine, &p->early.heap[0].pair) > 0;
}

/* Is it surely that of the deletion buffer?  Where a comparison may fail nobody knows. */
static inline int emi_pq_front_is_first(const em_pq *p)
{
	if (p->front == p->front_end || p->early.n == 0)
		return p->front != p->front_end;
	return !p->items.functions && !emi_pq_early_is_first(p);
}

/* Copy the first record, of one or more. */
static inline em_status emi_pq_top_one(em_pq *p, char *record, em_errinfo *err)
{
	if (!emi_pq_front_is_first(p))
		return emi_pq_top(p, record, err);
	emi_pq_store_one(&p->items, p->front, record);
	return EM_OK;
}

/* Take out the first record, of one or more. */
static inline em_status emi_pq_pop_one(em_pq *p, char *record, em_errinfo *err)
{
	if (!emi_pq_front_is_first(p))
		return emi_pq_pop_slowly(p, record, err);
	emi_pq_store_one(&p->items, p->front, record);
	p->front += p->items.bytes;
	emi_pq_left(p, 1);
	return EM_OK;
}

#endif
