/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_null.c -- NULL is never a crash (extmem/base.h): every public function with nothing but that.
 *
 * None can be forgotten, as null.inc, which lists them, is compared with what the library exports.  In the other tests
 * of NULL (null_case.h) each argument of an object's functions is that in its turn.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem.h>
#include <extmem/gen/kernels.h>
#include <extmem/sys/allocator.h>
#include <extmem/sys/backend.h>
#include <extmem/sys/block.h>
#include <extmem/sys/block_stream.h>
#include <extmem/sys/cache.h>
#include <extmem/sys/element_stream.h>
#include <extmem/sys/fault.h>
#include <extmem/sys/file.h>
#include <extmem/sys/io_stats.h>
#include <extmem/sys/output.h>
#include <extmem/sys/placement.h>
#include <extmem/sys/pool.h>
#include <extmem/sys/request.h>
#include <extmem/sys/schedule.h>
#include <extmem/sys/simdisk.h>
#include <extmem/sys/sort_blocks.h>
#include <extmem/sys/typed_block.h>

/* What a function does with nothing: a number, or a text. */
typedef struct outcome {
	int64_t number;
	const char *text;
} outcome;

static const outcome nothing = { 0, NULL };

static outcome number(int64_t n)
{
	const outcome o = { n, NULL };

	return o;
}

static outcome text(const char *s)
{
	const outcome o = { 0, s };

	return o;
}

#define NULL_STATUS(name, args) static outcome with_##name(void) { return number(name args); }
#define NULL_NUMBER(name, args, n) static outcome with_##name(void) { return number((int64_t)name args); }
#define NULL_TEXT(name, args, s) static outcome with_##name(void) { return text(name args); }
#define NULL_POINTER(name, args) static outcome with_##name(void) { return number(name args != NULL); }
#define NULL_HERE(name, args) static outcome with_##name(void) { return number(name args != NULL); }
#define NULL_VOID(name, args) static outcome with_##name(void) { name args; return nothing; }
#define NULL_TAKEN(name)
#define NULL_INLINE(name)
#include "null.inc"
#undef NULL_STATUS
#undef NULL_NUMBER
#undef NULL_TEXT
#undef NULL_POINTER
#undef NULL_HERE
#undef NULL_VOID
#undef NULL_TAKEN
#undef NULL_INLINE

typedef struct function {
	const char *name;
	outcome (*run)(void);   /* NULL: it takes no pointer */
	int64_t number;
	const char *text;
} function;

static const function functions[] = {
#define NULL_STATUS(name, args) { #name, with_##name, EM_ERR_INVAL, NULL },
#define NULL_NUMBER(name, args, n) { #name, with_##name, n, NULL },
#define NULL_TEXT(name, args, s) { #name, with_##name, 0, s },
#define NULL_POINTER(name, args) { #name, with_##name, 0, NULL },
#define NULL_HERE(name, args) { #name, with_##name, 1, NULL },
#define NULL_VOID(name, args) { #name, with_##name, 0, NULL },
#define NULL_TAKEN(name) { #name, NULL, 0, NULL },
#define NULL_INLINE(name) { #name, NULL, 0, NULL },
#include "null.inc"
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static void test_nothing(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < FUNCTIONS; i++) {
		const function *f = &functions[i];
		const outcome o = f->run != NULL ? f->run() : nothing;

		if (f->text != NULL ? o.text == NULL || strcmp(o.text, f->text) != 0 : o.number != f->number)
			fail_msg("%s() of nothing: %lld, \"%s\"", f->name, (long long)o.number,
				 o.text != NULL ? o.text : "");
	}
}

static FILE *open_map(void)
{
	const char *const near[] = { getenv("EM_SRCDIR"), "..", "../..", "." };
	char path[4096];
	FILE *map = NULL;
	size_t i;

	for (i = 0; i < sizeof near / sizeof near[0] && map == NULL; i++) {
		snprintf(path, sizeof path, "%s/src/libextmem.map", near[i] != NULL ? near[i] : ".");
		map = fopen(path, "r");
	}
	return map;
}

/* The list is what the library exports, and in the same order. */
static void test_all(void **state)
{
	FILE *map = open_map();
	char line[256];
	size_t i = 0;

	(void)state;
	if (map == NULL)
		fail_msg("there is no src/libextmem.map: EM_SRCDIR says where the sources are");
	while (fgets(line, sizeof line, map) != NULL) {
		char *end = strchr(line, ';');

		if (strncmp(line, "\tem_", 4) != 0 || end == NULL)
			continue;
		*end = '\0';
		if (i == FUNCTIONS || strcmp(functions[i].name, line + 1) != 0)
			fail_msg("null.inc has no %s behind %s", line + 1, i != 0 ? functions[i - 1].name : "its top");
		i++;
	}
	fclose(map);
	assert_int_equal(i, FUNCTIONS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests_name("abi/null", tests, NULL, NULL);
}
