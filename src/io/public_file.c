/* SPDX-License-Identifier: BSL-1.0 */
/*
 * public_file.c -- files as callers outside know them: arguments are checked, and the detail of failures is kept.
 */
#include <string.h>

#include <extmem/sys/file.h>

#include "base/error.h"
#include "base/structs.h"
#include "io/queue.h"

#define WAYS (EM_OPEN_READ | EM_OPEN_WRITE | EM_OPEN_TEMP | EM_OPEN_LINKABLE)
#define KNOWN (WAYS | EM_OPEN_BUFFERED | EM_OPEN_CREATE | EM_OPEN_SYNC | EM_OPEN_LOCK | EM_OPEN_SHARED | EM_OPEN_DIRECT)

static em_status open_file(em_file **out, em_ctx *ctx, const char *path, const em_file_opts *o, em_errinfo *err)
{
	int32_t direct;

	if (!ctx || !path)
		return emi_fail(err, EM_ERR_INVAL, "%s is NULL", ctx ? "path" : "ctx");
	if (!(o->flags & WAYS) || (o->flags & ~KNOWN) || (o->flags & EM_OPEN_BUFFERED && o->flags & EM_OPEN_DIRECT) ||
	    (o->flags & EM_OPEN_TEMP && o->flags & (EM_OPEN_LINKABLE | EM_OPEN_CREATE)))
		return emi_fail(err, EM_ERR_INVAL, "%s: flags 0x%x are no way to open a file", path, (unsigned)o->flags);
	direct = o->flags & EM_OPEN_DIRECT ? EM_DIRECT_ON : ctx->direct;
	return emi_file_open_on(out, ctx, path, o->flags & ~EM_OPEN_DIRECT, direct, o->queue, err);
}

em_status em_file_open(em_file **out, em_ctx *ctx, const char *path, const em_file_opts *opts)
{
	const em_file_opts plain = EM_FILE_OPTS_INIT;
	em_errinfo err, *theirs = EMI_ERRINFO_OF(em_file_opts, opts);
	em_file_opts o;
	em_status status;

	if (!out)
		return EM_ERR_INVAL;
	*out = NULL;
	memset(&err, 0, sizeof err);
	status = EMI_STRUCT_TAKE(em_file_opts, &o, opts ? opts : &plain, &err);
	if (status == EM_OK)
		status = open_file(out, ctx, path, &o, &err);
	if (status != EM_OK && theirs)
		*theirs = err;
	return status;
}

void em_file_close(em_file *f)
{
	if (f)
		emi_file_leave(f);
}

/* Keep the detail of a failure. */
static em_status told(em_file *f, em_status status, const em_errinfo *err)
{
	if (status != EM_OK) {
		pthread_mutex_lock(&f->ctx->io_lock);
		f->err = *err;
		pthread_mutex_unlock(&f->ctx->io_lock);
	}
	return status;
}

static em_status transfer(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset, size_t *moved)
{
	em_errinfo err;
	em_status status;

	if (moved)
		*moved = 0;
	if (!f || (!buf && bytes > 0))
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	status = emi_ctx_check(f->ctx, &err);
	if (status == EM_OK)
		status = emi_transfer(f, kind, buf, bytes, offset, moved, &err);
	return told(f, status, &err);
}

em_status em_file_read(em_file *f, void *buf, size_t bytes, uint64_t offset, size_t *moved)
{
	return transfer(f, EMI_READ, buf, bytes, offset, moved);
}

em_status em_file_write(em_file *f, const void *buf, size_t bytes, uint64_t offset)
{
	return transfer(f, EMI_WRITE, buf, bytes, offset, NULL);
}

em_status em_file_size(em_file *f, uint64_t *bytes)
{
	em_errinfo err;

	if (!f || !bytes)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return told(f, emi_file_size(f, bytes, &err), &err);
}

em_status em_file_resize(em_file *f, uint64_t bytes)
{
	em_errinfo err;

	if (!f)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return told(f, emi_file_resize(f, bytes, &err), &err);
}

em_status em_file_reserve(em_file *f, uint64_t offset, uint64_t bytes)
{
	em_errinfo err;

	if (!f)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return told(f, emi_file_reserve(f, offset, bytes, &err), &err);
}

em_status em_file_discard(em_file *f, uint64_t offset, uint64_t bytes)
{
	emi_extent extent;
	emi_request rq;
	em_errinfo err;

	if (!f || bytes > INT64_MAX || offset > INT64_MAX - bytes)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	if (emi_ctx_check(f->ctx, &err) != EM_OK)
		return told(f, err.status, &err);
	if (!emi_file_discards(f))
		return told(f, emi_fail(&err, EM_ERR_NOTSUP, "%s: space cannot be given back", f->path), &err);
	if (bytes == 0)
		return EM_OK;
	extent.offset = offset;
	extent.bytes = bytes;
	emi_discard(f, &rq, &extent, 1);
	return told(f, emi_wait(&rq, &err), &err);
}

em_status em_file_sync(em_file *f)
{
	em_errinfo err;

	if (!f)
		return EM_ERR_INVAL;
	memset(&err, 0, sizeof err);
	return told(f, emi_file_sync(f, &err), &err);
}

em_status em_file_stats_get(em_file *f, em_io_stats *stats)
{
	em_io_stats all;

	if (!f || !stats)
		return EM_ERR_INVAL;
	emi_file_stats(f, &all);
	return emi_io_stats_give(stats, &all);
}

int em_file_is_direct(const em_file *f)
{
	return f != NULL && f->direct;
}

const char *em_file_path(const em_file *f)
{
	return f ? f->path : "";
}

int em_file_descriptor(const em_file *f)
{
	return f ? emi_file_fd(f) : -1;
}

const em_errinfo *em_file_error(const em_file *f)
{
	return f ? &f->err : NULL;
}
