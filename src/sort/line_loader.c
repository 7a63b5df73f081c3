/* SPDX-License-Identifier: BSL-1.0 */
/* line_loader.c -- see line_loader.h. */
#include "sort/line_loader.h"

#include <string.h>

#define STAGES_PER_THREAD 2u
#define WAKE_BYTES ((size_t)16 << 10) /* a thread that is woken has so much to do, or half of a usual chunk */
#define LEAST_RECORD 8u         /* stages have elements for records of this size; of shorter ones they take fewer
                                   bytes */

/* A chunk on its way into the store. */
struct emi_stage {
	emi_chunk chunk;
	const unsigned char *at, *end; /* what is left of it */
	uint64_t number;        /* records of it that were taken, this filling included */
	unsigned char *frames;
	emi_pair *elems;        /* val: offset of the frame in `frames' */
	size_t bytes;           /* filled */
	size_t n;
	uint64_t out;
	uint64_t told;          /* output bytes of what has its place in the store, since somebody was told of
	                           progress */
	uint64_t common;        /* bytes that the strings have in common */
	size_t need;            /* not 0: the next frame is too long for a stage */
	unsigned char *frame_to; /* where it is to be moved in the store; NULL: there is nothing to move */
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

uint32_t emi_line_loader_chunks(uint32_t threads)
{
	return threads * STAGES_PER_THREAD;
}

uint64_t emi_line_loader_memory(uint32_t threads, uint64_t chunk_bytes)
{
	return (uint64_t)emi_line_loader_chunks(threads) *
	       (sizeof(emi_stage) + chunk_bytes + chunk_bytes / 2 + EMI_LINE_STORE_SLACK +
		chunk_bytes * sizeof(emi_pair) / LEAST_RECORD + 2u * EMI_PAGE + 1u) +
	       threads * (uint64_t)sizeof(emi_task);
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
static void parse(const emi_line_loader *l, emi_stage *s)
{
	const emi_vary *v = l->store->job->by.vary;
	const size_t room = l->most_bytes, elems = l->most_elems;

	s->bytes = s->n = s->need = 0;
	s->out = 0;
	s->common = UINT64_MAX;
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
	s->out += s->n * l->store->job->out_extra;
}

/* A filling of the stage at a place in the ring. */
static emi_stage *stage_of(const emi_line_loader *l, uint64_t item)
{
	return &l->stage[item % l->nstages];
}

static int finished(const emi_stage *s)
{
	return s->at == s->end;
}

static int parse_item(void *arg, uint64_t item, uint32_t part)
{
	emi_line_loader *l = arg;

	(void)part;
	parse(l, stage_of(l, item));
	return 1;
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
	s->frame_to = NULL;
}

static int move_item(void *arg, uint64_t item, uint32_t part)
{
	emi_stage *s = stage_of(arg, item);

	(void)part;
	if (s->frame_to != NULL)
		move(s);
	return 1;
}

/* It went into the store, and what is known of the stage is told to all. */
static void count(emi_line_loader *l, emi_stage *s, uint64_t records, uint64_t out)
{
	l->records_in += records;
	s->number += records;
	s->told += out;
}

static int stop(emi_line_loader *l, em_status st)
{
	l->status = st;
	return EMI_TURN_STOP;
}

/* There is no room in the store for a frame of so many bytes. */
static int is_full_for(emi_line_loader *l, size_t need)
{
	l->full = 1;
	l->need = need;
	return stop(l, EM_OK);
}

/* Nor is there for a stage, which is odd when it is empty. */
static int is_full(emi_line_loader *l)
{
	l->full = 1;
	return stop(l, l->store->n != 0 ? EM_OK : emi_fail(&l->err, EM_ERR_INTERNAL, "a chunk does not fit in memory"));
}

/* The next record is too long for a stage: make its frame in the store. */
static int add_long(emi_line_loader *l, emi_stage *s)
{
	const unsigned char *next = s->at, *record;
	const uint64_t number = l->number + emi_records_count(&l->format, s->chunk.data, s->at) + 1;
	size_t n, need = s->need;

	if (need > l->longest) {
		emi_fail_record(&l->err, EM_ERR_FORMAT, l->paths[s->chunk.file], number, need,
				"%s:%llu: line and key of %llu bytes are longer than the %llu that this memory allows",
				l->paths[s->chunk.file], (unsigned long long)number, (unsigned long long)need,
				(unsigned long long)l->longest);
		return stop(l, EM_ERR_FORMAT);
	}
	record = emi_record_take(&l->format, &next, s->end, &n);
	if (!emi_line_store_add(l->store, record, n, &need))
		return is_full_for(l, need);
	count(l, s, 1, n + l->store->job->out_extra);
	s->at = next;
	return EMI_TURN_NEXT;
}

/* Find a place for a stage.  The first frame in the store is there before others are compared with it. */
static int add_stage(emi_line_loader *l, emi_stage *s)
{
	if (!emi_line_store_grow(l->store, s->bytes, s->n, &s->frame_to, &s->elem_to))
		return is_full(l);
	if (l->store->first == NULL) {
		const unsigned char *first = s->frame_to;

		move(s);
		emi_line_store_share(l->store, first, s->common);
	} else {
		emi_line_store_share(l->store, s->frames, s->common);
	}
	l->store->out += s->out;
	count(l, s, s->n, s->out);
	return EMI_TURN_NEXT;
}

static int place_item(void *arg, uint64_t item)
{
	emi_line_loader *l = arg;
	emi_stage *s = stage_of(l, item);
	int answer = EMI_TURN_NEXT;

	if (s->chunk.file != l->file) {
		l->file = s->chunk.file;
		l->number = 0;
	}
	if (s->need != 0)
		answer = add_long(l, s);
	else if (s->n != 0)
		answer = add_stage(l, s);
	if (answer == EMI_TURN_NEXT && !finished(s))
		return EMI_TURN_AGAIN;
	if (answer == EMI_TURN_NEXT)
		l->number += emi_chunk_count(&s->chunk, s->number);
	return answer;
}

/* What a thread does as long as there is something to do.  It never waits for a chunk, so the threads can be
 * anybody's. */
static void help(void *arg)
{
	emi_line_loader *l = arg;

	while (emi_turns_step(&l->turns, 0))
		;
}

em_status emi_line_loader_init(emi_line_loader *l, emi_line_store *store, emi_records *records,
			       const char *const *paths, size_t chunk_bytes, uint64_t longest, em_errinfo *err)
{
	static const emi_turns_calls calls = { parse_item, place_item, move_item };
	em_ctx *ctx = store->job->ctx;
	uint32_t i;

	memset(l, 0, sizeof *l);
	l->store = store;
	l->records = records;
	l->paths = paths;
	l->format = store->job->format;
	l->chunk_bytes = chunk_bytes;
	l->longest = longest;
	/* A full stage fits in an empty store. */
	l->most_bytes = frame_room(chunk_bytes) < store->bytes / 4 ? frame_room(chunk_bytes) : store->bytes / 4;
	l->most_elems = elem_room(chunk_bytes);
	if (l->most_elems > store->bytes / 8 / sizeof(emi_pair))
		l->most_elems = store->bytes / 8 / sizeof(emi_pair);
	if (store->most != 0 && l->most_elems > store->most)
		l->most_elems = (size_t)store->most;
	l->nstages = emi_line_loader_chunks(store->job->plan.threads);
	l->stage = emi_alloc_array(ctx, l->nstages, sizeof *l->stage, err);
	for (i = 0; l->stage != NULL && i < l->nstages; i++) {
		l->stage[i].frames = emi_buffer_alloc(ctx, frame_room(chunk_bytes) + EMI_LINE_STORE_SLACK, err);
		if (l->stage[i].frames != NULL)
			l->stage[i].elems = emi_buffer_alloc(ctx, elem_room(chunk_bytes) * sizeof(emi_pair), err);
		if (l->stage[i].elems == NULL)
			break;
	}
	if (l->stage != NULL && i == l->nstages)
		l->state = emi_alloc_array(ctx, l->nstages, sizeof *l->state, err);
	if (l->state != NULL)
		l->helper = emi_alloc_array(ctx, store->job->plan.threads, sizeof *l->helper, err);
	if (l->helper != NULL && emi_turns_init(&l->turns, &calls, l, l->state, l->nstages, err) == EM_OK)
		return EM_OK;
	emi_line_loader_free(l);
	return err->status;
}

void emi_line_loader_free(emi_line_loader *l)
{
	em_ctx *ctx;
	uint32_t i;

	if (l->store == NULL)
		return;
	ctx = l->store->job->ctx;
	emi_turns_free(&l->turns);
	if (l->helper != NULL)
		emi_free_array(ctx, l->helper, l->store->job->plan.threads, sizeof *l->helper);
	if (l->state != NULL)
		emi_free_array(ctx, l->state, l->nstages, sizeof *l->state);
	for (i = 0; l->stage != NULL && i < l->nstages; i++) {
		if (l->stage[i].elems != NULL)
			emi_buffer_free(ctx, l->stage[i].elems, elem_room(l->chunk_bytes) * sizeof(emi_pair));
		if (l->stage[i].frames != NULL)
			emi_buffer_free(ctx, l->stage[i].frames, frame_room(l->chunk_bytes) + EMI_LINE_STORE_SLACK);
	}
	if (l->stage != NULL)
		emi_free_array(ctx, l->stage, l->nstages, sizeof *l->stage);
	memset(l, 0, sizeof *l);
}

/* Is what nobody prepares yet more work than waking a thread is?  Chunks are as small as files. */
static int worth_waking(emi_line_loader *l)
{
	const uint64_t end = l->head + l->busy, waiting = emi_turns_waiting(&l->turns);
	const size_t usual = l->chunk_bytes / 2, enough = usual < WAKE_BYTES ? usual : WAKE_BYTES;
	size_t bytes = 0;
	uint64_t i;

	for (i = 1; i <= waiting && bytes < enough; i++)
		bytes += stage_of(l, end - i)->chunk.bytes;
	return bytes >= enough;
}

/* Wake as many threads as there is something to do for. */
static void call_helpers(emi_line_loader *l, uint32_t most)
{
	em_ctx *ctx = l->store->job->ctx;
	uint32_t i;

	for (i = 0; i + 1 < l->store->job->plan.threads && most > 0; i++) {
		if (emi_task_done(ctx, &l->helper[i])) {
			emi_task_submit(ctx, &l->helper[i], help, l);
			most--;
		}
	}
}

/* Chunks that are used up go back. */
static void retire(emi_line_loader *l)
{
	while (l->busy != 0 && emi_turns_done(&l->turns, l->head)) {
		emi_stage *s = stage_of(l, l->head);

		emi_records_release(l->records, &s->chunk, s->number);
		emi_watch_add(&l->store->job->watch, s->told);
		l->head++;
		l->busy--;
	}
}

/* When there are few chunks that nobody took, and a stage for it, fetch another one. */
static em_status feed(emi_line_loader *l, int *fed, em_errinfo *err)
{
	emi_stage *s = stage_of(l, l->head + l->busy);
	em_status st;

	*fed = 0;
	if (l->ended || l->busy == l->nstages || emi_turns_waiting(&l->turns) >= l->store->job->plan.threads)
		return EM_OK;
	st = emi_records_next(l->records, &s->chunk, emi_watch_tick, &l->store->job->watch, err);
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
	s->number = s->told = 0;
	s->frame_to = NULL;
	st = emi_header_take(&l->header, s->chunk.file, &s->at, s->end, &s->number, err);
	if (st != EM_OK)
		return st;
	l->busy++;
	*fed = 1;
	emi_turns_add(&l->turns, 1);
	if (worth_waking(l))
		call_helpers(l, 1);
	return EM_OK;
}

/* Fetch chunks, and do with them what nobody else does, until the store is full or all are in it. */
static em_status load_all(emi_line_loader *l, em_errinfo *err)
{
	for (;;) {
		const uint64_t seen = emi_turns_seen(&l->turns);
		em_status st;
		int fed;

		retire(l);
		st = emi_job_check(l->store->job, err);
		if (st == EM_OK)
			st = feed(l, &fed, err);
		if (st != EM_OK || emi_turns_stopped(&l->turns) || (l->ended && l->busy == 0))
			return st;
		if (!fed && !emi_turns_step(&l->turns, 0))
			emi_turns_await(&l->turns, seen);
	}
}

em_status emi_line_loader_fill(emi_line_loader *l, int *full, em_errinfo *err)
{
	em_status st;
	uint32_t i;

	l->full = 0;
	l->need = 0;
	emi_turns_resume(&l->turns);
	call_helpers(l, l->busy);
	st = load_all(l, err);
	emi_turns_stop(&l->turns);
	for (i = 0; i + 1 < l->store->job->plan.threads; i++)
		emi_task_wait(l->store->job->ctx, &l->helper[i]);
	retire(l);
	*full = l->full;
	if (l->status != EM_OK)
		*err = l->err;
	return l->status != EM_OK ? l->status : st;
}
