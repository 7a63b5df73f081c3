/* SPDX-License-Identifier: BSL-1.0 */
/*
 * file_stream.c -- the records of files as a stream: the chunks of a reader (stream/records.h), lent as they are.
 *
 * The files are looked at twice: when the stream is made, so that what is wrong with them is told then, and when it is
 * pulled, as the reader takes its buffers when it is opened.
 */
#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/file_paths.h"
#include "flow/stream.h"
#include "stream/records.h"
#include "stream/source.h"

#define REQUEST_MOST ((uint64_t)1 << 20)
#define MEMORY_SHARE 32u
#define CHUNKS 4u

typedef struct file_stream {
	em_stream s;
	emi_file_paths paths;
	emi_records *in;        /* NULL: it was not pulled yet */
	emi_chunk chunk;
	int lent;               /* the chunk is not given back */
	emi_io_stats io;
} file_stream;

static void release_chunk(file_stream *f)
{
	if (f->lent)
		emi_records_release(f->in, &f->chunk, f->chunk.bytes / f->s.record);
	f->lent = 0;
}

static em_status tick(void *ctx)
{
	return emi_ctx_canceled(ctx) ? EM_ERR_CANCELED : EM_OK;
}

static size_t request_bytes(const file_stream *f)
{
	const uint64_t share = em_ctx_memory(f->s.object.ctx) / MEMORY_SHARE / EMI_PAGE * EMI_PAGE;
	const uint64_t request = share < REQUEST_MOST ? share : REQUEST_MOST;

	return request < f->s.record ? (f->s.record + EMI_PAGE - 1) / EMI_PAGE * EMI_PAGE : (size_t)request;
}

static em_status open_reader(file_stream *f, em_errinfo *err)
{
	emi_records_opts o;

	memset(&o, 0, sizeof o);
	o.record_bytes = f->s.record;
	o.chunks = CHUNKS;
	o.chunk_bytes = request_bytes(f);
	return emi_records_open(&f->in, f->s.object.ctx, f->paths.path, f->paths.n, &o, &f->io, err);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	file_stream *f = (file_stream *)(void *)s;
	em_status st = EM_OK;

	release_chunk(f);
	if (f->in == NULL)
		st = open_reader(f, err);
	if (st == EM_OK)
		st = emi_records_next(f->in, &f->chunk, tick, s->object.ctx, err);
	if (st == EM_ERR_CANCELED)
		return emi_fail(err, st, "canceled: the context was");
	if (st != EM_OK)
		return st;
	f->lent = 1;
	s->source.at = (const char *)f->chunk.data;
	s->source.end = s->source.at + f->chunk.bytes;
	return EM_OK;
}

static void retire(em_stream *s)
{
	file_stream *f = (file_stream *)(void *)s;

	release_chunk(f);
	emi_records_close(f->in);
	f->in = NULL;
	emi_file_paths_free(&f->paths, s->object.ctx);
}

/* How many records are there?  And is everything well with the files? */
static em_status look(file_stream *f, em_errinfo *err)
{
	emi_source *in;
	em_status st = emi_source_open(&in, f->s.object.ctx, f->paths.path, f->paths.n, f->s.record, &f->io, err);

	if (st != EM_OK)
		return st;
	f->s.left = emi_source_records(in);
	emi_source_close(in);
	return EM_OK;
}

em_status em_stream_file(em_stream **out, em_ctx *ctx, uint64_t record_bytes, const char *const *paths, uint32_t n,
			 em_errinfo *theirs)
{
	static const emi_stream_kind kind = { next, retire, "file", 0 };
	em_errinfo err;
	file_stream *f = NULL;
	em_status st = emi_stream_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(ctx, "ctx", &err);
	if (st == EM_OK && n != 0)
		st = emi_given(paths, "paths", &err);
	if (st == EM_OK) {
		f = (file_stream *)(void *)emi_stream_new(ctx, sizeof *f, &kind, record_bytes, NULL, 0,
							  EM_STREAM_UNKNOWN, &err);
		st = f != NULL ? EM_OK : err.status;
	}
	if (st == EM_OK) {
		st = emi_file_paths_copy(&f->paths, ctx, paths, n, &err);
		if (st == EM_OK)
			st = look(f, &err);
		if (st == EM_OK) {
			f->s.claim = CHUNKS * (uint64_t)request_bytes(f);
			emi_stream_made(&f->s, out);
		} else {
			emi_file_paths_free(&f->paths, ctx);
			emi_stream_drop(&f->s);
		}
	}
	return emi_tell(theirs, st, &err);
}
