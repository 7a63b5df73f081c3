/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_scratch.c -- how much space a sort takes on disks.
 *
 * A backend between the library and the file system looks at both files, scratch and output, at each write of the
 * output: how much of either the file system holds.  What that says depends on no clock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem.h>
#include <extmem/sys/backend.h>

#include "common/test.h"
#include "io/conform_fs.h"
#include "sort/sort_model.h"

#define MIB ((uint64_t)1 << 20)
#define BYTES (6 * MIB)         /* of the input, mostly */
#define RECORD 16u
#define LINE 32u                /* bytes of a line, on average */

/* The backend.  Its functions get no more than a handle, so there is one. */
static struct {
	em_backend be;
	const em_backend *inner;
	pthread_mutex_t lock;
	void *scratch, *output;
	uint64_t capacity;      /* bytes that both may have together; 0: any number */
	uint64_t reads;         /* of all files */
	uint64_t looks;
	uint64_t scratch_most, scratch_least, sum_most; /* while output was written */
	uint64_t discards, refused;
} w;

static uint64_t volume = BYTES; /* of the input, about */

static uint64_t held(void *handle)
{
	struct stat sb;

	if (handle == NULL || fstat(w.inner->fd(handle), &sb) != 0)
		return 0;
	return (uint64_t)sb.st_blocks * 512;
}

static int watch_open(void *user, em_backend_open *how)
{
	int e;

	(void)user;
	e = w.inner->open(w.inner->user, how);
	if (e == 0 && (how->flags & EM_OPEN_TEMP) != 0)
		w.scratch = how->handle;
	if (e == 0 && (how->flags & EM_OPEN_LINKABLE) != 0)
		w.output = how->handle;
	return e;
}

static void watch_close(void *handle, int forked)
{
	if (handle == w.scratch)
		w.scratch = NULL;
	w.inner->close(handle, forked);
}

static int64_t watch_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	pthread_mutex_lock(&w.lock);
	w.reads++;
	pthread_mutex_unlock(&w.lock);
	return w.inner->read(handle, buf, bytes, offset);
}

static int64_t watch_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const int64_t r = w.inner->write(handle, buf, bytes, offset);
	uint64_t scratch, sum;

	pthread_mutex_lock(&w.lock);
	if (handle == w.output && w.scratch != NULL) {
		scratch = held(w.scratch);
		sum = scratch + held(w.output);
		w.looks++;
		if (scratch > w.scratch_most)
			w.scratch_most = scratch;
		if (scratch < w.scratch_least)
			w.scratch_least = scratch;
		if (sum > w.sum_most)
			w.sum_most = sum;
	}
	pthread_mutex_unlock(&w.lock);
	return r;
}

static int watch_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	if (w.capacity != 0 && handle == w.output && held(w.scratch) + offset + bytes > w.capacity) {
		w.refused++;
		return ENOSPC;
	}
	return w.inner->reserve(handle, offset, bytes);
}

static int watch_discard(void *handle, uint64_t offset, uint64_t bytes)
{
	pthread_mutex_lock(&w.lock);
	w.discards++;
	pthread_mutex_unlock(&w.lock);
	return w.inner->discard(handle, offset, bytes);
}

/* What is sorted, and where. */
typedef struct fixture {
	char *dir, *in, *out;
	uint64_t bytes;         /* of the input */
	uint64_t n;
	uint64_t memory;        /* of the context */
	int lines;
	unsigned char *sorted;  /* records as they must come out */
	em_errinfo err;
	em_sort_stats stats;
	em_sort_plan_info plan;
} fixture;

static void write_records(fixture *f, test_rng *rng)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	unsigned char *records;

	f->n = volume / RECORD + test_below(rng, 1000);
	f->bytes = f->n * RECORD;
	records = sort_records(rng, &shape, SORT_RANDOM, f->n);
	f->sorted = sort_expected(&shape, records, &f->n, 0);
	sort_write_file(f->in, records, (size_t)f->bytes);
	free(records);
}

static void write_lines(fixture *f, test_rng *rng)
{
	char *text = malloc(volume + 100);
	size_t at = 0, n, i;

	assert_non_null(text);
	for (; at < volume; f->n++) {
		n = 1 + (size_t)test_below(rng, 60);
		for (i = 0; i < n; i++)
			text[at++] = (char)('a' + test_below(rng, 26));
		text[at++] = '\n';
	}
	f->bytes = at;
	sort_write_file(f->in, text, at);
	free(text);
}

