/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_file.c -- looking whether the records of a file are in order.
 *
 * The file is read chunk by chunk, and each record is compared with the one before: by the first eight bytes of their
 * strings (key/vary.h), and only if those are equal by all of them.  Without keys the string is the record itself,
 * which is looked at where it was read; only the last record of a chunk is copied, as the chunk goes back to the
 * reader.  With keys two frames take turns, one for the record at hand and one for that before.  Chunks of records of
 * one size are looked at by all threads (sort/check_fixed.h).
 */
#include <extmem/check.h>

#include <stddef.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "base/user.h"
#include "key/vary.h"
#include "sort/check_fixed.h"
#include "sort/record_hash.h"
#include "sort/watch.h"
#include "stream/records.h"

#define PLAIN_SHARE 4u          /* a record takes at most this part of the memory: it may have to be put together, and
                                   is kept for the next one, ... */
#define KEYED_SHARE 8u          /* ... or two with their keys, which may be as long as they are */
#define CHUNK_SHARE 32u         /* and a chunk this one, within the next two */
#define CHUNK_LEAST ((size_t)4096)
#define CHUNK_MOST ((size_t)512 << 10)
#define CHUNKS 3u
#define SLACK 8u                /* bytes behind a frame that may be read */

/* Memory for a frame, which grows. */
typedef struct frame_room {
	unsigned char *base;
	size_t bytes;
} frame_room;

typedef struct checking {
	em_ctx *ctx;
	const em_order *order;  /* NULL: records are only counted */
	const emi_vary *v;      /* of records of any length, otherwise NULL */
	size_t record_bytes;    /* of records of one size, otherwise 0 */
	emi_check_fixed fixed;  /* looks at those */
	em_check_opts opts;
	em_format format;
	emi_records *records;
	emi_io_stats io;
	emi_watch watch;
	uint64_t skip;          /* records of the header that are to come */
	uint64_t number;        /* what the file had before the chunk at hand, as messages count */
	frame_room room[2];
	uint32_t cur;           /* the one for the next frame */
	emi_frame last;         /* the record before; its key ... */
	uint64_t last_key;
	int have_last;
	em_check_info info;
	em_disorder_fn fn;
	void *user;
} checking;

static em_status make_room(checking *c, frame_room *r, size_t bytes, em_errinfo *err)
{
	const size_t more = bytes / 4;

	if (r->base != NULL && r->bytes >= bytes)
		return EM_OK;
	if (bytes > SIZE_MAX / 2)
		return emi_fail(err, EM_ERR_NOMEM, "a record of %zu bytes does not fit in the memory", bytes);
	if (r->base != NULL)
		emi_buffer_free(c->ctx, r->base, r->bytes + SLACK);
	/* Some more saves growing again, but a long record may have to do with its own room. */
	r->bytes = bytes + more;
	r->base = emi_buffer_alloc(c->ctx, r->bytes + SLACK, NULL);
	if (r->base == NULL) {
		r->bytes = bytes;
		r->base = emi_buffer_alloc(c->ctx, r->bytes + SLACK, err);
	}
	return r->base != NULL ? EM_OK : err->status;
}

/* Take a record apart: as it is, or, with keys, as a frame that is made of it. */
static em_status frame_of(checking *c, const unsigned char *record, size_t n, emi_frame *f, em_errinfo *err)
{
	frame_room *r = &c->room[c->cur];
	em_status st;
	size_t need;

	if (!c->v->keyed) {
		f->string = record;
		f->key_bytes = 0;
		f->bytes = n;
		return EM_OK;
	}
	while (r->base == NULL || emi_frame_make(c->v, record, n, r->base, r->bytes, &need) == 0) {
		if (r->base == NULL)
			need = CHUNK_LEAST - SLACK;
		st = make_room(c, r, need, err);
		if (st != EM_OK)
			return st;
	}
	*f = emi_frame_get(c->v, r->base);
	c->cur ^= 1;
	return EM_OK;
}

/* The chunk goes back: keep the last record, where it is not a frame of ours. */
static em_status keep_last(checking *c, em_errinfo *err)
{
	em_status st;

	if (c->v == NULL || c->v->keyed || !c->have_last || c->last.string == c->room[0].base)
		return EM_OK;
	st = make_room(c, &c->room[0], (size_t)c->last.bytes, err);
	if (st != EM_OK)
		return st;
	memcpy(c->room[0].base, c->last.string, (size_t)c->last.bytes);
	c->last.string = c->room[0].base;
	return EM_OK;
}

static int compare(const checking *c, const emi_frame *f, uint64_t key)
{
	if (c->last_key != key)
		return c->last_key < key ? -1 : 1;
	return emi_string_compare(c->v, &c->last, f, 0);
}

