/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_object.c -- what all public objects have in common: calls that are refused, details, closing within a call.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <extmem.h>

#include "base/context.h"
#include "base/object.h"
#include "common/test.h"

typedef struct thing {
	emi_object object;
	int *released;          /* how many were */
	int users;              /* who closes it, and those who have its flag */
	struct thing *whose;    /* flag it has; or NULL: its own */
} thing;

static void let(thing *t)
{
	if (--t->users != 0)
		return;
	++*t->released;
	emi_object_free(t, sizeof *t);
}

static void release(void *object)
{
	thing *t = object, *whose = t->whose;
	em_errinfo err;

	/* What it calls back finds it busy, and who has the same flag. */
	assert_int_not_equal(emi_enter(t, &err), EM_OK);
	if (whose != NULL)
		assert_int_not_equal(emi_enter(whose, &err), EM_OK);
	let(t);
	if (whose != NULL)
		let(whose);
}

static em_ctx *open_ctx(test_memory *mem, uint32_t flags)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	test_memory_init(mem, 0);
	opts.allocator = &mem->allocator;
	opts.flags = flags;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	return ctx;
}

static thing *make(em_ctx *ctx, uint32_t flags, int *released)
{
	em_errinfo err = EM_ERRINFO_INIT;
	thing *t = emi_object_new(ctx, sizeof *t, flags, release, &err);

	assert_non_null(t);
	t->released = released;
	t->users = 1;
	return t;
}

/* Two that share what they work with. */
static void share(thing *t, thing *whose)
{
	t->object.turn = &whose->object;
	t->whose = whose;
	whose->users++;
}

/* The context may be closed before its objects. */
static void test_life(void **state)
{
	em_errinfo err = EM_ERRINFO_INIT;
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem, 0);
	int released = 0;
	thing *t = make(ctx, 0, &released);

	(void)state;
	em_ctx_close(ctx);
	assert_int_equal(emi_enter(t, &err), EM_OK);
	assert_int_equal(emi_leave(t, EM_OK, &err), EM_OK);
	emi_object_close(NULL);
	emi_object_close(t);
	assert_int_equal(released, 1);
	test_memory_assert_clean(&mem);
	/* There is no memory for one. */
	ctx = open_ctx(&mem, 0);
	mem.fail_at = mem.calls + 1;
	assert_null(emi_object_new(ctx, sizeof *t, 0, release, &err));
	assert_int_equal(err.status, EM_ERR_NOMEM);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

static void test_detail(void **state)
{
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem, 0);
	int released = 0;
	thing *t = make(ctx, 0, &released);
	em_errinfo err, told;

	(void)state;
	/* There was no failure. */
	memset(&told, 0x5a, sizeof told);
	emi_object_error(t, &told);
	assert_int_equal(told.status, EM_OK);
	assert_string_equal(told.text, "");
	emi_object_error(t, NULL);
	memset(&told, 0x5a, sizeof told);
	emi_object_error(NULL, &told);
	assert_int_equal(told.status, EM_OK);
	/* Whatever err was before. */
	memset(&err, 0xa5, sizeof err);
	assert_int_equal(emi_enter(t, &err), EM_OK);
	assert_int_equal(emi_leave(t, emi_given(NULL, "it", &err), &err), EM_ERR_INVAL);
	emi_object_error(t, &told);
	assert_int_equal(told.status, EM_ERR_INVAL);
	assert_string_equal(told.text, "it is NULL");
	/* One that nobody told more about, then one that succeeds, and one that is no failure. */
	assert_int_equal(emi_enter(t, &err), EM_OK);
	assert_int_equal(emi_leave(t, EM_ERR_STATE, &err), EM_ERR_STATE);
	assert_int_equal(emi_enter(t, &err), EM_OK);
	assert_int_equal(emi_leave(t, emi_given(t, "it", &err), &err), EM_OK);
	assert_int_equal(emi_enter(t, &err), EM_OK);
	assert_int_equal(emi_leave(t, EM_END, &err), EM_END);
	emi_object_error(t, &told);
	assert_int_equal(told.status, EM_ERR_STATE);
	assert_string_equal(told.text, em_status_text(EM_ERR_STATE));
	/* Those of constructors. */
	memset(&told, 0x5a, sizeof told);
	assert_int_equal(emi_tell(&told, EM_ERR_STATE, &err), EM_ERR_STATE);
	assert_int_equal(told.status, EM_ERR_STATE);
	assert_string_equal(told.text, em_status_text(EM_ERR_STATE));
	assert_int_equal(emi_tell(NULL, EM_ERR_STATE, &err), EM_ERR_STATE);
	emi_object_close(t);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

static void refused(thing *t, em_status status)
{
	em_errinfo err;

	assert_int_equal(emi_enter(t, &err), status);
	assert_int_equal(emi_enter_back(t, &err), status);
	if (t != NULL)
		assert_int_equal(emi_enter_quickly(&t->object), status);
}

