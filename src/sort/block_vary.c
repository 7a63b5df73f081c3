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

/* Do the marks ascend within the frames, as far apart as a builder sets them? */
static int marks_sound(const emi_block_head *head, const emi_block_mark *mark)
{
	uint32_t i;

	if (mark[0].at != sizeof *head || mark[0].out != 0)
		return 0;
	for (i = 1; i < head->marks; i++) {
		/* The last frame's mark may be nearer to the one before it. */
		const uint64_t apart = i + 1 < head->marks ? EMI_MARK_EVERY : 1;

		if (mark[i].at < mark[i - 1].at + apart || mark[i].out < mark[i - 1].out)
			return 0;
	}
	return mark[i - 1].at < head->end && mark[i - 1].out <= head->out;
}

/* Are there frames at both ends, the last of which ends where it is said? */
static int ends_sound(const emi_block_head *head, const emi_block_mark *mark, const emi_vary *v)
{
	const unsigned char *base = (const unsigned char *)head, *end = base + head->end;
	emi_frame f;

	return emi_frame_get_within(v, emi_block_first(head), end, &f) &&
	       emi_frame_get_within(v, base + mark[head->marks - 1].at, end, &f) && emi_frame_end(&f) == end;
}

int emi_block_sound(const void *base, uint64_t bytes, const emi_vary *v)
{
	const emi_block_head *head = emi_block_get_head(base);

	return head->records != 0 && head->marks != 0 && head->marks <= head->records && head->end > sizeof *head &&
	       head->end < bytes && (head->end + 7) / 8 * 8 + head->marks * sizeof(emi_block_mark) <= bytes &&
	       marks_sound(head, emi_block_marks(base)) && ends_sound(head, emi_block_marks(base), v);
}
