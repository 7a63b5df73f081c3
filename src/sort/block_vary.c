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

/* Where the frame at p ends, which lies before `end', or NULL: not there.  Eight bytes behind the end may be read. */
static const unsigned char *frame_end(const emi_vary *v, const unsigned char *p, const unsigned char *end, uint64_t *bytes)
{
	uint64_t key = 0;

	p = emi_length_get(p, bytes);
	if (v->keyed) {
		if (p >= end)
			return NULL;
		p = emi_length_get(p, &key);
	}
	if (p > end || key > (uint64_t)(end - p) || *bytes > (uint64_t)(end - p) - key)
		return NULL;
	return p + key + *bytes;
}

/* Do the frames fill the block, and marks say where they are, as far apart as a builder sets them? */
static int frames_sound(const emi_block_head *head, const emi_vary *v, uint64_t extra)
{
	const unsigned char *base = (const unsigned char *)head, *p = emi_block_first(head), *end = base + head->end;
	const emi_block_mark *mark = emi_block_marks(head);
	uint64_t out = 0, records = 0;
	uint32_t i;

	for (i = 0; i < head->marks; i++) {
		/* The last frame's mark may be nearer to the one before it. */
		const uint64_t apart = i + 2 < head->marks ? EMI_MARK_EVERY : 1, next = i + 1 < head->marks ? mark[i + 1].at : head->end;

		if (p != base + mark[i].at || mark[i].out != (uint32_t)out || next > head->end || next < mark[i].at + apart)
			return 0;
		while (p < base + next) {
			uint64_t bytes;

			p = frame_end(v, p, end, &bytes);
			if (p == NULL)
				return 0;
			out += bytes + extra;
			records++;
		}
	}
	return p == end && out == head->out && records == head->records;
}

int emi_block_sound(const void *base, uint64_t bytes, const emi_vary *v, uint64_t extra)
{
	const emi_block_head *head = emi_block_get_head(base);

	return head->records != 0 && head->marks != 0 && head->marks <= head->records && head->end > sizeof *head &&
	       head->end < bytes && (head->end + 7) / 8 * 8 + head->marks * sizeof(emi_block_mark) <= bytes &&
	       frames_sound(head, v, extra);
}
