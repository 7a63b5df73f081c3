/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_sorts.c -- structs of orders, and sorts of files; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/subjects_case.h"

#define EM_GEN_NAME by_number
#define EM_GEN_RECORD uint64_t
#define EM_GEN_LESS(a, b) (*(a) < *(b))
#include <extmem/gen/order.h>

static em_status with_check_opts(void *theirs)
{
	em_check_info info = EM_CHECK_INFO_INIT;

	return em_check_file(given.ctx, given.order, given.in, theirs, &info, NULL, NULL);
}

static em_status with_check_info(void *theirs)
{
	em_check_opts o = EM_CHECK_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_check_file(given.ctx, given.order, given.in, &o, theirs, NULL, NULL);
}

static em_status with_format(void *theirs)
{
	em_check_info info = EM_CHECK_INFO_INIT;
	em_check_opts o = EM_CHECK_OPTS_INIT;

	o.format = theirs;
	o.errinfo = &subjects_err;
	return em_check_file(given.ctx, NULL, given.in, &o, &info, NULL, NULL);
}

static em_status with_text_opts(void *theirs)
{
	em_order *text;
	const em_status st = em_order_text(&text, given.ctx, NULL, 0, theirs, &subjects_err);

	em_order_close(text);
	return st;
}

static em_status with_kernels(void *theirs)
{
	em_order *own;
	const em_status st = em_order_kernels(&own, given.ctx, theirs, NULL, &subjects_err);

	em_order_close(own);
	return st;
}

static em_status with_sort_opts(void *theirs)
{
	em_sorter *s;
	const em_status st = em_sorter_open(&s, given.ctx, given.order, theirs);

	em_sorter_close(s);
	return st;
}

static em_status with_plan_info(void *theirs)
{
	em_sort_opts o = EM_SORT_OPTS_INIT;

	o.errinfo = &subjects_err;
	return em_sort_plan(given.ctx, given.order, 1000, &o, theirs);
}

static em_status with_sort_stats(void *theirs)
{
	const char *const inputs[] = { given.in };
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	em_sort_opts o = EM_SORT_OPTS_INIT;
	em_status st;

	o.errinfo = &subjects_err;
	st = em_sort_files(given.ctx, given.order, inputs, 1, given.out, &o, theirs);
	if (st == EM_OK) {
		assert_int_equal(em_sort_stats_phase(theirs, EM_PHASE_RUNS, &phase), EM_OK);
		assert_int_equal(phase.bytes_read, sizeof subjects_numbers);
	}
	return st;
}

static em_status with_phase_stats(void *theirs)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	const char *const inputs[] = { given.in };

	assert_int_equal(em_sort_files(given.ctx, given.order, inputs, 1, given.out, NULL, &stats), EM_OK);
	return em_sort_stats_phase(&stats, EM_PHASE_RUNS, theirs);
}

static em_status with_shuffle_opts(void *theirs)
{
	const char *const inputs[] = { given.in };

	return em_shuffle_files(given.ctx, 8, inputs, 1, given.out, theirs, NULL);
}

static em_status with_unique_opts(void *theirs)
{
	const char *const inputs[] = { given.in };

	return em_unique_files(given.ctx, given.order, inputs, 1, given.out, theirs, NULL);
}

size_t subjects_sorts(subject *s)
{
	size_t n = 0;

	s[n++] = MAKE(em_check_info, with_check_info, 1);
	s[n] = MAKE(em_check_opts, with_check_opts, 1);
	s[n].u.check_opts = (em_check_opts)EM_CHECK_OPTS_INIT;
	s[n++].u.check_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_format, with_format, 1);
	s[n++].u.format = (em_format)EM_FORMAT_INIT;
	s[n] = MAKE(em_kernels, with_kernels, 1);
	s[n++].u.kernels = by_number_kernels;
	s[n++] = MAKE(em_phase_stats, with_phase_stats, 0);
	s[n] = MAKE(em_shuffle_opts, with_shuffle_opts, 1);
	s[n].u.shuffle_opts = (em_shuffle_opts)EM_SHUFFLE_OPTS_INIT;
	s[n++].u.shuffle_opts.errinfo = &subjects_err;
	s[n] = MAKE(em_sort_opts, with_sort_opts, 1);
	s[n].u.sort_opts = (em_sort_opts)EM_SORT_OPTS_INIT;
	s[n++].u.sort_opts.errinfo = &subjects_err;
	s[n++] = MAKE(em_sort_plan_info, with_plan_info, 1);
	s[n++] = MAKE(em_sort_stats, with_sort_stats, 1);
	s[n] = MAKE(em_text_opts, with_text_opts, 1);
	s[n++].u.text_opts = (em_text_opts)EM_TEXT_OPTS_INIT;
	s[n] = MAKE(em_unique_opts, with_unique_opts, 1);
	s[n].u.unique_opts = (em_unique_opts)EM_UNIQUE_OPTS_INIT;
	s[n++].u.unique_opts.errinfo = &subjects_err;
	return n;
}
