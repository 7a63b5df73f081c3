/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_io_uring.c -- transfers through the rings shared with the kernel.
 *
 * Kernels that refuse some of it, or are older, are this one under a filter of system calls, in a child.
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "io/io_test.h"
#include "io/refuse.h"

enum { ENOUGH = 24 << 20 };

/* A copy of the backend counts what is submitted; tests run one after the other. */
static uint64_t submitted;
static const em_backend *inner;

static int count_submit(void *channel, em_transfer *const *list, uint32_t n)
{
	int r = inner->submit(channel, list, n);

	if (r > 0)
		__atomic_add_fetch(&submitted, (uint64_t)r, __ATOMIC_RELAXED);
	return r;
}

/* NULL where there is no io_uring. */
static em_ctx *counting_ctx(em_backend *be, io_setup *setup)
{
	inner = em_backend_find("io_uring");
	if (!inner)
		return NULL;
	*be = *inner;
	be->submit = count_submit;
	submitted = 0;
	setup->custom = be;
	return io_ctx(setup);
}

/* Random traffic; how many transfers went through the ring, or -1 where there is no io_uring or no direct file. */
static int64_t traffic(uint32_t depth, int32_t direct, em_log_fn log, void *user)
{
	char *dir = test_dir_make();
	io_setup setup = {0};
	int64_t count = -1;
	em_backend be;
	em_ctx *ctx;
	em_file *f;

	setup.dir = dir;
	setup.depth = depth;
	setup.direct = direct;
	setup.log = log;
	setup.log_user = user;
	ctx = counting_ctx(&be, &setup);
	if (ctx) {
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		io_traffic(ctx, f, ENOUGH, emi_file_direct(f));
		if (emi_file_direct(f) || direct == EM_DIRECT_OFF)
			count = (int64_t)__atomic_load_n(&submitted, __ATOMIC_RELAXED);
		emi_file_close(f);
		assert_dir_empty(dir);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
	return count;
}

static int is_listed(void)
{
	uint32_t i;

	for (i = 0; i < em_backend_count(); i++)
		if (strcmp(em_backend_at(i)->name, "io_uring") == 0)
			return 1;
	return 0;
}

static int kernel_refuses(int e, const char *text)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;

	if (!refuse(__NR_io_uring_setup, 0, BPF_JGE, 0, e))
		return CHILD_CANNOT;
	if (em_backend_find("io_uring") || is_listed())
		return 1;
	opts.errinfo = &err;
	opts.backend = "io_uring";
	if (em_ctx_open(&ctx, &opts) != EM_ERR_NOTSUP || ctx || err.status != EM_ERR_NOTSUP)
		return 2;
	if (strstr(err.text, text) == NULL || strstr(err.text, "'io_uring'") == NULL)
		return 3;
	/* Nobody else minds. */
	opts.backend = NULL;
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		return 4;
	em_ctx_close(ctx);
	return 0;
}

static int without_permission(void)
{
	return kernel_refuses(EPERM, "refused by the kernel: Operation not permitted");
}

static int without_call(void)
{
	return kernel_refuses(ENOSYS, "refused by the kernel: Function not implemented");
}

/* Before this process knows the answer. */
static void test_kernel_refuses(void **state)
{
	(void)state;
	run_in_child(without_permission);
	run_in_child(without_call);
}

static void count_lines(void *user, int32_t level, const char *line)
{
	unsigned *count = user;

	if (level == EM_LOG_INFO && strstr(line, "io_uring cannot be used (errno 1)"))
		++*count;
}

static int without_channel(void)
{
	unsigned lines = 0;
	int64_t n;

	if (!em_backend_find("io_uring") || !refuse(__NR_io_uring_setup, 0, BPF_JGE, 1, EPERM))
		return CHILD_CANNOT;
	n = traffic(0, EM_DIRECT_TRY, count_lines, &lines);
	return n < 0 ? CHILD_CANNOT : n > 0 ? 1 : lines != 1 ? 2 : 0;
}

/* It is there, but a ring cannot be made: threads, and a line in the log. */
static void test_channel_refused(void **state)
{
	(void)state;
	run_in_child(without_channel);
}

static int enough_went_through(int64_t n)
{
	return n < 0 ? CHILD_CANNOT : n < 100;
}

