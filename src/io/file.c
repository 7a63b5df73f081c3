/* SPDX-License-Identifier: BSL-1.0 */
/*
 * file.c -- opening, closing and measuring files.
 *
 * A file is a handle of its context's backend, on the queue of its disk.  It holds a reference to the context, its
 * own memory and one of the context's descriptors, and gives back all three when it is closed.
 */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/backend.h"
#include "io/memory_fs.h"
#include "io/queue.h"

static uint32_t backend_flags(unsigned flags)
{
	uint32_t out = 0;

	if (flags & EMI_OPEN_READ)
		out |= EM_OPEN_READ;
	if (flags & EMI_OPEN_WRITE)
		out |= EM_OPEN_WRITE;
	if (flags & EMI_OPEN_TEMP)
		out |= EM_OPEN_TEMP;
	if (flags & EMI_OPEN_CREATE)
		out |= EM_OPEN_CREATE;
	if (flags & EMI_OPEN_LINKABLE)
		out |= EM_OPEN_LINKABLE;
	if (flags & EMI_OPEN_SYNC)
		out |= EM_OPEN_SYNC;
	if (flags & EMI_OPEN_LOCK)
		out |= EM_OPEN_LOCK;
	if (flags & EMI_OPEN_SHARED)
		out |= EM_OPEN_SHARED;
	return out;
}

static int has_descriptor(const em_file *f)
{
	return !f->be->fd || f->be->fd(f->handle) >= 0;
}

/* Have the backend open it, with a descriptor taken from the budget. */
static em_status open_handle(em_file *f, em_backend_open *how, em_errinfo *err)
{
	em_status status = emi_fd_take(f->object.ctx, how->path, err);
	int e, tries = 0;

	if (status != EM_OK)
		return status;
	do
		e = f->be->open(f->be->user, how);
	while (e == EINTR && ++tries < 1000);
	if (e != 0) {
		emi_fd_drop(f->object.ctx);
		if (e == EOPNOTSUPP && how->want_direct == EM_DIRECT_ON)
			return emi_fail(err, EM_ERR_NOTSUP, "%s: direct input and output do not work here: %s",
					how->path, how->reason ? how->reason : "the backend cannot do them");
		return emi_fail_on(err, EM_OK, e, NULL, "open", f->noun, how->path, EMI_NO_OFFSET, 0);
	}
	f->handle = how->handle;
	f->direct = how->direct != 0;
	f->writes = (how->flags & (EM_OPEN_WRITE | EM_OPEN_TEMP | EM_OPEN_LINKABLE)) != 0;
	f->one_write = how->one_write != 0;
	f->in_memory = how->in_memory != 0;
	if (!has_descriptor(f))
		emi_fd_drop(f->object.ctx);
	if (how->want_direct != EM_DIRECT_OFF && !f->direct)
		emi_log(f->object.ctx, EM_LOG_INFO, "%s: using buffered input and output: %s", how->path,
			how->reason ? how->reason : "the backend has no other");
	return EM_OK;
}

static void close_handle(em_file *f, int forked)
{
	int counted = has_descriptor(f);

	f->be->close(f->handle, forked);
	if (counted)
		emi_fd_drop(f->object.ctx);
}

void emi_file_hold(em_file *f)
{
	__atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
}

void emi_file_drop(em_file *f)
{
	em_ctx *ctx = f->object.ctx;

	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	emi_file_free_spares(f);
	if (f->path)
		emi_strfree(ctx, f->path);
	emi_object_free(f, sizeof *f);
}

/* What is asked of the backend. */
static void ask(em_backend_open *how, const em_file *f, const emi_file_how *wanted)
{
	memset(how, 0, sizeof *how);
	how->size = sizeof *how;
	how->flags = backend_flags(wanted->flags);
	how->path = f->path;
	how->want_direct = wanted->flags & EMI_OPEN_BUFFERED ? EM_DIRECT_OFF : wanted->direct;
	how->depth = emi_queue_depth(f->object.ctx, f->be, wanted->depth);
}

static em_status open_file(em_file **out, em_ctx *ctx, const char *path, const emi_file_how *wanted, em_errinfo *err)
{
	em_backend_open how;
	em_status status;
	em_file *f;

	f = emi_object_new(ctx, sizeof *f, EMI_OBJECT_SHARED, NULL, err);
	if (!f)
		return err->status;
	f->be = wanted->backend ? wanted->backend : ctx->backend;
	f->noun = wanted->noun ? wanted->noun : "";
	f->refs = 1;
	f->path = emi_strdup(ctx, path, err);
	if (!f->path) {
		status = err->status;
		goto out;
	}
	ask(&how, f, wanted);
	status = open_handle(f, &how, err);
	if (status != EM_OK)
		goto out;
	status = emi_queue_join(f, &how, wanted->queue, err);
	if (status != EM_OK) {
		close_handle(f, 0);
		goto out;
	}
	*out = f;
	return EM_OK;
out:
	emi_file_drop(f);
	return status;
}

em_status emi_file_open_how(em_file **out, em_ctx *ctx, const char *path, const emi_file_how *how, em_errinfo *err)
{
	em_errinfo own;
	em_status status;

	*out = NULL;
	memset(&own, 0, sizeof own);
	status = open_file(out, ctx, path, how, &own);
	if (status != EM_OK && err && err->status >= EM_OK)
		*err = own;
	return status;
}

em_status emi_file_open_on(em_file **out, em_ctx *ctx, const char *path, unsigned flags, int32_t direct, uint32_t queue,
			   em_errinfo *err)
{
	const emi_file_how how = { flags, direct, queue, 0, NULL, NULL };

	return emi_file_open_how(out, ctx, path, &how, err);
}

