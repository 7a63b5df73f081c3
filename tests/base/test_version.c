/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_version.c -- the version as text and as a number, and what the library says it was built with: that has to be
 * what contexts can be opened with, and sorts compress with.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/sys/backend.h>

static void test_version(void **state)
{
	const uint32_t n = em_version_number();
	char text[32];

	(void)state;
	assert_int_equal(n, EM_VERSION_NUMBER);
	snprintf(text, sizeof text, "%u.%u.%u", n / 1000000, n / 1000 % 1000, n % 1000);
	assert_string_equal(text, em_version());
}

static void test_names(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(em_feature_count() >= 5);
	for (i = 0; i < em_feature_count(); i++) {
		const int there = em_feature(em_feature_at(i));

		assert_true(there == 0 || there == 1);
	}
	assert_null(em_feature_at(em_feature_count()));
	assert_null(em_feature_at(UINT32_MAX));
	assert_int_equal(em_feature(""), 0);
	assert_int_equal(em_feature("lz"), 0);
	assert_int_equal(em_feature(NULL), 0);
}

/* What works here was built in. */
static void test_backends(void **state)
{
	static const char *const names[] = { "libaio", "io_uring" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++)
		assert_true(em_feature(names[i]) >= em_backend_supported(names[i]));
}

static void test_isa(void **state)
{
	static const char *const names[] = { "avx2", "avx512" };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		em_ctx_opts o = EM_CTX_OPTS_INIT;
		em_ctx *ctx;

		o.isa = names[i];
		if (em_ctx_open(&ctx, &o) == EM_OK)
			assert_int_equal(em_feature(names[i]), 1);
		em_ctx_close(ctx);
	}
}

static void test_lz4(void **state)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_order *order;
	em_sorter *s;
	em_status st;
	em_ctx *ctx;

	(void)state;
	assert_int_equal(em_ctx_open(&ctx, NULL), EM_OK);
	assert_int_equal(em_order_keys(&order, ctx, 8, NULL, 0, NULL), EM_OK);
	so.compress = EM_COMPRESS_ALWAYS;
	st = em_sorter_open(&s, ctx, order, &so);
	assert_int_equal(st, em_feature("lz4") ? EM_OK : EM_ERR_NOTSUP);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_backends),
		cmocka_unit_test(test_isa),
		cmocka_unit_test(test_lz4),
	};

	return cmocka_run_group_tests_name("base/version", tests, NULL, NULL);
}
