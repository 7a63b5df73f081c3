/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fault_sweep.h -- a sort in which everything that can fail fails, once each.
 *
 * A small sort of several merging passes is repeated, each time with another allocation failing; then the same for
 * every kind of operation on files and every way for it to fail.  Slow builds (EXTMEM_TEST_SPARSE) and long sorts let
 * one of so many fail, but at each place in the code (place.h) the first, and the last transfer, in any case, unless
 * they did so in an earlier sweep of the same program.  Where there are no sweeps (test_sweeps()), nothing fails.  Each
 * time: the right status, a detail that says what happened, no leak of memory or descriptors, nothing left in the
 * directory, and an existing output as it was, or complete.
 */
#ifndef EM_FAULT_SWEEP_H
#define EM_FAULT_SWEEP_H

#include <extmem.h>

/* What is sorted. */
typedef struct fault_sort {
	const char *name;
	em_status (*order)(em_order **out, em_ctx *ctx, em_errinfo *err);
	em_status (*push)(em_sorter *s, const struct fault_sort *sort); /* all records, in pieces; or how far that
	                                                                   went */
	/* What is done from file to file; NULL: em_sort_files(). */
	em_status (*files)(em_ctx *ctx, const em_order *order, const char *in, const char *out,
			   const em_sort_opts *opts, em_sort_stats *stats);
	uint64_t memory;        /* of the context */
	em_sort_opts opts;
	uint64_t runs;          /* formed, at least */
	int straight;           /* it is done in one pass, ... */
	int kept;               /* ... or in two, the last run in memory; else in three or more */
	int spare;              /* some allocations can be done without */
	uint32_t every;         /* beside what fails at each place in any case, one of so many fails; 1: all */
	const void *data;       /* for push */
	const void *in, *out;   /* the files before and after ... */
	size_t in_bytes, out_bytes;
	const void *pulled;     /* ... and the records that are pulled, one behind the other ... */
	size_t pulled_bytes;
	const size_t *ends;     /* ... and, for records of any length, where each ends */
	size_t records;
} fault_sort;

/* Make `out' what `files' gives when nothing fails (that it is right is tested elsewhere), for free(). */
unsigned char *fault_expect(fault_sort *sort);

/* With a backend, and file to file, or pushed and pulled. */
typedef void fault_fn(const fault_sort *sort, const char *backend, int32_t direct, int pushed);

/* Everything fails, once each. */
void fault_sweep(const fault_sort *sort, const char *backend, int32_t direct, int pushed);

/* Any operation fails by chance, so that others do after the first, and while what failed is cleaned up. */
void fault_chance(const fault_sort *sort, const char *backend, int32_t direct, int pushed);

#endif
