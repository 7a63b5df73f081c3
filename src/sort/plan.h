/* SPDX-License-Identifier: BSL-1.0 */
/*
 * plan.h -- choosing run size, block size, fan-in and buffers.
 */
#ifndef EMI_PLAN_H
#define EMI_PLAN_H

#include <extmem/sort.h>

#include "key/order.h"

#define EMI_UNKNOWN UINT64_MAX
#define EMI_PLAN_COPIES 2u      /* spare blocks of a sort of files whose output is pulled and copied */

/* What is to be sorted, with what. */
typedef struct emi_plan_input {
	uint64_t n;             /* records, or EMI_UNKNOWN */
	uint64_t memory;        /* bytes */
	uint32_t threads;
	int pushed;             /* records are pushed: one input area, not two */
	int packs;              /* blocks of runs are packed: 1: if there is memory for it, 2: in any case; 0: not */
	int mixes;              /* slices of what is merged are mixed if there is memory for it */
	const emi_codec *codec;
	uint64_t run_records;   /* forced, or 0; likewise the rest */
	uint64_t block_bytes;
	uint32_t fan_in;
	uint32_t read_buffers;
	uint32_t write_buffers;
	uint64_t usual_block;   /* bytes of a block that are wanted, if they can be had for no more passes; 0: any
	                           number */
	uint64_t min_records;   /* that a run must be able to hold */
	int write_behind;       /* runs go on being written while the next one is read: more output buffers */
	uint32_t spare_blocks;  /* block buffers that the caller wants for itself, ... */
	uint32_t form_blocks;   /* ... and more of them while runs are formed */
	uint64_t expect_runs;   /* with n unknown: how many runs may come; 0: nobody knows, ... */
	uint64_t expect_bytes;  /* ... one size: or how many bytes of records; 0: nobody knows */
	uint64_t longest_record; /* any length: bytes of the longest frame that is allowed */
	uint64_t longest;       /* any length: bytes of data of the largest block, when that is known */
	uint64_t files_bytes;   /* memory of its files, the scratch disks not among them, ... */
	uint64_t form_bytes;    /* ... and of those that are closed when all runs are formed */
	uint64_t scratch_bytes; /* memory of the scratch disks, but for their bitmaps */
	uint32_t disks;         /* of them; 0 is 1 */
	int naive;              /* blocks are fetched in the order of their keys */
	uint32_t prefetch_buffers; /* forced, or 0 */
} emi_plan_input;

typedef struct emi_plan {
	uint64_t memory;        /* the budget it was made for */
	uint64_t run_records;   /* records per run */
	uint64_t runs;          /* expected; 0: the data fits in memory; EMI_UNKNOWN */
	size_t block_bytes;
	size_t block_records;   /* floor(B / R) */
	uint32_t fan_in;
	uint32_t read_buffers;  /* beyond one per run */
	uint32_t prefetch_buffers; /* that the order of fetching is the best for; 0: it is that of keys */
	uint32_t write_buffers;
	uint32_t threads;       /* 1 for orders that are functions */
	uint32_t tasks;         /* merge tasks in flight */
	size_t window;          /* elements per conversion window of a merge; 0: none is needed */
	size_t hot_bytes;       /* scratch of each thread for sorting buckets in its cache; 0: none */
	uint32_t packers;       /* spare buffers for packing blocks of runs; 0: these are not packed */
	size_t mix_bytes;       /* memory of each merge task for mixing; 0: it does not */
	uint32_t areas;         /* input areas: 2 when reading overlaps sorting */
	uint32_t elem_arrays;   /* arrays of elements beside the areas: 1 when sorted in place of the records, else 2 */
	uint64_t max_runs;      /* room in the list of runs */
	uint64_t peak;          /* bytes at most in use */
} emi_plan;

/* Make a plan.  EM_OK; EM_ERR_MEMLIMIT with the least that would do; EM_ERR_INVAL for forced values that are not
 * legal. */
em_status emi_plan_make(emi_plan *plan, const emi_plan_input *in, em_errinfo *err);

/* Runs were formed and are as many as this, of which one may hold so many bytes of memory: choose fan-in and buffers
 * anew, for the same block size.  Returns 0, and the plan stays, if the memory is too little for that. */
int emi_plan_merging(emi_plan *plan, const emi_plan_input *in, uint64_t runs, uint64_t kept);

/* A merge of k runs that were formed by this plan, apart from the sort, with buffers of its own, among them those for
 * what comes out: the least memory for it; and a plan for so much of it, in which fan_in, tasks, windows and buffers
 * are those of the merge.  Returns 0, and the plan stays, if that is too little. */
uint64_t emi_plan_apart_least(const emi_plan *plan, const emi_plan_input *in, uint64_t k);
int emi_plan_apart(emi_plan *plan, const emi_plan_input *in, uint32_t k, uint64_t memory);

/* Are forced values legal?  EM_ERR_INVAL. */
em_status emi_plan_check(const emi_plan_input *in, em_errinfo *err);

/* Is there a plan at all?  Says nothing about what is wrong. */
int emi_plan_fits(const emi_plan_input *in);

/* The least memory for which there is a plan. */
uint64_t emi_plan_least(const emi_plan_input *in);

#endif
