/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_split.c -- see merge_split.h.
 *
 * Splitters are taken from a sample: records at places that are spread over the bytes of all files, so that large files
 * have more of them.  Where a splitter cuts a file is found by halving, and each look reads a few pages.  Whatever
 * record is looked at begins behind a delimiter, or at a multiple of the size; so in files that are not in order the
 * places mean little, but are beginnings of records, and as each search begins where the one before has ended, no
 * record is in two parts.
 */
#include "sort/merge_split.h"

#include <string.h>

#include "sort/plan_vary.h"
#include "stream/input.h"

#define SAMPLES 32u             /* for each part, but ... */
#define FEW_SAMPLES 8u          /* ... for each of many: probing for them is not to take longer than the merge */
#define ENOUGH 4u               /* are needed, for each part */
#define STORE ((size_t)256 << 10) /* bytes of all of them, or ... */
#define EACH ((size_t)256)      /* ... so many for each */
#define PIECE ((size_t)2 * EMI_PAGE) /* read at a time */
#define SLACK 64u               /* bytes behind a string that may be read */
#define GOLDEN 0x9e3779b9u      /* multiples of it, modulo 2^32, are spread evenly */

typedef struct splitting {
	emi_merge_split *s;
	emi_job *job;
	const emi_vary *v;      /* NULL: records of one size */
	emi_tie tie;
	uint64_t longest;
	emi_inputs in;
	/* the file at hand */
	em_file *file;
	const emi_input *item;
	int delimited;          /* it ends with a delimiter */
	unsigned char *room;    /* a piece of it */
	size_t room_bytes;
	uint64_t from;          /* where that begins */
	size_t there;           /* bytes of it */
	/* the record looked at */
	emi_frame frame;
	unsigned char *arena;   /* with keys: it as a frame */
	size_t arena_bytes;
	void *elem;
	/* the sample */
	uint32_t most, n;
	size_t each;            /* bytes that a record may take */
	size_t store_bytes;
	unsigned char *store;
	emi_frame *frames;
	char *sample;           /* elements */
	void *tmp;
	void *work;
} splitting;

static uint64_t page_ceil(uint64_t x)
{
	return x + (EMI_PAGE - x % EMI_PAGE) % EMI_PAGE;
}

/* A buffer with room for n bytes, whose contents are lost when it has to grow. */
static em_status make_room(em_ctx *ctx, unsigned char **room, size_t *bytes, size_t n, em_errinfo *err)
{
	if (*room != NULL && *bytes >= n)
		return EM_OK;
	if (*room != NULL)
		emi_buffer_free(ctx, *room, *bytes + SLACK);
	*bytes = (size_t)page_ceil(n);
	*room = emi_buffer_alloc(ctx, *bytes + SLACK, err);
	return *room != NULL ? EM_OK : err->status;
}

/* Have n bytes from a place on in the room; the file has as many. */
static em_status fetch(splitting *c, uint64_t at, size_t n, em_errinfo *err)
{
	const uint64_t from = at - at % EMI_PAGE, left = c->item->size - from;
	const size_t need = (size_t)(at - from) + n, bytes = need < PIECE ? PIECE : (size_t)page_ceil(need);
	emi_request rq;
	em_status st;

	if (at >= c->from && at + n <= c->from + c->there)
		return EM_OK;
	c->there = 0;
	st = make_room(c->job->ctx, &c->room, &c->room_bytes, bytes, err);
	if (st != EM_OK)
		return st;
	memset(&rq, 0, sizeof rq);
	emi_read(c->file, &rq, c->room, bytes, from, &c->job->io);
	st = emi_watch_wait(&c->job->watch, &rq, err);
	if (st != EM_OK)
		return st;
	if (rq.done < need)
		return emi_fail_io(err, EM_ERR_SHORT, 0, "read", c->item->path, from + rq.done, need - rq.done);
	c->from = from;
	c->there = rq.done < left ? rq.done : (size_t)left;
	return EM_OK;
}

/* What is behind the next delimiter from a place on, or the end of the file; all up to that is in the room.  EM_END: it
 * is farther away than one may be. */
