/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_lines_life.c -- sorting files of records of any length: canceled, watched, counted, with inputs that change
 * and what is refused.
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
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "common/phase.h"
#include "block/packer.h"
#include "sort/lines_bench.h"

/* A backend of which the nth transfer does something else, too. */
typedef struct hook {
	em_backend be;
	const em_backend *inner;
	uint64_t count, nth;
	void (*fn)(struct hook *h);
	int each;               /* not the nth transfer only */
	useconds_t crawl;
	const char *path;
} hook;

typedef struct hooked {
	hook *h;
	void *handle;
} hooked;

static int hook_open(void *user, em_backend_open *how)
{
	hook *h = user;
	hooked *f = malloc(sizeof(*f));
	int e;

	if (f == NULL)
		return ENOMEM;
	e = h->inner->open(h->inner->user, how);
	if (e != 0) {
		free(f);
		return e;
	}
	f->h = h;
	f->handle = how->handle;
	how->handle = f;
	how->async = 0;
	return 0;
}

static void hook_close(void *handle, int forked)
{
	hooked *f = handle;

	f->h->inner->close(f->handle, forked);
	free(f);
}

static int hook_get_size(void *handle, uint64_t *bytes)
{
	const hooked *f = handle;

	return f->h->inner->get_size(f->handle, bytes);
}

static int hook_set_size(void *handle, uint64_t bytes)
{
	const hooked *f = handle;

	return f->h->inner->set_size(f->handle, bytes);
}

static int hook_fd(void *handle)
{
	const hooked *f = handle;

	return f->h->inner->fd(f->handle);
}

static void hook_count(hook *h)
{
	if (h->each)
		h->fn(h);
	else if (__atomic_add_fetch(&h->count, 1, __ATOMIC_RELAXED) == h->nth)
		h->fn(h);
}

static int64_t hook_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	const hooked *f = handle;

	hook_count(f->h);
	return f->h->inner->read(f->handle, buf, bytes, offset);
}

static int64_t hook_write(void *handle, const void *buf, size_t bytes, uint64_t offset)
{
	const hooked *f = handle;

	hook_count(f->h);
	return f->h->inner->write(f->handle, buf, bytes, offset);
}

static void hook_init(hook *h, void (*fn)(hook *h))
{
	memset(h, 0, sizeof(*h));
	h->inner = em_backend_find("syscall");
	h->fn = fn;
	h->be.size = sizeof(h->be);
	h->be.name = "hook";
	h->be.user = h;
	h->be.open = hook_open;
	h->be.close = hook_close;
	h->be.get_size = hook_get_size;
	h->be.set_size = hook_set_size;
	h->be.fd = hook_fd;
	h->be.read = hook_read;
	h->be.write = hook_write;
}

static void dawdle(hook *h)
{
	(void)h;
	usleep(130000);
}

static void cut_file(hook *h)
{
	assert_int_equal(truncate(h->path, 100000), 0);
}

/* Many passes through a hook. */
static void hook_bench(bench *b, hook *h, uint64_t salt, uint32_t threads, uint32_t flags)
{
	em_ctx_opts opts = sort_ctx_opts();

	bench_open(b, salt, 2, 0);
	b->opts.flags = flags;
	b->opts.run_records = 200;
	b->opts.fan_in = 3;
	b->opts.block_bytes = 4096;
	bench_make_inputs(b, LINES_MIXED, 3000, 2, 500);
	opts.backend = NULL;
	opts.custom = &h->be;
	opts.direct = EM_DIRECT_OFF;
	opts.threads = threads;
	bench_enter(b, &opts);
}

typedef struct viewer {
	unsigned calls, stop_at;
	uint32_t phase;
	uint64_t done;
	int stopped;
} viewer;

static int view(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	viewer *v = user;

	assert_true(phase < TEST_PHASES);
	assert_true(v->calls == 0 || phase >= v->phase);
	assert_true(v->calls == 0 || phase != v->phase || done >= v->done);
	assert_true(total == 0 || done <= total);
	v->phase = phase;
	v->done = done;
	v->stopped = ++v->calls == v->stop_at;
	return v->stopped;
}

