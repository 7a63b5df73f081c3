/* SPDX-License-Identifier: BSL-1.0 */
/*
 * radix_heap_buckets.h -- the buckets of a radix heap: stacks of blocks, of which the last one is in memory.
 *
 * A bucket without records has no buffer.  Its first buffer is small, and grows until it is a block.  A block that is
 * full is written when there is one record more: the buffer changes hands with one of the pool, which writes it while
 * the bucket goes on.  So blocks on disk are always full, and a bucket of n records takes n / B blocks.  When the
 * buffer is empty, the block that was written last takes its place.  Buffers of empty buckets are kept for others.
 *
 * Records for a thousand buckets in turn would each miss the cache, as ends of buffers are as far apart as blocks.  So
 * a few records first go to a stage beside the bucket's own fields, and together to the buffer when that is full.
 * Whoever takes records out of a bucket has its stage emptied before, and from then on it does without.
 *
 * Which blocks a bucket has is a chain of small tables, the last one first.  Which buckets have records is a bitmap
 * with another one over it, as the lowest one is what is asked for.
 *
 * A call that fails changes nothing.
 */
#ifndef EMI_RADIX_HEAP_BUCKETS_H
#define EMI_RADIX_HEAP_BUCKETS_H

#include <string.h>

#include "block/block_pool.h"
#include "container/radix_heap_plan.h"

#define EMI_RADIX_NONE UINT32_MAX
#define EMI_RADIX_IDS 15u

#define EMI_RADIX_STAGE 104u

/* What an append looks at: two lines of the cache. */
typedef struct emi_radix_bucket {
	char *at;               /* where the next record goes, in the stage or in the buffer ... */
	char *end;              /* ... if this is behind it */
	uint64_t min;           /* no key is less; UINT64_MAX: it is empty, or has nothing else */
	char stage[EMI_RADIX_STAGE];
} emi_radix_bucket;

typedef struct emi_radix_ids {
	struct emi_radix_ids *before;
	uint64_t n;
	em_bid bid[EMI_RADIX_IDS];
} emi_radix_ids;

/* The rest of a bucket. */
typedef struct emi_radix_stack {
	emi_radix_ids *ids;     /* the last of them; NULL: no blocks are on disk */
	uint64_t blocks;
	size_t bytes;           /* of the buffer; a block if there are others on disk */
	char *buf;              /* NULL: the bucket is empty */
	char *staged_to;        /* where the records of the stage go; NULL: it does without */
	char *buf_end;          /* there is no more room in the buffer */
} emi_radix_stack;

typedef struct emi_radix_buckets {
	em_ctx *ctx;
	size_t record;
	size_t block_bytes;
	size_t payload;         /* bytes of a block that are records' */
	size_t stage;           /* bytes of a stage that are; 0: there is none */
	uint32_t n;             /* buckets */
	uint32_t read_buffers;
	emi_radix_bucket *bucket; /* NULL: nothing is there yet */
	emi_radix_stack *stack;
	uint64_t *used;         /* a bit for each that has records ... */
	uint64_t *words;        /* ... and for each word of those bits that is not 0 */
	emi_buffers buffers;    /* of a block: the buckets' and the pool's */
	emi_radix_ids *free_ids;
	emi_store *store;
	emi_block_pool pool;
	emi_io_stats io;
	const em_placement *placement; /* NULL: one disk after the other */
	uint64_t placed;        /* blocks so far */
	uint64_t blocks;        /* on disk now */
} emi_radix_buckets;

/* Bytes that a bucket takes at most, what all of them share, with so many buffers to write and to read, and what each
 * block on disk takes. */
uint64_t emi_radix_bucket_memory(size_t block);
uint64_t emi_radix_buckets_memory(size_t block, uint32_t write_buffers, uint32_t read_buffers);
#define EMI_RADIX_IDS_BYTES ((sizeof(emi_radix_ids) + EMI_RADIX_IDS - 1) / EMI_RADIX_IDS)

/* n buckets, all empty.  b is zeroed but for what was set before: placement.  After a failure nothing is there. */
em_status emi_radix_buckets_open(emi_radix_buckets *b, em_ctx *ctx, const emi_radix_plan *plan, uint32_t n,
				 em_errinfo *err);

/* Free all, with what is in it.  Not opened, or closed: nothing is done. */
void emi_radix_buckets_close(emi_radix_buckets *b);

/* What comes next in a buffer, as far as a stage goes, is going to be written: have it in the cache by then. */
static inline void emi_radix_expect(const char *at)
{
	__builtin_prefetch(at, 1);
	__builtin_prefetch(at + 64, 1);
	__builtin_prefetch(at + EMI_RADIX_STAGE - 1, 1);
}

/* The usual part of the next one: a stage that is full, when there is room in the buffer for that and another one.  0:
 * it is another case. */
static inline int emi_radix_restage(emi_radix_buckets *b, uint32_t i)
{
	emi_radix_bucket *k = &b->bucket[i];
	emi_radix_stack *s = &b->stack[i];

	if (s->staged_to == NULL || (size_t)(s->buf_end - s->staged_to) < 2 * EMI_RADIX_STAGE)
		return 0;
	/* What is too much is overwritten by the next one. */
	memcpy(s->staged_to, k->stage, EMI_RADIX_STAGE);
	s->staged_to += k->at - k->stage;
	k->at = k->stage;
	k->end = k->stage + b->stage;
	emi_radix_expect(s->staged_to);
	return 1;
}

/* Have room for a record in a bucket that has none: at == end. */
em_status emi_radix_room(emi_radix_buckets *b, uint32_t i, em_errinfo *err);

/* All records of a bucket that are in memory are in its buffer, from stack[i].buf to `at', until it is drained. */
void emi_radix_unstage(emi_radix_buckets *b, uint32_t i);

/* The buffer of a bucket is empty, and there are blocks on disk: have the last one in its place. */
em_status emi_radix_fetch(emi_radix_buckets *b, uint32_t i, em_errinfo *err);

/* A bucket is going to be emptied: begin to read its last blocks, and those of the buckets behind it. */
void emi_radix_hint(emi_radix_buckets *b, uint32_t i);

/* The buffer of a bucket is empty, and there are no blocks: it needs none, but stays in use. */
void emi_radix_give_buffer(emi_radix_buckets *b, uint32_t i);

/* A bucket has become empty, its buffer too. */
void emi_radix_drained(emi_radix_buckets *b, uint32_t i);

/* Records of a bucket, without those in its stage. */
uint64_t emi_radix_bucket_count(const emi_radix_buckets *b, uint32_t i);

/* Move all records of a bucket to another one.  What has failed may be tried again: until then some are in either. */
em_status emi_radix_move(emi_radix_buckets *b, uint32_t from, uint32_t to, em_errinfo *err);

/* The first bucket with records, from one on, or EMI_RADIX_NONE; and the last one before. */
uint32_t emi_radix_lowest(const emi_radix_buckets *b);
uint32_t emi_radix_highest_before(const emi_radix_buckets *b, uint32_t end);

static inline int emi_radix_in_use(const emi_radix_buckets *b, uint32_t i)
{
	return (b->used[i / 64] >> i % 64 & 1) != 0;
}

#endif
