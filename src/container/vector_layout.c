/* SPDX-License-Identifier: BSL-1.0 */
/* vector_layout.c -- see vector_layout.h. */
#include "container/vector_layout.h"

#include <inttypes.h>

#include <extmem/sys/block.h>

#include "base/error.h"

#define USUAL ((uint64_t)64 << 10)
#define WHOLE_MOST ((uint64_t)1 << 20) /* a larger block that suits is not chosen unasked */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		const uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

uint64_t emi_vector_whole_block(uint64_t record)
{
	const uint64_t both = record / common_divisor(record, EM_BLOCK_UNIT) * EM_BLOCK_UNIT;

	return round_up(USUAL, both);
}

/* The size of blocks, when nobody has said it. */
static uint64_t usual_block(uint64_t record, int file)
{
	const uint64_t whole = emi_vector_whole_block(record);

	if (file)
		return whole <= WHOLE_MOST ? whole : USUAL;
	return record <= USUAL ? USUAL : round_up(record, EM_BLOCK_UNIT);
}

em_status emi_vector_layout_init(emi_vector_layout *l, uint64_t record, uint64_t block_bytes, int file, em_errinfo *err)
{
	if (record == 0 || record > EMI_RECORD_MOST)
		return emi_fail(err, EM_ERR_RANGE, "records of %" PRIu64 " bytes", record);
	if (block_bytes == 0)
		block_bytes = usual_block(record, file);
	if (block_bytes % EM_BLOCK_UNIT != 0)
		return emi_fail(err, EM_ERR_INVAL, "blocks of %" PRIu64 " bytes, which is no multiple of %u",
				block_bytes, EM_BLOCK_UNIT);
	if (block_bytes > UINT32_MAX || (!file && block_bytes < record))
		return emi_fail(err, EM_ERR_RANGE, "blocks of %" PRIu64 " bytes for records of %" PRIu64, block_bytes,
				record);
	l->record = record;
	l->block_bytes = (size_t)block_bytes;
	l->payload = file ? block_bytes : block_bytes / record * record;
	l->inverse = UINT64_MAX / l->payload;
	l->straddles = l->payload % record != 0;
	return EM_OK;
}

em_status emi_vector_bytes(const emi_vector_layout *l, uint64_t n, uint64_t *bytes, em_errinfo *err)
{
	const uint64_t most = (uint64_t)INT64_MAX - 2 * l->block_bytes;
	emi_vector_place p;

	if (n <= most / l->record) {
		p = emi_vector_place_of(l, n * l->record);
		if (p.block <= most / l->block_bytes) {
			*bytes = p.block * l->block_bytes + p.from;
			return EM_OK;
		}
	}
	return emi_fail(err, EM_ERR_RANGE, "a vector of %" PRIu64 " records of %" PRIu64 " bytes", n, l->record);
}
