/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload_async.c -- the same for libaio and io_uring; see preload.c.
 *
 * Transfers are counted and made shorter when they are handed over.  Failures of libaio are told when its results are
 * collected; those of io_uring come through shared memory, so there the descriptor is made a wrong one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef HAVE_LIBAIO
#include <libaio.h>
#endif
#ifdef HAVE_LINUX_IO_URING_H
#include <linux/io_uring.h>
#endif

#include "cli/preload_core.h"

#ifdef HAVE_LINUX_IO_URING_H

/* The one ring whose transfers are looked at: the one made last. */
static struct ring {
	int fd;
	struct io_uring_params params;
	unsigned char *rings;
	struct io_uring_sqe *entries;
} ring;
static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;

void preload_note_ring(int fd, off_t what, void *at)
{
	pthread_mutex_lock(&ring_lock);
	if (fd == ring.fd && at != MAP_FAILED && what == (off_t)IORING_OFF_SQ_RING)
		ring.rings = at;
	else if (fd == ring.fd && at != MAP_FAILED && what == (off_t)IORING_OFF_SQES)
		ring.entries = at;
	pthread_mutex_unlock(&ring_lock);
}

#else

void preload_note_ring(int fd, off_t what, void *at)
{
	(void)fd;
	(void)what;
	(void)at;
}

#endif

#if defined(HAVE_LIBAIO) || defined(HAVE_LINUX_IO_URING_H)
/* What a direct transfer moves that is to be short, or to move nothing; a page cannot be halved. */
static size_t less(int how, size_t bytes)
{
	const size_t half = bytes / 2 / PRELOAD_PAGE * PRELOAD_PAGE;

	return how == PRELOAD_ZERO ? 0 : half ? half : bytes;
}
#endif

#ifdef HAVE_LIBAIO

/* The kernel's answer is negative, and errno is none of its business. */
int io_setup(int depth, io_context_t *out)
{
	static int (*next)(int, io_context_t *);
	const int how = preload_fate("io_setup", NO_FD, HERE);

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "io_setup");
	return how > 0 ? -how : next(depth, out);
}

/* Transfers that are to fail, by what the command knows them by: they are made, and then said to have failed. */
static struct {
	void *data;
	int error;
} doomed[64];
static pthread_mutex_t doomed_lock = PTHREAD_MUTEX_INITIALIZER;

static void doom(void *data, int error)
{
	unsigned i = 0;

	while (i < 63 && doomed[i].data && doomed[i].data != data)
		i++;
	doomed[i].data = data;
	doomed[i].error = error;
}

/* What a transfer that is done failed with, or 0. */
static int doom_of(const void *data)
{
	unsigned i;

	for (i = 0; i < 64; i++)
		if (doomed[i].data == data) {
			doomed[i].data = NULL;
			return doomed[i].error;
		}
	return 0;
}

static void change_iocb(struct iocb *cb, const void *to)
{
	const int how =
		preload_fate(cb->aio_lio_opcode == IO_CMD_PWRITE ? "aio_write" : "aio_read", cb->aio_fildes, to);

	pthread_mutex_lock(&doomed_lock);
	if (how > 0)
		doom(cb->data, how);
	pthread_mutex_unlock(&doomed_lock);
	if (how < 0)
		cb->u.c.nbytes = less(how, cb->u.c.nbytes);
}

int io_submit(io_context_t aio, long n, struct iocb **list)
{
	static int (*next)(io_context_t, long, struct iocb **);
	const int how = preload_fate("io_submit", NO_FD, HERE);
	long i;

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "io_submit");
	if (how > 0)
		return -how;
	if (how == PRELOAD_SHORT && n > 1)
		n /= 2;
	for (i = 0; i < n; i++)
		change_iocb(list[i], HERE);
	return next(aio, n, list);
}

int io_getevents(io_context_t aio, long least, long most, struct io_event *event, struct timespec *timeout)
{
	static int (*next)(io_context_t, long, long, struct io_event *, struct timespec *);
	const int how = preload_fate("io_getevents", NO_FD, HERE);
	int n, i, error;

	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "io_getevents");
	if (how > 0)
		return -how;
	n = next(aio, least, most, event, timeout);
	pthread_mutex_lock(&doomed_lock);
	for (i = 0; i < n; i++) {
		error = doom_of(event[i].data);
		if (error)
			event[i].res = (unsigned long)-(long)error;
	}
	pthread_mutex_unlock(&doomed_lock);
	return n;
}

#endif

#ifdef HAVE_LINUX_IO_URING_H

static const uint32_t *ring_word(const struct ring *r, uint32_t offset)
{
	return (const uint32_t *)(void *)(r->rings + offset);
}

/* Those that are about to be handed over. */
static void change_entries(const struct ring *r, uint32_t n, const void *to)
{
	const uint32_t mask = *ring_word(r, r->params.sq_off.ring_mask);
	const uint32_t tail = __atomic_load_n(ring_word(r, r->params.sq_off.tail), __ATOMIC_ACQUIRE);
	const uint32_t *array = ring_word(r, r->params.sq_off.array);
	uint32_t i;

	for (i = tail - n; i != tail; i++) {
		struct io_uring_sqe *e = &r->entries[array[i & mask]];
		int how;

		if (e->opcode != IORING_OP_READ && e->opcode != IORING_OP_WRITE)
			continue;
		how = preload_fate(e->opcode == IORING_OP_WRITE ? "uring_write" : "uring_read", e->fd, to);
		if (how > 0)
			e->fd = -1;
		else if (how)
			e->len = (uint32_t)less(how, e->len);
	}
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6], r;
	va_list ap;
	int i, how;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!next)
		*(void **)(void *)&next = preload_next(NULL, "syscall");
	how = number == SYS_io_uring_setup ? preload_fate("io_uring_setup", NO_FD, HERE) :
	      number == SYS_io_uring_enter ? preload_fate("io_uring_enter", NO_FD, HERE) :
	      number == SYS_io_uring_register ? preload_fate("io_uring_register", NO_FD, HERE) : 0;
	if (how > 0) {
		errno = how;
		return -1;
	}
	if (number == SYS_io_uring_enter) {
		struct ring now;

		/* Another thread may be setting up the next one. */
		pthread_mutex_lock(&ring_lock);
		now = ring;
		pthread_mutex_unlock(&ring_lock);
		if (now.entries && a[0] == now.fd)
			change_entries(&now, (uint32_t)a[1], HERE);
	}
	r = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_io_uring_setup && r >= 0) {
		pthread_mutex_lock(&ring_lock);
		memset(&ring, 0, sizeof(ring));
		ring.fd = (int)r;
		memcpy(&ring.params, (const void *)a[1], sizeof(ring.params));
		pthread_mutex_unlock(&ring_lock);
	}
	return r;
}

#endif
