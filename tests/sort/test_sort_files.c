/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_files.c -- files to a file: what is in it, what is beside it, and what is said when it cannot be.
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
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "common/phase.h"
#include "sort/fd_ends.h"
#include "sort/sort_model.h"

#define FILES 4u

static const char *const backends[] = { "memory", "syscall", "libaio", "io_uring", "stdio", "mmap" };
static const int32_t directs[] = { EM_DIRECT_TRY, EM_DIRECT_OFF };

/* A directory with inputs, and what is to come out of them. */
typedef struct bench {
	test_rng rng;
	char *dir, *in[FILES], *out;
	sort_shape shape;
	uint64_t n, expected_n;
	unsigned char *records, *expected;
	em_ctx *ctx;
	em_order *order;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
	int busy;               /* other threads open and close descriptors, too */
} bench;

static int backend_is_here(const char *name)
{
	return em_backend_find(name) != NULL;
}

static void bench_open(bench *b, const char *backend, int32_t direct, uint32_t threads, const sort_shape *shape)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	em_ctx_opts opts = sort_ctx_opts();
	const char *dirs[1];
	unsigned i;

	memset(b, 0, sizeof(*b));
	b->rng = test_rng_make(test_seed());
	b->dir = test_dir_make();
	for (i = 0; i < FILES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "in%u", i);
		b->in[i] = test_path(b->dir, name);
	}
	b->out = test_path(b->dir, "out");
	b->shape = *shape;
	dirs[0] = b->dir;
	opts.backend = backend;
	opts.direct = direct;
	opts.threads = threads;
	opts.dirs = dirs;
	opts.ndirs = 1;
	b->ctx = sort_ctx(&opts);
	b->order = sort_order(b->ctx, shape);
	b->opts = none;
	b->opts.errinfo = &b->err;
	b->stats.size = sizeof(b->stats);
}

static void forget_records(bench *b)
{
	free(b->records);
	free(b->expected);
	b->records = b->expected = NULL;
}

static void bench_close(bench *b)
{
	unsigned i;

	forget_records(b);
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	for (i = 0; i < FILES; i++) {
		unlink(b->in[i]);
		free(b->in[i]);
	}
	unlink(b->out);
	free(b->out);
	assert_dir_empty(b->dir);
	test_dir_remove(b->dir);
}

/* Fill the first `files' inputs with n records together, cut wherever a record ends. */
static void make_inputs(bench *b, sort_pattern pattern, uint64_t n, unsigned files)
{
	uint64_t at = 0;
	unsigned i;

	forget_records(b);
	b->records = sort_records(&b->rng, &b->shape, pattern, n);
	b->n = b->expected_n = n;
	b->expected = sort_expected(&b->shape, b->records, &b->expected_n, (b->opts.flags & EM_SORT_UNIQUE) != 0);
	for (i = 0; i < files; i++) {
		const uint64_t some = i + 1 == files ? n - at : test_below(&b->rng, n - at + 1);

		sort_write_file(b->in[i], b->records + at * b->shape.bytes, (size_t)some * b->shape.bytes);
		at += some;
	}
}

static em_status run(bench *b, unsigned files, const char *output)
{
	const char *inputs[FILES];
	uint64_t before;
	em_status st;
	unsigned i, fds = sort_open_fds();

	for (i = 0; i < FILES; i++)
		inputs[i] = b->in[i];
	memset(&b->err, 0, sizeof(b->err));
	memset(&b->stats, 0, sizeof(b->stats));
	b->stats.size = sizeof(b->stats);
	before = em_ctx_memory_used(b->ctx);
	st = em_sort_files(b->ctx, b->order, inputs, files, output, &b->opts, &b->stats);
	assert_int_equal(st, b->err.status);
	if (!b->busy)
		assert_int_equal(sort_open_fds(), fds);
	if (em_ctx_threads(b->ctx) == 1)
		assert_int_equal(em_ctx_memory_used(b->ctx), before);
	return st;
}

static void run_ok(bench *b, unsigned files, const char *output)
{
	if (run(b, files, output) != EM_OK)
		fail_msg("%s", b->err.text);
	assert_int_equal(b->stats.records_in, b->n);
	assert_int_equal(b->stats.records_out, b->expected_n);
}

