/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_simdisk.c -- files in memory that take as long as on a disk.
 *
 * A transfer first asks the model of its disk when it will be complete, then copies its bytes, then sleeps until that
 * time.  So copying costs nothing extra, and as the model knows what is still to be done, several threads may sleep on
 * one disk while it never stands idle between their requests: what a thread wakes up late does not add up.  The lock of
 * a disk is held for the model only, as the first thing of a transfer, so that requests queue up in the order in which
 * they come.
 *
 * As with the memory backend only temporary files are simulated; those with a name are the syscall backend's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "io/backend.h"
#include "io/disk_model.h"
#include "io/memory_store.h"

/* Threads of a file: enough that one always has the next request in hand. */
enum { SLEEPERS = 4 };

typedef struct sim_file {
	void *named;            /* the syscall backend's handle; NULL: simulated */
	emi_store store;
	em_simdisk *disk;       /* whose counters it has; NULL: nobody's */
	pthread_mutex_t lock;   /* guards state */
	emi_disk_state state;
	emi_disk_model model;
} sim_file;

static uint64_t now_ns(void)
{
	struct timespec t = {0, 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t;

	t.tv_sec = (time_t)(ns / 1000000000u);
	t.tv_nsec = (long)(ns % 1000000000u);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

static void count(em_simdisk *d, const emi_disk_service *r, uint64_t bytes)
{
	if (!d)
		return;
	__atomic_fetch_add(&d->requests, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&d->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&d->seeks, (uint64_t)(r->positioned != 0), __ATOMIC_RELAXED);
	__atomic_fetch_add(&d->busy_ns, r->seek_ns + r->turn_ns + r->transfer_ns, __ATOMIC_RELAXED);
}

/* Have the disk serve a request; when it will be done. */
static uint64_t serve(sim_file *f, uint64_t offset, uint64_t bytes, int write)
{
	emi_disk_service r;

	pthread_mutex_lock(&f->lock);
	r = emi_disk_serve(&f->model, &f->state, now_ns(), offset, bytes, write);
	pthread_mutex_unlock(&f->lock);
	count(f->disk, &r, bytes);
	return r.done_ns;
}

/* The parameters are read here; the built-in backend has the default ones. */
static int make_model(emi_disk_model *m, const em_simdisk *disk)
{
	em_simdisk plain;

	if (!disk) {
		if (em_simdisk_init(&plain, NULL, NULL) != EM_OK)
			return EINVAL;
		disk = &plain;
	}
	if (em_simdisk_check(disk, NULL) != EM_OK || emi_disk_model_make(m, disk, NULL) != EM_OK)
		return EINVAL;
	return 0;
}

static int make_disk(sim_file *f, em_simdisk *disk)
{
	int e = make_model(&f->model, disk);

	if (e != 0)
		return e;
	f->disk = disk;
	e = emi_store_init(&f->store);
	if (e != 0)
		return e;
	e = pthread_mutex_init(&f->lock, NULL);
	if (e != 0)
		emi_store_free(&f->store, 0);
	return e;
}

static int sim_open(void *user, em_backend_open *how)
{
	sim_file *f;
	int e;

	if (how->flags & EM_OPEN_TEMP)
		how->reason = "it is simulated in memory";
	if ((how->flags & EM_OPEN_TEMP) && how->want_direct == EM_DIRECT_ON)
		return EOPNOTSUPP;
	f = calloc(1, sizeof *f);
	if (!f)
		return ENOMEM;
	if (how->flags & EM_OPEN_TEMP) {
		e = make_disk(f, user);
	} else {
		e = emi_backend_syscall.open(NULL, how);
		f->named = how->handle;
	}
	if (e != 0) {
		free(f);
		return e;
	}
	how->handle = f;
	return 0;
}

static void sim_close(void *handle, int forked)
{
	sim_file *f = handle;

	if (f->named) {
		emi_backend_syscall.close(f->named, forked);
	} else {
		emi_store_free(&f->store, forked);
		if (!forked)
			pthread_mutex_destroy(&f->lock);
	}
	free(f);
}

static int sim_get_size(void *handle, uint64_t *bytes)
{
	sim_file *f = handle;

	if (f->named)
		return emi_backend_syscall.get_size(f->named, bytes);
	*bytes = emi_store_size(&f->store);
	return 0;
}

static int beyond(const sim_file *f, uint64_t offset, uint64_t bytes)
{
	return offset > f->model.capacity || bytes > f->model.capacity - offset;
}

static int sim_set_size(void *handle, uint64_t bytes)
{
	sim_file *f = handle;

	if (f->named)
		return emi_backend_syscall.set_size(f->named, bytes);
	return beyond(f, 0, bytes) ? ENOSPC : emi_store_resize(&f->store, bytes);
}

static int sim_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	sim_file *f = handle;

	if (f->named)
		return emi_backend_syscall.reserve(f->named, offset, bytes);
	return beyond(f, offset, bytes) ? ENOSPC : emi_store_reserve(&f->store, offset, bytes);
}

static int sim_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	sim_file *f = handle;

	if (f->named)
		return emi_backend_syscall.discard(f->named, offset, bytes);
	return emi_store_discard(&f->store, offset, bytes);
}

static int sim_fd(void *handle)
{
	sim_file *f = handle;

	return f->named ? emi_backend_syscall.fd(f->named) : -1;
}

/* How many bytes there are to read. */
static size_t present(sim_file *f, size_t bytes, uint64_t offset)
{
	uint64_t size = emi_store_size(&f->store);

	if (offset >= size)
		return 0;
	return bytes < size - offset ? bytes : (size_t)(size - offset);
}

static int64_t sim_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	sim_file *f = handle;
	uint64_t done;
	int64_t n;

	if (f->named)
		return emi_backend_syscall.read(f->named, buf, bytes, offset);
	bytes = present(f, bytes, offset);
	if (bytes == 0)
		return 0;
	done = serve(f, offset, bytes, 0);
	n = emi_store_read(&f->store, buf, bytes, offset);
	sleep_until(done);
	return n;
}

static int64_t sim_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	sim_file *f = handle;
	uint64_t done;
	int64_t n;

	if (f->named)
		return emi_backend_syscall.write(f->named, buf, bytes, offset);
	if (beyond(f, offset, bytes))
		return -ENOSPC;
	done = serve(f, offset, bytes, 1);
	n = emi_store_write(&f->store, buf, bytes, offset);
	sleep_until(done);
	return n;
}

/* Fields are named so that the table does not change when functions that it lacks are added. */
const em_backend emi_backend_simdisk = {
	.size = sizeof(em_backend),
	.threads = SLEEPERS,
	.name = "simdisk",
	.open = sim_open,
	.close = sim_close,
	.get_size = sim_get_size,
	.set_size = sim_set_size,
	.reserve = sim_reserve,
	.fd = sim_fd,
	.read = sim_read,
	.write = sim_write,
	.discard = sim_discard,
};