/* Canceled while any transfer is under way. */
static void test_cancel(void **state)
{
	unsigned canceled = 0;
	int round;

	(void)state;
	for (round = 0; round < 14; round++) {
		uint64_t transfers;
		em_status st;
		viewer v;
		hook h;
		bench b;

		hook_init(&h, dawdle);
		hook_bench(&b, &h, (uint64_t)round, 1 + (uint32_t)round % 2, round % 4 == 3 ? EM_SORT_UNIQUE : 0);
		bench_run_ok(&b, 2);
		transfers = h.count;
		assert_true(transfers > 50);
		sort_write_file(b.out, "as it was", 9);
		memset(&v, 0, sizeof(v));
		v.stop_at = 1;
		b.opts.progress = view;
		b.opts.progress_user = &v;
		h.count = 0;
		h.nth = 1 + test_below(&b.rng, transfers);
		st = bench_run(&b, 2, b.out);
		if (v.stopped)
			assert_int_equal(st, EM_ERR_CANCELED);
		else
			assert_int_equal(st, EM_OK);
		canceled += st == EM_ERR_CANCELED;
		if (st == EM_OK)
			bench_assert_output(&b, b.out);
		else
			sort_assert_file(b.out, "as it was", 9);
		assert_int_equal(entries(b.dir), 3);
		bench_close(&b);
	}
	assert_true(canceled >= 7);
}

/* What progress and statistics tell of a sort that is not in a hurry. */
static void test_statistics(void **state)
{
	uint64_t read = 0, written = 0, volume;
	viewer v;
	hook h;
	bench b;
	uint32_t k;

	(void)state;
	hook_init(&h, dawdle);
	hook_bench(&b, &h, 0, 1, 0);
	memset(&v, 0, sizeof(v));
	b.opts.progress = view;
	b.opts.progress_user = &v;
	h.nth = 20;
	bench_run_ok(&b, 2);
	assert_true(v.calls > 0);
	assert_int_equal(b.stats.size, sizeof(b.stats));
	assert_true(b.stats.runs >= 15);
	assert_int_equal(b.stats.run_records, 200);
	assert_true(b.stats.passes >= 1 + passes_of(b.stats.runs, 3) && b.stats.passes < b.stats.runs);
	assert_int_equal(b.stats.fan_in, 3);
	assert_int_equal(b.stats.threads, 1);
	assert_int_equal(b.stats.block_bytes, 4096);
	volume = b.bytes;
	for (k = 0; k < TEST_PHASES; k++) {
		read += test_phase(&b.stats, k).bytes_read;
		written += test_phase(&b.stats, k).bytes_written;
	}
	/* Some records need not go through the pass in the middle. */
	assert_true(read >= 3 * volume);
	assert_true(written >= 3 * volume);
	assert_true(test_phase(&b.stats, EM_PHASE_RUNS).bytes_read >= volume - 2);
	assert_true(test_phase(&b.stats, EM_PHASE_OUTPUT).bytes_written >= volume);
	assert_true(test_phase(&b.stats, EM_PHASE_OUTPUT).bytes_written <= volume + 4096);
	bench_close(&b);
}

/* Each transfer takes a while. */
static void crawl(hook *h)
{
	usleep(h->crawl);
}

/* Sort lines that are alike, or not, with two threads and a disk of which each transfer takes so many microseconds. */
static void sort_slowly(int pattern, useconds_t each, em_sort_stats *stats)
{
	em_ctx_opts opts = sort_ctx_opts();
	hook h;
	bench b;

	hook_init(&h, crawl);
	h.each = 1;
	h.crawl = each;
	bench_open(&b, (uint64_t)pattern, 0, 0);
	b.opts.run_records = 6000;
	b.opts.block_bytes = 16384;
	bench_make_inputs(&b, pattern, 15000, 1, 300);
	opts.backend = NULL;
	opts.custom = &h.be;
	opts.direct = EM_DIRECT_OFF;
	opts.threads = 2;
	bench_enter(&b, &opts);
	bench_run_ok(&b, 1);
	*stats = b.stats;
	bench_close(&b);
}

