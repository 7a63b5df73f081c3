/* SPDX-License-Identifier: BSL-1.0 */
/* schedule.c -- see extmem/sys/schedule.h. */
#include <extmem/sys/schedule.h>

#define NONE UINT32_MAX

/* Blocks that wait for their disks. */
typedef struct queues {
	uint32_t disks;
	uint32_t *next;         /* of each block, in the queue of its disk */
	uint32_t *head, *tail;  /* of each disk; NONE: nothing waits */
} queues;

static void clear(queues *q, uint32_t n, uint32_t disks, uint32_t *room)
{
	uint32_t d;

	q->disks = disks;
	q->next = room;
	q->head = room + n;
	q->tail = q->head + disks;
	for (d = 0; d < disks; d++)
		q->head[d] = NONE;
}

static void put(queues *q, uint32_t disk, uint32_t block)
{
	q->next[block] = NONE;
	if (q->head[disk] == NONE)
		q->head[disk] = block;
	else
		q->next[q->tail[disk]] = block;
	q->tail[disk] = block;
}

/* The first that waits for the disk, or NONE. */
static uint32_t get(queues *q, uint32_t disk)
{
	const uint32_t block = q->head[disk];

	if (block != NONE)
		q->head[disk] = q->next[block];
	return block;
}

/* May some of the blocks be in memory? */
static int legal(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, const uint32_t *order,
		 const uint32_t *room, int present)
{
	uint32_t i;

	if (disk == NULL || disks == 0 || buffers == 0 || order == NULL || room == NULL)
		return 0;
	for (i = 0; i < n && (disk[i] < disks || (present && disk[i] == EM_SCHEDULE_PRESENT)); i++)
		continue;
	return i == n;
}

/* Blocks that are to be fetched. */
static uint32_t absent(const uint32_t *disk, uint32_t n)
{
	uint32_t i, k = 0;

	for (i = 0; i < n; i++)
		k += disk[i] != EM_SCHEDULE_PRESENT;
	return k;
}

uint64_t em_schedule_fetches(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, uint32_t *order,
			     uint32_t *room)
{
	uint32_t left = n, to, full = 0, d;
	uint64_t steps = 0;
	queues q;

	if (!legal(disk, n, disks, buffers, order, room, 1))
		return 0;
	clear(&q, n, disks, room);
	to = absent(disk, n);
	while (to > 0) {
		const uint32_t before = to;

		/* What is in memory already was there before all others: backwards, it stays to the end. */
		for (; left > 0 && full < buffers; full++) {
			left--;
			if (disk[left] != EM_SCHEDULE_PRESENT)
				put(&q, disk[left], left);
		}
		/* What is written in one step is fetched in one; backwards, like all of it. */
		for (d = disks; d-- > 0; ) {
			const uint32_t block = get(&q, d);

			if (block == NONE)
				continue;
			order[--to] = block;
			full--;
		}
		if (to == before)
			buffers++;
		else
			steps++;
	}
	return steps;
}

/* Is order[] a permutation?  Of the room its first n numbers are used. */
static int each_once(const uint32_t *order, uint32_t n, uint32_t *room)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		room[i] = NONE;
	for (i = 0; i < n && order[i] < n && room[order[i]] == NONE; i++)
		room[order[i]] = i;
	return i == n;
}

/* Blocks that were fetched are known by a link to themselves. */
static uint32_t consume(const queues *q, uint32_t from, uint32_t n)
{
	while (from < n && q->next[from] == from)
		from++;
	return from;
}

uint64_t em_schedule_steps(const uint32_t *disk, uint32_t n, uint32_t disks, uint32_t buffers, const uint32_t *order,
			   uint32_t *room)
{
	uint32_t asked = 0, used = 0, i, d;
	uint64_t steps = 0;
	queues q;

	if (!legal(disk, n, disks, buffers, order, room, 0) || !each_once(order, n, room))
		return 0;
	clear(&q, n, disks, room);
	for (i = 0; i < n; i++)
		q.next[i] = NONE;
	while (used < n) {
		uint32_t moved = 0;

		for (; asked < n && asked - used < buffers; asked++)
			put(&q, disk[order[asked]], order[asked]);
		for (d = 0; d < disks; d++) {
			const uint32_t block = get(&q, d);

			if (block == NONE)
				continue;
			q.next[block] = block;
			moved++;
		}
		if (moved == 0)
			return 0;
		used = consume(&q, used, n);
		steps++;
	}
	return steps;
}
