/* SPDX-License-Identifier: BSL-1.0 */
/*
 * moved.h -- blocks that are not where their ids say.
 *
 * A disk may turn out to be full when a block is written, although there was room when it was allocated.  The block
 * then goes to another disk.  Its id stays what it is, as others know it already; where it went stands in a table,
 * which is empty but for such misfortunes.
 */
#ifndef EMI_MOVED_H
#define EMI_MOVED_H

#include <pthread.h>

#include <extmem/sys/block.h>

typedef struct emi_move {
	em_bid from;            /* where it should be ... */
	uint64_t bytes;         /* ... with so many bytes, ... */
	em_bid to;              /* ... and where it is */
} emi_move;

typedef struct emi_moved {
	em_ctx *ctx;
	pthread_mutex_t lock;
	emi_move *move;         /* by disk and offset, none of which overlap */
	uint32_t n;             /* atomic */
	uint32_t room;
} emi_moved;

/* With room for some if there are several disks; else nothing is ever added.  EM_ERR_NOMEM, EM_ERR_MEMLIMIT. */
em_status emi_moved_init(emi_moved *m, em_ctx *ctx, uint32_t disks, em_errinfo *err);
void emi_moved_free(emi_moved *m, int forked);

/* Bytes of memory that it takes. */
uint64_t emi_moved_memory(uint32_t disks);

/* Were none ever? */
static inline int emi_moved_none(const emi_moved *m)
{
	return __atomic_load_n(&m->n, __ATOMIC_ACQUIRE) == 0;
}

/* What overlaps none that is there: 0 when there is no memory. */
int emi_moved_add(emi_moved *m, const emi_move *move);

/* The first part of [at, at + bytes) that was moved: 1, or 0 when none was. */
int emi_moved_find(emi_moved *m, em_bid at, uint64_t bytes, emi_move *part);

/* The same, and it is forgotten: *whole if that is all that was moved together. */
int emi_moved_take(emi_moved *m, em_bid at, uint64_t bytes, emi_move *part, int *whole);

#endif