/* When the disk is behind, lines that have much in common are compressed, and others are not.  How slow a disk must be
 * to be behind is up to how slow this machine is now. */
static void test_behind(void **state)
{
	em_sort_stats alike, garbage;
	useconds_t each = 3000;

	(void)state;
	sort_slowly(LINES_GARBAGE, each, &garbage);
	assert_true(garbage.packed_to <= garbage.packed_from / 2);
	sort_slowly(LINES_ALIKE, each, &alike);
	while (alike.packed_from == 0 && emi_packer_supported() && each < 200000) {
		each *= 4;
		sort_slowly(LINES_ALIKE, each, &alike);
	}
	if (emi_packer_supported())
		assert_true(alike.packed_from != 0);
	assert_true(alike.packed_to <= alike.packed_from / 2);
}

/* An input becomes shorter while it is read. */
static void test_shrunk(void **state)
{
	em_ctx_opts opts = sort_ctx_opts();
	lines all = { 0 };
	hook h;
	bench b;

	(void)state;
	hook_init(&h, cut_file);
	bench_open(&b, 0, 0, 0);
	lines_add_pattern(&all, &b.rng, LINES_ALIKE, 200000, &b.format, 130);
	lines_write(b.in[0], &all, 0, all.n, &b.format, 0);
	lines_free(&all);
	opts.backend = NULL;
	opts.custom = &h.be;
	opts.direct = EM_DIRECT_OFF;
	opts.memory = 8 * MIB;
	bench_enter(&b, &opts);
	h.path = b.in[0];
	h.nth = 30;
	assert_int_equal(bench_run(&b, 1, b.out), EM_ERR_SHORT);
	assert_non_null(strstr(b.err.text, "in0"));
	assert_int_equal(entries(b.dir), 1);
	bench_close(&b);
}

static void assert_refused(bench *b, em_status expected, unsigned files, const char *what)
{
	sort_write_file(b->out, "as it was", 9);
	assert_int_equal(bench_run(b, files, b->out), expected);
	if (strstr(b->err.text, what) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", b->err.text, what);
	sort_assert_file(b->out, "as it was", 9);
	unlink(b->out);
}

static void test_bad_formats(void **state)
{
	static const em_format bad[] = {
		{ sizeof(em_format), 3, 0, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_CSV, '"', 0, 0, ',' },
		{ sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, '"' },
		{ sizeof(em_format), EM_FORMAT_CSV, '\n', 0, 0, 256 },
		{ sizeof(em_format), EM_FORMAT_CSV, 256, 0, 0, ',' },
		{ sizeof(em_format), EM_FORMAT_CSV, '\n', 4, 0, ',' },
		{ sizeof(em_format), EM_FORMAT_CSV, '\n', 0, EM_FORMAT_BIG_ENDIAN, ',' },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 0, 0, ',' },
		{ sizeof(em_format), -1, 0, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, 256, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 4, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 0, EM_FORMAT_BIG_ENDIAN, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 3, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 16, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 4, 2, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 4, 0, 1 },
	};
	size_t i;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 1, 16 * MIB);
	bench_make_inputs(&b, LINES_GARBAGE, 50, 1, 200);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b.format = bad[i];
		assert_refused(&b, EM_ERR_INVAL, 1, "");
	}
	b.format = bad[0];
	b.format.size--;
	assert_refused(&b, EM_ERR_VERSION, 1, "em_format");
	b.format.size = 0;
	assert_refused(&b, EM_ERR_VERSION, 1, "em_format");
	bench_close(&b);
}

