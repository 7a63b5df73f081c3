/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_status.c -- the table of statuses, and the other tables of names.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <extmem/progress.h>
#include <extmem/status.h>

static void frozen_values(void **state)
{
	(void)state;
	assert_int_equal(EM_OK, 0);
	assert_int_equal(EM_END, 1);
	assert_int_equal(EM_NOT_FOUND, 2);
	assert_int_equal(EM_EXISTS, 3);
	assert_int_equal(EM_ERR_INVAL, -1);
	assert_int_equal(EM_ERR_VERSION, -6);
	assert_int_equal(EM_ERR_BUSY, -7);
	assert_int_equal(EM_ERR_NOMEM, -101);
	assert_int_equal(EM_ERR_MEMLIMIT, -102);
	assert_int_equal(EM_ERR_IO, -201);
	assert_int_equal(EM_ERR_CORRUPT, -301);
	assert_int_equal(EM_ERR_USER, -401);
	assert_int_equal(EM_ERR_INTERNAL, -901);
	assert_true(EM_ERR_INTERNAL <= EM_STATUS_FATAL);
}

static void names_and_texts(void **state)
{
	(void)state;
	assert_string_equal(em_status_text(EM_ERR_NOSPACE), "no space left for the data");
	assert_string_equal(em_status_name(EM_ERR_NOSPACE), "EM_ERR_NOSPACE");
	assert_string_equal(em_status_text(EM_OK), "success");
	assert_string_equal(em_status_name(EM_OK), "EM_OK");
	assert_string_equal(em_status_text(INT32_MIN), "unknown status");
	assert_string_equal(em_status_name(INT32_MIN), "EM_?");
	assert_string_equal(em_status_text(4), "unknown status");
	assert_string_equal(em_status_name(INT32_MAX), "EM_?");
}

static void table_is_sound(void **state)
{
	uint32_t n = em_status_count();
	uint32_t i, j;

	(void)state;
	assert_true(n > 20);
	for (i = 0; i < n; i++) {
		em_status st = em_status_at(i);
		const char *text = em_status_text(st);

		assert_int_equal(strncmp(em_status_name(st), "EM_", 3), 0);
		assert_true(strlen(text) > 3);
		assert_true(text[strlen(text) - 1] != '.');
		for (j = 0; j < i; j++) {
			assert_int_not_equal(st, em_status_at(j));
			assert_string_not_equal(text, em_status_text(em_status_at(j)));
		}
	}
	assert_int_equal(em_status_at(n), EM_ERR_RANGE);
	assert_int_equal(em_status_at(UINT32_MAX), EM_ERR_RANGE);
}

static void phases(void **state)
{
	(void)state;
	assert_string_equal(em_phase_name(EM_PHASE_RUNS), "runs");
	assert_string_equal(em_phase_name(EM_PHASE_MERGE), "merge");
	assert_string_equal(em_phase_name(EM_PHASE_OUTPUT), "output");
	assert_string_equal(em_phase_name(EM_PHASE_OUTPUT + 1), "?");
	assert_string_equal(em_phase_name(UINT32_MAX), "?");
}

static void version(void **state)
{
	char text[32];

	(void)state;
	snprintf(text, sizeof(text), "%d.%d.%d", EM_VERSION_MAJOR, EM_VERSION_MINOR, EM_VERSION_PATCH);
	assert_string_equal(em_version(), text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frozen_values),
		cmocka_unit_test(names_and_texts),
		cmocka_unit_test(table_is_sound),
		cmocka_unit_test(phases),
		cmocka_unit_test(version),
	};

	return cmocka_run_group_tests_name("base/status", tests, NULL, NULL);
}
