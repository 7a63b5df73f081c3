/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_run_memory.c -- blocks of runs stay in memory where the caller named no budget, and what comes out is the same.
 *
 * Where they stay is a matter of time, so tests force it: scratch that is not there, or is full, leaves them no other
 * place; and costs are told that are far apart.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/phase.h"
#include "base/context.h"
#include "base/memory.h"
#include "block/packer.h"
#include "sort/lines_bench.h"
#include "sort/run.h"
#include "sort/run_memory.h"

#define BLOCK ((size_t)8192)
#define BUFFER (BLOCK + EMI_PAGE)
#define FULL_BYTES (MIB / 2)   /* when scratch is full */

/* A list of its own: buffers of blocks that stay, until there is no more room. */
static void test_buffers(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&co);
	const uint64_t before = em_ctx_memory_used(ctx);
	char *own[1000], *buffer;
	emi_run_memory m;
	em_bid bid[1000];
	uint64_t left;
	size_t i, n = 0;

	(void)state;
	emi_run_memory_init(&m, ctx, 100 * BUFFER + 3 * EMI_DIR_BYTES, BLOCK, 1);
	assert_true(emi_run_memory_page(&m, &bid[n]));
	own[n] = emi_run_memory_at(&m, bid[n]);
	memset(own[n++], 1, EMI_DIR_BYTES);
	buffer = emi_buffer_alloc(ctx, BUFFER, NULL);
	assert_non_null(buffer);
	for (own[n] = buffer; emi_run_memory_keep(&m, &buffer, BLOCK, &bid[n]); own[n] = buffer) {
		memset(own[n], (int)n % 251, BUFFER);
		assert_ptr_not_equal(buffer, own[n]);
		n++;
	}
	assert_ptr_equal(buffer, own[n]);
	assert_true(n > 90 && n <= 101);
	assert_int_equal(m.kept, (n - 1) * BLOCK);
	assert_true(em_ctx_memory_used(ctx) - before <= 100 * BUFFER + 3 * EMI_DIR_BYTES + BUFFER + 65536);
	for (i = 0; i < n; i++) {
		assert_ptr_equal(emi_run_memory_at(&m, bid[i]), own[i]);
		assert_int_equal(own[i][0], i == 0 ? 1 : (char)(i % 251));
	}
	/* Nothing is where a disk says, or behind the last number. */
	bid[0].disk = 0;
	assert_null(emi_run_memory_at(&m, bid[0]));
	bid[0].disk = EMI_IN_MEMORY;
	bid[0].offset = n * EMI_DIR_BYTES;
	assert_null(emi_run_memory_at(&m, bid[0]));
	left = m.most - m.taken;
	assert_int_equal(emi_run_memory_leave(&m), left);
	emi_run_memory_free(&m);
	emi_buffer_free(ctx, own[1], BUFFER);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
}

/* The context has less than was thought: that is no failure. */
static void test_less_than_thought(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	emi_run_memory m;
	char *buffer;
	em_bid bid;
	em_ctx *ctx;

	(void)state;
	co.memory = (uint64_t)1 << 20;
	ctx = sort_ctx(&co);
	emi_run_memory_init(&m, ctx, (uint64_t)1 << 40, BLOCK, 1);
	buffer = NULL;
	assert_false(emi_run_memory_keep(&m, &buffer, BLOCK, &bid));
	assert_null(buffer);
	assert_false(emi_run_memory_wants(&m, BLOCK, 0, 0));
	emi_run_memory_free(&m);
	em_ctx_close(ctx);
}

/* Send blocks until so many more are under way. */
static void send(emi_run_memory *m, unsigned n, uint64_t written)
{
	while (n-- != 0) {
		(void)emi_run_memory_wants(m, BLOCK, 0, written);
		emi_run_memory_sent(m, BLOCK);
	}
}

