/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_file.c -- the records of any length of files as a stream.
 *
 * A chunk of a reader (stream/records.h) has delimiters or prefixes between its records, and a batch has not.  So
 * records are copied, some that stay in the cache at a time.
 */
#include <string.h>

#include <extmem/stream_lines.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/file_paths.h"
#include "flow/lines.h"
#include "stream/records.h"

#define REQUEST_MOST ((uint64_t)1 << 20)
#define MEMORY_SHARE 32u
#define CHUNKS 4u
#define MOST 2048u              /* records of a window, and bytes, but for a longer record */
#define TEXT_MOST ((size_t)32 << 10)

typedef struct lines_file {
	em_stream s;
	em_format format;
	emi_file_paths paths;
	emi_records *in;        /* NULL: it was not pulled yet */
	emi_chunk chunk;
	const unsigned char *at; /* the next record of the chunk */
	uint64_t taken;         /* records of it */
	int lent;               /* the chunk is not given back */
	emi_io_stats io;
	emi_text_room text;
	uint64_t ends[MOST];
} lines_file;

static void release_chunk(lines_file *f)
{
	if (f->lent)
		emi_records_release(f->in, &f->chunk, f->taken);
	f->lent = 0;
}

static em_status tick(void *ctx)
{
	return emi_ctx_canceled(ctx) ? EM_ERR_CANCELED : EM_OK;
}

static em_status open_reader(lines_file *f, em_errinfo *err)
{
	const uint64_t share = em_ctx_memory(f->s.object.ctx) / MEMORY_SHARE / EMI_PAGE * EMI_PAGE;
	emi_records_opts o;

	memset(&o, 0, sizeof o);
	o.format = f->format;
	o.chunks = CHUNKS;
	o.chunk_bytes = share == 0 ? EMI_PAGE : (size_t)(share < REQUEST_MOST ? share : REQUEST_MOST);
	o.longest = share < EMI_PAGE ? EMI_PAGE : share;
	return emi_records_open(&f->in, f->s.object.ctx, f->paths.path, f->paths.n, &o, &f->io, err);
}

/* Have records in the chunk. */
static em_status need_chunk(lines_file *f, em_errinfo *err)
{
	em_status st = EM_OK;

	if (f->lent && f->at != f->chunk.data + f->chunk.bytes)
		return EM_OK;
	release_chunk(f);
	if (f->in == NULL)
		st = open_reader(f, err);
	if (st == EM_OK)
		st = emi_records_next(f->in, &f->chunk, tick, f->s.object.ctx, err);
	if (st == EM_ERR_CANCELED)
		return emi_fail(err, st, "canceled: the context was");
	if (st != EM_OK)
		return st;
	f->lent = 1;
	f->at = f->chunk.data;
	f->taken = 0;
	return EM_OK;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	lines_file *f = (lines_file *)(void *)s;
	em_status st = need_chunk(f, err);
	const unsigned char *end;
	size_t n = 0, used = 0;

	if (st == EM_OK)
		st = emi_text_room_need(&f->text, s->object.ctx, TEXT_MOST, 0, err);
	if (st != EM_OK)
		return st;
	end = f->chunk.data + f->chunk.bytes;
	while (n < MOST && f->at != end) {
		const unsigned char *behind = f->at;
		size_t bytes;
		const unsigned char *record = emi_record_take(&f->format, &behind, end, &bytes);

		if (bytes > f->text.bytes - used) {
			if (n != 0)
				break;
			st = emi_text_room_need(&f->text, s->object.ctx, bytes, 0, err);
			if (st != EM_OK)
				return st;
		}
		memcpy(f->text.at + used, record, bytes);
		f->ends[n++] = used += bytes;
		f->at = behind;
	}
	f->taken += n;
	emi_lines_show(s, f->text.at, f->ends, n);
	return EM_OK;
}

static void retire(em_stream *s)
{
	lines_file *f = (lines_file *)(void *)s;

	release_chunk(f);
	emi_records_close(f->in);
	f->in = NULL;
	emi_text_room_free(&f->text, s->object.ctx);
	emi_file_paths_free(&f->paths, s->object.ctx);
}

em_status em_stream_lines(em_stream **out, em_ctx *ctx, const char *const *paths, uint32_t n, const em_format *format,
			  em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "lines", 0 };
	const em_format lines = EM_FORMAT_INIT;
	em_format f;
	em_errinfo err;
	lines_file *l = NULL;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK && n != 0)
		st = emi_given(paths, "paths", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_format, &f, format != NULL ? format : &lines, &err);
	if (st == EM_OK)
		st = emi_format_check(&f, &err);
	if (st == EM_OK) {
		l = (lines_file *)(void *)emi_stream_new(ctx, sizeof *l, &kind, sizeof(uint64_t), NULL, 0,
							 EM_STREAM_UNKNOWN, &err);
		st = l != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		l->format = f;
		emi_stream_vary(&l->s);
		st = emi_file_paths_copy(&l->paths, ctx, paths, n, &err);
		if (st == EM_OK) {
			emi_stream_made(&l->s, out);
		} else {
			emi_file_paths_free(&l->paths, ctx);
			emi_stream_drop(&l->s);
		}
	}
	return emi_tell(theirs, st, &err);
}
