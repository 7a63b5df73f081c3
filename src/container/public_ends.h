/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_ends.h -- what the files that check callers' arguments of stacks, queues and deques share: most of it.
 *
 * Each of the three is an emi_container.  Its windows are shown between calls, if the block at that end is in memory.
 * Callers push and pop there, and nobody knows until the next call: that takes back the windows first.  A reader would
 * have to know, so while there is one none is shown.  Where one block has both ends, its records are shared out among
 * the windows, so that none reaches into the other's.
 */
#ifndef EMI_PUBLIC_ENDS_H
#define EMI_PUBLIC_ENDS_H

#include <extmem/window.h>

#include "base/copy.h"
#include "base/object.h"
#include "block/public_pool.h"
#include "container/ends.h"

typedef struct emi_container emi_container;

typedef struct emi_window {
	em_window w;            /* first: callers have its address */
	emi_container *of;
	emi_end end;
	int pushes, pops;       /* it is for this */
} emi_window;

struct emi_container {
	emi_object object;
	em_block_pool *shared;  /* or NULL */
	emi_ends *ends;
	uint32_t users;         /* the caller, and readers: released with the last */
	size_t record;          /* bytes of a record */
	emi_window window[2];   /* by end */
};

/* *out is an object of a type that is an emi_container. */
em_status emi_container_open(emi_container **out, em_ctx *ctx, const em_container_opts *opts, emi_ends_kind kind);
uint64_t emi_container_memory(const em_container_opts *opts, emi_ends_kind kind, uint64_t records);

/* One who used it does so no more. */
void emi_container_let(emi_container *c);

/* A call, from one to the other; in between `ends' are as they should be. */
em_status emi_container_enter(emi_container *c, em_errinfo *err);
em_status emi_container_leave(emi_container *c, em_status status, const em_errinfo *err);

/* There are records, or room for them: they are in memory, so their bytes do not overflow.  EM_ERR_INVAL. */
em_status emi_container_check(const emi_container *c, const void *records, uint64_t n, em_errinfo *err);

uint64_t emi_container_size(const emi_container *c);
uint64_t emi_container_record_bytes(const emi_container *c);
em_status emi_container_push(emi_container *c, emi_end end, const void *records, uint64_t n, uint64_t *pushed);
em_status emi_container_pop(emi_container *c, emi_end end, void *records, uint64_t n, uint64_t *popped);
em_status emi_container_peek(emi_container *c, emi_end end, void *record);
em_status emi_container_clear(emi_container *c);
em_status emi_container_swap(emi_container *a, emi_container *b);
em_status emi_container_prefetch(emi_container *c, uint32_t blocks);
em_status emi_container_stats(const emi_container *c, em_container_stats *stats);

static inline em_window *emi_container_window(emi_container *c, emi_end end)
{
	return c != NULL ? &c->window[end].w : NULL;
}

/* A record of an unusual size goes from `from' to `to'. */
em_status emi_container_copy(char *to, const char *from, size_t bytes);

/* Copy a record, whose size is mostly a usual one.  EM_OK: so that the call for the others is the last thing that
 * happens, and the usual way has no frame.
 *
 * Calling a function of a shared library takes longer than all that is done here: 8 cycles of a Zen 4, 9 with the jump
 * of a PLT.  Storing a place and loading it in the next call takes one.  What counts is how many branches are taken, so
 * the shortest record has none. */
static inline em_status emi_copy_record(char *to, const char *from, size_t bytes)
{
	if (__builtin_expect(bytes == 4, 1)) {
		memcpy(to, from, 4);
		return EM_OK;
	}
	return emi_copy_usual(to, from, bytes) ? EM_OK : emi_container_copy(to, from, bytes);
}

/* A record is pushed or popped at an end. */
static inline em_status emi_container_push_back(emi_container *c, const void *record)
{
	em_window *w;
	char *at;

	if (c == NULL)
		return EM_ERR_INVAL;
	w = &c->window[EMI_BACK].w;
	at = w->cur;
	if (at == w->high || record == NULL)
		return emi_container_push(c, EMI_BACK, record, 1, NULL);
	w->cur = at + c->record;
	return emi_copy_record(at, record, c->record);
}

static inline em_status emi_container_pop_back(emi_container *c, void *record)
{
	em_window *w;

	if (c == NULL)
		return EM_ERR_INVAL;
	w = &c->window[EMI_BACK].w;
	if (w->cur == w->low || record == NULL)
		return emi_container_pop(c, EMI_BACK, record, 1, NULL);
	w->cur -= c->record;
	return emi_copy_record(record, w->cur, c->record);
}

static inline em_status emi_container_push_front(emi_container *c, const void *record)
{
	em_window *w;

	if (c == NULL)
		return EM_ERR_INVAL;
	w = &c->window[EMI_FRONT].w;
	if (w->cur == w->low || record == NULL)
		return emi_container_push(c, EMI_FRONT, record, 1, NULL);
	w->cur -= c->record;
	return emi_copy_record(w->cur, record, c->record);
}

static inline em_status emi_container_pop_front(emi_container *c, void *record)
{
	em_window *w;
	char *at;

	if (c == NULL)
		return EM_ERR_INVAL;
	w = &c->window[EMI_FRONT].w;
	at = w->cur;
	if (at == w->high || record == NULL)
		return emi_container_pop(c, EMI_FRONT, record, 1, NULL);
	w->cur = at + c->record;
	return emi_copy_record(record, at, c->record);
}

#endif
