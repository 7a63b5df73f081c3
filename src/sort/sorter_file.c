/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sorter_file.c -- files into a sorter, and what is in one into a file.
 *
 * A file is read ahead by chunks (stream/records.h), which are pushed as a caller would push them.  What is wrong with
 * a file is no failure of the sorter.  What comes out is taken from the cursor, by windows, and so goes on where the
 * caller was; it goes to an output as all have (extmem/sys/output.h).
 */
#include <string.h>

#include <extmem/sys/output.h>

#include "sort/sorter.h"
#include "stream/records.h"

#define CHUNK_MOST ((size_t)256 << 10)
#define CHUNK_SHARE 64u         /* of the context's memory */
#define CHUNKS 3
#define CHECK_RECORDS 1024u     /* so many are pushed between two looks at whether to go on */

/* A file that is pushed.  What is wrong with it is told in err, and failures of the sorter in the job. */
typedef struct pushed_file {
	emi_front *f;
	const char *path;
	emi_records *records;
	emi_chunk chunk;
	uint64_t longest;       /* any length: bytes of a frame */
	uint64_t header;        /* records that are left to be passed over */
	uint64_t before;        /* records or lines before the chunk */
	em_errinfo *err;
} pushed_file;

static em_status open_records(pushed_file *p)
{
	emi_job *job = &p->f->e.job;
	const uint64_t share = em_ctx_memory(job->ctx) / CHUNK_SHARE;
	emi_records_opts opts;

	memset(&opts, 0, sizeof opts);
	opts.format = job->format;
	opts.chunk_bytes = (size_t)(share < CHUNK_MOST ? share : CHUNK_MOST) / EMI_PAGE * EMI_PAGE;
	opts.chunks = CHUNKS;
	opts.record_bytes = emi_front_record_bytes(p->f);
	if (emi_front_varied(p->f)) {
		p->longest = emi_front_longest(p->f);
		p->header = job->opts.header;
		opts.longest = p->longest - EMI_LENGTH_MAX;
	}
	return emi_records_open(&p->records, job->ctx, &p->path, 1, &opts, &job->io, p->err);
}

/* Is a record of the chunk, which ends at `end', too long with its key? */
static em_status check_length(const pushed_file *p, const unsigned char *record, size_t n, const unsigned char *end)
{
	const emi_job *job = &p->f->e.job;
	uint64_t number;
	size_t need = n;

	if (n <= emi_frame_sure(job->by.vary, p->longest))
		return EM_OK;
	emi_frame_make(job->by.vary, record, n, NULL, 0, &need);
	if (need <= p->longest)
		return EM_OK;
	number = p->before + emi_records_count(&job->format, p->chunk.data, end);
	return emi_fail_record(p->err, EM_ERR_FORMAT, p->path, number, 0,
			       "%s:%llu: %llu bytes with its key are more than the %llu allowed", p->path,
			       (unsigned long long)number, (unsigned long long)need, (unsigned long long)p->longest);
}

/* Push the records of a chunk, of any length; *n is how many it has. */
static em_status push_lines(pushed_file *p, uint64_t *n)
{
	const unsigned char *at = p->chunk.data, *end = at + p->chunk.bytes;
	emi_job *job = &p->f->e.job;
	em_status st = EM_OK;

	for (*n = 0; at < end && st == EM_OK; (*n)++) {
		size_t bytes;
		const unsigned char *record = emi_record_take(&job->format, &at, end, &bytes);

		if (p->header != 0) {
			p->header--;
			continue;
		}
		st = check_length(p, record, bytes, at);
		if (st == EM_OK && *n % CHECK_RECORDS == 0)
			st = emi_job_check(job, &job->err);
		if (st == EM_OK)
			st = emi_sorter_add(p->f, (const char *)record, bytes, &job->err);
	}
	return st;
}

static em_status push_chunk(pushed_file *p, uint64_t *n)
{
	emi_job *job = &p->f->e.job;

	if (emi_front_varied(p->f))
		return push_lines(p, n);
	*n = p->chunk.bytes / job->by.codec->record_bytes;
	return emi_front_push(p->f, p->chunk.data, *n, &job->err);
}

static em_status push_file(pushed_file *p)
{
	emi_job *job = &p->f->e.job;
	em_status st = open_records(p);

	while (st == EM_OK) {
		uint64_t n;

		st = emi_records_next(p->records, &p->chunk, emi_watch_tick, &job->watch, p->err);
		if (st != EM_OK)
			break;
		st = push_chunk(p, &n);
		p->before += emi_chunk_count(&p->chunk, n);
		emi_records_release(p->records, &p->chunk, n);
	}
	emi_records_close(p->records);
	return st == EM_END ? EM_OK : st;
}