em_status emi_file_open(em_file **out, em_ctx *ctx, const char *path, unsigned flags, em_errinfo *err)
{
	return emi_file_open_on(out, ctx, path, flags, ctx->direct, 0, err);
}

int emi_file_has_places(const char *path)
{
	struct stat sb;

	return stat(path, &sb) != 0 || S_ISREG(sb.st_mode) || S_ISBLK(sb.st_mode);
}

int emi_file_is_special(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && !S_ISREG(sb.st_mode) && !S_ISDIR(sb.st_mode);
}

static void finish(em_file *f, int forked)
{
	close_handle(f, forked);
	emi_queue_part(f->queue, forked);
	emi_file_drop(f);
}

void emi_file_finish(em_file *f)
{
	finish(f, 0);
}

void emi_file_settle(em_file *f)
{
	emi_queue_wait(f, NULL, -1.0);
}

void emi_file_go_on(em_file *f)
{
	emi_queue_go_on(f->queue);
}

void emi_file_gather(em_file *f, int on)
{
	emi_queue_gather(f->queue, on);
}

void emi_file_close(em_file *f)
{
	int forked;

	if (!f)
		return;
	forked = emi_ctx_forked(f->object.ctx);
	if (!forked)
		emi_queue_wait(f, NULL, -1.0);
	finish(f, forked);
}

void emi_file_leave(em_file *f)
{
	if (emi_ctx_forked(f->object.ctx) || !emi_queue_leave(f))
		emi_file_close(f);
}

em_status emi_file_sync(em_file *f, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->object.ctx, err);
	int e, tries = 0;

	if (status != EM_OK || !emi_backend_syncs(f->be))
		return status;
	do
		e = f->be->sync(f->handle);
	while (e == EINTR && ++tries < 1000);
	return e ? emi_fail_on(err, EM_OK, e, NULL, "sync", f->noun, f->path, EMI_NO_OFFSET, 0) : EM_OK;
}

void emi_file_stats(em_file *f, em_io_stats *stats)
{
	emi_queue_read_meter(f->queue, &f->meter, stats);
}

uint64_t emi_file_memory_how(const em_ctx *ctx, uint64_t memory, const emi_file_how *how)
{
	return sizeof(em_file) + EMI_PAGE +
	       emi_queue_memory(ctx, memory, how->backend ? how->backend : ctx->backend, how->depth);
}

uint64_t emi_file_memory_in(const em_ctx *ctx, uint64_t memory)
{
	const emi_file_how usual = { 0, 0, 0, 0, NULL, NULL };

	return emi_file_memory_how(ctx, memory, &usual);
}

uint64_t emi_file_memory(const em_ctx *ctx)
{
	return emi_file_memory_in(ctx, em_ctx_memory(ctx));
}

em_status emi_file_size(em_file *f, uint64_t *size, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->object.ctx, err);
	int e, tries = 0;

	if (status != EM_OK)
		return status;
	*size = 0;
	do
		e = f->be->get_size(f->handle, size);
	while (e == EINTR && ++tries < 1000);
	return e ? emi_fail_on(err, EM_OK, e, NULL, "stat", f->noun, f->path, EMI_NO_OFFSET, 0) : EM_OK;
}

em_status emi_file_cut(em_file *f, uint64_t size, em_errinfo *err)
{
	int e, tries = 0;

	if (emi_ctx_forked(f->object.ctx))
		return emi_ctx_check(f->object.ctx, err);
	do
		e = f->be->set_size(f->handle, size);
	while (e == EINTR && ++tries < 1000);
	return e ? emi_fail_on(err, EM_OK, e, NULL, "resize", f->noun, f->path, size, 0) : EM_OK;
}

em_status emi_file_resize(em_file *f, uint64_t size, em_errinfo *err)
{
	const em_status status = emi_ctx_check(f->object.ctx, err);

	return status == EM_OK ? emi_file_cut(f, size, err) : status;
}

em_status emi_file_reserve(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->object.ctx, err);
	int e, tries = 0;

	if (status != EM_OK || bytes == 0 || !f->be->reserve)
		return status;
	do
		e = f->be->reserve(f->handle, offset, bytes);
	while (e == EINTR && ++tries < 1000);
	if (e == 0 || e == EOPNOTSUPP || e == ENOTSUP || e == ENOSYS)
		return EM_OK;
	return emi_fail_on(err, EM_OK, e, NULL, "reserve", f->noun, f->path, offset, bytes);
}

em_status emi_file_set_aside(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err)
{
	const int fd = emi_file_fd(f);

	if (fd < 0 || !emi_memory_fs_has(fd, bytes))
		return emi_file_reserve(f, offset, bytes, err);
	if (f->in_memory)
		emi_huge_expect(&f->huge, offset, bytes);
	return emi_ctx_check(f->object.ctx, err);
}

int emi_file_discards(const em_file *f)
{
	return emi_backend_discards(f->be);
}

void emi_file_expect(em_file *f, uint64_t bytes)
{
#ifdef POSIX_FADV_WILLNEED
	if (has_descriptor(f) && f->be->fd)
		(void)posix_fadvise(f->be->fd(f->handle), 0, (off_t)bytes, POSIX_FADV_WILLNEED);
#else
	(void)f;
	(void)bytes;
#endif
}

int emi_file_direct(const em_file *f)
{
	return f->direct;
}

int emi_file_writes(const em_file *f)
{
	return f->writes;
}

em_ctx *emi_file_ctx(const em_file *f)
{
	return f->object.ctx;
}

const char *emi_file_path(const em_file *f)
{
	return f->path;
}

int emi_file_fd(const em_file *f)
{
	return f->be->fd ? f->be->fd(f->handle) : -1;
}
