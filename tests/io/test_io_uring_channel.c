/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_io_uring_channel.c -- the channel of the io_uring backend by itself, without the library's queues.
 *
 * What has to stay in flight for a while is a read of an empty pipe.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/io_test.h"
#include "io/refuse.h"

#define MILLISECOND ((int64_t)1000000)

static void on_signal(int sig)
{
	(void)sig;
}

/* A channel of the table's, and reads of an empty pipe, which stay in flight. */
enum { PIPE_DEPTH = 2 };

typedef struct pipe_case {
	const em_backend *be;
	char *dir, *path;
	void *file, *channel;
	em_transfer t[PIPE_DEPTH + 1], *list[PIPE_DEPTH + 1], *got[PIPE_DEPTH + 1];
	char byte[PIPE_DEPTH + 1];
} pipe_case;

static void pipe_open(pipe_case *c)
{
	em_backend_open how;
	unsigned i;

	memset(c, 0, sizeof *c);
	c->be = em_backend_find("io_uring");
	if (!c->be)
		skip();
	c->dir = test_dir_make();
	c->path = test_path(c->dir, "pipe");
	assert_int_equal(mkfifo(c->path, 0600), 0);
	memset(&how, 0, sizeof how);
	how.size = sizeof how;
	how.flags = EM_OPEN_WRITE;
	how.path = c->path;
	how.want_direct = EM_DIRECT_OFF;
	how.depth = PIPE_DEPTH;
	assert_int_equal(c->be->open(c->be->user, &how), 0);
	c->file = how.handle;
	assert_int_equal(c->be->open_channel(c->be->user, PIPE_DEPTH, &c->channel), 0);
	for (i = 0; i <= PIPE_DEPTH; i++) {
		c->t[i].buf = &c->byte[i];
		c->t[i].bytes = 1;
		c->t[i].handle = c->file;
		c->list[i] = &c->t[i];
	}
}

static void pipe_close(pipe_case *c)
{
	c->be->close(c->file, 0);
	c->be->close_channel(c->channel, 0);
	free(c->path);
	test_dir_remove(c->dir);
}

static void pipe_write(const pipe_case *c, const char *bytes, size_t n)
{
	assert_int_equal(write(c->be->fd(c->file), bytes, n), n);
}

/* Transfers beyond the depth are not taken until others were collected. */
static void test_full(void **state)
{
	pipe_case c;

	(void)state;
	pipe_open(&c);
	assert_int_equal(c.be->submit(c.channel, c.list, PIPE_DEPTH + 1), PIPE_DEPTH);
	assert_int_equal(c.be->submit(c.channel, c.list + PIPE_DEPTH, 1), -EAGAIN);
	pipe_write(&c, "x", 1);
	assert_int_equal(c.be->reap(c.channel, c.got, PIPE_DEPTH, -1), 1);
	assert_int_equal(c.got[0]->result, 1);
	assert_int_equal(*(char *)c.got[0]->buf, 'x');
	assert_int_equal(c.be->submit(c.channel, c.list + PIPE_DEPTH, 1), 1);
	assert_int_equal(c.be->submit(c.channel, c.got, 1), -EAGAIN);
	pipe_write(&c, "yz", 2);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, -1), 1);
	assert_int_equal(c.be->reap(c.channel, c.got + 1, PIPE_DEPTH, -1), 1);
	assert_ptr_not_equal(c.got[0], c.got[1]);
	assert_int_equal(c.got[0]->result + c.got[1]->result, 2);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, 0), 0);
	pipe_close(&c);
}

/* What cannot be handed over ends the batch, and is refused when it is the first. */
static void test_bad_offset(void **state)
{
	pipe_case c;

	(void)state;
	pipe_open(&c);
	c.t[1].offset = UINT64_MAX;
	assert_int_equal(c.be->submit(c.channel, c.list, 2), 1);
	assert_int_equal(c.be->submit(c.channel, c.list + 1, 1), -EFBIG);
	pipe_write(&c, "x", 1);
	assert_int_equal(c.be->reap(c.channel, c.got, PIPE_DEPTH, -1), 1);
	assert_ptr_equal(c.got[0], &c.t[0]);
	pipe_close(&c);
}

