/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory_store.c -- the bytes of a file that is kept in memory.
 *
 * What is in such a file is "disk": it comes from malloc(), not from the context, and does not count against the
 * budget.  A file is a table of chunks that exist once something was written there; the rest reads as zeros.
 *
 * The lock guards table and size; bytes are copied without it, as chunks stay where they are until the file shrinks,
 * gives them back or is closed, and transfers that overlap are the caller's mistake.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "io/memory_store.h"

#define CHUNK ((size_t)1 << 18)

int emi_memory_store_init(emi_memory_store *s)
{
	memset(s, 0, sizeof *s);
	return emi_lock_init(&s->lock);
}

/* Free the chunks from the first'th on. */
static void drop_chunks(emi_memory_store *s, size_t first)
{
	size_t i;

	for (i = first; i < s->chunks; i++) {
		free(s->chunk[i]);
		s->chunk[i] = NULL;
	}
}

void emi_memory_store_free(emi_memory_store *s, int forked)
{
	drop_chunks(s, 0);
	free(s->chunk);
	if (!forked)
		pthread_mutex_destroy(&s->lock);
}

uint64_t emi_memory_store_size(emi_memory_store *s)
{
	uint64_t bytes;

	pthread_mutex_lock(&s->lock);
	bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
	return bytes;
}

/* Cut off what is behind bytes, so that it reads as zeros if the file grows again. */
static void shrink(emi_memory_store *s, uint64_t bytes)
{
	uint64_t whole = bytes / CHUNK;
	size_t rest = (size_t)(bytes % CHUNK);

	if (whole >= s->chunks)
		return;
	if (rest > 0 && s->chunk[whole])
		memset(s->chunk[whole] + rest, 0, CHUNK - rest);
	drop_chunks(s, (size_t)whole + (rest > 0));
}

int emi_memory_store_resize(emi_memory_store *s, uint64_t bytes)
{
	if (bytes > INT64_MAX)
		return EFBIG;
	pthread_mutex_lock(&s->lock);
	if (bytes < s->bytes)
		shrink(s, bytes);
	s->bytes = bytes;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Memory is not set aside: what is never written would be wasted. */
int emi_memory_store_reserve(emi_memory_store *s, uint64_t offset, uint64_t bytes)
{
	if (offset > INT64_MAX || bytes > (uint64_t)INT64_MAX - offset)
		return EFBIG;
	pthread_mutex_lock(&s->lock);
	if (s->bytes < offset + bytes)
		s->bytes = offset + bytes;
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Whole chunks go; what is left of others stays, as nobody reads it. */
int emi_memory_store_discard(emi_memory_store *s, uint64_t offset, uint64_t bytes)
{
	uint64_t i, end;

	if (offset > INT64_MAX || bytes > (uint64_t)INT64_MAX - offset)
		return EFBIG;
	end = (offset + bytes) / CHUNK;
	pthread_mutex_lock(&s->lock);
	for (i = (offset + CHUNK - 1) / CHUNK; i < end && i < s->chunks; i++) {
		free(s->chunk[i]);
		s->chunk[i] = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Make the table long enough for chunk i; doubling keeps the copying in proportion. */
static int reach(emi_memory_store *s, uint64_t i)
{
	size_t n = s->chunks ? s->chunks : 64;
	char **table;

	if (i < s->chunks)
		return 0;
	while (n <= i) {
		if (n > SIZE_MAX / 2 / sizeof *table)
			return ENOSPC;
		n *= 2;
	}
	table = realloc(s->chunk, n * sizeof *table);
	if (!table)
		return ENOSPC;
	memset(table + s->chunks, 0, (n - s->chunks) * sizeof *table);
	s->chunk = table;
	s->chunks = n;
	return 0;
}

/* Bytes from offset to the end of its chunk, but not more than there are. */
static size_t piece(uint64_t offset, size_t bytes)
{
	size_t n = CHUNK - (size_t)(offset % CHUNK);

	return n < bytes ? n : bytes;
}

/* Read within one chunk; 0 at the end of the file. */
static size_t read_piece(emi_memory_store *s, char *buf, size_t n, uint64_t offset)
{
	uint64_t i = offset / CHUNK;
	const char *from = NULL;

	pthread_mutex_lock(&s->lock);
	if (offset >= s->bytes)
		n = 0;
	else if (n > s->bytes - offset)
		n = (size_t)(s->bytes - offset);
	if (i < s->chunks)
		from = s->chunk[i];
	pthread_mutex_unlock(&s->lock);
	if (from)
		memcpy(buf, from + offset % CHUNK, n);
	else
		memset(buf, 0, n);
	return n;
}

static int write_piece(emi_memory_store *s, const char *buf, size_t n, uint64_t offset)
{
	uint64_t i = offset / CHUNK;
	char *to = NULL;

	pthread_mutex_lock(&s->lock);
	if (reach(s, i) == 0) {
		if (!s->chunk[i])
			s->chunk[i] = calloc(1, CHUNK);
		to = s->chunk[i];
	}
	if (to && s->bytes < offset + n)
		s->bytes = offset + n;
	pthread_mutex_unlock(&s->lock);
	if (!to)
		return ENOSPC;
	memcpy(to + offset % CHUNK, buf, n);
	return 0;
}

int64_t emi_memory_store_read(emi_memory_store *s, void *buf, size_t bytes, uint64_t offset)
{
	size_t done = 0, n;

	while (done < bytes) {
		n = read_piece(s, (char *)buf + done, piece(offset + done, bytes - done), offset + done);
		if (n == 0)
			break;
		done += n;
	}
	return (int64_t)done;
}

int64_t emi_memory_store_write(emi_memory_store *s, const void *buf, size_t bytes, uint64_t offset)
{
	size_t done = 0, n;

	for (; done < bytes; done += n) {
		n = piece(offset + done, bytes - done);
		if (write_piece(s, (const char *)buf + done, n, offset + done) != 0)
			return done > 0 ? (int64_t)done : -ENOSPC;
	}
	return (int64_t)done;
}
