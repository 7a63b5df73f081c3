/* SPDX-License-Identifier: BSL-1.0 */
/*
 * place.h -- where in the code something is asked for, and what fails there.
 *
 * A sweep that lets everything fail once is thorough and slow.  One that lets only every so-manyth thing fail passes
 * over places that are reached once.  So things are told apart by their place: the functions that it was asked for
 * through.  A rehearsal counts what is asked for at each place; then, of each place, chosen ones fail, whatever other
 * threads do meanwhile.
 *
 * Where the compiler's library cannot tell who called (there is no backtrace()), all places are one, and a sweep must
 * let everything there fail.
 */
#ifndef EM_TEST_PLACE_H
#define EM_TEST_PLACE_H

#include <stddef.h>
#include <stdint.h>

#define TEST_PLACES 4096u

typedef struct test_place {
	uint64_t key;           /* 0: free */
	uint32_t kind;          /* the caller's */
	uint64_t count;         /* how often it was reached */
} test_place;

/* What is reached, and what fails; may be used by any thread.  All zeroes to begin with. */
typedef struct test_places {
	uint64_t fail_key;      /* 0: nothing fails */
	uint64_t fail_nth;      /* of what is asked for there, from 1 */
	uint64_t failed;        /* things that were made to fail: 0 or 1 */
	uint64_t reached;       /* all in all */
	test_place place[TEST_PLACES];
	int busy;               /* a lock */
} test_places;

/* Can places be told apart here? */
int test_place_known(void);

/* The key of the place that this is called from, not 0, for things of a kind. */
uint64_t test_place_here(uint32_t kind);

/* Count; 1 when this is what is to fail. */
int test_place_reach(test_places *p, uint64_t key, uint32_t kind);

/* Begin anew: nothing was reached, and so is to fail what stands for key and nth. */
void test_place_begin(test_places *p, uint64_t key, uint64_t nth);

#endif
