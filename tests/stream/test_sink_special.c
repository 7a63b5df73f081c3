/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sink_special.c -- outputs that are no regular files, and those that cannot be written.
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
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stream/sink_test.h"

/* Somebody who reads a pipe to its end, or only so much of it. */
typedef struct drain {
	const char *path;
	int fd;
	size_t most, got;
	char *data;
} drain;

static void *drain_all(void *arg)
{
	drain *d = arg;

	if (d->fd < 0)
		d->fd = open(d->path, O_RDONLY);
	while (d->got < d->most) {
		ssize_t n = read(d->fd, d->data + d->got, d->most - d->got);

		if (n <= 0)
			break;
		d->got += (size_t)n;
	}
	close(d->fd);
	return NULL;
}

static void test_fifo(void **state)
{
	enum { N = 300001 };
	char *dir = test_dir_make(), *path = test_path(dir, "fifo"), *data = sink_make_data(N);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	pthread_t thread;
	struct stat sb;
	drain d;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	memset(&d, 0, sizeof(d));
	d.path = path;
	d.fd = -1;
	d.most = N + 1;
	d.data = malloc(N + 1);
	assert_int_equal(pthread_create(&thread, NULL, drain_all, &d), 0);
	assert_int_equal(sink_write_out(ctx, path, data, N, 33333, N, &err), EM_OK);
	pthread_join(thread, NULL);
	assert_int_equal(d.got, N);
	assert_memory_equal(d.data, data, N);
	assert_int_equal(stat(path, &sb), 0);
	assert_true(S_ISFIFO(sb.st_mode));

	/* The reader goes away in the middle.  We are still here afterwards. */
	d.fd = -1;
	d.most = 1000;
	d.got = 0;
	assert_int_equal(pthread_create(&thread, NULL, drain_all, &d), 0);
	assert_int_equal(sink_write_out(ctx, path, data, N, 33333, N, &err), EM_ERR_PIPE);
	assert_int_equal(err.sys_errno, EPIPE);
	pthread_join(thread, NULL);
	em_ctx_close(ctx);
	free(d.data);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* SIGPIPE has its default action, and is neither delivered nor left pending; one that was pending stays. */
static void test_sigpipe(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	sigset_t set, old, pending;
	int pending_before;

	(void)state;
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	for (pending_before = 0; pending_before < 2; pending_before++) {
		int fds[2], saved;
		em_errinfo err;
		em_status st;

		if (pending_before) {
			assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
			assert_int_equal(raise(SIGPIPE), 0);
		}
		assert_int_equal(pipe(fds), 0);
		close(fds[0]);
		saved = stream_replace_fd(STDOUT_FILENO, fds[1]);
		close(fds[1]);
		st = sink_write_out(ctx, "-", "x", 1, PAGE, 0, &err);
		stream_restore_fd(STDOUT_FILENO, saved);
		assert_int_equal(st, EM_ERR_PIPE);
		assert_non_null(strstr(err.text, "standard output"));
		sigpending(&pending);
		assert_int_equal(sigismember(&pending, SIGPIPE), pending_before);
	}
	{
		const struct timespec now = { 0, 0 };

		assert_int_equal(sigtimedwait(&set, NULL, &now), SIGPIPE);
	}
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	/* The mask is what it was. */
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &pending), 0);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
	em_ctx_close(ctx);
}

