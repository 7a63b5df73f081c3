/* SPDX-License-Identifier: BSL-1.0 */
/* check_fixed.c -- see check_fixed.h. */
#include "sort/check_fixed.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/workers.h"
#include "sort/record_hash.h"

#define PIECE_BYTES ((size_t)32 << 10) /* of elements: they stay in the cache */
#define PART_LEAST ((size_t)64 << 10)  /* fewer bytes of records are not worth another thread */

static unsigned char *elems_of(const emi_check_fixed *c, uint32_t part)
{
	return c->elem + part * (c->piece + 1) * c->by.codec->elem_bytes;
}

static void free_elems(emi_check_fixed *c)
{
	if (c->elem != NULL)
		emi_buffer_free(c->ctx, c->elem, c->threads * (c->piece + 1) * c->by.codec->elem_bytes);
	if (c->found != NULL)
		emi_free_array(c->ctx, c->found, c->threads, sizeof *c->found);
	c->elem = NULL;
	c->found = NULL;
}

static em_status alloc_elems(emi_check_fixed *c, uint32_t threads, em_errinfo *err)
{
	c->threads = threads;
	c->elem = emi_buffer_alloc(c->ctx, threads * (c->piece + 1) * c->by.codec->elem_bytes, err);
	if (c->elem != NULL)
		c->found = emi_alloc_array(c->ctx, threads, sizeof *c->found, err);
	if (c->found != NULL)
		return EM_OK;
	free_elems(c);
	return err->status;
}

em_status emi_check_fixed_open(emi_check_fixed *c, em_ctx *ctx, const em_order *order, int unique, emi_watch *watch,
			       em_errinfo *err)
{
	em_status st;

	memset(c, 0, sizeof *c);
	st = emi_collation_open(&c->by, order, emi_watch_tick, watch, err);
	if (st != EM_OK)
		return st;
	c->ctx = ctx;
	c->unique = unique;
	c->piece = PIECE_BYTES / c->by.codec->elem_bytes;
	if (c->piece == 0)
		c->piece = 1;
	st = alloc_elems(c, 1, err);
	if (st == EM_OK)
		c->before = emi_alloc(ctx, c->by.codec->record_bytes, err);
	if (st == EM_OK && c->before == NULL)
		st = err->status;
	if (st != EM_OK)
		emi_check_fixed_close(c);
	return st;
}

void emi_check_fixed_close(emi_check_fixed *c)
{
	if (c->ctx == NULL)
		return;
	free_elems(c);
	if (c->before != NULL)
		emi_free(c->ctx, c->before, c->by.codec->record_bytes);
	emi_collation_close(&c->by);
	memset(c, 0, sizeof *c);
}

/* Other threads save time and nothing else: without memory for them this one does all. */
static em_status start_threads(emi_check_fixed *c, em_errinfo *err)
{
	const uint32_t threads = emi_workers_fed(c->ctx, (c->piece + 1) * c->by.codec->elem_bytes);
	em_errinfo own;

	c->asked = 1;
	memset(&own, 0, sizeof own);
	if (threads == 1 || emi_order_on_caller(c->by.order) || emi_workers_reach(c->ctx, threads, &own) != EM_OK)
		return EM_OK;
	free_elems(c);
	if (alloc_elems(c, threads, &own) == EM_OK)
		return EM_OK;
	return alloc_elems(c, 1, err);
}

static void look_at_pairs(const emi_check_fixed *c, const emi_tie *tie, const emi_pair *e, size_t n, size_t at,
			  emi_check_found *f)
{
	size_t i;

	for (i = 1; i <= n; i++) {
		int order;

		if (e[i - 1].key < e[i].key)
			continue;
		order = emi_pair_compare(tie, &e[i - 1], &e[i]);
		f->duplicates += order == 0;
		if ((order > 0 || (order == 0 && c->unique)) && f->disorders++ == 0)
			f->first = at + i - 1;
	}
}

static inline uint64_t key_at(const void *e, size_t i, size_t bytes)
{
	return bytes == sizeof(uint32_t) ? ((const uint32_t *)e)[i] : ((const uint64_t *)e)[i];
}

/* Bare keys are counted first, which takes no branches; where the first disorder is matters once.  bytes is a constant
 * where this is called. */
static inline void look_at_keys(const emi_check_fixed *c, const void *e, size_t n, size_t at, emi_check_found *f,
				const size_t bytes)
{
	size_t i, equal = 0, above = 0, bad;

	for (i = 1; i <= n; i++) {
		equal += key_at(e, i - 1, bytes) == key_at(e, i, bytes);
		above += key_at(e, i - 1, bytes) > key_at(e, i, bytes);
	}
	bad = above + (c->unique ? equal : 0);
	if (bad != 0 && f->disorders == 0) {
		i = 1;
		while (key_at(e, i - 1, bytes) < key_at(e, i, bytes) ||
		       (!c->unique && key_at(e, i - 1, bytes) == key_at(e, i, bytes)))
			i++;
		f->first = at + i - 1;
	}
	f->duplicates += equal;
	f->disorders += bad;
}

