/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_async.c -- transfers that the kernel makes on its own, by every backend that has a channel: random
 * traffic at any depth, signals and forks in the middle of it, and refusals.  What a backend does besides is in its own
 * test.
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
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "io/async_test.h"

/* Run fn with the name of each such backend; the test is skipped when none of them could be tried. */
static void each(int (*fn)(const char *backend))
{
	unsigned tried = 0;
	uint32_t i;

	for (i = 0; i < em_backend_count(); i++)
		if (em_backend_at(i)->submit) {
			print_message("%s\n", em_backend_at(i)->name);
			tried += fn(em_backend_at(i)->name) != 0;
		}
	if (tried == 0)
		skip();
}

static int traffic_of(const char *backend)
{
	static const uint32_t depth[] = {0, 1, 2, 3, 64, 4096};
	unsigned i;

	for (i = 0; i < sizeof depth / sizeof depth[0]; i++) {
		int64_t n = async_traffic(backend, depth[i], EM_DIRECT_TRY, NULL, NULL);

		if (n < 0)
			return 0;
		/* Only the beginning of a file goes another way. */
		assert_true(n > 100);
	}
	return 1;
}

static void test_traffic(void **state)
{
	(void)state;
	each(traffic_of);
}

static int buffered_of(const char *backend)
{
	assert_int_equal(async_traffic(backend, 0, EM_DIRECT_OFF, NULL, NULL), 0);
	return 1;
}

/* Transfers of buffered files are made by threads. */
static void test_buffered(void **state)
{
	(void)state;
	each(buffered_of);
}

static void on_signal(int sig)
{
	(void)sig;
}

static int signals_of(const char *backend)
{
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	struct sigaction act, old;
	int64_t n;

	memset(&act, 0, sizeof act);
	act.sa_handler = on_signal;
	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	n = async_traffic(backend, 4, EM_DIRECT_TRY, NULL, NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	assert_true(n < 0 || n > 100);
	return n >= 0;
}

/* Signals that come all the time interrupt whatever can be interrupted. */
static void test_signals(void **state)
{
	(void)state;
	each(signals_of);
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

static void flight_begin(flight *x, const char *backend, em_backend *be, const char *dir)
{
	test_rng rng = test_rng_make(test_seed());
	io_setup setup = {0};

	memset(x, 0, sizeof *x);
	setup.dir = dir;
	x->ctx = async_ctx(backend, be, &setup);
	x->out = io_buffer(&rng, PIECE);
	x->f = io_open(x->ctx, dir, EMI_OPEN_TEMP);
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

static int submitter_ends_of(const char *backend)
{
	char *dir = test_dir_make();
	pthread_t thread;
	em_backend be;
	flight x;

	flight_begin(&x, backend, &be, dir);
	assert_int_equal(pthread_create(&thread, NULL, start_all, &x), 0);
	pthread_join(thread, NULL);
	flight_end(&x);
	test_dir_remove(dir);
	return 1;
}

/* Transfers of a thread that ends before them. */
static void test_submitter_ends(void **state)
{
	(void)state;
	each(submitter_ends_of);
}

static int fork_of(const char *backend)
{
	char *dir = test_dir_make();
	em_backend be;
	int status;
	flight x;
	pid_t pid;

	flight_begin(&x, backend, &be, dir);
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
	test_dir_remove(dir);
	return 1;
}

/* A child that closes everything while the parent's transfers are in flight. */
static void test_fork_in_flight(void **state)
{
	(void)state;
	if (TEST_TSAN)
		skip();
	each(fork_of);
}

static int end_of_file_of(const char *backend)
{
	char *dir = test_dir_make(), *in = page_buffer();
	em_backend be;
	emi_request *rq;
	unsigned i;
	flight x;

	flight_begin(&x, backend, &be, dir);
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
	return 1;
}

/* The end of a file that does not end with a page, read by transfers that do. */
static void test_end_of_file(void **state)
{
	(void)state;
	each(end_of_file_of);
}

/* Traffic through a backend below which so many operations fail, from the nth on.  Returns whether it was direct. */
static int faulty_traffic(const char *backend, em_fault *fault, uint32_t ops, uint64_t nth, uint64_t times,
			  int32_t sys_errno)
{
	char *dir = test_dir_make();
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;
	int direct;

	assert_int_equal(em_fault_init(fault, sizeof *fault, em_backend_find(backend)), EM_OK);
	fault->ops = ops;
	fault->nth = nth;
	fault->times = times;
	fault->sys_errno = sys_errno;
	setup.custom = em_fault_backend(fault);
	ctx = io_ctx(&setup);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	direct = emi_file_direct(f);
	io_traffic(ctx, f, ASYNC_ENOUGH, direct);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
	return direct;
}

static int faults_of(const char *backend)
{
	static const int32_t mild[] = {EINTR, EAGAIN, 0};
	em_fault fault;
	unsigned i;

	for (i = 0; i < 3; i++) {
		faulty_traffic(backend, &fault, EM_FAULT_READ | EM_FAULT_WRITE, 150, 20, mild[i]);
		assert_int_equal(fault.injected, 20);
	}
	return 1;
}

/* Faults below the retries, on the asynchronous way: all are survived. */
static void test_faults(void **state)
{
	(void)state;
	each(faults_of);
}

static int submit_refused_of(const char *backend)
{
	static const int32_t why[] = {EAGAIN, EINTR, EINVAL, ENOSYS};
	em_fault fault;
	unsigned i;

	for (i = 0; i < 4; i++)
		if (faulty_traffic(backend, &fault, EM_FAULT_SUBMIT, i < 2 ? 20 : 1, 60, why[i]))
			assert_true(fault.injected > 0);
	return 1;
}

/* Requests that the kernel does not take now are held back, ones that it does not take at all are made by threads. */
static void test_submit_refused(void **state)
{
	(void)state;
	each(submit_refused_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_buffered),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_submitter_ends),
		cmocka_unit_test(test_fork_in_flight),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_submit_refused),
	};

	return cmocka_run_group_tests_name("io/backend_async", tests, NULL, NULL);
}