/* A redirected standard output is written where it stands, and stays open; a non-blocking one is waited for. */
static void test_stdout(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(200000);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fd, saved, fds[2], still;
	pthread_t thread;
	em_errinfo err;
	em_status st;
	drain d;

	(void)state;
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "head", 4), 4);
	saved = stream_replace_fd(STDOUT_FILENO, fd);
	st = sink_write_out(ctx, "-", "body", 4, PAGE, 4, &err);
	still = fcntl(STDOUT_FILENO, F_GETFD);
	stream_restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(st, EM_OK);
	assert_true(still >= 0);
	close(fd);
	stream_assert_file(path, "headbody", 8);

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	memset(&d, 0, sizeof(d));
	d.fd = fds[0];
	d.most = 200001;
	d.data = malloc(d.most);
	saved = stream_replace_fd(STDOUT_FILENO, fds[1]);
	close(fds[1]);
	fd = pthread_create(&thread, NULL, drain_all, &d);
	st = sink_write_out(ctx, "-", data, 200000, 70000, 0, &err);
	stream_restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(fd, 0);
	pthread_join(thread, NULL);
	assert_int_equal(st, EM_OK);
	assert_int_equal(d.got, 200000);
	assert_memory_equal(d.data, data, 200000);
	em_ctx_close(ctx);
	free(d.data);
	free(data);
	free(path);
	test_dir_remove(dir);
}

static void test_devices(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	char *data = sink_make_data(10000);
	em_errinfo err;
	struct stat sb;
	emi_sink *s;

	(void)state;
	assert_int_equal(sink_write_out(ctx, "/dev/null", data, 10000, 3000, 10000, &err), EM_OK);
	assert_int_equal(stat("/dev/null", &sb), 0);
	assert_true(S_ISCHR(sb.st_mode));
	assert_int_equal(sink_write_out(ctx, "/dev/full", data, 10000, 3000, 10000, &err), EM_ERR_NOSPACE);
	assert_string_equal(err.path, "/dev/full");
	assert_int_equal(err.sys_errno, ENOSPC);

	/* The failure stays, also for the commit. */
	assert_int_equal(emi_sink_open(&s, ctx, "/dev/full", 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, data, 10, 10, NULL), EM_ERR_NOSPACE);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_sink_commit(s, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	emi_sink_close(s);
	em_ctx_close(ctx);
	free(data);
}

/* Put so much that it does not fit; nothing may remain.  Returns what is wrong, as it also runs in a child. */
static const char *overfill(em_ctx *ctx, const char *dir, const char *data, size_t bytes)
{
	char *path = test_path(dir, "out");
	const char *wrong = NULL;
	em_errinfo err;

	if (sink_write_out(ctx, path, data, bytes, 40000, bytes, &err) != EM_ERR_NOSPACE)
		wrong = "not noticed when opening";
	else if (sink_entries(dir) != 0)
		wrong = "something remains of one that was not opened";
	else if (sink_write_out(ctx, path, data, bytes, 40000, 0, &err) != EM_ERR_NOSPACE)
		wrong = "not noticed when writing";
	else if (sink_entries(dir) != 0)
		wrong = "something remains of one that was not written";
	free(path);
	return wrong;
}

/* Files may not grow beyond a limit: what a full disk looks like, for everybody and on every file system. */
static void test_file_size_limit(void **state)
{
	char *dir = test_dir_make(), *data = sink_make_data(400000);
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit old, low;
	const char *wrong;
	int direct;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 131072;
	for (direct = EM_DIRECT_TRY; direct <= EM_DIRECT_OFF; direct++) {
		em_ctx *ctx = stream_ctx(direct, NULL, NULL, NULL);

		assert_non_null(ctx);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
		wrong = overfill(ctx, dir, data, 400000);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		if (wrong != NULL)
			fail_msg("%s", wrong);
		em_ctx_close(ctx);
	}
	signal(SIGXFSZ, before);
	free(data);
	test_dir_remove(dir);
}

/* In a process of its own, whose mounts go away with it: 0, or the number of what went wrong; 100: may not mount. */
static int on_a_small_disk(const char *dir, const char *data)
{
	char *path = test_path(dir, "out");
	struct stat sb;
	em_errinfo err;
	em_ctx *ctx;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", dir, "tmpfs", 0, "size=1m") != 0)
		return 100;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	if (ctx == NULL)
		return 1;
	if (overfill(ctx, dir, data, 4000000) != NULL)
		return 2;
	/* Now there is room again. */
	if (sink_write_out(ctx, path, data, 500000, 40000, 500000, &err) != EM_OK)
		return 3;
	if (stat(path, &sb) != 0 || sb.st_size != 500000)
		return 4;
	em_ctx_close(ctx);
	free(path);
	return 0;
}

/* And a full disk, where we may mount one; where not, a backend that says so. */
static void test_full_disk(void **state)
{
	char *dir = test_dir_make(), *data = sink_make_data(4000000), *path = test_path(dir, "out");
	em_fault fault;
	em_ctx *ctx;
	em_errinfo err;
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(on_a_small_disk(dir, data));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != 100)
		assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	fault.ops = EM_FAULT_RESERVE;
	fault.sys_errno = ENOSPC;
	fault.nth = 1;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_int_equal(sink_write_out(ctx, path, data, 4000, 4000, 4000, &err), EM_ERR_NOSPACE);
	assert_int_equal(fault.injected, 1);
	em_fault_set(&fault, EM_FAULT_WRITE, 3, UINT64_MAX);
	assert_int_equal(sink_write_out(ctx, path, data, 4000000, 40000, 4000000, &err), EM_ERR_NOSPACE);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(path);
	free(data);
	test_dir_remove(dir);
}

