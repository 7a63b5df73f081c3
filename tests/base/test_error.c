/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_error.c -- error detail.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void fills_and_returns(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail(&err, EM_ERR_INVAL, "width is %d", 7), EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_string_equal(err.text, "width is 7");
	assert_true(err.offset == UINT64_MAX);
	assert_int_equal(err.bytes, 0);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.op, "");
	assert_string_equal(err.path, "");
}

static void null_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(emi_fail(NULL, EM_ERR_STATE, "%s", "x"), EM_ERR_STATE);
	assert_int_equal(emi_fail_memory(NULL, 5, "x"), EM_ERR_MEMLIMIT);
	assert_int_equal(emi_fail_io(NULL, EM_OK, ENOSPC, "write", "/x", 0, 1), EM_ERR_NOSPACE);
}

/* The cause is reported and not what followed from it. */
static void first_failure_is_kept(void **state)
{
	em_errinfo err, before;

	(void)state;
	memset(&err, 0, sizeof(err));
	emi_fail_io(&err, EM_OK, EIO, "read", "/first", 1, 2);
	before = err;
	assert_int_equal(emi_fail(&err, EM_ERR_STATE, "second"), EM_ERR_STATE);
	assert_int_equal(emi_fail_io(&err, EM_OK, ENOENT, "open", "/third", 3, 4), EM_ERR_NOENT);
	assert_int_equal(emi_fail_memory(&err, 9, "fourth"), EM_ERR_MEMLIMIT);
	assert_memory_equal(&err, &before, sizeof(err));
}

/* A positive status is no failure, so it gives way. */
static void end_gives_way(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	err.status = EM_END;
	emi_fail(&err, EM_ERR_STATE, "now");
	assert_int_equal(err.status, EM_ERR_STATE);
	assert_string_equal(err.text, "now");
}

static void io_detail(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_io(&err, EM_OK, ENOENT, "open", "/no/where", EMI_NO_OFFSET, 0), EM_ERR_NOENT);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.op, "open");
	assert_string_equal(err.path, "/no/where");
	assert_true(err.offset == EMI_NO_OFFSET);
	assert_string_equal(err.text, "cannot open '/no/where': No such file or directory");

	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_io(&err, EM_OK, EIO, "write", "/d", UINT64_C(1) << 40, 4096), EM_ERR_IO);
	assert_true(err.offset == UINT64_C(1) << 40);
	assert_int_equal(err.bytes, 4096);
	assert_string_equal(err.text, "cannot write 4096 bytes at offset 1099511627776 of '/d': Input/output error");

	/* a status of its own, and no errno */
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_io(&err, EM_ERR_SHORT, 0, "read", "/d", 0, 8), EM_ERR_SHORT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.text,
			    "cannot read 8 bytes at offset 0 of '/d': file is shorter than it was when opened");

	/* nothing known */
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_io(&err, EM_ERR_IO, 0, NULL, NULL, EMI_NO_OFFSET, 0), EM_ERR_IO);
	assert_string_equal(err.text, "cannot use: input/output error");
}

static void memory_names_the_least(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_memory(&err, 1048576, "memory is %d", 3), EM_ERR_MEMLIMIT);
	assert_int_equal(err.status, EM_ERR_MEMLIMIT);
	assert_int_equal(err.bytes, 1048576);
	assert_string_equal(err.text, "memory is 3: at least 1048576 bytes would do");
	memset(&err, 0, sizeof(err));
	emi_fail_memory(&err, 0, "too little");
	assert_string_equal(err.text, "too little");
}

static void scratch_names_the_limit(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_scratch(NULL, "/x", 1, 2), EM_ERR_NOSPACE);
	assert_int_equal(emi_fail_scratch(&err, "/a\nb", 4096, 12288), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, 0);
	assert_int_equal(err.bytes, 12288);
	assert_string_equal(err.path, "/a\nb");
	assert_string_equal(err.text, "scratch space in '/a?b' is limited to 4096 bytes, and 12288 are needed");
	/* The first failure is kept. */
	assert_int_equal(emi_fail_scratch(&err, "/c", 1, 2), EM_ERR_NOSPACE);
	assert_int_equal(err.bytes, 12288);
}

static void room_names_both_numbers(void **state)
{
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_fail_room(NULL, "/x", 2, 1), EM_ERR_NOSPACE);
	assert_int_equal(emi_fail_room(&err, "/a\nb", 12288, 4096), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_int_equal(err.bytes, 12288);
	assert_string_equal(err.op, "reserve");
	assert_string_equal(err.path, "/a\nb");
	assert_string_equal(err.text,
			    "cannot reserve 12288 bytes for '/a?b', where 4096 are free: No space left on device");
}

