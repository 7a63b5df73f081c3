/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_stdio.c -- the streams of C: fseeko(), then fread() or fwrite().
 *
 * A file has one stream with the buffer that the C library gives it, and a lock, so one transfer is made at a time.
 * Between two transfers the stream holds nothing: a write ends with fflush(), so that its errors are its own and
 * everybody sees what it wrote; and the stream is then parked, which drops what was read ahead, as others may change it
 * meanwhile.
 *
 * The stream's ends are functions of ours (fopencookie) around the syscall backend's transfers, and not the descriptor,
 * for three reasons.  The position belongs to the process: a child made by fork() that exits moves the position of a
 * shared descriptor, or writes its copy of the buffer, under the parent's hands.  Some libraries (BSD) keep the bytes
 * of a failed write, and C has no way to drop them: they would be written later, over something newer.  And how many
 * bytes of a failed write arrived is only known below the buffer.
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

#include "io/backend.h"

#ifdef HAVE_FOPENCOOKIE

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct stdio_file {
	emi_base base;          /* first: see backend.h */
	pid_t owner;
	pthread_mutex_t lock;   /* held during a transfer */
	FILE *stream;
	uint64_t at;            /* where the stream reads or writes next */
	uint64_t written;       /* bytes of this transfer that arrived */
	int error;              /* the errno of this transfer, or 0 */
	int drop;               /* what the stream still wants to write is not wanted */
} stdio_file;

/* In a child, which may have a copy of a buffer that the parent was filling. */
static int is_strayed(const stdio_file *f)
{
	return getpid() != f->owner;
}

static ssize_t stream_reads(void *cookie, char *buf, size_t bytes)
{
	stdio_file *f = cookie;
	int64_t n;

	if (is_strayed(f))
		return 0;
	/* The stream asks for a whole buffer, beyond what there can be. */
	if (bytes > (uint64_t)INT64_MAX - f->at)
		bytes = (size_t)((uint64_t)INT64_MAX - f->at);
	n = emi_backend_syscall.read(f->base.handle, buf, bytes, f->at);
	if (n < 0) {
		f->error = (int)-n;
		errno = f->error;
		return -1;
	}
	f->at += (uint64_t)n;
	return (ssize_t)n;
}

/* All of it, as otherwise the stream keeps the rest; fewer bytes tell it of an error. */
static ssize_t stream_writes(void *cookie, const char *buf, size_t bytes)
{
	stdio_file *f = cookie;
	size_t done = 0;

	if (f->drop || is_strayed(f))
		return (ssize_t)bytes;
	while (done < bytes && !f->error) {
		int64_t n = emi_backend_syscall.write(f->base.handle, buf + done, bytes - done, f->at);

		if (n <= 0) {
			f->error = n < 0 ? (int)-n : EIO;
			errno = f->error;
			break;
		}
		done += (size_t)n;
		f->at += (uint64_t)n;
		f->written += (uint64_t)n;
	}
	return (ssize_t)done;
}

static int stream_seeks(void *cookie, off_t *offset, int whence)
{
	stdio_file *f = cookie;
	int64_t to = *offset;

	/* The end is asked for by park() only, which wants to be nowhere in particular. */
	if (whence == SEEK_CUR)
		to += (int64_t)f->at;
	else if (whence == SEEK_END)
		to = 0;
	if (to < 0) {
		errno = EINVAL;
		return -1;
	}
	f->at = (uint64_t)to;
	*offset = (off_t)to;
	return 0;
}

/* Leave nothing in the buffer.  A position within it may be found there; that of the end has to be asked for. */
static void park(stdio_file *f)
{
	f->drop = 1;
	(void)fseeko(f->stream, 0, SEEK_END);
	clearerr(f->stream);
	f->drop = 0;
}

/* Put the stream where a transfer begins: 0, or a negative errno. */
static int begin(stdio_file *f, uint64_t offset)
{
	off_t to = (off_t)offset;

	if (to < 0 || (uint64_t)to != offset)
		return -EFBIG;
	if (fseeko(f->stream, to, SEEK_SET) != 0)
		return errno > 0 ? -errno : -EIO;
	/* Seeking may read the buffer that the position is in, and gets along without. */
	clearerr(f->stream);
	f->error = 0;
	f->written = 0;
	return 0;
}

static int64_t stdio_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	stdio_file *f = handle;
	int64_t n;

	pthread_mutex_lock(&f->lock);
	n = begin(f, offset);
	if (n == 0) {
		n = (int64_t)fread(buf, 1, bytes, f->stream);
		if (n == 0 && ferror(f->stream))
			n = f->error ? -f->error : -EIO;
	}
	park(f);
	pthread_mutex_unlock(&f->lock);
	return n;
}

static int64_t stdio_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	stdio_file *f = handle;
	int64_t n;

	if (!f->base.writable)
		return -EBADF;
	pthread_mutex_lock(&f->lock);
	n = begin(f, offset);
	if (n == 0) {
		int whole = fwrite(buf, 1, bytes, f->stream) == bytes && fflush(f->stream) == 0;

		n = (int64_t)f->written;
		if (!whole && n == 0)
			n = f->error ? -f->error : -EIO;
	}
	park(f);
	pthread_mutex_unlock(&f->lock);
	return n;
}

static int start(void *handle)
{
	static const cookie_io_functions_t ends = { stream_reads, stream_writes, stream_seeks, NULL };
	stdio_file *f = handle;
	int e;

	f->owner = getpid();
	f->stream = fopencookie(f, f->base.writable ? "r+" : "r", ends);
	if (!f->stream)
		return ENOMEM;
	e = pthread_mutex_init(&f->lock, NULL);
	if (e != 0)
		fclose(f->stream);
	return e;
}

static int stdio_open(void *user, em_backend_open *how)
{
	(void)user;
	return emi_base_open(how, sizeof(stdio_file), "a stream of C has a buffer", start);
}

static void stdio_close(void *handle, int forked)
{
	stdio_file *f = handle;

	emi_backend_syscall.close(f->base.handle, forked);
	/* A thread that is no more may hold the stream's lock.  It stays, and with it what its ends look at when the
	 * child exits. */
	if (forked)
		return;
	fclose(f->stream);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* One thread, as only one transfer is made at a time. */
static const em_backend stdio = {
	.size = sizeof(em_backend),
	.threads = 1,
	.name = "stdio",
	.open = stdio_open,
	.close = stdio_close,
	.get_size = emi_base_get_size,
	.set_size = emi_base_set_size,
	.reserve = emi_base_reserve,
	.fd = emi_base_fd,
	.read = stdio_read,
	.write = stdio_write,
	.discard = emi_base_discard,
	.sync = emi_base_sync,
};

const em_backend *emi_backend_stdio(const char **why)
{
	(void)why;
	return &stdio;
}

#else

const em_backend *emi_backend_stdio(const char **why)
{
	*why = "the C library has no fopencookie()";
	return NULL;
}

#endif
