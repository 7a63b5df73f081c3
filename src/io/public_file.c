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

	if (!(o->flags & WAYS) || (o->flags & ~KNOWN) || (o->flags & EM_OPEN_BUFFERED && o->flags & EM_OPEN_DIRECT) ||
	    (o->flags & EM_OPEN_TEMP && o->flags & (EM_OPEN_LINKABLE | EM_OPEN_CREATE)))
		return emi_fail(err, EM_ERR_INVAL, "%s: flags 0x%x are no way to open a file", path,
				(unsigned)o->flags);
	direct = o->flags & EM_OPEN_DIRECT ? EM_DIRECT_ON : ctx->direct;
	return emi_file_open_on(out, ctx, path, o->flags & ~EM_OPEN_DIRECT, direct, o->queue, err);
}

em_status em_file_open(em_file **out, em_ctx *ctx, const char *path, const em_file_opts *opts)
{
	const em_file_opts plain = EM_FILE_OPTS_INIT;
	em_file_opts o;
	em_errinfo err;
	em_status status;

	if (out)
		*out = NULL;
	status = emi_begin_open(out, ctx, "ctx", &err);
	if (status == EM_OK)
		status = emi_given(path, "path", &err);
	if (status == EM_OK)
		status = EMI_STRUCT_TAKE(em_file_opts, &o, opts ? opts : &plain, &err);
	if (status == EM_OK)
		status = open_file(out, ctx, path, &o, &err);
	return emi_tell(EMI_ERRINFO_OF(em_file_opts, opts), status, &err);
}

void em_file_close(em_file *f)
{
	if (f)
		emi_file_leave(f);
}

static em_status transfer(em_file *f, emi_request_kind kind, const void *buf, size_t bytes, uint64_t offset,
			  size_t *moved)
{
	em_errinfo err;
	em_status status = emi_enter(f, &err);

	if (moved)
		*moved = 0;
	if (status != EM_OK)
		return status;
	if (bytes > 0)
		status = emi_given(buf, "buf", &err);
	if (status == EM_OK)
		status = emi_transfer(f, kind, buf, bytes, offset, moved, &err);
	return emi_leave(f, status, &err);
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
	em_status status = emi_enter(f, &err);

	if (status != EM_OK)
		return status;
	status = emi_given(bytes, "bytes", &err);
	if (status == EM_OK)
		status = emi_file_size(f, bytes, &err);
	return emi_leave(f, status, &err);
}

em_status em_file_resize(em_file *f, uint64_t bytes)
{
	em_errinfo err;
	const em_status status = emi_enter(f, &err);

	return status == EM_OK ? emi_leave(f, emi_file_resize(f, bytes, &err), &err) : status;
}

em_status em_file_reserve(em_file *f, uint64_t offset, uint64_t bytes)
{
	em_errinfo err;
	const em_status status = emi_enter(f, &err);

	return status == EM_OK ? emi_leave(f, emi_file_reserve(f, offset, bytes, &err), &err) : status;
}

static em_status discard(em_file *f, uint64_t offset, uint64_t bytes, em_errinfo *err)
{
	emi_extent extent;
	emi_request rq;

	if (bytes > INT64_MAX || offset > INT64_MAX - bytes)
		return emi_fail_io(err, EM_ERR_RANGE, 0, "discard", f->path, offset, bytes);
	if (!emi_file_discards(f))
		return emi_fail(err, EM_ERR_NOTSUP, "%s: space cannot be given back", f->path);
	if (bytes == 0)
		return EM_OK;
	extent.offset = offset;
	extent.bytes = bytes;
	emi_discard(f, &rq, &extent, 1);
	return emi_wait(&rq, err);
}

em_status em_file_discard(em_file *f, uint64_t offset, uint64_t bytes)
{
	em_errinfo err;
	const em_status status = emi_enter(f, &err);

	return status == EM_OK ? emi_leave(f, discard(f, offset, bytes, &err), &err) : status;
}

em_status em_file_sync(em_file *f)
{
	em_errinfo err;
	const em_status status = emi_enter(f, &err);

	return status == EM_OK ? emi_leave(f, emi_file_sync(f, &err), &err) : status;
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

void em_file_error(const em_file *f, em_errinfo *err)
{
	emi_object_error(f, err);
}
