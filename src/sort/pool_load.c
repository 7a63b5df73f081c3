/* SPDX-License-Identifier: BSL-1.0 */
/* pool_load.c -- see pool_load.h. */
#include "sort/pool_load.h"

#include <string.h>

#include "base/workers.h"

#define STAGES_PER_THREAD 2u
#define LEAST_RECORD 8u         /* stages have elements for records of this size; of shorter ones they take fewer bytes */

/* A chunk on its way into the pool. */
struct emi_stage {
	emi_chunk chunk;
	const unsigned char *at, *end; /* what is left of it */
	uint64_t number;        /* records of it that were taken before this filling */
	unsigned char *frames;
	emi_pair *elems;        /* val: offset of the frame in `frames' */
	size_t bytes;           /* filled */
	size_t n;
	uint64_t out;
	uint64_t common;        /* bytes that the strings have in common */
	size_t need;            /* not 0: the next frame is too long for a stage */
	int parsed;             /* filled, and not yet in the pool */
	int placed;             /* has a place in the pool: */
	unsigned char *frame_to;
	emi_pair *elem_to;
};

static size_t frame_room(size_t chunk_bytes)
{
	return chunk_bytes + chunk_bytes / 2;
}

static size_t elem_room(size_t chunk_bytes)
{
	return chunk_bytes / LEAST_RECORD;
}

uint32_t emi_pool_loader_chunks(uint32_t threads)
{
	return threads * STAGES_PER_THREAD;
}

uint64_t emi_pool_loader_memory(uint32_t threads, size_t chunk_bytes)
{
	return (uint64_t)emi_pool_loader_chunks(threads) *
	       (sizeof(emi_stage) + frame_room(chunk_bytes) + EMI_POOL_SLACK +
		elem_room(chunk_bytes) * sizeof(emi_pair) + 2u * EMI_PAGE);
}

em_status emi_pool_loader_init(emi_pool_loader *l, emi_pool *pool, emi_records *records, const char *const *paths,
			       size_t chunk_bytes, uint64_t longest, em_errinfo *err)
{
	em_ctx *ctx = pool->job->ctx;
	uint32_t i;

	memset(l, 0, sizeof *l);
	l->pool = pool;
	l->records = records;
	l->paths = paths;
	l->format = pool->job->format;
	l->chunk_bytes = chunk_bytes;
	l->longest = longest;
	/* A full stage fits in an empty pool. */
	l->most_bytes = frame_room(chunk_bytes) < pool->bytes / 4 ? frame_room(chunk_bytes) : pool->bytes / 4;
	l->most_elems = elem_room(chunk_bytes);
	if (l->most_elems > pool->bytes / 8 / sizeof(emi_pair))
		l->most_elems = pool->bytes / 8 / sizeof(emi_pair);
	if (pool->most != 0 && l->most_elems > pool->most)
		l->most_elems = (size_t)pool->most;
	l->nstages = emi_pool_loader_chunks(pool->job->plan.threads);
	l->stage = emi_alloc_array(ctx, l->nstages, sizeof *l->stage, err);
	for (i = 0; l->stage != NULL && i < l->nstages; i++) {
		l->stage[i].frames = emi_buffer_alloc(ctx, frame_room(chunk_bytes) + EMI_POOL_SLACK, err);
		if (l->stage[i].frames != NULL)
			l->stage[i].elems = emi_buffer_alloc(ctx, elem_room(chunk_bytes) * sizeof(emi_pair), err);
		if (l->stage[i].elems == NULL)
			break;
	}
	if (l->stage != NULL && i == l->nstages)
		return EM_OK;
	emi_pool_loader_free(l);
	return err->status;
}

void emi_pool_loader_free(emi_pool_loader *l)
{
	em_ctx *ctx;
	uint32_t i;

	if (l->pool == NULL)
		return;
	ctx = l->pool->job->ctx;
	for (i = 0; l->stage != NULL && i < l->nstages; i++) {
		if (l->stage[i].elems != NULL)
			emi_buffer_free(ctx, l->stage[i].elems, elem_room(l->chunk_bytes) * sizeof(emi_pair));
		if (l->stage[i].frames != NULL)
			emi_buffer_free(ctx, l->stage[i].frames, frame_room(l->chunk_bytes) + EMI_POOL_SLACK);
	}
	if (l->stage != NULL)
		emi_free_array(ctx, l->stage, l->nstages, sizeof *l->stage);
	memset(l, 0, sizeof *l);
}

