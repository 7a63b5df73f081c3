/* SPDX-License-Identifier: BSL-1.0 */
/*
 * thread.c -- starting threads of the library.
 *
 * They have small stacks of a size that is told, since memory is counted, and block all signals: they inherit the mask
 * of the thread that starts them, which gets its own back.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"

#define MOST_STACK ((size_t)1 << 20)

/* What a thread is, it is for all contexts: so this is no state that they would share. */
static __thread int ours;

void emi_thread_enter(void)
{
	ours = 1;
}

int emi_thread_is_ours(void)
{
	return ours;
}

size_t emi_thread_stack(size_t least)
{
	const size_t page = EMI_PAGE;
#ifdef _SC_THREAD_STACK_MIN
	const long system = sysconf(_SC_THREAD_STACK_MIN);

	if (system > 0 && (size_t)system > least / 2)
		least = (size_t)system + least / 2;
#endif
	return (least + page - 1) / page * page;
}

int emi_thread_start(pthread_t *thread, size_t stack, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int e = pthread_attr_init(&attr);

	if (e != 0)
		return e;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	/* A program with much thread-local storage needs more than we do. */
	do {
		e = pthread_attr_setstacksize(&attr, stack);
		if (e == 0)
			e = pthread_create(thread, &attr, fn, arg);
		stack *= 4;
	} while (e == EINVAL && stack <= MOST_STACK);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return e;
}
