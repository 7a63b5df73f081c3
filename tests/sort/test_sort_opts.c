/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_opts.c -- options of a sort from text.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sort.h>

static void test_all(void **state)
{
	em_sort_opts o = EM_SORT_OPTS_INIT, want = EM_SORT_OPTS_INIT;
	em_errinfo err;

	(void)state;
	want.flags = EM_SORT_STABLE | EM_SORT_UNIQUE;
	want.memory = 64 << 20;
	want.run_records = 12345;
	want.block_bytes = 8192;
	want.fan_in = 3;
	want.read_buffers = 4;
	want.write_buffers = 5;
	want.prefetch_buffers = 6;
	want.header = 7;
	want.compress = EM_COMPRESS_NEVER;
	want.fetch = EM_FETCH_NAIVE;
	want.place = EM_PLACE_RUNS_STRIPING;
	want.last_run = EM_LAST_RUN_KEPT;
	want.errinfo = o.errinfo = &err;
	assert_int_equal(em_sort_opts_parse(&o, "memory=64M,run-size=12345,block-size=8K,fan-in=3,read-buffers=4,"
					    "write-buffers=5,prefetch-buffers=6,header=7,scratch-compress=never,"
					    "fetch=naive,place-runs=striping,last-run=kept,stable,unique", &err),
			 EM_OK);
	assert_memory_equal(&o, &want, sizeof o);
	assert_int_equal(em_sort_opts_parse(&o, "", NULL), EM_OK);
	assert_int_equal(em_sort_opts_parse(&o, "fan-in=9", NULL), EM_OK);
	want.fan_in = 9;
	assert_memory_equal(&o, &want, sizeof o);
}

static void expect_bad(const char *text, uint64_t offset, const char *says)
{
	em_sort_opts o = EM_SORT_OPTS_INIT, before = EM_SORT_OPTS_INIT;
	em_errinfo err;

	assert_int_equal(em_sort_opts_parse(&o, text, &err), EM_ERR_INVAL);
	assert_memory_equal(&o, &before, sizeof o);
	assert_int_equal(err.status, EM_ERR_INVAL);
	if (strstr(err.text, says) == NULL || err.offset != offset)
		fail_msg("\"%s\": at %lld: %s", text, (long long)err.offset, err.text);
}

static void test_bad(void **state)
{
	char wide[300];
	em_sort_opts o = EM_SORT_OPTS_INIT;

	(void)state;
	expect_bad("fan-in=2,memory=x", 9, "byte 9: memory x: not a number");
	expect_bad("memory=1M,memory=1M", 10, "memory was given before");
	expect_bad("unique,nosuch", 7, "'nosuch': there is no such option of a sort");
	expect_bad("fan-in=4294967296", 0, "must be at most 4294967295");
	expect_bad("fan-in=1K", 0, "not a number");
	expect_bad("fetch=worst", 0, "must be best or naive");
	expect_bad("prefetch-buffers=65537", 0, "must be at most 65536");
	expect_bad("unique=1", 0, "no such option");
	expect_bad("memory=1M,,unique", 10, "''");
	memset(wide, '1', sizeof wide);
	memcpy(wide, "memory=", 7);
	wide[sizeof wide - 1] = '\0';
	expect_bad(wide, 0, "no such option");
	assert_int_equal(em_sort_opts_parse(NULL, "", NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_opts_parse(&o, NULL, NULL), EM_ERR_INVAL);
	o.size = 3;
	assert_int_equal(em_sort_opts_parse(&o, "", NULL), EM_ERR_VERSION);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests_name("sort/sort_opts", tests, NULL, NULL);
}
