/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fixture.h -- what tests of pools, caches and streams of blocks begin with: a context whose memory is watched, on one
 * disk or several, each of which can be made to fail.
 */
#ifndef EM_BLOCK_FIXTURE_H
#define EM_BLOCK_FIXTURE_H

#include <extmem/sys/fault.h>

#include "block/disk.h"
#include "common/test.h"

enum { FIXTURE_DISKS = 3 };

typedef struct fixture {
	test_rng rng;           /* another one in each */
	test_memory mem;
	em_fault fault[FIXTURE_DISKS]; /* of each disk; nothing fails until a test says so */
	char *dir[FIXTURE_DISKS]; /* of each of several disks, in none of which there is anything */
	em_ctx *ctx;
	emi_disk *disk;         /* all of them; NULL if the test is to open them */
	emi_io_stats io;        /* for those objects that count there */
	em_errinfo err;
	unsigned warned;        /* lines that were logged as warnings */
	char warning[1024];     /* the last of them */
} fixture;

/* A context with 32 MiB on n disks of a backend, each with faults of its own: nothing but the context, and the disks
 * open. */
void fixture_open_on(fixture *f, const em_backend *const *backends, uint32_t n);

/* The same with flags of the context (EM_CTX_...); and with more threads than one. */
void fixture_open_with(fixture *f, const em_backend *const *backends, uint32_t n, uint32_t flags);
void fixture_open_threads(fixture *f, const em_backend *const *backends, uint32_t n, uint32_t flags, uint32_t threads);

/* The same on one disk of a backend by its name. */
void fixture_open(fixture *f, const char *backend);

/* So many steps that any transfer of the first disk fails meanwhile, with a probability of 1/2, 1/10 or 1/50 in the
 * k-th trial: a step succeeds or tells of that.  Then no transfer that is begun fails any more. */
void fixture_fail_by_chance(fixture *f, unsigned k, em_status (*step)(void *what), void *what);

/* Close them, and assert that all memory came back. */
void fixture_close(fixture *f);

#endif
