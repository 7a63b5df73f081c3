/* SPDX-License-Identifier: BSL-1.0 */
/* gate.c -- see gate.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "io/gate.h"

static int gate_open(void *user, em_backend_open *how)
{
	gate *g = user;

	how->handle = g;
	how->async = g->be.submit != NULL;
	how->one_write = g->one_write;
	if (how->depth < g->room)
		g->room = how->depth;
	return 0;
}

static void gate_close(void *handle, int forked)
{
	gate *g = handle;

	(void)forked;
	pthread_mutex_lock(&g->lock);
	if (g->entered != g->left || g->holds)
		g->broken = 1;
	pthread_mutex_unlock(&g->lock);
}

static int gate_size(void *handle, uint64_t *bytes)
{
	(void)handle;
	*bytes = PAGES * PAGE;
	return 0;
}

static int gate_resize(void *handle, uint64_t bytes)
{
	(void)handle;
	(void)bytes;
	return 0;
}

static void enter(gate *g, uint64_t offset)
{
	sigset_t set;

	pthread_mutex_lock(&g->lock);
	if (!pthread_equal(pthread_self(), g->caller)) {
		pthread_sigmask(SIG_SETMASK, NULL, &set);
		if (!sigismember(&set, SIGTERM) || !sigismember(&set, SIGUSR1) || !sigismember(&set, SIGALRM))
			g->signals = 1;
	}
	if (g->entered < GATE_LOG) {
		g->page[g->entered] = offset / PAGE;
		g->thread[g->entered] = pthread_self();
	}
	g->entered++;
	pthread_cond_broadcast(&g->change);
	while (g->closed && offset < PAGE)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void leave(gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->left++;
	pthread_mutex_unlock(&g->lock);
}

static int64_t gate_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	gate *g = handle;

	enter(g, offset);
	memcpy(buf, g->data + offset, bytes);
	leave(g);
	return (int64_t)bytes;
}

static int64_t gate_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	gate *g = handle;

	enter(g, offset);
	memcpy(g->data + offset, buf, bytes);
	leave(g);
	return (int64_t)bytes;
}

static int gate_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	gate *g = handle;

	enter(g, offset);
	memset(g->data + offset, 0, bytes);
	leave(g);
	return 0;
}

static int gate_open_channel(void *user, uint32_t depth, void **channel)
{
	(void)depth;
	*channel = user;
	return 0;
}

static void gate_close_channel(void *channel, int forked)
{
	(void)channel;
	(void)forked;
}

static int gate_submit(void *handle, em_transfer *const *list, uint32_t n)
{
	gate *g = handle;
	uint32_t i;

	pthread_mutex_lock(&g->lock);
	for (i = 0; i < n && !g->refuse && g->holds < g->room; i++)
		g->held[g->holds++] = list[i];
	g->taken += i;
	if (g->holds > g->most_held)
		g->most_held = g->holds;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
	if (i == 0)
		return g->refuse ? -g->refuse : -EAGAIN;
	return (int)i;
}

/* The last first, so that they come out of order. */
static int gate_reap(void *handle, em_transfer **list, uint32_t max, int64_t timeout_ns)
{
	gate *g = handle;
	uint32_t n = 0;

	pthread_mutex_lock(&g->lock);
	if (g->holds == 0 && timeout_ns != 0)
		g->broken = 1;
	while (n < max && n < 2 && g->holds > 0) {
		em_transfer *t = g->held[--g->holds];
		size_t bytes = g->fails ? 0 : g->half ? t->bytes / 2 : t->bytes;

		if (t->write)
			memcpy(g->data + t->offset, t->buf, bytes);
		else
			memcpy(t->buf, g->data + t->offset, bytes);
		t->result = g->fails ? -g->fails : (int64_t)bytes;
		list[n++] = t;
	}
	pthread_mutex_unlock(&g->lock);
	return (int)n;
}

gate *gate_make(uint32_t threads, int async)
{
	gate *g = calloc(1, sizeof *g);

	assert_non_null(g);
	g->be.size = sizeof g->be;
	g->be.threads = threads;
	g->be.name = "gate";
	g->be.user = g;
	g->be.open = gate_open;
	g->be.close = gate_close;
	g->be.get_size = gate_size;
	g->be.set_size = gate_resize;
	g->be.read = gate_read;
	g->be.write = gate_write;
	g->be.discard = gate_discard;
	if (async) {
		g->be.submit = gate_submit;
		g->be.reap = gate_reap;
		g->be.open_channel = gate_open_channel;
		g->be.close_channel = gate_close_channel;
	}
	g->room = GATE_LOG;
	g->caller = pthread_self();
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->change, NULL);
	return g;
}

void gate_set(gate *g, int closed)
{
	pthread_mutex_lock(&g->lock);
	g->closed = closed;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
}

void gate_await(gate *g, const unsigned *what, unsigned n)
{
	pthread_mutex_lock(&g->lock);
	while (*what < n)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

em_file *gate_file(gate *g, uint32_t depth)
{
	io_setup setup = {0};

	setup.custom = &g->be;
	setup.direct = EM_DIRECT_OFF;
	setup.depth = depth;
	g->ctx = io_ctx(&setup);
	g->f = io_open(g->ctx, "/", EMI_OPEN_TEMP);
	return g->f;
}

void gate_assert_done(gate *g, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		assert_int_equal(emi_wait(&g->rq[i], NULL), EM_OK);
}

void gate_end(gate *g)
{
	emi_file_close(g->f);
	em_ctx_close(g->ctx);
	assert_false(g->broken);
	assert_false(g->signals);
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->change);
	free(g);
}
