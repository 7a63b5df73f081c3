/* SPDX-License-Identifier: BSL-1.0 */
/*
 * interrupt.h -- ending in good order on signals.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <pthread.h>
#include <signal.h>

#include <extmem/ctx.h>

typedef struct interrupt {
	em_ctx *ctx;            /* whose files have temporary names, or NULL */
	sigset_t set;           /* the signals waited for */
	int wake;               /* one of them, 0: there are none */
	int ending;             /* the work has ended, the thread is to end; atomic */
	pthread_t thread;
	int started;
	int caught;             /* the signal that came, or 0; atomic */
} interrupt;

/* Block the signals and start waiting for them.  Outputs are written in ctx, which lives until interrupt_end(); NULL:
 * none are.  Cannot fail: at worst they kill as they always do. */
void interrupt_begin(interrupt *in, em_ctx *ctx);

/* The signal that came, or 0.  Work under way should then stop and clean up. */
int interrupt_caught(const interrupt *in);

/* The work has ended, its files are cleaned up: if a signal came, die of it. */
void interrupt_end(interrupt *in);

/* Die of a signal, as if it had not been blocked; returns if it is ignored. */
void die_of(int sig);

#endif
