/* SPDX-License-Identifier: BSL-1.0 */
/*
 * frame_list.h -- lists of frames, which are numbers.
 *
 * All lists of n frames share an array of n + h links, the last h of which are the heads: a frame is in one list at
 * most.  Putting in, taking out and going on cost nothing but the links, and nothing is allocated.
 */
#ifndef EMI_FRAME_LIST_H
#define EMI_FRAME_LIST_H

#include <stdint.h>

typedef struct emi_link {
	uint32_t prev, next;
} emi_link;

static inline void emi_list_init(emi_link *link, uint32_t head)
{
	link[head].prev = link[head].next = head;
}

/* Put a frame at the end. */
static inline void emi_list_append(emi_link *link, uint32_t head, uint32_t frame)
{
	link[frame].next = head;
	link[frame].prev = link[head].prev;
	link[link[head].prev].next = frame;
	link[head].prev = frame;
}

static inline void emi_list_remove(emi_link *link, uint32_t frame)
{
	link[link[frame].prev].next = link[frame].next;
	link[link[frame].next].prev = link[frame].prev;
}

#endif
