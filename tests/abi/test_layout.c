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
#include <string.h>
#include <cmocka.h>

#include <extmem/sys/placement.h>
#include <extmem/sys/typed_block.h>

#include "base/structs.h"

typedef struct expectation {
	const char *of;         /* the struct */
	const char *what;
	int is_size;
	size_t actual;
	size_t end;             /* of a field: where it ends */
	size_t expected[3];
} expectation;

#define SIZE(s, a, b, c) { #s, "sizeof(" #s ")", 1, sizeof(s), 0, { a, b, c } },
#define FIRST(s, a, b, c) { #s, "the first size of " #s, 0, EMI_FIRST_##s, 0, { a, b, c } },
#define FIELD(s, f, a, b, c) { #s, "offsetof(" #s ", " #f ")", 0, offsetof(s, f), EMI_END(s, f), { a, b, c } },
static const expectation table[] = {
#include "abi/layout.inc"
};
#undef SIZE
#undef FIRST
#undef FIELD

enum { ROWS = sizeof table / sizeof table[0] };

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
	for (i = 0; i < ROWS; i++) {
		if (table[i].actual == table[i].expected[col])
			continue;
		print_error("%s is %u and must be %u\n", table[i].what, (unsigned)table[i].actual,
			    (unsigned)table[i].expected[col]);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* Where the last field of a struct that the table knows ends. */
static size_t end_of(const char *name)
{
	size_t end = 0, i;

	for (i = 0; i < ROWS; i++)
		if (strcmp(table[i].of, name) == 0 && table[i].end > end)
			end = table[i].end;
	return end;
}

/* Each struct that begins with its size has its numbers here, and no padding at its end, in any ABI. */
static void test_growing(void **state)
{
	static const char *const names[] = {
#define EM_FIRST(type, field) #type,
#include "base/structs.inc"
#undef EM_FIRST
	};
	size_t i, k, c;

	(void)state;
	for (i = 0; i < sizeof names / sizeof names[0]; i++) {
		const expectation *size = NULL, *first = NULL;

		for (k = 0; k < ROWS; k++) {
			if (strcmp(table[k].of, names[i]) == 0 && table[k].is_size)
				size = &table[k];
			if (strcmp(table[k].of, names[i]) == 0 && strncmp(table[k].what, "the first", 9) == 0)
				first = &table[k];
		}
		if (size == NULL || first == NULL)
			fail_msg("%s has no SIZE or no FIRST in layout.inc", names[i]);
		if (end_of(names[i]) != size->actual)
			fail_msg("%s has %u bytes, and its last field ends at %u", names[i], (unsigned)size->actual,
				 (unsigned)end_of(names[i]));
		for (c = 0; c < 3; c++)
			assert_true(first->expected[c] <= size->expected[c]);
	}
}

/* Is all zero but for what begins with the size, if it has one? */
static void check_zero(const void *init, size_t begin, size_t bytes)
{
	const unsigned char *p = init;
	size_t i;

	for (i = begin; i < bytes; i++)
		assert_int_equal(p[i], 0);
}

static void check_init(const void *init, size_t bytes)
{
	uint32_t size;

	memcpy(&size, init, sizeof size);
	assert_int_equal(size, bytes);
	check_zero(init, sizeof size, bytes);
}
#define CHECK_INIT(type, init) check_init(&(const type)init, sizeof(type))

/* The initialisers set the size and leave everything else at zero, which means "default". */
static void test_initialisers(void **state)
{
	static const em_errinfo err = EM_ERRINFO_INIT;
	static const em_key key = EM_KEY_INIT;

	(void)state;
	CHECK_INIT(em_allocator, EM_ALLOCATOR_INIT);
	CHECK_INIT(em_backend, EM_BACKEND_INIT);
	CHECK_INIT(em_block_list_info, EM_BLOCK_LIST_INFO_INIT);
	CHECK_INIT(em_block_pool_opts, EM_BLOCK_POOL_OPTS_INIT);
	CHECK_INIT(em_block_pool_stats, EM_BLOCK_POOL_STATS_INIT);
	CHECK_INIT(em_block_reader_opts, EM_BLOCK_READER_OPTS_INIT);
	CHECK_INIT(em_block_writer_opts, EM_BLOCK_WRITER_OPTS_INIT);
	CHECK_INIT(em_btree_load_opts, EM_BTREE_LOAD_OPTS_INIT);
	CHECK_INIT(em_btree_opts, EM_BTREE_OPTS_INIT);
	CHECK_INIT(em_btree_stats, EM_BTREE_STATS_INIT);
	CHECK_INIT(em_cache_opts, EM_CACHE_OPTS_INIT);
	CHECK_INIT(em_cache_stats, EM_CACHE_STATS_INIT);
	CHECK_INIT(em_check_info, EM_CHECK_INFO_INIT);
	CHECK_INIT(em_check_opts, EM_CHECK_OPTS_INIT);
	CHECK_INIT(em_ctx_opts, EM_CTX_OPTS_INIT);
	CHECK_INIT(em_disks_opts, EM_DISKS_OPTS_INIT);
	CHECK_INIT(em_disks_stats, EM_DISKS_STATS_INIT);
	CHECK_INIT(em_io_stats, EM_IO_STATS_INIT);
	CHECK_INIT(em_output_opts, EM_OUTPUT_OPTS_INIT);
	CHECK_INIT(em_phase_stats, EM_PHASE_STATS_INIT);
	CHECK_INIT(em_policy, EM_POLICY_INIT);
	CHECK_INIT(em_runs_info, EM_RUNS_INFO_INIT);
	CHECK_INIT(em_runs_merge_opts, EM_RUNS_MERGE_OPTS_INIT);
	CHECK_INIT(em_runs_opts, EM_RUNS_OPTS_INIT);
	CHECK_INIT(em_shuffle_opts, EM_SHUFFLE_OPTS_INIT);
	CHECK_INIT(em_sort_opts, EM_SORT_OPTS_INIT);
	CHECK_INIT(em_sort_plan_info, EM_SORT_PLAN_INFO_INIT);
	CHECK_INIT(em_sort_stats, EM_SORT_STATS_INIT);
	CHECK_INIT(em_element_opts, EM_ELEMENT_OPTS_INIT);
	CHECK_INIT(em_element_stats, EM_ELEMENT_STATS_INIT);
	CHECK_INIT(em_join_opts, EM_JOIN_OPTS_INIT);
	CHECK_INIT(em_tee_opts, EM_TEE_OPTS_INIT);
	CHECK_INIT(em_sink_ops, EM_SINK_OPS_INIT);
	CHECK_INIT(em_stream_graph_info, EM_STREAM_GRAPH_INFO_INIT);
	CHECK_INIT(em_stream_ops, EM_STREAM_OPS_INIT);
	CHECK_INIT(em_unique_opts, EM_UNIQUE_OPTS_INIT);
	check_zero(&err, 0, sizeof err);
	check_zero(&key, 0, sizeof key);
}

/* Of these some defaults are not zero. */
static void test_other_initialisers(void **state)
{
	static const em_disk_opts disk = EM_DISK_OPTS_INIT;
	static const em_file_opts file = EM_FILE_OPTS_INIT;
	static const em_format format = EM_FORMAT_INIT;
	static const em_lines_join_opts join = EM_LINES_JOIN_OPTS_INIT;
	static const em_text_opts text = EM_TEXT_OPTS_INIT;
	static const em_text_key key = EM_TEXT_KEY_INIT;

	(void)state;
	assert_int_equal(disk.size, sizeof disk);
	assert_int_equal(disk.direct, EM_DIRECT_CONTEXT);
	assert_int_equal(disk.queue_depth, 0);
	assert_int_equal(file.size, sizeof file);
	assert_int_equal(file.flags, EM_OPEN_READ);
	assert_null(file.errinfo);
	assert_int_equal(format.size, sizeof format);
	assert_int_equal(format.delimiter, '\n');
	assert_int_equal(format.separator, 0);
	assert_int_equal(join.size, sizeof join);
	assert_int_equal(join.separator, EM_TEXT_BLANKS);
	check_zero(&join, offsetof(em_lines_join_opts, kind), offsetof(em_lines_join_opts, separator));
	assert_int_equal(text.size, sizeof text);
	assert_int_equal(text.separator, EM_TEXT_BLANKS);
	assert_int_equal(key.first_field, 1);
	assert_int_equal(key.first_char, 1);
	check_zero(&key, offsetof(em_text_key, last_field), sizeof key);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_initialisers),
		cmocka_unit_test(test_other_initialisers),
	};

	return cmocka_run_group_tests_name("abi/layout", tests, NULL, NULL);
}
