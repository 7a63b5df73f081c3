/* SPDX-License-Identifier: BSL-1.0 */
/*
 * file.c -- opening, closing and measuring files.
 *
 * A file is a handle of its context's backend with a queue in front.  It holds a reference to the context, its
 * own memory and one of the context's descriptors, and gives back all three when it is closed.
 */
#include <errno.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "io/backend.h"
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
	return out;
}

static int has_descriptor(const em_file *f)
{
	return !f->be->fd || f->be->fd(f->handle) >= 0;
}

/* Have the backend open it, with a descriptor taken from the budget. */
static em_status open_handle(em_file *f, em_backend_open *how, em_errinfo *err)
{
	em_status status = emi_fd_take(f->ctx, how->path, err);
	int e, tries = 0;

	if (status != EM_OK)
		return status;
	do
		e = f->be->open(f->be->user, how);
	while (e == EINTR && ++tries < 1000);
	if (e != 0) {
		emi_fd_drop(f->ctx);
		if (e == EOPNOTSUPP && how->want_direct == EM_DIRECT_ON)
			return emi_fail(err, EM_ERR_NOTSUP, "%s: direct input and output do not work here: %s",
					how->path, how->reason ? how->reason : "the backend cannot do them");
		return emi_fail_io(err, EM_OK, e, "open", how->path, EMI_NO_OFFSET, 0);
	}
	f->handle = how->handle;
	f->direct = how->direct != 0;
	if (!has_descriptor(f))
		emi_fd_drop(f->ctx);
	if (how->want_direct != EM_DIRECT_OFF && !f->direct)
		emi_log(f->ctx, EM_LOG_INFO, "%s: using buffered input and output: %s", how->path,
			how->reason ? how->reason : "the backend has no other");
	return EM_OK;
}

static void close_handle(em_file *f, int forked)
{
	int counted = has_descriptor(f);

	f->be->close(f->handle, forked);
	if (counted)
		emi_fd_drop(f->ctx);
}

static void release(em_file *f)
{
	em_ctx *ctx = f->ctx;

	if (f->path)
		emi_strfree(ctx, f->path);
	emi_free(ctx, f, sizeof *f);
	emi_ctx_unref(ctx);
}

static em_status open_file(em_file **out, em_ctx *ctx, const char *path, unsigned flags, em_errinfo *err)
{
	em_backend_open how;
	em_status status = emi_ctx_check(ctx, err);
	em_file *f;

	if (status != EM_OK)
		return status;
	f = emi_alloc(ctx, sizeof *f, err);
	if (!f)
		return err->status;
	emi_ctx_ref(ctx);
	f->ctx = ctx;
	f->be = ctx->backend;
	f->path = emi_strdup(ctx, path, err);
	if (!f->path) {
		status = err->status;
		goto out;
	}
	memset(&how, 0, sizeof how);
	how.size = sizeof how;
	how.flags = backend_flags(flags);
	how.path = f->path;
	how.want_direct = flags & EMI_OPEN_BUFFERED ? EM_DIRECT_OFF : ctx->direct;
	how.depth = emi_queue_depth(ctx, f->be);
	status = open_handle(f, &how, err);
	if (status != EM_OK)
		goto out;
	status = emi_queue_open(f, &how, err);
	if (status != EM_OK) {
		close_handle(f, 0);
		goto out;
	}
	*out = f;
	return EM_OK;
out:
	release(f);
	return status;
}

em_status emi_file_open(em_file **out, em_ctx *ctx, const char *path, unsigned flags, em_errinfo *err)
{
	em_errinfo own;
	em_status status;

	*out = NULL;
	memset(&own, 0, sizeof own);
	status = open_file(out, ctx, path, flags, &own);
	if (status != EM_OK && err && err->status >= EM_OK)
		*err = own;
	return status;
}

void emi_file_close(em_file *f)
{
	int forked;

	if (!f)
		return;
	forked = emi_ctx_forked(f->ctx);
	emi_queue_close(f, forked);
	close_handle(f, forked);
	release(f);
}

uint64_t emi_file_memory(const em_ctx *ctx)
{
	return sizeof(em_file) + EMI_PAGE + emi_queue_memory(ctx, ctx->backend);
}

em_status emi_file_size(em_file *f, uint64_t *size, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->ctx, err);
	int e, tries = 0;

	if (status != EM_OK)
		return status;
	*size = 0;
	do
		e = f->be->get_size(f->handle, size);
	while (e == EINTR && ++tries < 1000);
	return e ? emi_fail_io(err, EM_OK, e, "stat", f->path, EMI_NO_OFFSET, 0) : EM_OK;
}

em_status emi_file_resize(em_file *f, uint64_t size, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->ctx, err);
	int e, tries = 0;

	if (status != EM_OK)
		return status;
	do
		e = f->be->set_size(f->handle, size);
	while (e == EINTR && ++tries < 1000);
	return e ? emi_fail_io(err, EM_OK, e, "resize", f->path, size, 0) : EM_OK;
}

em_status emi_file_reserve(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err)
{
	em_status status = emi_ctx_check(f->ctx, err);
	int e, tries = 0;

	if (status != EM_OK || bytes == 0 || !f->be->reserve)
		return status;
	do
		e = f->be->reserve(f->handle, offset, bytes);
	while (e == EINTR && ++tries < 1000);
	if (e == 0 || e == EOPNOTSUPP || e == ENOTSUP || e == ENOSYS)
		return EM_OK;
	return emi_fail_io(err, EM_OK, e, "reserve", f->path, offset, bytes);
}

int emi_file_discards(const em_file *f)
{
	return emi_backend_discards(f->be);
}

int emi_file_direct(const em_file *f)
{
	return f->direct;
}

const char *emi_file_path(const em_file *f)
{
	return f->path;
}

int emi_file_fd(const em_file *f)
{
	return f->be->fd ? f->be->fd(f->handle) : -1;
}
