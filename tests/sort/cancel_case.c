/* SPDX-License-Identifier: BSL-1.0 */
/* cancel_case.c -- see cancel_case.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "sort/cancel_case.h"

/* The backend gets no argument of ours, and neither does a handler of signals. */
static struct {
	em_ctx *ctx;            /* atomic; NULL: nothing to cancel */
	const cancel_how *how;
	uint64_t events;        /* atomic */
	const em_backend *inner;
	test_memory mem;
} now;

static void cancel(void)
{
	em_ctx_cancel(__atomic_load_n(&now.ctx, __ATOMIC_ACQUIRE));
}

static void on_signal(int sig)
{
	(void)sig;
	cancel();
}

void cancel_event(void)
{
	if (__atomic_add_fetch(&now.events, 1, __ATOMIC_RELAXED) != now.how->at)
		return;
	if (now.how->how == CANCEL_AT)
		cancel();
	else if (now.how->how == CANCEL_SIGNAL)
		(void)kill(getpid(), SIGUSR1);
}

uint64_t cancel_events(void)
{
	return __atomic_load_n(&now.events, __ATOMIC_RELAXED);
}

static void *cancel_later(void *arg)
{
	(void)arg;
	usleep((useconds_t)now.how->at);
	cancel();
	return NULL;
}

/* The backend and the allocator. */

static void transfer_event(void)
{
	cancel_event();
	if (now.how->nap_us != 0)
		usleep(now.how->nap_us);
}

static int count_open(void *user, em_backend_open *how)
{
	int e;

	cancel_event();
	e = now.inner->open(user, how);
	how->async_from = 0;
	return e;
}

static int count_resize(void *handle, uint64_t bytes)
{
	cancel_event();
	return now.inner->set_size(handle, bytes);
}

static int64_t count_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	transfer_event();
	return now.inner->read(handle, buf, bytes, offset);
}

static int64_t count_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	transfer_event();
	return now.inner->write(handle, buf, bytes, offset);
}

static int count_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	transfer_event();
	return now.inner->submit(channel, list, n);
}

static int count_sync(void *handle)
{
	cancel_event();
	return now.inner->sync(handle);
}

static void *count_alloc(void *user, size_t bytes)
{
	test_memory *mem = user;

	cancel_event();
	return mem->allocator.alloc(mem->allocator.user, bytes);
}

static void count_release(void *user, void *ptr, size_t bytes)
{
	test_memory *mem = user;

	mem->allocator.release(mem->allocator.user, ptr, bytes);
}

/* The place. */

cancel_place cancel_place_make(uint64_t n)
{
	test_rng rng = test_rng_make(test_seed());
	cancel_place p;
	unsigned char *sorted;
	uint64_t i, m = n;
	FILE *f;

	memset(&p, 0, sizeof p);
	p.n = n;
	p.shape = sort_shape_of(EM_KEY_U64, 0, 0, 16);
	p.dir = test_dir_make();
	p.in = test_path(p.dir, "in");
	p.sorted = test_path(p.dir, "sorted");
	p.lines = test_path(p.dir, "lines");
	p.out = test_path(p.dir, "out");
	p.records = sort_records(&rng, &p.shape, SORT_RANDOM, n);
	sorted = sort_expected(&p.shape, p.records, &m, 0);
	sort_write_file(p.in, p.records, (size_t)n * p.shape.bytes);
	sort_write_file(p.sorted, sorted, (size_t)n * p.shape.bytes);
	free(sorted);
	f = fopen(p.lines, "w");
	assert_non_null(f);
	for (i = 0; i < n; i++)
		fprintf(f, "%" PRIu64 "\n", test_below(&rng, 1000000));
	assert_int_equal(fclose(f), 0);
	return p;
}

void cancel_place_free(cancel_place *p)
{
	free(p->in);
	free(p->sorted);
	free(p->lines);
	free(p->out);
	free(p->records);
	test_dir_remove(p->dir);
}

em_status cancel_order(em_order **out, em_ctx *ctx, const cancel_place *p)
{
	return em_order_keys(out, ctx, p->shape.bytes, p->shape.key, p->shape.keys, NULL);
}

em_status cancel_lines(em_order **out, em_ctx *ctx)
{
	const em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_text_key key = EM_TEXT_KEY_INIT;

	return em_order_text(out, ctx, &key, 1, &opts, NULL);
}

