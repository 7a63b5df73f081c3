/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_mmap.c -- transfers are copies from and to mapped parts of the file.
 *
 * A part is mapped only while it is copied, at most PIECE bytes at once.  So the pages that are resident for a file are
 * those that are being copied, whatever its size and whatever was copied before.
 *
 * A process that touches a mapped page which cannot be had gets SIGBUS, for the reasons that make read() and write()
 * fail: the file ends before it, the disk is full, the device is broken.  So before bytes are copied,
 *  - the size is asked for: somebody else may have made the file shorter.  This process makes it shorter only while
 *    nobody copies;
 *  - space is allocated for a write, which makes the file as long as the write would have made it;
 *  - the pages are faulted in by madvise(), which can fail where touching them cannot (Linux 5.14 and later).
 * What cannot be prepared is left to read() and write(): they say what is wrong, or do it, as on file
 * systems that cannot allocate.  Left is what happens between that and the copying, a moment later: another process
 * makes the file shorter, or a page is dropped and its device breaks.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/backend.h"

#ifdef __linux__
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#endif

/* Small enough not to be noticed, and large enough for mapping it to cost little beside copying it. */
#define PIECE ((size_t)1 << 18)

typedef struct map_file {
	emi_base base;          /* first: see backend.h */
	int allocates;          /* space must be allocated: not on a device */
	pthread_rwlock_t size;  /* held shared while copying, alone when the file is made shorter */
} map_file;

/* Whole pages that are mapped. */
typedef struct piece {
	char *at;
	size_t bytes;
	size_t first;           /* where what was asked for begins */
} piece;

/* Can these pages be touched? */
static int fault_in(const piece *p, int writing)
{
#ifdef __linux__
	if (madvise(p->at, p->bytes, writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 1;
	/* An older kernel does not know the advice. */
	return errno == EINVAL;
#else
	(void)p;
	(void)writing;
	return 1;
#endif
}

static void unmap(const piece *p)
{
	(void)munmap(p->at, p->bytes);
}

/* Map the pages of n bytes from offset on; 0 when that is not possible. */
static int map(map_file *f, uint64_t offset, size_t n, int writing, piece *p)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at;

	p->first = (size_t)(offset % page);
	p->bytes = (p->first + n + page - 1) / page * page;
	at = mmap(NULL, p->bytes, writing ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, emi_base_fd(f),
		  (off_t)(offset - p->first));
	if (at == MAP_FAILED)
		return 0;
	p->at = at;
	if (fault_in(p, writing))
		return 1;
	unmap(p);
	return 0;
}

/* Map up to bytes from offset on: how many of them can be copied.  0: none, at the file's end or for a reason that
 * read() or write() knows. */
static size_t reach(map_file *f, uint64_t offset, size_t bytes, int writing, piece *p)
{
	uint64_t size;

	if (emi_base_get_size(f, &size) != 0 || offset >= size)
		return 0;
	if (bytes > size - offset)
		bytes = (size_t)(size - offset);
	/* Pieces end at multiples of their size, so that no page is mapped for two of them. */
	if (bytes > PIECE - offset % PIECE)
		bytes = (size_t)(PIECE - offset % PIECE);
	return map(f, offset, bytes, writing, p) ? bytes : 0;
}

static int64_t map_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	map_file *f = handle;
	size_t done = 0, n;
	piece p;

	pthread_rwlock_rdlock(&f->size);
	while (done < bytes && (n = reach(f, offset + done, bytes - done, 0, &p)) > 0) {
		memcpy((char *)buf + done, p.at + p.first, n);
		unmap(&p);
		done += n;
	}
	pthread_rwlock_unlock(&f->size);
	return done > 0 ? (int64_t)done : emi_backend_syscall.read(f->base.handle, buf, bytes, offset);
}

/* Is there space, now, for everything that is to be written? */
static int has_room(map_file *f, uint64_t offset, size_t bytes)
{
	return f->base.writable && (!f->allocates || emi_base_reserve(f, offset, bytes) == 0);
}

static int64_t map_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	map_file *f = handle;
	size_t done = 0, n;
	piece p;

	pthread_rwlock_rdlock(&f->size);
	if (has_room(f, offset, bytes))
		while (done < bytes && (n = reach(f, offset + done, bytes - done, 1, &p)) > 0) {
			memcpy(p.at + p.first, (const char *)buf + done, n);
			unmap(&p);
			done += n;
		}
	pthread_rwlock_unlock(&f->size);
	return done > 0 ? (int64_t)done : emi_backend_syscall.write(f->base.handle, buf, bytes, offset);
}

static int map_set_size(void *handle, uint64_t bytes)
{
	map_file *f = handle;
	int e;

	pthread_rwlock_wrlock(&f->size);
	e = emi_base_set_size(f, bytes);
	pthread_rwlock_unlock(&f->size);
	return e;
}

static int start(void *handle)
{
	map_file *f = handle;
	struct stat st;

	f->allocates = fstat(emi_base_fd(f), &st) != 0 || !S_ISBLK(st.st_mode);
	return pthread_rwlock_init(&f->size, NULL);
}

static int map_open(void *user, em_backend_open *how)
{
	(void)user;
	return emi_base_open(how, sizeof(map_file), "mapped files are in the page cache", start);
}

static void map_close(void *handle, int forked)
{
	map_file *f = handle;

	if (!forked)
		pthread_rwlock_destroy(&f->size);
	emi_backend_syscall.close(f->base.handle, forked);
	free(f);
}

const em_backend emi_backend_mmap = {
	.size = sizeof(em_backend),
	.name = "mmap",
	.open = map_open,
	.close = map_close,
	.get_size = emi_base_get_size,
	.set_size = map_set_size,
	.reserve = emi_base_reserve,
	.fd = emi_base_fd,
	.read = map_read,
	.write = map_write,
	.discard = emi_base_discard,
	.sync = emi_base_sync,
};