static int without_large_rings(void)
{
	if (!em_backend_find("io_uring") || !refuse(__NR_io_uring_setup, 0, BPF_JGE, 9, ENOMEM))
		return CHILD_CANNOT;
	return enough_went_through(traffic(64, EM_DIRECT_TRY, NULL, NULL));
}

static int without_locked_memory(void)
{
	const struct rlimit none = {0, 0};

	if (!em_backend_find("io_uring") || setrlimit(RLIMIT_MEMLOCK, &none) != 0)
		return CHILD_CANNOT;
	/* A user whom the limit binds; an old kernel leaves him no ring at all. */
	if (geteuid() == 0 && setuid(65534) != 0)
		return CHILD_CANNOT;
	return traffic(4096, EM_DIRECT_TRY, NULL, NULL) < 0 ? CHILD_CANNOT : 0;
}

/* The kernel does not grant as many entries as there may be transfers. */
static void test_small_rings(void **state)
{
	(void)state;
	run_in_child(without_large_rings);
}

static void test_memory_limit(void **state)
{
	(void)state;
	run_in_child(without_locked_memory);
}

static int old_kernel(void)
{
	if (!em_backend_find("io_uring") || !refuse(__NR_io_uring_register, 0, BPF_JGE, 0, EINVAL) ||
	    !refuse(__NR_io_uring_enter, 3, BPF_JSET, IORING_ENTER_EXT_ARG, EINVAL))
		return CHILD_CANNOT;
	return enough_went_through(traffic(0, EM_DIRECT_TRY, NULL, NULL));
}

/* No plain reads and writes, no waiting with a limit. */
static void test_old_kernel(void **state)
{
	(void)state;
	run_in_child(old_kernel);
}

static void test_traffic(void **state)
{
	static const uint32_t depth[] = {0, 1, 2, 3, 64, 4096};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof depth / sizeof depth[0]; i++) {
		int64_t n = traffic(depth[i], EM_DIRECT_TRY, NULL, NULL);

		if (n < 0)
			skip();
		/* Only the beginning of a file goes another way. */
		assert_true(n > 100);
	}
}

/* Transfers of buffered files are made by threads. */
static void test_buffered(void **state)
{
	int64_t n = traffic(0, EM_DIRECT_OFF, NULL, NULL);

	(void)state;
	if (n < 0)
		skip();
	assert_int_equal(n, 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

/* Signals that come all the time interrupt whatever can be interrupted. */
static void test_signals(void **state)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction act, old;
	int64_t n;

	(void)state;
	memset(&act, 0, sizeof act);
	act.sa_handler = on_signal;
	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	n = traffic(4, EM_DIRECT_TRY, NULL, NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	if (n < 0)
		skip();
	assert_true(n > 100);
}

/* Requests on a file, many at a time. */
enum { MANY = 48, PIECE = 1 << 20 };

typedef struct flight {
	em_ctx *ctx;
	em_file *f;
	emi_request rq[MANY];
	char *out;
} flight;

static void *start_all(void *arg)
{
	flight *x = arg;
	unsigned i;

	for (i = 0; i < MANY; i++)
		emi_write(x->f, &x->rq[i], x->out, PIECE, (uint64_t)i * PIECE, NULL);
	return NULL;
}

/* Start writing; 0 where there is no io_uring. */
static int flight_begin(flight *x, em_backend *be, const char *dir)
{
	test_rng rng = test_rng_make(test_seed());
	io_setup setup = {0};

	memset(x, 0, sizeof *x);
	setup.dir = dir;
	x->ctx = counting_ctx(be, &setup);
	if (!x->ctx)
		return 0;
	x->out = io_buffer(&rng, PIECE);
	x->f = io_open(x->ctx, dir, EMI_OPEN_TEMP);
	return 1;
}

static char *page_buffer(void)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, PIECE), 0);
	return p;
}

/* All is done, and right. */
static void flight_end(flight *x)
{
	char *in = page_buffer();
	unsigned i;

	for (i = 0; i < MANY; i++)
		assert_int_equal(emi_wait(&x->rq[i], NULL), EM_OK);
	for (i = 0; i < MANY; i++) {
		memset(in, 0, PIECE);
		assert_int_equal(io_read(x->f, in, PIECE, (uint64_t)i * PIECE, NULL), EM_OK);
		assert_memory_equal(in, x->out, PIECE);
	}
	emi_file_close(x->f);
	em_ctx_close(x->ctx);
	free(in);
	free(x->out);
}