/* While disks keep up nothing stays; when they do not, the cheaper place is taken. */
static void test_rule(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&co);
	emi_run_memory m;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		const int cheap = i == 0;

		emi_run_memory_init(&m, ctx, (uint64_t)1 << 20, BLOCK, 2);
		/* A millisecond for a block, or next to nothing; a disk that writes nothing costs more and more. */
		emi_run_memory_measured(&m, BLOCK, cheap ? 1 : UINT64_C(1000000000000));
		send(&m, 16, 0);
		assert_false(emi_run_memory_stays(&m));
		/* All of it was written. */
		assert_false(emi_run_memory_wants(&m, BLOCK, 0, 16 * BLOCK));
		/* More and more are under way on two disks. */
		send(&m, 17 * 2, 16 * BLOCK);
		usleep(1000);
		assert_int_equal(emi_run_memory_wants(&m, BLOCK, 0, 16 * BLOCK), cheap);
		assert_int_equal(emi_run_memory_stays(&m), cheap);
		emi_run_memory_free(&m);
	}
	em_ctx_close(ctx);
}

/* A packed block is less for the disks, and takes a whole buffer: it stays where packing took about as long as a fresh
 * buffer does. */
static void test_packed(void **state)
{
	const size_t packed = BLOCK / 16;
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&co);
	emi_run_memory m;
	unsigned i;

	(void)state;
	emi_run_memory_init(&m, ctx, (uint64_t)1 << 20, BLOCK, 1);
	/* So long that no time that passes here is worth it. */
	emi_run_memory_measured(&m, m.blocks.bytes, UINT64_C(1000000000000));
	for (i = 0; i < 16; i++) {
		assert_false(emi_run_memory_wants(&m, packed, 1, 0));
		emi_run_memory_sent(&m, packed);
	}
	usleep(1000);
	assert_false(emi_run_memory_wants(&m, packed, 0, 0));
	assert_false(emi_run_memory_wants(&m, packed, UINT64_C(900000000000), 0));
	assert_true(emi_run_memory_wants(&m, packed, UINT64_C(1100000000000), 0));
	emi_run_memory_free(&m);
	em_ctx_close(ctx);
}

/* Without disks there is no choice, as long as there is room. */
static void test_no_disks(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&co);
	emi_run_memory m;

	(void)state;
	emi_run_memory_init(&m, ctx, (uint64_t)1 << 20, BLOCK, 1);
	m.no_disks = 1;
	assert_true(emi_run_memory_wants(&m, BLOCK, 0, 0));
	emi_run_memory_leave(&m);
	assert_false(emi_run_memory_wants(&m, BLOCK, 0, 0));
	emi_run_memory_free(&m);
	em_ctx_close(ctx);
}

/* What has been measured is forgotten when memory has cost several times as much as trying again, so blocks are written
 * again. */
static void test_tried_again(void **state)
{
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&co);
	unsigned stayed = 0, tries = 0;
	emi_run_memory m;

	(void)state;
	emi_run_memory_init(&m, ctx, (uint64_t)1 << 30, BLOCK, 1);
	emi_run_memory_measured(&m, BLOCK, 10);
	send(&m, 16, 0);
	usleep(1000);
	while (tries < 10000000 && emi_run_memory_wants(&m, BLOCK, 0, tries > 0 ? 16 * BLOCK : 0)) {
		/* From now on it costs nearly half as much. */
		if (tries++ == 0)
			emi_run_memory_measured(&m, m.blocks.bytes, 200000);
		stayed++;
	}
	assert_true(stayed > 8);
	assert_true(tries < 10000000);
	emi_run_memory_free(&m);
	em_ctx_close(ctx);
}

/* Sorts. */

static const sort_shape shapes[] = {
	{ 4, 1, { { 0, 0, EM_KEY_U32, 0, { 0 } } } },
	{ 8, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 16, 1, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } } },
	{ 100, 1, { { 7, 10, EM_KEY_BYTES, 0, { 0 } } } },
};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* Where blocks can go: everywhere; nowhere but to memory; until scratch is full. */
enum { OPEN, MISSING, FULL, WAYS };

