/* SPDX-License-Identifier: BSL-1.0 */
/* placement.c -- see placement.h. */
#include "block/placement.h"

#include <string.h>

/* The finaliser of splitmix64: numbers in a row give numbers that look random. */
static uint64_t mixed(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* From 0 to n - 1, n < 2^32. */
static uint32_t scaled(uint64_t random, uint32_t n)
{
	return (uint32_t)((random >> 32) * n >> 32);
}

static void shuffle(emi_placement *p)
{
	uint32_t i;

	for (i = 0; i < p->disks; i++)
		p->perm[i] = (uint8_t)i;
	for (i = p->disks; i > 1; i--) {
		const uint32_t j = scaled(mixed(p->seed + i), i);
		const uint8_t t = p->perm[i - 1];

		p->perm[i - 1] = p->perm[j];
		p->perm[j] = t;
	}
}

void emi_placement_init(emi_placement *p, emi_place_kind kind, uint32_t disks, uint32_t first, uint64_t seed, uint64_t number)
{
	memset(p, 0, sizeof *p);
	p->kind = kind;
	p->disks = disks;
	p->first = first;
	p->seed = mixed(mixed(seed) ^ number);
	if (kind == EMI_PLACE_SIMPLE)
		p->first = scaled(p->seed, disks);
	if (kind == EMI_PLACE_CYCLING)
		shuffle(p);
}

void emi_placement_own(emi_placement *p, uint32_t disks, emi_place_fn fn, void *user)
{
	emi_placement_init(p, EMI_PLACE_OWN, disks, 0, 0, 0);
	p->fn = fn;
	p->user = user;
}

uint32_t emi_placement_disk(const emi_placement *p, uint64_t i)
{
	switch (p->kind) {
	case EMI_PLACE_CYCLING:
		return p->perm[i % p->disks];
	case EMI_PLACE_RANDOM:
		return scaled(mixed(p->seed ^ mixed(i)), p->disks);
	case EMI_PLACE_SINGLE:
		return p->first;
	case EMI_PLACE_OWN:
		return p->fn(p->user, i, p->disks) % p->disks;
	default:
		return (uint32_t)((i % p->disks + p->first) % p->disks);
	}
}
