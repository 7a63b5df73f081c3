/* SPDX-License-Identifier: BSL-1.0 */
/*
 * schedule.h -- in which order to fetch blocks from several disks, when it is known in which they will be consumed.
 *
 * To fetch them in the order of consumption leaves disks idle: the next blocks may all be on one disk while the buffers are full.  The best order is
 * that of writing, backwards.  Someone who writes the blocks in the opposite order, with as many buffers, puts each into the queue of its
 * disk as long as there are buffers, and lets all disks that have something write the first of their queue; no way of writing needs fewer
 * steps, and run backwards it is one of fetching (Hutchinson, Sanders and Vitter 2001; Dementiev and Sanders 2003, section 2.4).
 */
#ifndef EMI_SCHEDULE_H
#define EMI_SCHEDULE_H

#include <stdint.h>

/* In place of the disk of a block: it is in memory already, and takes a buffer until it is consumed. */
#define EMI_SCHEDULE_PRESENT UINT32_MAX

/* Numbers of scratch that a schedule of n blocks on so many disks takes. */
#define EMI_SCHEDULE_ROOM(n, disks) ((uint64_t)(n) + 2 * (uint64_t)(disks))

/*
 * n blocks are consumed in the order of their numbers; block i is on disk[i], less than `disks'.  Writes to order[] the numbers of the blocks in the
 * order in which to fetch them with so many buffers, at least 1: whenever a buffer is free the next one is requested, and a
 * disk serves its requests in their order.  Blocks that are in memory are left out.  Returns the parallel steps that takes, each disk moving one block or
 * none in a step.  Buffers that are all taken by blocks in memory are one too few, so then there is one more.
 */
uint64_t emi_schedule_fetches(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, uint32_t *order, uint32_t *room);

/* The parallel steps of fetching them in any order in which that ends; room as above.  0 if it does not: all buffers are full of blocks, none of which is
 * the next. */
uint64_t emi_schedule_steps(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, const uint32_t *order, uint32_t *room);

#endif