static em_status find_end(splitting *c, uint64_t at, uint64_t *end, em_errinfo *err)
{
	const uint64_t left = c->item->size - at;
	size_t looked = 0, n = 1;

	for (;;) {
		const unsigned char *p, *found;
		em_status st = fetch(c, at, n, err);
		size_t there;

		if (st != EM_OK)
			return st;
		p = c->room + (at - c->from);
		there = (size_t)(c->from + c->there - at);
		found = memchr(p + looked, (int)c->job->format.delimiter, there - looked);
		*end = found != NULL ? at + (uint64_t)(found - p) + 1 : c->item->size;
		if (found != NULL || there >= left)
			return EM_OK;
		if (there > c->longest)
			return EM_END;
		looked = there;
		n = left < 2 * there ? (size_t)left : 2 * there;
	}
}

/* The first record that begins at a place or behind it, lo being the beginning of one that is not behind the place. */
static em_status find_begin(splitting *c, uint64_t lo, uint64_t at, uint64_t *begin, em_errinfo *err)
{
	const uint64_t bytes = c->job->by.codec->record_bytes;

	*begin = lo;
	if (at == lo)
		return EM_OK;
	if (c->v != NULL)
		return find_end(c, at - 1, begin, err);
	*begin = (at + bytes - 1) / bytes * bytes;
	return EM_OK;
}

/* Have the record that begins there in the room: its bytes, and where the next one begins. */
static em_status record_at(splitting *c, uint64_t at, size_t *n, uint64_t *next, em_errinfo *err)
{
	em_status st;

	if (c->v == NULL) {
		*n = c->job->by.codec->record_bytes;
		*next = at + *n;
		return fetch(c, at, *n, err);
	}
	st = find_end(c, at, next, err);
	if (st != EM_OK)
		return st;
	*n = (size_t)(*next - at) - (*next != c->item->size || c->delimited);
	return emi_length_bytes(*n) + *n > c->longest ? EM_END : EM_OK;
}

/* Make the record in the room, which begins there, c->elem. */
static em_status load(splitting *c, uint64_t at, size_t n, em_errinfo *err)
{
	const unsigned char *record = c->room + (at - c->from);
	em_status st = EM_OK;
	size_t need = PIECE;

	if (c->v == NULL) {
		emi_collation_load(&c->job->by, record, 1, c->elem);
		return EM_OK;
	}
	c->frame.string = record;
	c->frame.key_bytes = 0;
	c->frame.bytes = n;
	while (st == EM_OK && c->v->keyed &&
	       (c->arena == NULL || emi_frame_make(c->v, record, n, c->arena, c->arena_bytes, &need) == 0))
		st = need > c->longest && need > PIECE ? EM_END
						       : make_room(c->job->ctx, &c->arena, &c->arena_bytes, need, err);
	if (st == EM_OK && c->v->keyed)
		c->frame = emi_frame_get(c->v, c->arena);
	if (st == EM_OK)
		*(emi_pair *)c->elem = emi_frame_elem(c->v, &c->frame);
	return st;
}

/*
 * The first record from lo on that is greater than the splitter, or the end of the file.  It is likely not to be
 * farther away than `step'.
 *
 * What is before lo is not greater, what begins at `first' is, and nothing begins in [end, first).
 */
static em_status bound(splitting *c, const void *splitter, uint64_t lo, uint64_t step, uint64_t *cut, em_errinfo *err)
{
	uint64_t end = c->item->size, first = end, begin, next;
	em_status st;

	while (lo < end) {
		const uint64_t half = (end - lo) / 2, mid = lo + (half < step ? half : step);
		size_t n;

		st = find_begin(c, lo, mid, &begin, err);
		if (st != EM_OK)
			return st;
		if (begin >= first) {
			end = mid;
			continue;
		}
		st = record_at(c, begin, &n, &next, err);
		if (st == EM_OK)
			st = load(c, begin, n, err);
		if (st != EM_OK)
			return st;
		if (emi_elem_compare(&c->job->by, &c->tie, c->elem, splitter) <= 0) {
			lo = next;
			step = step < UINT64_MAX / 2 ? 2 * step : step;
		} else {
			first = begin;
			end = mid;
		}
	}
	*cut = first;
	return EM_OK;
}

