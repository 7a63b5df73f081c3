/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_blocking.c -- transfers by the calling thread keep their order with those that are pending: what has bytes in
 * common, one of them a write, waits;
 * the rest does not.  A write to a part of a page of a direct file has all bytes from there on, as it may cut the file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <extmem.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/file.h>
#include <extmem/sys/request.h>

#include "common/test.h"
#include "io/queue.h"

enum { PAGE = 4096 };

/* A backend that holds the first transfer until it is let go. */
static struct {
	em_backend be;
	const em_backend *inner;
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned entered;       /* transfers so far */
	int open;
} g;

static void pass(void)
{
	pthread_mutex_lock(&g.lock);
	if (++g.entered == 1)
		while (!g.open)
			pthread_cond_wait(&g.change, &g.lock);
	pthread_mutex_unlock(&g.lock);
}

static int64_t held_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	pass();
	return g.inner->read(handle, buf, bytes, offset);
}

static int64_t held_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	pass();
	return g.inner->write(handle, buf, bytes, offset);
}

static unsigned entered(void)
{
	unsigned n;

	pthread_mutex_lock(&g.lock);
	n = g.entered;
	pthread_mutex_unlock(&g.lock);
	return n;
}

static void set_gate(int open)
{
	pthread_mutex_lock(&g.lock);
	g.open = open;
	g.entered = open ? g.entered : 0;
	pthread_cond_broadcast(&g.change);
	pthread_mutex_unlock(&g.lock);
}

static uint32_t pending(em_file *f)
{
	uint32_t n;

	pthread_mutex_lock(&f->queue->lock);
	n = f->pending;
	pthread_mutex_unlock(&f->queue->lock);
	return n;
}

/* A transfer of a page by a thread of its own. */
typedef struct caller {
	em_file *f;
	int write;
	uint64_t offset;
	char buf[PAGE];
	em_status status;
} caller;

static void *call(void *arg)
{
	caller *c = arg;
	size_t moved;

	c->status = c->write ? em_file_write(c->f, c->buf, PAGE, c->offset)
			     : em_file_read(c->f, c->buf, PAGE, c->offset, &moved);
	return NULL;
}

static em_file *make_file(em_ctx **ctx, const char *dir, int32_t direct)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_file_opts how = EM_FILE_OPTS_INIT;
	em_file *f = NULL;

	memset(&g, 0, sizeof g);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.change, NULL);
	g.inner = em_backend_find("syscall");
	g.be = *g.inner;
	g.be.read = held_read;
	g.be.write = held_write;
	g.open = 1;
	opts.custom = &g.be;
	opts.direct = direct;
	assert_int_equal(em_ctx_open(ctx, &opts), EM_OK);
	how.flags = EM_OPEN_TEMP;
	assert_int_equal(em_file_open(&f, *ctx, dir, &how), EM_OK);
	return f;
}

/* One transfer is held, another one of a caller comes `apart' bytes behind it. */
static void meet(em_file *f, int first_writes, int second_writes, uint64_t apart)
{
	const int conflict = (first_writes || second_writes) && apart < PAGE;
	static char old[3 * PAGE], buf[PAGE];
	em_request *rq;
	caller c;
	pthread_t thread;
	size_t i;

	memset(old, 'o', sizeof old);
	assert_int_equal(em_file_write(f, old, sizeof old, 0), EM_OK);
	memset(buf, first_writes ? '1' : 0, PAGE);
	memset(&c, 0, sizeof c);
	memset(c.buf, second_writes ? '2' : 0, PAGE);
	c.f = f;
	c.write = second_writes;
	c.offset = apart;
	set_gate(0);
	if (first_writes)
		assert_int_equal(em_file_write_async(f, buf, PAGE, 0, NULL, NULL, &rq), EM_OK);
	else
		assert_int_equal(em_file_read_async(f, buf, PAGE, 0, NULL, NULL, &rq), EM_OK);
	while (entered() == 0)
		sched_yield();
	assert_int_equal(pthread_create(&thread, NULL, call, &c), 0);
	if (conflict) {
		/* It is there, and has not begun. */
		while (pending(f) < 2 && entered() == 1)
			sched_yield();
		assert_int_equal(entered(), 1);
	} else {
		pthread_join(thread, NULL);
		assert_int_equal(pending(f), 1);
	}
	set_gate(1);
	if (conflict)
		pthread_join(thread, NULL);
	assert_int_equal(em_request_wait(rq), EM_OK);
	em_request_close(rq);
	assert_int_equal(c.status, EM_OK);
	for (i = 0; i < PAGE && !second_writes; i++)
		assert_int_equal(c.buf[i], first_writes && apart + i < PAGE ? '1' : 'o');
	for (i = 0; i < PAGE && !first_writes; i++)
		assert_int_equal(buf[i], 'o');
	assert_int_equal(em_file_read(f, old, sizeof old, 0, &i), EM_OK);
	for (i = 0; i < sizeof old; i++) {
		const int first = first_writes && i < PAGE, second = second_writes && i >= apart && i < apart + PAGE;

		assert_int_equal(old[i], second ? '2' : first ? '1' : 'o');
	}
}

