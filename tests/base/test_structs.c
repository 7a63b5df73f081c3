/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_structs.c -- structs of callers that are older or newer than the library, and those that nobody initialised.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/structs.h"

/* Options as three versions of a program know them; the library is the second. */
typedef struct opts_v1 {
	uint32_t size;
	uint32_t a;
} opts_v1;

typedef struct opts_v2 {
	uint32_t size;
	uint32_t a;
	uint64_t b;
} opts_v2;

typedef struct opts_v3 {
	uint32_t size;
	uint32_t a;
	uint64_t b;
	uint64_t c;
} opts_v3;

static em_status take(opts_v2 *to, const void *from, em_errinfo *err)
{
	memset(to, 0xee, sizeof(*to));
	return emi_struct_take(to, from, sizeof(*to), sizeof(opts_v1), "opts", err);
}

static void test_take(void **state)
{
	opts_v1 old = { sizeof(opts_v1), 7 };
	opts_v2 same = { sizeof(opts_v2), 8, 9 };
	opts_v3 newer = { sizeof(opts_v3), 10, 11, 0 };
	em_errinfo err = EM_ERRINFO_INIT;
	opts_v2 o;

	(void)state;
	assert_int_equal(take(&o, NULL, &err), EM_OK);
	assert_int_equal(o.size, sizeof(o));
	assert_int_equal(o.a, 0);
	assert_int_equal(o.b, 0);

	assert_int_equal(take(&o, &old, &err), EM_OK);
	assert_int_equal(o.size, sizeof(o));
	assert_int_equal(o.a, 7);
	assert_int_equal(o.b, 0);

	assert_int_equal(take(&o, &same, &err), EM_OK);
	assert_int_equal(o.a, 8);
	assert_int_equal(o.b, 9);

	assert_int_equal(take(&o, &newer, &err), EM_OK);
	assert_int_equal(o.size, sizeof(o));
	assert_int_equal(o.a, 10);
	assert_int_equal(o.b, 11);
	assert_int_equal(err.status, EM_OK);

	newer.c = (uint64_t)1 << 63;
	assert_int_equal(take(&o, &newer, &err), EM_ERR_VERSION);
	assert_int_equal(err.status, EM_ERR_VERSION);
	assert_non_null(strstr(err.text, "opts"));
	assert_non_null(strstr(err.text, "at byte "));
	newer.c = 1;
	assert_int_equal(take(&o, &newer, NULL), EM_ERR_VERSION);
}

static void test_no_size(void **state)
{
	static const uint32_t sizes[] = { 0, 1, sizeof(opts_v1) - 1, sizeof(opts_v2) + 4097, 1u << 20, UINT32_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		opts_v2 src = { 0, 0, 0 };
		em_errinfo err = EM_ERRINFO_INIT;
		opts_v2 o;

		src.size = sizes[i];
		assert_int_equal(take(&o, &src, &err), EM_ERR_VERSION);
		assert_int_equal(err.status, EM_ERR_VERSION);
		assert_int_equal(strncmp(err.text, "opts: its size is ", 18), 0);
		assert_int_equal(emi_struct_give(&src, &o, sizeof(o), sizeof(opts_v1)), EM_ERR_VERSION);
		assert_int_equal(src.size, sizes[i]);
	}
}

/* What a caller has no room for is not written, and what he has more is zeroed. */
static void test_give(void **state)
{
	const opts_v2 ours = { sizeof(opts_v2), 5, 6 };
	opts_v3 theirs;

	(void)state;
	memset(&theirs, 0x99, sizeof(theirs));
	theirs.size = sizeof(opts_v1);
	assert_int_equal(emi_struct_give(&theirs, &ours, sizeof(ours), sizeof(opts_v1)), EM_OK);
	assert_int_equal(theirs.size, sizeof(opts_v1));
	assert_int_equal(theirs.a, 5);
	assert_true(theirs.b == UINT64_C(0x9999999999999999) && theirs.c == theirs.b);
	theirs.size = sizeof(opts_v3);
	assert_int_equal(emi_struct_give(&theirs, &ours, sizeof(ours), sizeof(opts_v1)), EM_OK);
	assert_int_equal(theirs.size, sizeof(opts_v3));
	assert_int_equal(theirs.b, 6);
	assert_int_equal(theirs.c, 0);
	assert_int_equal(emi_struct_give(NULL, &ours, sizeof(ours), sizeof(opts_v1)), EM_ERR_INVAL);
}

static void test_errinfo(void **state)
{
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_errinfo err;

	(void)state;
	assert_null(EMI_ERRINFO_OF(em_sort_opts, NULL));
	assert_null(EMI_ERRINFO_OF(em_sort_opts, &opts));
	opts.errinfo = &err;
	assert_ptr_equal(EMI_ERRINFO_OF(em_sort_opts, &opts), &err);
	opts.size = EMI_FIRST_em_sort_opts;
	assert_ptr_equal(EMI_ERRINFO_OF(em_sort_opts, &opts), &err);
	/* Without its initialiser, but zeroed. */
	opts.size = 0;
	assert_ptr_equal(EMI_ERRINFO_OF(em_sort_opts, &opts), &err);
	/* Garbage. */
	opts.size = EMI_FIRST_em_sort_opts - 1;
	assert_null(EMI_ERRINFO_OF(em_sort_opts, &opts));
	opts.size = UINT32_MAX;
	assert_null(EMI_ERRINFO_OF(em_sort_opts, &opts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_no_size),
		cmocka_unit_test(test_give),
		cmocka_unit_test(test_errinfo),
	};

	return cmocka_run_group_tests_name("base/structs", tests, NULL, NULL);
}
