/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_workers.c -- worker threads: tasks, helping, memory, signals, failures, fork.
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
#include <signal.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/workers.h"
#include "common/scarce.h"
#include "common/test.h"

#include "base_ctx.h"

#define MEMORY ((uint64_t)16 << 20)
#define TASKS 500

static void increment(void *arg)
{
	__atomic_add_fetch((uint32_t *)arg, 1, __ATOMIC_RELAXED);
}

/* Not atomic: every task has its own, and waiting orders what it wrote before what we read. */
static void increment_own(void *arg)
{
	(*(uint32_t *)arg)++;
}

static void every_task_runs_once(void **state)
{
	uint32_t threads;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_ctx *ctx = base_ctx(MEMORY, threads, NULL);
		emi_task tasks[TASKS];
		uint32_t own[TASKS];
		uint32_t i, round;

		memset(own, 0, sizeof(own));
		assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
		assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
		for (round = 1; round <= 3; round++) {
			for (i = 0; i < TASKS; i++)
				emi_task_submit(ctx, &tasks[i], increment_own, &own[i]);
			/* backwards, so that most are waited for while others are queued */
			for (i = TASKS; i-- > 0;) {
				emi_task_wait(ctx, &tasks[i]);
				assert_int_equal(own[i], round);
				assert_true(emi_task_done(ctx, &tasks[i]));
			}
		}
		emi_ctx_unref(ctx);
	}
}

typedef struct submitter {
	em_ctx *ctx;
	uint32_t *total;
	em_status status;
} submitter;

static void *submit_many(void *arg)
{
	submitter *s = arg;
	emi_task tasks[20];
	uint32_t round, i;

	s->status = emi_workers_start(s->ctx, NULL);
	if (s->status != EM_OK)
		return NULL;
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 20; i++)
			emi_task_submit(s->ctx, &tasks[i], increment, s->total);
		for (i = 0; i < 20; i++)
			emi_task_wait(s->ctx, &tasks[i]);
	}
	return NULL;
}

/* Several threads of the caller's use the same workers, and start them at once. */
static void tasks_from_several_threads(void **state)
{
	uint32_t threads;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_ctx *ctx = base_ctx(MEMORY, threads, NULL);
		pthread_t callers[4];
		submitter s[4];
		uint32_t total = 0;
		int i;

		for (i = 0; i < 4; i++) {
			s[i].ctx = ctx;
			s[i].total = &total;
			assert_int_equal(pthread_create(&callers[i], NULL, submit_many, &s[i]), 0);
		}
		for (i = 0; i < 4; i++) {
			pthread_join(callers[i], NULL);
			assert_int_equal(s[i].status, EM_OK);
		}
		assert_int_equal(total, 4 * 50 * 20);
		emi_ctx_unref(ctx);
	}
}

/* A task that occupies a worker until it is let go. */
typedef struct gate {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	uint32_t entered;
	int open;
} gate;

static void gate_init(gate *g)
{
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->moved, NULL);
	g->entered = 0;
	g->open = 0;
}

static void gate_destroy(gate *g)
{
	pthread_cond_destroy(&g->moved);
	pthread_mutex_destroy(&g->lock);
}

