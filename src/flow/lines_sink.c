/* SPDX-License-Identifier: BSL-1.0 */
/* lines_sink.c -- a file of records of any length, which appears when it is complete, as a sink. */
#include <inttypes.h>
#include <string.h>

#include <extmem/stream_lines.h>
#include <extmem/sys/output.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/flow_sink.h"
#include "stream/records.h"

/* Short records are written together. */
#define TOGETHER 4096u
#define EXTRA_MOST 8u           /* bytes of a prefix */

typedef struct lines_sink {
	em_sink k;
	em_format format;
	char *path;             /* a copy */
	em_output *out;         /* NULL: nothing was pushed yet */
	size_t used;
	unsigned char together[TOGETHER];
} lines_sink;

static em_status need_output(lines_sink *f, em_errinfo *err)
{
	em_output_opts o = EM_OUTPUT_OPTS_INIT;

	o.errinfo = err;
	return f->out != NULL ? EM_OK : em_output_open(&f->out, f->k.object.ctx, f->path, &o);
}

static em_status write_out(lines_sink *f, const void *bytes, size_t n, em_errinfo *err)
{
	const em_status st = em_output_write(f->out, bytes, n);

	if (st != EM_OK)
		em_output_error(f->out, err);
	return st;
}

static em_status flush(lines_sink *f, em_errinfo *err)
{
	const em_status st = f->used != 0 ? write_out(f, f->together, f->used, err) : EM_OK;

	f->used = 0;
	return st;
}

/* What a prefix cannot tell. */
static em_status check_length(const em_format *f, size_t n, em_errinfo *err)
{
	if (emi_format_delimited(f) || f->width == 8 || (uint64_t)n >> 8 * f->width == 0)
		return EM_OK;
	return emi_fail(err, EM_ERR_RANGE, "a record of %zu bytes: prefixes have %" PRIu32 " bytes", n, f->width);
}

static em_status put(lines_sink *f, const char *record, size_t n, em_errinfo *err)
{
	em_status st = check_length(&f->format, n, err);
	unsigned char *to;

	if (st == EM_OK && TOGETHER - f->used < n + EXTRA_MOST)
		st = flush(f, err);
	if (st != EM_OK)
		return st;
	to = emi_record_prefix(&f->format, f->together + f->used, n);
	if (n + EXTRA_MOST <= TOGETHER) {
		if (n != 0)
			memcpy(to, record, n);
		to += n;
	} else {
		f->used = (size_t)(to - f->together);
		st = flush(f, err);
		if (st == EM_OK)
			st = write_out(f, record, n, err);
		to = f->together;
	}
	f->used = (size_t)(emi_record_delimit(&f->format, to) - f->together);
	return st;
}

static em_status push_lines(em_sink *k, const em_batch *b, size_t *taken, em_errinfo *err)
{
	lines_sink *f = (lines_sink *)(void *)k;
	const char *records = b->records;
	em_status st = need_output(f, err);
	uint64_t begin = 0;

	while (st == EM_OK && *taken < b->n) {
		const uint64_t end = b->ends[*taken];

		st = put(f, end != begin ? records + begin : NULL, (size_t)(end - begin), err);
		begin = end;
		*taken += st == EM_OK;
	}
	return st;
}

static em_status no_push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	(void)k;
	(void)records;
	(void)n;
	(void)taken;
	return emi_fail(err, EM_ERR_INTERNAL, "records of one size came to a sink of lines");
}

static em_status finish(em_sink *k, em_errinfo *err)
{
	lines_sink *f = (lines_sink *)(void *)k;
	em_status st = need_output(f, err);

	if (st == EM_OK)
		st = flush(f, err);
	if (st != EM_OK)
		return st;
	st = em_output_commit(f->out);
	if (st != EM_OK)
		em_output_error(f->out, err);
	return st;
}

static void close_sink(em_sink *k)
{
	lines_sink *f = (lines_sink *)(void *)k;

	em_output_close(f->out);
	emi_strfree(k->object.ctx, f->path);
}

em_status em_sink_lines(em_sink **out, em_ctx *ctx, const char *path, const em_format *format, em_errinfo *theirs)
{
	static const emi_sink_kind kind = { no_push, finish, close_sink };
	const em_format lines = EM_FORMAT_INIT;
	em_format format_taken;
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(path, "path", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_format, &format_taken, format != NULL ? format : &lines, &err);
	if (st == EM_OK)
		st = emi_format_check(&format_taken, &err);
	if (st == EM_OK) {
		lines_sink *f = (lines_sink *)(void *)emi_sink_new(ctx, sizeof *f, &kind, 1, &err);

		if (f != NULL)
			f->path = emi_strdup(ctx, path, &err);
		if (f != NULL && f->path == NULL) {
			emi_object_free(f, sizeof *f);
		} else if (f != NULL) {
			f->format = format_taken;
			f->k.record = 0;
			f->k.push_lines = push_lines;
			*out = &f->k;
		}
		st = *out != NULL ? EM_OK : err.status;
	}
	return emi_tell(theirs, st, &err);
}
