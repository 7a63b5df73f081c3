/* SPDX-License-Identifier: BSL-1.0 */
/*
 * memory_store.h -- the bytes of a file that is kept in memory.
 *
 * What backends that keep temporary files in memory share.  Functions return what those of a backend do: 0 or a
 * positive errno, read and write the bytes moved or a negative one.  They may be called by several threads at a time,
 * but for the first and the last.
 */
#ifndef EMI_MEMORY_STORE_H
#define EMI_MEMORY_STORE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct emi_memory_store {
	pthread_mutex_t lock;
	uint64_t bytes;         /* the size */
	char **chunk;
	size_t chunks;          /* entries of the table */
} emi_memory_store;

/* An empty one; and release it.  forked: in a child, where the lock may be held by a thread that is no more. */
int emi_memory_store_init(emi_memory_store *s);
void emi_memory_store_free(emi_memory_store *s, int forked);

uint64_t emi_memory_store_size(emi_memory_store *s);

/* Set the size; what is added reads as zeros. */
int emi_memory_store_resize(emi_memory_store *s, uint64_t bytes);

/* Have it reach the end of [offset, offset + bytes) at least. */
int emi_memory_store_reserve(emi_memory_store *s, uint64_t offset, uint64_t bytes);

/* Free what memory lies wholly in [offset, offset + bytes), which is not read again before it is written. */
int emi_memory_store_discard(emi_memory_store *s, uint64_t offset, uint64_t bytes);

/* A read is short at the end; ENOSPC when there is no more memory. */
int64_t emi_memory_store_read(emi_memory_store *s, void *buf, size_t bytes, uint64_t offset);
int64_t emi_memory_store_write(emi_memory_store *s, const void *buf, size_t bytes, uint64_t offset);

#endif
