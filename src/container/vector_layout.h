/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_layout.h -- in which block a record of a vector is, and where in that.
 *
 * Records lie one behind the other in the payload of the blocks: record i begins at byte i * R of all payloads
 * together. On scratch the payload of a block is as many whole records as it holds, so no record lies in two blocks.
 * In a file all of a block is payload, as the bytes of the file are the records.  There a record may lie in two blocks
 * or more (`straddles'), unless their size is a multiple of the record's.
 *
 * A division by the payload is a multiplication by its inverse, 2^64 / payload: the quotient of that is right or one
 * too small.
 */
#ifndef EMI_VECTOR_LAYOUT_H
#define EMI_VECTOR_LAYOUT_H

#include <stddef.h>

#include <extmem/status.h>

#define EMI_RECORD_MOST ((uint64_t)1 << 24)

typedef struct emi_vector_layout {
	uint64_t record;        /* bytes of one */
	uint64_t payload;       /* bytes of a block that are records' */
	uint64_t inverse;
	size_t block_bytes;
	int straddles;
} emi_vector_layout;

/* Where bytes of the payload are. */
typedef struct emi_vector_place {
	uint64_t block;
	size_t from;            /* in it */
} emi_vector_place;

/* Of records of so many bytes in blocks of so many, or, 0, of a size that suits.  EM_ERR_INVAL: that is no multiple of
 * EM_BLOCK_UNIT; EM_ERR_RANGE. */
em_status emi_vector_layout_init(emi_vector_layout *l, uint64_t record, uint64_t block_bytes, int file,
				 em_errinfo *err);

/* A block size with which no record lies in two blocks of a file. */
uint64_t emi_vector_whole_block(uint64_t record);

/* Bytes of a store that has n records.  EM_ERR_RANGE. */
em_status emi_vector_bytes(const emi_vector_layout *l, uint64_t n, uint64_t *bytes, em_errinfo *err);

/* Where byte `at' of all payloads is. */
static inline emi_vector_place emi_vector_place_of(const emi_vector_layout *l, uint64_t at)
{
	emi_vector_place p;
	uint64_t rest;

#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;

	p.block = (uint64_t)(((wide)at * l->inverse) >> 64);
#else
	p.block = at / l->payload;
#endif
	rest = at - p.block * l->payload;
	if (rest >= l->payload) {
		p.block++;
		rest -= l->payload;
	}
	p.from = (size_t)rest;
	return p;
}

#endif