static void set_up(fixture *f, int lines)
{
	test_rng rng = test_rng_make(test_seed());

	memset(f, 0, sizeof *f);
	f->dir = test_dir_make();
	f->in = test_path(f->dir, "in");
	f->out = test_path(f->dir, "out");
	f->lines = lines;
	f->memory = volume / BYTES * (lines ? 6 : 2) * MIB;
	if (lines)
		write_lines(f, &rng);
	else
		write_records(f, &rng);
}

static void tear_down(fixture *f)
{
	free(f->sorted);
	free(f->in);
	free(f->out);
	test_dir_remove(f->dir);
}

static void watch(void)
{
	memset(&w, 0, sizeof w);
	pthread_mutex_init(&w.lock, NULL);
	w.inner = em_backend_find("syscall");
	w.scratch_least = UINT64_MAX;
	w.be = *w.inner;
	w.be.open = watch_open;
	w.be.close = watch_close;
	w.be.read = watch_read;
	w.be.write = watch_write;
	w.be.reserve = watch_reserve;
	w.be.discard = watch_discard;
}

static em_order *order_of(const fixture *f, em_ctx *ctx, em_errinfo *err)
{
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	em_order *order = NULL;

	if (!f->lines)
		return sort_order(ctx, &shape);
	if (em_order_text(&order, ctx, NULL, 0, NULL, err) != EM_OK)
		fail_msg("%s", err->text);
	return order;
}

/* The output has all records of the input, in order. */
static void assert_sorted(const fixture *f, em_ctx *ctx, const em_order *order)
{
	em_check_info in, out;

	if (!f->lines) {
		sort_assert_file(f->out, f->sorted, (size_t)f->bytes);
		return;
	}
	memset(&in, 0, sizeof in);
	memset(&out, 0, sizeof out);
	in.size = out.size = sizeof in;
	assert_int_equal(em_check_file(ctx, order, f->out, NULL, &out, NULL, NULL), EM_OK);
	assert_int_equal(em_check_file(ctx, order, f->in, NULL, &in, NULL, NULL), EM_OK);
	assert_int_equal(out.records, f->n);
	assert_int_equal(out.checksum, in.checksum);
	assert_int_equal(out.disorders, 0);
}

/* Sort, with at most so much scratch; the plan is filled too. */
static em_status sort_it(fixture *f, const em_sort_opts *how, uint32_t threads, uint64_t scratch_max)
{
	const char *const dirs[] = { f->dir }, *const inputs[] = { f->in };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_sort_opts so = *how;
	em_order *order;
	em_ctx *ctx;
	em_status st;

	memset(&f->err, 0, sizeof f->err);
	memset(&f->stats, 0, sizeof f->stats);
	memset(&f->plan, 0, sizeof f->plan);
	f->stats.size = sizeof f->stats;
	f->plan.size = sizeof f->plan;
	opts.memory = f->memory;
	opts.threads = threads;
	opts.dirs = dirs;
	opts.ndirs = 1;
	opts.custom = &w.be;
	opts.direct = threads == 1 ? EM_DIRECT_OFF : EM_DIRECT_TRY;
	opts.scratch_max = scratch_max;
	opts.flags = EM_CTX_CHECKED;
	ctx = sort_ctx(&opts);
	order = order_of(f, ctx, &f->err);
	so.errinfo = &f->err;
	assert_int_equal(em_sort_plan(ctx, order, f->n, &so, &f->plan), EM_OK);
	st = em_sort_files(ctx, order, inputs, 1, f->out, &so, &f->stats);
	assert_int_equal(st, f->err.status);
	if (st == EM_OK)
		assert_sorted(f, ctx, order);
	else
		assert_int_equal(access(f->out, F_OK), -1);
	unlink(f->out);
	em_order_close(order);
	em_ctx_close(ctx);
	return st;
}

/* Can the file system that holds the tests give space back? */
static int makes_holes(const fixture *f)
{
	em_backend_open how;
	int e;

	memset(&how, 0, sizeof how);
	how.size = sizeof how;
	how.flags = EM_OPEN_TEMP;
	how.path = f->dir;
	how.want_direct = EM_DIRECT_OFF;
	assert_int_equal(w.inner->open(w.inner->user, &how), 0);
	e = w.inner->set_size(how.handle, 2 * MIB);
	if (e == 0)
		e = w.inner->discard(how.handle, MIB, MIB);
	w.inner->close(how.handle, 0);
	return e == 0;
}

/* Bytes of all runs: blocks of lines are filled as far as whole lines go, and have marks in them. */
static uint64_t run_bytes(const fixture *f)
{
	return f->lines ? f->bytes + f->bytes / 8 : f->bytes;
}

