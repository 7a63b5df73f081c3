/* SPDX-License-Identifier: BSL-1.0 */
/*
 * form_vary.c -- sorting a pool: buckets of strings, sorted one by one and sent off as blocks.
 *
 * All strings of a pool may begin alike, as URLs do; elements are then loaded anew with the bytes behind what they have in
 * common before they are partitioned.  Neighbouring buckets whose records fill about a block are a share of the
 * work.  A thread sorts the buckets of its share, measures the records, reserves places for them behind those of the
 * share before, and fills its blocks, while the records that it has just compared and measured are in its cache.
 */
#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/pool.h"
#include "stream/records.h"

#define AHEAD 12u               /* records asked for ahead of time */
#define WORTH_LOADING 4u        /* bytes in common that are worth loading the elements anew */

typedef struct forming {
	emi_pool *pool;
	emi_job *job;
	const emi_vary *v;
	emi_partition part;
	uint64_t depth;         /* of the keys in the elements */
	uint32_t *share;        /* first bucket of each share, and the number of buckets */
	size_t shares;
	size_t next;            /* share to be taken next; atomic */
	emi_outseq *q;          /* NULL: leave the elements */
	uint64_t limit;         /* bytes of records in a block */
	uint64_t sent;          /* records; atomic */
} forming;

static const unsigned char *frame_at(const emi_pair *e)
{
	return (const unsigned char *)(uintptr_t)e->val;
}

static void load_deeper(void *arg, uint64_t i, size_t n)
{
	forming *s = arg;

	emi_load_strings(s->v, emi_pool_elems(s->pool) + (size_t)i, n, s->depth);
}

/* What a record takes in a block. */
static uint64_t size_of(const forming *s, const emi_pair *e)
{
	const unsigned char *frame = frame_at(e);
	const emi_frame f = emi_frame_get(s->v, frame);

	return s->q->dest.text ? f.bytes + s->job->out_extra : (uint64_t)(emi_frame_end(&f) - frame);
}

/* The end of the block that begins with element i, and its bytes: as many as fit, at least one. */
static size_t block_end(const forming *s, const emi_pair *e, size_t i, size_t n, uint64_t *bytes)
{
	*bytes = 0;
	for (; i < n; i++) {
		uint64_t size;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		size = size_of(s, e + i);
		if (*bytes != 0 && *bytes + size > s->limit)
			break;
		*bytes += size;
	}
	return i;
}

/* Of equal neighbours only the first stays. */
static size_t drop_equal(const forming *s, emi_pair *e, size_t n)
{
	size_t i, kept = n != 0;

	for (i = 1; i < n; i++) {
		const emi_frame a = emi_frame_of(s->v, e + kept - 1), b = emi_frame_of(s->v, e + i);

		if (emi_string_compare(s->v, &a, &b, 0) != 0)
			e[kept++] = e[i];
	}
	return kept;
}

static void fill_text(const forming *s, const emi_pair *e, size_t n, unsigned char *at)
{
	const em_format *format = &s->job->format;
	size_t i;

	for (i = 0; i < n; i++) {
		emi_frame f;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		f = emi_frame_of(s->v, e + i);
		at = emi_record_prefix(format, at, f.bytes);
		emi_copy(at, emi_frame_record(&f), (size_t)f.bytes);
		at = emi_record_delimit(format, at + f.bytes);
	}
}

static void fill_frames(const forming *s, const emi_pair *e, size_t n, char *base, uint64_t bytes)
{
	emi_block_builder b;
	size_t i;

	emi_block_begin(&b, base, bytes);
	for (i = 0; i < n; i++) {
		emi_frame f;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		f = emi_frame_of(s->v, e + i);
		emi_block_add(&b, frame_at(e + i), (size_t)(emi_frame_end(&f) - frame_at(e + i)), f.bytes + s->job->out_extra);
	}
	emi_block_end(&b);
}

/* Fill a block with elements [i, end). */
static int send_block(const forming *s, const emi_pair *e, size_t n, uint64_t bytes, uint64_t index, uint64_t position)
{
	const size_t whole = (size_t)(s->q->dest.text ? bytes : emi_block_bytes(bytes));
	char *at = emi_outseq_take(s->q, index, whole, position);

	if (at == NULL)
		return 0;
	if (s->q->dest.text)
		fill_text(s, e, n, (unsigned char *)at);
	else
		fill_frames(s, e, n, at, bytes);
	emi_outseq_full(s->q, index, n);
	return 1;
}

static int send_share(forming *s, size_t share, const emi_pair *e, size_t n)
{
	uint64_t index, position, bytes, blocks = 0, all = 0;
	size_t i, end;

	for (i = 0; i < n; i = block_end(s, e, i, n, &bytes), all += bytes)
		blocks++;
	if (!emi_outseq_reserve(s->q, share, blocks, all, &index, &position))
		return 0;
	for (i = 0; i < n; i = end) {
		/* A share is nearly always one block, which was measured already. */
		end = blocks == 1 ? n : block_end(s, e, i, n, &bytes);
		if (!send_block(s, e + i, end - i, bytes, index, position))
			return 0;
		index++;
		position += bytes;
	}
	__atomic_fetch_add(&s->sent, n, __ATOMIC_RELAXED);
	return 1;
}