/* A context that was told of no budget, and in which a sort plans with a MiB. */
static em_ctx *modest_ctx(int way, uint32_t threads, uint64_t memory, const char *const *dirs, uint32_t ndirs)
{
	static const char *const missing[] = { "/nonexistent/for/scratch" };
	em_ctx_opts co = sort_ctx_opts();
	em_ctx *ctx;

	co.threads = threads;
	co.memory = memory;
	co.dirs = way == MISSING ? missing : dirs;
	co.ndirs = way == MISSING ? 1 : ndirs;
	co.backend = "syscall";
	co.scratch_max = way == FULL ? FULL_BYTES : 0;
	ctx = sort_ctx(&co);
	ctx->memory_given = 0;
	ctx->enough = MIB;
	return ctx;
}

typedef struct fixed {
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
} fixed;

static void assert_places(const em_sort_stats *stats, int way)
{
	const uint64_t written = test_phase(stats, EM_PHASE_RUNS).bytes_written;

	assert_true(stats->runs > 3);
	if (way == MISSING)
		assert_int_equal(written, 0);
	if (way == FULL)
		assert_true(written <= FULL_BYTES);
	if (way != OPEN)
		assert_true(stats->memory_bytes > 0);
}

/* From a file to a file, and pushed and pulled. */
static void sort_both(fixed *f, const sort_shape *shape, sort_pattern pattern, int way, int unique, const char *dir)
{
	test_rng rng = test_rng_make(test_seed());
	uint64_t n = 4 * MIB / shape->bytes, expected_n = n;
	unsigned char *records = sort_records(&rng, shape, pattern, n),
		      *expected = sort_expected(shape, records, &expected_n, unique);
	char *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const char *inputs[1];

	inputs[0] = in;
	f->opts.flags = unique ? EM_SORT_UNIQUE : 0;
	sort_write_file(in, records, (size_t)n * shape->bytes);
	if (em_sort_files(f->ctx, f->order, inputs, 1, out, &f->opts, &f->stats) != EM_OK)
		fail_msg("%s", f->err.text);
	sort_assert_file(out, expected, (size_t)expected_n * shape->bytes);
	assert_places(&f->stats, way);
	sort_assert_sorter(f->ctx, f->order, &f->opts, &rng, shape, records, n, expected, expected_n, &f->stats);
	assert_places(&f->stats, way);
	unlink(in);
	unlink(out);
	free(in);
	free(out);
	free(records);
	free(expected);
}

static void fixed_open(fixed *f, const sort_shape *shape, em_ctx *ctx)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;

	memset(f, 0, sizeof *f);
	f->ctx = ctx;
	f->order = sort_order(ctx, shape);
	f->opts = none;
	f->opts.errinfo = &f->err;
	f->opts.block_bytes = BLOCK;
	f->stats.size = sizeof f->stats;
}

static void fixed_close(fixed *f)
{
	em_order_close(f->order);
	assert_int_equal(em_ctx_memory_used(f->ctx) < MIB, 1);
	em_ctx_close(f->ctx);
}

/* Records of one size, every pattern, on one disk and three. */
static void test_records(void **state)
{
	size_t s;
	int p;

	(void)state;
	for (s = 0; s < SHAPES; s++)
		for (p = 0; p < SORT_PATTERNS; p++) {
			const int way = (p + (int)s) % WAYS;
			const char *dirs[3];
			char *dir;
			fixed f;

			if (test_left_out())
				continue;
			dir = test_dir_make();
			dirs[0] = dirs[1] = dirs[2] = dir;
			fixed_open(&f, &shapes[s],
				   modest_ctx(way, 1 + (uint32_t)(p / 3) % 3, 48 * MIB, dirs, p % 2 != 0 ? 3 : 1));
			sort_both(&f, &shapes[s], (sort_pattern)p, way, p % 4 == 0, dir);
			fixed_close(&f);
			assert_dir_empty(dir);
			test_dir_remove(dir);
		}
}

