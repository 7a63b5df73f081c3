/* SPDX-License-Identifier: BSL-1.0 */
/*
 * random.h -- random numbers by counter.
 *
 * The i-th number of a seed is computed from the two alone, by the finaliser of splitmix64 over
 * an arithmetic sequence, so any part of a file can be made without what stands before it, and the same on all
 * machines.
 */
#ifndef CLI_RANDOM_H
#define CLI_RANDOM_H

#include <stdint.h>

static inline uint64_t random_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The start of a seed's sequence: seeds that are neighbours must not have sequences that are. */
static inline uint64_t random_start(uint64_t seed)
{
	return random_mix(random_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ UINT64_C(0xd1b54a32d192ed03));
}

static inline uint64_t random_at(uint64_t start, uint64_t i)
{
	return random_mix(start + i * UINT64_C(0x9e3779b97f4a7c15));
}

#endif
