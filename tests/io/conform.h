/* SPDX-License-Identifier: BSL-1.0 */
/*
 * conform.h -- every kind of file that every backend can open: what the conformance tests run over.
 *
 * A case is a backend, a wish for direct transfers, and a kind of file.  conform_each() makes them all from the list of
 * the backends that work here, so a new backend is in the suite once it is in that list.  A combination is left out
 * only where the backend says that it cannot have it, and gives the reason that it has to give.
 *
 * The functions call the backend's own, and do what the library would: go on after short and interrupted transfers.
 */
#ifndef EM_CONFORM_H
#define EM_CONFORM_H

#include <extmem/sys/backend.h>

#include "io/io_test.h"

typedef enum conform_kind { CONFORM_NAMED, CONFORM_TEMP, CONFORM_LINKABLE, CONFORM_KINDS } conform_kind;

/* One case with its file open. */
typedef struct conform_case {
	const em_backend *be;
	int32_t want_direct;
	conform_kind kind;
	const char *dir;
	char *path;             /* the file's, where it has a name, else what was opened */
	char name[80];          /* of the case, for people */
	void *handle;
	int direct;
} conform_case;

typedef void (*conform_fn)(conform_case *c);

/* Run fn over every backend, and over every case, with a new empty file in dir each time; dir is empty again
 * afterwards. */
void conform_each_backend(const char *dir, void (*fn)(const em_backend *be, const char *dir));
void conform_each(const char *dir, conform_fn fn);

/* conform_each() in a directory that is there only for that. */
void conform_in_new_dir(conform_fn fn);

/* A case for a file that is there, opened with EM_OPEN_... flags: 1, or 0 where direct transfers are wished for and
 * cannot be had. */
int conform_open(conform_case *c, const em_backend *be, int32_t want_direct, const char *path, uint32_t flags);
void conform_close(conform_case *c);

/* Units of offsets and sizes: 4096 where transfers are direct, else 1. */
size_t conform_unit(const conform_case *c);

/* Is the file in the file system? */
int conform_is_real(const conform_case *c);

/* Transfer until everything or the end is reached: the bytes moved, or a negative errno when there were none. */
int64_t conform_read(conform_case *c, void *buf, size_t bytes, uint64_t offset);
int64_t conform_write(conform_case *c, const void *buf, size_t bytes, uint64_t offset);

/* The others, again after EINTR: 0 or an errno. */
uint64_t conform_size(conform_case *c);
int conform_resize(conform_case *c, uint64_t bytes);
int conform_reserve(conform_case *c, uint64_t offset, uint64_t bytes);
int conform_discard(conform_case *c, uint64_t offset, uint64_t bytes);

/* A buffer for direct transfers, for free(); and bytes that tell from which transfer they are, and where in it. */
unsigned char *conform_buffer(size_t bytes);
void conform_scribble(test_rng *rng, unsigned char *p, size_t bytes);

#endif
