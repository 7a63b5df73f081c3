/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kinds.h -- the kinds of containers as one: of records that are u64, opened, filled, emptied and closed by the same
 * calls, for what all of them promise.
 */
#ifndef EM_KINDS_H
#define EM_KINDS_H

#include <extmem.h>
#include <extmem/sys/placement.h>

/* How one is opened. */
typedef struct container_how {
	uint64_t memory_bytes;  /* of its cache or buffers */
	uint64_t block_bytes;   /* of leaves and nodes, too */
	const em_placement *placement;
	const char *path;       /* that a vector is bound to; NULL: none */
	em_errinfo *errinfo;
} container_how;

typedef struct container_kind {
	uint64_t least_blocks;  /* of memory, with which it has most of its records on disk */
	em_status (*open)(void **out, em_ctx *ctx, const container_how *how);
	em_status (*push)(void *x, const uint64_t *numbers, uint64_t n);
	em_status (*pop)(void *x, uint64_t *numbers, uint64_t n);
	em_status (*clear)(void *x);
	uint64_t (*size)(const void *x);
	void (*cancel)(void *x);
	void (*error)(const void *x, em_errinfo *err);
	void (*close)(void *x);
	em_status (*touch)(void *x, uint64_t i); /* change or read record i; NULL: records have no numbers */
} container_kind;

enum {
	CONTAINER_VECTOR,
	CONTAINER_STACK,
	CONTAINER_QUEUE,
	CONTAINER_DEQUE,
	CONTAINER_PQ,
	CONTAINER_RADIX_HEAP,
	CONTAINER_BTREE,
	CONTAINER_KINDS
};

extern const container_kind container_kinds[CONTAINER_KINDS];

#endif
