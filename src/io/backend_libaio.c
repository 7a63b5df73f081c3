/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_libaio.c -- Linux asynchronous input and output.
 *
 * Files are those of the syscall backend; transfers of direct ones are submitted to a kernel context.
 * Those of buffered files are not: the kernel would make them inside io_submit().
 *
 * A kernel context is cheap to make and takes tens of milliseconds to destroy (the kernel waits for a grace period),
 * so it is made only when ASYNC_FROM bytes were moved.
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
#include <time.h>

enum { BATCH = 16 };

#define ASYNC_FROM ((uint64_t)16 << 20)

typedef struct aio_channel {
	io_context_t aio;
	uint32_t handed;        /* batches submitted; atomic: what submit wrote, reap may read */
} aio_channel;

static int aio_open(void *user, em_backend_open *how)
{
	int e = emi_backend_syscall.open(user, how);

	if (e == 0) {
		how->async = how->direct;
		how->async_from = ASYNC_FROM;
	}
	return e;
}

static int aio_open_channel(void *user, uint32_t depth, void **channel)
{
	aio_channel *c = calloc(1, sizeof *c);
	int e;

	(void)user;
	if (!c)
		return ENOMEM;
	e = io_setup((int)depth, &c->aio);
	if (e != 0) {
		free(c);
		return -e;
	}
	*channel = c;
	return 0;
}

static void aio_close_channel(void *channel, int forked)
{
	aio_channel *c = channel;

	/* A child does not have the context. */
	if (!forked)
		io_destroy(c->aio);
	free(c);
}

static int aio_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	aio_channel *c = channel;
	struct iocb cb[BATCH], *each[BATCH];
	uint32_t i;

	if (n > BATCH)
		n = BATCH;
	for (i = 0; i < n; i++) {
		em_transfer *t = list[i];
		int fd = emi_backend_syscall.fd(t->handle);

		if (t->write)
			io_prep_pwrite(&cb[i], fd, t->buf, t->bytes, (long long)t->offset);
		else
			io_prep_pread(&cb[i], fd, t->buf, t->bytes, (long long)t->offset);
		cb[i].data = t;
		each[i] = &cb[i];
	}
	/* The kernel orders the two threads; this says so to those who only see the program. */
	__atomic_fetch_add(&c->handed, 1, __ATOMIC_RELEASE);
	return io_submit(c->aio, (long)n, each);
}

static int aio_reap(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	aio_channel *c = channel;
	struct io_event event[BATCH];
	struct timespec t, *timeout = NULL;
	int i, n;

	if (timeout_ns >= 0) {
		t.tv_sec = (time_t)(timeout_ns / 1000000000);
		t.tv_nsec = (long)(timeout_ns % 1000000000);
		timeout = &t;
	}
	n = io_getevents(c->aio, timeout_ns != 0, max < BATCH ? (long)max : BATCH, event, timeout);
	(void)__atomic_load_n(&c->handed, __ATOMIC_ACQUIRE);
	for (i = 0; i < n; i++) {
		list[i] = event[i].data;
		/* The kernel's result is a signed number in an unsigned field as wide as a pointer. */
		list[i]->result = (int64_t)(intptr_t)event[i].res;
	}
	return n;
}

static em_backend libaio;

/* All but the channel is the syscall backend's, handles too. */
static void make_table(void)
{
	libaio = emi_backend_syscall;
	libaio.name = "libaio";
	libaio.open = aio_open;
	libaio.submit = aio_submit;
	libaio.reap = aio_reap;
	libaio.open_channel = aio_open_channel;
	libaio.close_channel = aio_close_channel;
}

const em_backend *emi_backend_libaio(const char **why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	io_context_t none = NULL;

	/* A kernel that knows the call finds nothing wrong with it but the number of events. */
	if (io_setup(0, &none) != -EINVAL) {
		*why = "the kernel has no io_setup(), or refuses it";
		return NULL;
	}
	pthread_once(&once, make_table);
	return &libaio;
}

#else

const em_backend *emi_backend_libaio(const char **why)
{
	*why = "it is not built in";
	return NULL;
}

#endif