static void test_busy(void **state)
{
	uint32_t flags;

	(void)state;
	refused(NULL, EM_ERR_INVAL);
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		test_memory mem;
		em_ctx *ctx = open_ctx(&mem, flags);
		int released = 0, i;
		thing *t = make(ctx, 0, &released), *other = make(ctx, 0, &released);
		em_errinfo err, told;

		for (i = 0; i < 3; i++) {
			assert_int_equal(i == 0 ? emi_enter(t, &err) : i == 1 ? emi_enter_back(t, &err)
									      : emi_enter_quickly(&t->object),
					 EM_OK);
			refused(t, EM_ERR_BUSY);
			/* Others are not. */
			assert_int_equal(emi_enter(other, &err), EM_OK);
			emi_leave_quickly(&other->object);
			emi_leave_quickly(&t->object);
		}
		/* What was refused has no detail. */
		emi_object_error(t, &told);
		assert_int_equal(told.status, EM_OK);
		/* A call on one keeps the other busy. */
		share(other, t);
		assert_int_equal(emi_enter(other, &err), EM_OK);
		refused(t, EM_ERR_BUSY);
		refused(other, EM_ERR_BUSY);
		assert_int_equal(emi_leave(other, EM_ERR_RANGE, &err), EM_ERR_RANGE);
		emi_object_error(t, &told);
		assert_int_equal(told.status, EM_OK);
		emi_object_error(other, &told);
		assert_int_equal(told.status, EM_ERR_RANGE);
		/* Closed within a call. */
		assert_int_equal(emi_enter(t, &err), EM_OK);
		emi_object_close(other);
		emi_object_close(t);
		assert_int_equal(released, 0);
		refused(t, EM_ERR_BUSY);
		assert_int_equal(emi_leave(t, EM_OK, &err), EM_OK);
		assert_int_equal(released, 2);
		em_ctx_close(ctx);
		test_memory_assert_clean(&mem);
	}
}

/* When one was released those with the same flag are busy no more; whose that is is released with the last of them. */
static void test_release(void **state)
{
	uint32_t flags;

	(void)state;
	for (flags = 0; flags <= EM_CTX_CHECKED; flags += EM_CTX_CHECKED) {
		test_memory mem;
		em_ctx *ctx = open_ctx(&mem, flags);
		int released = 0, i;
		thing *t = make(ctx, 0, &released), *other[3];
		em_errinfo err;

		for (i = 0; i < 3; i++) {
			other[i] = make(ctx, 0, &released);
			share(other[i], t);
		}
		emi_object_close(other[0]);
		assert_int_equal(released, 1);
		assert_int_equal(emi_enter(t, &err), EM_OK);
		emi_object_close(other[1]);
		assert_int_equal(released, 1);
		assert_int_equal(emi_leave(t, EM_OK, &err), EM_OK);
		assert_int_equal(released, 2);
		/* It goes on for the one that is left. */
		emi_object_close(t);
		assert_int_equal(released, 2);
		assert_int_equal(emi_enter(other[2], &err), EM_OK);
		refused(other[2], EM_ERR_BUSY);
		assert_int_equal(emi_leave(other[2], EM_OK, &err), EM_OK);
		emi_object_close(other[2]);
		assert_int_equal(released, 4);
		em_ctx_close(ctx);
		test_memory_assert_clean(&mem);
	}
}

/* Many threads may be at one that is shared, and each failure is told whole. */
#define THREADS 4
#define CALLS 2000

typedef struct crowd {
	thing *t;
	int number, busy;
} crowd;

static void *shared_calls(void *arg)
{
	crowd *c = arg;
	em_errinfo err, told;
	int i;

	for (i = 0; i < CALLS; i++) {
		if (emi_enter(c->t, &err) != EM_OK)
			c->busy++;
		(void)emi_leave(c->t, emi_fail(&err, EM_ERR_IO, "%d%d%d", c->number, c->number, c->number), &err);
		emi_object_error(c->t, &told);
		if (told.text[0] != told.text[1] || told.text[1] != told.text[2])
			c->busy++;
	}
	return NULL;
}

/* In a checked context only one at a time gets in, and closing waits for it. */
static void *checked_calls(void *arg)
{
	static int inside;
	crowd *c = arg;
	em_errinfo err;
	int i;

	for (i = 0; i < CALLS; i++) {
		if (emi_enter(c->t, &err) != EM_OK)
			continue;
		if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1)
			c->busy++;
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		(void)emi_leave(c->t, EM_OK, &err);
	}
	return NULL;
}

static void run(thing *t, void *(*fn)(void *))
{
	pthread_t id[THREADS];
	crowd c[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		c[i].t = t;
		c[i].number = i;
		c[i].busy = 0;
		assert_int_equal(pthread_create(&id[i], NULL, fn, &c[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(id[i], NULL), 0);
		assert_int_equal(c[i].busy, 0);
	}
}

static void test_threads(void **state)
{
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem, EM_CTX_CHECKED);
	int released = 0;
	thing *shared = make(ctx, EMI_OBJECT_SHARED, &released), *t = make(ctx, 0, &released);

	(void)state;
	run(shared, shared_calls);
	run(t, checked_calls);
	emi_object_close(t);
	emi_object_free(shared, sizeof *shared);
	assert_int_equal(released, 1);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

static void test_fork(void **state)
{
	test_memory mem;
	em_ctx *ctx = open_ctx(&mem, 0);
	int released = 0, status;
	thing *t = make(ctx, 0, &released);
	em_errinfo err, told;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int wrong = emi_enter(t, &err) != EM_ERR_FORK || emi_enter_back(t, &err) != EM_ERR_FORK;

		emi_object_error(t, &told);
		wrong |= (told.status != EM_ERR_FORK) << 1;
		emi_object_close(t);
		wrong |= (released != 1) << 2;
		_exit(wrong);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	emi_object_close(t);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_detail),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("base/object", tests, NULL, NULL);
}
