/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_json.c -- structs as JSON: every field that tests/abi/layout.inc names, with its value; texts of any bytes; room
 * of any size.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/typed_block.h>
#include <extmem/text.h>

#include "base/json.h"
#include "base/structs.h"
#include "common/test.h"

/* Fields of all public structs. */
static const char *const layout[][2] = {
#define SIZE(s, a, b, c)
#define FIRST(s, a, b, c)
#define FIELD(s, f, a, b, c) { #s, #f },
#include "abi/layout.inc"
};

/* Structs that are told, and how. */
typedef struct told {
	const char *type;
	size_t (*json)(const void *of, char *to, size_t n);
	size_t bytes;
} told;

#define JSON(t) static size_t json_##t(const void *of, char *to, size_t n) { return t##_json(of, to, n); }
JSON(em_block_pool_stats)
JSON(em_btree_stats)
JSON(em_cache_stats)
JSON(em_check_info)
JSON(em_container_stats)
JSON(em_disks_stats)
JSON(em_element_stats)
JSON(em_errinfo)
JSON(em_io_stats)
JSON(em_pq_plan_info)
JSON(em_pq_stats)
JSON(em_radix_heap_plan_info)
JSON(em_radix_heap_stats)
JSON(em_runs_info)
JSON(em_sort_plan_info)
JSON(em_sort_stats)
JSON(em_stream_graph_info)
JSON(em_vector_stats)
#undef JSON

#define JSON(t) { #t, json_##t, sizeof(t) }
static const told all[] = {
	JSON(em_block_pool_stats), JSON(em_btree_stats), JSON(em_cache_stats), JSON(em_check_info),
	JSON(em_container_stats), JSON(em_disks_stats), JSON(em_element_stats), JSON(em_errinfo), JSON(em_io_stats),
	JSON(em_pq_plan_info), JSON(em_pq_stats), JSON(em_radix_heap_plan_info), JSON(em_radix_heap_stats),
	JSON(em_runs_info), JSON(em_sort_plan_info), JSON(em_sort_stats), JSON(em_stream_graph_info),
	JSON(em_vector_stats),
};

enum { ALL = sizeof all / sizeof all[0], ROOM = 8192 };

/* Is it told?  Not the size, what is reserved, and what is the library's. */
static int wanted(const char *type, const char *name)
{
	return strcmp(name, "size") != 0 && strncmp(name, "reserved", 8) != 0 &&
	       (strcmp(type, "em_sort_stats") != 0 || strcmp(name, "phases") != 0);
}

/* Each byte is 1, so that each number is that of its width; sizes are right. */
static const void *fill(const told *t, void *into)
{
	const uint32_t size = (uint32_t)t->bytes;

	memset(into, 0, ROOM);
	if (strcmp(t->type, "em_errinfo") != 0 && strcmp(t->type, "em_sort_stats") != 0)
		memset(into, 1, t->bytes);
	if (strcmp(t->type, "em_errinfo") != 0)
		memcpy(into, &size, sizeof size);
	return into;
}

static void test_fields(void **state)
{
	char text[ROOM], key[64];
	uint64_t into[ROOM / 8];
	size_t i, k, n;

	(void)state;
	for (i = 0; i < ALL; i++) {
		n = all[i].json(fill(&all[i], into), text, sizeof text);
		assert_true(n == strlen(text) && text[0] == '{' && text[n - 1] == '}');
		for (k = 0; k < sizeof layout / sizeof layout[0]; k++) {
			if (strcmp(layout[k][0], all[i].type) != 0 || !wanted(layout[k][0], layout[k][1]))
				continue;
			snprintf(key, sizeof key, "\"%s\": ", layout[k][1]);
			if (strstr(text, key) == NULL)
				fail_msg("%s.%s has no line in fields.inc: %s", layout[k][0], layout[k][1], text);
		}
		/* Made without its initialiser, and NULL: nothing. */
		assert_int_equal(all[i].json(NULL, text, sizeof text), 0);
		assert_string_equal(text, "");
		if (strcmp(all[i].type, "em_errinfo") == 0)
			continue;
		memset(into, 0, 8);
		assert_int_equal(all[i].json(into, text, sizeof text), 0);
	}
}