/* Nothing comes before the limit: whatever the kernel, and whoever submitted. */
static int limits(pipe_case *c)
{
	int r;

	if (c->be->submit(c->channel, c->list, 1) != 1 || c->be->reap(c->channel, c->got, 1, 0) != 0)
		return 1;
	do
		r = c->be->reap(c->channel, c->got, 1, 5 * MILLISECOND);
	while (r == -EINTR);
	if (r != 0)
		return 2;
	if (write(c->be->fd(c->file), "x", 1) != 1)
		return 3;
	do
		r = c->be->reap(c->channel, c->got, 1, 60000 * MILLISECOND);
	while (r == -EINTR);
	return r != 1 || c->got[0]->result != 1 || c->byte[0] != 'x' ? 4 : 0;
}

static void test_limit(void **state)
{
	pipe_case c;

	(void)state;
	pipe_open(&c);
	assert_int_equal(limits(&c), 0);
	pipe_close(&c);
}

static int limits_by_poll(void)
{
	pipe_case c;
	int r;

	if (!em_backend_find("io_uring") || !refuse(__NR_io_uring_enter, 3, BPF_JSET, IORING_ENTER_EXT_ARG, EINVAL))
		return CHILD_CANNOT;
	pipe_open(&c);
	r = limits(&c);
	if (r == 0)
		r = limits(&c);
	pipe_close(&c);
	return r;
}

static void test_limit_by_poll(void **state)
{
	(void)state;
	run_in_child(limits_by_poll);
}

#ifdef IORING_ASYNC_CANCEL_FD_FIXED

/* Have the kernel give up all transfers of the ring, which is the descriptor opened last; 0 where it cannot. */
static int give_up(void)
{
	struct io_uring_sync_cancel_reg all;
	const int above = dup(0), ring = above - 1;
	long r;

	close(above);
	memset(&all, 0, sizeof all);
	all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
	all.timeout.tv_sec = all.timeout.tv_nsec = -1;
	r = syscall(__NR_io_uring_register, ring, IORING_REGISTER_SYNC_CANCEL, &all, 1);
	return r >= 0;
}

/* What the kernel gave up is to be made again, as if it had been interrupted. */
static void test_given_up(void **state)
{
	pipe_case c;
	int can;

	(void)state;
	pipe_open(&c);
	assert_int_equal(c.be->submit(c.channel, c.list, 1), 1);
	can = give_up();
	if (!can)
		pipe_write(&c, "x", 1);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, -1), 1);
	assert_int_equal(c.got[0]->result, can ? -EINTR : 1);
	pipe_close(&c);
}

#endif

typedef struct reaper {
	pipe_case *c;
	int64_t timeout;
	int result, over;
} reaper;

static void *reap_once(void *arg)
{
	reaper *r = arg;

	r->result = r->c->be->reap(r->c->channel, r->c->got, 1, r->timeout);
	__atomic_store_n(&r->over, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A signal ends a wait, of either kind. */
static void test_interrupted(void **state)
{
	static const int64_t timeout[] = {-1, 600000 * MILLISECOND};
	struct sigaction act, old;
	pipe_case c;
	unsigned i;

	(void)state;
	pipe_open(&c);
	memset(&act, 0, sizeof act);
	act.sa_handler = on_signal;
	assert_int_equal(sigaction(SIGUSR1, &act, &old), 0);
	assert_int_equal(c.be->submit(c.channel, c.list, 1), 1);
	for (i = 0; i < 2; i++) {
		reaper r = {&c, timeout[i], 0, 0};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, reap_once, &r), 0);
		/* It may not have begun. */
		while (!__atomic_load_n(&r.over, __ATOMIC_ACQUIRE)) {
			pthread_kill(thread, SIGUSR1);
			usleep(1000);
		}
		pthread_join(thread, NULL);
		assert_int_equal(r.result, -EINTR);
	}
	pipe_write(&c, "x", 1);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, -1), 1);
	sigaction(SIGUSR1, &old, NULL);
	pipe_close(&c);
}

/* A child that closes its copy of a ring leaves the parent's transfers alone. */
static void test_fork(void **state)
{
	pipe_case c;
	int status;
	pid_t pid;

	(void)state;
	pipe_open(&c);
	assert_int_equal(c.be->submit(c.channel, c.list, 1), 1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		c.be->close(c.file, 1);
		c.be->close_channel(c.channel, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, 5 * MILLISECOND), 0);
	pipe_write(&c, "x", 1);
	assert_int_equal(c.be->reap(c.channel, c.got, 1, -1), 1);
	assert_int_equal(c.got[0]->result, 1);
	pipe_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_bad_offset),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_limit_by_poll),
#ifdef IORING_ASYNC_CANCEL_FD_FIXED
		cmocka_unit_test(test_given_up),
#endif
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("io/io_uring_channel", tests, NULL, NULL);
}