static void assert_output(bench *b, const char *path)
{
	sort_assert_file(path, b->expected, (size_t)b->expected_n * b->shape.bytes);
}

static const sort_shape shapes[] = {
	{ 16, 1, { { 0, 0, EM_KEY_U64, 0, { 0 } } } },
	{ 16, 1, { { 0, 16, EM_KEY_BYTES, 0, { 0 } } } },
	{ 13, 1, { { 0, 13, EM_KEY_BYTES, 0, { 0 } } } },
	{ 1, 1, { { 0, 0, EM_KEY_U8, EM_KEY_DESCENDING, { 0 } } } },
	{ 7, 1, { { 2, 0, EM_KEY_I32, 0, { 0 } } } },
	{ 100, 1, { { 0, 10, EM_KEY_BYTES, 0, { 0 } } } },
	{ 4097, 2, { { 4000, 0, EM_KEY_U16, 0, { 0 } }, { 1, 0, EM_KEY_F32, EM_KEY_BIG_ENDIAN, { 0 } } } },
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* Every backend, direct or not, one or several inputs, in memory and in two and three passes. */
static void test_against_model(void **state)
{
	size_t i, d, s;

	(void)state;
	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		for (d = TEST_TSAN ? i % 2 : 0; d < 2; d += TEST_TSAN ? 2 : 1) {
			for (s = 0; s < SHAPES; s++) {
				const uint64_t n = (TEST_TSAN ? 60000 : 300000) / (shapes[s].bytes + 5);
				int round;
				bench b;

				if (test_left_out())
					continue;
				if (!backend_is_here(backends[i]))
					continue;
				bench_open(&b, backends[i], directs[d], 1 + (uint32_t)(s % 3), &shapes[s]);
				for (round = 0; round < 6; round++) {
					const unsigned files = 1 + (unsigned)round % FILES;

					b.opts.run_records = round % 3 == 0 ? 0 : n / 9 + 1;
					b.opts.fan_in = round % 3 == 2 ? 4 : 0;
					b.opts.block_bytes = round % 2 ? 8192 : 0;
					b.opts.flags = round == 5 ? EM_SORT_UNIQUE : 0;
					make_inputs(&b, (sort_pattern)test_below(&b.rng, SORT_PATTERNS),
						    n + test_below(&b.rng, n / 20 + 1), files);
					run_ok(&b, files, b.out);
					assert_output(&b, b.out);
					assert_int_equal(b.stats.passes, round % 3 == 0 ? 0 : round % 3 == 1 ? 2 : 3);
				}
				bench_close(&b);
			}
		}
	}
}

/* Nothing, a record, two: alone and between other inputs that are as small. */
static void test_tiny(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 3 };
	size_t i, d, s, k;
	unsigned files;

	(void)state;
	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		for (d = 0; d < 2; d++) {
			for (s = 0; s < SHAPES; s++) {
				bench b;

				if (test_left_out())
					continue;
				if (!backend_is_here(backends[i]))
					continue;
				bench_open(&b, backends[i], directs[d], 1, &shapes[s]);
				for (k = 0; k < 4; k++) {
					for (files = 1; files <= FILES; files += 3) {
						make_inputs(&b, SORT_RANDOM, sizes[k], files);
						b.opts.run_records = 0;
						run_ok(&b, files, b.out);
						assert_output(&b, b.out);
						b.opts.run_records = 1;
						run_ok(&b, files, b.out);
						assert_output(&b, b.out);
					}
				}
				bench_close(&b);
			}
		}
	}
}

/* The output is one of the inputs, with a mode that stays. */
static void test_in_place(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		struct stat sb;
		bench b;

		if (!backend_is_here(backends[i]))
			continue;
		bench_open(&b, backends[i], EM_DIRECT_TRY, 2, &shapes[0]);
		b.opts.run_records = 700;
		make_inputs(&b, SORT_RANDOM, 5000, 2);
		assert_int_equal(chmod(b.in[1], 0640), 0);
		run_ok(&b, 2, b.in[1]);
		assert_output(&b, b.in[1]);
		assert_int_equal(stat(b.in[1], &sb), 0);
		assert_int_equal(sb.st_mode & 0777, 0640);
		assert_int_equal(entries(b.dir), 2);
		bench_close(&b);
	}
}

