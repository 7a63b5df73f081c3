/* SPDX-License-Identifier: BSL-1.0 */
/*
 * buffers.h -- buffers for blocks of one size that one object has for itself, most of them side by side in large pages.
 *
 * What is in one large page is one piece for a disk.  A block in small pages, which lie anywhere in memory, is as many
 * pieces as it has pages, and some disks take several times as long for that.  Blocks are mostly smaller than a large
 * page, so buffers that are allocated one by one would have none.
 *
 * The first few buffers are allocated one by one all the same, so who has little takes little.  All others are made
 * many at a time: whole large pages of them, as many as there were before.  Those first ones are freed when they come
 * back later, so that in the end there is room for whole large pages only.  Where there is no memory for so many at
 * once, fewer do.
 *
 * Buffers that are to be given to others (block/block_pool.h) must be such as can be freed one by one: then all are
 * allocated so.  So are those that have large pages of their own.
 */
#ifndef EMI_BUFFERS_H
#define EMI_BUFFERS_H

#include <stddef.h>

#include <extmem/ctx.h>

#define EMI_BUFFERS_ALONE 4u

typedef struct emi_buffers_slab emi_buffers_slab;

typedef struct emi_buffers {
	em_ctx *ctx;
	size_t bytes;
	uint32_t most;          /* that there are at any time; 0: all are allocated one by one, and nobody counts
	                           them */
	uint32_t made;          /* that there are, if most is not 0 */
	char *free;             /* each begins with the address of the next one */
	emi_buffers_slab *slabs;
	char *alone[EMI_BUFFERS_ALONE]; /* or NULL */
} emi_buffers;

/* None; bytes are a multiple of a page, most is 0 for those that are given to others. */
void emi_buffers_init(emi_buffers *b, em_ctx *ctx, size_t bytes, uint32_t most);

/* There may be another number of them. */
void emi_buffers_limit(emi_buffers *b, uint32_t most);

/* Free those that came back, and, where they are many at a time, all. */
void emi_buffers_close(emi_buffers *b);

/* Most bytes of memory with that many. */
uint64_t emi_buffers_memory(size_t bytes, uint32_t most);

/* NULL: EM_ERR_MEMLIMIT, EM_ERR_NOMEM, or there are as many as may be. */
char *emi_buffers_take(emi_buffers *b, em_errinfo *err);
void emi_buffers_give(emi_buffers *b, char *buf);

/* Free what can be freed. */
void emi_buffers_trim(emi_buffers *b);

#endif
