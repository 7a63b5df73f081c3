/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_budget.c -- what the machine and the limits of the process leave.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/budget.h"

static void physical_memory(void **state)
{
	uint64_t bytes = emi_physical_memory();

	(void)state;
	assert_true(bytes > (uint64_t)16 << 20);
	assert_int_equal(bytes % 4096 == 0 || bytes == UINT64_MAX, 1);
}

static void cores(void **state)
{
	uint32_t n = emi_usable_cores();

	(void)state;
	assert_true(n >= 1);
#ifdef __linux__
	{
		cpu_set_t old, one;
		size_t i;

		assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
		assert_int_equal(n, CPU_COUNT(&old));
		for (i = 0; !CPU_ISSET(i, &old); i++)
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one) != 0)
			skip();
		assert_int_equal(emi_usable_cores(), 1);
		assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
		assert_int_equal(emi_usable_cores(), n);
	}
#endif
}

/* Open until the system refuses: that many there were. */
static void descriptors(void **state)
{
	struct rlimit old, small;
	int fds[64];
	uint32_t left, n = 0, i;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	small = old;
	small.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	left = emi_free_descriptors();
	while (n < 64 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	assert_true(n > 0);
	assert_int_equal(left, n);
	assert_int_equal(emi_free_descriptors(), 0);
	close(fds[0]);
	assert_int_equal(emi_free_descriptors(), 1);
	for (i = 1; i < n; i++)
		close(fds[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_true(emi_free_descriptors() >= left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(physical_memory),
		cmocka_unit_test(cores),
		cmocka_unit_test(descriptors),
	};

	return cmocka_run_group_tests_name("base/budget", tests, NULL, NULL);
}
