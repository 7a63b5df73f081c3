/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_constants.c -- constants by their names have the values that C programs see.  That none is missing
 * scripts/check-exports.sh finds out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/block.h>
#include <extmem/sys/cache.h>

static void check(const char *name, int64_t want)
{
	int64_t value = ~want;

	assert_int_equal(em_constant(name, &value), 1);
	assert_true(value == want);
}

static void test_values(void **state)
{
	(void)state;
	check("EM_KEY_U64", EM_KEY_U64);
	check("EM_SORT_UNIQUE", EM_SORT_UNIQUE);
	check("EM_COMPRESS_ALWAYS", EM_COMPRESS_ALWAYS);
	check("EM_BTREE_GE", EM_BTREE_GE);
	check("EM_CMP_ERROR", INT32_MIN);
	check("EM_DIRECT_CONTEXT", -1);
	check("EM_DISKS_ALL", UINT32_MAX);
	check("EM_CACHE_NONE", UINT32_MAX);
	check("EM_BLOCK_USUAL", 1 << 20);
	/* The same bits. */
	check("EM_STREAM_UNKNOWN", -1);
	check("EM_VERSION_NUMBER", EM_VERSION_NUMBER);
}

static void test_statuses(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < em_status_count(); i++)
		check(em_status_name(em_status_at(i)), em_status_at(i));
}

/* Each name is there once, and is found. */
static void test_names(void **state)
{
	const uint32_t n = em_constant_count();
	int64_t value, before = 7;
	uint32_t i, j;

	(void)state;
	assert_true(n > 150);
	for (i = 0; i < n; i++) {
		assert_int_equal(strncmp(em_constant_at(i), "EM_", 3), 0);
		assert_int_equal(em_constant(em_constant_at(i), &value), 1);
		for (j = 0; j < i; j++)
			assert_string_not_equal(em_constant_at(i), em_constant_at(j));
	}
	assert_null(em_constant_at(n));
	assert_null(em_constant_at(UINT32_MAX));
	value = before;
	assert_int_equal(em_constant("EM_KEY", &value), 0);
	assert_int_equal(em_constant("", &value), 0);
	assert_int_equal(em_constant("em_key_u64", &value), 0);
	assert_int_equal(em_constant(NULL, &value), 0);
	assert_true(value == before);
	assert_int_equal(em_constant("EM_KEY_U64", NULL), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("abi/constants", tests, NULL, NULL);
}