/* Elements that are records, and have no key. */
static void look_at_own(const emi_check_fixed *c, const emi_tie *tie, const unsigned char *e, size_t n, size_t at,
			emi_check_found *f)
{
	const size_t bytes = c->by.codec->elem_bytes;
	size_t i;

	for (i = 1; i <= n; i++, e += bytes) {
		const int order = tie->fn(tie->arg, (uint64_t)(uintptr_t)e, (uint64_t)(uintptr_t)(e + bytes));

		f->duplicates += order == 0;
		if ((order > 0 || (order == 0 && c->unique)) && f->disorders++ == 0)
			f->first = at + i - 1;
	}
}

/* e[0] is the one before, e[1] to e[n] are looked at; the first of these is record `at' of the chunk. */
static void look_at(const emi_check_fixed *c, const emi_tie *tie, const void *e, size_t n, size_t at,
		    emi_check_found *f)
{
	switch (c->by.codec->elem) {
	case EMI_ELEM_U32:
		look_at_keys(c, e, n, at, f, sizeof(uint32_t));
		break;
	case EMI_ELEM_U64:
		look_at_keys(c, e, n, at, f, sizeof(uint64_t));
		break;
	case EMI_ELEM_PAIR:
		look_at_pairs(c, tie, e, n, at, f);
		break;
	default:
		look_at_own(c, tie, e, n, at, f);
		break;
	}
}

static void look_at_part(void *arg, uint32_t part)
{
	emi_check_fixed *c = arg;
	const size_t bytes = c->by.codec->record_bytes, eb = c->by.codec->elem_bytes;
	const size_t begin = (size_t)((uint64_t)c->n * part / c->parts),
		     end = (size_t)((uint64_t)c->n * (part + 1) / c->parts);
	emi_check_found *f = &c->found[part];
	unsigned char *e = elems_of(c, part);
	emi_tie tie = c->by.tie;
	size_t i, n, has = 1;

	tie.arg = emi_collation_here(&c->by, tie.arg);
	memset(f, 0, sizeof *f);
	if (begin == end)
		return;
	if (begin != 0)
		emi_collation_load(&c->by, c->records + (begin - 1) * bytes, 1, e);
	else if (c->has_before)
		emi_collation_load(&c->by, c->before, 1, e);
	else
		has = 0;
	for (i = begin; i < end; i += n) {
		n = end - i < c->piece ? end - i : c->piece;
		emi_collation_load(&c->by, c->records + i * bytes, n, e + eb);
		if (has)
			look_at(c, &tie, e, n, i, f);
		else if (n > 1)
			look_at(c, &tie, e + eb, n - 1, i + 1, f);
		has = 1;
		memmove(e, e + n * eb, eb);
	}
	for (i = begin; i < end; i++)
		f->checksum += emi_record_hash(c->records + i * bytes, bytes);
}

/* A function that runs on the caller's thread only has no other part than this. */
static void look_at_parts(emi_check_fixed *c, size_t n, emi_check_found *sum)
{
	const size_t worth = n * c->by.codec->record_bytes / PART_LEAST;
	uint32_t i;

	c->n = n;
	c->parts = worth < 2 ? 1 : worth < c->threads ? (uint32_t)worth : c->threads;
	if (c->parts == 1)
		look_at_part(c, 0);
	else
		emi_parallel(c->ctx, c->parts, look_at_part, c);
	memset(sum, 0, sizeof *sum);
	for (i = 0; i < c->parts; i++) {
		const emi_check_found *f = &c->found[i];

		if (sum->disorders == 0)
			sum->first = f->first;
		sum->checksum += f->checksum;
		sum->duplicates += f->duplicates;
		sum->disorders += f->disorders;
	}
}

em_status emi_check_fixed_chunk(emi_check_fixed *c, const unsigned char *records, size_t n, int first,
				emi_check_found *found, em_errinfo *err)
{
	const size_t bytes = c->by.codec->record_bytes;
	em_status st;

	if (!c->asked && n * bytes >= 2 * PART_LEAST) {
		st = start_threads(c, err);
		if (st != EM_OK)
			return st;
	}
	c->records = records;
	look_at_parts(c, n, found);
	if (first && found->disorders != 0)
		look_at_parts(c, found->first + 1, found);
	memcpy(c->before, records + (n - 1) * bytes, bytes);
	c->has_before = 1;
	return emi_collation_check(&c->by, err);
}
