/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/sys/typed_block.h  How the bytes of a block are divided: records, links to other blocks, and a field for
 *                                 what is to be known of it.
 *
 * Data structures on disk are made of blocks that refer to others: lists of blocks, trees, directories. So a block of B
 * bytes has l links, which are block ids, an info field of a given size, and in all the rest as many records of R bytes
 * as fit:
 *
 *     | record 0 | record 1 | ... | record capacity-1 | unused | link 0 | ... | link l-1 | info |
 *     0                                                        links_at                info_at   B
 *
 * This is STXXL's typed_block<B, T, l, Info> (Dementiev, Kettner and Sanders 2007, section 4), and LEDA-SM's block,
 * which puts the links in front; here records come first, so that they are aligned as the buffer is, and a block
 * without links and info is just an array. There the numbers are parameters of a type and known to the compiler; here
 * they are in a layout, made once, as a library in C does not know its users' records. Who does know them has
 * EM_BLOCK_CAPACITY() for arrays and assertions, which is the same number.
 *
 * Links and info are aligned to 8 bytes. A link that leads nowhere is em_bid_none(). Memory for blocks is
 * em_buffer_alloc()'s. A layout is read by any thread.
 *
 * This is the extension tier: weaker promises between minor versions until 1.0.
 */
#ifndef EXTMEM_SYS_TYPED_BLOCK_H
#define EXTMEM_SYS_TYPED_BLOCK_H

#include <extmem/sys/block.h>

EM_BEGIN_DECLS

#define EM_BLOCK_ALIGN 8u

/** Bytes that links and info take, and how many records then fit. */
#define EM_BLOCK_TAIL(links, info)                                                                                     \
	((size_t)(links) * sizeof(em_bid) + ((size_t)(info) + EM_BLOCK_ALIGN - 1) / EM_BLOCK_ALIGN * EM_BLOCK_ALIGN)
#define EM_BLOCK_CAPACITY(bytes, record, links, info) (((size_t)(bytes) - EM_BLOCK_TAIL(links, info)) / (record))

/** In the caller's memory, nothing to close; made by em_block_layout_init(). */
typedef struct em_block_layout {
	size_t bytes;           /**< Of a block: B. */
	size_t record;          /**< Of a record: R. */
	size_t capacity;        /**< Records in a block. */
	size_t info;            /**< Bytes of the info field. */
	size_t links_at;        /**< Where links begin, ... */
	size_t info_at;         /**< ... and the info field. */
	uint32_t links;
	uint32_t reserved[5];
} em_block_layout;

/**
 * Make a layout. err may be NULL.
 *
 * Returns EM_OK; EM_ERR_INVAL unless l is given, bytes is a multiple of EM_BLOCK_UNIT, and at least one record, of at
 * least one byte, has room beside links and info. Any thread. No I/O.
 */
EM_API EM_NODISCARD em_status em_block_layout_init(em_block_layout *l, size_t bytes, size_t record, uint32_t links,
						   size_t info, em_errinfo *err);

/** Block i of several side by side. */
EM_INLINE char *em_block_at(const em_block_layout *l, void *blocks, size_t i)
{
	return (char *)blocks + i * l->bytes;
}

/** Record i < capacity of a block. */
EM_INLINE void *em_block_record(const em_block_layout *l, void *block, size_t i)
{
	return (char *)block + i * l->record;
}

/** Link i < links. */
EM_INLINE em_bid *em_block_link(const em_block_layout *l, void *block, uint32_t i)
{
	return (em_bid *)(void *)((char *)block + l->links_at) + i;
}

EM_INLINE void *em_block_info(const em_block_layout *l, void *block)
{
	return (char *)block + l->info_at;
}

EM_END_DECLS

#endif