/* Formats and headers are for records of any length only; other options are looked at, too. */
static void test_bad_options(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	const char *const inputs[] = { "/dev/null" };
	em_sort_opts opts;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 1, 16 * MIB);
	bench_make_inputs(&b, LINES_GARBAGE, 50, 1, 200);
	em_order_close(b.order);
	assert_int_equal(em_order_keys(&b.order, b.ctx, 8, &key, 1, NULL), EM_OK);
	assert_refused(&b, EM_ERR_INVAL, 1, "format");
	opts = b.opts;
	opts.format = NULL;
	opts.header = 1;
	assert_int_equal(em_sort_files(b.ctx, b.order, inputs, 1, b.out, &opts, NULL), EM_ERR_INVAL);
	opts.header = 0;
	assert_int_equal(em_sort_files(b.ctx, b.order, inputs, 1, b.out, &opts, NULL), EM_OK);
	em_order_close(b.order);
	b.order = lines_order(b.ctx, 0);
	b.opts.fan_in = 1;
	assert_refused(&b, EM_ERR_INVAL, 1, "fan-in");
	b.opts.fan_in = 0;
	b.opts.block_bytes = 5000;
	assert_refused(&b, EM_ERR_INVAL, 1, "5000");
	b.opts.block_bytes = 0;
	b.opts.write_buffers = 1;
	assert_refused(&b, EM_ERR_INVAL, 1, "buffer");
	b.opts.write_buffers = 0;
	b.opts.flags = 64;
	assert_refused(&b, EM_ERR_INVAL, 1, "flags");
	b.opts.flags = 0;
	b.opts.compress = EM_COMPRESS_ALWAYS + 1;
	assert_refused(&b, EM_ERR_INVAL, 1, "compress");
	b.opts.compress = EM_COMPRESS_AUTO;
	/* No format is lines. */
	opts = b.opts;
	opts.format = NULL;
	assert_int_equal(em_sort_files(b.ctx, b.order, (const char *const *)b.in, 1, b.out, &opts, NULL), EM_OK);
	sort_assert_file(b.out, b.expected, b.bytes);
	bench_close(&b);
}

static void test_bad_inputs(void **state)
{
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 4);
	bench_enter_with(&b, "syscall", 1, 16 * MIB);
	b.opts.run_records = 20;
	bench_make_inputs(&b, LINES_ALIKE, 100, 2, 200);
	unlink(b.in[1]);
	assert_refused(&b, EM_ERR_NOENT, 2, "in1");
	assert_int_equal(b.err.sys_errno, ENOENT);
	assert_int_equal(b.err.record, 0);
	assert_int_equal(mkdir(b.in[1], 0700), 0);
	assert_refused(&b, EM_ERR_INVAL, 2, "in1");
	rmdir(b.in[1]);
	/* A prefix that is cut off, one that promises more than there is, and one of which nobody has the memory. */
	sort_write_file(b.in[1], "\1\0\0\0x\2\0\0", 8);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 2");
	assert_int_equal(b.err.record, 2);
	sort_write_file(b.in[1], "\1\0\0\0x\0\0\0\0\6\0\0\0abc", 16);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 3");
	assert_int_equal(b.err.record, 3);
	sort_write_file(b.in[1], "\xff\xff\xff\xff" "abc", 7);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 1");
	assert_int_equal(entries(b.dir), 2);
	/* No such directory; a directory; a full disk. */
	sort_write_file(b.in[1], "\1\0\0\0x", 5);
	assert_int_equal(bench_run(&b, 2, "/no/such/directory/out"), EM_ERR_NOENT);
	assert_int_equal(bench_run(&b, 2, b.dir), EM_ERR_INVAL);
	if (access("/dev/full", W_OK) == 0)
		assert_int_equal(bench_run(&b, 2, "/dev/full"), EM_ERR_NOSPACE);
	assert_int_equal(bench_run(&b, 2, "/dev/null"), EM_OK);
	assert_int_equal(entries(b.dir), 2);
	bench_close(&b);
}

/* Nobody reads the output any more. */
static void test_closed_pipe(void **state)
{
	em_status st;
	int fds[2], saved;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "syscall", 2, 16 * MIB);
	b.opts.run_records = 500;
	bench_make_inputs(&b, LINES_ALIKE, 4000, 1, 200);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	saved = replace_fd(STDOUT_FILENO, fds[1]);
	st = bench_run(&b, 1, "-");
	restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(st, EM_ERR_PIPE);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_shrunk),
		cmocka_unit_test(test_bad_formats),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_bad_inputs),
		cmocka_unit_test(test_closed_pipe),
	};

	return cmocka_run_group_tests_name("sort_lines_life", tests, NULL, NULL);
}