/* Transfers of a thread that ends before them. */
static void test_submitter_ends(void **state)
{
	char *dir = test_dir_make();
	pthread_t thread;
	em_backend be;
	flight x;
	int there = flight_begin(&x, &be, dir);

	(void)state;
	if (there) {
		assert_int_equal(pthread_create(&thread, NULL, start_all, &x), 0);
		pthread_join(thread, NULL);
		flight_end(&x);
	}
	test_dir_remove(dir);
	if (!there)
		skip();
}

/* A child that closes everything while the parent's transfers are in flight. */
static void test_fork_in_flight(void **state)
{
	char *dir = test_dir_make();
	em_backend be;
	int there, status;
	flight x;
	pid_t pid;

	(void)state;
	there = !TEST_TSAN && flight_begin(&x, &be, dir);
	if (there) {
		start_all(&x);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			em_status status_of_child = emi_wait(&x.rq[MANY - 1], NULL);

			emi_file_close(x.f);
			em_ctx_close(x.ctx);
			_exit(status_of_child != EM_ERR_FORK && status_of_child != EM_OK);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		flight_end(&x);
	}
	test_dir_remove(dir);
	if (!there)
		skip();
}

/* The end of a file that does not end with a page, read by transfers that do. */
static void test_end_of_file(void **state)
{
	char *dir = test_dir_make(), *in;
	em_backend be;
	emi_request *rq;
	unsigned i;
	flight x;

	(void)state;
	if (!flight_begin(&x, &be, dir)) {
		test_dir_remove(dir);
		skip();
	}
	in = page_buffer();
	start_all(&x);
	for (i = 0; i < MANY; i++)
		assert_int_equal(emi_wait(&x.rq[i], NULL), EM_OK);
	assert_int_equal(emi_file_resize(x.f, 31 * (uint64_t)PIECE + 5000, NULL), EM_OK);
	for (i = 30; i < 33; i++) {
		rq = &x.rq[i];
		memset(in, 0, PIECE);
		emi_read(x.f, rq, in, PIECE, (uint64_t)i * PIECE, NULL);
		assert_int_equal(emi_wait(rq, NULL), EM_OK);
		assert_int_equal(rq->done, i == 30 ? PIECE : i == 31 ? 5000 : 0);
		assert_memory_equal(in, x.out, rq->done);
	}
	emi_file_close(x.f);
	em_ctx_close(x.ctx);
	free(in);
	free(x.out);
	test_dir_remove(dir);
}

/* Traffic through a backend below which so many operations fail, from the nth on.  Returns whether it was direct. */
static int faulty_traffic(em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times, int32_t sys_errno)
{
	char *dir = test_dir_make();
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;
	int direct;

	em_fault_init(fault, em_backend_find("io_uring"));
	fault->ops = ops;
	fault->nth = nth;
	fault->times = times;
	fault->sys_errno = sys_errno;
	setup.custom = em_fault_backend(fault);
	ctx = io_ctx(&setup);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	direct = emi_file_direct(f);
	io_traffic(ctx, f, ENOUGH, direct);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	return direct;
}

/* Faults below the retries, on the asynchronous way: all are survived. */
static void test_faults(void **state)
{
	static const int32_t mild[] = {EINTR, EAGAIN, 0};
	em_fault fault;
	unsigned i;

	(void)state;
	if (!em_backend_find("io_uring"))
		skip();
	for (i = 0; i < 3; i++) {
		faulty_traffic(&fault, EM_FAULT_READ | EM_FAULT_WRITE, 100, 20, mild[i]);
		assert_int_equal(fault.injected, 20);
	}
}

/* Requests that the kernel does not take now are held back, ones that it does not take at all are made by threads. */
static void test_submit_refused(void **state)
{
	static const int32_t why[] = {EAGAIN, EINTR, EINVAL, ENOSYS};
	em_fault fault;
	unsigned i;

	(void)state;
	if (!em_backend_find("io_uring"))
		skip();
	for (i = 0; i < 4; i++)
		if (faulty_traffic(&fault, EM_FAULT_SUBMIT, i < 2 ? 20 : 1, 60, why[i]))
			assert_true(fault.injected > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_refuses),
		cmocka_unit_test(test_channel_refused),
		cmocka_unit_test(test_small_rings),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_buffered),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_submitter_ends),
		cmocka_unit_test(test_fork_in_flight),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_submit_refused),
	};

	return cmocka_run_group_tests_name("io/backend_io_uring", tests, NULL, NULL);
}
