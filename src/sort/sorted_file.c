/* SPDX-License-Identifier: BSL-1.0 */
/* sorted_file.c -- see sorted_file.h. */
#include "sort/sorted_file.h"

#include <string.h>

#include "base/error.h"

/* The chunk goes back to where it came from. */
static void release(emi_sorted_file *f)
{
	const uint64_t taken = f->record_bytes != 0 && f->held ? f->chunk.bytes / f->record_bytes : f->taken;

	if (f->held) {
		f->number += emi_chunk_count(&f->chunk, taken);
		emi_records_release(f->records, &f->chunk, taken);
	}
	f->taken = 0;
	f->held = 0;
	f->source.at = f->source.end = NULL;
}

/* The file, and all that is needed to read it. */
static void end(emi_sorted_file *f)
{
	release(f);
	emi_records_close(f->records);
	f->records = NULL;
}

static em_status next(emi_sorted_source *s, em_errinfo *err)
{
	emi_sorted_file *f = (emi_sorted_file *)(void *)s;
	em_status st;

	release(f);
	st = emi_records_next(f->records, &f->chunk, f->tick, f->tick_arg, err);
	if (st == EM_END)
		end(f);
	if (st == EM_ERR_CANCELED)
		return emi_fail(err, st, "canceled");
	if (st != EM_OK)
		return st;
	f->held = 1;
	s->at = (const char *)f->chunk.data;
	s->end = s->at + f->chunk.bytes;
	return EM_OK;
}

static void close_source(emi_sorted_source *s)
{
	emi_sorted_file_close((emi_sorted_file *)(void *)s);
}

em_status emi_sorted_file_open(emi_sorted_file *f, em_ctx *ctx, const char *path, const emi_records_opts *opts,
			       emi_io_stats *io, em_status (*tick)(void *arg), void *tick_arg, em_errinfo *err)
{
	static const emi_sorted_ops ops = { next, close_source };
	em_status st;

	memset(f, 0, sizeof *f);
	f->path = path;
	f->record_bytes = (size_t)opts->record_bytes;
	f->tick = tick;
	f->tick_arg = tick_arg;
	st = emi_records_open(&f->records, ctx, &f->path, 1, opts, io, err);
	if (st == EM_OK)
		f->source.ops = &ops;
	else
		memset(f, 0, sizeof *f);
	return st;
}

void emi_sorted_file_close(emi_sorted_file *f)
{
	if (f->source.ops == NULL)
		return;
	end(f);
	memset(f, 0, sizeof *f);
}
