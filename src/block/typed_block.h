/* SPDX-License-Identifier: BSL-1.0 */
/*
 * typed_block.h -- how the bytes of a block are divided: records, links to other blocks, and a field for what is to be known of it.
 *
 * Data structures on disk are made of blocks that refer to others: lists of blocks, trees, directories.  So a block of B bytes has l links,
 * which are block ids, an info field of a given size, and in all the rest as many records of R bytes as fit:
 *
 *     | record 0 | record 1 | ... | record capacity-1 | unused | link 0 | ... | link l-1 | info |
 *     0                                                        links_at                info_at   B
 *
 * This is STXXL's typed_block<B, T, l, Info>, and LEDA-SM's block, which puts the links in front; here records come first, so that they are aligned as the
 * buffer is, and a block without links and info is just an array.  There the numbers are parameters of a type and known to the compiler; here they
 * are in a layout, made once, as a library in C does not know its users' records.  Who does know them has EMI_BLOCK_CAPACITY() for arrays and
 * assertions, which is the same number.
 *
 * Links and info are aligned to 8 bytes.  A link that leads nowhere is emi_bid_none().
 */
#ifndef EMI_TYPED_BLOCK_H
#define EMI_TYPED_BLOCK_H

#include "block/disk.h"

#define EMI_BLOCK_ALIGN 8u

/* Bytes that links and info take, and how many records then fit. */
#define EMI_BLOCK_TAIL(links, info) ((size_t)(links) * sizeof(emi_bid) + ((size_t)(info) + EMI_BLOCK_ALIGN - 1) / EMI_BLOCK_ALIGN * EMI_BLOCK_ALIGN)
#define EMI_BLOCK_CAPACITY(bytes, record, links, info) (((size_t)(bytes) - EMI_BLOCK_TAIL(links, info)) / (record))

/* Ids lie in blocks on disk: they are the same size everywhere. */
typedef char emi_bid_has_16_bytes[sizeof(emi_bid) == 16 ? 1 : -1];

typedef struct emi_block_layout {
	size_t bytes;           /* of a block: B */
	size_t record;          /* of a record: R */
	size_t capacity;        /* records in a block */
	uint32_t links;
	size_t info;            /* bytes of the info field */
	size_t links_at, info_at;
} emi_block_layout;

/* EM_ERR_INVAL unless bytes is a multiple of EMI_PAGE, and at least one record has room beside links and info. */
em_status emi_block_layout_init(emi_block_layout *l, size_t bytes, size_t record, uint32_t links, size_t info, em_errinfo *err);

/* Room for n blocks side by side, for transfers; not zeroed.  Counted as n * bytes. */
char *emi_block_room_alloc(em_ctx *ctx, const emi_block_layout *l, uint64_t n, em_errinfo *err);
void emi_block_room_free(em_ctx *ctx, const emi_block_layout *l, uint64_t n, char *room);

/* Block i of such room. */
static inline char *emi_block_of_room(const emi_block_layout *l, char *room, size_t i)
{
	return room + i * l->bytes;
}

/* Record i < capacity. */
static inline void *emi_block_record(const emi_block_layout *l, char *block, size_t i)
{
	return block + i * l->record;
}

/* Link i < links. */
static inline emi_bid *emi_block_link(const emi_block_layout *l, char *block, uint32_t i)
{
	return (emi_bid *)(void *)(block + l->links_at) + i;
}

static inline void *emi_block_info(const emi_block_layout *l, char *block)
{
	return block + l->info_at;
}

static inline emi_bid emi_bid_none(void)
{
	const emi_bid none = {UINT32_MAX, 0, UINT64_MAX};

	return none;
}

static inline int emi_bid_equal(emi_bid a, emi_bid b)
{
	return a.disk == b.disk && a.offset == b.offset;
}

static inline int emi_bid_is_none(emi_bid bid)
{
	return emi_bid_equal(bid, emi_bid_none());
}

#endif