em_status em_sorter_push_file(em_sorter *s, const char *path)
{
	emi_front *f = s != NULL ? &s->front : NULL;
	em_errinfo err = EM_ERRINFO_INIT;
	pushed_file p;
	em_batch none;
	em_status st = emi_front_may_push_batch(f, NULL, NULL, 0, &none);

	if (st != EM_OK)
		return st;
	memset(&p, 0, sizeof p);
	p.f = f;
	p.path = path;
	p.err = &err;
	st = emi_given(path, "path", &err);
	if (st == EM_OK)
		st = push_file(&p);
	return f->e.job.err.status != EM_OK ? emi_front_did(f, st) : emi_leave(f, st, &err);
}

/* Bytes that are to come, if that is known, or 0. */
static uint64_t bytes_left(const emi_front *f)
{
	const emi_job *job = &f->e.job;
	const em_cursor *c = &f->cursor.c;
	const uint64_t size = emi_front_record_bytes(f);

	if (size == 0 || (job->flags & EM_SORT_UNIQUE) != 0)
		return 0;
	return (job->records_in - job->records_out) * size + (uint64_t)(c->end - c->cur);
}

/* Write a record of any length as it stands in files. */
static em_status write_line(em_output *o, const em_format *format, const void *record, size_t n, em_errinfo *err)
{
	unsigned char edge[8];
	em_status st;

	if (!emi_format_delimited(format) && format->width < 8 && (uint64_t)n >> 8 * format->width != 0)
		return emi_fail(err, EM_ERR_RANGE, "%llu bytes of a record are more than a prefix of %u can tell",
				(unsigned long long)n, (unsigned)format->width);
	st = em_output_write(o, edge, (size_t)(emi_record_prefix(format, edge, n) - edge));
	if (st == EM_OK)
		st = em_output_write(o, record, n);
	if (st == EM_OK)
		st = em_output_write(o, edge, (size_t)(emi_record_delimit(format, edge) - edge));
	if (st != EM_OK)
		em_output_error(o, err);
	return st;
}

/* Write what is in the window. */
static em_status write_window(em_output *o, em_cursor *c, const em_format *format, em_errinfo *err)
{
	em_status st = EM_OK;
	const void *record;
	size_t n;

	while (c->ends != c->last && st == EM_OK) {
		st = em_cursor_next_sized(c, &record, &n);
		if (st == EM_OK)
			st = write_line(o, format, record, n, err);
	}
	if (c->cur == c->end)
		return st;
	st = em_output_write(o, c->cur, (size_t)(c->end - c->cur));
	if (st != EM_OK)
		em_output_error(o, err);
	c->cur = c->end;
	return st;
}

static em_status pull_file(em_sorter *s, const char *path, em_errinfo *err)
{
	const em_format format = s->front.e.job.format;
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_cursor *c = &s->front.cursor.c;
	em_output *o;
	em_status st;

	opts.errinfo = err;
	opts.bytes = bytes_left(&s->front);
	st = em_output_open(&o, s->front.object.ctx, path, &opts);
	/* Only now the window may change: what is in it when a file cannot be opened is there for any other call. */
	if (st == EM_OK && c->cur == c->end && c->ends == c->last)
		st = em_cursor_refill(c);
	while (st == EM_OK) {
		st = write_window(o, c, &format, err);
		if (st == EM_OK)
			st = em_cursor_refill(c);
	}
	if (st == EM_END) {
		st = em_output_commit(o);
		if (st != EM_OK)
			em_output_error(o, err);
	}
	em_output_close(o);
	return st;
}

em_status em_sorter_pull_file(em_sorter *s, const char *path)
{
	em_errinfo err = EM_ERRINFO_INIT;
	em_status st = s != NULL ? EM_OK : EM_ERR_INVAL;

	if (st == EM_OK && path == NULL)
		return emi_keep(&s->front.object, emi_given(path, "path", &err), &err);
	if (st == EM_OK)
		st = emi_front_could_pull(&s->front);
	if (st != EM_OK)
		return st;
	st = pull_file(s, path, &err);
	/* The sorter keeps its own failures. */
	return st != EM_OK && err.status != EM_OK ? emi_keep(&s->front.object, st, &err) : st;
}
