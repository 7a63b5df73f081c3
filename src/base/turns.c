/* SPDX-License-Identifier: BSL-1.0 */
/*
 * turns.c -- see turns.h.
 *
 * Placing comes before preparing: what is prepared is still in somebody's cache, and what waits for it comes after it.
 * A step that ends wakes all who wait; they are few, as they have something to do nearly always.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "base/turns.h"

#include <string.h>

#include "base/condition.h"
#include "base/context.h"
#include "base/error.h"

#define TICK 0.1                /* seconds */

enum { NEW, BUSY, READY, DONE };

em_status emi_turns_init(emi_turns *t, const emi_turns_calls *calls, void *arg, unsigned char *state, uint64_t room,
			 em_errinfo *err)
{
	memset(t, 0, sizeof *t);
	if (pthread_mutex_init(&t->lock, NULL) != 0)
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a lock");
	if (emi_cond_init(&t->changed) != 0) {
		pthread_mutex_destroy(&t->lock);
		return emi_fail(err, EM_ERR_NOMEM, "cannot make a condition");
	}
	t->calls = *calls;
	t->arg = arg;
	t->state = state;
	t->room = room;
	return EM_OK;
}

void emi_turns_free(emi_turns *t)
{
	if (t->room == 0)
		return;
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof *t);
}

static unsigned char *state_of(emi_turns *t, uint64_t item)
{
	return &t->state[item % t->room];
}

static void tell_locked(emi_turns *t)
{
	t->changes++;
	pthread_cond_broadcast(&t->changed);
}

void emi_turns_add(emi_turns *t, uint64_t n)
{
	pthread_mutex_lock(&t->lock);
	for (; n > 0; n--)
		*state_of(t, t->known++) = NEW;
	tell_locked(t);
	pthread_mutex_unlock(&t->lock);
}

/* An item is in nobody's hands any more. */
static void leave_locked(emi_turns *t, uint64_t item, int state, int ok)
{
	*state_of(t, item) = (unsigned char)state;
	t->stopped |= !ok;
	tell_locked(t);
}

/* It is the turn of an item that is prepared. */
static int take_turn_locked(emi_turns *t, uint32_t part)
{
	const uint64_t item = t->turn;
	const int answer = t->calls.place(t->arg, item);
	int ok;

	if (answer == EMI_TURN_STOP) {
		leave_locked(t, item, READY, 0);
		return 0;
	}
	*state_of(t, item) = BUSY;
	if (answer == EMI_TURN_NEXT)
		t->turn++;
	pthread_mutex_unlock(&t->lock);
	ok = t->calls.finish(t->arg, item, part);
	if (ok && answer == EMI_TURN_AGAIN)
		ok = t->calls.prepare(t->arg, item, part);
	pthread_mutex_lock(&t->lock);
	leave_locked(t, item, answer == EMI_TURN_AGAIN ? READY : DONE, ok);
	return 1;
}

static void prepare_locked(emi_turns *t, uint32_t part)
{
	const uint64_t item = t->begun++;
	int ok;

	*state_of(t, item) = BUSY;
	pthread_mutex_unlock(&t->lock);
	ok = t->calls.prepare(t->arg, item, part);
	pthread_mutex_lock(&t->lock);
	leave_locked(t, item, READY, ok);
}

int emi_turns_step(emi_turns *t, uint32_t part)
{
	int did = 0;

	pthread_mutex_lock(&t->lock);
	if (t->stopped) {
		;
	} else if (t->turn < t->begun && *state_of(t, t->turn) == READY) {
		did = take_turn_locked(t, part);
	} else if (t->begun < t->known) {
		prepare_locked(t, part);
		did = 1;
	}
	pthread_mutex_unlock(&t->lock);
	return did;
}

static int over(emi_turns *t)
{
	int yes;

	pthread_mutex_lock(&t->lock);
	yes = t->stopped || t->turn == t->known;
	pthread_mutex_unlock(&t->lock);
	return yes;
}

void emi_turns_work(emi_turns *t, uint32_t part, em_status (*tick)(void *arg), void *arg)
{
	for (;;) {
		const uint64_t seen = emi_turns_seen(t);

		if (tick != NULL && tick(arg) != EM_OK)
			emi_turns_stop(t);
		if (emi_turns_step(t, part))
			continue;
		if (over(t))
			return;
		emi_turns_await(t, seen);
	}
}

uint64_t emi_turns_seen(emi_turns *t)
{
	uint64_t seen;

	pthread_mutex_lock(&t->lock);
	seen = t->changes;
	pthread_mutex_unlock(&t->lock);
	return seen;
}

void emi_turns_await(emi_turns *t, uint64_t seen)
{
	const double until = emi_now() + TICK;

	pthread_mutex_lock(&t->lock);
	/* One wait is enough: who was woken for nothing looks again. */
	if (t->changes == seen)
		emi_cond_wait_until(&t->changed, &t->lock, until);
	pthread_mutex_unlock(&t->lock);
}

static void set_stopped(emi_turns *t, int stopped)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = stopped;
	tell_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void emi_turns_stop(emi_turns *t)
{
	set_stopped(t, 1);
}

void emi_turns_resume(emi_turns *t)
{
	set_stopped(t, 0);
}

int emi_turns_stopped(emi_turns *t)
{
	int stopped;

	pthread_mutex_lock(&t->lock);
	stopped = t->stopped;
	pthread_mutex_unlock(&t->lock);
	return stopped;
}

int emi_turns_done(emi_turns *t, uint64_t item)
{
	int done;

	pthread_mutex_lock(&t->lock);
	done = *state_of(t, item) == DONE;
	pthread_mutex_unlock(&t->lock);
	return done;
}

uint64_t emi_turns_waiting(emi_turns *t)
{
	uint64_t n;

	pthread_mutex_lock(&t->lock);
	n = t->known - t->begun;
	pthread_mutex_unlock(&t->lock);
	return n;
}