static void stand_at_gate(void *arg)
{
	gate *g = arg;

	pthread_mutex_lock(&g->lock);
	g->entered++;
	pthread_cond_broadcast(&g->moved);
	while (!g->open)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void wait_entered(gate *g, uint32_t n)
{
	pthread_mutex_lock(&g->lock);
	while (g->entered < n)
		pthread_cond_wait(&g->moved, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static void open_gate(gate *g)
{
	pthread_mutex_lock(&g->lock);
	g->open = 1;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

static void open_gate_task(void *arg)
{
	open_gate(arg);
}

typedef struct trace {
	pthread_t who;
	uint32_t order;         /* when it ran */
	uint32_t *clock;
} trace;

static void leave_trace(void *arg)
{
	trace *t = arg;

	t->who = pthread_self();
	t->order = __atomic_fetch_add(t->clock, 1, __ATOMIC_RELAXED);
}

/* With the only worker occupied, who waits runs the queue himself, oldest first. */
static void waiting_helps(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 2, NULL);
	emi_task blocker, tasks[10];
	uint32_t clock = 0;
	trace traces[10];
	uint32_t i;
	gate g;

	(void)state;
	gate_init(&g);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	emi_task_submit(ctx, &blocker, stand_at_gate, &g);
	wait_entered(&g, 1);
	assert_false(emi_task_done(ctx, &blocker));
	for (i = 0; i < 10; i++) {
		traces[i].clock = &clock;
		emi_task_submit(ctx, &tasks[i], leave_trace, &traces[i]);
	}
	assert_false(emi_task_done(ctx, &tasks[0]));
	emi_task_wait(ctx, &tasks[6]);
	for (i = 0; i < 10; i++)
		assert_int_equal(emi_task_done(ctx, &tasks[i]), i <= 6);
	for (i = 0; i <= 6; i++) {
		assert_true(pthread_equal(traces[i].who, pthread_self()));
		assert_int_equal(traces[i].order, i);
	}
	open_gate(&g);
	emi_task_wait(ctx, &blocker);
	for (i = 7; i < 10; i++)
		emi_task_wait(ctx, &tasks[i]);
	emi_ctx_unref(ctx);
	gate_destroy(&g);
}

/* Waiting for a task that a worker has in hands ends when the worker is done with it. */
static void waiting_sleeps(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 3, NULL);
	emi_task blocker[2], opener;
	gate g;

	(void)state;
	gate_init(&g);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	emi_task_submit(ctx, &blocker[0], stand_at_gate, &g);
	wait_entered(&g, 1);
	/* run by the other worker, or by us while we wait */
	emi_task_submit(ctx, &opener, open_gate_task, &g);
	emi_task_wait(ctx, &blocker[0]);
	emi_task_wait(ctx, &opener);
	emi_task_submit(ctx, &blocker[1], stand_at_gate, &g);
	emi_task_wait(ctx, &blocker[1]);
	assert_int_equal(g.entered, 2);
	emi_ctx_unref(ctx);
	gate_destroy(&g);
}

/* Who waits for a while only is told so while a worker has the task in hands, and not once it is done. */
static void waiting_gives_up(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 2, NULL);
	uint32_t own = 0;
	emi_task task;
	gate g;

	(void)state;
	gate_init(&g);
	/* There are no workers yet: it is done when it is submitted. */
	emi_task_submit(ctx, &task, increment_own, &own);
	assert_true(emi_task_wait_for(ctx, &task, 0));
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	assert_int_equal(own, 1);
	emi_task_submit(ctx, &task, stand_at_gate, &g);
	wait_entered(&g, 1);
	assert_false(emi_task_wait_for(ctx, &task, 0));
	assert_false(emi_task_wait_for(ctx, &task, 0.002));
	open_gate(&g);
	while (!emi_task_wait_for(ctx, &task, 0.002))
		continue;
	assert_true(emi_task_done(ctx, &task));
	emi_ctx_unref(ctx);
	gate_destroy(&g);
}

/* Nobody started the threads: tasks run at once. */
static void without_workers(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 4, NULL);
	uint32_t n = 0;
	emi_task task;

	(void)state;
	emi_task_submit(ctx, &task, increment, &n);
	assert_int_equal(n, 1);
	assert_true(emi_task_done(ctx, &task));
	emi_task_wait(ctx, &task);
	assert_int_equal(n, 1);
	emi_ctx_unref(ctx);
}

typedef struct meeting {
	em_ctx *ctx;
	uint32_t n;
	uint32_t here;          /* atomic */
	uint32_t calls[4];
	pthread_t who[4];
	int worker[4];
	int together;           /* wait for the others: only right when each has a thread */
} meeting;

static void meet(void *arg, uint32_t i)
{
	meeting *m = arg;

	m->calls[i]++;
	m->who[i] = pthread_self();
	m->worker[i] = emi_in_worker(m->ctx);
	__atomic_add_fetch(&m->here, 1, __ATOMIC_RELEASE);
	while (m->together && __atomic_load_n(&m->here, __ATOMIC_ACQUIRE) < m->n)
		sched_yield();
}

