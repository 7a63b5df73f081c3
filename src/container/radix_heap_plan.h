/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_plan.h -- what a radix heap is going to be made of, by its options.
 *
 * The number of levels h is the least for which r^h > C with buckets that fit into the memory, each with a block, as
 * records are moved once for each level.  r is the least power of two that does it, if that fits, too, else the least
 * number.  Blocks are as large as the same h allows, within bounds.
 *
 * Memory, beside the blocks of h * r + 2 buckets: what is known of each bucket, buffers on their way to and from disks,
 * the front (radix_heap_front.h), which is an eighth or less, and runs (radix_heap_runs.h), another eighth, if that has
 * runs of more records than the front.
 */
#ifndef EMI_RADIX_HEAP_PLAN_H
#define EMI_RADIX_HEAP_PLAN_H

#include <extmem/radix_heap.h>

#include "container/radix_heap_digits.h"
#include "container/radix_heap_key.h"

typedef struct emi_radix_plan {
	emi_radix_key key;
	em_key by;              /* the same for an order */
	size_t record;          /* bytes of one */
	size_t block_bytes;
	uint64_t most;          /* C: the most that a key is above the last minimum */
	uint64_t memory;        /* bytes that the heap may take */
	uint64_t least;         /* bytes that would do ... */
	uint64_t takes;         /* ... and those of this plan at most */
	uint32_t levels;        /* h */
	uint32_t radix;         /* r */
	uint32_t front;         /* most records of the front */
	uint64_t run;           /* most records of a run; 0: there are none */
	uint32_t threads;       /* that sort runs */
	uint32_t write_buffers;
	uint32_t read_buffers;
	uint32_t radix_least[EMI_RADIX_LEVELS + 1]; /* for each h the least r */
} emi_radix_plan;

/* The plan by options of which all fields are there.  As em_radix_heap_open(); after EM_ERR_MEMLIMIT plan->least is
 * right. */
em_status emi_radix_plan_make(emi_radix_plan *plan, em_ctx *ctx, const em_radix_heap_opts *o, em_errinfo *err);

#endif
