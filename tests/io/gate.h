/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gate.h -- a backend that keeps a small file in memory, notes who transfers what in which order, and can hold
 * transfers up at a gate, so that a test decides what happens when.
 *
 *	gate *g = gate_make(threads, async);
 *	em_file *f = gate_file(g, depth);
 *	gate_set(g, 1); ... gate_await(g, &g->entered, 1); ... gate_set(g, 0);
 *	gate_end(g);
 */
#ifndef EM_GATE_H
#define EM_GATE_H

#include <pthread.h>

#include "io/io_test.h"

enum { PAGE = 4096, PAGES = 256, GATE_LOG = 1024, GATE_REQUESTS = 100 };

typedef struct gate {
	em_backend be;
	em_ctx *ctx;
	em_file *f;             /* NULL once it is closed */
	emi_request rq[GATE_REQUESTS];
	pthread_mutex_t lock;
	pthread_cond_t change;
	char data[PAGES * PAGE];
	int closed;             /* transfers of page 0 wait until it is open */
	unsigned entered;       /* blocking transfers begun */
	unsigned left;          /* and ended */
	uint64_t page[GATE_LOG];     /* which, in the order of their beginning */
	pthread_t thread[GATE_LOG];
	int signals;            /* a signal could have reached a thread of the queue */
	pthread_t caller;
	/* the asynchronous side */
	em_transfer *held[GATE_LOG];
	unsigned holds, most_held, taken, room;
	int refuse;             /* submit fails with this */
	int broken;             /* the library did what it promised not to */
	int half;               /* asynchronous transfers move half */
	int fails;              /* or nothing, and fail with this */
	int one_write;          /* writes to a file get on one at a time */
} gate;

/* With so many threads for blocking transfers; async: it has channels, too. */
gate *gate_make(uint32_t threads, int async);

/* A context and a file of it, with so many transfers under way at a time (0: the default). */
em_file *gate_file(gate *g, uint32_t depth);

/* Close the gate, or open it. */
void gate_set(gate *g, int closed);

/* Wait until one of its counts, entered or taken for one, is as large as that. */
void gate_await(gate *g, const unsigned *what, unsigned n);

/* The first n requests went well. */
void gate_assert_done(gate *g, unsigned n);

/* Close and free it all: the library did what it promised. */
void gate_end(gate *g);

#endif
