/* SPDX-License-Identifier: BSL-1.0 */
/* container_stream.c -- see container_stream.h. */
#include "flow/container_stream.h"

#include <string.h>

#include "base/copy.h"
#include "base/error.h"

/* The detail that a container has of a failure that is its own; one that was at work has none for us. */
static em_status told(em_status st, em_errinfo *err)
{
	if (err->status == st)
		return st;
	emi_errinfo_clear(err);
	return emi_fail(err, st, "%s", em_status_text(st));
}

static em_status failed(emi_from *f, em_status st, em_errinfo *err)
{
	if (st == EM_END || st == EM_NOT_FOUND)
		return EM_END;
	/* A function of the caller's that works for it pulls: all is as it was. */
	f->s.mild = st == EM_ERR_BUSY;
	f->how->error(f, err);
	return told(st, err);
}

/* The next records of a batch that goes from its last to its first. */
static em_status turn(emi_from *f)
{
	const size_t record = f->s.record, n = f->turning.n < f->s.room_records ? f->turning.n : f->s.room_records;
	const char *from = (const char *)f->turning.records + f->turning.n * record;
	char *to = f->s.room;
	size_t i;

	for (i = 0; i < n; i++) {
		from -= record;
		emi_copy(to, from, record);
		to += record;
	}
	f->turning.n -= n;
	return emi_stream_show(&f->s, n);
}

static em_status lend(emi_from *f, em_errinfo *err)
{
	const em_batch *batch;
	em_status st;

	if (f->turning.n != 0)
		return turn(f);
	st = f->how->next(f, &batch);
	if (st != EM_OK)
		return failed(f, st, err);
	if (f->direction == EM_VECTOR_FORWARD) {
		f->s.source.at = batch->records;
		f->s.source.end = f->s.source.at + batch->bytes;
		return EM_OK;
	}
	f->turning.records = batch->records;
	f->turning.n = batch->n;
	st = emi_stream_room(&f->s, err);
	return st == EM_OK ? turn(f) : st;
}

/* Exchange records, so that the last is the first. */
static void turn_around(char *records, size_t n, size_t record)
{
	char *a = records, *b = records + n * record;
	size_t i;

	while (n >= 2 && (b -= record) > a) {
		for (i = 0; i < record; i++) {
			const char c = a[i];

			a[i] = b[i];
			b[i] = c;
		}
		a += record;
	}
}

static em_status take(emi_from *f, em_errinfo *err)
{
	uint64_t got = 0;
	em_status st = emi_stream_room(&f->s, err);

	if (st != EM_OK)
		return st;
	st = f->how->take(f, f->s.room, f->s.room_records, &got);
	/* What came out before a failure is lent: it is in the container no more.  The next pull tries again. */
	if (st != EM_OK && got == 0)
		return failed(f, st, err);
	if (f->how->turned)
		turn_around(f->s.room, (size_t)got, f->s.record);
	return emi_stream_show(&f->s, (size_t)got);
}

static em_status next(em_stream *s, em_errinfo *err)
{
	emi_from *f = (emi_from *)(void *)s;
	em_status st = EM_OK;

	if (f->how->open != NULL && f->reader == NULL)
		st = f->how->open(f);
	if (st != EM_OK)
		return failed(f, st, err);
	return f->how->next != NULL ? lend(f, err) : take(f, err);
}

static void retire(em_stream *s)
{
	emi_from *f = (emi_from *)(void *)s;

	if (f->how->close != NULL)
		f->how->close(f);
	f->reader = NULL;
}

emi_from *emi_from_new(const void *container, const emi_from_kind *how, uint64_t record_bytes, uint64_t count,
		       em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "container", 0 };
	emi_from *f = (emi_from *)(void *)emi_stream_new(emi_container_ctx(container), sizeof *f, &kind, record_bytes,
							 NULL, 0, count, err);

	if (f != NULL) {
		f->how = how;
		f->container = (void *)(uintptr_t)container;
	}
	return f;
}

em_status emi_from_made(emi_from *f, em_stream **out, em_status st, em_errinfo *theirs, const em_errinfo *err)
{
	return emi_stream_end(f != NULL ? &f->s : NULL, out, st, theirs, err);
}

static em_status push_failed(emi_to *t, em_status st, em_errinfo *err)
{
	t->k.mild = st == EM_ERR_BUSY;
	t->how->error(t, err);
	return told(st, err);
}

static em_status open_writer(emi_to *t, em_errinfo *err)
{
	const em_status st = t->how->open != NULL && t->writer == NULL ? t->how->open(t) : EM_OK;

	return st == EM_OK ? st : push_failed(t, st, err);
}

static em_status push(em_sink *k, const void *records, size_t n, size_t *taken, em_errinfo *err)
{
	emi_to *t = (emi_to *)(void *)k;
	em_status st = open_writer(t, err);
	uint64_t pushed = 0;

	if (st != EM_OK)
		return st;
	st = t->how->push(t, records, n, &pushed);
	*taken = (size_t)pushed;
	return st == EM_OK ? st : push_failed(t, st, err);
}

static em_status finish(em_sink *k, em_errinfo *err)
{
	emi_to *t = (emi_to *)(void *)k;
	em_status st = open_writer(t, err);

	if (st == EM_OK && t->how->finish != NULL) {
		st = t->how->finish(t);
		if (st != EM_OK)
			st = push_failed(t, st, err);
	}
	if (st == EM_OK && t->how->close != NULL) {
		t->how->close(t);
		t->writer = NULL;
	}
	return st;
}

static void close_sink(em_sink *k)
{
	emi_to *t = (emi_to *)(void *)k;

	if (t->how->close != NULL)
		t->how->close(t);
}

emi_to *emi_to_new(const void *container, const emi_to_kind *how, uint64_t record_bytes, em_errinfo *err)
{
	static const emi_sink_kind kind = { push, finish, close_sink };
	emi_to *t = (emi_to *)(void *)emi_sink_new(emi_container_ctx(container), sizeof *t, &kind, record_bytes, err);

	if (t != NULL) {
		t->how = how;
		t->container = (void *)(uintptr_t)container;
	}
	return t;
}
