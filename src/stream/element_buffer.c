/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_buffer.c -- streams through the stdio of the C library.
 *
 * fread() and fwrite() do the buffering, in BUFSIZ bytes of memory that is counted.  What they read and write passes
 * through two functions of ours (fopencookie), for three reasons: transfers can be counted; a failure is known with its
 * offset; and fclose(), which writes what is buffered, can be kept from doing so when an unfinished stream is closed.
 * A C library without that does not have this kind.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "stream/element_kind.h"

static uint64_t unit(uint64_t element, uint64_t buffer)
{
	(void)element;
	(void)buffer;
	return BUFSIZ;
}

#ifdef HAVE_FOPENCOOKIE

/* As stdio asks for whole buffers, what is wanted may reach past the end. */
static ssize_t read_for_stdio(void *cookie, char *buf, size_t bytes)
{
	emi_element_stream *s = cookie;
	const uint64_t left = s->size - s->done;

	if (bytes > left)
		bytes = (size_t)left;
	if (bytes == 0)
		return 0;
	if (emi_ctx_check(s->object.ctx, &s->err) != EM_OK || emi_element_pread(s, buf, bytes, s->done) != EM_OK)
		return -1;
	s->done += bytes;
	return (ssize_t)bytes;
}

/* 0 is what stdio takes for a failure. */
static ssize_t write_for_stdio(void *cookie, const char *buf, size_t bytes)
{
	emi_element_stream *s = cookie;

	if (s->finished)
		return (ssize_t)bytes; /* it is being closed */
	if (emi_ctx_check(s->object.ctx, &s->err) != EM_OK || emi_element_pwrite(s, buf, bytes, s->done) != EM_OK)
		return 0;
	s->done += bytes;
	return (ssize_t)bytes;
}

static em_status open_stdio(emi_element_stream *s)
{
	cookie_io_functions_t functions;

	s->area = emi_alloc(s->object.ctx, BUFSIZ, &s->err);
	if (s->area == NULL)
		return s->err.status;
	s->area_bytes = BUFSIZ;
	memset(&functions, 0, sizeof(functions));
	functions.read = read_for_stdio;
	functions.write = write_for_stdio;
	s->file = fopencookie(s, s->writing ? "w" : "r", functions);
	if (s->file == NULL || setvbuf(s->file, s->area, _IOFBF, BUFSIZ) != 0)
		return emi_fail(&s->err, EM_ERR_NOMEM, "out of memory: cannot open a stdio stream");
	return EM_OK;
}

/* What failed below stdio is in s->err; anything else is its own trouble. */
static em_status stdio_failed(emi_element_stream *s, const char *op)
{
	if (s->err.status < EM_OK)
		return s->err.status;
	return emi_fail_io(&s->err, EM_OK, errno, op, s->path, s->at, s->element);
}

static em_status read_one(emi_element_stream *s, void *element)
{
	if (fread(element, s->element, 1, s->file) != 1)
		return stdio_failed(s, "read");
	s->at += s->element;
	return EM_OK;
}

static em_status write_one(emi_element_stream *s, const void *element)
{
	if (fwrite(element, s->element, 1, s->file) != 1)
		return stdio_failed(s, "write");
	s->at += s->element;
	return EM_OK;
}

static em_status flush(emi_element_stream *s)
{
	return fflush(s->file) == 0 ? EM_OK : stdio_failed(s, "write");
}

static void close_stdio(emi_element_stream *s)
{
	s->finished = 1;
	if (s->file != NULL)
		(void)fclose(s->file);
	emi_free(s->object.ctx, s->area, s->area_bytes);
}

#else

static em_status open_stdio(emi_element_stream *s)
{
	return emi_fail(&s->err, EM_ERR_NOTSUP, "streams through stdio need a C library with fopencookie()");
}

static em_status read_one(emi_element_stream *s, void *element)
{
	(void)s;
	(void)element;
	return EM_ERR_NOTSUP;
}

static em_status write_one(emi_element_stream *s, const void *element)
{
	(void)s;
	(void)element;
	return EM_ERR_NOTSUP;
}

static em_status flush(emi_element_stream *s)
{
	(void)s;
	return EM_ERR_NOTSUP;
}

static void close_stdio(emi_element_stream *s)
{
	(void)s;
}

#endif

const emi_element_kind emi_element_buffer = {
	"buffer", 0, 0, unit, open_stdio, read_one, write_one, flush, close_stdio,
};
