/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_stream.c -- element streams: what all kinds have in common.
 *
 * A call takes an element from the window or puts one in; only when that is not possible is the kind asked.  The first
 * failure stays: it empties the window, so that the next call comes here and finds it.
 *
 * A writer takes its memory before it opens the file, so what is there is not emptied for nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "stream/element_kind.h"
#include "stream/true_size.h"

/* What one call moves at most: the limit of Linux, and well within ssize_t. */
#define MOST ((size_t)1 << 30)

struct em_element_reader {
	emi_element_stream s;
};

struct em_element_writer {
	emi_element_stream s;
};

em_status emi_element_pread(emi_element_stream *s, void *buf, size_t bytes, uint64_t offset)
{
	char *to = buf;
	size_t got = 0;
	ssize_t n;

	while (got < bytes) {
		n = pread(s->fd, to + got, bytes - got < MOST ? bytes - got : MOST, (off_t)(offset + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return emi_fail_io(&s->err, EM_OK, errno, "read", s->path, offset + got, bytes - got);
		if (n == 0)
			return emi_fail_io(&s->err, EM_ERR_SHORT, 0, "read", s->path, offset + got, bytes - got);
		s->ios++;
		s->bytes += (uint64_t)n;
		got += (size_t)n;
	}
	return EM_OK;
}

em_status emi_element_pwrite(emi_element_stream *s, const void *buf, size_t bytes, uint64_t offset)
{
	const char *from = buf;
	size_t put = 0;
	ssize_t n;

	while (put < bytes) {
		n = pwrite(s->fd, from + put, bytes - put < MOST ? bytes - put : MOST, (off_t)(offset + put));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return emi_fail_io(&s->err, EM_OK, n < 0 ? errno : EIO, "write", s->path, offset + put,
					   bytes - put);
		s->ios++;
		s->bytes += (uint64_t)n;
		put += (size_t)n;
	}
	return EM_OK;
}

static int open_flags(const emi_element_stream *s)
{
	if (!s->writing)
		return O_RDONLY;
	return O_CREAT | (s->kind->maps ? O_RDWR : O_WRONLY) | (s->flags & EM_ELEMENT_NEW ? O_EXCL : 0);
}

/* Without waiting for somebody at the other end of a pipe, which is refused. */
static em_status open_file(emi_element_stream *s)
{
	em_status status = emi_fd_take(s->object.ctx, s->path, &s->err);
	struct stat sb;

	if (status != EM_OK)
		return status;
	do
		s->fd = open(s->path, open_flags(s) | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	while (s->fd < 0 && errno == EINTR);
	if (s->fd < 0) {
		const int e = errno;

		emi_fd_drop(s->object.ctx);
		return emi_fail_io(&s->err, e == EISDIR || e == ENXIO ? EM_ERR_INVAL : EM_OK, e, "open", s->path,
				   EMI_NO_OFFSET, 0);
	}
	if (fstat(s->fd, &sb) != 0)
		return emi_fail_io(&s->err, EM_OK, errno, "stat", s->path, EMI_NO_OFFSET, 0);
	if (S_ISDIR(sb.st_mode))
		return emi_fail_io(&s->err, EM_ERR_INVAL, EISDIR, "open", s->path, EMI_NO_OFFSET, 0);
	if (!S_ISREG(sb.st_mode))
		return emi_fail(&s->err, EM_ERR_INVAL, "%s: it is no regular file", s->path);
	if (s->writing)
		return ftruncate(s->fd, 0) == 0
			       ? EM_OK
			       : emi_fail_io(&s->err, EM_OK, errno, "resize", s->path, EMI_NO_OFFSET, 0);
	if (!emi_size_stored(NULL, s->fd, &sb) || (sb.st_size == 0 && !emi_reads_nothing(s->fd)))
		return emi_fail(&s->err, EM_ERR_INVAL, "%s: it does not know its size: read a copy of it", s->path);
	s->size = (uint64_t)sb.st_size;
	if (s->size % s->element != 0)
		return emi_fail_record(&s->err, EM_ERR_FORMAT, s->path, s->size / s->element + 1, 0,
				       "%s: its %" PRIu64 " bytes are no multiple of the element size %" PRIu64,
				       s->path, s->size, (uint64_t)s->element);
	return EM_OK;
}

static void close_file(emi_element_stream *s)
{
	if (s->fd < 0)
		return;
	(void)close(s->fd);
	s->fd = -1;
	emi_fd_drop(s->object.ctx);
}

static em_status set_up(emi_element_stream *s, const char *path)
{
	em_status status;

	s->path = emi_strdup(s->object.ctx, path, &s->err);
	if (s->path == NULL)
		return s->err.status;
	status = s->writing ? s->kind->open(s) : open_file(s);
	if (status == EM_OK)
		status = s->writing ? open_file(s) : s->kind->open(s);
	return status;
}

static void release(void *stream)
{
	emi_element_stream *s = stream;

	s->kind->close(s);
	close_file(s);
	emi_strfree(s->object.ctx, s->path);
	emi_object_free(s, sizeof(*s));
}

/* What was not finished is discarded. */
static void release_writer(void *stream)
{
	emi_element_stream *s = stream;

	if (s->fd >= 0 && !emi_ctx_forked(s->object.ctx)) {
		emi_log(s->object.ctx, EM_LOG_WARN,
			"%s: the stream was closed unfinished, what was written is discarded", s->path);
		if (ftruncate(s->fd, 0) != 0)
			emi_log(s->object.ctx, EM_LOG_WARN, "%s: cannot empty it", s->path);
	}
	release(s);
}

static em_status open_stream(emi_element_stream **out, em_ctx *ctx, const char *path, const em_element_opts *opts,
			     int writing, em_errinfo *err)
{
	em_element_opts o;
	uint64_t unit;
	emi_element_stream *s;
	em_status status = emi_element_opts(&o, opts, &unit, err);

	if (status != EM_OK)
		return status;
	s = emi_object_new(ctx, sizeof(*s), 0, writing ? release_writer : release, err);
	if (s == NULL)
		return err->status;
	s->kind = emi_element_kinds[o.kind - 1];
	s->kind_number = o.kind;
	s->flags = o.flags;
	s->writing = writing;
	s->element = (size_t)o.element_bytes;
	s->buffer = (size_t)unit;
	s->fd = -1;
	status = set_up(s, path);
	if (status != EM_OK) {
		(void)emi_tell(err, status, &s->err);
		release(s);
		return status;
	}
	*out = s;
	return EM_OK;
}

/* The caller may have no place for the stream, but one for the detail. */
static em_status open_as(emi_element_stream **s, int wanted, em_ctx *ctx, const char *path,
			 const em_element_opts *opts, int writing)
{
	em_errinfo err;
	em_status status;

	emi_errinfo_clear(&err);
	*s = NULL;
	status = wanted ? EM_OK : emi_given(NULL, "out", &err);
	if (status == EM_OK)
		status = emi_given(ctx, "ctx", &err);
	if (status == EM_OK)
		status = emi_given(path, "path", &err);
	if (status == EM_OK)
		status = open_stream(s, ctx, path, opts, writing, &err);
	return emi_tell(EMI_ERRINFO_OF(em_element_opts, opts), status, &err);
}

/* Begin a call.  What failed before is told again.  Whether this is a child of a fork is a call of the system, which
 * one of the kinds does not do for each element either: the others ask where they move bytes. */
static em_status enter(emi_element_stream *s, em_errinfo *err)
{
	const em_status status = s != NULL ? emi_enter_quickly(&s->object) : EM_ERR_INVAL;

	err->status = EM_OK;
	return status == EM_OK && s->err.status < EM_OK ? emi_leave(s, s->err.status, &s->err) : status;
}

/* The window is empty from now on. */
static em_status failed(emi_element_stream *s, em_status status)
{
	s->at -= s->left;
	s->left = 0;
	emi_fail(&s->err, status, "%s", em_status_text(status)); /* unless it is told already */
	return status;
}

static em_status get_stats(const emi_element_stream *s, em_element_stats *stats)
{
	em_element_stats full = EM_ELEMENT_STATS_INIT;

	if (s == NULL)
		return EM_ERR_INVAL;
	full.kind = s->kind_number;
	full.elements = (s->at - s->left) / s->element;
	full.ios = s->ios;
	full.bytes = s->bytes;
	full.buffer_bytes = s->buffer;
	return EMI_STRUCT_GIVE(em_element_stats, stats, &full);
}

em_status em_element_reader_open(em_element_reader **out, em_ctx *ctx, const char *path, const em_element_opts *opts)
{
	emi_element_stream *s;
	em_status status = open_as(&s, out != NULL, ctx, path, opts, 0);

	if (out != NULL)
		*out = (em_element_reader *)s;
	return status;
}

/* The window is used up, or there is something wrong. */
static em_status next_slowly(emi_element_stream *s, void *element)
{
	em_errinfo err;
	em_status status = enter(s, &err);

	if (status != EM_OK)
		return status;
	status = emi_given(element, "element", &err);
	if (status != EM_OK)
		return emi_leave(s, status, &err);
	if (s->left == 0 && s->at == s->size)
		return emi_leave(s, EM_END, &err);
	status = s->kind->read(s, element);
	return emi_leave(s, status == EM_OK ? EM_OK : failed(s, status), &s->err);
}

em_status em_element_reader_next(em_element_reader *r, void *element)
{
	if (r == NULL || element == NULL || r->s.left == 0)
		return next_slowly(r != NULL ? &r->s : NULL, element);
	emi_element_take(&r->s, element);
	return EM_OK;
}

int32_t em_element_reader_at_end(const em_element_reader *r)
{
	return r == NULL || r->s.at - r->s.left == r->s.size;
}

uint64_t em_element_reader_elements(const em_element_reader *r)
{
	return r != NULL ? r->s.size / r->s.element : 0;
}

em_status em_element_reader_stats_get(const em_element_reader *r, em_element_stats *stats)
{
	return get_stats(r != NULL ? &r->s : NULL, stats);
}

void em_element_reader_error(const em_element_reader *r, em_errinfo *err)
{
	emi_object_error(r, err);
}

void em_element_reader_close(em_element_reader *r)
{
	emi_object_close(r);
}

em_status em_element_writer_open(em_element_writer **out, em_ctx *ctx, const char *path, const em_element_opts *opts)
{
	emi_element_stream *s;
	em_status status = open_as(&s, out != NULL, ctx, path, opts, 1);

	if (out != NULL)
		*out = (em_element_writer *)s;
	return status;
}

/* The window has no room, or there is something wrong. */
static em_status write_slowly(emi_element_stream *s, const void *element)
{
	em_errinfo err;
	em_status status = enter(s, &err);

	if (status != EM_OK)
		return status;
	status = emi_given(element, "element", &err);
	if (status == EM_OK && s->finished)
		status = emi_fail(&err, EM_ERR_STATE, "%s: push after finish", s->path);
	if (status == EM_OK && s->element > (uint64_t)INT64_MAX - s->at)
		status = emi_fail(&err, EM_ERR_RANGE, "%s: no file can be so long", s->path);
	if (status != EM_OK)
		return emi_leave(s, status, &err);
	status = s->kind->write(s, element);
	return emi_leave(s, status == EM_OK ? EM_OK : failed(s, status), &s->err);
}

em_status em_element_writer_push(em_element_writer *w, const void *element)
{
	if (w == NULL || element == NULL || w->s.left == 0)
		return write_slowly(w != NULL ? &w->s : NULL, element);
	emi_element_put(&w->s, element);
	return EM_OK;
}

/* Bring it to the disk if that is wanted, and let the file system tell what it has not told yet. */
static em_status settle(emi_element_stream *s)
{
	int e = 0;

	if ((s->flags & EM_ELEMENT_SYNC) && fdatasync(s->fd) != 0)
		return emi_fail_io(&s->err, EM_OK, errno, "sync", s->path, EMI_NO_OFFSET, 0);
	if (close(s->fd) != 0)
		e = errno;
	s->fd = -1;
	emi_fd_drop(s->object.ctx);
	return e == 0 || e == EINTR ? EM_OK : emi_fail_io(&s->err, EM_OK, e, "close", s->path, EMI_NO_OFFSET, 0);
}

em_status em_element_writer_finish(em_element_writer *w)
{
	emi_element_stream *s = w != NULL ? &w->s : NULL;
	em_errinfo err;
	em_status status = enter(s, &err);

	if (status != EM_OK || s->finished)
		return status == EM_OK ? emi_leave(s, EM_OK, &err) : status;
	status = emi_ctx_check(s->object.ctx, &err);
	if (status != EM_OK)
		return emi_leave(s, status, &err);
	status = s->kind->flush(s);
	if (status == EM_OK)
		status = settle(s);
	s->finished = status == EM_OK;
	return emi_leave(s, status == EM_OK ? EM_OK : failed(s, status), &s->err);
}

em_status em_element_writer_stats_get(const em_element_writer *w, em_element_stats *stats)
{
	return get_stats(w != NULL ? &w->s : NULL, stats);
}

void em_element_writer_error(const em_element_writer *w, em_errinfo *err)
{
	emi_object_error(w, err);
}

void em_element_writer_close(em_element_writer *w)
{
	emi_object_close(w);
}
