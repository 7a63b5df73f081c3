/* SPDX-License-Identifier: BSL-1.0 */
/*
 * holder.h -- whoever keeps contents of a store's blocks in memory, as the others on that store see it.
 *
 * A cache has blocks that are newer than the store; a pool has, too, until they are written; a reader has blocks that
 * it read ahead, which become old when somebody writes them.  Each is asked about a span of bytes, as others may have
 * blocks of another size.  A writer has them forget what it is going to write, and keeps nothing that others should
 * see; but a vector's lends what is on its way, as that may fail.
 *
 * A holder that is asked does not ask others, but for forgetting what it writes.
 */
#ifndef EMI_HOLDER_H
#define EMI_HOLDER_H

#include <extmem/sys/block.h>

/* Bytes of a store, from a place on. */
typedef struct emi_span {
	em_bid at;
	uint64_t bytes;
} emi_span;

typedef struct emi_holder emi_holder;

/* What it may be asked; NULL: there is nothing to do. */
typedef struct emi_holder_calls {
	/* Is a block of the span pinned?  Then the span is neither forgotten nor cut off. */
	int (*pins)(emi_holder *h, const emi_span *span);
	/* Write what was changed of blocks in the span, as it is now, and wait. */
	em_status (*flush)(emi_holder *h, const emi_span *span, em_errinfo *err);
	/* Keep none of the blocks in the span, and have no transfer of theirs under way.  One that was changed and is
	 * only in part in the span is written before. */
	em_status (*forget)(emi_holder *h, const emi_span *span, em_errinfo *err);
	/* The store ends there from now on: blocks behind the end are forgotten, and what is behind it in the block
	 * that it is in is zeros. */
	void (*cut)(emi_holder *h, em_bid end);
	/* Copy what is newer than the store into buf, which has the span as a read that is over has brought it. */
	void (*overlay)(emi_holder *h, const emi_span *span, char *buf);
} emi_holder_calls;

/* A part of the object, which finds itself by it. */
struct emi_holder {
	const emi_holder_calls *calls;
	emi_holder *prev, *next; /* on the same store */
};

static inline uint64_t emi_span_end(const emi_span *span)
{
	return span->bytes < UINT64_MAX - span->at.offset ? span->at.offset + span->bytes : UINT64_MAX;
}

/* The part of a block that is in a span: where it begins in the block; the bytes, or 0. */
static inline size_t emi_span_of_block(const emi_span *span, em_bid bid, size_t bytes, size_t *from)
{
	const uint64_t begin = span->at.offset > bid.offset ? span->at.offset : bid.offset;
	const uint64_t last = bid.offset + bytes, end = emi_span_end(span) < last ? emi_span_end(span) : last;

	if (span->at.disk != bid.disk || begin >= end)
		return 0;
	*from = (size_t)(begin - bid.offset);
	return (size_t)(end - begin);
}

#endif
