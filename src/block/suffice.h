/* SPDX-License-Identifier: BSL-1.0 */
/*
 * suffice.h -- whether a context has the memory that an object is going to need, which is told when it is opened.
 *
 * Memory is taken when it is needed for the first time, so an object that wants more than there ever is would open and
 * fail in the midst of work.  What counts is the memory of the context as a whole: others may give back what they have.
 *
 * An object needs its own: caches, buffers, and what says where its blocks are.  It needs disks as well, whose queues
 * have threads with stacks.  What grows with the blocks on disk has no bound.  So as much is asked for as some of them
 * need, and whoever has more learns when there is no memory what would do.
 */
#ifndef EMI_SUFFICE_H
#define EMI_SUFFICE_H

#include <extmem/ctx.h>

#include "base/error.h"

/* So many blocks more than it has memory for have room in whatever could be opened. */
#define EMI_BLOCKS_SURE 1024u

typedef struct emi_wants {
	uint64_t bytes;         /* its own, and ... */
	uint64_t blocks;        /* that are on disks: EMI_BLOCKS_SURE more than it has memory for; ... */
	uint64_t block_bytes;   /* of a block */
	uint32_t place_bytes;   /* ... so many for each of those on disks, if `bytes' have not counted them */
	uint32_t users;         /* of scratch disks that it is; 0: it has none, ... */
	uint32_t files;         /* ... but so many files */
} emi_wants;

/* The least memory, and no less than `memory', of a context with which it works. */
uint64_t emi_suffice_least(const em_ctx *ctx, uint64_t memory, const emi_wants *w);

/* EM_OK, or EM_ERR_MEMLIMIT if that is more than the context has.  The text names the options and how they are set:
 * "cache_bytes of 4096". */
em_status emi_suffice_check(const em_ctx *ctx, const emi_wants *w, em_errinfo *err, const char *fmt, ...)
	EMI_PRINTF(4, 5);

/* The same when the least is known. */
em_status emi_suffice_refuse(const em_ctx *ctx, uint64_t least, em_errinfo *err, const char *fmt, ...)
	EMI_PRINTF(4, 5);

#endif