static em_sort_opts passes_of(const fixture *f, int many)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;

	if (!f->lines || many)
		so.block_bytes = 16 << 10;
	if (many) {
		so.fan_in = 3;
		so.run_records = f->lines ? 0 : 20000 * volume / BYTES;
	}
	return so;
}

/* slack: what the file system may hold besides. */
static void peaks(int lines, int many, uint32_t threads, uint64_t slack)
{
	em_sort_opts so;
	uint64_t bound;
	fixture f;
	int holes;

	watch();
	set_up(&f, lines);
	so = passes_of(&f, many);
	if (sort_it(&f, &so, threads, 0) != EM_OK)
		fail_msg("%s", f.err.text);
	assert_true(many ? f.stats.passes > 2 : f.stats.passes == 2);
	bound = run_bytes(&f) + f.memory;
	printf("# %s, %u passes, %u threads: %u KiB, peak scratch %u, held %u, with the output %u, at the end %u; "
	       "planned %u\n",
	       lines ? "lines" : "records", (unsigned)f.stats.passes, (unsigned)threads, (unsigned)(f.bytes >> 10),
	       (unsigned)(f.stats.peak_scratch >> 10), (unsigned)(f.stats.peak_scratch_held >> 10),
	       (unsigned)(w.sum_most >> 10), (unsigned)(w.scratch_least >> 10), (unsigned)(f.plan.scratch >> 10));
	/* Of lines it is about as much as so many usually take. */
	assert_true(f.stats.peak_scratch + f.stats.kept_records * (lines ? LINE + 2 : RECORD) >= f.bytes);
	assert_true(!lines || many || f.stats.kept_records != 0);
	assert_true(f.stats.peak_scratch_held >= f.stats.peak_scratch);
	assert_true(f.stats.peak_scratch_held <= bound);
	if (!lines)
		assert_true(f.stats.peak_scratch <= f.plan.scratch);
	assert_true(w.looks > 10);
	holes = makes_holes(&f);
	if (holes) {
		assert_true(w.discards > 3);
		/* Scratch goes as the output comes. */
		assert_true(w.scratch_least <= f.memory);
		assert_true(w.sum_most <= bound + slack);
	}
	tear_down(&f);
}

static void test_records(void **state)
{
	(void)state;
	peaks(0, 0, 1, 0);
	peaks(0, 0, 2, 0);
}

static void test_records_many_passes(void **state)
{
	(void)state;
	peaks(0, 1, 1, 0);
	peaks(0, 1, 2, 0);
}

static void test_lines(void **state)
{
	(void)state;
	peaks(1, 0, 1, 0);
	peaks(1, 0, 2, 0);
}

static void test_lines_many_passes(void **state)
{
	(void)state;
	peaks(1, 1, 1, 0);
	peaks(1, 1, 2, 0);
}

/* In memory both are in huge pages as far as they can be: of the output one may be ahead, and one of scratch be
 * late. */
static void in_memory(const char *dir)
{
	const char *before = getenv("TMPDIR");
	char *old = before != NULL ? strdup(before) : NULL;

	setenv("TMPDIR", dir, 1);
	volume = 4 * BYTES;
	peaks(0, 0, 1, 4 * MIB);
	peaks(0, 0, 2, 4 * MIB);
	peaks(0, 1, 2, 4 * MIB);
	peaks(1, 1, 2, 4 * MIB);
	volume = BYTES;
	if (old != NULL)
		setenv("TMPDIR", old, 1);
	else
		unsetenv("TMPDIR");
	free(old);
}

static void test_in_memory(void **state)
{
	(void)state;
	conform_on_tmpfs(512 * MIB, in_memory);
}

/* What is planned suffices as a limit, and a byte less fails before anything was read. */
static void test_limit(void **state)
{
	int many;

	(void)state;
	for (many = 0; many < 2; many++) {
		em_sort_opts so;
		uint64_t planned;
		fixture f;

		watch();
		set_up(&f, 0);
		so = passes_of(&f, many);
		assert_int_equal(sort_it(&f, &so, 2, 0), EM_OK);
		planned = f.plan.scratch;
		assert_true(planned > f.bytes && planned <= f.bytes + f.memory);
		if (sort_it(&f, &so, 2, planned) != EM_OK)
			fail_msg("%s", f.err.text);
		assert_true(f.stats.peak_scratch_held <= planned);
		watch();
		assert_int_equal(sort_it(&f, &so, 2, planned - 1), EM_ERR_NOSPACE);
		assert_int_equal(w.reads, 0);
		assert_int_equal(f.plan.scratch, planned);
		assert_int_equal(f.err.bytes, planned);
		assert_int_equal(f.err.sys_errno, 0);
		assert_string_equal(f.err.path, f.dir);
		assert_non_null(strstr(f.err.text, "is limited to"));
		tear_down(&f);
	}
}

