/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_runs_faults.c -- runs that stay, when memory, disks or functions fail, or nobody wants them any more. */
#include "flow/runs_case.h"

#include <limits.h>

#include <extmem/sys/block.h>
#include <extmem/sys/fault.h>

/* What a run of this test does, which may fail anywhere, or be canceled: form runs, pass, merge a part.  pairs: calls
 * of runs_add() before it fails, or NULL. */
static em_status work(flow_case *t, em_order *order, em_reduce_fn combine, int *calls, const pair *p, size_t n,
		      const pair *y, size_t m)
{
	em_sort_opts form = EM_SORT_OPTS_INIT;
	em_runs_opts o = EM_RUNS_OPTS_INIT;
	em_runs_merge_opts part = EM_RUNS_MERGE_OPTS_INIT;
	em_stream *s = NULL;
	em_runs *r;
	em_status st;
	size_t got = 0;
	void *all;

	form.memory = MIB;
	form.block_bytes = 4096;
	form.run_records = 300;
	form.fan_in = 4;
	o.form = &form;
	o.combine = combine;
	o.user = calls;
	st = em_runs_open(&r, t->ctx, order, &o, &t->err);
	if (st != EM_OK)
		return st;
	st = em_runs_push(r, p, n / 2);
	if (st == EM_OK)
		st = em_runs_push(r, p + n / 2, n - n / 2);
	if (st == EM_OK)
		st = em_runs_finish(r);
	part.skip = m / 2;
	if (st == EM_OK)
		st = em_runs_merge(&s, r, &part, &t->err);
	if (st == EM_OK) {
		all = flow_drain(t, s, SIZE_MAX, &got, &st);
		assert_true(got <= m - m / 2);
		assert_memory_equal(all, y + m / 2, got * sizeof *y);
		assert_true(st < EM_OK || got == m - m / 2);
		free(all);
		em_stream_close(s);
	}
	/* It may be used again, whatever it was. */
	if (st < EM_OK && st != EM_ERR_CANCELED) {
		t->mem.fail_at = 0;
		assert_int_equal(em_runs_clear(r), EM_OK);
		if (calls != NULL)
			*calls = INT32_MAX;
		assert_int_equal(em_runs_push(r, p, 10), EM_OK);
	}
	em_runs_close(r);
	return st == EM_END ? EM_OK : st;
}

static void test_no_memory(void **state)
{
	enum { N = 4000 };
	unsigned c;

	(void)state;
	for (c = 0; c < 2; c++) {
		uint64_t nth;
		int failed = 1;

		for (nth = test_nth_after(0, 3); failed; nth = test_nth_after(nth, 3)) {
			flow_case t;
			em_order *order;
			pair *p, *y;
			em_status st;
			size_t m = N;

			flow_open(&t, 8 * MIB, 0);
			order = flow_order(&t, sizeof(pair));
			p = runs_pairs(&t, N, c != 0 ? 900 : UINT64_MAX - 1);
			y = runs_sorted(p, N);
			if (c != 0)
				m = runs_combined(y, N);
			t.mem.fail_at = t.mem.calls + nth;
			st = work(&t, order, c != 0 ? runs_add : NULL, NULL, p, N, y, m);
			failed = test_memory_failed(&t.mem) || st != EM_OK;
			assert_true(st == EM_OK || st == EM_ERR_NOMEM);
			em_order_close(order);
			free(p);
			free(y);
			flow_close(&t);
		}
	}
}

/* A context whose disk fails when asked to, and what is given to runs there. */
typedef struct faulty {
	em_fault fault;
	flow_case t;
	em_order *order;
	em_reduce_fn combine;
	pair *p, *y;
	size_t n, m;
} faulty;

static void faulty_open(faulty *f, size_t n, int combines)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	flow_case *t = &f->t;

	memset(f, 0, sizeof *f);
	t->rng = test_rng_make(test_seed());
	test_memory_init(&t->mem, 0);
	assert_int_equal(em_fault_init(&f->fault, sizeof f->fault, em_backend_find("memory")), EM_OK);
	o.allocator = &t->mem.allocator;
	o.memory = 8 * MIB;
	o.custom = em_fault_backend(&f->fault);
	o.threads = 2;
	assert_int_equal(em_ctx_open(&t->ctx, &o), EM_OK);
	f->order = flow_order(t, sizeof(pair));
	f->p = runs_pairs(t, n, combines ? n / 2 : UINT64_MAX - 1);
	f->y = runs_sorted(f->p, n);
	f->n = n;
	f->m = combines ? runs_combined(f->y, n) : n;
	f->combine = combines ? runs_add : NULL;
}

/* It is right, or is told why not. */
static em_status faulty_work(faulty *f)
{
	const em_status st = work(&f->t, f->order, f->combine, NULL, f->p, f->n, f->y, f->m);

	assert_true(st == EM_OK || (st == EM_ERR_IO && f->fault.injected != 0));
	return st;
}

static void faulty_close(faulty *f)
{
	em_order_close(f->order);
	free(f->p);
	free(f->y);
	flow_close(&f->t);
}

