/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_range.c -- copying records between a vector's cache and the caller; see vector.h.
 *
 * Blocks to read are got in groups, whose reads are under way together, and the next group is hinted at before anybody
 * waits.  A group is a fourth of the frames at most, as a cache takes hints until half of them are being read.
 */
#include <string.h>

#include "base/error.h"
#include "container/vector.h"

enum { GROUP = 32 };

static size_t group_of(const emi_vector *v)
{
	const uint32_t most = emi_cache_frames(v->cache) / 4;

	return most < GROUP ? most + (most == 0) : GROUP;
}

/* The ids of blocks from one on, up to the last; how many. */
static size_t name_blocks(const emi_vector *v, uint64_t block, uint64_t last, size_t most, em_bid *bid)
{
	size_t k;

	for (k = 0; k < most && block + k <= last; k++)
		bid[k] = emi_vector_bid(v, block + k);
	return k;
}

/* Bytes [at, end) of the payload. */
static em_status read_bytes(emi_vector *v, uint64_t at, uint64_t end, char *to, em_errinfo *err)
{
	const uint64_t last = emi_vector_place_of(&v->layout, end - 1).block;
	emi_vector_place p = emi_vector_place_of(&v->layout, at);
	em_bid bid[2 * GROUP];
	uint32_t frame[GROUP];

	while (at < end) {
		const size_t most = group_of(v), all = name_blocks(v, p.block, last, 2 * most, bid);
		const size_t n = all < most ? all : most;
		size_t k, got = 1;
		em_status st;

		if (all == 1)
			st = emi_vector_bring(v, p.block, EM_CACHE_READ, frame, err);
		else
			st = emi_cache_get_many(v->cache, bid, n, EM_CACHE_READ, bid + n, all - n, frame, &got, err);
		if (st != EM_OK)
			return st;
		for (k = 0; k < got; k++, p.block++, p.from = 0) {
			const uint64_t rest = v->layout.payload - p.from;
			const size_t bytes = (size_t)(end - at < rest ? end - at : rest);

			memcpy(to, emi_cache_buf(v->cache, frame[k]) + p.from, bytes);
			emi_cache_unpin(v->cache, frame[k], 0);
			to += bytes;
			at += bytes;
		}
	}
	return EM_OK;
}

em_status emi_vector_read(emi_vector *v, uint64_t i, void *records, uint64_t n, em_errinfo *err)
{
	const uint64_t record = v->layout.record;

	return n != 0 ? read_bytes(v, i * record, (i + n) * record, records, err) : EM_OK;
}

/* Write so many bytes to a place, and zeros behind them where nothing was before.  old: end of what is there. */
static em_status write_block(emi_vector *v, const emi_vector_place *p, const char *from, size_t bytes, uint64_t old,
			     em_errinfo *err)
{
	const uint64_t begin = p->block * v->layout.payload, kept = old > begin ? old - begin : 0;
	const int whole = p->from == 0 && (bytes == v->layout.payload || bytes >= kept);
	uint32_t frame;
	const em_status st = emi_vector_bring(v, p->block, whole ? EM_CACHE_FRESH : EM_CACHE_WRITE, &frame, err);
	char *buf;

	if (st != EM_OK)
		return st;
	buf = emi_cache_buf(v->cache, frame);
	memcpy(buf + p->from, from, bytes);
	if (whole)
		memset(buf + bytes, 0, v->layout.block_bytes - bytes);
	emi_cache_unpin(v->cache, frame, 1);
	return EM_OK;
}

em_status emi_vector_write(emi_vector *v, uint64_t i, const void *records, uint64_t n, uint64_t *done, em_errinfo *err)
{
	const uint64_t record = v->layout.record, old = v->n * record, begin = i * record, end = (i + n) * record;
	emi_vector_place p = emi_vector_place_of(&v->layout, begin);
	const char *from = records;
	em_status st = EM_OK;
	uint64_t at = begin;

	while (at < end && st == EM_OK) {
		const uint64_t rest = v->layout.payload - p.from;
		const size_t bytes = (size_t)(end - at < rest ? end - at : rest);

		st = write_block(v, &p, from, bytes, old, err);
		if (st != EM_OK)
			break;
		from += bytes;
		at += bytes;
		p.block++;
		p.from = 0;
	}
	*done = (at - begin) / record;
	if (i + *done > v->n)
		v->n = i + *done;
	if (st != EM_OK)
		err->record = *done + 1;
	return st;
}

/* The blocks of the records at positions, of which there are n, up to `most' blocks: how many records those are of. */
static uint64_t blocks_of(const emi_vector *v, const uint64_t *positions, uint64_t n, size_t most, em_bid *bid,
			  size_t *blocks)
{
	const uint64_t record = v->layout.record;
	uint64_t k;

	for (k = 0, *blocks = 0; k < n; k++) {
		const uint64_t first = emi_vector_place_of(&v->layout, positions[k] * record).block;
		const uint64_t last = emi_vector_place_of(&v->layout, (positions[k] + 1) * record - 1).block;

		if (last - first >= most - *blocks)
			break;
		*blocks += name_blocks(v, first, last, most - *blocks, bid + *blocks);
	}
	return k;
}

/* Copy the first records whose blocks are all there, and unpin all: how many they are. */
static uint64_t take(emi_vector *v, const uint64_t *positions, uint64_t n, const uint32_t *frame, size_t got, char *to)
{
	const uint64_t record = v->layout.record;
	size_t used = 0;
	uint64_t k;

	for (k = 0; k < n && used < got; k++) {
		emi_vector_place p = emi_vector_place_of(&v->layout, positions[k] * record);
		const uint64_t last = emi_vector_place_of(&v->layout, (positions[k] + 1) * record - 1).block;
		size_t left = (size_t)record;

		if (last - p.block >= got - used)
			break;
		while (left != 0) {
			const size_t rest = (size_t)v->layout.payload - p.from, bytes = left < rest ? left : rest;

			memcpy(to, emi_cache_buf(v->cache, frame[used++]) + p.from, bytes);
			to += bytes;
			left -= bytes;
			p.from = 0;
		}
	}
	for (used = 0; used < got; used++)
		emi_cache_unpin(v->cache, frame[used], 0);
	return k;
}

em_status emi_vector_read_many(emi_vector *v, const uint64_t *positions, uint64_t n, void *records, em_errinfo *err)
{
	const size_t record = (size_t)v->layout.record;
	em_bid bid[GROUP], next[GROUP];
	uint32_t frame[GROUP];
	char *to = records;

	while (n != 0) {
		size_t blocks, more, got = 0;
		uint64_t k = blocks_of(v, positions, n, group_of(v), bid, &blocks);
		em_status st = EM_OK;

		(void)blocks_of(v, positions + k, n - k, group_of(v), next, &more);
		if (blocks != 0)
			st = emi_cache_get_many(v->cache, bid, blocks, EM_CACHE_READ, next, more, frame, &got, err);
		if (st == EM_OK)
			k = take(v, positions, k, frame, got, to);
		/* It is in more blocks than there are frames for at a time. */
		if (st == EM_OK && k == 0) {
			st = emi_vector_read(v, positions[0], to, 1, err);
			k = 1;
		}
		if (st != EM_OK)
			return st;
		positions += k;
		n -= k;
		to += k * record;
	}
	return EM_OK;
}
