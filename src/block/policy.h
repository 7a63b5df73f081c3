/* SPDX-License-Identifier: BSL-1.0 */
/*
 * policy.h -- which block a cache gives up for another.
 *
 * A policy is a table of functions and some memory of its own, which the cache provides.  It is told what blocks come, are used again and leave; it
 * proposes victims, and the cache says which of them may go: those that are pinned, for example, may not.  It knows frames by their numbers.
 *
 *   LRU       what was not used for the longest time goes
 *   CLOCK     blocks go in the order in which they came, but one that was used meanwhile has a second turn: nearly LRU's hits, and a hit
 *             stores one byte
 *   random    any
 *   S3-FIFO   new blocks are on probation in a short queue, a tenth of the cache, and only what is used there gets to the rest, which is a CLOCK; of those
 *             that were not, the names are kept for a while, and one that returns is let in at once (Yang, Zhang, Qiu, Yue and Rashmi 2023).  So
 *             what is used once passes without pushing out what is used often.
 */
#ifndef EMI_POLICY_H
#define EMI_POLICY_H

#include "block/disk.h"

#define EMI_NO_FRAME UINT32_MAX

/* What the cache says about a candidate. */
typedef enum emi_verdict { EMI_STAYS, EMI_GOES, EMI_ENOUGH } emi_verdict;

typedef emi_verdict (*emi_verdict_fn)(void *arg, uint32_t frame);

typedef struct emi_policy {
	const char *name;
	/* Bytes of state for a cache of n frames. */
	uint64_t (*bytes)(uint32_t n);
	/* Begin, with that many zeroed bytes, aligned for anything. */
	void (*init)(void *state, uint32_t n, uint64_t seed, void *user);
	/* A block comes to a frame that had none. */
	void (*came)(void *state, uint32_t frame, emi_bid bid);
	/* It is used again. */
	void (*hit)(void *state, uint32_t frame);
	/* It leaves: because it was the victim, or because it is no more. */
	void (*left)(void *state, uint32_t frame, int victim);
	/* Propose frames that have blocks, in the order in which they should go, until ask() says that one goes, which is returned (the cache then calls
	 * left()), or that it is enough, or each was proposed: EMI_NO_FRAME. */
	uint32_t (*victim)(void *state, emi_verdict_fn ask, void *arg);
	/* Tell those that are going to be victims next, as far as is known, about in order, until ask() says that it is enough; nothing changes. */
	void (*next)(void *state, emi_verdict_fn ask, void *arg);
	void *user;             /* for init() */
} emi_policy;

extern const emi_policy emi_policy_lru, emi_policy_clock, emi_policy_random, emi_policy_s3fifo;

#endif