/* Where there is room for some blocks only, and merges take several passes, which have the rest of the memory. */
static void test_several_passes(void **state)
{
	char *dir = test_dir_make();
	const char *dirs[1];
	fixed f;

	(void)state;
	dirs[0] = dir;
	fixed_open(&f, &shapes[1], modest_ctx(OPEN, 2, 4 * MIB, dirs, 1));
	f.opts.fan_in = 3;
	sort_both(&f, &shapes[1], SORT_RANDOM, OPEN, 0, dir);
	assert_true(f.stats.passes > 2);
	fixed_close(&f);
	assert_dir_empty(dir);
	test_dir_remove(dir);
}

/* There is neither room nor scratch: that is said as it always was. */
static void test_nowhere(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const uint64_t n = 8 * MIB / 8;
	unsigned char *records = sort_records(&rng, &shapes[1], SORT_RANDOM, n);
	em_sorter *s;
	fixed f;

	(void)state;
	fixed_open(&f, &shapes[1], modest_ctx(MISSING, 2, 3 * MIB, NULL, 0));
	assert_int_equal(em_sorter_open(&s, f.ctx, f.order, &f.opts), EM_OK);
	assert_int_equal(em_sorter_push(s, records, n), EM_ERR_NOENT);
	em_sorter_error(s, &f.err);
	assert_non_null(strstr(f.err.path, "/nonexistent"));
	em_sorter_close(s);
	fixed_close(&f);
	free(records);
}

/* A budget that was named, or a run size, leaves things as they were: everything is written. */
static void test_named(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	const uint64_t n = 4 * MIB / 8;
	unsigned char *records = sort_records(&rng, &shapes[1], SORT_RANDOM, n);
	em_sorter *s;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		fixed f;

		fixed_open(&f, &shapes[1], modest_ctx(MISSING, 2, 24 * MIB, NULL, 0));
		if (i == 0)
			f.opts.memory = MIB;
		if (i == 1)
			f.opts.run_records = 10000;
		if (i == 2)
			f.ctx->memory_given = 1;
		assert_int_equal(em_sorter_open(&s, f.ctx, f.order, &f.opts), EM_OK);
		/* The last one has room for all of it. */
		assert_int_equal(em_sorter_push(s, records, n), i == 2 ? EM_OK : EM_ERR_NOENT);
		em_sorter_close(s);
		fixed_close(&f);
	}
	free(records);
}

/* Lines, also some that are longer than blocks, packed or not, each once and all. */
static void test_lines(void **state)
{
	int way, unique;

	(void)state;
	for (way = 0; way < WAYS; way++)
		for (unique = 0; unique < 2; unique++) {
			const char *dirs[1];
			bench b;

			bench_open(&b, (uint64_t)(10 * way + unique), 0, 0);
			dirs[0] = b.dir;
			b.ctx = modest_ctx(way, 2, 32 * MIB, dirs, 1);
			b.order = lines_order(b.ctx, b.which);
			b.opts.block_bytes = 16384;
			b.opts.compress = unique && emi_packer_supported() ? EM_COMPRESS_ALWAYS : EM_COMPRESS_NEVER;
			b.opts.flags = unique ? EM_SORT_UNIQUE : 0;
			bench_make_inputs(&b, SORT_RANDOM, 60000, 2, way == FULL ? 200 : 300);
			bench_run_ok(&b, 2);
			/* When it is packed, nearly all of it may have room on the disk. */
			assert_places(&b.stats, way == FULL && unique ? OPEN : way);
			bench_close(&b);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffers),
		cmocka_unit_test(test_less_than_thought),
		cmocka_unit_test(test_rule),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_no_disks),
		cmocka_unit_test(test_tried_again),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_several_passes),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