static emi_stage *stage_at(const emi_pool_loader *l, uint32_t i)
{
	return &l->stage[(l->head + i) % l->nstages];
}

/* What the string of a new frame has in common with those before it in the stage.  Eight bytes mostly tell. */
static void note_common(const emi_vary *v, emi_stage *s, const emi_frame *f, uint64_t key)
{
	const uint64_t diff = key ^ s->elems[0].key;
	uint64_t common = emi_string_bytes(v, f);

	if (s->n != 0 && diff != 0) {
		const uint64_t same = (uint64_t)__builtin_clzll(diff) / 8;

		common = same < common ? same : common;
	} else if (s->n != 0 && s->common > 8) {
		const emi_frame first = emi_frame_get(v, s->frames);

		common = emi_string_common(v, &first, f, 0);
	}
	if (common < s->common)
		s->common = common;
}

/* Turn records of the chunk into frames until the stage is full or the chunk empty. */
static void parse(const emi_pool_loader *l, emi_stage *s)
{
	const emi_vary *v = emi_order_vary(l->pool->job->order);
	const size_t room = l->most_bytes, elems = l->most_elems;

	s->number += s->n;
	s->bytes = s->n = s->need = 0;
	s->out = 0;
	s->common = UINT64_MAX;
	s->parsed = 1;
	while (s->at != s->end && s->n < elems) {
		const unsigned char *next = s->at, *record;
		size_t n, bytes, need;
		emi_frame f;

		record = emi_record_take(&l->format, &next, s->end, &n);
		bytes = emi_frame_make(v, record, n, s->frames + s->bytes, room - s->bytes, &need);
		if (bytes == 0) {
			s->need = s->n == 0 ? need : 0;
			break;
		}
		f = emi_frame_get(v, s->frames + s->bytes);
		s->elems[s->n].key = emi_string_key(v, &f, 0);
		s->elems[s->n].val = s->bytes;
		note_common(v, s, &f, s->elems[s->n].key);
		s->n++;
		s->bytes += bytes;
		s->out += n;
		s->at = next;
	}
	s->out += s->n * l->pool->job->out_extra;
}

/* Take records of a header out of a chunk that has just come. */
static em_status take_header(emi_pool_loader *l, emi_stage *s, em_errinfo *err)
{
	em_status st = EM_OK;

	if (s->chunk.file != 0)
		l->skip = 0;
	while (st == EM_OK && l->skip != 0 && !(s->at == s->end)) {
		const unsigned char *from = s->at;
		size_t n;

		emi_record_take(&l->format, &s->at, s->end, &n);
		st = l->skipped_to(l->skipped_arg, from, (size_t)(s->at - from), err);
		l->skipped = 1;
		l->skip--;
		s->number++;
	}
	return st;
}

/* Give chunks to the stages that have none. */
static em_status fetch(emi_pool_loader *l, em_status (*tick)(void *arg), void *arg, em_errinfo *err)
{
	em_status st = EM_OK;

	while (l->busy < l->nstages && !l->ended) {
		emi_stage *s = stage_at(l, l->busy);

		st = emi_records_next(l->records, &s->chunk, tick, arg, err);
		if (st == EM_END) {
			l->ended = 1;
			return EM_OK;
		}
		/* The reader's one large buffer is with us: the chunk comes when that has gone back. */
		if (st == EM_ERR_STATE && l->busy != 0) {
			memset(err, 0, sizeof *err);
			return EM_OK;
		}
		if (st != EM_OK)
			return st;
		s->at = s->chunk.data;
		s->end = s->chunk.data + s->chunk.bytes;
		s->number = s->n = 0;
		s->parsed = s->placed = 0;
		l->busy++;
		st = take_header(l, s, err);
		if (st != EM_OK)
			return st;
	}
	return st;
}

/* What a task does with every nth stage, each thread with its own. */
static void parse_some(void *arg, uint32_t part)
{
	emi_pool_loader *l = arg;
	const uint32_t parts = l->pool->job->plan.threads;
	uint32_t i;

	for (i = part; i < l->busy; i += parts)
		if (!stage_at(l, i)->parsed)
			parse(l, stage_at(l, i));
}

/* Move a stage to its place. */
static void move(emi_stage *s)
{
	size_t i;

	memcpy(s->frame_to, s->frames, s->bytes);
	for (i = 0; i < s->n; i++) {
		s->elem_to[i].key = s->elems[i].key;
		s->elem_to[i].val = (uintptr_t)s->frame_to + s->elems[i].val;
	}
}