/* A symbolic link is followed, the link stays. */
static void test_symlink(void **state)
{
	struct stat sb;
	char *link;
	bench b;

	(void)state;
	bench_open(&b, NULL, EM_DIRECT_TRY, 1, &shapes[0]);
	make_inputs(&b, SORT_RANDOM, 1000, 1);
	sort_write_file(b.out, "old", 3);
	link = test_path(b.dir, "link");
	assert_int_equal(symlink("out", link), 0);
	run_ok(&b, 1, link);
	assert_output(&b, b.out);
	assert_int_equal(lstat(link, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	unlink(link);
	free(link);
	bench_close(&b);
}

static void test_output_to_pipe(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		pthread_t thread;
		pipe_end end;
		em_status st;
		int fds[2], saved;
		bench b;

		bench_open(&b, NULL, EM_DIRECT_TRY, 1 + (uint32_t)round % 2, &shapes[3]);
		b.opts.run_records = round % 2 ? 500 : 0;
		b.opts.flags = round == 3 ? EM_SORT_UNIQUE : 0;
		make_inputs(&b, SORT_FEW, 4000, 2);
		assert_int_equal(pipe(fds), 0);
		end.fd = fds[0];
		end.bytes = 0;
		end.room = (size_t)b.n * b.shape.bytes + 1;
		end.data = malloc(end.room);
		assert_non_null(end.data);
		assert_int_equal(pthread_create(&thread, NULL, pipe_drain, &end), 0);
		saved = replace_fd(STDOUT_FILENO, fds[1]);
		st = run(&b, 2, "-");
		restore_fd(STDOUT_FILENO, saved);
		pthread_join(thread, NULL);
		if (st != EM_OK)
			fail_msg("%s", b.err.text);
		assert_int_equal(end.bytes, b.expected_n * b.shape.bytes);
		assert_memory_equal(end.data, b.expected, end.bytes);
		assert_int_equal(entries(b.dir), 2);
		free(end.data);
		bench_close(&b);
	}
}

/* Nobody reads: that is told, and kills nobody. */
static void test_closed_pipe(void **state)
{
	em_status st;
	int fds[2], saved;
	bench b;

	(void)state;
	bench_open(&b, NULL, EM_DIRECT_TRY, 1, &shapes[0]);
	b.opts.run_records = 500;
	make_inputs(&b, SORT_RANDOM, 4000, 1);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	saved = replace_fd(STDOUT_FILENO, fds[1]);
	st = run(&b, 1, "-");
	restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(st, EM_ERR_PIPE);
	assert_string_equal(b.err.op, "write");
	bench_close(&b);
}

/* Standard input is a pipe of unknown length: empty, within memory, one run exactly, and longer. */
static void test_input_from_pipe(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 499, 500, 501, 1000, 1001, 20000 };
	size_t i, s;
	int forced;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (s = 0; s < 4; s++) {
			for (forced = 0; forced < 2; forced++) {
				pthread_t thread;
				pipe_end end;
				em_status st;
				int fds[2], saved;
				bench b;

				bench_open(&b, NULL, EM_DIRECT_TRY, 1 + (uint32_t)s % 2, &shapes[s]);
				b.opts.run_records = forced ? 500 : 0;
				b.opts.fan_in = forced && s == 2 ? 3 : 0;
				make_inputs(&b, SORT_RANDOM, sizes[i], 1);
				unlink(b.in[0]);
				free(b.in[0]);
				b.in[0] = strdup("-");
				assert_int_equal(pipe(fds), 0);
				end.fd = fds[1];
				end.data = b.records;
				end.bytes = (size_t)b.n * b.shape.bytes;
				b.busy = 1;
				assert_int_equal(pthread_create(&thread, NULL, pipe_feed, &end), 0);
				saved = replace_fd(STDIN_FILENO, fds[0]);
				st = run(&b, 1, b.out);
				restore_fd(STDIN_FILENO, saved);
				pthread_join(thread, NULL);
				if (st != EM_OK)
					fail_msg("%s", b.err.text);
				assert_output(&b, b.out);
				assert_int_equal(b.stats.records_in, b.n);
				bench_close(&b);
			}
		}
	}
}

