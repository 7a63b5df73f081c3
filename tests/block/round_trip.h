/* SPDX-License-Identifier: BSL-1.0 */
/*
 * round_trip.h -- what tests of the public objects of blocks begin with: disks as callers outside have them, and blocks
 * on them whose bytes are known by their version.
 */
#ifndef EM_BLOCK_ROUND_TRIP_H
#define EM_BLOCK_ROUND_TRIP_H

#include <extmem/sys/block.h>

#include "block/fixture.h"

#define BLOCK 4096u
enum { BLOCKS = 90 };

/* Disks, and what is on them. */
typedef struct round_trip {
	fixture f;
	em_disks *d;
	em_bid bid[BLOCKS];
	uint64_t version[BLOCKS];
} round_trip;

/* Some disks of the fixture, or all of them, with blocks. */
void round_start_on(round_trip *r, uint32_t disks);
void round_start(round_trip *r);
void round_stop(round_trip *r);

/* Context and disks are closed while an object is open. */
void round_close_early(round_trip *r);

/* What block i has in its version. */
void round_fill(const round_trip *r, uint32_t i, void *block);
void round_check(const round_trip *r, uint32_t i, const void *block);

/* The number of any of the blocks. */
uint32_t round_any(round_trip *r);

/* From now on these operations (EM_FAULT_...) of a disk fail. */
void round_fail_disk(round_trip *r, uint32_t disk, uint32_t ops);

/* The error names the disk. */
void round_assert_names(const round_trip *r, const em_errinfo *err, uint32_t disk, const char *op);

/* Bytes in blocks. */
uint64_t round_used(em_disks *d);

/* Open an object; `what' is the test's. */
typedef em_status round_open(round_trip *r, void *what);

/* Each allocation of opening it fails once: nothing is lost, and what was told is so.  It is open then. */
void round_without_memory(round_trip *r, round_open *open, void *what);

#endif