/* Take the record that begins there, unless it is too large for a sample. */
static em_status take(splitting *c, uint64_t at, em_errinfo *err)
{
	unsigned char *to = c->store + c->n * (c->each + SLACK);
	char *elem = c->sample + c->n * c->job->by.codec->elem_bytes;
	emi_frame *f = &c->frames[c->n];
	const unsigned char *record;
	uint64_t next;
	size_t n;
	em_status st = record_at(c, at, &n, &next, err);

	if (st != EM_OK || n > c->each)
		return st;
	record = c->room + (at - c->from);
	if (c->v != NULL && c->v->keyed) {
		if (emi_frame_make(c->v, record, n, to, c->each, NULL) == 0)
			return EM_OK;
		*f = emi_frame_get(c->v, to);
	} else {
		memcpy(to, record, n);
		f->string = to;
		f->key_bytes = 0;
		f->bytes = n;
	}
	if (c->v != NULL)
		*(emi_pair *)(void *)elem = emi_frame_elem(c->v, f);
	else
		emi_collation_load(&c->job->by, to, 1, elem);
	c->n++;
	return EM_OK;
}

static em_status open_file(splitting *c, uint32_t i, em_errinfo *err)
{
	em_status st = emi_job_check(c->job, err);

	c->item = &c->in.item[i];
	c->there = 0;
	if (st == EM_OK)
		st = emi_file_open(&c->file, c->job->ctx, c->item->path, EMI_OPEN_READ, err);
	if (st == EM_OK && c->v != NULL)
		st = fetch(c, c->item->size - 1, 1, err);
	if (st == EM_OK && c->v != NULL)
		c->delimited = c->room[c->item->size - 1 - c->from] == (unsigned char)c->job->format.delimiter;
	return st;
}

static void close_file(splitting *c)
{
	emi_file_close(c->file);
	c->file = NULL;
}

/* The place of a sample among the bytes of all files: somewhere in its share of them. */
static uint64_t place(const splitting *c, uint32_t i)
{
	const uint64_t share = c->in.bytes / c->most;

	return i * share + (uint64_t)((double)(uint32_t)(i * GOLDEN) / 4294967296.0 * (double)share);
}

/* Take the samples, file by file. */
static em_status take_sample(splitting *c, em_errinfo *err)
{
	uint64_t before = 0;
	em_status st = EM_OK;
	uint32_t f, i = 0;

	for (f = 0; st == EM_OK && f < c->in.n; f++) {
		const uint64_t size = c->in.item[f].size;

		if (i < c->most && place(c, i) < before + size)
			st = open_file(c, f, err);
		for (; st == EM_OK && i < c->most && place(c, i) < before + size; i++) {
			uint64_t begin;

			st = find_begin(c, 0, place(c, i) - before, &begin, err);
			if (st == EM_OK && begin < size)
				st = take(c, begin, err);
		}
		close_file(c);
		before += size;
	}
	if (st == EM_OK && c->n < ENOUGH * c->s->parts)
		st = EM_END;
	if (st == EM_OK)
		emi_collation_sort(&c->job->by, &c->tie, c->sample, c->tmp, c->n, c->work);
	return st;
}

/* Cut a file by all splitters. */
static em_status cut_file(splitting *c, uint32_t f, em_errinfo *err)
{
	emi_merge_split *s = c->s;
	uint64_t lo = 0, cut;
	em_status st;
	uint32_t p;

	if (c->in.item[f].size == 0)
		return EM_OK;
	st = open_file(c, f, err);
	for (p = 0; st == EM_OK && p < s->parts; p++) {
		const size_t splitter = (size_t)((uint64_t)c->n * (p + 1) / s->parts);

		cut = c->item->size;
		if (p + 1 < s->parts)
			st = bound(c, c->sample + splitter * c->job->by.codec->elem_bytes, lo,
				   2 * (c->item->size / s->parts) + 1, &cut, err);
		if (st != EM_OK)
			break;
		s->range[(size_t)p * s->files + f].offset = lo;
		s->range[(size_t)p * s->files + f].bytes = cut - lo;
		s->begin[p + 1] += cut - lo;
		/* The last line gets its delimiter. */
		if (c->v != NULL && !c->delimited && cut == c->item->size && cut != lo)
			s->begin[p + 1]++;
		lo = cut;
	}
	close_file(c);
	return st;
}

static em_status cut_files(splitting *c, em_errinfo *err)
{
	em_status st = EM_OK;
	uint32_t i;

	for (i = 0; st == EM_OK && i < c->in.n; i++)
		st = cut_file(c, i, err);
	for (i = 0; i < c->s->parts; i++)
		c->s->begin[i + 1] += c->s->begin[i];
	/* A comparison may have failed: views of the job would not know. */
	return st == EM_OK ? emi_job_check(c->job, err) : st;
}

