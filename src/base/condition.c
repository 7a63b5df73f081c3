/* SPDX-License-Identifier: BSL-1.0 */
/*
 * condition.c -- conditions with a deadline; see condition.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/condition.h"

#include <time.h>

int emi_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int e = pthread_condattr_init(&attr);

	if (e != 0)
		return e;
	e = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (e == 0)
		e = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return e;
}

int emi_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, double deadline)
{
	struct timespec t;

	t.tv_sec = (time_t)deadline;
	t.tv_nsec = (long)((deadline - (double)t.tv_sec) * 1e9);
	return pthread_cond_timedwait(cond, lock, &t);
}
