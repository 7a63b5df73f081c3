/* SPDX-License-Identifier: BSL-1.0 */
/* placement.c -- see extmem/sys/placement.h. */
#include <extmem/sys/placement.h>

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

/* Disks are numbered in a byte. */
typedef char disks_are_as_many[EM_DISKS_MAX <= 256 ? 1 : -1];

static void shuffle(em_placement *p)
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

static em_status begin(em_placement *p, uint32_t kind, uint32_t disks, uint32_t first, uint64_t seed, uint64_t number)
{
	if (p == NULL)
		return EM_ERR_INVAL;
	memset(p, 0, sizeof *p);
	if (disks == 0 || disks > EM_DISKS_MAX || first >= disks)
		return EM_ERR_RANGE;
	p->kind = kind;
	p->disks = disks;
	p->first = first;
	p->seed = mixed(mixed(seed) ^ number);
	if (kind == EM_PLACE_SIMPLE)
		p->first = scaled(p->seed, disks);
	if (kind == EM_PLACE_CYCLING)
		shuffle(p);
	return EM_OK;
}

em_status em_placement_init(em_placement *p, uint32_t kind, uint32_t disks, uint32_t first, uint64_t seed,
			    uint64_t number)
{
	return kind < EM_PLACE_OWN ? begin(p, kind, disks, first, seed, number) : EM_ERR_INVAL;
}

em_status em_placement_own(em_placement *p, uint32_t disks, em_place_fn fn, void *user)
{
	const em_status st = fn != NULL ? begin(p, EM_PLACE_OWN, disks, 0, 0, 0) : EM_ERR_INVAL;

	if (st == EM_OK) {
		p->fn = fn;
		p->user = user;
	}
	return st;
}

em_status em_placement_interleaved(em_placement *p, uint32_t disks, uint32_t first, uint32_t n)
{
	const em_status st = begin(p, EM_PLACE_INTERLEAVED, n != 0 ? disks : 0, first, 0, 0);

	if (st == EM_OK)
		p->lists = n;
	return st;
}

uint32_t em_placement_disk(const em_placement *p, uint64_t i)
{
	if (p == NULL || p->disks == 0)
		return 0;
	switch (p->kind) {
	case EM_PLACE_CYCLING:
		return p->perm[i % p->disks];
	case EM_PLACE_RANDOM:
		return scaled(mixed(p->seed ^ mixed(i)), p->disks);
	case EM_PLACE_SINGLE:
		return p->first;
	case EM_PLACE_OWN:
		return p->fn(p->user, i, p->disks) % p->disks;
	case EM_PLACE_INTERLEAVED:
		return (uint32_t)((i / p->lists % p->disks + i % p->lists + p->first) % p->disks);
	default:
		return (uint32_t)((i % p->disks + p->first) % p->disks);
	}
}
