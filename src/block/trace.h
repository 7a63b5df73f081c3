/* SPDX-License-Identifier: BSL-1.0 */
/*
 * trace.h -- the accesses to a cache, and what they would cost with any policy, or the best one there could be.
 */
#ifndef EMI_TRACE_H
#define EMI_TRACE_H

#include "block/policy.h"

typedef struct emi_access {
	uint64_t offset;
	uint32_t disk;
	uint32_t write;         /* it was, or may have been, changed */
} emi_access;

/* Told of each access, before anything is done. */
typedef void (*emi_access_fn)(void *user, const emi_access *access);

/* Accesses in memory of the caller's. */
typedef struct emi_trace {
	emi_access *access;
	uint64_t most;          /* there is room for so many ... */
	uint64_t n;             /* ... and so many there were, of which the first are kept */
} emi_trace;

/* An emi_access_fn that keeps them; user is an emi_trace. */
void emi_trace_record(void *user, const emi_access *access);

/* Misses of n accesses, less than 2^30, in an empty cache of so many frames, 1 to 2^30, each block being in a frame while it is accessed; with a policy; err is
 * not NULL here: */
em_status emi_trace_policy(em_ctx *ctx, const emi_access *access, uint64_t n, const emi_policy *policy, uint64_t seed, uint32_t frames,
			   uint64_t *misses, em_errinfo *err);

/* ... and the fewest there can be: the block goes whose next access is the farthest (Belady 1966). */
em_status emi_trace_optimum(em_ctx *ctx, const emi_access *access, uint64_t n, uint32_t frames, uint64_t *misses, em_errinfo *err);

#endif
