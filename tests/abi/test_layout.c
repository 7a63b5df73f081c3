/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_layout.c -- public structs are laid out as programs that exist already believe.
 *
 * The numbers are in layout.inc.  The public types are made of fixed-width integers and pointers, so
 * the size of a pointer and the alignment of 64-bit integers decide everything.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/gen/kernels.h>
#include <extmem/sys/allocator.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/file.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/output.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/typed_block.h>

typedef struct expectation {
	const char *what;
	size_t actual;
	size_t expected[3];
} expectation;

#define SIZE(s, lp64, i386, ilp32) { "sizeof(" #s ")", sizeof(s), { lp64, i386, ilp32 } },
#define FIELD(s, f, lp64, i386, ilp32) { "offsetof(" #s ", " #f ")", offsetof(s, f), { lp64, i386, ilp32 } },
static const expectation table[] = {
#include "abi/layout.inc"
};
#undef SIZE
#undef FIELD

typedef struct probe {
	char c;
	uint64_t u;
} probe;

/* Which column of the table holds here. */
static size_t column(void)
{
	if (sizeof(void *) == 8)
		return 0;
	return offsetof(probe, u) == 4 ? 1 : 2;
}

static void test_layout(void **state)
{
	const size_t col = column();
	size_t i;
	int wrong = 0;

	(void)state;
	assert_true(sizeof(void *) == 8 || sizeof(void *) == 4);
	for (i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (table[i].actual == table[i].expected[col])
			continue;
		print_error("%s is %u and must be %u\n", table[i].what, (unsigned)table[i].actual,
			    (unsigned)table[i].expected[col]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* The initialisers set the size and leave everything else at zero, which means "default". */
static void test_initialisers(void **state)
{
	static const em_ctx_opts ctx = EM_CTX_OPTS_INIT;
	static const em_sort_opts sort = EM_SORT_OPTS_INIT;
	static const em_unique_opts unique = EM_UNIQUE_OPTS_INIT;
	static const em_shuffle_opts shuffle = EM_SHUFFLE_OPTS_INIT;
	const unsigned char *p = (const unsigned char *)&ctx;
	const unsigned char *q = (const unsigned char *)&sort;
	const unsigned char *r = (const unsigned char *)&unique;
	const unsigned char *s = (const unsigned char *)&shuffle;
	size_t i;

	(void)state;
	assert_int_equal(ctx.size, sizeof ctx);
	assert_int_equal(sort.size, sizeof sort);
	assert_int_equal(unique.size, sizeof unique);
	assert_int_equal(shuffle.size, sizeof shuffle);
	for (i = sizeof ctx.size; i < sizeof ctx; i++)
		assert_int_equal(p[i], 0);
	for (i = sizeof sort.size; i < sizeof sort; i++)
		assert_int_equal(q[i], 0);
	for (i = sizeof unique.size; i < sizeof unique; i++)
		assert_int_equal(r[i], 0);
	for (i = sizeof shuffle.size; i < sizeof shuffle; i++)
		assert_int_equal(s[i], 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_initialisers),
	};

	return cmocka_run_group_tests_name("abi/layout", tests, NULL, NULL);
}