/* It is out of order: the first one is told. */
static void tell_disorder(checking *c, uint64_t number, const unsigned char *record, size_t n)
{
	if (c->info.first_disorder != 0)
		return;
	c->info.first_disorder = number;
	if (c->fn != NULL)
		c->fn(c->user, number, record, n);
}

/* A record that begins there in the chunk.  EM_END: it is the first that is out of order, and that is all there was to
 * find. */
static em_status look_at(checking *c, const emi_chunk *chunk, const unsigned char *begin, const unsigned char *record,
			 size_t n, em_errinfo *err)
{
	em_status st;
	emi_frame f;
	uint64_t key;
	int order;

	st = frame_of(c, record, n, &f, err);
	if (st != EM_OK)
		return st;
	key = emi_string_key(c->v, &f, 0);
	order = c->have_last ? compare(c, &f, key) : -1;
	c->last = f;
	c->last_key = key;
	c->have_last = 1;
	if (order < 0)
		return EM_OK;
	c->info.duplicates += order == 0;
	if (order == 0 && (c->opts.flags & EM_CHECK_UNIQUE) == 0)
		return EM_OK;
	c->info.disorders++;
	if (c->info.first_disorder == 0)
		tell_disorder(c, c->number + emi_records_count(&c->format, chunk->data, begin) + 1, record, n);
	return (c->opts.flags & EM_CHECK_FIRST) != 0 ? EM_END : EM_OK;
}

static em_status look_at_fixed(checking *c, const emi_chunk *chunk, em_errinfo *err)
{
	const int first = (c->opts.flags & EM_CHECK_FIRST) != 0;
	size_t n = chunk->bytes / c->record_bytes;
	emi_check_found found;
	em_status st;

	st = emi_check_fixed_chunk(&c->fixed, chunk->data, n, first, &found, err);
	if (st != EM_OK)
		return st;
	if (found.disorders != 0)
		tell_disorder(c, c->number + found.first + 1, chunk->data + found.first * c->record_bytes,
			      c->record_bytes);
	if (first && found.disorders != 0)
		n = found.first + 1;
	c->info.records += n;
	c->info.bytes += n * c->record_bytes;
	c->info.checksum += found.checksum;
	c->info.duplicates += found.duplicates;
	c->info.disorders += found.disorders;
	return first && found.disorders != 0 ? EM_END : EM_OK;
}

/* *records: how many it has, at least if that was not all there was to find. */
static em_status look_at_chunk(checking *c, const emi_chunk *chunk, uint64_t *records, em_errinfo *err)
{
	const unsigned char *at = chunk->data, *end = at + chunk->bytes;
	em_status st = EM_OK;

	*records = 0;
	if (c->record_bytes != 0) {
		*records = chunk->bytes / c->record_bytes;
		return look_at_fixed(c, chunk, err);
	}
	while (st == EM_OK && at != end) {
		const unsigned char *begin = at, *record;
		size_t n;

		record = emi_record_take(&c->format, &at, end, &n);
		++*records;
		if (c->skip != 0) {
			c->skip--;
			continue;
		}
		c->info.records++;
		c->info.bytes += n;
		c->info.checksum += emi_record_hash(record, n);
		if (c->v != NULL)
			st = look_at(c, chunk, begin, record, n, err);
	}
	return st;
}

static em_status look_at_all(checking *c, em_errinfo *err)
{
	em_status st;

	for (;;) {
		emi_chunk chunk;
		uint64_t records;

		st = emi_ctx_check(c->ctx, err);
		if (st == EM_OK)
			st = emi_tick(&c->watch);
		if (st == EM_OK)
			st = emi_records_next(c->records, &chunk, emi_watch_tick, &c->watch, err);
		if (st != EM_OK)
			return st == EM_ERR_CANCELED ? emi_fail(err, st, "canceled") : st;
		emi_watch_add(&c->watch, chunk.bytes);
		st = look_at_chunk(c, &chunk, &records, err);
		if (st == EM_OK)
			st = keep_last(c, err);
		c->number += emi_chunk_count(&chunk, records);
		emi_records_release(c->records, &chunk, records);
		if (st != EM_OK)
			return st;
	}
}

