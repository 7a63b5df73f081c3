/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_libaio.c -- Linux asynchronous input and output.
 *
 * Files are those of the syscall backend; direct ones also get a kernel context to which transfers are submitted.
 * Buffered files do not: for them the kernel would make the transfer inside io_submit().
 *
 * A kernel context is cheap to make and takes tens of milliseconds to destroy (the kernel waits for a grace period),
 * so it is made only when a file has moved ASYNC_FROM bytes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "io/backend.h"

#ifdef HAVE_LIBAIO

#include <errno.h>
#include <libaio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 16 };

#define ASYNC_FROM ((uint64_t)16 << 20)

typedef struct aio_file {
	void *base;             /* the syscall backend's handle */
	uint32_t depth;
	int made;               /* aio is there; atomic, set under lock */
	uint32_t handed;        /* batches submitted; atomic: what submit wrote, reap may read */
	io_context_t aio;
	pthread_mutex_t lock;
} aio_file;

static void *base_of(void *handle)
{
	return ((aio_file *)handle)->base;
}

static int aio_open(void *user, em_backend_open *how)
{
	aio_file *f = calloc(1, sizeof *f);
	int e;

	if (!f)
		return ENOMEM;
	e = emi_backend_syscall.open(user, how);
	if (e != 0) {
		free(f);
		return e;
	}
	f->base = how->handle;
	f->depth = how->depth;
	pthread_mutex_init(&f->lock, NULL);
	how->handle = f;
	how->async = how->direct;
	how->async_from = ASYNC_FROM;
	return 0;
}

static void aio_close(void *handle, int forked)
{
	aio_file *f = handle;

	/* A child does not have the context. */
	if (!forked) {
		if (f->made)
			io_destroy(f->aio);
		pthread_mutex_destroy(&f->lock);
	}
	emi_backend_syscall.close(f->base, forked);
	free(f);
}

static int aio_get_size(void *handle, uint64_t *bytes)
{
	return emi_backend_syscall.get_size(base_of(handle), bytes);
}

static int aio_set_size(void *handle, uint64_t bytes)
{
	return emi_backend_syscall.set_size(base_of(handle), bytes);
}

static int aio_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	return emi_backend_syscall.reserve(base_of(handle), offset, bytes);
}

static int aio_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	return emi_backend_syscall.discard(base_of(handle), offset, bytes);
}

static int aio_fd(void *handle)
{
	return emi_backend_syscall.fd(base_of(handle));
}

static int64_t aio_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	return emi_backend_syscall.read(base_of(handle), buf, bytes, offset);
}

static int64_t aio_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	return emi_backend_syscall.write(base_of(handle), buf, bytes, offset);
}

/* Make the kernel context when it is first needed: 0, or a negative errno that never means "try again". */
static int make_context(aio_file *f)
{
	int e = 0;

	if (__atomic_load_n(&f->made, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&f->lock);
	if (!f->made) {
		e = io_setup((int)f->depth, &f->aio);
		if (e == 0)
			__atomic_store_n(&f->made, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&f->lock);
	return e == 0 ? 0 : -ENOSYS;
}

static int aio_submit(void *handle, em_transfer *const *list, uint32_t n)
{
	aio_file *f = handle;
	struct iocb cb[BATCH], *each[BATCH];
	int fd = aio_fd(handle), e = make_context(f);
	uint32_t i;

	if (e != 0)
		return e;
	if (n > BATCH)
		n = BATCH;
	for (i = 0; i < n; i++) {
		em_transfer *t = list[i];

		if (t->write)
			io_prep_pwrite(&cb[i], fd, t->buf, t->bytes, (long long)t->offset);
		else
			io_prep_pread(&cb[i], fd, t->buf, t->bytes, (long long)t->offset);
		cb[i].data = t;
		each[i] = &cb[i];
	}
	/* The kernel orders the two threads; this says so to those who only see the program. */
	__atomic_fetch_add(&f->handed, 1, __ATOMIC_RELEASE);
	return io_submit(f->aio, (long)n, each);
}

static int aio_reap(void *handle, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	aio_file *f = handle;
	struct io_event event[BATCH];
	struct timespec t, *timeout = NULL;
	int i, n;

	/* A file that has not submitted anything has nothing to reap. */
	if (!__atomic_load_n(&f->made, __ATOMIC_ACQUIRE))
		return 0;
	if (timeout_ns >= 0) {
		t.tv_sec = (time_t)(timeout_ns / 1000000000);
		t.tv_nsec = (long)(timeout_ns % 1000000000);
		timeout = &t;
	}
	n = io_getevents(f->aio, timeout_ns != 0, max < BATCH ? (long)max : BATCH, event, timeout);
	(void)__atomic_load_n(&f->handed, __ATOMIC_ACQUIRE);
	for (i = 0; i < n; i++) {
		list[i] = event[i].data;
		/* The kernel's result is a signed number in an unsigned field as wide as a pointer. */
		list[i]->result = (int64_t)(intptr_t)event[i].res;
	}
	return n;
}

static const em_backend libaio = {
	sizeof(em_backend), 0, 0, 0, "libaio", NULL,
	aio_open, aio_close, aio_get_size, aio_set_size, aio_reserve, aio_fd, aio_read, aio_write, aio_submit, aio_reap,
	aio_discard,
};

const em_backend *emi_backend_libaio(const char **why)
{
	io_context_t none = NULL;

	/* A kernel that knows the call finds nothing wrong with it but the number of events. */
	if (io_setup(0, &none) == -EINVAL)
		return &libaio;
	*why = "the kernel has no io_setup(), or refuses it";
	return NULL;
}

#else

const em_backend *emi_backend_libaio(const char **why)
{
	*why = "it is not built in";
	return NULL;
}

#endif
