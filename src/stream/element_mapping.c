/* SPDX-License-Identifier: BSL-1.0 */
/*
 * element_mapping.c -- streams through windows of the file that are mapped into memory.
 *
 * A window is B' bytes of the file, from a multiple of B' on, mapped with the pages that they lie in: an element, or a
 * window, may begin and end anywhere in a page.
 *
 *	pages    |---------|---------|---------|---------|
 *	window         cur |<------- left -------->|
 *	         area ............................ area_bytes
 *
 * What is stored into a mapped page for which the disk has no room is a SIGBUS, and not a status.  So a writer has
 * the space allocated before, a megabyte at a time, as that is not cheap, or less when there is not that much; the
 * window that may be written to ends where that does.  Finishing cuts off what was not needed.  Where a file system
 * cannot allocate, zeros are written.  A reader looks whether the file is still as long as it was before it maps a
 * window.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "stream/element_kind.h"

/* Bytes allocated at a time. */
#define STEP ((size_t)1 << 20)

static uint64_t unit(uint64_t element, uint64_t buffer)
{
	(void)element;
	return buffer;
}

static em_status open_none(emi_element_stream *s)
{
	(void)s;
	return EM_OK;
}

static void unmap(emi_element_stream *s)
{
	if (s->area != NULL)
		munmap(s->area, s->area_bytes);
	s->area = NULL;
	s->cur = NULL;
}

/* Map n bytes of the file from the position on: cur is where they begin. */
static em_status map(emi_element_stream *s, size_t n)
{
	const size_t lead = (size_t)(s->at % emi_element_page());
	void *area = MAP_FAILED;

	unmap(s);
	errno = ENOMEM;
	if (n <= SIZE_MAX - lead)
		area = mmap(NULL, lead + n, s->writing ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, s->fd,
			    (off_t)(s->at - lead));
	if (area == MAP_FAILED)
		return emi_fail_io(&s->err, EM_OK, errno, "map", s->path, s->at, n);
	s->area = area;
	s->area_bytes = lead + n;
	s->cur = s->area + lead;
	return EM_OK;
}

/* The pages of a window, as far as it is used. */
static uint64_t page_bytes(uint64_t from, uint64_t to)
{
	const uint64_t page = emi_element_page();

	return (to + page - 1) / page * page - from / page * page;
}

static em_status check_size(emi_element_stream *s, uint64_t end)
{
	struct stat sb;

	if (fstat(s->fd, &sb) != 0)
		return emi_fail_io(&s->err, EM_OK, errno, "stat", s->path, EMI_NO_OFFSET, 0);
	if ((uint64_t)sb.st_size < end)
		return emi_fail_io(&s->err, EM_ERR_SHORT, 0, "read", s->path, (uint64_t)sb.st_size,
				   end - (uint64_t)sb.st_size);
	return EM_OK;
}

static em_status next_window(emi_element_stream *s, void *element)
{
	const size_t n = s->size - s->at < s->buffer ? (size_t)(s->size - s->at) : s->buffer;
	em_status status = emi_ctx_check(s->object.ctx, &s->err);

	if (status == EM_OK)
		status = check_size(s, s->at + n);
	if (status == EM_OK)
		status = map(s, n);
	if (status != EM_OK)
		return status;
	s->ios++;
	s->bytes += page_bytes(s->at, s->at + n);
	s->at += n;
	s->left = n;
	emi_element_take(s, element);
	return EM_OK;
}

/* Write zeros from where the file ends. */
static int fill(emi_element_stream *s, uint64_t end)
{
	static const char zeros[4096];
	uint64_t at = s->done;
	ssize_t n;

	while (at < end) {
		n = pwrite(s->fd, zeros, end - at < sizeof(zeros) ? (size_t)(end - at) : sizeof(zeros), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		at += (uint64_t)n;
	}
	return 0;
}

/* Have the file end at `end', with its space allocated: 0 or an errno. */
static int allocate(emi_element_stream *s, uint64_t end)
{
#ifdef HAVE_FALLOCATE
	int e;

	do
		e = fallocate(s->fd, 0, (off_t)s->done, (off_t)(end - s->done)) == 0 ? 0 : errno;
	while (e == EINTR);
	if (e != EOPNOTSUPP && e != ENOSYS)
		return e;
#endif
	return fill(s, end);
}

/* How many of n bytes RLIMIT_FSIZE leaves, at least one element: that the last one is too many is for the system to
 * say. */
static size_t within_limit(const emi_element_stream *s, size_t n)
{
	struct rlimit limit;
	uint64_t most;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
	    (uint64_t)limit.rlim_cur >= s->at + n)
		return n;
	most = (uint64_t)limit.rlim_cur > s->at ? (uint64_t)limit.rlim_cur - s->at : 0;
	return most < s->element ? s->element : (size_t)(most - most % s->element);
}

/* Have space for an element at the position, and for more that come: a step at a time, or what is left of the disk. */
static em_status reserve(emi_element_stream *s)
{
	size_t n = within_limit(s, STEP > s->element ? STEP - STEP % s->element : s->element);
	int e;

	if (s->done >= s->at + s->element)
		return EM_OK;
	while ((e = allocate(s, s->at + n)) != 0) {
		if (n == s->element || (e != ENOSPC && e != EDQUOT && e != EFBIG))
			return emi_fail_io(&s->err, EM_OK, e, "allocate", s->path, s->at, n);
		n = n / 2 < s->element ? s->element : n / 2 - n / 2 % s->element;
	}
	s->done = s->at + n;
	return EM_OK;
}

/* Let the part of the window that can be written to be longer: up to n bytes, as far as there is space. */
static em_status extend(emi_element_stream *s, size_t n)
{
	em_status status = reserve(s);

	if (status != EM_OK)
		return status;
	if (n > s->done - s->at)
		n = (size_t)(s->done - s->at); /* whole elements: that is what is reserved */
	s->at += n;
	s->left = n;
	return EM_OK;
}

/* The window before the position is left: count what of it was used. */
static void leave_window(emi_element_stream *s)
{
	const uint64_t end = s->at - s->left;

	if (s->area != NULL && end > 0)
		s->bytes += page_bytes((end - 1) / s->buffer * s->buffer, end);
	unmap(s);
}

static em_status enter_window(emi_element_stream *s)
{
	em_status status;

	leave_window(s);
	status = map(s, s->buffer);
	if (status == EM_OK)
		s->ios++;
	return status;
}

/* The window ends where its space does, or where it ends as a whole: then the next one is mapped. */
static em_status make_room(emi_element_stream *s, const void *element)
{
	const size_t used = (size_t)(s->at % s->buffer);
	em_status status = emi_ctx_check(s->object.ctx, &s->err);

	if (status == EM_OK && used == 0)
		status = enter_window(s);
	if (status == EM_OK)
		status = extend(s, s->buffer - used);
	if (status == EM_OK)
		emi_element_put(s, element);
	return status;
}

static em_status flush(emi_element_stream *s)
{
	const uint64_t end = s->at - s->left;
	em_status status = emi_ctx_check(s->object.ctx, &s->err);

	if (status != EM_OK)
		return status;
	leave_window(s);
	s->at = end;
	s->left = 0;
	if (ftruncate(s->fd, (off_t)end) != 0)
		return emi_fail_io(&s->err, EM_OK, errno, "resize", s->path, end, 0);
	s->done = end;
	return EM_OK;
}

const emi_element_kind emi_element_mapping = {
	"mapping", 1, 1, unit, open_none, next_window, make_room, flush, unmap,
};