static em_status check_args(checking *c, em_ctx *ctx, const em_order *order, const char *path,
			    const em_check_opts *opts, const em_check_info *info, em_errinfo *err)
{
	const em_format lines = EM_FORMAT_INIT;
	em_status st;

	st = emi_given(ctx, "ctx", err);
	if (st == EM_OK)
		st = emi_given(path, "path", err);
	if (st == EM_OK)
		st = emi_given(info, "info", err);
	if (st == EM_OK)
		st = EMI_STRUCT_CHECK(em_check_info, info, err);
	if (st == EM_OK)
		st = emi_ctx_check(ctx, err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_check_opts, &c->opts, opts, err);
	if (st != EM_OK)
		return st;
	if ((c->opts.flags & ~(EM_CHECK_UNIQUE | EM_CHECK_FIRST)) != 0)
		return emi_fail(err, EM_ERR_INVAL, "unknown flags 0x%x of a check", (unsigned)c->opts.flags);
	if (order != NULL && emi_order_ctx(order) != ctx)
		return emi_fail(err, EM_ERR_INVAL, "the order belongs to another context");
	c->order = order;
	c->v = order != NULL ? emi_order_vary(order) : NULL;
	if (order != NULL && c->v == NULL)
		c->record_bytes = (size_t)em_order_record_size(order);
	if (c->record_bytes != 0 && (c->opts.format != NULL || c->opts.header != 0))
		return emi_fail(err, EM_ERR_INVAL, "a format or a header of records that have one size");
	c->format = lines;
	if (c->opts.format != NULL)
		st = EMI_STRUCT_TAKE(em_format, &c->format, c->opts.format, err);
	c->ctx = ctx;
	c->skip = c->opts.header;
	return st;
}

static em_status run(checking *c, const char *path, em_errinfo *err)
{
	const uint64_t memory = em_ctx_memory(c->ctx), want = memory / CHUNK_SHARE / EMI_PAGE * EMI_PAGE;
	const uint64_t share = c->v != NULL && c->v->keyed ? KEYED_SHARE : PLAIN_SHARE;
	emi_records_opts opts;
	em_status st;

	memset(&opts, 0, sizeof opts);
	opts.format = c->format;
	opts.chunk_bytes = want < CHUNK_LEAST ? CHUNK_LEAST : want > CHUNK_MOST ? CHUNK_MOST : (size_t)want;
	opts.chunks = CHUNKS;
	opts.longest = memory / share;
	opts.record_bytes = c->record_bytes;
	st = emi_records_open(&c->records, c->ctx, &path, 1, &opts, &c->io, err);
	if (st == EM_OK) {
		const uint64_t bytes = emi_records_bytes(c->records);

		emi_watch_init(&c->watch, c->ctx, c->opts.progress, c->opts.progress_user, &c->io);
		emi_watch_phase(&c->watch, EM_PHASE_RUNS, bytes == UINT64_MAX ? 0 : bytes);
		if (c->record_bytes != 0)
			st = emi_check_fixed_open(&c->fixed, c->ctx, c->order, (c->opts.flags & EM_CHECK_UNIQUE) != 0,
						  &c->watch, err);
		if (st == EM_OK)
			st = look_at_all(c, err);
		emi_check_fixed_close(&c->fixed);
	}
	emi_records_close(c->records);
	/* From the bytes of a record that is too long to the memory that would do. */
	if (st == EM_ERR_FORMAT && err->bytes != 0)
		err->bytes = err->bytes < UINT64_MAX / share - 1 ? (err->bytes + 1) * share : 0;
	return st == EM_END ? EM_OK : st;
}

static em_status check_file(em_ctx *ctx, const em_order *order, const char *path, const em_check_opts *opts,
			    em_check_info *info, em_disorder_fn fn, void *user, em_errinfo *err)
{
	em_status st;
	checking c;
	int i;

	memset(&c, 0, sizeof c);
	memset(err, 0, sizeof *err);
	c.fn = fn;
	c.user = user;
	st = check_args(&c, ctx, order, path, opts, info, err);
	if (st != EM_OK)
		return st;
	st = run(&c, path, err);
	(void)EMI_STRUCT_GIVE(em_check_info, info, &c.info);
	for (i = 0; i < 2; i++)
		if (c.room[i].base != NULL)
			emi_buffer_free(ctx, c.room[i].base, c.room[i].bytes + SLACK);
	return st;
}

em_status em_check_file(em_ctx *ctx, const em_order *order, const char *path, const em_check_opts *opts,
			em_check_info *info, em_disorder_fn fn, void *user)
{
	em_errinfo own, *theirs = EMI_ERRINFO_OF(em_check_opts, opts);
	const em_status st = check_file(ctx, order, path, opts, info, fn, user, theirs != NULL ? theirs : &own);
	em_check_opts o;
	emi_user watching;

	/* What options of no version hold is nobody's. */
	(void)EMI_STRUCT_TAKE(em_check_opts, &o, opts, NULL);
	watching.user = o.progress_user;
	watching.free = o.progress_free;
	emi_user_free(&watching);
	return st;
}
