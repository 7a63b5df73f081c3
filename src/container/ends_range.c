/* SPDX-License-Identifier: BSL-1.0 */
/* ends_range.c -- see ends.h: records anywhere are looked at and changed; between the ends by way of a cache. */
#include "base/copy.h"
#include "base/error.h"
#include "container/ends.h"

emi_ends_place emi_ends_find(const emi_ends *e, uint64_t i)
{
	const uint64_t per_block = e->shape.full / e->shape.record, at = e->front_at / e->shape.record + i;
	const emi_ends_place p = {at / per_block, (size_t)(at % per_block) * e->shape.record,
				  per_block - at % per_block};

	return p;
}

/* Have blocks that come next be read, up to `last', with half of the cache. */
static void hint(emi_ends *e, uint64_t block, uint64_t last)
{
	uint32_t k;

	for (k = 0; k < e->shape.frames / 2 && ++block <= last; k++)
		if (emi_ends_at(e, block)->buf == NULL)
			emi_cache_hint(e->cache, emi_ends_at(e, block)->bid);
}

/* Lend the block at a place: in memory, or from the cache, and then *frame is which. */
static em_status lend(emi_ends *e, uint64_t block, uint64_t last, uint32_t mode, char **buf, uint32_t *frame,
		      em_errinfo *err)
{
	const emi_ends_block *b = emi_ends_at(e, block);
	em_status st;

	*frame = EM_CACHE_NONE;
	*buf = b->buf;
	if (b->buf != NULL)
		return EM_OK;
	st = emi_ends_look(e, err);
	if (st != EM_OK)
		return st;
	hint(e, block, last);
	st = emi_cache_get(e->cache, b->bid, mode, frame, err);
	if (st != EM_OK)
		return st;
	/* What the pool could not write yet is in the cache now, and is going to be changed there. */
	if (mode != EM_CACHE_READ)
		emi_block_pool_invalidate(e->pool, b->bid);
	*buf = emi_cache_buf(e->cache, *frame);
	return EM_OK;
}

em_status emi_ends_read(emi_ends *e, uint64_t i, char *records, uint64_t n, em_errinfo *err)
{
	const size_t record = e->shape.record;
	uint64_t done = 0;

	while (done < n) {
		const emi_ends_place p = emi_ends_find(e, i + done);
		const uint64_t m = p.n < n - done ? p.n : n - done, last = emi_ends_find(e, i + n - 1).block;
		uint32_t frame;
		char *buf;
		const em_status st = lend(e, p.block, last, EM_CACHE_READ, &buf, &frame, err);

		if (st != EM_OK)
			return st;
		emi_copy(records + (size_t)done * record, buf + p.at, (size_t)m * record);
		if (frame != EM_CACHE_NONE)
			emi_cache_unpin(e->cache, frame, 0);
		done += m;
	}
	return EM_OK;
}

em_status emi_ends_write(emi_ends *e, uint64_t i, const char *records, uint64_t n, em_errinfo *err)
{
	const size_t record = e->shape.record;
	const uint64_t per_block = e->shape.full / record;
	uint64_t done = 0;

	while (done < n) {
		const emi_ends_place p = emi_ends_find(e, i + done);
		const uint64_t m = p.n < n - done ? p.n : n - done;
		uint32_t frame;
		char *buf;
		const em_status st =
			lend(e, p.block, p.block, m == per_block ? EM_CACHE_FRESH : EM_CACHE_WRITE, &buf, &frame, err);

		if (st != EM_OK) {
			err->record = done + 1;
			return st;
		}
		emi_copy(buf + p.at, records + (size_t)done * record, (size_t)m * record);
		if (frame != EM_CACHE_NONE)
			emi_cache_unpin(e->cache, frame, 1);
		done += m;
	}
	return EM_OK;
}
