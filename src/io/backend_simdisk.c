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

#include "io/disk_model.h"
#include "io/ram_file.h"

/* Threads of a file: enough that one always has the next request in hand. */
enum { SLEEPERS = 4 };

typedef struct sim_file {
	emi_ram ram;            /* where the bytes are; what follows is only for temporary files */
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
		if (em_simdisk_init(&plain, sizeof plain, NULL, NULL) != EM_OK)
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

	f->disk = disk;
	return e != 0 ? e : pthread_mutex_init(&f->lock, NULL);
}

static int sim_open(void *user, em_backend_open *how)
{
	sim_file *f = calloc(1, sizeof *f);
	int e;

	if (!f)
		return ENOMEM;
	e = emi_ram_open(&f->ram, how, "it is simulated in memory");
	if (e != 0)
		goto no_file;
	e = f->ram.named ? 0 : make_disk(f, user);
	if (e != 0)
		goto no_disk;
	how->handle = f;
	return 0;
no_disk:
	emi_ram_release(&f->ram, 0);
no_file:
	free(f);
	return e;
}

static void sim_close(void *handle, int forked)
{
	sim_file *f = handle;

	if (!f->ram.named && !forked)
		pthread_mutex_destroy(&f->lock);
	emi_ram_release(&f->ram, forked);
	free(f);
}

/* A simulated disk has an end. */
static int beyond(const sim_file *f, uint64_t offset, uint64_t bytes)
{
	return !f->ram.named && (offset > f->model.capacity || bytes > f->model.capacity - offset);
}

static int sim_set_size(void *handle, uint64_t bytes)
{
	return beyond(handle, 0, bytes) ? ENOSPC : emi_ram_set_size(handle, bytes);
}

static int sim_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	return beyond(handle, offset, bytes) ? ENOSPC : emi_ram_reserve(handle, offset, bytes);
}

/* How many bytes there are to read. */
static size_t present(sim_file *f, size_t bytes, uint64_t offset)
{
	uint64_t size = emi_memory_store_size(&f->ram.store);

	if (offset >= size)
		return 0;
	return bytes < size - offset ? bytes : (size_t)(size - offset);
}

static int64_t sim_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	sim_file *f = handle;
	uint64_t done;
	int64_t n;

	if (f->ram.named)
		return emi_ram_read(f, buf, bytes, offset);
	bytes = present(f, bytes, offset);
	if (bytes == 0)
		return 0;
	done = serve(f, offset, bytes, 0);
	n = emi_ram_read(f, buf, bytes, offset);
	sleep_until(done);
	return n;
}

static int64_t sim_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	sim_file *f = handle;
	uint64_t done;
	int64_t n;

	if (f->ram.named)
		return emi_ram_write(f, buf, bytes, offset);
	if (beyond(f, offset, bytes))
		return -ENOSPC;
	done = serve(f, offset, bytes, 1);
	n = emi_ram_write(f, buf, bytes, offset);
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
	.get_size = emi_ram_get_size,
	.set_size = sim_set_size,
	.reserve = sim_reserve,
	.fd = emi_ram_fd,
	.read = sim_read,
	.write = sim_write,
	.discard = emi_ram_discard,
	.sync = emi_ram_sync,
};