static void test_faults(void **state)
{
	static const uint32_t ops[] = { EM_FAULT_READ, EM_FAULT_WRITE, EM_FAULT_ALL };
	uint64_t failures = 0;
	unsigned k;

	(void)state;
	for (k = 0; k < 6; k++) {
		uint64_t nth;
		int failed = 1;

		for (nth = test_nth_after(0, 5); failed; nth = test_nth_after(nth, 5)) {
			faulty f;

			faulty_open(&f, 6000, k % 2 != 0);
			em_fault_set(&f.fault, ops[k / 2], nth, 1);
			failures += faulty_work(&f) != EM_OK;
			failed = f.fault.injected != 0;
			faulty_close(&f);
		}
	}
	assert_true(failures > 10 || !test_sweeps());
}

/* Any operation fails by chance, again and again on the same disk, on which nothing is left. */
static void test_chance(void **state)
{
	static const uint64_t one_in[] = { 5, 50, 500 };
	uint64_t failures = 0, injected = 0, works = 0;
	unsigned k;

	(void)state;
	for (k = 0; k < 6; k += test_step()) {
		em_disks_stats stats = EM_DISKS_STATS_INIT;
		em_disks *disks;
		unsigned i;
		faulty f;

		faulty_open(&f, 6000, k % 2 != 0);
		assert_int_equal(em_disks_open(&disks, f.t.ctx, NULL), EM_OK);
		em_fault_set_random(&f.fault, EM_FAULT_ALL | EM_FAULT_DISCARD, one_in[k / 2], test_random(&f.t.rng));
		for (i = 0; i < 6; i++) {
			failures += faulty_work(&f) != EM_OK;
			assert_int_equal(em_disks_stats_get(disks, EM_DISKS_ALL, &stats), EM_OK);
			assert_int_equal(stats.bytes, 0);
		}
		works += i;
		injected += f.fault.injected;
		em_disks_close(disks);
		faulty_close(&f);
	}
	print_message("%llu of %llu failed, by %llu operations\n", (unsigned long long)failures,
		      (unsigned long long)works, (unsigned long long)injected);
	assert_true(failures != 0);
}

/* The function that combines fails, wherever it is called. */
static void test_user_fails(void **state)
{
	enum { N = 6000 };
	uint64_t nth, failures = 0;
	int left = 0;

	(void)state;
	for (nth = test_nth_after(0, 7); left <= 0; nth = test_nth_after(nth, 7)) {
		flow_case t;
		em_order *order;
		pair *p, *y;
		em_status st;
		size_t m;
		int calls = nth < INT_MAX ? (int)nth - 1 : INT_MAX;

		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, sizeof(pair));
		p = runs_pairs(&t, N, 3000);
		y = runs_sorted(p, N);
		m = runs_combined(y, N);
		st = work(&t, order, runs_add, &calls, p, N, y, m);
		left = st == EM_OK ? 1 : 0;
		failures += st != EM_OK;
		assert_true(st == EM_OK || st == EM_ERR_USER);
		em_order_close(order);
		free(p);
		free(y);
		flow_close(&t);
	}
	assert_true(failures > 0 || !test_sweeps());
}

/* Closed or canceled anywhere, nothing is left behind. */
static void test_halfway(void **state)
{
	enum { N = 30000 };
	unsigned round;

	(void)state;
	for (round = 0; round < 40; round += test_step()) {
		em_sort_opts form = EM_SORT_OPTS_INIT;
		const em_batch *batch;
		flow_case t;
		em_order *order;
		em_stream *s = NULL, *in;
		em_status st;
		em_runs *r;
		pair *p;
		size_t n;
		feed f;

		flow_open(&t, 8 * MIB, 0);
		order = flow_order(&t, sizeof(pair));
		p = runs_pairs(&t, N, round % 2 != 0 ? 20000 : UINT64_MAX - 1);
		form.memory = MIB;
		form.block_bytes = 4096;
		form.run_records = 1000;
		form.fan_in = 5;
		n = (size_t)test_below(&t.rng, N);
		if (round % 4 == 3) {
			in = feed_open(&f, &t, p, n, sizeof *p, 500);
			assert_int_equal(em_stream_sort_reduce(&s, in, order, &form, runs_add, NULL, NULL, &t.err),
					 EM_OK);
			free(flow_drain(&t, s, (size_t)test_below(&t.rng, n + 1), &n, &st));
			em_stream_close(s);
			em_order_close(order);
			free(p);
			flow_close(&t);
			continue;
		}
		r = runs_open(&t, order, &form, round % 2 != 0 ? runs_add : NULL);
		runs_give(&t, r, p, n, 0);
		if (test_below(&t.rng, 4) != 0) {
			if (test_below(&t.rng, 4) == 0) {
				em_runs_cancel(r);
				st = em_runs_finish(r);
				assert_int_equal(st, EM_ERR_CANCELED);
			} else {
				runs_assert(r, em_runs_finish(r));
				s = runs_merge(&t, r, NULL);
				free(flow_drain(&t, s, (size_t)test_below(&t.rng, n + 1), &n, &st));
				if (st == EM_OK && test_below(&t.rng, 2) == 0) {
					em_ctx_cancel(t.ctx);
					while ((st = em_stream_next(s, &batch)) == EM_OK)
						continue;
					assert_true(st == EM_ERR_CANCELED || st == EM_END);
				}
				em_stream_close(s);
			}
		}
		em_runs_close(r);
		em_order_close(order);
		free(p);
		flow_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_user_fails),
		cmocka_unit_test(test_halfway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
