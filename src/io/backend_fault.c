/* SPDX-License-Identifier: BSL-1.0 */
/*
 * backend_fault.c -- failures on demand.
 *
 * Wraps any backend.  Asynchronous transfers that are to fail are never passed on: they go to a list that reap
 * gives out before it asks the inner backend, so they end like others, after submit has returned.  A short
 * transfer is passed on with half of its size (whole pages of a direct one); one that cannot be halved is interrupted.
 *
 * Settings are read when an operation comes; counting is atomic, so that exactly `times' operations fail however
 * many threads there are.  Which ones fail by chance is a function of the seed and of their number, so nothing has to
 * be drawn in turn.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/fault.h>

#include "base/memory.h"
#include "base/structs.h"
#include "io/backend.h"

typedef struct fault_file {
	em_fault *fault;
	const em_backend *be;
	void *handle;
	int direct;
} fault_file;

typedef struct fault_channel {
	em_fault *fault;
	const em_backend *be;
	void *channel;
	pthread_mutex_t lock;
	em_transfer *failed;    /* to be given out by reap, linked by priv */
} fault_channel;

/* What the library keeps of a fault. */
typedef struct fault_table {
	em_backend backend;     /* first: em_fault_backend() */
	uint64_t one_in;        /* that fails by chance; 0: none */
	uint64_t seed;
} fault_table;

/* It lies in room that does not grow with it, so an em_fault does not change when an em_backend does. */
typedef char table_has_room[sizeof(fault_table) <= sizeof(((em_fault *)NULL)->table) ? 1 : -1];

static fault_table *table_of(em_fault *fault)
{
	return (fault_table *)(void *)fault->table;
}

/* The random number of the i-th operation: splitmix64. */
static uint64_t random_of(uint64_t seed, uint64_t i)
{
	uint64_t x = seed + i * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Count an operation; 1 when it is to fail. */
static int strikes(em_fault *fault, uint32_t op)
{
	const fault_table *t = table_of(fault);
	uint64_t nth, times, one_in, seed, i;

	/* Somebody may be changing them, whose last store is that of ops. */
	if (!(__atomic_load_n(&fault->ops, __ATOMIC_ACQUIRE) & op))
		return 0;
	nth = __atomic_load_n(&fault->nth, __ATOMIC_RELAXED);
	times = __atomic_load_n(&fault->times, __ATOMIC_RELAXED);
	one_in = __atomic_load_n(&t->one_in, __ATOMIC_RELAXED);
	seed = __atomic_load_n(&t->seed, __ATOMIC_RELAXED);
	i = __atomic_add_fetch(&fault->count, 1, __ATOMIC_RELAXED);
	if ((nth == 0 || i < nth || i - nth >= times) && (one_in == 0 || random_of(seed, i) % one_in != 0))
		return 0;
	__atomic_add_fetch(&fault->injected, 1, __ATOMIC_RELAXED);
	return 1;
}

/* What a transfer that is to be short moves; 0 when it cannot be. */
static size_t half(const fault_file *f, size_t bytes)
{
	size_t n = bytes / 2;

	return f->direct ? n - n % EMI_PAGE : n;
}

static int fault_open(void *user, em_backend_open *how)
{
	em_fault *fault = user;
	fault_file *f;
	int e;

	if (strikes(fault, EM_FAULT_OPEN) && fault->sys_errno)
		return fault->sys_errno;
	f = calloc(1, sizeof *f);
	if (!f)
		return ENOMEM;
	f->fault = fault;
	f->be = fault->inner;
	e = f->be->open(f->be->user, how);
	if (e != 0) {
		free(f);
		return e;
	}
	f->handle = how->handle;
	f->direct = how->direct != 0;
	how->handle = f;
	return 0;
}

static void fault_close(void *handle, int forked)
{
	fault_file *f = handle;

	f->be->close(f->handle, forked);
	free(f);
}

static int fault_get_size(void *handle, uint64_t *bytes)
{
	fault_file *f = handle;

	if (strikes(f->fault, EM_FAULT_SIZE) && f->fault->sys_errno)
		return f->fault->sys_errno;
	return f->be->get_size(f->handle, bytes);
}

static int fault_set_size(void *handle, uint64_t bytes)
{
	fault_file *f = handle;

	if (strikes(f->fault, EM_FAULT_RESIZE) && f->fault->sys_errno)
		return f->fault->sys_errno;
	return f->be->set_size(f->handle, bytes);
}

static int fault_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	fault_file *f = handle;

	if (strikes(f->fault, EM_FAULT_RESERVE) && f->fault->sys_errno)
		return f->fault->sys_errno;
	return f->be->reserve ? f->be->reserve(f->handle, offset, bytes) : EOPNOTSUPP;
}

static int fault_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	fault_file *f = handle;

	if (strikes(f->fault, EM_FAULT_DISCARD) && f->fault->sys_errno)
		return f->fault->sys_errno;
	return f->be->discard(f->handle, offset, bytes);
}

static int fault_fd(void *handle)
{
	fault_file *f = handle;

	return f->be->fd ? f->be->fd(f->handle) : -1;
}

/* The fate of a transfer: 0 and the bytes to pass on, or a negative errno. */
static int fate(fault_file *f, uint32_t op, size_t *bytes)
{
	size_t n;

	if (!strikes(f->fault, op))
		return 0;
	if (f->fault->sys_errno)
		return -f->fault->sys_errno;
	n = half(f, *bytes);
	if (n == 0)
		return -EINTR;
	*bytes = n;
	return 0;
}

