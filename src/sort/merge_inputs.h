/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_inputs.h -- merging files that are sorted already, all of which are open at a time.
 *
 * The kernels merge windows of the inputs on the calling thread; what comes out goes to a function, some elements at a
 * time.
 */
#ifndef EMI_MERGE_INPUTS_H
#define EMI_MERGE_INPUTS_H

#include "sort/keeper.h"
#include "sort/presorted.h"

typedef struct emi_merge_inputs {
	emi_job *job;
	const emi_presorted_opts *opts;
	uint32_t most;          /* inputs at a time */
	uint32_t k;             /* that are open */
	emi_presorted *in;
	emi_window *win;
	void *tree;
	void *made;             /* elements that come out of the merge */
	emi_keeper last;        /* EM_SORT_UNIQUE: the record that was put last */
} emi_merge_inputs;

/* Takes n elements.  What they refer to is valid during the call; the string of a frame lies before the delimiter where
 * it was read if there are no keys. */
typedef em_status (*emi_put_elems)(void *arg, const void *elems, size_t n, em_errinfo *err);

/* For up to `most' inputs with these options, which must live as long; and the memory it takes beside that of its
 * inputs. */
em_status emi_merge_inputs_init(emi_merge_inputs *m, emi_job *job, uint32_t most, const emi_presorted_opts *opts,
				em_errinfo *err);
uint64_t emi_merge_inputs_memory(const emi_job *job, uint32_t most);
/* All zeroes need no freeing. */
void emi_merge_inputs_free(emi_merge_inputs *m);

/* One input more, or only a range of it (see presorted.h). */
em_status emi_merge_inputs_add(emi_merge_inputs *m, const char *path, const emi_extent *range, em_errinfo *err);

/* Merge the inputs and close them.  With EM_SORT_UNIQUE only the first of equal records is put. */
em_status emi_merge_inputs_run(emi_merge_inputs *m, emi_put_elems put, void *arg, em_errinfo *err);

#endif