/* n shares run at the same time on n threads, the last of them on this one. */
static void parallel(void **state)
{
	uint32_t threads, n, i, j;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		em_ctx *ctx = base_ctx(MEMORY, threads, NULL);

		assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
		for (n = 0; n <= threads; n++) {
			meeting m;

			memset(&m, 0, sizeof(m));
			m.ctx = ctx;
			m.n = n;
			m.together = 1;
			emi_parallel(ctx, n, meet, &m);
			assert_int_equal(m.here, n);
			for (i = 0; i < n; i++) {
				assert_int_equal(m.calls[i], 1);
				assert_int_equal(m.worker[i], i + 1 < n);
				for (j = 0; j < i; j++)
					assert_false(pthread_equal(m.who[i], m.who[j]));
			}
			if (n > 0)
				assert_true(pthread_equal(m.who[n - 1], pthread_self()));
		}
		emi_ctx_unref(ctx);
	}
}

static void parallel_without_workers(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 4, NULL);
	meeting m;

	(void)state;
	memset(&m, 0, sizeof(m));
	m.ctx = ctx;
	m.n = 4;
	emi_parallel(ctx, 4, meet, &m);
	assert_int_equal(m.worker[0], 0);
	assert_int_equal(m.here, 4);
	emi_ctx_unref(ctx);
}

/* Each of several threads of the caller's waits for a task of its own, and the first that is done is not the first
 * one's. */
typedef struct sleeper {
	em_ctx *ctx;
	emi_task task;
	gate gate;
	uint32_t done;          /* atomic */
} sleeper;

static void *sleep_for_own(void *arg)
{
	sleeper *s = arg;

	emi_task_wait(s->ctx, &s->task);
	__atomic_store_n(&s->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int waits(const sleeper *s, double seconds)
{
	const double until = emi_now() + seconds;

	while (!__atomic_load_n(&s->done, __ATOMIC_ACQUIRE)) {
		if (emi_now() > until)
			return 1;
		sched_yield();
	}
	return 0;
}

/* Whichever order they fall asleep in, each is woken for his own: in all orders of finishing nobody is left behind. */
static void every_sleeper_is_woken(void **state)
{
	enum { N = 3 };
	static const int order[][N] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 }, { 1, 0, 2 }, { 0, 2, 1 }, { 2, 0, 1 } };
	const struct timespec some = { 0, 5000000 };
	em_ctx *ctx = base_ctx(MEMORY, N + 1, NULL);
	pthread_t thread[N];
	sleeper s[N];
	size_t round;
	int i;

	(void)state;
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	for (round = 0; round < sizeof order / sizeof order[0]; round++) {
		memset(s, 0, sizeof s);
		for (i = 0; i < N; i++) {
			s[i].ctx = ctx;
			gate_init(&s[i].gate);
			emi_task_submit(ctx, &s[i].task, stand_at_gate, &s[i].gate);
			wait_entered(&s[i].gate, 1);
		}
		/* The workers have them in hands, so who waits sleeps. */
		for (i = 0; i < N; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, sleep_for_own, &s[i]), 0);
		/* Not needed for being right, only for catching what is wrong: they fall asleep. */
		nanosleep(&some, NULL);
		for (i = 0; i < N; i++) {
			open_gate(&s[order[round][i]].gate);
			assert_false(waits(&s[order[round][i]], 20));
		}
		for (i = 0; i < N; i++) {
			pthread_join(thread[i], NULL);
			gate_destroy(&s[i].gate);
		}
	}
	emi_ctx_unref(ctx);
}

static void count_share(void *arg, uint32_t i)
{
	__atomic_add_fetch((uint32_t *)arg + i, 1, __ATOMIC_RELAXED);
}

/* What the threads would do that cannot be started is done all the same, and their stacks still count, as the plan has
 * it. */
static void without_some_threads(void **state)
{
	int64_t left;

	(void)state;
	if (!test_scarce())
		skip();
	for (left = 0; left <= 4; left++) {
		em_ctx *ctx = base_ctx(MEMORY, 5, NULL);
		const uint64_t base = ctx->used;
		uint32_t calls[5] = { 0, 0, 0, 0, 0 }, own[20], i;
		emi_task tasks[20];

		memset(own, 0, sizeof(own));
		test_threads_left(left);
		assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
		emi_parallel(ctx, 5, count_share, calls);
		for (i = 0; i < 5; i++)
			assert_int_equal(calls[i], 1);
		for (i = 0; i < 20; i++)
			emi_task_submit(ctx, &tasks[i], increment_own, &own[i]);
		/* Also who only looks from time to time comes to the end. */
		for (i = 0; i < 20; i += 2)
			while (!emi_task_wait_for(ctx, &tasks[i], 0.001))
				continue;
		for (i = 0; i < 20; i++) {
			emi_task_wait(ctx, &tasks[i]);
			assert_int_equal(own[i], 1);
		}
		emi_workers_stop(ctx);
		assert_int_equal(ctx->used, base);
		emi_ctx_unref(ctx);
	}
	test_threads_left(-1);
}

