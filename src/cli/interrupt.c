/* SPDX-License-Identifier: BSL-1.0 */
/*
 * interrupt.c -- ending in good order on SIGINT, SIGTERM and SIGHUP.
 *
 * Most of what is written has no name until it is complete and vanishes with the process, however that ends.
 * But some file systems want a name for every file.  So the signals are blocked and a small thread waits for
 * them: it notes the first, and the work, which looks at interrupt_caught() several times a second, stops,
 * removes its files and calls interrupt_end(), where the process dies of the signal after all, as shells expect.
 * Work that is stuck (reading from a terminal, say) is not waited for: after a second, or when another
 * signal comes, the thread ends the process itself.
 *
 * With a thread instead of a handler nothing needs to be global.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <limits.h>
#include <string.h>
#include <time.h>

#include "cli/interrupt.h"

#define GRACE_SECONDS 1
#define STACK_BYTES 65536

void die_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

static void *wait_for_signal(void *arg)
{
	interrupt *in = arg;
	const struct timespec grace = { GRACE_SECONDS, 0 };
	int sig;

	if (sigwait(&in->set, &sig) || __atomic_load_n(&in->ending, __ATOMIC_ACQUIRE))
		return NULL;
	__atomic_store_n(&in->caught, sig, __ATOMIC_RELEASE);
	sigtimedwait(&in->set, NULL, &grace);
	die_of(sig);
	return NULL;
}

void interrupt_begin(interrupt *in)
{
	static const int sig[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa;
	pthread_attr_t attr;
	size_t i;

	memset(in, 0, sizeof(*in));
	sigemptyset(&in->set);
	/* Signals that the parent had us ignore (nohup, background jobs) stay ignored. */
	for (i = 0; i < sizeof(sig) / sizeof(sig[0]); i++)
		if (!sigaction(sig[i], NULL, &sa) && sa.sa_handler != SIG_IGN) {
			sigaddset(&in->set, sig[i]);
			in->wake = sig[i];
		}
	if (!in->wake || pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_BYTES > PTHREAD_STACK_MIN ? STACK_BYTES : (size_t)PTHREAD_STACK_MIN);
	pthread_sigmask(SIG_BLOCK, &in->set, NULL);
	in->started = !pthread_create(&in->thread, &attr, wait_for_signal, in);
	if (!in->started)
		pthread_sigmask(SIG_UNBLOCK, &in->set, NULL);
	pthread_attr_destroy(&attr);
}

int interrupt_caught(const interrupt *in)
{
	return __atomic_load_n(&in->caught, __ATOMIC_ACQUIRE);
}

void interrupt_end(interrupt *in)
{
	if (!in->started)
		return;
	/* The thread is woken by a signal of its own.  One that was noted before is what the process dies of; one that
	 * comes now stays pending until it is unblocked, or is too late. */
	__atomic_store_n(&in->ending, 1, __ATOMIC_RELEASE);
	if (!interrupt_caught(in))
		pthread_kill(in->thread, in->wake);
	else
		die_of(interrupt_caught(in));
	pthread_join(in->thread, NULL);
	pthread_sigmask(SIG_UNBLOCK, &in->set, NULL);
	in->started = 0;
}