static void test_order(void **state)
{
	static const uint64_t aparts[] = { 0, 1, PAGE - 1, PAGE, PAGE + 1 };
	char *dir = test_dir_make();
	em_ctx *ctx;
	em_file *f = make_file(&ctx, dir, EM_DIRECT_OFF);
	int how;
	size_t i;

	(void)state;
	/* A file that is not direct takes one write at a time: two of them are another matter. */
	for (how = 0; how < 3; how++)
		for (i = 0; i < sizeof aparts / sizeof *aparts; i++)
			meet(f, how & 1, how >> 1, aparts[i]);
	meet(f, 1, 1, 0);
	meet(f, 1, 1, PAGE - 1);
	em_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* The end of a direct file is written through a whole page, what is behind it cut off again: nobody writes there
 * meanwhile. */
static void test_cut(void **state)
{
	char *dir = test_dir_make();
	char *page = NULL;
	em_ctx *ctx;
	em_file *f = make_file(&ctx, dir, EM_DIRECT_TRY);
	em_request *rq[2];
	uint64_t size = 0;
	void *p;
	int round;

	(void)state;
	assert_int_equal(posix_memalign(&p, PAGE, 2 * PAGE), 0);
	page = p;
	memset(page, 'x', 2 * PAGE);
	for (round = 0; round < 3 && em_file_is_direct(f); round++) {
		assert_int_equal(em_file_resize(f, 0), EM_OK);
		set_gate(0);
		assert_int_equal(em_file_write_async(f, page, 100, 0, NULL, NULL, &rq[0]), EM_OK);
		assert_int_equal(em_file_write_async(f, page + PAGE, PAGE, 2 * PAGE, NULL, NULL, &rq[1]), EM_OK);
		while (entered() == 0)
			sched_yield();
		/* It may come only when somebody wakes up for it. */
		assert_false(em_request_wait_for(rq[1], 0.02));
		assert_int_equal(entered(), 1);
		set_gate(1);
		assert_int_equal(em_request_wait(rq[1]), EM_OK);
		assert_int_equal(em_request_wait(rq[0]), EM_OK);
		em_request_close(rq[0]);
		em_request_close(rq[1]);
		assert_int_equal(em_file_size(f, &size), EM_OK);
		assert_int_equal(size, 3 * PAGE);
		assert_int_equal(em_file_resize(f, 0), EM_OK);
		assert_int_equal(em_file_write(f, page, 100, 0), EM_OK);
		assert_int_equal(em_file_size(f, &size), EM_OK);
		assert_int_equal(size, 100);
	}
	free(page);
	em_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* What no file can hold goes to no backend. */
static void test_beyond(void **state)
{
	static const uint64_t offsets[] = { INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 10, UINT64_MAX };
	char *dir = test_dir_make(), buf[16] = "";
	em_ctx *ctx;
	em_file *f = make_file(&ctx, dir, EM_DIRECT_OFF);
	size_t i, moved;

	(void)state;
	for (i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		assert_int_equal(em_file_write(f, buf, sizeof buf, offsets[i]), EM_ERR_RANGE);
		assert_int_equal(em_file_read(f, buf, sizeof buf, offsets[i], &moved), EM_ERR_RANGE);
	}
	assert_int_equal(entered(), 0);
	em_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_beyond),
	};

	return cmocka_run_group_tests_name("blocking", tests, NULL, NULL);
}
