/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_inits.c -- em_..._init() does what the initialiser does, to structs of the library's size, and of others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/text.h>

#include "base/structs.h"

#define GUARD 0x99

typedef struct init_case {
	const char *name;
	size_t bytes;           /* of the struct */
	int fixed;              /* it has no size */
	void (*fresh)(void *out);
	void (*call)(void *out, size_t bytes);
} init_case;

#define EM_INIT(s, init) static void fresh_##s(void *out) { const s fresh = init; memcpy(out, &fresh, sizeof fresh); }
#define EM_INIT_FIXED EM_INIT
#include "abi/inits.inc"
#undef EM_INIT
#undef EM_INIT_FIXED
#define EM_INIT(s, init) static void call_##s(void *out, size_t bytes) { s##_init(out, bytes); }
#define EM_INIT_FIXED(s, init) static void call_##s(void *out, size_t bytes) { (void)bytes; s##_init(out); }
#include "abi/inits.inc"
#undef EM_INIT
#undef EM_INIT_FIXED

static const init_case cases[] = {
#define EM_INIT(type, init) { #type, sizeof(type), 0, fresh_##type, call_##type },
#define EM_INIT_FIXED(type, init) { #type, sizeof(type), 1, fresh_##type, call_##type },
#include "abi/inits.inc"
};

enum { CASES = sizeof cases / sizeof cases[0] };

/* A struct of so many bytes is as the initialiser has it, as far as it goes, and nothing behind it is written. */
static void check(const init_case *c, size_t bytes)
{
	unsigned char *want = calloc(1, c->bytes + bytes), *got = malloc(bytes + 1);
	const uint32_t size = (uint32_t)bytes;

	assert_non_null(want);
	assert_non_null(got);
	memset(got, GUARD, bytes + 1);
	c->fresh(want);
	if (!c->fixed)
		memcpy(want, &size, sizeof size);
	c->call(got, bytes);
	if (memcmp(got, want, bytes) != 0 || got[bytes] != GUARD)
		fail_msg("%s of %u bytes", c->name, (unsigned)bytes);
	free(want);
	free(got);
}

static void test_own(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < CASES; i++)
		check(&cases[i], cases[i].bytes);
}

static void test_others(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < CASES; i++) {
		if (cases[i].fixed)
			continue;
		check(&cases[i], sizeof(uint32_t));
		check(&cases[i], cases[i].bytes - 8);
		check(&cases[i], cases[i].bytes + 24);
	}
}

/* No room for a size: nothing happens.  NULL is not a crash. */
static void test_none(void **state)
{
	unsigned char small[8];
	size_t i, k;

	(void)state;
	memset(small, GUARD, sizeof small);
	for (i = 0; i < CASES; i++) {
		cases[i].call(NULL, cases[i].bytes);
		if (!cases[i].fixed)
			cases[i].call(small, sizeof(uint32_t) - 1);
	}
	for (k = 0; k < sizeof small; k++)
		assert_int_equal(small[k], GUARD);
}

/* Every struct that begins with its size has one, but for those that others make. */
static void test_all(void **state)
{
	static const char *const others[] = { "em_backend_open", "em_fault", "em_kernels", "em_simdisk" };
	static const char *const names[] = {
#define EM_FIRST(type, field) #type,
#include "base/structs.inc"
	};
	size_t i, k, o;

	(void)state;
	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		for (k = 0; k < CASES && strcmp(names[i], cases[k].name) != 0; k++)
			;
		for (o = 0; o < sizeof others / sizeof others[0] && strcmp(names[i], others[o]) != 0; o++)
			;
		if ((k == CASES) == (o == sizeof others / sizeof others[0]))
			fail_msg("%s has no line in inits.inc, or should not", names[i]);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("abi/inits", tests, NULL, NULL);
}