static void long_path_keeps_its_end(void **state)
{
	char path[1000];
	em_errinfo err;

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path + sizeof(path) - 9, "/the-end", 9);
	memset(&err, 0, sizeof(err));
	emi_fail_io(&err, EM_OK, EACCES, "open", path, UINT64_MAX - 1, UINT64_MAX);
	assert_int_equal(strlen(err.path), EM_ERRINFO_PATH - 1);
	assert_int_equal(strncmp(err.path, "...a", 4), 0);
	assert_string_equal(err.path + strlen(err.path) - 8, "/the-end");
	/* and the reason is not cut off */
	assert_non_null(strstr(err.text, "/the-end': Permission denied"));

	/* the longest that fits, and one more */
	path[sizeof(path) - 1] = '\0';
	memset(&err, 0, sizeof(err));
	emi_fail_io(&err, EM_OK, EACCES, "open", path + sizeof(path) - EM_ERRINFO_PATH, EMI_NO_OFFSET, 0);
	assert_string_equal(err.path, path + sizeof(path) - EM_ERRINFO_PATH);
	memset(&err, 0, sizeof(err));
	emi_fail_io(&err, EM_OK, EACCES, "open", path + sizeof(path) - EM_ERRINFO_PATH - 1, EMI_NO_OFFSET, 0);
	assert_int_equal(strncmp(err.path, "...", 3), 0);
}

/* Wherever a long path is cut, no half of a UTF-8 character is left. */
static void path_is_cut_between_characters(void **state)
{
	char path[600];
	size_t shift, i;

	(void)state;
	for (shift = 0; shift < 3; shift++) {
		em_errinfo err;

		memset(path, 'x', shift);
		for (i = shift; i + 3 < sizeof(path); i += 3)
			memcpy(path + i, "\xe2\x82\xac", 3);
		path[i] = '\0';
		memset(&err, 0, sizeof(err));
		emi_fail_io(&err, EM_OK, EIO, "open", path, EMI_NO_OFFSET, 0);
		assert_int_equal(strncmp(err.path, "...\xe2\x82\xac", 6), 0);
	}
}

static void text_stays_one_line(void **state)
{
	char big[1000];
	em_errinfo err;

	(void)state;
	memset(&err, 0, sizeof(err));
	emi_fail_io(&err, EM_OK, ENOENT, "open", "/a\nb\x7f\x1b", EMI_NO_OFFSET, 0);
	assert_string_equal(err.path, "/a\nb\x7f\x1b");
	assert_string_equal(err.text, "cannot open '/a?b?\?': No such file or directory");
	memset(big, 'y', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	memset(&err, 0, sizeof(err));
	emi_fail(&err, EM_ERR_INVAL, "%s", big);
	assert_int_equal(strlen(err.text), EM_ERRINFO_TEXT - 1);
	memset(&err, 0, sizeof(err));
	emi_fail_memory(&err, UINT64_MAX, "%s", big);
	assert_non_null(strstr(err.text, ": at least 18446744073709551615 bytes would do"));
}

static void errno_mapping(void **state)
{
	(void)state;
	assert_int_equal(emi_status_of_errno(ENOSPC), EM_ERR_NOSPACE);
	assert_int_equal(emi_status_of_errno(EDQUOT), EM_ERR_NOSPACE);
	assert_int_equal(emi_status_of_errno(ENOMEM), EM_ERR_NOMEM);
	assert_int_equal(emi_status_of_errno(EMFILE), EM_ERR_FDLIMIT);
	assert_int_equal(emi_status_of_errno(ENFILE), EM_ERR_FDLIMIT);
	assert_int_equal(emi_status_of_errno(ENOENT), EM_ERR_NOENT);
	assert_int_equal(emi_status_of_errno(ENOTDIR), EM_ERR_NOENT);
	assert_int_equal(emi_status_of_errno(EACCES), EM_ERR_ACCESS);
	assert_int_equal(emi_status_of_errno(EPERM), EM_ERR_ACCESS);
	assert_int_equal(emi_status_of_errno(EROFS), EM_ERR_ACCESS);
	assert_int_equal(emi_status_of_errno(EEXIST), EM_ERR_EXIST);
	assert_int_equal(emi_status_of_errno(EPIPE), EM_ERR_PIPE);
	assert_int_equal(emi_status_of_errno(EOPNOTSUPP), EM_ERR_NOTSUP);
	assert_int_equal(emi_status_of_errno(EIO), EM_ERR_IO);
	assert_int_equal(emi_status_of_errno(0), EM_ERR_IO);
	assert_int_equal(emi_status_of_errno(99999), EM_ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_and_returns),
		cmocka_unit_test(null_is_allowed),
		cmocka_unit_test(first_failure_is_kept),
		cmocka_unit_test(end_gives_way),
		cmocka_unit_test(io_detail),
		cmocka_unit_test(memory_names_the_least),
		cmocka_unit_test(scratch_names_the_limit),
		cmocka_unit_test(room_names_both_numbers),
		cmocka_unit_test(long_path_keeps_its_end),
		cmocka_unit_test(path_is_cut_between_characters),
		cmocka_unit_test(text_stays_one_line),
		cmocka_unit_test(errno_mapping),
	};

	return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
