/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_log.c -- lines of the log: whose thread tells them, in which order, how many are kept; and what they were told
 * with is freed once, whichever way a context ends, or does not begin.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem.h>

#include "base/log.h"
#include "base/workers.h"
#include "common/test.h"

enum { MOST = 400, TASKS = 40 };

typedef struct logged {
	pthread_t caller;
	uint32_t lines, foreign, freed;
	char text[MOST][64];
	em_sorter *sorter;      /* to be closed by the log function; or NULL */
	em_status busy;         /* what a call on it returned there */
} logged;

static void take_line(void *user, int32_t level, const char *line)
{
	logged *l = user;

	(void)level;
	if (!pthread_equal(pthread_self(), l->caller)) {
		__atomic_add_fetch(&l->foreign, 1, __ATOMIC_RELAXED);
		return;
	}
	if (l->lines < MOST)
		snprintf(l->text[l->lines++], sizeof l->text[0], "%s", line);
	if (l->sorter != NULL) {
		l->busy = em_sorter_push(l->sorter, "12345678", 1);
		em_sorter_close(l->sorter);
		l->sorter = NULL;
	}
}

static void count_free(void *user)
{
	((logged *)user)->freed++;
}

static em_ctx *open_ctx(logged *l, uint32_t flags)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	memset(l, 0, sizeof *l);
	l->caller = pthread_self();
	o.memory = 16 << 20;
	o.threads = 3;
	o.log = take_line;
	o.log_user = l;
	o.log_free = count_free;
	o.flags = flags;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	l->lines = l->foreign = 0;
	return ctx;
}

/* Tasks that threads of the library do, and none that the caller does while waiting. */
typedef struct job {
	emi_task task;
	em_ctx *ctx;
	uint32_t number, lines;
	uint32_t *done;
} job;

static void log_lines(void *arg)
{
	job *j = arg;
	uint32_t i;

	for (i = 0; i < j->lines; i++)
		emi_log(j->ctx, EM_LOG_WARN, "task %u line %u", (unsigned)j->number, (unsigned)i);
	__atomic_add_fetch(j->done, 1, __ATOMIC_RELEASE);
}

static void run(em_ctx *ctx, uint32_t tasks, uint32_t lines)
{
	static job jobs[TASKS];
	uint32_t done = 0, i;

	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	for (i = 0; i < tasks; i++) {
		jobs[i].ctx = ctx;
		jobs[i].number = i;
		jobs[i].lines = lines;
		jobs[i].done = &done;
		emi_task_submit(ctx, &jobs[i].task, log_lines, &jobs[i]);
	}
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < tasks)
		sched_yield();
	for (i = 0; i < tasks; i++)
		emi_task_wait(ctx, &jobs[i].task);
}