/* Each operation of the backend fails once, with and without unnamed files. */
static void test_failing_io(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(100000);
	static const uint32_t ops[] = { EM_FAULT_OPEN, EM_FAULT_RESIZE, EM_FAULT_RESERVE, EM_FAULT_WRITE };
	uint64_t nth, before;
	int failures = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
			em_fault fault;
			em_errinfo err;
			em_ctx *ctx;
			em_status st;

			assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
			fault.ops = ops[i];
			fault.nth = nth;
			ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
			before = em_ctx_memory_used(ctx);
			st = sink_write_out(ctx, path, data, 99999, 9000, 99999, &err);
			assert_int_equal(em_ctx_memory_used(ctx), before);
			em_ctx_close(ctx);
			if (fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				stream_assert_file(path, data, 99999);
				assert_int_equal(unlink(path), 0);
				break;
			}
			failures++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(err.sys_errno, EIO);
			assert_true(strstr(err.path, "out") != NULL);
			assert_dir_empty(dir);
		}
	assert_true(failures >= 4 || !test_sweeps());
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* Each allocation fails once. */
static void test_failing_memory(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(30000);
	int existing, failures = 0;

	(void)state;
	for (existing = 0; existing < 2; existing++) {
		uint64_t at;
		int done = 0;

		for (at = test_nth_after(0, 1); !done; at = test_nth_after(at, 1)) {
			test_memory mem;
			em_ctx *ctx;

			if (existing)
				stream_write_file(path, "old", 3);
			test_memory_init(&mem, at);
			ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, &mem);
			if (ctx != NULL) {
				em_errinfo err;
				em_status st = sink_write_out(ctx, path, data, 30000, 7000, 30000, &err);

				done = !test_memory_failed(&mem);
				if (done) {
					assert_int_equal(st, EM_OK);
				} else if (st != EM_OK) {
					failures++;
					assert_int_equal(st, EM_ERR_NOMEM);
					assert_int_equal(sink_entries(dir), existing);
					if (existing)
						stream_assert_file(path, "old", 3);
				}
				em_ctx_close(ctx);
			}
			test_memory_assert_clean(&mem);
			unlink(path);
		}
	}
	assert_true(failures > 8 || !test_sweeps());
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* A child that closes what it inherited takes nothing away from the parent. */
static void test_fork(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_fault fault;
	em_ctx *ctx;
	emi_sink *s;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
	fault.ops = EM_FAULT_OPEN;
	fault.nth = 1;
	fault.sys_errno = EOPNOTSUPP;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(sink_put_all(s, "data", 4, PAGE, NULL), EM_OK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		emi_sink_close(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(sink_entries(dir), 1);
	assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	stream_assert_file(path, "data", 4);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_sigpipe),
		cmocka_unit_test(test_stdout),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_file_size_limit),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_failing_io),
		cmocka_unit_test(test_failing_memory),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("sink_special", tests, NULL, NULL);
}
