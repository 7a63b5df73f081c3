/* SPDX-License-Identifier: BSL-1.0 */
/*
 * output.c -- outputs for everybody (extmem/sys/output.h): a sink with a ring of buffers of its own.
 *
 * One buffer is filled while the others are on their way to the disk.
 */
#include <string.h>

#include <extmem/sys/output.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/object.h"
#include "base/structs.h"
#include "stream/sink.h"

#define BUFFERS 3
#define BUFFER_MOST ((size_t)512 << 10)
#define MEMORY_SHARE 8u         /* of the context's, for all of them */

struct em_output {
	emi_object object;
	emi_sink *sink;
	emi_outbuf buf[BUFFERS];
	size_t room;            /* bytes of data that each takes */
	uint32_t cur;           /* the one being filled */
	uint64_t at;            /* bytes of all that was written, the current buffer's included */
	int committed;
	em_errinfo err;         /* of the first failure, which stays */
};

static em_status make_buffers(em_output *o, em_errinfo *err)
{
	const uint64_t share = em_ctx_memory(o->object.ctx) / MEMORY_SHARE / BUFFERS;
	uint32_t i;

	o->room = share < BUFFER_MOST ? (size_t)share / EMI_PAGE * EMI_PAGE : BUFFER_MOST;
	for (i = 0; i < BUFFERS; i++) {
		o->buf[i].base = emi_buffer_alloc(o->object.ctx, o->room + EMI_PAGE, err);
		if (o->buf[i].base == NULL)
			return err->status;
	}
	return EM_OK;
}

static void release(void *output)
{
	em_output *o = output;
	em_ctx *ctx = o->object.ctx;
	uint32_t i;

	for (i = 0; i < BUFFERS; i++) {
		if (!emi_ctx_forked(ctx))
			(void)emi_wait(&o->buf[i].rq, NULL);
		if (o->buf[i].base != NULL)
			emi_buffer_free(ctx, o->buf[i].base, o->room + EMI_PAGE);
	}
	emi_sink_close(o->sink);
	emi_object_free(o, sizeof *o);
}

static em_status open_output(em_output **out, em_ctx *ctx, const char *path, const em_output_opts *opts,
			     em_errinfo *err)
{
	em_output *o = emi_object_new(ctx, sizeof *o, 0, release, err);
	em_status st;

	if (o == NULL)
		return err->status;
	st = make_buffers(o, err);
	if (st == EM_OK)
		st = emi_sink_open(&o->sink, ctx, path, opts->bytes, NULL, err);
	if (st == EM_OK)
		*out = o;
	else
		release(o);
	return st;
}

em_status em_output_open(em_output **out, em_ctx *ctx, const char *path, const em_output_opts *opts)
{
	em_output_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_begin_open(out, ctx, "ctx", &err);
	if (st == EM_OK)
		st = emi_given(path, "path", &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_output_opts, &o, opts, &err);
	if (st == EM_OK)
		st = open_output(out, ctx, path, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_output_opts, opts), st, &err);
}

/* Send off the current buffer and have the next one free. */
static em_status put(em_output *o)
{
	emi_outbuf *ob = &o->buf[o->cur];
	em_status st = emi_sink_put(o->sink, ob, &o->err);

	ob->len = 0;
	o->cur = (o->cur + 1) % BUFFERS;
	return st == EM_OK ? emi_wait(&o->buf[o->cur].rq, &o->err) : st;
}

/* Begin a call.  What failed before is told again. */
static em_status enter(em_output *o, em_errinfo *err)
{
	const em_status st = emi_enter(o, err);

	if (st != EM_OK)
		return st;
	if (o->err.status < EM_OK)
		return emi_leave(o, o->err.status, &o->err);
	return o->committed ? emi_leave(o, emi_fail(err, EM_ERR_STATE, "the output is complete"), err) : EM_OK;
}

static em_status append(em_output *o, const char *from, size_t bytes)
{
	em_status st = EM_OK;

	while (st == EM_OK && bytes != 0) {
		emi_outbuf *ob = &o->buf[o->cur];
		const size_t n = bytes < o->room - ob->len ? bytes : o->room - ob->len;

		if (ob->len == 0)
			ob->lead = emi_sink_lead(o->sink, o->at);
		memcpy(ob->base + ob->lead + ob->len, from, n);
		ob->len += n;
		o->at += n;
		from += n;
		bytes -= n;
		if (ob->len == o->room)
			st = put(o);
	}
	return st;
}

em_status em_output_write(em_output *o, const void *data, size_t bytes)
{
	em_errinfo err;
	em_status st = enter(o, &err);

	if (st != EM_OK)
		return st;
	if (bytes != 0 && emi_given(data, "data", &err) != EM_OK)
		return emi_leave(o, err.status, &err);
	return emi_leave(o, append(o, data, bytes), &o->err);
}

static em_status commit(em_output *o)
{
	em_status st = o->buf[o->cur].len != 0 ? put(o) : EM_OK;
	uint32_t i;

	for (i = 0; i < BUFFERS && st == EM_OK; i++)
		st = emi_wait(&o->buf[i].rq, &o->err);
	if (st == EM_OK)
		st = emi_sink_commit(o->sink, &o->err);
	o->committed = st == EM_OK;
	return st;
}

em_status em_output_commit(em_output *o)
{
	em_errinfo err;
	const em_status st = enter(o, &err);

	return st == EM_OK ? emi_leave(o, commit(o), &o->err) : st;
}

void em_output_error(const em_output *o, em_errinfo *err)
{
	emi_object_error(o, err);
}

void em_output_close(em_output *o)
{
	emi_object_close(o);
}
