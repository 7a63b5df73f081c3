/* SPDX-License-Identifier: BSL-1.0 */
/* block_vary.c -- see block_vary.h. */
#include "sort/block_vary.h"

void emi_block_begin(emi_block_builder *b, void *base, uint64_t frames)
{
	memset(b, 0, sizeof *b);
	b->base = base;
	b->at = b->base + sizeof(emi_block_head);
	b->mark = (emi_block_mark *)(void *)(b->base + (sizeof(emi_block_head) + frames + 7) / 8 * 8);
}

void emi_block_end(emi_block_builder *b)
{
	emi_block_head *head = (emi_block_head *)(void *)b->base;
	const uint32_t last = (uint32_t)(b->last - b->base);

	/* A merge that looks to the end of a block finds its last frame. */
	if (b->mark[b->marks - 1].at != last) {
		b->mark[b->marks].at = last;
		b->mark[b->marks].out = (uint32_t)b->last_out;
		b->marks++;
	}
	memset(b->at, 0, (size_t)((unsigned char *)b->mark - b->at));
	head->end = (uint64_t)(b->at - b->base);
	head->out = b->out;
	head->records = b->records;
	head->marks = b->marks;
}

int emi_block_sound(const void *base, uint64_t bytes)
{
	const emi_block_head *head = emi_block_get_head(base);

	return head->records != 0 && head->marks != 0 && head->end > sizeof *head && head->end < bytes &&
	       (head->end + 7) / 8 * 8 + head->marks * sizeof(emi_block_mark) <= bytes &&
	       emi_block_marks(base)[0].at == sizeof *head &&
	       emi_block_marks(base)[head->marks - 1].at < head->end;
}
