/* SPDX-License-Identifier: BSL-1.0 */
/* bid_map.c -- see bid_map.h. */
#include "block/bid_map.h"

uint64_t emi_bid_map_entries(uint32_t n)
{
	uint64_t entries = 4;

	while (entries < 2 * (uint64_t)n)
		entries *= 2;
	return entries;
}

void emi_bid_map_init(emi_bid_map *map, emi_bid_entry *entry, uint64_t entries)
{
	map->entry = entry;
	map->mask = (uint32_t)(entries - 1);
	map->shift = 64;
	for (; entries > 1; entries /= 2)
		map->shift--;
}

void emi_bid_map_add(emi_bid_map *map, em_bid bid, uint32_t value)
{
	uint32_t i = emi_bid_place(map, bid);

	while (map->entry[i].value != 0)
		i = (i + 1) & map->mask;
	map->entry[i].offset = bid.offset;
	map->entry[i].disk = bid.disk;
	map->entry[i].value = value + 1;
}

/* Where the block of an entry wants to be. */
static uint32_t home(const emi_bid_map *map, const emi_bid_entry *e)
{
	em_bid bid = {e->disk, 0, e->offset};

	return emi_bid_place(map, bid);
}

void emi_bid_map_remove(emi_bid_map *map, em_bid bid)
{
	uint32_t i = emi_bid_place(map, bid), gap;

	while (map->entry[i].value != 0 && (map->entry[i].offset != bid.offset || map->entry[i].disk != bid.disk))
		i = (i + 1) & map->mask;
	if (map->entry[i].value == 0)
		return;
	/* Whoever would not be found behind a gap fills it, and leaves another one. */
	for (gap = i;;) {
		i = (i + 1) & map->mask;
		if (map->entry[i].value == 0)
			break;
		if (((i - home(map, &map->entry[i])) & map->mask) >= ((i - gap) & map->mask)) {
			map->entry[gap] = map->entry[i];
			gap = i;
		}
	}
	map->entry[gap].value = 0;
}
