/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_file.c -- see disk_file.h.
 *
 * A file that we make loses its name as soon as it is open, so nothing is left behind however the process ends.  One
 * that was there keeps its name and its owner; it is locked, so that no two disks are the same file.
 *
 * A file system in memory is said aloud, once: there scratch takes what it is to save.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <extmem/disk.h>

#include "base/error.h"
#include "block/disk_file.h"
#include "io/backend.h"
#include "io/memory_fs.h"
#include "io/path.h"

static emi_file_how how_to(const emi_disk_choice *c, unsigned flags)
{
	const emi_file_how how = { flags, c->direct, 0, c->queue_depth, c->backend, "scratch " };

	return how;
}

static em_status refuse(em_errinfo *err, em_status status, const char *path, const char *why)
{
	emi_fail(err, status, "scratch disk '%s' %s", path, why);
	snprintf(err->path, sizeof err->path, "%s", path);
	return status;
}

/* A file that somebody has locked: the errno tells programs, and means nothing to people. */
static em_status open_own(emi_disk_file *f, em_ctx *ctx, const emi_disk_choice *c, unsigned flags, em_errinfo *err)
{
	const emi_file_how how = how_to(c, flags | EMI_OPEN_LOCK);
	const em_status st = emi_file_open_how(&f->file, ctx, c->path, &how, err);

	if (st == EM_ERR_IO && err->sys_errno == EAGAIN) {
		memset(err, 0, sizeof *err);
		return emi_fail_on(err, st, EAGAIN,
				   "another process uses it, or it was named twice: each needs a file of its own",
				   "open", how.noun, c->path, EMI_NO_OFFSET, 0);
	}
	return st;
}

static em_status make(emi_disk_file *f, em_ctx *ctx, emi_disk_choice *c, em_errinfo *err)
{
	const em_status st = open_own(f, ctx, c, EMI_OPEN_WRITE | EMI_OPEN_CREATE, err);

	if (st != EM_OK)
		return st;
	if ((c->flags & EM_DISK_KEEP) != 0)
		c->ours = 1;
	else if (emi_path_remove(c->path) != 0)
		emi_log(ctx, EM_LOG_WARN, "%s: the scratch file cannot be removed", c->path);
	return EM_OK;
}

/* A device is as large as it is, and its space is its own. */
static void measure_device(emi_disk_file *f, uint64_t size)
{
	f->fixed = 1;
	if (f->capacity == 0 || f->capacity > size)
		f->capacity = size;
}

static em_status use(emi_disk_file *f, em_ctx *ctx, const emi_disk_choice *c, int device, em_errinfo *err)
{
	em_status st = open_own(f, ctx, c, EMI_OPEN_WRITE, err);
	uint64_t size = 0;

	if (st == EM_OK)
		st = emi_file_size(f->file, &size, err);
	if (st != EM_OK)
		return st;
	if (size != 0 && (c->flags & EM_DISK_FORCE) == 0 && !c->ours)
		return refuse(err, EM_ERR_EXIST, c->path, "is not empty, and what is in it is not to be overwritten");
	if (device) {
		measure_device(f, size);
		return size != 0 ? EM_OK : refuse(err, EM_ERR_INVAL, c->path, "has no space at all");
	}
	st = size != 0 ? emi_file_resize(f->file, 0, err) : EM_OK;
	f->empties = st == EM_OK && (c->flags & EM_DISK_KEEP) == 0;
	return st;
}

static em_status open_kind(emi_disk_file *f, em_ctx *ctx, emi_disk_choice *c, em_errinfo *err)
{
	const emi_file_how temp = how_to(c, EMI_OPEN_TEMP);
	const emi_path_kind kind = c->directory ? EMI_PATH_DIRECTORY : emi_path_look(c->path);

	/* It would be a real one, at its own speed. */
	if (kind != EMI_PATH_DIRECTORY && emi_backend_in_memory(c->backend))
		return refuse(err, EM_ERR_INVAL, c->path,
			      "is to be in memory or simulated, which only one in a directory is: name a directory");
	switch (kind) {
	case EMI_PATH_DIRECTORY:
		return emi_file_open_how(&f->file, ctx, c->path, &temp, err);
	case EMI_PATH_FILE:
	case EMI_PATH_DEVICE:
		return use(f, ctx, c, kind == EMI_PATH_DEVICE, err);
	case EMI_PATH_UNKNOWN:
		return make(f, ctx, c, err);
	case EMI_PATH_OTHER:
	default:
		return refuse(err, EM_ERR_INVAL, c->path,
			      "is neither a directory, nor a regular file, nor a block device");
	}
}

/* Have all of its space now.  It then is the file's, as a device's is. */
static em_status set_aside(emi_disk_file *f, const emi_disk_choice *c, em_errinfo *err)
{
	if ((c->flags & EM_DISK_FIXED) == 0 || f->fixed)
		return EM_OK;
	f->fixed = 1;
	return emi_file_reserve(f->file, 0, f->capacity, err);
}

static void warn(const emi_disk_file *f, em_ctx *ctx, const emi_disk_choice *c)
{
	const int fd = emi_file_fd(f->file);

	/* Names of devices are in memory themselves. */
	if (ctx->warned || f->fixed || fd < 0 || !emi_on_memory_fs(fd))
		return;
	ctx->warned = 1;
	emi_log(ctx, EM_LOG_WARN, "%s: scratch is on a file system in memory, which it takes beyond what is allowed",
		c->path);
}

em_status emi_disk_file_open(emi_disk_file *f, em_ctx *ctx, emi_disk_choice *choice, em_errinfo *err)
{
	em_status st;

	f->file = NULL;
	f->capacity = choice->capacity;
	f->fixed = f->empties = 0;
	st = open_kind(f, ctx, choice, err);
	if (st == EM_OK)
		warn(f, ctx, choice);
	if (st == EM_OK)
		st = set_aside(f, choice, err);
	if (st != EM_OK) {
		emi_file_close(f->file);
		f->file = NULL;
	}
	return st;
}

void emi_disk_file_close(emi_disk_file *f, int forked)
{
	if (f->empties && !forked)
		(void)emi_file_cut(f->file, 0, NULL);
	emi_file_close(f->file);
	f->file = NULL;
}

uint64_t emi_disk_file_memory(const em_ctx *ctx, uint64_t memory, const emi_disk_choice *choice)
{
	const emi_file_how how = how_to(choice, 0);

	return emi_file_memory_how(ctx, memory, &how);
}
