/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fault_trials.h -- what is done with a container is done again and again, while another allocation fails each time, or
 * another call of the disk's; or while any transfer fails by chance.
 *
 * A trial is a container and what should be in it.  Its work goes on after failures until all is done, and counts them.
 */
#ifndef EM_FAULT_TRIALS_H
#define EM_FAULT_TRIALS_H

#include "block/fixture.h"

/* How calls of a disk fail: the n-th of some kinds, and those behind it. */
typedef struct fault_way {
	uint32_t ops;
	uint64_t times;
	int32_t sys_errno;
} fault_way;

/* A read, a write, so many of them in a row that all buffers have to wait, writes to a full disk, all else. */
enum { FAULT_WAYS = 5 };
extern const fault_way fault_ways[FAULT_WAYS];

typedef struct fault_trials {
	void *trial;
	void (*open)(void *trial, unsigned number);
	void (*work)(void *trial);
	void (*close)(void *trial);
	fixture *f;                     /* of the trial, as are */
	const uint64_t *failures;       /* how many there were, */
	const em_status *failed;        /* and the last of them */
} fault_trials;

/* Trials of this number while calls of the disk's fail, about so many of those that are made.  Returns the failures of
 * all. */
uint64_t fault_trials_transfers(const fault_trials *s, unsigned number, const fault_way *way, uint64_t most);

/* Trials of this number while an allocation of the work's fails, about so many of them; some of them are noticed. */
void fault_trials_allocations(const fault_trials *s, unsigned number, uint64_t most);

/* Trials of this number while each transfer fails with a probability of 1/50, and of 1/10: what is done again comes to
 * its end.  Returns the failures of all. */
uint64_t fault_trials_random(const fault_trials *s, unsigned number);

/* Opening something fails, which fills *err and leaves nothing, until it succeeds. */
void fault_trials_opening(fixture *f, em_status (*open)(void *what), void *what, const em_errinfo *err);

/* Step i of a hundred on a disk that cannot be read: at some steps there is a moment without failures, or in which only
 * writing fails. */
void fault_trials_moments(fixture *f, unsigned i);

/* The fixture has another context, with a MiB of scratch, in which nothing is made to fail; its own is returned, and is
 * given back. */
em_ctx *fault_trials_little_scratch(fixture *f);
void fault_trials_scratch(fixture *f, em_ctx *own);

#endif