static int64_t fault_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	fault_file *f = handle;
	int e = fate(f, EM_FAULT_READ, &bytes);

	return e ? e : f->be->read(f->handle, buf, bytes, offset);
}

static int64_t fault_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	fault_file *f = handle;
	int e = fate(f, EM_FAULT_WRITE, &bytes);

	return e ? e : f->be->write(f->handle, buf, bytes, offset);
}

static int fault_sync(void *handle)
{
	fault_file *f = handle;

	if (strikes(f->fault, EM_FAULT_SYNC) && f->fault->sys_errno)
		return f->fault->sys_errno;
	return f->be->sync(f->handle);
}

static int fault_open_channel(void *user, uint32_t depth, void **channel)
{
	em_fault *fault = user;
	fault_channel *c = calloc(1, sizeof *c);
	int e;

	if (!c)
		return ENOMEM;
	c->fault = fault;
	c->be = fault->inner;
	e = c->be->open_channel(c->be->user, depth, &c->channel);
	if (e != 0) {
		free(c);
		return e;
	}
	pthread_mutex_init(&c->lock, NULL);
	*channel = c;
	return 0;
}

static void fault_close_channel(void *channel, int forked)
{
	fault_channel *c = channel;

	c->be->close_channel(c->channel, forked);
	if (!forked)
		pthread_mutex_destroy(&c->lock);
	free(c);
}

/* One at a time, so that each has its own fate; batches are the inner backend's concern, not the tests'. */
static int fault_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	fault_channel *c = channel;
	em_transfer *t = list[0];
	fault_file *f = t->handle;
	size_t bytes = t->bytes;
	int e;

	(void)n;
	if (strikes(c->fault, EM_FAULT_SUBMIT) && c->fault->sys_errno)
		return -c->fault->sys_errno;
	e = fate(f, t->write ? EM_FAULT_WRITE : EM_FAULT_READ, &bytes);
	if (e == 0) {
		t->bytes = bytes;
		t->handle = f->handle;
		return c->be->submit(c->channel, list, 1);
	}
	t->result = e;
	pthread_mutex_lock(&c->lock);
	t->priv = c->failed;
	c->failed = t;
	pthread_mutex_unlock(&c->lock);
	return 1;
}

static int fault_reap(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	fault_channel *c = channel;
	uint32_t n = 0;

	pthread_mutex_lock(&c->lock);
	for (; n < max && c->failed; n++) {
		list[n] = c->failed;
		c->failed = list[n]->priv;
	}
	pthread_mutex_unlock(&c->lock);
	return n > 0 ? (int)n : c->be->reap(c->channel, list, max, timeout_ns);
}

em_status em_fault_init(em_fault *fault, size_t size, const em_backend *inner)
{
	const uint32_t bytes = size <= UINT32_MAX ? (uint32_t)size : 0;
	em_backend *be;

	if (fault == NULL)
		return EM_ERR_INVAL;
	if (EMI_STRUCT_CHECK(em_fault, &bytes, NULL) != EM_OK)
		return EM_ERR_VERSION;
	memset(fault, 0, size);
	fault->size = bytes;
	be = &table_of(fault)->backend;
	fault->ops = EM_FAULT_ALL;
	fault->times = 1;
	fault->sys_errno = EIO;
	fault->inner = inner ? inner : em_backend_find(NULL);
	be->size = sizeof *be;
	be->depth = fault->inner->depth;
	be->threads = fault->inner->threads;
	be->stack = fault->inner->stack;
	be->name = fault->inner->name;
	be->user = fault;
	be->open = fault_open;
	be->close = fault_close;
	be->get_size = fault_get_size;
	be->set_size = fault_set_size;
	be->reserve = fault_reserve;
	be->fd = fault_fd;
	be->read = fault_read;
	be->write = fault_write;
	be->discard = emi_backend_discards(fault->inner) ? fault_discard : NULL;
	be->sync = emi_backend_syncs(fault->inner) ? fault_sync : NULL;
	if (!emi_backend_has_channel(fault->inner))
		return EM_OK;
	be->submit = fault_submit;
	be->reap = fault_reap;
	be->open_channel = fault_open_channel;
	be->close_channel = fault_close_channel;
	return EM_OK;
}

/* ops last: until then none is counted. */
static void set(em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times, uint64_t one_in, uint64_t seed)
{
	fault_table *t;

	if (fault == NULL)
		return;
	t = table_of(fault);
	__atomic_store_n(&fault->ops, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&fault->nth, nth, __ATOMIC_RELAXED);
	__atomic_store_n(&fault->times, times, __ATOMIC_RELAXED);
	__atomic_store_n(&t->one_in, one_in, __ATOMIC_RELAXED);
	__atomic_store_n(&t->seed, seed, __ATOMIC_RELAXED);
	__atomic_store_n(&fault->count, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&fault->ops, ops, __ATOMIC_RELEASE);
}

void em_fault_set(em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times)
{
	set(fault, ops, nth, times, 0, 0);
}

void em_fault_set_random(em_fault *fault, uint32_t ops, uint64_t one_in, uint64_t seed)
{
	set(fault, ops, 0, 1, one_in, seed);
}

const em_backend *em_fault_backend(const em_fault *fault)
{
	return fault != NULL ? (const em_backend *)(const void *)fault->table : NULL;
}
