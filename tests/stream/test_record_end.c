/* SPDX-License-Identifier: BSL-1.0 */
/* test_record_end.c -- ends of records in a caller's bytes, which come in pieces.  test_csv.c has the rules. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <extmem/format.h>

#include "common/test.h"

static const em_format lines = EM_FORMAT_INIT;
static const em_format csv = { sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, ',' };
static const em_format prefixes = { sizeof(em_format), EM_FORMAT_PREFIXED, 0, 2, 0, 0 };

/* Bytes of the first record of a text that comes in pieces, or 0. */
static size_t first(const em_format *f, const char *text, size_t piece)
{
	const size_t n = strlen(text);
	uint32_t state = 0;
	size_t at, end = 0;

	for (at = 0; at < n; at += piece) {
		const em_status st = em_record_end(f, &state, text + at, piece < n - at ? piece : n - at, &end);

		if (st == EM_OK) {
			assert_int_equal(state, 0);
			return at + end;
		}
		assert_int_equal(st, EM_END);
	}
	return 0;
}

static void test_pieces(void **state)
{
	size_t piece;

	(void)state;
	for (piece = 1; piece < 20; piece++) {
		assert_int_equal(first(&lines, "ab\nc\n", piece), 3);
		assert_int_equal(first(&lines, "\"b\nc\"\n", piece), 3);
		assert_int_equal(first(&lines, "ab", piece), 0);
		assert_int_equal(first(&csv, "a,\"\nb\"\"\n\"\nc\n", piece), 10);
		assert_int_equal(first(&csv, "a,\"\nb\"\"\n", piece), 0);
		assert_int_equal(first(&csv, "\xEF\xBB\xBF\"\n\"\nc\n", piece), 7);
		assert_int_equal(first(&csv, "\"\xEF\xBB\xBF\n\"\nc\n", piece), 7);
	}
}

static void test_arguments(void **state)
{
	em_format bad = csv;
	uint32_t at = 0;
	size_t end = 7;

	(void)state;
	assert_int_equal(em_record_end(&csv, &at, NULL, 0, &end), EM_END);
	assert_int_equal(em_record_end(NULL, &at, "\n", 1, &end), EM_ERR_INVAL);
	assert_int_equal(em_record_end(&csv, NULL, "\n", 1, &end), EM_ERR_INVAL);
	assert_int_equal(em_record_end(&csv, &at, NULL, 1, &end), EM_ERR_INVAL);
	assert_int_equal(em_record_end(&csv, &at, "\n", 1, NULL), EM_ERR_INVAL);
	assert_int_equal(em_record_end(&prefixes, &at, "\n", 1, &end), EM_ERR_INVAL);
	bad.separator = '"';
	assert_int_equal(em_record_end(&bad, &at, "\n", 1, &end), EM_ERR_INVAL);
	at = 7;
	assert_int_equal(em_record_end(&csv, &at, "\n", 1, &end), EM_ERR_INVAL);
	assert_int_equal(end, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests_name("record_end", tests, NULL, NULL);
}