/* As many at once as a context may have threads. */
static void parallel_of_the_most(void **state)
{
	em_ctx *ctx = base_ctx(EMI_MAX_THREADS * EMI_STACK_BYTES + MEMORY, EMI_MAX_THREADS, NULL);
	meeting m;

	(void)state;
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	memset(&m, 0, sizeof(m));
	m.ctx = ctx;
	m.n = 4;
	/* They may be too many for this machine, or for a sanitizer. */
	emi_parallel(ctx, 4, meet, &m);
	assert_int_equal(m.here, 4);
	emi_ctx_unref(ctx);
}

/* Share 0 runs on the worker: this thread runs the last one, which keeps it busy until share 0 is done. */
typedef struct masks {
	sigset_t set;
	int read;               /* atomic */
} masks;

static void read_mask(void *arg, uint32_t i)
{
	masks *m = arg;

	if (i == 0) {
		pthread_sigmask(SIG_SETMASK, NULL, &m->set);
		__atomic_store_n(&m->read, 1, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&m->read, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void signals_are_blocked(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 2, NULL);
	sigset_t before, after, one;
	masks theirs;
	int sig;

	(void)state;
	memset(&theirs, 0, sizeof(theirs));
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &one, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	emi_parallel(ctx, 2, read_mask, &theirs);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	for (sig = 1; sig < 32; sig++) {
		/* ours are as they were */
		assert_int_equal(sigismember(&before, sig), sigismember(&after, sig));
		if (sig != SIGKILL && sig != SIGSTOP)
			assert_int_equal(sigismember(&theirs.set, sig), 1);
	}
	emi_ctx_unref(ctx);
}

/* Stacks count while the threads are there, and a budget without room for them is a clean failure. */
static void stacks_are_counted(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 4, NULL);
	uint64_t base = ctx->used;
	em_errinfo err;

	(void)state;
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	assert_true(ctx->used >= base + 3 * EMI_STACK_BYTES);
	assert_true(ctx->used < base + 3 * EMI_STACK_BYTES + 4096);
	emi_workers_stop(ctx);
	assert_int_equal(ctx->used, base);
	/* and again */
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	emi_ctx_unref(ctx);

	ctx = base_ctx(sizeof(em_ctx) + 3 * EMI_STACK_BYTES - 1, 4, NULL);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_workers_start(ctx, &err), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_int_equal(err.bytes, sizeof(em_ctx) + 3 * EMI_STACK_BYTES);
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
	/* room for the stacks and not for what the workers share */
	ctx = base_ctx(sizeof(em_ctx) + 3 * EMI_STACK_BYTES, 4, NULL);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_ERR_MEMLIMIT);
	assert_int_equal(ctx->used, base);
	emi_ctx_unref(ctx);
}

/* Threads come as they are asked for: never more than the context may have, and never fewer than there were. */
static void as_many_as_wanted(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 4, NULL);
	const uint32_t want[] = { 0, 1, 2, 2, 1, 4, 3, 100 }, have[] = { 0, 0, 1, 1, 1, 3, 3, 3 };
	uint64_t base = ctx->used;
	meeting m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		const uint64_t before = ctx->used, told = emi_workers_memory(ctx, want[i]);

		assert_int_equal(emi_workers_reach(ctx, want[i], NULL), EM_OK);
		assert_int_equal(ctx->used - before, told);
		assert_int_equal((ctx->used - base) / EMI_STACK_BYTES, have[i]);
		memset(&m, 0, sizeof(m));
		m.ctx = ctx;
		m.n = have[i] + 1;
		m.together = 1;
		emi_parallel(ctx, m.n, meet, &m);
		assert_int_equal(m.here, m.n);
	}
	emi_ctx_unref(ctx);
}

