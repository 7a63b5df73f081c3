/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/schedule.h  In which order to fetch blocks from several disks, when it is known in which they will
 *                              be consumed.
 *
 * To fetch them in the order of consumption, the naive one, leaves disks idle: the next blocks may all be on one disk
 * while the buffers are full. The best order is that of writing, backwards. Someone who writes the blocks in the
 * opposite order, with as many buffers, puts each into the queue of its disk as long as there are buffers, and lets all
 * disks that have something write the first of their queue; no way of writing needs fewer steps, and run backwards it
 * is one of fetching (Hutchinson, Sanders and Vitter 2001; Dementiev and Sanders 2003, section 2.4).
 *
 * These are plain functions on numbers: no context, no memory of their own, no I/O; any thread.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_SCHEDULE_H
#define EXTMEM_SYS_SCHEDULE_H

#include <extmem/base.h>

EM_BEGIN_DECLS

/** In place of the disk of a block: it is in memory already, and takes a buffer until it is consumed. */
#define EM_SCHEDULE_PRESENT UINT32_MAX

/** Numbers of scratch that a schedule of n blocks on so many disks takes. */
#define EM_SCHEDULE_ROOM(n, disks) ((uint64_t)(n) + 2 * (uint64_t)(disks))

/**
 * The optimal schedule. n blocks are consumed in the order of their numbers; block i is on disk[i], less than `disks'.
 * Writes to order[], of n, the numbers of the blocks in the order in which to fetch them with so many buffers, at least
 * 1: whenever a buffer is free the next one is requested, and a disk serves its requests in their order. Blocks that
 * are in memory (EM_SCHEDULE_PRESENT) are left out; buffers that are all taken by them are one too few, so then there
 * is one more. room is memory of the caller's for EM_SCHEDULE_ROOM(n, disks) numbers, of no meaning before and after.
 *
 * Returns the parallel steps that takes, each disk moving one block or none in a step. 0 if nothing is to be fetched,
 * or if an argument is not legal: a pointer is NULL, disks or buffers is 0, a disk[i] is neither less than disks nor
 * EM_SCHEDULE_PRESENT. Time O(n + steps * disks).
 */
EM_API uint64_t em_schedule_fetches(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, uint32_t *order,
				    uint32_t *room);

/**
 * The parallel steps of fetching them in any order, such as 0, 1, ..., n - 1, the naive one; room as above.
 *
 * Returns 0 if that does not end, as all buffers are full of blocks none of which is the next; or if n is 0, or an
 * argument is not legal (as above; a block is in memory; or order[] is not each number below n once).
 */
EM_API uint64_t em_schedule_steps(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers,
				  const uint32_t *order, uint32_t *room);

EM_END_DECLS

#endif
