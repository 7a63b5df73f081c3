/* SPDX-License-Identifier: BSL-1.0 */
/*
 * interrupt.c -- ending in good order on signals.
 *
 * Most of what is written has no name until it is complete and vanishes with the process, however that ends.
 * But some file systems want a name for every file.  So the signals are blocked and a small thread waits for
 * them: it notes the first, and the work, which looks at interrupt_caught() several times a second, stops,
 * removes its files and calls interrupt_end(), where the process dies of the signal after all, as shells expect.
 * Work that is stuck (reading from a terminal, say) is not waited for: after a second, or when another
 * signal comes, the thread removes the files that have names, and ends the process itself.
 *
 * This is done for all signals that somebody may send to have a process end.  Those that say that it has gone wrong
 * itself kill at once.  SIGPIPE is among them while there are outputs, of which the library tells when nobody reads
 * them.
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
	em_ctx_abandon(in->ctx);
	die_of(sig);
	return NULL;
}

/* Wait for a signal, too.  Those that the parent had us ignore (nohup, background jobs) stay ignored, and what has a
 * handler is its. */
static void add(interrupt *in, int sig)
{
	struct sigaction sa;

	if (!sigaction(sig, NULL, &sa) && !(sa.sa_flags & SA_SIGINFO) && sa.sa_handler == SIG_DFL) {
		sigaddset(&in->set, sig);
		in->wake = sig;
	}
}

static void choose_signals(interrupt *in)
{
	static const int sig[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2, SIGPROF, SIGVTALRM,
				   SIGXCPU };
	int i;

	sigemptyset(&in->set);
#ifdef SIGRTMIN
	for (i = SIGRTMIN; i <= SIGRTMAX; i++)
		add(in, i);
#endif
#ifdef SIGPOLL
	add(in, SIGPOLL);
#endif
	if (in->ctx)
		add(in, SIGPIPE);
	for (i = 0; i < (int)(sizeof(sig) / sizeof(sig[0])); i++)
		add(in, sig[i]);
}

void interrupt_begin(interrupt *in, em_ctx *ctx)
{
	pthread_attr_t attr;

	memset(in, 0, sizeof(*in));
	in->ctx = ctx;
	choose_signals(in);
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