static em_sorter *open_sorter(em_ctx *ctx)
{
	em_order *order;
	em_sorter *s;

	assert_int_equal(em_order_keys(&order, ctx, 8, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	em_order_close(order);
	return s;
}

/* Each line comes once, and those of one task in their order. */
static void look(const logged *l, uint32_t tasks, uint32_t lines)
{
	uint32_t next[TASKS] = { 0 }, i;
	unsigned task, line;

	assert_int_equal(l->foreign, 0);
	assert_int_equal(l->lines, tasks * lines);
	for (i = 0; i < l->lines; i++) {
		assert_int_equal(sscanf(l->text[i], "task %u line %u", &task, &line), 2);
		assert_int_equal(line, next[task]++);
	}
}

static void test_caller(void **state)
{
	logged l;
	em_ctx *ctx = open_ctx(&l, EM_CTX_LOG_CALLER);
	em_sorter *s = open_sorter(ctx);
	uint64_t used;

	(void)state;
	assert_int_equal(em_sorter_push(s, "12345678", 1), EM_OK);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	l.lines = 0;
	used = em_ctx_memory_used(ctx);
	run(ctx, TASKS, 5);
	assert_int_equal(l.lines, 0);
	assert_true(em_ctx_memory_used(ctx) > used);
	/* The next call tells them, and a line of one's own comes behind them. */
	assert_int_equal(em_sorter_push(s, "12345678", 1), EM_OK);
	look(&l, TASKS, 5);
	assert_true(em_ctx_memory_used(ctx) == used);
	run(ctx, 1, 1);
	emi_log(ctx, EM_LOG_WARN, "mine");
	assert_int_equal(l.lines, TASKS * 5 + 2);
	assert_string_equal(l.text[TASKS * 5], "task 0 line 0");
	assert_string_equal(l.text[TASKS * 5 + 1], "mine");
	/* And so does the end of the context. */
	l.lines = 0;
	run(ctx, 2, 3);
	em_sorter_close(s);
	em_ctx_close(ctx);
	look(&l, 2, 3);
	assert_int_equal(l.freed, 1);
}

static void test_lost(void **state)
{
	logged l;
	em_ctx *ctx = open_ctx(&l, EM_CTX_LOG_CALLER);

	(void)state;
	run(ctx, 30, 10);
	em_ctx_close(ctx);
	assert_int_equal(l.lines, 257);
	assert_string_equal(l.text[256], "44 lines of the log were lost");
}

/* Without the flag they come at once, by whoever logs. */
static void test_any_thread(void **state)
{
	logged l;
	em_ctx *ctx = open_ctx(&l, 0);

	(void)state;
	run(ctx, 4, 3);
	assert_int_equal(l.foreign + l.lines, 12);
	em_ctx_close(ctx);
}

/* The function may close the object whose call tells the lines, and cannot use it. */
static void test_close(void **state)
{
	logged l;
	em_ctx *ctx = open_ctx(&l, EM_CTX_LOG_CALLER);
	em_sorter *s = open_sorter(ctx);

	(void)state;
	run(ctx, 1, 1);
	l.sorter = s;
	/* Closing has it end soon. */
	assert_int_equal(em_sorter_push(s, "12345678", 1), EM_ERR_CANCELED);
	assert_int_equal(l.busy, EM_ERR_BUSY);
	assert_null(l.sorter);
	em_ctx_close(ctx);
	assert_int_equal(l.freed, 1);
}

/* A child of a fork tells nothing, and its context ends there, too. */
static void test_fork(void **state)
{
	logged l;
	em_ctx *ctx = open_ctx(&l, EM_CTX_LOG_CALLER);
	int status;
	pid_t pid;

	(void)state;
	run(ctx, 1, 2);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		em_ctx_close(ctx);
		_exit(l.lines == 0 && l.freed == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	em_ctx_close(ctx);
	assert_int_equal(l.lines, 2);
	assert_int_equal(l.freed, 1);
}

/* Once, also when there is no context; and the allocator's after its last call. */
static void test_freed(void **state)
{
	static const char *const texts[] = { NULL, "", "x", "disk=/tmp,1M,simdisk,rate=1MB", "memory=1K", "isa=none" };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	logged l, a;
	test_memory mem;
	em_ctx *ctx;
	uint64_t fail;
	size_t i;

	(void)state;
	o.log = take_line;
	o.log_user = &l;
	o.log_free = o.allocator_free = count_free;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		fail = 0;
		do {
			memset(&l, 0, sizeof l);
			fail = test_nth_after(fail, 1);
			test_memory_init(&mem, fail);
			o.allocator = &mem.allocator;
			o.allocator_free = NULL;
			if (texts[i] != NULL)
				(void)!em_ctx_open_text(&ctx, texts[i], &o);
			else
				(void)!em_ctx_open(&ctx, &o);
			em_ctx_close(ctx);
			assert_int_equal(l.freed, 1);
			test_memory_assert_clean(&mem);
		} while (test_memory_failed(&mem));
	}
	/* The allocator's user is that of the allocator; without an allocator there is none. */
	memset(&l, 0, sizeof l);
	memset(&a, 0, sizeof a);
	o.allocator = NULL;
	o.allocator_free = count_free;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_OK);
	em_ctx_close(ctx);
	assert_int_equal(l.freed, 1);
	assert_int_equal(em_ctx_open(NULL, &o), EM_ERR_INVAL);
	assert_int_equal(em_ctx_open_text(NULL, "", &o), EM_ERR_INVAL);
	assert_int_equal(l.freed, 3);
	/* What has the size of no version is not believed. */
	o.size = 8;
	assert_int_equal(em_ctx_open(&ctx, &o), EM_ERR_VERSION);
	assert_int_equal(l.freed, 3);
}

/* The allocator's user goes last. */
static test_memory last;

static void free_last(void *user)
{
	assert_ptr_equal(user, last.allocator.user);
	test_memory_assert_clean(&last);
	last.errors += 100;
}

static void test_allocator_free(void **state)
{
	static const char *const texts[] = { "", "x", "disk=/tmp,1M,simdisk,rate=1MB", "memory=1K" };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	size_t i;

	(void)state;
	o.allocator_free = free_last;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		test_memory_init(&last, 0);
		o.allocator = &last.allocator;
		(void)!em_ctx_open_text(&ctx, texts[i], &o);
		em_ctx_close(ctx);
		assert_int_equal(last.errors, 100);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caller),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_any_thread),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_allocator_free),
	};

	return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