/* A file, then a named pipe of which nobody knows how much is in it, then a file. */
static void test_mixed_inputs(void **state)
{
	pthread_t thread;
	pipe_end end;
	uint64_t first, second;
	int round;

	(void)state;
	for (round = 0; round < 2; round++) {
		bench b;

		bench_open(&b, NULL, EM_DIRECT_TRY, 2, &shapes[0]);
		b.opts.run_records = round ? 300 : 0;
		make_inputs(&b, SORT_RANDOM, 3000, 1);
		first = 700;
		second = 1100;
		sort_write_file(b.in[0], b.records, (size_t)first * 16);
		sort_write_file(b.in[2], b.records + (first + second) * 16, (size_t)(b.n - first - second) * 16);
		assert_int_equal(mkfifo(b.in[1], 0600), 0);
		end.fd = -1;
		end.path = b.in[1];
		end.data = b.records + first * 16;
		end.bytes = (size_t)second * 16;
		b.busy = 1;
		assert_int_equal(pthread_create(&thread, NULL, pipe_feed, &end), 0);
		run_ok(&b, 3, b.out);
		pthread_join(thread, NULL);
		assert_output(&b, b.out);
		bench_close(&b);
	}
}

/* An existing output that must not change, unless all goes well. */
static void assert_untouched(bench *b, em_status expected, const char *name, unsigned files)
{
	sort_write_file(b->out, "as it was", 9);
	assert_int_equal(run(b, files, b->out), expected);
	if (strstr(b->err.text, name) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", b->err.text, name);
	sort_assert_file(b->out, "as it was", 9);
	unlink(b->out);
}

static void test_bad_inputs(void **state)
{
	const char *no_inputs[] = { NULL };
	unsigned have;
	bench b;

	(void)state;
	bench_open(&b, NULL, EM_DIRECT_TRY, 1, &shapes[0]);
	make_inputs(&b, SORT_RANDOM, 100, 2);
	have = entries(b.dir);
	/* the second is missing */
	unlink(b.in[1]);
	assert_untouched(&b, EM_ERR_NOENT, "in1", 2);
	assert_string_equal(b.err.op, "open");
	assert_string_equal(b.err.path, b.in[1]);
	assert_int_equal(b.err.sys_errno, ENOENT);
	assert_int_equal(entries(b.dir), have - 1);
	/* it is not made of records */
	sort_write_file(b.in[1], b.records, 33);
	assert_untouched(&b, EM_ERR_FORMAT, "in1", 2);
	assert_non_null(strstr(b.err.text, "33"));
	assert_non_null(strstr(b.err.text, "16"));
	assert_int_equal(b.err.record, 3);
	assert_string_equal(b.err.path, b.in[1]);
	/* it is a directory */
	unlink(b.in[1]);
	assert_int_equal(mkdir(b.in[1], 0700), 0);
	assert_untouched(&b, EM_ERR_INVAL, "in1", 2);
	rmdir(b.in[1]);
	/* it may not be read; nothing forbids root to */
	sort_write_file(b.in[1], b.records, 32);
	assert_int_equal(chmod(b.in[1], 0), 0);
	if (getuid() != 0)
		assert_untouched(&b, EM_ERR_ACCESS, "in1", 2);
	/* nothing at all */
	assert_int_equal(em_sort_files(b.ctx, b.order, no_inputs, 0, b.out, &b.opts, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_files(b.ctx, b.order, no_inputs, 1, b.out, &b.opts, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_files(b.ctx, b.order, NULL, 1, b.out, &b.opts, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_files(b.ctx, NULL, (const char *const *)b.in, 1, b.out, &b.opts, NULL), EM_ERR_INVAL);
	assert_int_equal(em_sort_files(NULL, b.order, (const char *const *)b.in, 1, b.out, &b.opts, NULL),
			 EM_ERR_INVAL);
	assert_int_equal(em_sort_files(b.ctx, b.order, (const char *const *)b.in, 1, NULL, &b.opts, NULL),
			 EM_ERR_INVAL);
	b.stats.size = 0;
	assert_int_equal(em_sort_files(b.ctx, b.order, (const char *const *)b.in, 1, b.out, &b.opts, &b.stats),
			 EM_ERR_VERSION);
	assert_int_equal(entries(b.dir), 2);
	bench_close(&b);
}

static void test_bad_outputs(void **state)
{
	char *dir, *path;
	bench b;

	(void)state;
	bench_open(&b, NULL, EM_DIRECT_TRY, 1, &shapes[0]);
	make_inputs(&b, SORT_RANDOM, 1000, 1);
	dir = test_path(b.dir, "nowhere");
	path = test_path(dir, "out");
	assert_int_equal(run(&b, 1, path), EM_ERR_NOENT);
	assert_non_null(strstr(b.err.text, "nowhere"));
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(run(&b, 1, dir), EM_ERR_INVAL);
	assert_non_null(strstr(b.err.text, "nowhere"));
	assert_int_equal(run(&b, 1, ""), EM_ERR_NOENT);
	run_ok(&b, 1, "/dev/null");
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(run(&b, 1, "/dev/full"), EM_ERR_NOSPACE);
		assert_string_equal(b.err.op, "write");
		assert_string_equal(b.err.path, "/dev/full");
		assert_int_equal(b.err.sys_errno, ENOSPC);
	}
	rmdir(dir);
	assert_int_equal(entries(b.dir), 1);
	free(dir);
	free(path);
	bench_close(&b);
}

/* Cuts a file when the sort has begun and tells so once. */
typedef struct cutter {
	const char *path;
	off_t to;
	int done;
} cutter;

static int cut(const void *a, const void *b, void *user)
{
	cutter *c = user;

	if (!c->done)
		c->done = truncate(c->path, c->to) == 0;
	return memcmp(a, b, 8);
}

/* The third input shrinks while the first is being sorted. */
static void test_shrunk(void **state)
{
	size_t i, d;

	(void)state;
	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		for (d = 0; d < 2; d++) {
			cutter c;
			bench b;

			if (!backend_is_here(backends[i]))
				continue;
			bench_open(&b, backends[i], directs[d], 1, &shapes[0]);
			make_inputs(&b, SORT_RANDOM, 9000, 1);
			sort_write_file(b.in[0], b.records, 16 * 3000);
			sort_write_file(b.in[1], b.records, 16 * 3000);
			sort_write_file(b.in[2], b.records, 16 * 3000);
			em_order_close(b.order);
			c.path = b.in[2];
			c.to = 16 * 1000;
			c.done = 0;
			assert_int_equal(em_order_cmp(&b.order, b.ctx, 16, NULL, cut, 0, &c, NULL, NULL), EM_OK);
			/* Two areas: while the first run is sorted the second is read, in input 0 still. */
			b.opts.run_records = 500;
			b.opts.block_bytes = 4096;
			assert_untouched(&b, EM_ERR_SHORT, "in2", 3);
			assert_int_equal(c.done, 1);
			assert_int_equal(b.err.offset, 16 * 1000);
			assert_int_equal(entries(b.dir), 3);
			bench_close(&b);
		}
	}
}

/* Two passes over the data, file to file: twice in, twice out. */
static void test_volume(void **state)
{
	size_t i, d;

	(void)state;
	for (i = 0; i < sizeof(backends) / sizeof(backends[0]); i++) {
		for (d = i % 2; d < 2; d += 2) {
			uint64_t read = 0, written = 0, volume, twice;
			uint32_t k;
			bench b;

			if (!backend_is_here(backends[i]))
				continue;
			bench_open(&b, backends[i], directs[d], 2, &shapes[0]);
			make_inputs(&b, SORT_RANDOM, TEST_TSAN ? 350001 : 700001, 1);
			b.opts.memory = (TEST_TSAN ? 3u : 6u) << 20;
			b.opts.block_bytes = 16384;
			run_ok(&b, 1, b.out);
			assert_output(&b, b.out);
			volume = b.n * 16;
			assert_int_equal(b.stats.passes, 2);
			for (k = 0; k < TEST_PHASES; k++) {
				read += test_phase(&b.stats, k).bytes_read;
				written += test_phase(&b.stats, k).bytes_written;
			}
			/* All that was not kept in memory is on disk once. */
			assert_true(b.stats.kept_records <= b.stats.run_records);
			twice = 2 * volume - b.stats.kept_records * 16;
			assert_true(read >= twice && read < twice + volume / 50);
			assert_true(written >= twice && written < twice + volume / 50);
			/* The input is read in whole pages, the rest is exact or nearly so. */
			assert_true(test_phase(&b.stats, EM_PHASE_RUNS).bytes_read < volume + volume / 100);
			assert_true(test_phase(&b.stats, EM_PHASE_OUTPUT).bytes_written >= volume);
			assert_true(test_phase(&b.stats, EM_PHASE_OUTPUT).bytes_written <= volume + 4096);
			bench_close(&b);
		}
	}
}

/* Whatever the context has, it is enough for a sort that has begun, and never exceeded. */
static void test_budgets(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 9; round += TEST_TSAN ? 2 : 1) {
		const char *backend = backends[round % 5];
		em_ctx_opts opts = sort_ctx_opts();
		const char *dirs[1];
		uint64_t n;
		bench b;

		bench_open(&b, NULL, EM_DIRECT_TRY, 1, &shapes[round % 2 ? 3 : 0]);
		em_order_close(b.order);
		em_ctx_close(b.ctx);
		dirs[0] = b.dir;
		opts.dirs = dirs;
		opts.ndirs = 1;
		opts.backend = backend_is_here(backend) ? backend : NULL;
		opts.threads = 1 + (uint32_t)round % 2;
		opts.memory = (1u << 20) + test_below(&b.rng, 3u << 20);
		b.ctx = sort_ctx(&opts);
		b.order = sort_order(b.ctx, &b.shape);
		n = opts.memory / b.shape.bytes * (1 + test_below(&b.rng, 20)) / 10;
		make_inputs(&b, SORT_RANDOM, n, 1 + (unsigned)round % FILES);
		run_ok(&b, 1 + (unsigned)round % FILES, b.out);
		assert_output(&b, b.out);
		assert_true(em_ctx_memory_peak(b.ctx) <= opts.memory);
		bench_close(&b);
	}
}

/* Two sorts in one directory at one time, each with a context of its own, on its own thread. */
typedef struct racer {
	bench b;
	const char *dir;
	em_status st;
	pthread_t thread;
} racer;

static void *race(void *arg)
{
	racer *r = arg;
	const char *inputs[] = { r->b.in[0] };
	int i;

	for (i = 0; i < 8 && r->st == EM_OK; i++)
		r->st = em_sort_files(r->b.ctx, r->b.order, inputs, 1, r->b.out, &r->b.opts, NULL);
	return NULL;
}

static void test_two_at_once(void **state)
{
	racer r[2];
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		bench *b = &r[i].b;

		bench_open(b, NULL, EM_DIRECT_TRY, 2, &shapes[0]);
		r[i].st = EM_OK;
		make_inputs(b, SORT_RANDOM, 20000, 1);
		b->opts.run_records = 1500;
		b->opts.fan_in = 5;
		/* The second writes beside the first. */
		if (i == 1) {
			free(b->out);
			b->out = test_path(r[0].b.dir, "other");
		}
	}
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&r[i].thread, NULL, race, &r[i]), 0);
	for (i = 0; i < 2; i++)
		pthread_join(r[i].thread, NULL);
	for (i = 0; i < 2; i++) {
		if (r[i].st != EM_OK)
			fail_msg("%s", r[i].b.err.text);
		assert_output(&r[i].b, r[i].b.out);
	}
	assert_int_equal(entries(r[0].b.dir), 3);
	bench_close(&r[1].b);
	bench_close(&r[0].b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_tiny),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_symlink),
		cmocka_unit_test(test_output_to_pipe),
		cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_input_from_pipe),
		cmocka_unit_test(test_mixed_inputs),
		cmocka_unit_test(test_bad_inputs),
		cmocka_unit_test(test_bad_outputs),
		cmocka_unit_test(test_shrunk),
		cmocka_unit_test(test_volume),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_two_at_once),
	};

	return cmocka_run_group_tests_name("sort files", tests, NULL, NULL);
}