/* No more than a small part of the memory goes to stacks, and to what each thread needs. */
static void few_threads_for_little_memory(void **state)
{
	static const uint64_t memory[] = { 1, 2, 16, 1024 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		em_ctx *ctx = base_ctx(memory[i] << 20, EMI_MAX_THREADS, NULL);
		const uint32_t n = emi_workers_fed(ctx, 0), few = emi_workers_fed(ctx, 1 << 20);

		assert_true(n >= 1 && n <= EMI_MAX_THREADS && few >= 1 && few <= n);
		assert_true((n - 1) * EMI_STACK_BYTES <= (memory[i] << 20) / 8);
		assert_true((few - 1) * (EMI_STACK_BYTES + (1 << 20)) <= (memory[i] << 20) / 8);
		assert_true(n == EMI_MAX_THREADS || n * EMI_STACK_BYTES > (memory[i] << 20) / 8);
		emi_ctx_unref(ctx);
	}
}

static void allocation_fails(void **state)
{
	test_memory mem;
	em_ctx *ctx;
	em_errinfo err;
	uint64_t base;

	(void)state;
	test_memory_init(&mem, 0);
	ctx = base_ctx(MEMORY, 4, &mem.allocator);
	base = ctx->used;
	mem.fail_at = mem.calls + 1;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_workers_start(ctx, &err), EM_ERR_NOMEM);
	assert_int_equal(err.status, EM_ERR_NOMEM);
	assert_int_equal(ctx->used, base);
	mem.fail_at = mem.calls + 1;
	assert_int_equal(emi_workers_start(ctx, NULL), EM_ERR_NOMEM);
	/* a detail that holds an older failure is left alone, the status is the new one */
	err.status = EM_ERR_IO;
	mem.fail_at = mem.calls + 1;
	assert_int_equal(emi_workers_start(ctx, &err), EM_ERR_NOMEM);
	assert_int_equal(err.status, EM_ERR_IO);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	emi_ctx_unref(ctx);
	test_memory_assert_clean(&mem);
}

/* In the child the threads are gone and the locks may be held for ever: nothing there may hang. */
static void fork_with_busy_workers(void **state)
{
	em_ctx *ctx = base_ctx(MEMORY, 3, NULL);
	emi_task blocker, queued;
	uint32_t n = 0;
	int wstatus;
	pid_t pid;
	gate g;

	(void)state;
	if (TEST_TSAN)
		skip();
	gate_init(&g);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	emi_task_submit(ctx, &blocker, stand_at_gate, &g);
	wait_entered(&g, 1);
	/* another thread holds the context's lock while we fork */
	pthread_mutex_lock(&ctx->lock);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		em_errinfo err;
		int bad = 0;

		memset(&err, 0, sizeof(err));
		bad |= emi_workers_start(ctx, &err) != EM_ERR_FORK;
		bad |= err.status != EM_ERR_FORK;
		emi_task_wait(ctx, &blocker);
		bad |= !emi_task_done(ctx, &blocker);
		emi_ctx_unref(ctx);
		_exit(bad);
	}
	pthread_mutex_unlock(&ctx->lock);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), 0);
	/* the parent goes on */
	emi_task_submit(ctx, &queued, increment, &n);
	emi_task_wait(ctx, &queued);
	assert_int_equal(n, 1);
	open_gate(&g);
	emi_task_wait(ctx, &blocker);
	emi_ctx_unref(ctx);
	gate_destroy(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_runs_once),
		cmocka_unit_test(tasks_from_several_threads),
		cmocka_unit_test(waiting_helps),
		cmocka_unit_test(waiting_sleeps),
		cmocka_unit_test(waiting_gives_up),
		cmocka_unit_test(without_workers),
		cmocka_unit_test(parallel),
		cmocka_unit_test(parallel_without_workers),
		cmocka_unit_test(parallel_of_the_most),
		cmocka_unit_test(every_sleeper_is_woken),
		cmocka_unit_test(without_some_threads),
		cmocka_unit_test(signals_are_blocked),
		cmocka_unit_test(stacks_are_counted),
		cmocka_unit_test(as_many_as_wanted),
		cmocka_unit_test(few_threads_for_little_memory),
		cmocka_unit_test(allocation_fails),
		cmocka_unit_test(fork_with_busy_workers),
	};

	return cmocka_run_group_tests_name("base/workers", tests, NULL, NULL);
}