static void test_values(void **state)
{
	em_vector_stats v = EM_VECTOR_STATS_INIT;
	em_io_stats io = EM_IO_STATS_INIT;
	char text[ROOM];

	(void)state;
	v.records = UINT64_MAX;
	v.hits = 10;
	v.writes = 1234567890123456789u;
	assert_true(em_vector_stats_json(&v, text, sizeof text) < sizeof text);
	assert_string_equal(text,
			    "{\"records\": 18446744073709551615, \"block_bytes\": 0, \"block_records\": 0, "
			    "\"cache_blocks\": 0, \"blocks_dirty\": 0, \"hits\": 10, \"misses\": 0, \"reads\": 0, "
			    "\"writes\": 1234567890123456789}");
	io.queue_most = UINT32_MAX;
	io.time = 12.3456789;
	io.busy = -1;
	io.read_busy = 0.999999999;
	io.write_wait = 1e300;
	assert_true(em_io_stats_json(&io, text, sizeof text) < sizeof text);
	assert_non_null(strstr(text, "\"queue_most\": 4294967295, \"time\": 12.345679, "));
	assert_non_null(strstr(text, "\"busy\": 0.000000, "));
	assert_non_null(strstr(text, "\"read_busy\": 1.000000, "));
	assert_non_null(strstr(text, "\"write_wait\": 0.000000}"));
	/* An older program has fewer fields. */
	v.size = (uint32_t)offsetof(em_vector_stats, reads);
	assert_int_equal(em_vector_stats_json(&v, text, sizeof text), 0);
}

static void expect_text(const char *bytes, const char *json)
{
	char got[256], want[256];
	emi_json j;

	emi_json_begin(&j, got, sizeof got);
	emi_json_text(&j, bytes);
	assert_true(emi_json_end(&j) == strlen(got));
	snprintf(want, sizeof want, "\"%s\"", json);
	assert_string_equal(got, want);
}

static void test_texts(void **state)
{
	(void)state;
	expect_text("", "");
	expect_text("a \"b\" \\c/", "a \\\"b\\\" \\\\c/");
	expect_text("\n\t\x01\x1f\x7f", "\\u000a\\u0009\\u0001\\u001f\x7f");
	/* Of 2, 3 and 4 bytes, the first and the last of each. */
	expect_text("\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf",
		    "\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xef\xbf\xbf \xf0\x90\x80\x80 \xf4\x8f\xbf\xbf \xed\x9f\xbf");
	/* Too long, halves of pairs, beyond the last, cut off, without a beginning. */
	expect_text("\xc0\x80", "\\ufffd\\ufffd");
	expect_text("\xc1\xbf", "\\ufffd\\ufffd");
	expect_text("\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd");
	expect_text("\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd");
	expect_text("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd");
	expect_text("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
	expect_text("\xf5", "\\ufffd");
	expect_text("x\xe2\x82", "x\\ufffd\\ufffd");
	expect_text("\xe2y", "\\ufffdy");
	expect_text("\xff\xfe", "\\ufffd\\ufffd");
}

static void test_errinfo(void **state)
{
	em_errinfo err = EM_ERRINFO_INIT;
	char text[ROOM];

	(void)state;
	err.status = EM_ERR_NOSPACE;
	err.sys_errno = -3;
	err.offset = UINT64_MAX;
	memcpy(err.path, "/a\"b", 5);
	assert_true(em_errinfo_json(&err, text, sizeof text) < sizeof text);
	snprintf(text + 4096, 4096,
		 "{\"status\": %d, \"name\": \"EM_ERR_NOSPACE\", \"sys_errno\": -3, \"offset\": null, "
		 "\"bytes\": 0, \"record\": 0, \"op\": \"\", \"path\": \"/a\\\"b\", \"text\": \"\"}",
		 (int)EM_ERR_NOSPACE);
	assert_string_equal(text, text + 4096);
	/* Nobody has filled it. */
	memset(&err, 'x', sizeof err);
	assert_true(em_errinfo_json(&err, text, sizeof text) < sizeof text);
}

/* Whatever the room is, what is written is the beginning, ends with a zero, and is told to be as long as all. */
static void test_room(void **state)
{
	em_errinfo err = EM_ERRINFO_INIT;
	char whole[ROOM], text[ROOM];
	size_t n, i;

	(void)state;
	n = em_errinfo_json(&err, whole, sizeof whole);
	assert_int_equal(em_errinfo_json(&err, NULL, 0), n);
	assert_int_equal(em_errinfo_json(&err, NULL, 5), n);
	for (i = 0; i <= n + 1; i++) {
		memset(text, 'g', sizeof text);
		assert_int_equal(em_errinfo_json(&err, text, i), n);
		if (i != 0) {
			assert_int_equal(strlen(text), i - 1 < n ? i - 1 : n);
			assert_int_equal(strncmp(text, whole, i - 1), 0);
		}
		assert_int_equal(text[i], 'g');
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_errinfo),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