/* What is planned suffices as a limit whatever is forced. */
static void test_plans_suffice(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make(), *in = test_path(dir, "in"), *out = test_path(dir, "out");
	const char *const inputs[] = { in };
	unsigned round;

	(void)state;
	for (round = 0; round < 60; round += test_step()) {
		const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, 8 + (size_t)test_below(&rng, 300));
		uint64_t n = 1000 + test_below(&rng, 9000);
		unsigned char *records = sort_records(&rng, &shape, (sort_pattern)test_below(&rng, SORT_PATTERNS), n);
		unsigned char *sorted = sort_expected(&shape, records, &n, 0);
		em_ctx_opts opts = sort_ctx_opts();
		em_sort_opts so = EM_SORT_OPTS_INIT;
		em_sort_plan_info plan;
		em_sort_stats stats;
		em_errinfo err;
		em_order *order;
		em_ctx *ctx;

		memset(&err, 0, sizeof err);
		memset(&plan, 0, sizeof plan);
		memset(&stats, 0, sizeof stats);
		plan.size = sizeof plan;
		stats.size = sizeof stats;
		sort_write_file(in, records, (size_t)n * shape.bytes);
		so.run_records = 50 + test_below(&rng, 2000);
		so.block_bytes = (uint64_t)4096 << test_below(&rng, 4);
		so.fan_in = 2 + (uint32_t)test_below(&rng, 12);
		so.errinfo = &err;
		opts.threads = 1 + (uint32_t)test_below(&rng, 3);
		ctx = sort_ctx(&opts);
		order = sort_order(ctx, &shape);
		assert_int_equal(em_sort_plan(ctx, order, n, &so, &plan), EM_OK);
		em_order_close(order);
		em_ctx_close(ctx);
		opts.scratch_max = plan.scratch;
		ctx = sort_ctx(&opts);
		order = sort_order(ctx, &shape);
		if (em_sort_files(ctx, order, inputs, 1, out, &so, &stats) != EM_OK)
			fail_msg("%u records of %u bytes, %u in a run, blocks of %u, fan-in %u: %s", (unsigned)n,
				 (unsigned)shape.bytes, (unsigned)so.run_records, (unsigned)so.block_bytes, so.fan_in,
				 err.text);
		assert_true(stats.peak_scratch_held <= plan.scratch);
		sort_assert_file(out, sorted, (size_t)n * shape.bytes);
		em_order_close(order);
		em_ctx_close(ctx);
		free(records);
		free(sorted);
	}
	free(in);
	free(out);
	test_dir_remove(dir);
}

/* Of lines it is known beforehand that more than their bytes are needed, but not how much more. */
static void test_limit_lines(void **state)
{
	const em_sort_opts so = EM_SORT_OPTS_INIT;
	em_sort_opts many;
	fixture f;

	(void)state;
	watch();
	set_up(&f, 1);
	/* No run stays in memory. */
	many = passes_of(&f, 1);
	assert_int_equal(sort_it(&f, &so, 2, f.bytes - 1), EM_ERR_NOSPACE);
	assert_int_equal(w.reads, 0);
	assert_int_equal(f.err.bytes, f.bytes);
	assert_int_equal(sort_it(&f, &many, 2, f.bytes + 8192), EM_ERR_NOSPACE);
	assert_true(w.reads > 0);
	assert_true(f.err.bytes > f.bytes + 8192);
	assert_int_equal(f.err.sys_errno, 0);
	assert_true(f.stats.peak_scratch_held <= f.bytes + 8192);
	if (sort_it(&f, &so, 2, run_bytes(&f)) != EM_OK)
		fail_msg("%s (%u passes)", f.err.text, (unsigned)f.stats.passes);
	assert_true(f.stats.peak_scratch_held <= run_bytes(&f));
	tear_down(&f);
}

/* Lines that fit in memory need no scratch either, however little there may be. */
static void test_limit_of_lines_in_memory(void **state)
{
	const em_sort_opts so = EM_SORT_OPTS_INIT;
	fixture f;

	(void)state;
	watch();
	set_up(&f, 1);
	f.memory = 64 * MIB;
	if (sort_it(&f, &so, 2, 16384) != EM_OK)
		fail_msg("%s", f.err.text);
	assert_int_equal(f.stats.peak_scratch_held, 0);
	tear_down(&f);
}

/* The plan of a sort in eight runs with that fan-in.  As much scratch suffices, and a byte less is told before anything
 * is read. */