/* Sizes of the inputs, all of them regular files. */
static em_status look(splitting *c, const char *const *paths, em_errinfo *err)
{
	em_status st = emi_inputs_init(&c->in, c->job->ctx, paths, c->s->files,
				       c->v != NULL ? 1 : c->job->by.codec->record_bytes, err);
	uint32_t i;

	for (i = 0; st == EM_OK && i < c->in.n; i++)
		if (c->in.item[i].kind != EMI_INPUT_FILE)
			st = EM_END;
	return st == EM_OK && c->in.bytes < c->most ? EM_END : st;
}

static em_status begin(splitting *c, em_errinfo *err)
{
	const size_t elem_bytes = c->job->by.codec->elem_bytes;
	emi_merge_split *s = c->s;
	em_ctx *ctx = c->job->ctx;

	c->tie = emi_collation_frames(&c->job->by);
	c->most = SAMPLES * (s->parts < EMI_SPLIT_FEW ? s->parts : EMI_SPLIT_FEW);
	if (c->most < FEW_SAMPLES * s->parts)
		c->most = FEW_SAMPLES * s->parts;
	c->each = STORE / c->most > EACH + SLACK ? STORE / c->most - SLACK : EACH;
	c->store_bytes = c->most * (c->each + SLACK);
	if ((s->range = emi_alloc_array(ctx, (uint64_t)s->parts * s->files, sizeof *s->range, err)) == NULL ||
	    (s->begin = emi_alloc_array(ctx, s->parts + 1, sizeof *s->begin, err)) == NULL ||
	    (c->elem = emi_alloc(ctx, elem_bytes, err)) == NULL ||
	    (c->store = emi_buffer_alloc(ctx, c->store_bytes, err)) == NULL ||
	    (c->frames = emi_alloc_array(ctx, c->most, sizeof *c->frames, err)) == NULL ||
	    (c->sample = emi_alloc_array(ctx, c->most, elem_bytes, err)) == NULL ||
	    (c->tmp = emi_alloc_array(ctx, c->most, elem_bytes, err)) == NULL ||
	    (c->work = emi_buffer_alloc(ctx, EMI_KERN_WORK, err)) == NULL)
		return err->status;
	return EM_OK;
}

static void end(splitting *c)
{
	const size_t elem_bytes = c->job->by.codec->elem_bytes;
	em_ctx *ctx = c->job->ctx;

	close_file(c);
	emi_inputs_free(&c->in, ctx);
	if (c->room != NULL)
		emi_buffer_free(ctx, c->room, c->room_bytes + SLACK);
	if (c->arena != NULL)
		emi_buffer_free(ctx, c->arena, c->arena_bytes + SLACK);
	if (c->elem != NULL)
		emi_free(ctx, c->elem, elem_bytes);
	if (c->store != NULL)
		emi_buffer_free(ctx, c->store, c->store_bytes);
	if (c->frames != NULL)
		emi_free_array(ctx, c->frames, c->most, sizeof *c->frames);
	if (c->sample != NULL)
		emi_free_array(ctx, c->sample, c->most, elem_bytes);
	if (c->tmp != NULL)
		emi_free_array(ctx, c->tmp, c->most, elem_bytes);
	if (c->work != NULL)
		emi_buffer_free(ctx, c->work, EMI_KERN_WORK);
}

em_status emi_merge_split_make(emi_merge_split *s, emi_job *job, const char *const *paths, uint32_t files,
			       uint32_t parts, em_errinfo *err)
{
	splitting c;
	em_status st;

	memset(s, 0, sizeof *s);
	s->ctx = job->ctx;
	s->files = files;
	s->parts = parts;
	memset(&c, 0, sizeof c);
	c.s = s;
	c.job = job;
	c.v = job->by.vary;
	c.longest = emi_longest_record(job);
	st = begin(&c, err);
	if (st == EM_OK)
		st = look(&c, paths, err);
	if (st == EM_OK)
		st = take_sample(&c, err);
	if (st == EM_OK)
		st = cut_files(&c, err);
	end(&c);
	if (st == EM_ERR_MEMLIMIT) {
		memset(err, 0, sizeof *err);
		st = EM_END;
	}
	if (st != EM_OK)
		emi_merge_split_free(s);
	return st;
}

void emi_merge_split_free(emi_merge_split *s)
{
	if (s->range != NULL)
		emi_free_array(s->ctx, s->range, (uint64_t)s->parts * s->files, sizeof *s->range);
	if (s->begin != NULL)
		emi_free_array(s->ctx, s->begin, s->parts + 1, sizeof *s->begin);
	memset(s, 0, sizeof *s);
}