/* Sort the buckets of a share; they move together when equal records are dropped.  Returns how many are left. */
static size_t sort_share(forming *s, uint32_t part, size_t share, emi_pair **elems)
{
	const size_t hot = s->job->plan.hot_bytes / sizeof(emi_pair);
	emi_pair *sorted = (emi_pair *)(void *)s->part.sorted;
	emi_pair *other = (emi_pair *)(void *)(s->part.sorted == s->part.a ? s->part.b : s->part.a);
	size_t kept = 0;
	uint64_t lo, hi;
	uint32_t i;

	emi_partition_bucket(&s->part, s->share[share], &lo, &hi);
	*elems = sorted + (size_t)lo;
	for (i = s->share[share]; i < s->share[share + 1]; i++) {
		size_t n;

		emi_partition_bucket(&s->part, i, &lo, &hi);
		n = (size_t)(hi - lo);
		if (n == 0)
			continue;
		emi_sort_strings(s->job->kern, s->v, sorted + (size_t)lo,
				 n <= hot ? (emi_pair *)(void *)(s->pool->hot + part * s->job->plan.hot_bytes)
					  : other + (size_t)lo,
				 n, s->depth);
		if ((s->job->flags & EM_SORT_UNIQUE) != 0 && s->q != NULL) {
			n = drop_equal(s, sorted + (size_t)lo, n);
			memmove(*elems + kept, sorted + (size_t)lo, n * sizeof **elems);
		}
		kept += n;
	}
	return kept;
}

static void finish_part(void *arg, uint32_t part)
{
	forming *s = arg;

	for (;;) {
		size_t share = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED), n;
		emi_pair *e;

		if (share >= s->shares || !emi_partition_go_on(&s->part, part == s->part.parts - 1))
			return;
		n = sort_share(s, part, share, &e);
		if (s->q != NULL && !send_share(s, share, e, n))
			return;
	}
}

/* Neighbouring buckets whose records fill nearly a block are a share. */
static void make_shares(forming *s)
{
	const uint64_t want = s->pool->out == 0 ? s->part.n : s->limit * s->part.n / (s->pool->out + 1) * 15 / 16 + 1;
	uint64_t lo, hi, n = 0;
	uint32_t i;

	s->shares = 0;
	for (i = 0; i < s->part.buckets; i++) {
		emi_partition_bucket(&s->part, i, &lo, &hi);
		if (s->shares == 0 || (n != 0 && n + (hi - lo) > want)) {
			s->share[s->shares++] = i;
			n = 0;
		}
		n += hi - lo;
	}
	s->share[s->shares] = i;
}

static em_status sort_shares(forming *s, em_errinfo *err)
{
	em_status st = emi_partition_run(&s->part, err);

	if (st != EM_OK)
		return st;
	make_shares(s);
	emi_parallel(s->job->ctx, s->part.parts, finish_part, s);
	if (s->part.status != EM_OK)
		return emi_fail(err, s->part.status, "canceled");
	if (s->q != NULL && emi_outseq_status(s->q) != EM_OK) {
		*err = s->q->err;
		return s->q->status;
	}
	return emi_job_check(s->job, err);
}

static em_status form(emi_pool *p, emi_outseq *q, uint64_t *records, const emi_pair **elems, em_errinfo *err)
{
	emi_job *job = p->job;
	const size_t block = job->plan.block_bytes;
	forming s;
	em_status st;

	memset(&s, 0, sizeof s);
	s.pool = p;
	s.job = job;
	s.v = emi_order_vary(job->order);
	s.q = q;
	s.limit = q != NULL && q->dest.text ? block : emi_block_room(block);
	s.part.job = job;
	s.part.room = &p->buckets;
	s.part.a = p->base;
	s.part.b = p->base + (size_t)p->n * sizeof(emi_pair);
	s.part.n = p->n;
	s.part.ties = 1;
	if (p->common >= WORTH_LOADING) {
		s.depth = p->common;
		s.part.load = load_deeper;
		s.part.load_arg = &s;
	}
	s.share = emi_alloc_array(job->ctx, EMI_BUCKETS + 2, sizeof *s.share, err);
	if (s.share == NULL)
		return err->status;
	st = sort_shares(&s, err);
	emi_free_array(job->ctx, s.share, EMI_BUCKETS + 2, sizeof *s.share);
	if (st == EM_OK && records != NULL)
		*records = s.sent;
	if (st == EM_OK && elems != NULL)
		*elems = (const emi_pair *)(const void *)s.part.sorted;
	return st;
}

em_status emi_pool_send(emi_pool *p, emi_outseq *q, uint64_t *records, em_errinfo *err)
{
	return form(p, q, records, NULL, err);
}

em_status emi_pool_sort(emi_pool *p, const emi_pair **elems, em_errinfo *err)
{
	return form(p, NULL, NULL, elems, err);
}
