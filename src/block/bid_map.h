/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bid_map.h -- a hash table from block ids to numbers, of a size that is fixed when it is made.
 *
 * Linear probing in a table that is at most half full.  What is removed leaves no mark: those behind it move up.  An
 * entry is 16 bytes, so a block that is found costs one line of the processor's cache.
 */
#ifndef EMI_BID_MAP_H
#define EMI_BID_MAP_H

#include "block/disk.h"

#define EMI_NO_ENTRY UINT32_MAX

typedef struct emi_bid_entry {
	uint64_t offset;
	uint32_t disk;
	uint32_t value;         /* + 1; 0: there is none */
} emi_bid_entry;

typedef struct emi_bid_map {
	emi_bid_entry *entry;
	uint32_t mask;
	uint32_t shift;         /* of a hash of 64 bits, to a place */
} emi_bid_map;

/* Entries that a map of up to n > 0 blocks takes: a power of two.  n is at most 2^30. */
uint64_t emi_bid_map_entries(uint32_t n);

/* Make an empty map of so many zeroed entries, which are the caller's. */
void emi_bid_map_init(emi_bid_map *map, emi_bid_entry *entry, uint64_t entries);

/* Its high bits are the better ones. */
static inline uint64_t emi_bid_hash(em_bid bid)
{
	return (bid.offset ^ bid.disk * UINT64_C(0xd6e8feb86659fd93)) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint32_t emi_bid_place(const emi_bid_map *map, em_bid bid)
{
	return (uint32_t)(emi_bid_hash(bid) >> map->shift);
}

/* The number of a block, or EMI_NO_ENTRY. */
static inline uint32_t emi_bid_map_find(const emi_bid_map *map, em_bid bid)
{
	uint32_t i = emi_bid_place(map, bid);

	for (;; i = (i + 1) & map->mask) {
		const emi_bid_entry *e = &map->entry[i];

		if (e->value == 0 || (e->offset == bid.offset && e->disk == bid.disk))
			return e->value - 1;
	}
}

/* Put in a block that is not there; value is less than EMI_NO_ENTRY. */
void emi_bid_map_add(emi_bid_map *map, em_bid bid, uint32_t value);

/* Take out a block; one that is not there is no matter. */
void emi_bid_map_remove(emi_bid_map *map, em_bid bid);

#endif
