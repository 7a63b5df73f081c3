/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_vector_stream.c -- readers and writers of vectors as callers outside know them.
 *
 * They are of one thread with their vector, so they have its flag that tells of a call in progress, and keep it.
 */
#include <inttypes.h>
#include <string.h>

#include <extmem/sys/output.h>

#include "base/structs.h"
#include "container/public_vector.h"
#include "container/vector_stream.h"

struct em_vector_reader {
	emi_object object;
	em_vector *vector;
	emi_vector_reader reader;
	em_batch batch;
	emi_cursor cursor;
};

struct em_vector_writer {
	emi_object object;
	em_vector *vector;
	emi_vector_writer writer;
	uint64_t lent;          /* records that there is room for at the caller's */
};

static void release_reader(void *reader)
{
	em_vector_reader *r = reader;
	em_vector *v = r->vector;

	emi_vector_reader_close(&r->reader);
	emi_object_free(r, sizeof *r);
	emi_vector_let(v);
}

static void release_writer(void *writer)
{
	em_vector_writer *w = writer;
	em_vector *v = w->vector;

	emi_vector_writer_close(&w->writer);
	emi_object_free(w, sizeof *w);
	emi_vector_let(v);
}

/* An object that uses a vector. */
static void *new_stream(em_vector *v, size_t bytes, void (*release)(void *object), em_errinfo *err)
{
	emi_object *o = emi_object_new(v->object.ctx, bytes, 0, release, err);

	if (o == NULL)
		return NULL;
	o->turn = &v->object;
	v->users++;
	return o;
}

static em_status take_options(em_vector_stream_opts *o, const em_vector_stream_opts *opts, em_errinfo *err)
{
	const em_vector_stream_opts plain = EM_VECTOR_STREAM_OPTS_INIT;
	em_status st = EMI_STRUCT_TAKE(em_vector_stream_opts, o, opts != NULL ? opts : &plain, err);

	if (st == EM_OK && o->direction > EM_VECTOR_REVERSE)
		st = emi_fail(err, EM_ERR_INVAL, "there is no direction %" PRIu32, o->direction);
	return st;
}

static em_status fill_cursor(emi_cursor *c, void *reader)
{
	const em_batch *batch;
	const em_status st = em_vector_reader_next(reader, &batch);

	if (st == EM_OK)
		emi_cursor_show(c, batch);
	return st;
}

static em_status open_reader(em_vector_reader **out, em_vector *v, const em_vector_stream_opts *opts, em_errinfo *err)
{
	const int reverse = opts->direction == EM_VECTOR_REVERSE;
	const ptrdiff_t record = (ptrdiff_t)v->inner.layout.record;
	em_vector_stream_opts o = *opts;
	em_vector_reader *r;
	em_status st;

	if (o.n == UINT64_MAX && o.from <= v->inner.n)
		o.n = v->inner.n - o.from;
	st = emi_vector_check(v, o.from, o.n, err);
	if (st != EM_OK)
		return st;
	r = new_stream(v, sizeof *r, release_reader, err);
	if (r == NULL)
		return err->status;
	r->vector = v;
	st = emi_vector_reader_open(&r->reader, &v->inner, o.from, o.n, reverse, o.buffers, err);
	if (st != EM_OK) {
		release_reader(r);
		return st;
	}
	emi_cursor_init(&r->cursor, reverse ? -record : record, fill_cursor, r);
	*out = r;
	return EM_OK;
}

em_status em_vector_reader_open(em_vector_reader **out, em_vector *v, const em_vector_stream_opts *opts)
{
	em_vector_stream_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_enter(v, &err);
	if (st != EM_OK)
		return st;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = take_options(&o, opts, &err);
	if (st == EM_OK)
		st = open_reader(out, v, &o, &err);
	(void)emi_tell(EMI_ERRINFO_OF(em_vector_stream_opts, opts), st, &err);
	return emi_leave(v, st, &err);
}

em_status em_vector_reader_next(em_vector_reader *r, const em_batch **batch)
{
	const char *records;
	em_errinfo err;
	em_status st = emi_enter(r, &err);
	uint64_t n;

	if (batch != NULL)
		*batch = NULL;
	if (st != EM_OK)
		return st;
	st = emi_given(batch, "batch", &err);
	emi_cursor_clear(&r->cursor);
	if (st == EM_OK)
		st = emi_vector_reader_next(&r->reader, &records, &n, &err);
	if (st == EM_OK) {
		r->batch.records = records;
		r->batch.n = (size_t)n;
		r->batch.bytes = (size_t)(n * r->reader.v->layout.record);
		*batch = &r->batch;
	}
	return emi_leave(r, st, &err);
}

em_cursor *em_vector_reader_cursor(em_vector_reader *r)
{
	return r != NULL ? &r->cursor.c : NULL;
}

void em_vector_reader_error(const em_vector_reader *r, em_errinfo *err)
{
	emi_object_error(r, err);
}

void em_vector_reader_close(em_vector_reader *r)
{
	emi_object_close(r);
}

