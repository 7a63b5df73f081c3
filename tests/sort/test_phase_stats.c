/* SPDX-License-Identifier: BSL-1.0 */
/* test_phase_stats.c -- phases in em_sort_stats: what is put in comes out, and how many there are is told by EM_END. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sort/phase_stats.h"

static em_phase_stats filled(uint32_t i)
{
	em_phase_stats p = EM_PHASE_STATS_INIT;

	p.seconds = 1.25 + i;
	p.cpu_seconds = 1e9 * i;
	p.io_wait = 1e-9 * (i + 1);
	p.bytes_read = UINT64_MAX - i;
	p.bytes_written = i;
	p.ios_read = (uint64_t)i << 40;
	p.ios_written = 7 + i;
	return p;
}

static void test_round_trip(void **state)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_phase_stats in[9], out = EM_PHASE_STATS_INIT;
	uint32_t n, i;

	(void)state;
	for (n = 0; n <= sizeof in / sizeof *in; n++) {
		for (i = 0; i < n; i++)
			in[i] = filled(i + n);
		emi_phases_put(&stats, in, n);
		for (i = 0; i < n; i++) {
			memset(&out.seconds, 0xff, sizeof out - offsetof(em_phase_stats, seconds));
			assert_int_equal(em_sort_stats_phase(&stats, i, &out), EM_OK);
			assert_memory_equal(&out, &in[i], sizeof out);
		}
		assert_int_equal(em_sort_stats_phase(&stats, n, &out), EM_END);
		assert_int_equal(em_sort_stats_phase(&stats, UINT32_MAX, &out), EM_END);
	}
}

/* Statistics that nobody filled have no phases; garbage in them leads nowhere. */
static void test_not_filled(void **state)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_phase_stats out = EM_PHASE_STATS_INIT;

	(void)state;
	assert_int_equal(em_sort_stats_phase(&stats, 0, &out), EM_END);
	memset(stats.phases, 0xff, sizeof stats.phases);
	assert_int_equal(em_sort_stats_phase(&stats, 0, &out), EM_OK);
	assert_int_equal(em_sort_stats_phase(&stats, 9, &out), EM_END);
}

static void test_bad_arguments(void **state)
{
	em_sort_stats stats = EM_SORT_STATS_INIT;
	em_phase_stats out = EM_PHASE_STATS_INIT;

	(void)state;
	assert_int_equal(em_sort_stats_phase(NULL, 0, &out), EM_ERR_INVAL);
	assert_int_equal(em_sort_stats_phase(&stats, 0, NULL), EM_ERR_INVAL);
	out.size = 0;
	assert_int_equal(em_sort_stats_phase(&stats, 0, &out), EM_ERR_VERSION);
	out.size = sizeof out;
	stats.size = 0;
	assert_int_equal(em_sort_stats_phase(&stats, 0, &out), EM_ERR_VERSION);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_not_filled),
		cmocka_unit_test(test_bad_arguments),
	};

	return cmocka_run_group_tests_name("sort/phase_stats", tests, NULL, NULL);
}