static uint64_t planned_with(fixture *f, uint32_t fan_in, uint32_t merge_passes)
{
	em_sort_opts so = EM_SORT_OPTS_INIT;
	uint64_t planned;

	so.block_bytes = 16 << 10;
	so.run_records = f->n / 8 + 1;
	so.fan_in = fan_in;
	if (sort_it(f, &so, 1, 0) != EM_OK)
		fail_msg("%s", f->err.text);
	planned = f->plan.scratch;
	assert_int_equal(f->plan.runs, 8);
	assert_int_equal(f->plan.passes, 1 + merge_passes);
	if (sort_it(f, &so, 1, planned) != EM_OK)
		fail_msg("%s", f->err.text);
	assert_true(f->stats.peak_scratch_held <= planned);
	watch();
	assert_int_equal(sort_it(f, &so, 1, planned - 1), EM_ERR_NOSPACE);
	assert_int_equal(w.reads, 0);
	assert_int_equal(f->err.bytes, planned);
	return planned;
}

/* A merge that writes runs has blocks of its inputs and blocks of its output at the same time, and the plan says so. */
static void test_plan_of_passes(void **state)
{
	uint64_t once;
	fixture f;

	(void)state;
	watch();
	set_up(&f, 0);
	/* A run needs more memory than its records take. */
	f.memory = 4 * MIB;
	once = planned_with(&f, 8, 1);
	assert_true(planned_with(&f, 4, 2) >= once + (4 + 1) * (16 << 10));
	assert_true(planned_with(&f, 2, 3) >= once + (2 + 1) * (16 << 10));
	tear_down(&f);
}

/* What is sorted in memory needs no scratch. */
static void test_limit_of_little(void **state)
{
	em_ctx_opts opts = sort_ctx_opts();
	const sort_shape shape = sort_shape_of(EM_KEY_U64, 0, 0, RECORD);
	test_rng rng = test_rng_make(test_seed());
	unsigned char *records = sort_records(&rng, &shape, SORT_RANDOM, 5000);
	em_sort_opts so = EM_SORT_OPTS_INIT;
	em_status st = EM_OK;
	em_errinfo err;
	em_order *order;
	em_sorter *s;
	em_ctx *ctx;

	(void)state;
	opts.scratch_max = 16384;
	ctx = sort_ctx(&opts);
	order = sort_order(ctx, &shape);
	assert_int_equal(em_sorter_open(&s, ctx, order, &so), EM_OK);
	assert_int_equal(em_sorter_push(s, records, 5000), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	em_sorter_close(s);
	/* What is pushed is known when it comes. */
	so.run_records = 500;
	so.block_bytes = 4096;
	assert_int_equal(em_sorter_open(&s, ctx, order, &so), EM_OK);
	st = em_sorter_push(s, records, 5000);
	if (st == EM_OK)
		st = em_sorter_finish(s);
	assert_int_equal(st, EM_ERR_NOSPACE);
	em_sorter_error(s, &err);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_true(err.bytes > 16384);
	em_sorter_close(s);
	em_order_close(order);
	em_ctx_close(ctx);
	free(records);
}

/* A file system that has room for the records once more, and little else, suffices. */
static void test_full_disk(void **state)
{
	int lines;

	(void)state;
	for (lines = 0; lines < 2; lines++) {
		em_sort_opts so;
		fixture f;

		watch();
		set_up(&f, lines);
		if (!makes_holes(&f)) {
			tear_down(&f);
			skip();
		}
		so = passes_of(&f, 0);
		assert_int_equal(sort_it(&f, &so, 2, 0), EM_OK);
		w.capacity = (f.stats.peak_scratch > f.bytes ? f.stats.peak_scratch : f.bytes) + (256 << 10);
		if (sort_it(&f, &so, 2, 0) != EM_OK)
			fail_msg("%s", f.err.text);
		assert_true(w.refused > 0);
		/* But not one that has not. */
		w.capacity = f.bytes / 2;
		assert_int_equal(sort_it(&f, &so, 2, 0), EM_ERR_NOSPACE);
		assert_int_equal(f.err.sys_errno, ENOSPC);
		assert_string_equal(f.err.op, "reserve");
		tear_down(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_records_many_passes),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_lines_many_passes),
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_plans_suffice),
		cmocka_unit_test(test_limit_lines),
		cmocka_unit_test(test_limit_of_little),
		cmocka_unit_test(test_limit_of_lines_in_memory),
		cmocka_unit_test(test_plan_of_passes),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests_name("sort/scratch", tests, NULL, NULL);
}
