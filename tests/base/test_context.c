/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_context.c -- references, log, fork check, descriptors, option structs, clocks.
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
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/process.h"
#include "common/test.h"

#include "base_ctx.h"

#define MIB ((uint64_t)1 << 20)

/* The last reference releases, whoever holds it. */
static void references(void **state)
{
	test_memory mem;
	em_ctx *ctx;

	(void)state;
	test_memory_init(&mem, 0);
	ctx = base_ctx(MIB, 1, &mem.allocator);
	ctx->dir = emi_strdup(ctx, "/some/where", NULL);
	assert_non_null(ctx->dir);
	emi_ctx_ref(ctx);
	emi_ctx_ref(ctx);
	assert_int_equal(ctx->refs, 3);
	emi_ctx_unref(ctx);
	emi_ctx_unref(ctx);
	assert_int_equal(mem.blocks, 2);
	emi_ctx_unref(ctx);
	test_memory_assert_clean(&mem);
}

static void *ref_and_unref(void *arg)
{
	em_ctx *ctx = arg;
	int i;

	for (i = 0; i < 10000; i++) {
		emi_ctx_ref(ctx);
		emi_ctx_unref(ctx);
	}
	emi_ctx_unref(ctx);
	return NULL;
}

static void references_from_threads(void **state)
{
	pthread_t threads[3];
	test_memory mem;
	em_ctx *ctx;
	int i;

	(void)state;
	test_memory_init(&mem, 0);
	ctx = base_ctx(MIB, 1, &mem.allocator);
	for (i = 0; i < 3; i++) {
		emi_ctx_ref(ctx);
		assert_int_equal(pthread_create(&threads[i], NULL, ref_and_unref, ctx), 0);
	}
	emi_ctx_unref(ctx);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	test_memory_assert_clean(&mem);
}

typedef struct lines {
	int n;
	int32_t level;
	char last[1024];
} lines;

static void keep_line(void *user, int32_t level, const char *line)
{
	lines *l = user;

	l->n++;
	l->level = level;
	strncpy(l->last, line, sizeof(l->last) - 1);
}

static void logging(void **state)
{
	em_ctx *ctx = base_ctx(MIB, 1, NULL);
	char big[2000];
	lines l;

	(void)state;
	memset(&l, 0, sizeof(l));
	emi_log(ctx, EM_LOG_WARN, "nobody listens to %d", 1);
	ctx->log = keep_line;
	ctx->log_user = &l;
	emi_log(ctx, EM_LOG_INFO, "%s is %d", "it", 42);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.level, EM_LOG_INFO);
	assert_string_equal(l.last, "it is 42");
	memset(big, 'b', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	emi_log(ctx, EM_LOG_DEBUG, "%s", big);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.level, EM_LOG_DEBUG);
	assert_true(strlen(l.last) > 200);
	emi_ctx_unref(ctx);
}

static int knows_itself(void)
{
	return emi_process_id() == (int64_t)getpid();
}

/* In the process, its child and the child's child. */
static void process_id(void **state)
{
	pid_t pid, next;
	int wrong = 1;

	(void)state;
	assert_true(knows_itself());
	assert_true(knows_itself());
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		if (!knows_itself() || !knows_itself())
			_exit(1);
		next = fork();
		if (next == 0)
			_exit(!knows_itself());
		if (next == -1 || waitpid(next, &wrong, 0) != next || wrong != 0 || !knows_itself())
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &wrong, 0), pid);
	assert_int_equal(wrong, 0);
	assert_true(knows_itself());
}

static void fork_check(void **state)
{
	em_ctx *ctx = base_ctx(MIB, 1, NULL);
	em_errinfo err;
	int wstatus;
	pid_t pid;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_ctx_check(ctx, &err), EM_OK);
	assert_int_equal(err.status, EM_OK);
	assert_false(emi_ctx_forked(ctx));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int bad = 0;

		bad |= !emi_ctx_forked(ctx);
		bad |= emi_ctx_check(ctx, &err) != EM_ERR_FORK;
		bad |= err.status != EM_ERR_FORK || err.text[0] == '\0';
		bad |= emi_ctx_check(ctx, NULL) != EM_ERR_FORK;
		emi_ctx_unref(ctx);
		_exit(bad);
	}
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), 0);
	emi_ctx_unref(ctx);
}

static void descriptors(void **state)
{
	em_ctx *ctx = base_ctx(MIB, 1, NULL);
	em_errinfo err;
	uint32_t i;

	(void)state;
	memset(&err, 0, sizeof(err));
	for (i = 0; i < ctx->fds; i++)
		assert_int_equal(emi_fd_take(ctx, "/x", &err), EM_OK);
	assert_int_equal(err.status, EM_OK);
	assert_int_equal(emi_fd_take(ctx, "/x", &err), EM_ERR_FDLIMIT);
	assert_int_equal(err.status, EM_ERR_FDLIMIT);
	assert_string_equal(err.path, "/x");
	assert_int_equal(emi_fd_take(ctx, NULL, NULL), EM_ERR_FDLIMIT);
	emi_fd_drop(ctx);
	assert_int_equal(emi_fd_take(ctx, "/x", NULL), EM_OK);
	for (i = 0; i < ctx->fds; i++)
		emi_fd_drop(ctx);
	assert_int_equal(ctx->fds_used, 0);
	emi_ctx_unref(ctx);
}

static void clocks(void **state)
{
	double now = emi_now();
	double cpu = emi_cpu_now();
	volatile uint32_t x = 0;

	(void)state;
	assert_true(now > 0);
	assert_true(cpu > 0);
	/* both move on when there is work, however long that takes */
	while (emi_cpu_now() <= cpu)
		x++;
	while (emi_now() <= now)
		x++;
	assert_true(emi_now() > now);
	assert_true(emi_cpu_now() > cpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(references),
		cmocka_unit_test(references_from_threads),
		cmocka_unit_test(logging),
		cmocka_unit_test(process_id),
		cmocka_unit_test(fork_check),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(clocks),
	};

	return cmocka_run_group_tests_name("base/context", tests, NULL, NULL);
}
