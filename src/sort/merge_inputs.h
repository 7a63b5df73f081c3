/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_inputs.h -- merging files that are sorted already, all of which are open at a time.
 *
 * The kernels merge windows of the inputs on the calling thread; the records go to a function one by one.
 */
#ifndef EMI_MERGE_INPUTS_H
#define EMI_MERGE_INPUTS_H

#include "sort/presorted.h"

typedef struct emi_merge_inputs {
	emi_job *job;
	const emi_vary *v;
	const emi_presorted_opts *opts;
	uint32_t most;          /* inputs at a time */
	uint32_t k;             /* that are open */
	emi_presorted *in;
	emi_window *win;
	void *tree;
	emi_pair *made;         /* elements that come out of the merge */
	/* EM_SORT_UNIQUE: the string of the record that was put last */
	emi_frame last;
	uint64_t last_key;
	int have_last;
	unsigned char *last_room;
	size_t last_bytes;
} emi_merge_inputs;

/* Takes a record; the string of the frame is valid during the call, and lies before the delimiter where it was read if there are no keys. */
typedef em_status (*emi_put_frame)(void *arg, const emi_frame *f, em_errinfo *err);

/* For up to `most' inputs with these options, which must live as long; and the memory it takes beside that of its inputs. */
em_status emi_merge_inputs_init(emi_merge_inputs *m, emi_job *job, uint32_t most, const emi_presorted_opts *opts,
				em_errinfo *err);
uint64_t emi_merge_inputs_memory(const emi_job *job, uint32_t most);
/* All zeroes need no freeing. */
void emi_merge_inputs_free(emi_merge_inputs *m);

/* One input more. */
em_status emi_merge_inputs_add(emi_merge_inputs *m, const char *path, em_errinfo *err);

/* Merge the inputs and close them.  With EM_SORT_UNIQUE only the first of equal records is put. */
em_status emi_merge_inputs_run(emi_merge_inputs *m, emi_put_frame put, void *arg, em_errinfo *err);

#endif
