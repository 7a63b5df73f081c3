/* SPDX-License-Identifier: BSL-1.0 */
/*
 * held.h -- a backend that has transfers done only when somebody waits for one, the oldest first: so how many are under
 * way then does not depend on time.
 */
#ifndef EM_HELD_H
#define EM_HELD_H

#include <pthread.h>

#include <extmem/sys/backend.h>

enum { HELD_MOST = 256 };

typedef struct held {
	em_backend backend;     /* for a context */
	const em_backend *inner;
	pthread_mutex_t lock;
	em_transfer *list[HELD_MOST]; /* under way */
	uint32_t n;
	size_t block;           /* set by the test, or 0: a transfer of several blocks counts as so many */
	uint64_t done[2];       /* reads and writes that are done, ... */
	uint64_t together[2];   /* ... and the sum of how many were under way at the end of each */
} held;

/* Files are those of another backend, which makes blocking transfers. */
void held_init(held *h, const em_backend *inner);
void held_end(held *h);

/* How many were under way on average at the end of a read, or of a write, since the last call of the same; and, if the
 * number is not NULL, how many were done. */
double held_average(held *h, uint64_t *reads);
double held_average_writes(held *h, uint64_t *writes);

#endif
