/* SPDX-License-Identifier: BSL-1.0 */
/*
 * two_disks.h -- two disks of a test's own backend in one queue: what is tried when a write finds the first one full.
 *
 * A test that hangs is ended by an alarm.
 */
#ifndef EM_TWO_DISKS_H
#define EM_TWO_DISKS_H

#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>

typedef struct two_disks {
	char *dir[2];
	em_ctx *ctx;            /* of one thread */
	em_disks *disks;        /* NULL once the test has closed them */
} two_disks;

/* be is read while the context is open. */
void two_disks_open(two_disks *t, em_backend *be);
void two_disks_close(two_disks *t);

/* A block on that disk. */
em_bid two_disks_alloc(two_disks *t, uint32_t disk, size_t bytes);

/* What is read of a block, into buf, is all c. */
void two_disks_assert(two_disks *t, em_bid bid, char *buf, size_t bytes, int c);

/* Wait until other threads made that not 0. */
void two_disks_await(const int *count);

#endif
