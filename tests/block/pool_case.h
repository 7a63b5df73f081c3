/* SPDX-License-Identifier: BSL-1.0 */
/*
 * pool_case.h -- a pool of blocks on scratch disks, for tests of pools.
 *
 * The content of a block follows from where it is and from its version, so that whoever reads one can say whether it is
 * what was written last.  Writes of the first disk can be held up at a gate, so that tests decide how far they have
 * come.
 */
#ifndef EM_POOL_CASE_H
#define EM_POOL_CASE_H

#include "block/block_pool.h"
#include "block/fixture.h"

#define BLOCK 4096u
#define MOST_BLOCKS 24u
#define MOST_LENT 8u

/* A pool and what its blocks should be. */
typedef struct pool_case {
	fixture f;
	em_backend slow;
	emi_store *store;
	emi_block_pool pool;
	char *own;              /* a user's buffer */
	char *lent[MOST_LENT];
	uint32_t nlent;
	em_bid bid[MOST_BLOCKS];
	uint64_t version[MOST_BLOCKS]; /* 0: there is no such block */
	uint64_t versions;
} pool_case;

/* Close the gate, or open it; wait until so many writes are at it; whether every other write takes a while. */
void pool_gate_set(int closed);
void pool_gate_await(unsigned held);
void pool_gate_lag(int lags);

/* On several disks, or one. */
void pool_case_open_disks(pool_case *b, uint32_t disks, uint32_t nwrite, uint32_t nprefetch);
void pool_case_open(pool_case *b, uint32_t nwrite, uint32_t nprefetch);
void pool_case_close(pool_case *b);

/* What a version of block i is, into a buffer; and compare a buffer with what block i should be. */
void pool_case_fill(const pool_case *b, uint32_t i, uint64_t version, char *buf);
void pool_case_check(const pool_case *b, uint32_t i, const char *buf);

/* Block i has a new version from now on, and a place. */
void pool_case_have(pool_case *b, uint32_t i);

/* Write a new version through the pool; or try to. */
void pool_case_put(pool_case *b, uint32_t i);
em_status pool_case_try_put(pool_case *b, uint32_t i, em_errinfo *err);

/* Read it through the pool, and look at it; free it. */
void pool_case_get(pool_case *b, uint32_t i);
void pool_case_free(pool_case *b, uint32_t i);

/* Past the pool: what is on the disks. */
void pool_case_check_disk(pool_case *b);

#endif
