/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_memory.c -- scratch that is kept in memory.
 *
 * Only temporary files are: named ones are looked up in the file system, by the syscall backend.  What is in
 * a temporary file is "disk": it comes from malloc(), not from the context, and does not count against the
 * budget.  A file is a table of chunks that exist once something was written there; the rest reads as zeros.
 *
 * The lock guards table and size; bytes are copied without it, as chunks stay where they are until the file shrinks,
 * gives them back or is closed, and transfers that overlap are the caller's mistake.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "io/backend.h"

#define CHUNK ((size_t)1 << 18)

typedef struct mem_file {
	void *named;            /* the syscall backend's handle; NULL: in memory */
	pthread_mutex_t lock;
	uint64_t bytes;         /* the size */
	char **chunk;
	size_t chunks;          /* entries of the table */
} mem_file;

static int mem_open(void *user, em_backend_open *how)
{
	mem_file *f;
	int e = 0;

	if ((how->flags & EM_OPEN_TEMP) && how->want_direct == EM_DIRECT_ON) {
		how->reason = "it is kept in memory";
		return EOPNOTSUPP;
	}
	f = calloc(1, sizeof *f);
	if (!f)
		return ENOMEM;
	if (how->flags & EM_OPEN_TEMP) {
		how->reason = "it is kept in memory";
		e = pthread_mutex_init(&f->lock, NULL);
	} else {
		e = emi_backend_syscall.open(user, how);
		f->named = how->handle;
	}
	if (e != 0) {
		free(f);
		return e;
	}
	how->handle = f;
	return 0;
}

/* Free the chunks from the first'th on. */
static void drop_chunks(mem_file *f, size_t first)
{
	size_t i;

	for (i = first; i < f->chunks; i++) {
		free(f->chunk[i]);
		f->chunk[i] = NULL;
	}
}

static void mem_close(void *handle, int forked)
{
	mem_file *f = handle;

	if (f->named) {
		emi_backend_syscall.close(f->named, forked);
	} else {
		drop_chunks(f, 0);
		free(f->chunk);
		if (!forked)
			pthread_mutex_destroy(&f->lock);
	}
	free(f);
}

static int mem_get_size(void *handle, uint64_t *bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.get_size(f->named, bytes);
	pthread_mutex_lock(&f->lock);
	*bytes = f->bytes;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

/* Cut off what is behind bytes, so that it reads as zeros if the file grows again. */
static void shrink(mem_file *f, uint64_t bytes)
{
	uint64_t whole = bytes / CHUNK;
	size_t rest = (size_t)(bytes % CHUNK);

	if (whole >= f->chunks)
		return;
	if (rest > 0 && f->chunk[whole])
		memset(f->chunk[whole] + rest, 0, CHUNK - rest);
	drop_chunks(f, (size_t)whole + (rest > 0));
}

static int mem_set_size(void *handle, uint64_t bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.set_size(f->named, bytes);
	if (bytes > INT64_MAX)
		return EFBIG;
	pthread_mutex_lock(&f->lock);
	if (bytes < f->bytes)
		shrink(f, bytes);
	f->bytes = bytes;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

/* Memory is not set aside: what is never written would be wasted. */
static int mem_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	mem_file *f = handle;

	if (f->named)
		return emi_backend_syscall.reserve(f->named, offset, bytes);
	if (offset > INT64_MAX || bytes > (uint64_t)INT64_MAX - offset)
		return EFBIG;
	pthread_mutex_lock(&f->lock);
	if (f->bytes < offset + bytes)
		f->bytes = offset + bytes;
	pthread_mutex_unlock(&f->lock);
	return 0;
}

/* Whole chunks go; what is left of others stays, as nobody reads it. */
static int mem_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	mem_file *f = handle;
	uint64_t i, end;

	if (f->named)
		return emi_backend_syscall.discard(f->named, offset, bytes);
	if (offset > INT64_MAX || bytes > (uint64_t)INT64_MAX - offset)
		return EFBIG;
	end = (offset + bytes) / CHUNK;
	pthread_mutex_lock(&f->lock);
	for (i = (offset + CHUNK - 1) / CHUNK; i < end && i < f->chunks; i++) {
		free(f->chunk[i]);
		f->chunk[i] = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	return 0;
}

static int mem_fd(void *handle)
{
	mem_file *f = handle;

	return f->named ? emi_backend_syscall.fd(f->named) : -1;
}

/* Make the table long enough for chunk i; doubling keeps the copying in proportion. */
static int reach(mem_file *f, uint64_t i)
{
	size_t n = f->chunks ? f->chunks : 64;
	char **table;

	if (i < f->chunks)
		return 0;
	while (n <= i) {
		if (n > SIZE_MAX / 2 / sizeof *table)
			return ENOSPC;
		n *= 2;
	}
	table = realloc(f->chunk, n * sizeof *table);
	if (!table)
		return ENOSPC;
	memset(table + f->chunks, 0, (n - f->chunks) * sizeof *table);
	f->chunk = table;
	f->chunks = n;
	return 0;
}

/* Bytes from offset to the end of its chunk, but not more than there are. */
static size_t piece(uint64_t offset, size_t bytes)
{
	size_t n = CHUNK - (size_t)(offset % CHUNK);

	return n < bytes ? n : bytes;
}

/* Read within one chunk; 0 at the end of the file. */
static size_t read_piece(mem_file *f, char *buf, size_t n, uint64_t offset)
{
	uint64_t i = offset / CHUNK;
	const char *from = NULL;

	pthread_mutex_lock(&f->lock);
	if (offset >= f->bytes)
		n = 0;
	else if (n > f->bytes - offset)
		n = (size_t)(f->bytes - offset);
	if (i < f->chunks)
		from = f->chunk[i];
	pthread_mutex_unlock(&f->lock);
	if (from)
		memcpy(buf, from + offset % CHUNK, n);
	else
		memset(buf, 0, n);
	return n;
}

static int write_piece(mem_file *f, const char *buf, size_t n, uint64_t offset)
{
	uint64_t i = offset / CHUNK;
	char *to = NULL;

	pthread_mutex_lock(&f->lock);
	if (reach(f, i) == 0) {
		if (!f->chunk[i])
			f->chunk[i] = calloc(1, CHUNK);
		to = f->chunk[i];
	}
	if (to && f->bytes < offset + n)
		f->bytes = offset + n;
	pthread_mutex_unlock(&f->lock);
	if (!to)
		return ENOSPC;
	memcpy(to + offset % CHUNK, buf, n);
	return 0;
}

static int64_t mem_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	mem_file *f = handle;
	size_t done = 0, n;

	if (f->named)
		return emi_backend_syscall.read(f->named, buf, bytes, offset);
	while (done < bytes) {
		n = read_piece(f, (char *)buf + done, piece(offset + done, bytes - done), offset + done);
		if (n == 0)
			break;
		done += n;
	}
	return (int64_t)done;
}

static int64_t mem_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	mem_file *f = handle;
	size_t done = 0, n;

	if (f->named)
		return emi_backend_syscall.write(f->named, buf, bytes, offset);
	for (; done < bytes; done += n) {
		n = piece(offset + done, bytes - done);
		if (write_piece(f, (const char *)buf + done, n, offset + done) != 0)
			return done > 0 ? (int64_t)done : -ENOSPC;
	}
	return (int64_t)done;
}

const em_backend emi_backend_memory = {
	sizeof(em_backend), 0, 0, 0, "memory", NULL,
	mem_open, mem_close, mem_get_size, mem_set_size, mem_reserve, mem_fd, mem_read, mem_write, NULL, NULL,
	mem_discard, NULL, NULL, NULL,
};
