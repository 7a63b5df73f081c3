/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_ends_faults.c -- stacks, queues and deques when memory, disks or space fail, at every place: what is in them
 * stays what it should be, and they can be used on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/ends_case.h"

enum { RECORD = 100, PER_BLOCK = 40, ROOM = 40 * PER_BLOCK };

static uint64_t below(ends_case *t, uint64_t n)
{
	return test_below(&t->f.rng, n);
}

/* A failure is one of these, and tells what it was. */
static void may_fail(ends_case *t, em_status st)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	if (st != EM_ERR_NOMEM && st != EM_ERR_MEMLIMIT && st != EM_ERR_IO && st != EM_ERR_NOSPACE)
		ends_case_ok(t, st, __LINE__);
	ends_case_error(t, &err);
	assert_int_equal(err.status, st);
	assert_true(err.text[0] != '\0');
}

/* Look at records of a deque, and change some; what a failure leaves the model has, too. */
static void look(ends_case *t)
{
	const uint64_t i = below(t, t->n + 1), n = below(t, t->n - i + 1);
	unsigned char *is = t->is + (t->from + i) * RECORD;
	em_deque_reader *r;
	const em_batch *b;
	em_errinfo err;
	em_status st = em_deque_read(t->object, i, t->buf, n);

	may_fail(t, st);
	if (st == EM_OK)
		assert_memory_equal(t->buf, is, (size_t)n * RECORD);
	test_fill(&t->f.rng, t->buf, (size_t)n * RECORD);
	st = em_deque_write(t->object, i, t->buf, n);
	may_fail(t, st);
	ends_case_error(t, &err);
	memcpy(is, t->buf, (size_t)(st == EM_OK ? n : err.record - 1) * RECORD);
	st = em_deque_reader_open(&r, t->object, NULL);
	may_fail(t, st);
	for (is = t->is + t->from * RECORD; st == EM_OK; is += b->bytes) {
		st = em_deque_reader_next(r, &b);
		if (st != EM_OK)
			break;
		assert_memory_equal(b->records, is, b->bytes);
	}
	if (st < EM_OK)
		em_deque_reader_error(r, &err);
	em_deque_reader_close(r);
}

/* The same of each: grow over the memory, go back and forth, shrink. */
static void live(ends_case *t)
{
	const emi_end to = t->kind == EMI_DEQUE && below(t, 2) == 0 ? EMI_FRONT : EMI_BACK;
	const emi_end from = t->kind == EMI_STACK ? EMI_BACK : t->kind == EMI_QUEUE ? EMI_FRONT : (emi_end)below(t, 2);
	int i;

	for (i = 0; i < 20; i++)
		may_fail(t, ends_case_push(t, to, i < 4 ? 1 : 1 + below(t, ROOM / 24)));
	if (t->kind == EMI_DEQUE)
		look(t);
	for (i = 0; i < 12; i++) {
		may_fail(t, ends_case_peek(t, from));
		may_fail(t, ends_case_pop(t, from, 1 + below(t, ROOM / 12)));
		may_fail(t, ends_case_push(t, to, below(t, 3)));
	}
}

/* Nothing fails any more: all that should be is there. */
static void come_out(ends_case *t)
{
	assert_ends_ok(t, ends_case_push(t, EMI_BACK, 2 * PER_BLOCK));
	ends_case_drain(t, t->kind == EMI_STACK ? EMI_BACK : EMI_FRONT);
	ends_case_close(t);
}

static void open_case(ends_case *t, emi_ends_kind kind)
{
	ends_case_open(t, kind, em_backend_find("memory"), 1, RECORD, ROOM, kind == EMI_DEQUE ? 4 : 2);
}

/* Each allocation fails once. */
static void test_memory_fails(void **state)
{
	int kind, failed;
	uint64_t nth;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		for (nth = test_nth_after(0, 1), failed = 1; failed; nth = test_nth_after(nth, 1)) {
			ends_case t;

			open_case(&t, (emi_ends_kind)kind);
			t.f.mem.fail_at = t.f.mem.calls + nth;
			if (ends_case_try(&t) != EM_OK)
				ends_case_make(&t);
			live(&t);
			failed = test_memory_failed(&t.f.mem);
			t.f.mem.fail_at = 0;
			come_out(&t);
		}
		assert_true(nth > 10);
	}
}