static em_status open_writer(em_vector_writer **out, em_vector *v, const em_vector_stream_opts *o, em_errinfo *err)
{
	em_vector_writer *w;
	em_status st = emi_vector_may_push(v, err);

	if (st == EM_OK && o->direction != EM_VECTOR_FORWARD)
		st = emi_fail(err, EM_ERR_INVAL, "a writer goes forward");
	if (st == EM_OK)
		st = emi_vector_check(v, o->from, 0, err);
	if (st != EM_OK)
		return st;
	w = new_stream(v, sizeof *w, release_writer, err);
	if (w == NULL)
		return err->status;
	w->vector = v;
	st = emi_vector_writer_open(&w->writer, &v->inner, o->from, o->n, o->buffers, err);
	if (st != EM_OK)
		release_writer(w);
	else
		*out = w;
	return st;
}

em_status em_vector_writer_open(em_vector_writer **out, em_vector *v, const em_vector_stream_opts *opts)
{
	em_vector_stream_opts o;
	em_errinfo err;
	em_status st;

	if (out != NULL)
		*out = NULL;
	st = emi_enter(v, &err);
	if (st != EM_OK)
		return st;
	st = emi_given(out, "out", &err);
	if (st == EM_OK)
		st = take_options(&o, opts, &err);
	if (st == EM_OK && opts == NULL)
		o.from = v->inner.n;
	if (st == EM_OK)
		st = open_writer(out, v, &o, &err);
	(void)emi_tell(EMI_ERRINFO_OF(em_vector_stream_opts, opts), st, &err);
	return emi_leave(v, st, &err);
}

/* Begin a call that needs the writer to take more. */
static em_status enter_writer(em_vector_writer *w, em_errinfo *err)
{
	const em_status st = emi_enter(w, err);

	if (st != EM_OK || !w->writer.finished)
		return st;
	return emi_leave(w, emi_fail(err, EM_ERR_STATE, "the writer is finished"), err);
}

em_status em_vector_writer_push(em_vector_writer *w, const void *records, uint64_t n)
{
	em_errinfo err;
	em_status st = enter_writer(w, &err);

	if (st != EM_OK)
		return st;
	if (n != 0)
		st = emi_given(records, "records", &err);
	if (st == EM_OK) {
		w->lent = 0;
		st = emi_vector_writer_push(&w->writer, records, n, &err);
	}
	return emi_leave(w, st, &err);
}

em_status em_vector_writer_lend(em_vector_writer *w, void **records, uint64_t *n)
{
	char *room = NULL;
	em_errinfo err;
	em_status st = enter_writer(w, &err);

	if (records != NULL)
		*records = NULL;
	if (n != NULL)
		*n = 0;
	if (st != EM_OK)
		return st;
	st = emi_given(records, "records", &err);
	if (st == EM_OK)
		st = emi_given(n, "n", &err);
	if (st == EM_OK)
		st = emi_vector_writer_lend(&w->writer, &room, n, &err);
	if (st == EM_OK) {
		*records = room;
		w->lent = *n;
	}
	return emi_leave(w, st, &err);
}

em_status em_vector_writer_took(em_vector_writer *w, uint64_t n)
{
	em_errinfo err;
	em_status st = emi_enter(w, &err);

	if (st != EM_OK)
		return st;
	if (n > w->lent)
		st = emi_fail(&err, EM_ERR_INVAL, "%" PRIu64 " records were filled and %" PRIu64 " lent", n, w->lent);
	if (st == EM_OK) {
		emi_vector_writer_took(&w->writer, n);
		w->lent = 0;
	}
	return emi_leave(w, st, &err);
}

em_status em_vector_writer_finish(em_vector_writer *w)
{
	em_errinfo err;
	const em_status st = enter_writer(w, &err);

	if (st != EM_OK)
		return st;
	w->lent = 0;
	return emi_leave(w, emi_vector_writer_finish(&w->writer, &err), &err);
}

void em_vector_writer_error(const em_vector_writer *w, em_errinfo *err)
{
	emi_object_error(w, err);
}

void em_vector_writer_close(em_vector_writer *w)
{
	emi_object_close(w);
}

static em_status export(em_vector *v, const char *path, em_errinfo *err)
{
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	emi_vector_reader r;
	const char *records;
	em_output *o;
	em_status st = emi_given(path, "path", err);
	uint64_t n;

	opts.errinfo = err;
	opts.bytes = v->inner.n * v->inner.layout.record;
	if (st == EM_OK)
		st = em_output_open(&o, v->object.ctx, path, &opts);
	if (st != EM_OK)
		return st;
	memset(&r, 0, sizeof r);
	st = emi_vector_reader_open(&r, &v->inner, 0, v->inner.n, 0, 0, err);
	if (st == EM_OK) {
		while ((st = emi_vector_reader_next(&r, &records, &n, err)) == EM_OK) {
			st = em_output_write(o, records, (size_t)(n * v->inner.layout.record));
			if (st != EM_OK)
				break;
		}
		if (st == EM_END)
			st = em_output_commit(o);
		if (st != EM_OK && err->status == EM_OK)
			em_output_error(o, err);
		emi_vector_reader_close(&r);
	}
	em_output_close(o);
	return st;
}

em_status em_vector_export(em_vector *v, const char *path)
{
	em_errinfo err;
	const em_status st = emi_enter(v, &err);

	return st == EM_OK ? emi_leave(v, export(v, path, &err), &err) : st;
}
