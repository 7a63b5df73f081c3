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
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/async_test.h"
#include "io/refuse.h"

static int64_t traffic(uint32_t depth, em_log_fn log, void *user)
{
	return async_traffic("io_uring", depth, EM_DIRECT_TRY, log, user);
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
	n = traffic(0, count_lines, &lines);
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
	return enough_went_through(traffic(64, NULL, NULL));
}

static int without_locked_memory(void)
{
	const struct rlimit none = {0, 0};

	if (!em_backend_find("io_uring") || setrlimit(RLIMIT_MEMLOCK, &none) != 0)
		return CHILD_CANNOT;
	/* A user whom the limit binds; an old kernel leaves him no ring at all. */
	if (geteuid() == 0 && setuid(65534) != 0)
		return CHILD_CANNOT;
	return traffic(4096, NULL, NULL) < 0 ? CHILD_CANNOT : 0;
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
	return enough_went_through(traffic(0, NULL, NULL));
}

/* No plain reads and writes, no waiting with a limit. */
static void test_old_kernel(void **state)
{
	(void)state;
	run_in_child(old_kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_refuses),
		cmocka_unit_test(test_channel_refused),
		cmocka_unit_test(test_small_rings),
		cmocka_unit_test(test_memory_limit),
		cmocka_unit_test(test_old_kernel),
	};

	return cmocka_run_group_tests_name("io/backend_io_uring", tests, NULL, NULL);
}
