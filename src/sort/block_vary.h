/* SPDX-License-Identifier: BSL-1.0 */
/*
 * block_vary.h -- blocks of runs of records of any length.
 *
 *     head | frame | frame | ... | padding | mark | mark | ...
 *
 * A block holds whole frames (key/vary.h), so each can be read on its own.  Marks tell where frames begin, about one
 * in a KiB: the first, the last, and the first behind each KiB; a merge uses them to look ahead and to
 * search.  A frame that is longer than a block gets a block of its own size.
 *
 * A frame's output bytes are what its record takes in a file: its bytes and its delimiter or prefix.
 */
#ifndef EMI_BLOCK_VARY_H
#define EMI_BLOCK_VARY_H

#include "base/copy.h"
#include "key/vary.h"

typedef struct emi_block_head {
	uint64_t end;           /* offset behind the last frame */
	uint64_t out;           /* output bytes of all frames */
	uint32_t records;
	uint32_t marks;
} emi_block_head;

typedef struct emi_block_mark {
	uint32_t at;            /* offset at which a frame begins */
	uint32_t out;           /* output bytes of the frames before it */
} emi_block_mark;

#define EMI_MARK_EVERY 1024u

/* Bytes of a block of frames of so many bytes; and the most bytes of frames that a block of bytes holds. */
static inline uint64_t emi_block_bytes(uint64_t frames)
{
	return (sizeof(emi_block_head) + frames + 7) / 8 * 8 + (frames / EMI_MARK_EVERY + 2) * sizeof(emi_block_mark);
}

static inline size_t emi_block_room(size_t bytes)
{
	const size_t fixed = sizeof(emi_block_head) + 8 + 3 * sizeof(emi_block_mark);

	return bytes > fixed ? (size_t)((uint64_t)(bytes - fixed) * EMI_MARK_EVERY /
					(EMI_MARK_EVERY + sizeof(emi_block_mark)))
			     : 0;
}

/*
 * Where the block may lie that is the index-th of a run, when as many bytes of frames are in those before it and all
 * stand in one piece of memory: far enough behind the one before, and less than EMI_BLOCK_APART beside the frames and
 * their marks.  A multiple of 8.
 */
#define EMI_BLOCK_APART 56u

static inline uint64_t emi_block_place(uint64_t index, uint64_t position)
{
	return index * EMI_BLOCK_APART + (position + position / (EMI_MARK_EVERY / sizeof(emi_block_mark))) / 8 * 8;
}

/* A block being filled. */
typedef struct emi_block_builder {
	unsigned char *base;    /* aligned to 8 */
	unsigned char *at;      /* where the next frame goes */
	unsigned char *last;    /* the frame written last */
	emi_block_mark *mark;
	uint32_t marks;
	uint32_t records;
	uint64_t next_mark;     /* frames from this offset on want a mark */
	uint64_t out;
	uint64_t last_out;      /* before the last frame */
} emi_block_builder;

/* Begin a block that is going to hold frames of exactly so many bytes. */
void emi_block_begin(emi_block_builder *b, void *base, uint64_t frames);
void emi_block_end(emi_block_builder *b);

static inline void emi_block_add(emi_block_builder *b, const unsigned char *frame, size_t bytes, uint64_t out)
{
	const size_t offset = (size_t)(b->at - b->base);

	if (offset >= b->next_mark) {
		b->mark[b->marks].at = (uint32_t)offset;
		b->mark[b->marks].out = (uint32_t)b->out;
		b->marks++;
		b->next_mark = offset + EMI_MARK_EVERY;
	}
	emi_copy(b->at, frame, bytes);
	b->last = b->at;
	b->last_out = b->out;
	b->at += bytes;
	b->out += out;
	b->records++;
}

/* A block that was read. */
static inline const emi_block_head *emi_block_get_head(const void *base)
{
	return base;
}

static inline const unsigned char *emi_block_first(const void *base)
{
	return (const unsigned char *)base + sizeof(emi_block_head);
}

/* Bytes of frames in it. */
static inline uint64_t emi_block_frames(const void *base)
{
	return emi_block_get_head(base)->end - sizeof(emi_block_head);
}

static inline const emi_block_mark *emi_block_marks(const void *base)
{
	return (const emi_block_mark *)(const void *)((const char *)base + (emi_block_get_head(base)->end + 7) / 8 * 8);
}

/*
 * Does it look like a block of at most bytes?  Its head and all its marks are looked at, eight bytes for a KiB of
 * frames, and the first and the last frame.
 * The others are not: that would be a walk through the whole block, a seventh of the time of a sort.  Whoever comes
 * to one asks
 * emi_frame_get_within().
 */
int emi_block_sound(const void *base, uint64_t bytes, const emi_vary *v);

#endif
