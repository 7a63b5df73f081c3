/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_mmap.c -- transfers are copies from and to mapped parts of the file.
 *
 * A file keeps a few windows mapped: parts of WINDOW bytes that begin at multiples of that, whatever the file's
 * size, so that they need not follow it.  A thread that copies holds its window; the one not used for longest makes
 * way for another.
 *
 * A process that touches a mapped page which cannot be had gets SIGBUS, for the reasons that make read() and write() fail:
 * the file ends before it, the disk is full, the device is broken.  So before bytes are copied,
 *  - the size is asked for: somebody else may have made the file shorter.  This process makes it shorter only while nobody copies;
 *  - space is allocated for a write, which makes the file as long as the write would have made it;
 *  - the pages are faulted in by madvise(), which can fail where touching them cannot (Linux 5.14 and later).
 * What cannot be prepared is left to read() and write(): they say what is wrong, or do it, as on file
 * systems that cannot allocate.  Left is what happens between that and the copying, a moment later: another process makes
 * the file shorter, or a page is dropped and its device breaks.
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

/* Addresses are scarce where pointers are short. */
#define WINDOW (sizeof(void *) > 4 ? (size_t)1 << 24 : (size_t)1 << 20)

enum { WINDOWS = 4 };

typedef struct window {
	char *at;               /* NULL: not mapped */
	uint64_t index;         /* maps from index * WINDOW on */
	uint64_t used;          /* when, in turns */
	uint32_t users;         /* threads that copy */
} window;

typedef struct map_file {
	emi_base base;          /* first: see backend.h */
	int allocates;          /* space must be allocated: not on a device */
	pthread_rwlock_t size;  /* held shared while copying, alone when the file is made shorter */
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t idle;    /* a window has no user */
	window window[WINDOWS];
	uint64_t turn;
} map_file;

static void unmap(window *w)
{
	if (w->at)
		(void)munmap(w->at, WINDOW);
	w->at = NULL;
}

/* Map another part; 0 when that is not possible. */
static int map(map_file *f, window *w, uint64_t index)
{
	int prot = f->base.writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *at;

	unmap(w);
	at = mmap(NULL, WINDOW, prot, MAP_SHARED, emi_base_fd(f), (off_t)(index * WINDOW));
	if (at == MAP_FAILED)
		return 0;
	w->at = at;
	w->index = index;
	return 1;
}

/* The window that maps this part, or else the one to replace, or NULL when all are in use. */
static window *choose(map_file *f, uint64_t index)
{
	window *best = NULL, *w;

	for (w = f->window; w < f->window + WINDOWS; w++) {
		if (w->at && w->index == index)
			return w;
		if (w->users == 0 && (!best || !w->at || (best->at && w->used < best->used)))
			best = w;
	}
	return best;
}

/* Take hold of the window that maps this part; NULL when it cannot be mapped. */
static window *take(map_file *f, uint64_t index)
{
	window *w;

	pthread_mutex_lock(&f->lock);
	while (!(w = choose(f, index)))
		pthread_cond_wait(&f->idle, &f->lock);
	if ((w->at && w->index == index) || map(f, w, index)) {
		w->users++;
		w->used = ++f->turn;
	} else {
		w = NULL;
	}
	pthread_mutex_unlock(&f->lock);
	return w;
}

static void give_back(map_file *f, window *w)
{
	pthread_mutex_lock(&f->lock);
	if (--w->users == 0)
		pthread_cond_broadcast(&f->idle);
	pthread_mutex_unlock(&f->lock);
}

/* Can these bytes be touched? */
static int fault_in(char *at, size_t bytes, int writing)
{
#ifdef __linux__
	size_t page = (size_t)sysconf(_SC_PAGESIZE), ahead = (uintptr_t)at % page;
	size_t n = (ahead + bytes + page - 1) / page * page;

	if (madvise(at - ahead, n, writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 1;
	/* An older kernel does not know the advice. */
	return errno == EINVAL;
#else
	(void)at;
	(void)bytes;
	(void)writing;
	return 1;
#endif
}

/* Make up to bytes from offset on accessible, at *at in window *w: how many of them are.  0: none, at the file's
 * end or for a reason that read() or write() knows. */
static size_t reach(map_file *f, uint64_t offset, size_t bytes, int writing, window **w, char **at)
{
	size_t first = (size_t)(offset % WINDOW);
	uint64_t size;

	if (emi_base_get_size(f, &size) != 0 || offset >= size)
		return 0;
	if (bytes > size - offset)
		bytes = (size_t)(size - offset);
	if (bytes > WINDOW - first)
		bytes = WINDOW - first;
	*w = take(f, offset / WINDOW);
	if (!*w)
		return 0;
	*at = (*w)->at + first;
	if (fault_in(*at, bytes, writing))
		return bytes;
	give_back(f, *w);
	return 0;
}

static int64_t map_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	map_file *f = handle;
	size_t done = 0, n;
	window *w;
	char *at;

	pthread_rwlock_rdlock(&f->size);
	while (done < bytes && (n = reach(f, offset + done, bytes - done, 0, &w, &at)) > 0) {
		memcpy((char *)buf + done, at, n);
		give_back(f, w);
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
	window *w;
	char *at;

	pthread_rwlock_rdlock(&f->size);
	if (has_room(f, offset, bytes))
		while (done < bytes && (n = reach(f, offset + done, bytes - done, 1, &w, &at)) > 0) {
			memcpy(at, (const char *)buf + done, n);
			give_back(f, w);
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

static int make_locks(map_file *f)
{
	int e = pthread_rwlock_init(&f->size, NULL);

	if (e != 0)
		return e;
	e = pthread_mutex_init(&f->lock, NULL);
	if (e != 0)
		goto no_lock;
	e = pthread_cond_init(&f->idle, NULL);
	if (e == 0)
		return 0;
	pthread_mutex_destroy(&f->lock);
no_lock:
	pthread_rwlock_destroy(&f->size);
	return e;
}

static int start(void *handle)
{
	map_file *f = handle;
	struct stat st;

	f->allocates = fstat(emi_base_fd(f), &st) != 0 || !S_ISBLK(st.st_mode);
	return make_locks(f);
}

static int map_open(void *user, em_backend_open *how)
{
	(void)user;
	return emi_base_open(how, sizeof(map_file), "mapped files are in the page cache", start);
}

static void map_close(void *handle, int forked)
{
	map_file *f = handle;
	window *w;

	for (w = f->window; w < f->window + WINDOWS; w++)
		unmap(w);
	if (!forked) {
		pthread_cond_destroy(&f->idle);
		pthread_mutex_destroy(&f->lock);
		pthread_rwlock_destroy(&f->size);
	}
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