static void move_some(void *arg, uint32_t part)
{
	emi_pool_loader *l = arg;
	const uint32_t parts = l->pool->job->plan.threads;
	uint32_t i;

	for (i = part; i < l->busy; i += parts)
		if (stage_at(l, i)->placed)
			move(stage_at(l, i));
}

static int finished(const emi_stage *s)
{
	return s->at == s->end;
}

/* Find places in the pool, in order, up to a stage whose chunk is not finished.  0: the pool is full. */
static int place(emi_pool_loader *l)
{
	uint32_t i;

	for (i = 0; i < l->busy; i++) {
		emi_stage *s = stage_at(l, i);

		if (s->n != 0 && !emi_pool_grow(l->pool, s->bytes, s->n, &s->frame_to, &s->elem_to))
			return 0;
		s->placed = s->n != 0;
		if (!finished(s))
			break;
		s->parsed = 2;
	}
	return 1;
}

/* The first chunk is used up. */
static void retire(emi_pool_loader *l)
{
	emi_stage *s = stage_at(l, 0);

	emi_records_release(l->records, &s->chunk, s->number + s->n);
	if (s->chunk.file != l->file) {
		l->file = s->chunk.file;
		l->number = 0;
	}
	l->number += s->number + s->n;
	s->placed = s->parsed = 0;
	l->head = (l->head + 1) % l->nstages;
	l->busy--;
}

/* What was moved is in the pool; chunks that are used up go back. */
static void account(emi_pool_loader *l)
{
	uint32_t i;

	for (i = 0; i < l->busy; i++) {
		emi_stage *s = stage_at(l, i);

		if (!s->placed)
			continue;
		emi_pool_share(l->pool, s->frame_to, s->common);
		l->pool->out += s->out;
		l->records_in += s->n;
		s->placed = 0;
		if (!finished(s))
			s->parsed = 0;
	}
	while (l->busy != 0 && stage_at(l, 0)->parsed == 2)
		retire(l);
}

/* The number in its file of the record that comes next, from 1. */
static uint64_t next_number(const emi_pool_loader *l)
{
	const emi_stage *s = stage_at(l, 0);

	return (s->chunk.file == l->file ? l->number : 0) + s->number + s->n + 1;
}

/* The next record of the first chunk is too long for a stage: make its frame in the pool. */
static em_status add_long(emi_pool_loader *l, int *full, em_errinfo *err)
{
	emi_stage *s = stage_at(l, 0);
	const unsigned char *next = s->at, *record;
	size_t n, need = s->need;

	if (need > l->longest)
		return emi_fail(err, EM_ERR_FORMAT, "%s:%llu: line and key of %llu bytes are longer than the %llu that this memory allows",
				l->paths[s->chunk.file], (unsigned long long)next_number(l), (unsigned long long)need,
				(unsigned long long)l->longest);
	record = emi_record_take(&l->format, &next, s->end, &n);
	if (!emi_pool_add(l->pool, record, n, &need)) {
		*full = 1;
		return l->pool->n != 0 ? EM_OK
				       : emi_fail(err, EM_ERR_INTERNAL, "a record of %llu bytes does not fit in memory",
						  (unsigned long long)n);
	}
	l->records_in++;
	s->number++;
	s->at = next;
	s->parsed = 0;
	s->need = 0;
	if (finished(s))
		retire(l);
	return EM_OK;
}

static em_status tick(void *arg)
{
	emi_job *job = arg;

	return emi_tick(&job->watch);
}

em_status emi_pool_load(emi_pool_loader *l, int *full, em_errinfo *err)
{
	emi_job *job = l->pool->job;
	em_status st;

	*full = 0;
	for (;;) {
		uint64_t before = l->pool->out;

		st = fetch(l, tick, job, err);
		if (st == EM_OK)
			st = emi_job_check(job, err);
		if (st != EM_OK || l->busy == 0)
			return st;
		emi_parallel(job->ctx, job->plan.threads, parse_some, l);
		*full = !place(l);
		emi_parallel(job->ctx, job->plan.threads, move_some, l);
		account(l);
		emi_watch_add(&job->watch, l->pool->out - before);
		if (*full)
			return l->pool->n != 0 ? EM_OK
					       : emi_fail(err, EM_ERR_INTERNAL, "a chunk does not fit in memory");
		if (l->busy != 0 && stage_at(l, 0)->need != 0) {
			st = add_long(l, full, err);
			if (st != EM_OK || *full)
				return st;
		}
	}
}
