/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sink.c -- outputs.
 *
 * Whole pages of each buffer are written with one request from where they lie; the bytes behind the last whole page
 * are kept (`rest') and put in front of the next buffer, which left room for them, or written by the
 * commit: as a page padded with zeroes, cut off by setting the size, where transfers are direct.
 *
 *	put:     base                                       base + lead + len
 *	         |..rest..|data...............................|
 *	         |-- whole pages, one request ---------|-rest-|
 *
 * The commit writes the last bytes, sets the size, and has the file published: publish.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "stream/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "block/disk.h"
#include "io/free_space.h"
#include "stream/pipe.h"
#include "stream/publish.h"
#include "stream/target.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

struct emi_sink {
	em_ctx *ctx;
	emi_io_stats *stats;
	emi_target target;
	em_file *file;          /* NULL: written through the pipe */
	emi_pipe pipe;
	uint64_t pos;           /* bytes put */
	char *rest;             /* a page; its first pos % EMI_PAGE bytes are not written yet */
	uint64_t expected;      /* bytes to be reserved in steps, and how many are */
	uint64_t reserved;
	uint64_t step;
	int (*make_room)(void *arg);
	void *room_arg;
	int committed;
	em_status status;       /* of the first failure; sticky, detail in err */
	em_errinfo err;
};

static em_status tell(const emi_sink *s, em_errinfo *err)
{
	if (err != NULL && err->status == EM_OK)
		*err = s->err;
	return s->status;
}

/* What is going to be the file of a new name is made as other programs make theirs.  What replaces one is nobody's
 * before it has its permissions. */
static unsigned making(const emi_sink *s)
{
	return EMI_OPEN_WRITE | (s->target.fd < 0 ? EMI_OPEN_SHARED : 0);
}

/* Under the leftovers' lock. */
static em_status make_named(emi_sink *s, em_errinfo *err)
{
	uint32_t attempt = 0;
	em_status st;

	for (;;) {
		em_errinfo one;

		memset(&one, 0, sizeof one);
		if ((st = emi_target_temp(&s->target, s->ctx, attempt++, err)) != EM_OK)
			return st;
		st = emi_file_open(&s->file, s->ctx, s->target.temp, making(s) | EMI_OPEN_CREATE, &one);
		if (st == EM_OK) {
			emi_target_made(&s->target, s->ctx);
			return EM_OK;
		}
		/* Whatever has that name is not ours to remove. */
		emi_target_untemp(&s->target, s->ctx);
		s->file = NULL;
		if (st != EM_ERR_EXIST) {
			if (err != NULL && err->status == EM_OK)
				*err = one;
			return st;
		}
	}
}

static em_status open_named(emi_sink *s, em_errinfo *err)
{
	em_status st = emi_leftovers_lock(s->ctx, err);

	if (st != EM_OK)
		return st;
	st = make_named(s, err);
	emi_leftovers_unlock(s->ctx);
	return st;
}

/* A file without a name if possible, else with a temporary one. */
static em_status open_beside(emi_sink *s, em_errinfo *err)
{
	em_errinfo one;
	em_status st;

	memset(&one, 0, sizeof one);
	st = emi_file_open(&s->file, s->ctx, s->target.path, making(s) | EMI_OPEN_LINKABLE, &one);
	if (st == EM_OK && emi_publish_linkable(emi_file_fd(s->file)))
		return EM_OK;
	if (st == EM_OK)
		emi_file_close(s->file);
	s->file = NULL;
	if (st != EM_OK && st != EM_ERR_NOTSUP) {
		if (err->status == EM_OK)
			*err = one;
		return st;
	}
	emi_log(s->ctx, EM_LOG_INFO, "%s: no unnamed files there, using a temporary name", s->target.path);
	return open_named(s, err);
}

static int open_temp(emi_sink *s, const char *dir)
{
	return emi_file_open(&s->file, s->ctx, dir, EMI_OPEN_WRITE | EMI_OPEN_TEMP, NULL) == EM_OK;
}

/* What is copied in the end may lie anywhere: beside the file, or with the scratch. */
static em_status open_to_copy(emi_sink *s, em_errinfo *err)
{
	char dir[PATH_MAX];
	const char *path = s->target.path;
	uint32_t i;

	if (path != NULL && strlen(path) < sizeof dir) {
		memcpy(dir, path, strlen(path) + 1);
		*(strrchr(dir, '/') + 1) = '\0';
		if (open_temp(s, dir))
			return EM_OK;
	}
	for (i = 0; i < emi_scratch_disks(s->ctx); i++)
		if (open_temp(s, emi_scratch_path(s->ctx, i)))
			return EM_OK;
	/* It says once more why not. */
	return emi_file_open(&s->file, s->ctx, emi_scratch_path(s->ctx, 0), EMI_OPEN_WRITE | EMI_OPEN_TEMP, err);
}

static em_status open_file(emi_sink *s, em_errinfo *err)
{
	em_errinfo one;
	em_status st = EM_OK;

	memset(&one, 0, sizeof one);
	if (!s->target.in_place) {
		st = open_beside(s, &one);
		/* The file may be written, but no other one may be made there. */
		s->target.in_place = s->target.fd >= 0 &&
				     (one.sys_errno == EACCES || one.sys_errno == EPERM || one.sys_errno == EROFS);
	}
	if (s->target.in_place)
		return open_to_copy(s, err);
	if (st != EM_OK && err->status == EM_OK)
		*err = one;
	return st;
}

em_status emi_sink_open(emi_sink **out, em_ctx *ctx, const char *path, uint64_t bytes, emi_io_stats *stats,
			em_errinfo *err)
{
	em_errinfo scratch;
	emi_sink *s;
	em_status st;

	*out = NULL;
	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	if (path == NULL)
		return emi_fail(err, EM_ERR_INVAL, "an output needs a name");
	if ((st = emi_ctx_check(ctx, err)) != EM_OK)
		return st;
	s = emi_alloc(ctx, sizeof *s, err);
	if (s == NULL)
		return err->status;
	emi_ctx_ref(ctx);
	s->ctx = ctx;
	s->stats = stats;
	s->target.fd = -1;
	s->rest = emi_buffer_alloc(ctx, EMI_PAGE, err);
	if (s->rest == NULL) {
		st = err->status;
		goto out;
	}
	if ((st = emi_target_find(&s->target, ctx, path, err)) != EM_OK)
		goto out;
	if (!s->target.regular) {
		s->pipe.fd = s->target.fd;
		s->pipe.ctx = ctx;
		s->pipe.name = s->target.name;
		s->pipe.stats = stats;
	} else {
		if ((st = open_file(s, err)) != EM_OK)
			goto out;
		if (bytes > 0)
			st = emi_sink_expect(s, bytes, 0, NULL, NULL, err);
	}
out:
	if (st == EM_OK)
		*out = s;
	else
		emi_sink_close(s);
	return st;
}

/* Will an open regular file hold so many bytes? */
static em_status check_room(const emi_sink *s, int fd, uint64_t bytes, em_errinfo *err)
{
	uint64_t has, left;
	struct stat sb;

	if (fd < 0 || fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode))
		return EM_OK;
	has = (uint64_t)sb.st_blocks * 512;
	left = emi_free_space(fd, bytes > has ? bytes - has : 0);
	return bytes <= has || bytes - has <= left ? EM_OK : emi_fail_room(err, s->target.name, bytes - has, left);
}

/* Where the next byte that is written goes. */
static uint64_t position_of(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	const off_t at = lseek(fd, 0, flags >= 0 && (flags & O_APPEND) ? SEEK_END : SEEK_CUR);

	return at < 0 ? 0 : (uint64_t)at;
}

em_status emi_sink_check(const emi_sink *s, uint64_t bytes, em_errinfo *err)
{
	em_status st;

	if (s->file == NULL)
		return check_room(s, s->pipe.fd, position_of(s->pipe.fd) + bytes, err);
	st = check_room(s, emi_file_fd(s->file), bytes, err);
	/* What is in another file is going to be copied. */
	return st == EM_OK && s->target.in_place ? check_room(s, s->target.fd, bytes, err) : st;
}

/* Reserve all of it now. */
static em_status reserve_all(emi_sink *s, uint64_t bytes, em_errinfo *err)
{
	em_errinfo own;
	em_status st;

	memset(&own, 0, sizeof own);
	st = emi_file_set_aside(s->file, 0, bytes, &own);
	if (st == EM_OK)
		return EM_OK;
	if (own.sys_errno == ENOSPC && emi_free_space(emi_file_fd(s->file), 0) != UINT64_MAX)
		return emi_fail_room(err, s->target.name, bytes, emi_free_space(emi_file_fd(s->file), 0));
	if (err != NULL && err->status == EM_OK)
		*err = own;
	return st;
}

em_status emi_sink_expect(emi_sink *s, uint64_t bytes, uint64_t step, int (*make_room)(void *arg), void *arg,
			  em_errinfo *err)
{
	em_status st = bytes != 0 ? emi_sink_check(s, bytes, err) : EM_OK;

	if (st != EM_OK || s->file == NULL || bytes == 0)
		return st;
	if (step == 0)
		return reserve_all(s, bytes, err);
	s->expected = bytes;
	s->step = step;
	s->make_room = make_room;
	s->room_arg = arg;
	return EM_OK;
}

int emi_sink_is_on(const emi_sink *s, const char *dir)
{
	const int fd = s->file != NULL ? emi_file_fd(s->file) : -1;
	struct stat mine, other;

	return fd >= 0 && fstat(fd, &mine) == 0 && stat(dir, &other) == 0 && mine.st_dev == other.st_dev;
}

int emi_sink_is_file(const emi_sink *s)
{
	return s->file != NULL;
}

size_t emi_sink_lead(const emi_sink *s, uint64_t position)
{
	return s->file != NULL ? (size_t)(position % EMI_PAGE) : 0;
}

static em_status put_stream(emi_sink *s, const emi_outbuf *ob)
{
	s->status = emi_pipe_write(&s->pipe, ob->base + ob->lead, ob->len, &s->err);
	if (s->status == EM_OK)
		s->pos += ob->len;
	return s->status;
}

static em_status reserve_to(emi_sink *s, uint64_t end, em_errinfo *err)
{
	em_status st;

	memset(err, 0, sizeof *err);
	st = emi_file_set_aside(s->file, s->reserved, end - s->reserved, err);
	if (st == EM_OK)
		s->reserved = end;
	return st;
}

/* Have space reserved for bytes up to end: a step more than is there, or, if there is not so much left, no more than
 * these. */
static em_status have_room(emi_sink *s, uint64_t end)
{
	uint64_t to;
	em_errinfo own;
	em_status st;

	if (end > s->expected)
		end = s->expected;
	if (end <= s->reserved)
		return EM_OK;
	to = end - s->reserved > s->step ? end : s->reserved + s->step;
	if (to > s->expected)
		to = s->expected;
	st = reserve_to(s, to, &own);
	if (st == EM_ERR_NOSPACE && s->make_room(s->room_arg))
		st = reserve_to(s, to, &own);
	if (st == EM_ERR_NOSPACE && to > end)
		st = reserve_to(s, end, &own);
	if (st != EM_OK) {
		s->status = st;
		s->err = own;
	}
	return st;
}

em_status emi_sink_put(emi_sink *s, emi_outbuf *ob, em_errinfo *err)
{
	size_t all, whole;

	memset(&ob->rq, 0, sizeof ob->rq);
	if (s->status != EM_OK)
		return tell(s, err);
	if (s->committed)
		return emi_fail(err, EM_ERR_STATE, "the output is complete");
	if (s->file == NULL)
		return put_stream(s, ob) == EM_OK ? EM_OK : tell(s, err);
	if (ob->lead != s->pos % EMI_PAGE || (uintptr_t)ob->base % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "an output buffer whose place in the page is not that in the file");
	if (have_room(s, s->pos + ob->len) != EM_OK)
		return tell(s, err);
	memcpy(ob->base, s->rest, ob->lead);
	all = ob->lead + ob->len;
	whole = all - all % EMI_PAGE;
	memcpy(s->rest, ob->base + whole, all - whole);
	if (whole > 0)
		emi_write(s->file, &ob->rq, ob->base, whole, s->pos - ob->lead, s->stats);
	s->pos += ob->len;
	return EM_OK;
}

em_status emi_sink_part_open(emi_sink_part *p, emi_sink *s, uint64_t begin, em_errinfo *err)
{
	memset(p, 0, sizeof *p);
	p->first = emi_buffer_alloc(s->ctx, 2 * EMI_PAGE, err);
	if (p->first == NULL)
		return err->status;
	memset(p->first, 0, 2 * EMI_PAGE);
	p->rest = p->first + EMI_PAGE;
	p->sink = s;
	p->begin = p->pos = begin;
	return EM_OK;
}

void emi_sink_part_close(emi_sink_part *p)
{
	if (p->first != NULL)
		emi_buffer_free(p->sink->ctx, p->first, 2 * EMI_PAGE);
	memset(p, 0, sizeof *p);
}

em_status emi_sink_part_put(emi_sink_part *p, emi_outbuf *ob, em_errinfo *err)
{
	size_t all, whole, skip = 0;

	memset(&ob->rq, 0, sizeof ob->rq);
	if (ob->lead != p->pos % EMI_PAGE || (uintptr_t)ob->base % EMI_PAGE != 0)
		return emi_fail(err, EM_ERR_INVAL, "an output buffer whose place in the page is not that in the file");
	memcpy(ob->base, p->rest, ob->lead);
	all = ob->lead + ob->len;
	whole = all - all % EMI_PAGE;
	memcpy(p->rest, ob->base + whole, all - whole);
	if (whole > 0 && !p->whole) {
		p->whole = 1;
		if (p->begin % EMI_PAGE != 0) {
			memcpy(p->first, ob->base, EMI_PAGE);
			skip = EMI_PAGE;
		}
	}
	if (whole > skip)
		emi_write(p->sink->file, &ob->rq, ob->base + skip, whole - skip, p->pos - ob->lead + skip,
			  p->sink->stats);
	p->pos += ob->len;
	return EM_OK;
}

/* Put n bytes of the page at the sink's position, and write it when there is all of it. */
static em_status put_in_page(emi_sink *s, const char *from, size_t n)
{
	emi_request rq;

	memcpy(s->rest + s->pos % EMI_PAGE, from, n);
	s->pos += n;
	if (n == 0 || s->pos % EMI_PAGE != 0)
		return EM_OK;
	memset(&rq, 0, sizeof rq);
	emi_write(s->file, &rq, s->rest, EMI_PAGE, s->pos - EMI_PAGE, s->stats);
	s->status = emi_wait(&rq, &s->err);
	return s->status;
}

em_status emi_sink_part_join(emi_sink_part *p, em_errinfo *err)
{
	const size_t lead = (size_t)(p->begin % EMI_PAGE);
	emi_sink *s = p->sink;
	em_status st = EM_OK;

	if (s->status != EM_OK)
		return tell(s, err);
	if (s->committed || s->pos != p->begin)
		return emi_fail(err, EM_ERR_STATE,
				"a part of the output that does not begin where the one before it ends");
	if (!p->whole)
		st = put_in_page(s, p->rest + lead, (size_t)(p->pos - p->begin));
	else if (lead != 0)
		st = put_in_page(s, p->first + lead, EMI_PAGE - lead);
	if (st != EM_OK)
		return tell(s, err);
	if (p->whole) {
		s->pos = p->pos;
		memcpy(s->rest, p->rest, (size_t)(p->pos % EMI_PAGE));
	}
	return EM_OK;
}

/* Write what is left and give the file its size. */
static em_status write_rest(emi_sink *s)
{
	const size_t left = (size_t)(s->pos % EMI_PAGE);
	size_t bytes = left;
	emi_request rq;
	em_status st;

	if (left > 0) {
		if (emi_file_direct(s->file)) {
			memset(s->rest + left, 0, EMI_PAGE - left);
			bytes = EMI_PAGE;
		}
		memset(&rq, 0, sizeof rq);
		emi_write(s->file, &rq, s->rest, bytes, s->pos - left, s->stats);
		if ((st = emi_wait(&rq, &s->err)) != EM_OK)
			return st;
	}
	return emi_file_resize(s->file, s->pos, &s->err);
}

static em_status commit_file(emi_sink *s)
{
	em_status st = write_rest(s);

	return st == EM_OK ? emi_publish(&s->target, s->ctx, s->file, s->pos, &s->err) : st;
}

em_status emi_sink_commit(emi_sink *s, em_errinfo *err)
{
	if (s->status != EM_OK)
		return tell(s, err);
	if (s->committed)
		return emi_fail(err, EM_ERR_STATE, "the output is complete already");
	s->status = s->file != NULL ? commit_file(s) : emi_target_close(&s->target, s->ctx, &s->err);
	if (s->status != EM_OK)
		return tell(s, err);
	s->committed = 1;
	return EM_OK;
}

void emi_sink_close(emi_sink *s)
{
	em_ctx *ctx;

	if (s == NULL)
		return;
	ctx = s->ctx;
	emi_file_close(s->file);
	emi_target_free(&s->target, ctx);
	if (s->rest != NULL)
		emi_buffer_free(ctx, s->rest, EMI_PAGE);
	emi_free(ctx, s, sizeof *s);
	emi_ctx_unref(ctx);
}
