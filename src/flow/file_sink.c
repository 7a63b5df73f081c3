/* SPDX-License-Identifier: BSL-1.0 */
/* file_sink.c -- a file that appears when it is complete (extmem/sys/output.h), as a sink. */
#include <extmem/sys/output.h>

#include "base/error.h"
#include "base/memory.h"
#include "flow/flow_sink.h"

#define MEMORY_SHARE 8u         /* an output takes this part of the memory, ... */
#define MEMORY_MOST ((uint64_t)2 << 20) /* ... and not more than that */

typedef struct file_sink {
	em_sink k;
	char *path;             /* a copy */
	em_output *out;         /* NULL: nothing was pushed yet */
} file_sink;

static em_status need_output(file_sink *f, em_errinfo *err)
{
	em_output_opts o = EM_OUTPUT_OPTS_INIT;

	o.errinfo = err;
	return f->out != NULL ? EM_OK : em_output_open(&f->out, f->k.object.ctx, f->path, &o);
}

static em_status push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	file_sink *f = (file_sink *)(void *)k;
	em_status st = need_output(f, err);

	(void)taken;
	if (st != EM_OK)
		return st;
	st = em_output_write(f->out, records, n * k->record);
	if (st != EM_OK)
		em_output_error(f->out, err);
	return st;
}

static em_status finish(em_sink *k, em_errinfo *err)
{
	file_sink *f = (file_sink *)(void *)k;
	em_status st = need_output(f, err);

	if (st != EM_OK)
		return st;
	st = em_output_commit(f->out);
	if (st != EM_OK)
		em_output_error(f->out, err);
	return st;
}

static void close_sink(em_sink *k)
{
	file_sink *f = (file_sink *)(void *)k;

	em_output_close(f->out);
	emi_strfree(k->object.ctx, f->path);
}

em_status em_sink_file(em_sink **out, em_ctx *ctx, uint64_t record_bytes, const char *path, em_errinfo *theirs)
{
	static const emi_sink_kind kind = { push, finish, close_sink };
	em_errinfo err;
	em_status st = emi_sink_begin(out, &err);

	if (st == EM_OK)
		st = emi_given(path, "path", &err);
	if (st == EM_OK) {
		file_sink *f = (file_sink *)(void *)emi_sink_new(ctx, sizeof *f, &kind, record_bytes, &err);

		if (f != NULL) {
			f->k.claim = em_ctx_memory(ctx) / MEMORY_SHARE;
			f->k.claim = f->k.claim < MEMORY_MOST ? f->k.claim : MEMORY_MOST;
			f->path = emi_strdup(ctx, path, &err);
		}
		if (f != NULL && f->path == NULL)
			emi_object_free(f, sizeof *f);
		else if (f != NULL)
			*out = &f->k;
		st = *out != NULL ? EM_OK : err.status;
	}
	return emi_tell(theirs, st, &err);
}
