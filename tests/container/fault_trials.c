/* SPDX-License-Identifier: BSL-1.0 */
/* fault_trials.c -- see fault_trials.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "container/fault_trials.h"

const fault_way fault_ways[FAULT_WAYS] = {
	{ EM_FAULT_READ, 1, 5 },
	{ EM_FAULT_WRITE, 1, 5 },
	{ EM_FAULT_READ | EM_FAULT_WRITE, 7, 5 },
	{ EM_FAULT_WRITE, 5, 28 },
	{ EM_FAULT_OPEN | EM_FAULT_SIZE | EM_FAULT_RESIZE | EM_FAULT_RESERVE, 1, 28 },
};

uint64_t fault_trials_transfers(const fault_trials *s, unsigned number, const fault_way *way, uint64_t most)
{
	uint64_t failures = 0, runs = 0, all = 0, nth;

	for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1 + all / most)) {
		s->open(s->trial, number);
		s->f->fault[0].sys_errno = way->sys_errno;
		em_fault_set(&s->f->fault[0], way->ops, nth, way->times);
		s->work(s->trial);
		failures += *s->failures;
		all = s->f->fault[0].count;
		runs++;
		s->close(s->trial);
		if (nth > all)
			break;
	}
	print_message("trials %u, calls %x: %llu failures in %llu runs of %llu\n", number, (unsigned)way->ops,
		      (unsigned long long)failures, (unsigned long long)runs, (unsigned long long)all);
	return failures;
}

void fault_trials_allocations(const fault_trials *s, unsigned number, uint64_t most)
{
	uint64_t failures = 0, all = 0, nth;

	for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1 + all / most)) {
		uint64_t before;

		s->open(s->trial, number);
		before = s->f->mem.calls;
		s->f->mem.fail_at = before + nth;
		s->work(s->trial);
		all = s->f->mem.calls - before;
		failures += *s->failures;
		assert_true(*s->failures == 0 || *s->failed == EM_ERR_NOMEM);
		s->close(s->trial);
		if (nth > all)
			break;
	}
	assert_true(failures != 0 || !test_sweeps());
	print_message("trials %u: %llu failures of %llu allocations\n", number, (unsigned long long)failures,
		      (unsigned long long)all);
}

uint64_t fault_trials_random(const fault_trials *s, unsigned number)
{
	static const uint64_t one_in[] = { 50, 10 };
	uint64_t failures = 0, injected = 0;
	unsigned i;

	for (i = 0; i < sizeof one_in / sizeof *one_in; i++) {
		s->open(s->trial, number);
		em_fault_set_random(&s->f->fault[0], EM_FAULT_READ | EM_FAULT_WRITE, one_in[i],
				    test_random(&s->f->rng));
		s->work(s->trial);
		em_fault_set(&s->f->fault[0], 0, 0, 0);
		injected += s->f->fault[0].injected;
		failures += *s->failures;
		s->close(s->trial);
	}
	print_message("trials %u: %llu failures of %llu transfers that failed\n", number, (unsigned long long)failures,
		      (unsigned long long)injected);
	return failures;
}

void fault_trials_opening(fixture *f, em_status (*open)(void *what), void *what, const em_errinfo *err)
{
	uint64_t nth;

	for (nth = test_nth_after(0, 1);; nth = test_nth_after(nth, 1)) {
		const uint64_t bytes = f->mem.bytes;

		f->mem.fail_at = f->mem.calls + nth;
		if (open(what) == EM_OK)
			break;
		assert_int_equal(err->status, EM_ERR_NOMEM);
		assert_int_equal(f->mem.bytes, bytes);
	}
	assert_true(nth > 1);
	f->mem.fail_at = 0;
}

void fault_trials_moments(fixture *f, unsigned i)
{
	if (i % 30 == 29)
		em_fault_set(&f->fault[0], i % 60 == 29 ? 0 : EM_FAULT_WRITE | EM_FAULT_RESERVE, 1, UINT64_MAX);
	if (i % 30 == 5)
		em_fault_set(&f->fault[0], EM_FAULT_READ, 1, UINT64_MAX);
}

em_ctx *fault_trials_little_scratch(fixture *f)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *own = f->ctx;

	opts.memory = 32u << 20;
	opts.threads = 1;
	opts.custom = em_backend_find("memory");
	opts.scratch_max = 1u << 20;
	assert_int_equal(em_ctx_open(&f->ctx, &opts), EM_OK);
	return own;
}

void fault_trials_scratch(fixture *f, em_ctx *own)
{
	em_ctx_close(f->ctx);
	f->ctx = own;
}
