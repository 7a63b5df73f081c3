/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_io_uring.c -- Linux transfers through a pair of rings shared with the kernel.
 *
 * Files are those of the syscall backend; a channel is an io_uring.  Entries that ask for transfers are written to the
 * submission ring and handed over by io_uring_enter(), which returns when the kernel has read them; results are taken
 * from the completion ring, mostly without a call of the kernel.  The calls are made directly, as they are three and so
 * need no library.
 *
 * Who does what: several threads may submit, one after the other (`lock'); one at a time reaps, at the same time.  So
 * the submission ring belongs to whoever has the lock, and the head of the completion ring to the reaper.  The kernel
 * reads the submission ring within io_uring_enter() only, as there is no thread of its own for that: entries that it
 * left alone can be taken back by setting the tail to the head.
 *
 * Of buffered files transfers are made by threads, as with libaio.  It would work otherwise too, but io_uring makes
 * such a transfer within the call where the page cache has the data, so one thread copies where several could; and
 * gives it to threads of the kernel where it has not, which are no better than ours, and started without limit or
 * account of ours.  Reading 4 KiB that are cached took 2.4 to 2.6 us of CPU time that way, and 1.8 to 2.1 with threads.
 *
 * To the kernel transfers belong to the thread that submitted them.  When that ends before them, some kernels give up
 * those they have not begun, and interrupt others: then the library makes them anew.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "io/backend.h"

#ifdef HAVE_LINUX_IO_URING_H

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { LEAST_ENTRIES = 8 };

/* A ring of the usual depth takes as much time of the processor as a few transfers (35 us), one of 4096 as a hundred.
 * It is destroyed by a thread of the kernel, for which nobody waits. */
#define ASYNC_FROM ((uint64_t)1 << 20)

/* What one transfer moves at most, as the field for it has 32 bits, and the kernel stops below 2 GiB. */
#define MOST ((size_t)1 << 30)

/* A transfer begins like an iovec, so that it is its own where the kernel wants one. */
typedef char begins_like_iovec[offsetof(struct iovec, iov_base) == offsetof(em_transfer, buf) &&
			       offsetof(struct iovec, iov_len) == offsetof(em_transfer, bytes) &&
			       sizeof(struct iovec) <= offsetof(em_transfer, offset) ? 1 : -1];

/* A part of the ring's memory. */
typedef struct mapping {
	void *at;
	size_t bytes;
} mapping;

typedef struct uring_channel {
	int fd;
	int vectors;            /* the kernel has no plain reads and writes yet */
	int no_limit;           /* nor waiting with a limit; the reaper's */
	mapping sq, cq, entries; /* cq is empty where both rings are one mapping */
	pthread_mutex_t lock;   /* for the submission ring */
	uint32_t *sq_head, *sq_tail, *sq_array;
	uint32_t sq_mask, sq_size;
	struct io_uring_sqe *sqe;
	uint32_t *cq_head, *cq_tail;
	uint32_t cq_mask;
	struct io_uring_cqe *cqe;
	uint32_t most;          /* in flight, so that there is room for the results of all */
	uint32_t flying;        /* in flight; atomic: what submit wrote before it went up, reap may read after it
	                           looked */
} uring_channel;

static int enter(const uring_channel *c, uint32_t submit, uint32_t least, uint32_t flags, const void *arg, size_t bytes)
{
	long r = syscall(__NR_io_uring_enter, c->fd, submit, least, flags, arg, bytes);

	return r < 0 ? -errno : (int)r;
}

/* Make a ring: of fewer entries where the kernel does not grant as many.  Its descriptor, or a negative errno. */
static int set_up(uint32_t entries, struct io_uring_params *p)
{
	for (;; entries /= 2) {
		long fd;

		memset(p, 0, sizeof *p);
		fd = syscall(__NR_io_uring_setup, entries, p);
		if (fd >= 0)
			return (int)fd;
		if ((errno != ENOMEM && errno != EINVAL) || entries <= LEAST_ENTRIES)
			return -errno;
	}
}

static int map(mapping *m, int fd, size_t bytes, uint64_t what)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)what);

	if (at == MAP_FAILED)
		return errno;
	m->at = at;
	m->bytes = bytes;
	return 0;
}

static void unmap(const mapping *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
}

static uint32_t *word(const mapping *m, uint32_t offset)
{
	return (uint32_t *)(void *)((char *)m->at + offset);
}

static int map_all(uring_channel *c, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	const int one = (p->features & IORING_FEAT_SINGLE_MMAP) != 0;
	const mapping *results = one ? &c->sq : &c->cq;
	int e = map(&c->sq, c->fd, one && cq > sq ? cq : sq, IORING_OFF_SQ_RING);

	if (e == 0 && !one)
		e = map(&c->cq, c->fd, cq, IORING_OFF_CQ_RING);
	if (e == 0)
		e = map(&c->entries, c->fd, p->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (e != 0)
		return e;
	c->sq_head = word(&c->sq, p->sq_off.head);
	c->sq_tail = word(&c->sq, p->sq_off.tail);
	c->sq_array = word(&c->sq, p->sq_off.array);
	c->sq_mask = *word(&c->sq, p->sq_off.ring_mask);
	c->sq_size = p->sq_entries;
	c->sqe = c->entries.at;
	c->cq_head = word(results, p->cq_off.head);
	c->cq_tail = word(results, p->cq_off.tail);
	c->cq_mask = *word(results, p->cq_off.ring_mask);
	c->cqe = (struct io_uring_cqe *)(void *)word(results, p->cq_off.cqes);
	return 0;
}

/* Does the kernel have plain reads and writes?  Those without them cannot be asked either. */
static int has_plain(const uring_channel *c)
{
	union {
		struct io_uring_probe probe;
		char room[sizeof(struct io_uring_probe) + IORING_OP_LAST * sizeof(struct io_uring_probe_op)];
	} u;
	const struct io_uring_probe_op *op = u.probe.ops;

	memset(&u, 0, sizeof u);
	if (syscall(__NR_io_uring_register, c->fd, IORING_REGISTER_PROBE, &u, IORING_OP_LAST) < 0)
		return 0;
	return u.probe.last_op >= IORING_OP_WRITE && (op[IORING_OP_READ].flags & IO_URING_OP_SUPPORTED) &&
	       (op[IORING_OP_WRITE].flags & IO_URING_OP_SUPPORTED);
}

/* In a child too: the memory is shared, and taking this process's view of it away leaves the parent's alone. */
static void release(uring_channel *c)
{
	unmap(&c->entries);
	unmap(&c->cq);
	unmap(&c->sq);
	close(c->fd);
	free(c);
}

static int uring_open(void *user, em_backend_open *how)
{
	int e = emi_backend_syscall.open(user, how);

	if (e == 0) {
		how->async = how->direct;
		how->async_from = ASYNC_FROM;
	}
	return e;
}

static int uring_open_channel(void *user, uint32_t depth, void **channel)
{
	struct io_uring_params p;
	uring_channel *c = calloc(1, sizeof *c);
	int e;

	(void)user;
	if (!c)
		return ENOMEM;
	c->fd = set_up(depth, &p);
	if (c->fd < 0) {
		e = -c->fd;
		free(c);
		return e;
	}
	e = map_all(c, &p);
	if (e != 0) {
		release(c);
		return e;
	}
	c->most = depth < p.cq_entries ? depth : p.cq_entries;
	c->vectors = !has_plain(c);
	pthread_mutex_init(&c->lock, NULL);
	*channel = c;
	return 0;
}

static void uring_close_channel(void *channel, int forked)
{
	uring_channel *c = channel;

	if (!forked)
		pthread_mutex_destroy(&c->lock);
	release(c);
}

static void fill(const uring_channel *c, struct io_uring_sqe *sqe, em_transfer *t)
{
	memset(sqe, 0, sizeof *sqe);
	sqe->fd = emi_backend_syscall.fd(t->handle);
	sqe->off = t->offset;
	sqe->user_data = (uintptr_t)t;
	if (c->vectors) {
		sqe->opcode = t->write ? IORING_OP_WRITEV : IORING_OP_READV;
		sqe->addr = (uintptr_t)t;
		sqe->len = 1;
	} else {
		sqe->opcode = t->write ? IORING_OP_WRITE : IORING_OP_READ;
		sqe->addr = (uintptr_t)t->buf;
		sqe->len = (uint32_t)(t->bytes < MOST ? t->bytes : MOST);
	}
}

/* Leave what the first of the list is refused for in *e, and return how many can be handed over. */
static uint32_t admissible(const uring_channel *c, em_transfer *const *list, uint32_t n, int *e)
{
	/* Pairs with the decrement in collect(): the room for results that it tells of is there. */
	const uint32_t flying = __atomic_load_n(&c->flying, __ATOMIC_ACQUIRE);
	const uint32_t room = flying < c->most ? c->most - flying : 0;
	uint32_t i;

	if (n > c->sq_size)
		n = c->sq_size;
	if (n > room)
		n = room;
	*e = EAGAIN;
	/* To the kernel such an offset is a negative number. */
	for (i = 0; i < n; i++)
		if (list[i]->offset > INT64_MAX)
			break;
	if (i == 0 && n > 0)
		*e = EFBIG;
	return i;
}

/* With the lock. */
static int hand_over(uring_channel *c, em_transfer *const *list, uint32_t n)
{
	const uint32_t tail = *c->sq_tail;
	uint32_t i, taken;
	int r;

	for (i = 0; i < n; i++) {
		const uint32_t at = (tail + i) & c->sq_mask;

		fill(c, &c->sqe[at], list[i]);
		c->sq_array[at] = at;
	}
	/* Before they can be done.  Pairs with the load in collect(), for those who only see the program: the kernel
	 * orders the two threads. */
	__atomic_fetch_add(&c->flying, n, __ATOMIC_RELEASE);
	/* Pairs with the kernel's load of the tail: it sees the entries. */
	__atomic_store_n(c->sq_tail, tail + n, __ATOMIC_RELEASE);
	r = enter(c, n, 0, 0, NULL, 0);
	/* Pairs with the kernel's store of the head: it has read them.  This, and not what the call returned, is what
	 * it took. */
	taken = __atomic_load_n(c->sq_head, __ATOMIC_ACQUIRE) - tail;
	if (taken == n)
		return (int)n;
	__atomic_store_n(c->sq_tail, tail + taken, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&c->flying, n - taken, __ATOMIC_RELAXED);
	if (taken > 0)
		return (int)taken;
	return r < 0 && r != -EBUSY ? r : -EAGAIN;
}

static int uring_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	uring_channel *c = channel;
	int e, r;

	pthread_mutex_lock(&c->lock);
	n = admissible(c, list, n, &e);
	r = n > 0 ? hand_over(c, list, n) : -e;
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* What a result means to the library: it makes anew what was given up because the submitting thread had ended. */
static int64_t result_of(int32_t res)
{
	return res == -ECANCELED ? -EINTR : res;
}

/* Take up to max results that are there. */
static uint32_t collect(uring_channel *c, em_transfer **list, uint32_t max)
{
	const uint32_t head = *c->cq_head;
	/* Pairs with the kernel's store of the tail: the results in front of it are there. */
	const uint32_t there = __atomic_load_n(c->cq_tail, __ATOMIC_ACQUIRE) - head, n = there < max ? there : max;
	uint32_t i;

	if (n == 0)
		return 0;
	/* Pairs with the increment in hand_over(). */
	(void)__atomic_load_n(&c->flying, __ATOMIC_ACQUIRE);
	for (i = 0; i < n; i++) {
		const struct io_uring_cqe *cqe = &c->cqe[(head + i) & c->cq_mask];

		list[i] = (em_transfer *)(uintptr_t)cqe->user_data;
		list[i]->result = result_of(cqe->res);
	}
	/* Pairs with the kernel's load of the head: what was read may be written over. */
	__atomic_store_n(c->cq_head, head + n, __ATOMIC_RELEASE);
	/* Pairs with the load in admissible(). */
	__atomic_fetch_sub(&c->flying, n, __ATOMIC_RELEASE);
	return n;
}

/* For kernels that cannot wait with a limit. */
static int wait_by_poll(const uring_channel *c, const struct timespec *limit)
{
	struct pollfd p = {0, POLLIN, 0};
	int r;

	p.fd = c->fd;
	r = ppoll(&p, 1, limit, NULL);
	return r < 0 ? -errno : r == 0 ? -ETIME : 0;
}

/* Wait for a result: 0, or a negative errno, -ETIME after the limit. */
static int await(uring_channel *c, int64_t timeout_ns)
{
	struct io_uring_getevents_arg arg;
	struct __kernel_timespec t;
	struct timespec limit;
	int r;

	if (timeout_ns < 0) {
		r = enter(c, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		return r < 0 ? r : 0;
	}
	if (!c->no_limit) {
		memset(&arg, 0, sizeof arg);
		t.tv_sec = timeout_ns / 1000000000;
		t.tv_nsec = timeout_ns % 1000000000;
		arg.ts = (uintptr_t)&t;
		r = enter(c, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof arg);
		if (r != -EINVAL)
			return r < 0 ? r : 0;
		c->no_limit = 1;
	}
	limit.tv_sec = (time_t)(timeout_ns / 1000000000);
	limit.tv_nsec = (long)(timeout_ns % 1000000000);
	return wait_by_poll(c, &limit);
}

static int uring_reap(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	uring_channel *c = channel;
	uint32_t n = collect(c, list, max);
	int r;

	if (n > 0 || timeout_ns == 0)
		return (int)n;
	r = await(c, timeout_ns);
	n = collect(c, list, max);
	if (n > 0)
		return (int)n;
	/* Woken up for nothing. */
	if (r == 0)
		return -EINTR;
	return r == -ETIME ? 0 : r;
}

static em_backend uring;
static char refusal[128];       /* empty: it works */

/* All but the channel is the syscall backend's, handles too. */
static void make_table(void)
{
	struct io_uring_params p;

	uring = emi_backend_syscall;
	uring.name = "io_uring";
	uring.open = uring_open;
	uring.submit = uring_submit;
	uring.reap = uring_reap;
	uring.open_channel = uring_open_channel;
	uring.close_channel = uring_close_channel;
	/* A kernel that lets us finds nothing wrong with it but the number of entries. */
	memset(&p, 0, sizeof p);
	if (syscall(__NR_io_uring_setup, 0, &p) < 0 && errno != EINVAL)
		snprintf(refusal, sizeof refusal, "refused by the kernel: %s", strerror(errno));
}

const em_backend *emi_backend_io_uring(const char **why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_table);
	*why = refusal;
	return refusal[0] == '\0' ? &uring : NULL;
}

#else

const em_backend *emi_backend_io_uring(const char **why)
{
	*why = "it was not built in";
	return NULL;
}

#endif
