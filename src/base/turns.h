/* SPDX-License-Identifier: BSL-1.0 */
/*
 * turns.h -- work on a row of items that all threads prepare in any order, and that take their turns in theirs.
 *
 * Many steps of a sort look alike: much is to be computed for each item before anybody knows how much room it takes,
 * its place is known when all items before it have theirs, and to fill that place is work again.  So an item is
 *
 *     prepared        by whoever comes first, several at a time;
 *     placed          when it is its turn, one at a time and in order: only a few additions;
 *     finished        by the thread that placed it, several at a time.
 *
 * No thread waits for its own item's turn: it leaves the item and prepares the next one, and whoever comes by when the
 * turn has come places and finishes it.  Items are numbered from 0; what is known of them lies in a ring of states, so
 * an item may only be added when the one that had its place is done.
 */
#ifndef EMI_TURNS_H
#define EMI_TURNS_H

#include <pthread.h>
#include <stdint.h>

#include <extmem/ctx.h>

/* What place() answers. */
enum {
	EMI_TURN_STOP,          /* no place, and none for what follows: the item stays prepared */
	EMI_TURN_NEXT,          /* it has its place: the next item's turn */
	EMI_TURN_AGAIN          /* that was a part of it: when that is finished it is prepared again, and still has its
	                           turn */
};

/* `part' is the number of the thread, as whoever calls emi_turns_step() says.  prepare() and finish() return 0 to stop
 * all. */
typedef struct emi_turns_calls {
	int (*prepare)(void *arg, uint64_t item, uint32_t part);
	int (*place)(void *arg, uint64_t item);         /* under the lock */
	int (*finish)(void *arg, uint64_t item, uint32_t part);
} emi_turns_calls;

typedef struct emi_turns {
	emi_turns_calls calls;
	void *arg;
	pthread_mutex_t lock;   /* guards all below */
	pthread_cond_t changed;
	unsigned char *state;   /* of the items, a ring */
	uint64_t room;          /* of the ring */
	uint64_t known;         /* items added */
	uint64_t begun;         /* the first that nobody prepares yet */
	uint64_t turn;          /* the first without a place */
	uint64_t changes;       /* grows with each step that was done */
	int stopped;
} emi_turns;

/* `state', with `room' bytes, is the caller's.  EM_OK, EM_ERR_NOMEM. */
em_status emi_turns_init(emi_turns *t, const emi_turns_calls *calls, void *arg, unsigned char *state, uint64_t room,
			 em_errinfo *err);
void emi_turns_free(emi_turns *t);

/* There are n more items. */
void emi_turns_add(emi_turns *t, uint64_t n);

/* Do one thing that can be done now; 0 when there is none, or all was stopped.  Never waits. */
int emi_turns_step(emi_turns *t, uint32_t part);

/* Do what can be done until all items have their places, or all was stopped; wait for what other threads prepare.
 * tick, when not NULL, is called now and then; what it returns, if not EM_OK, stops all. */
void emi_turns_work(emi_turns *t, uint32_t part, em_status (*tick)(void *arg), void *arg);

/* Wait until something was done since `seen', which emi_turns_seen() told, but no longer than a tenth of a second. */
uint64_t emi_turns_seen(emi_turns *t);
void emi_turns_await(emi_turns *t, uint64_t seen);

/* Nobody begins another step; and, when nobody is in one any more: let them go on with what is there. */
void emi_turns_stop(emi_turns *t);
void emi_turns_resume(emi_turns *t);

int emi_turns_stopped(emi_turns *t);

/* Is this item finished?  And how many are there that nobody prepares yet? */
int emi_turns_done(emi_turns *t, uint64_t item);
uint64_t emi_turns_waiting(emi_turns *t);

#endif