/* Each transfer fails, once or several times in a row. */
static void test_disk_fails(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_ALL };
	static const int errnos[] = { EIO, ENOSPC };
	uint64_t nth;
	int kind, k;

	(void)state;
	for (k = 0; k < 18; k++) {
		int failed = 1;

		kind = k % 3;
		for (nth = test_nth_after(0, 1); failed; nth = test_nth_after(nth, 1)) {
			ends_case t;

			open_case(&t, (emi_ends_kind)kind);
			ends_case_make(&t);
			t.f.fault[0].sys_errno = errnos[k / 3 % 2];
			em_fault_set(&t.f.fault[0], ops[k / 6], nth, 1 + nth % 4);
			live(&t);
			failed = t.f.fault[0].injected != 0;
			em_fault_set(&t.f.fault[0], 0, 0, 0);
			come_out(&t);
		}
		assert_true(nth > 3);
	}
}

/* Any transfer fails by chance. */
static void test_chance(void **state)
{
	static const uint64_t one_in[] = { 50, 10 };
	uint64_t injected = 0;
	unsigned k, i;

	(void)state;
	for (k = 0; k < 60; k += test_step()) {
		ends_case t;

		open_case(&t, (emi_ends_kind)(k % 3));
		ends_case_make(&t);
		em_fault_set_random(&t.f.fault[0], EM_FAULT_READ | EM_FAULT_WRITE, one_in[k / 3 % 2],
				    test_random(&t.f.rng));
		for (i = 0; i < 10; i++) {
			live(&t);
			while (t.n > ROOM / 8)
				may_fail(&t, ends_case_pop(&t, t.kind == EMI_STACK ? EMI_BACK : EMI_FRONT, t.n / 2));
		}
		injected += t.f.fault[0].injected;
		em_fault_set(&t.f.fault[0], 0, 0, 0);
		come_out(&t);
	}
	assert_true(injected != 0);
}

static void set_full(ends_case *t, int full)
{
	t->f.fault[0].sys_errno = ENOSPC;
	em_fault_set(&t->f.fault[0], full ? EM_FAULT_WRITE | EM_FAULT_RESIZE | EM_FAULT_RESERVE : 0, 1, UINT64_MAX);
}

/* The disk is full after some blocks: the call tells how many records entered, pops make room, and a second try
 * succeeds. */
static void test_full(void **state)
{
	int kind, side;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		for (side = 0; side < (kind == EMI_DEQUE ? 2 : 1); side++) {
			const emi_end to = side == 0 ? EMI_BACK : EMI_FRONT, from = kind == EMI_QUEUE ? EMI_FRONT : to;
			uint64_t held, again;
			ends_case t;

			open_case(&t, (emi_ends_kind)kind);
			ends_case_make(&t);
			assert_ends_ok(&t, ends_case_push(&t, to, 8 * PER_BLOCK));
			set_full(&t, 1);
			held = t.n;
			assert_int_equal(ends_case_push(&t, to, 20 * PER_BLOCK), EM_ERR_NOSPACE);
			/* What there is memory for has entered: the block at the end, and the one on its way. */
			assert_true(t.n - held <= 3 * PER_BLOCK);
			assert_int_equal(ends_case_push(&t, to, 1), EM_ERR_NOSPACE);
			assert_int_equal(ends_case_push(&t, to, 5), EM_ERR_NOSPACE);
			/* It is as full as ever, but there is room in memory. */
			for (again = 0; again < 3; again++) {
				assert_ends_ok(&t, ends_case_pop(&t, from, 2 * PER_BLOCK));
				if (kind != EMI_QUEUE)
					assert_ends_ok(&t, ends_case_push(&t, to, PER_BLOCK));
			}
			set_full(&t, 0);
			assert_ends_ok(&t, ends_case_push(&t, to, 20 * PER_BLOCK));
			come_out(&t);
		}
	}
}

/* A block that cannot be read stays, and can be read later. */
static void test_read_again(void **state)
{
	int kind;

	(void)state;
	for (kind = 0; kind < 3; kind++) {
		const emi_end from = kind == EMI_STACK ? EMI_BACK : EMI_FRONT;
		em_status st = EM_OK;
		ends_case t;
		uint64_t n;

		open_case(&t, (emi_ends_kind)kind);
		ends_case_make(&t);
		assert_ends_ok(&t, ends_case_push(&t, EMI_BACK, 20 * PER_BLOCK));
		em_fault_set(&t.f.fault[0], EM_FAULT_READ, 1, UINT64_MAX);
		while (st == EM_OK)
			st = ends_case_pop(&t, from, 1);
		assert_int_equal(st, EM_ERR_IO);
		n = t.n;
		assert_int_equal(ends_case_pop(&t, from, 3), EM_ERR_IO);
		assert_int_equal(ends_case_peek(&t, from), EM_ERR_IO);
		assert_int_equal(t.n, n);
		em_fault_set(&t.f.fault[0], 0, 0, 0);
		come_out(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_disk_fails),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
