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
	uint32_t requests;      /* in them */
	uint64_t transfers[2];  /* that are done, of reads and of writes, ... */
	uint64_t done[2];       /* ... the requests in them, ... */
	uint64_t together[2];   /* ... and the sum of how many requests were under way at the end of each */
} held;

/* Files are those of another backend, which makes blocking transfers. */
void held_init(held *h, const em_backend *inner);
void held_end(held *h);

/* How many requests were under way on average at the end of a read, or of a write, since the last call of the same; and, if the
 * number is not NULL, how many were done. */
double held_average(held *h, uint64_t *reads);
double held_average_writes(held *h, uint64_t *writes);

#endif
