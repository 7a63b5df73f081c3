/* SPDX-License-Identifier: BSL-1.0 */
/* test_record_reader.c -- records from a stream, and streams that fail within one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record_reader.h"

static const em_format csv = { sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, ',' };

static void expect_record(record_reader *r, const char *record)
{
	assert_int_equal(record_reader_next(r), 1);
	assert_int_equal(r->bytes, strlen(record));
	assert_memory_equal(r->record, record, r->bytes);
}

static void open_text(record_reader *r, const char *text)
{
	memset(r, 0, sizeof(*r));
	r->format = csv;
	r->in = fmemopen((char *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(r->in);
}

static void close_text(record_reader *r)
{
	fclose(r->in);
	record_reader_free(r);
}

static void test_records(void **state)
{
	record_reader r;

	(void)state;
	open_text(&r, "a,\"\n\"\"\n\"\n\nb,5\"\n\xEF\xBB\xBF\"\n\"\nc,\"\n");
	expect_record(&r, "a,\"\n\"\"\n\"");
	expect_record(&r, "");
	expect_record(&r, "b,5\"");
	expect_record(&r, "\xEF\xBB\xBF\"\n\"");
	/* The end of the stream is that of what is open. */
	expect_record(&r, "c,\"");
	assert_int_equal(record_reader_next(&r), 0);
	assert_int_equal(record_reader_next(&r), 0);
	close_text(&r);
}

/* Many lines in one record. */
static void test_long(void **state)
{
	enum { LINES = 100000 };
	char *text = malloc(2 * LINES + 16);
	record_reader r;
	size_t i, n = 0;

	(void)state;
	assert_non_null(text);
	text[n++] = '"';
	for (i = 0; i < LINES; i++) {
		text[n++] = ',';
		text[n++] = '\n';
	}
	memcpy(text + n, "\"\nb\n", 5);
	open_text(&r, text);
	assert_int_equal(record_reader_next(&r), 1);
	assert_int_equal(r.bytes, n + 1);
	assert_memory_equal(r.record, text, n + 1);
	expect_record(&r, "b");
	assert_int_equal(record_reader_next(&r), 0);
	close_text(&r);
	free(text);
}

/* Gives two lines, fails once, and would go on. */
static ssize_t give(void *cookie, char *p, size_t n)
{
	static const char *const text[] = { "a\nb,\"1\n", NULL, "2\"\nc\n", "" };
	int *step = cookie;
	const char *now = text[*step];

	*step += *step < 3;
	if (now == NULL) {
		errno = ENOSPC;
		return -1;
	}
	assert_true(n >= strlen(now));
	memcpy(p, now, strlen(now));
	return (ssize_t)strlen(now);
}

/* What came of the record is not one, and what follows is not looked at. */
static void test_failure(void **state)
{
	const cookie_io_functions_t io = { .read = give };
	record_reader r;
	int step = 0;

	(void)state;
	memset(&r, 0, sizeof(r));
	r.format = csv;
	r.in = fopencookie(&step, "r", io);
	assert_non_null(r.in);
	expect_record(&r, "a");
	assert_int_equal(record_reader_next(&r), -1);
	assert_int_equal(r.failed, ENOSPC);
	clearerr(r.in);
	assert_int_equal(record_reader_next(&r), -1);
	assert_int_equal(r.failed, ENOSPC);
	close_text(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests_name("record_reader", tests, NULL, NULL);
}