/* Nothing is in the directory but what was there, and what is complete. */
static void assert_nothing_left(const cancel_place *p, em_status st)
{
	DIR *d = opendir(p->dir);
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		const char *s = e->d_name;

		if (s[0] != '.' && strcmp(s, "in") != 0 && strcmp(s, "sorted") != 0 && strcmp(s, "lines") != 0 &&
		    (strcmp(s, "out") != 0 || st != EM_OK))
			fail_msg("%s was left behind", s);
		if (s[0] == '.' && strcmp(s, ".") != 0 && strcmp(s, "..") != 0)
			fail_msg("%s was left behind", s);
	}
	closedir(d);
	unlink(p->out);
}

static em_ctx *open_context(const cancel_place *p, const em_backend *be, const em_allocator *allocator)
{
	const char *const dirs[] = { p->dir };
	em_ctx_opts opts = sort_ctx_opts();
	em_ctx *ctx;

	opts.memory = 8u << 20;
	opts.threads = 2;
	opts.dirs = dirs;
	opts.ndirs = 1;
	/* Transfers that the system makes by itself are direct. */
	opts.direct = be->submit != NULL ? EM_DIRECT_TRY : EM_DIRECT_OFF;
	opts.backend = NULL;
	opts.custom = be;
	opts.allocator = allocator;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	return ctx;
}

em_status cancel_run(cancel_work work, const cancel_place *p, const cancel_how *how, uint64_t *events)
{
	const em_allocator counting = { sizeof counting, 0, count_alloc, count_release, &now.mem };
	const unsigned fds = sort_open_fds();
	em_backend be = *em_backend_find(how->backend);
	pthread_t thread;
	em_status st;
	em_ctx *ctx;

	now.how = how;
	now.inner = em_backend_find(how->backend);
	be.open = count_open;
	be.set_size = count_resize;
	be.read = count_read;
	be.write = count_write;
	be.submit = be.submit != NULL ? count_submit : NULL;
	be.sync = be.sync != NULL ? count_sync : NULL;
	test_memory_init(&now.mem, 0);
	ctx = open_context(p, &be, &counting);
	now.events = 0;
	__atomic_store_n(&now.ctx, ctx, __ATOMIC_RELEASE);
	if (how->how == CANCEL_BEFORE)
		cancel();
	if (how->how == CANCEL_THREAD)
		assert_int_equal(pthread_create(&thread, NULL, cancel_later, NULL), 0);
	st = work(ctx, p);
	if (how->how == CANCEL_THREAD)
		pthread_join(thread, NULL);
	__atomic_store_n(&now.ctx, NULL, __ATOMIC_RELEASE);
	*events = now.events;
	em_ctx_close(ctx);
	test_memory_assert_clean(&now.mem);
	assert_int_equal(sort_open_fds(), fds);
	assert_nothing_left(p, st);
	return st;
}

void cancel_everywhere(const char *name, cancel_work work, const cancel_place *p, const char *backend,
		       uint64_t times)
{
	cancel_how how = { CANCEL_AT, backend, 0, 0 };
	struct sigaction sa, old;
	uint64_t events, most, every, n = 0;
	const uint64_t signals = times / 15;
	test_rng rng = test_rng_make(test_seed());
	em_status st;
	uint64_t i;

	assert_int_equal(cancel_run(work, p, &how, &most), EM_OK);
	/* The last events may be too late to cancel anything, but not the first ones. */
	every = (most - 1) / times + 1;
	for (how.at = test_nth_after(0, every); how.at <= most; how.at = test_nth_after(how.at, every)) {
		st = cancel_run(work, p, &how, &events);
		if (st != EM_OK && st != EM_ERR_CANCELED)
			fail_msg("%s: event %u of %u: %s", name, (unsigned)how.at, (unsigned)most, em_status_name(st));
		n += st == EM_ERR_CANCELED;
	}
	assert_true(n != 0 || !test_sweeps());
	how.how = CANCEL_BEFORE;
	assert_int_equal(cancel_run(work, p, &how, &events), EM_ERR_CANCELED);
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	assert_int_equal(sigaction(SIGUSR1, &sa, &old), 0);
	for (i = 0; i < signals; i++) {
		how.how = i % 2 == 0 ? CANCEL_SIGNAL : CANCEL_THREAD;
		how.at = 1 + test_below(&rng, i % 2 == 0 ? most : 3000);
		st = cancel_run(work, p, &how, &events);
		assert_true(st == EM_OK || st == EM_ERR_CANCELED);
	}
	assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
	print_message("%s, %s: %u events, canceled at %u of them\n", name, backend, (unsigned)most, (unsigned)n);
}
