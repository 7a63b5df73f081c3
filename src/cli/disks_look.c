/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disks_look.c -- what a scratch disk is, and how much of it is free.
 *
 * Whether transfers are direct is found by opening what a sort would: a file without a name in a directory, or what is
 * there, but for reading.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/disks.h"
#include "cli/message.h"

#define DEPTH_USUAL 64u         /* of a backend that does not say, as extmem/sys/backend.h has it */

/* The directory that a path is in, for free(). */
static char *parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int find_kind(const disks_command *dc, disk_look *d, struct stat *sb)
{
	if (!stat(d->opts.path, sb)) {
		d->kind = S_ISDIR(sb->st_mode)	 ? DISK_DIRECTORY
			  : S_ISREG(sb->st_mode) ? DISK_FILE
			  : S_ISBLK(sb->st_mode) ? DISK_DEVICE
						 : DISK_OTHER;
		if (d->kind != DISK_OTHER)
			return 0;
		message(dc->command, "%s: neither a directory, nor a regular file, nor a block device", d->opts.path);
		return -1;
	}
	d->kind = DISK_NEW;
	if (errno == ENOENT)
		return 0;
	message_errno(dc->command, d->opts.path, errno);
	return -1;
}

/* What options leave open is the context's, and then the backend's. */
static void complete(const disks_command *dc, disk_look *d)
{
	const em_ctx_opts *c = &dc->context.ctx;
	em_disk_opts *o = &d->opts;
	const em_backend *be = o->custom;

	if (!be) {
		o->backend = o->backend ? o->backend : em_ctx_backend(dc->ctx);
		be = em_backend_find(o->backend);
	}
	d->backend = be ? be->name : o->backend;
	d->in_memory = !strcmp(d->backend, "memory") || !strcmp(d->backend, "simdisk");
	if (o->direct == EM_DIRECT_CONTEXT)
		o->direct = c->direct;
	if (!o->queue_depth)
		o->queue_depth = c->queue_depth ? c->queue_depth : be && be->depth ? be->depth : DEPTH_USUAL;
	d->direct = -1;
	d->capacity = o->capacity;
	d->free = UINT64_MAX;
}

static em_file *open_in(const disks_command *dc, const disk_look *d, const char *path, uint32_t flags, em_ctx **ctx)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_file_opts how = EM_FILE_OPTS_INIT;
	em_errinfo err = { 0 };
	em_file *f = NULL;
	em_status st;

	opts.direct = d->opts.direct;
	opts.queue_depth = d->opts.queue_depth;
	opts.backend = d->opts.backend;
	opts.custom = d->opts.custom;
	opts.errinfo = how.errinfo = &err;
	how.flags = flags;
	st = em_ctx_open(ctx, &opts);
	if (st == EM_OK)
		st = em_file_open(&f, *ctx, path, &how);
	if (st != EM_OK)
		message_errinfo(dc->command, st, &err);
	return f;
}

/* Room in the file system of a path. */
static uint64_t room(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) ? UINT64_MAX : (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Is it refused without the option force, as a sort would? */
static int refused(const disks_command *dc, const disk_look *d, uint64_t size)
{
	if ((d->kind != DISK_FILE && d->kind != DISK_DEVICE) || !size || (d->opts.flags & EM_DISK_FORCE))
		return 0;
	message(dc->command,
		"%s: not empty, and what is in it is not to be overwritten unless the disk has the option force",
		d->opts.path);
	return 1;
}

int disks_look(const disks_command *dc, disk_look *d)
{
	const char *place = d->opts.path;
	struct stat sb;
	em_ctx *ctx = NULL;
	em_file *f;
	char *dir = NULL;
	uint64_t size = 0;
	int bad;

	complete(dc, d);
	if (find_kind(dc, d, &sb))
		return -1;
	if (d->kind == DISK_NEW) {
		place = dir = parent(d->opts.path);
		if (!dir) {
			message(dc->command, "out of memory");
			return -1;
		}
	}
	f = open_in(dc, d, place, d->kind == DISK_DIRECTORY || d->kind == DISK_NEW ? EM_OPEN_TEMP : EM_OPEN_READ, &ctx);
	bad = !f || em_file_size(f, &size) != EM_OK;
	if (f)
		d->direct = em_file_is_direct(f);
	if (d->kind == DISK_DEVICE) {
		d->capacity = d->capacity && d->capacity < size ? d->capacity : size;
		d->free = bad ? UINT64_MAX : size;
	} else if (!d->in_memory) {
		mount_type(place, d->fs);
		d->free = room(place);
		/* What is in it makes room. */
		if (d->kind == DISK_FILE && d->free != UINT64_MAX)
			d->free += (uint64_t)sb.st_blocks * 512;
	}
	if (d->capacity && d->free > d->capacity && d->free != UINT64_MAX)
		d->free = d->capacity;
	if (!bad && d->kind == DISK_DEVICE && !size) {
		message(dc->command, "%s: the device has no space at all", d->opts.path);
		bad = 1;
	}
	if (!bad && refused(dc, d, size))
		bad = 1;
	em_file_close(f);
	em_ctx_close(ctx);
	free(dir);
	return bad ? -1 : 0;
}

em_file *disks_open(const disks_command *dc, const disk_look *d, em_ctx **ctx)
{
	uint32_t flags = EM_OPEN_WRITE | EM_OPEN_LOCK;
	em_file *f;

	if (d->kind == DISK_DIRECTORY)
		flags = EM_OPEN_TEMP;
	else if (d->kind == DISK_NEW)
		flags |= EM_OPEN_CREATE;
	f = open_in(dc, d, d->opts.path, flags, ctx);
	if (f && d->kind == DISK_NEW && unlink(d->opts.path))
		message_errno(dc->command, d->opts.path, errno);
	return f;
}

void disks_close(const disks_command *dc, const disk_look *d, em_ctx *ctx, em_file *f)
{
	em_errinfo err;

	if (f && d->kind == DISK_FILE && em_file_resize(f, 0) != EM_OK) {
		em_file_error(f, &err);
		message_errinfo(dc->command, err.status, &err);
	}
	em_file_close(f);
	em_ctx_close(ctx);
}
