/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lock.c -- mutexes that are held for a moment only; see lock.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/lock.h"

int emi_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int e = pthread_mutexattr_init(&attr);

	if (e != 0)
		return e;
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
	e = pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	if (e == 0)
		e = pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return e;
}
