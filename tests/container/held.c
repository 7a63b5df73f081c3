/* SPDX-License-Identifier: BSL-1.0 */
/* held.c -- see held.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "container/held.h"

static int held_open(void *user, em_backend_open *how)
{
	held *h = user;
	const int e = h->inner->open(h->inner->user, how);

	how->async = e == 0;
	how->async_from = 0;
	return e;
}

static int held_open_channel(void *user, uint32_t depth, void **channel)
{
	(void)depth;
	*channel = user;
	return 0;
}

static void held_close_channel(void *channel, int forked)
{
	(void)channel;
	(void)forked;
}

/* Of how many blocks is it? */
static uint64_t blocks(const held *h, const em_transfer *t)
{
	return h->block > 1 && t->bytes > h->block ? t->bytes / h->block : 1;
}

static int held_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	held *h = channel;
	uint32_t k;

	pthread_mutex_lock(&h->lock);
	for (k = 0; k < n && h->n < HELD_MOST; k++)
		h->list[h->n++] = list[k];
	pthread_mutex_unlock(&h->lock);
	return k != 0 ? (int)k : -EAGAIN;
}

static int held_reap(void *channel, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	held *h = channel;
	em_transfer *t;
	uint64_t some, all = 0;
	uint32_t k;

	if (timeout_ns == 0 || max == 0)
		return 0;
	pthread_mutex_lock(&h->lock);
	assert_true(h->n != 0);
	t = h->list[0];
	for (k = 0; k < h->n; k++)
		all += blocks(h, h->list[k]);
	some = blocks(h, t);
	h->done[t->write != 0] += some;
	h->together[t->write != 0] += some * all;
	memmove(h->list, h->list + 1, --h->n * sizeof *h->list);
	pthread_mutex_unlock(&h->lock);
	t->result = t->write ? h->inner->write(t->handle, t->buf, t->bytes, t->offset)
			     : h->inner->read(t->handle, t->buf, t->bytes, t->offset);
	list[0] = t;
	return 1;
}

void held_init(held *h, const em_backend *inner)
{
	memset(h, 0, sizeof *h);
	h->inner = inner;
	h->backend = *inner;
	h->backend.name = "held";
	h->backend.user = h;
	h->backend.depth = HELD_MOST;
	h->backend.open = held_open;
	h->backend.submit = held_submit;
	h->backend.reap = held_reap;
	h->backend.open_channel = held_open_channel;
	h->backend.close_channel = held_close_channel;
	assert_int_equal(pthread_mutex_init(&h->lock, NULL), 0);
}

void held_end(held *h)
{
	assert_int_equal(h->n, 0);
	pthread_mutex_destroy(&h->lock);
}

static double average(held *h, int write, uint64_t *n)
{
	double together;

	pthread_mutex_lock(&h->lock);
	together = h->done[write] != 0 ? (double)h->together[write] / (double)h->done[write] : 0;
	if (n != NULL)
		*n = h->done[write];
	h->done[write] = h->together[write] = 0;
	pthread_mutex_unlock(&h->lock);
	return together;
}

double held_average(held *h, uint64_t *reads)
{
	return average(h, 0, reads);
}

double held_average_writes(held *h, uint64_t *writes)
{
	return average(h, 1, writes);
}
