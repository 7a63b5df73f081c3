/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_lines.c -- files of records of any length to a file: what is in it, whatever the records, the format, the order, the
 * memory and the options; and what is said when it cannot be.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "sort/lines_model.h"
#include "sort/sort_model.h"

#define FILES 4u
#define MIB ((uint64_t)1 << 20)

static const char *const backends[] = { "memory", "syscall", "libaio" };

/* A directory with inputs, and what is to come out of them. */
typedef struct bench {
	test_rng rng;
	char *dir, *in[FILES], *out;
	em_ctx *ctx;
	em_order *order;
	int which;
	em_format format;
	em_sort_opts opts;
	em_errinfo err;
	em_sort_stats stats;
	size_t records_in, records_out;
	unsigned char *expected;
	size_t bytes;
	int busy;               /* other threads open and close descriptors, too */
	char what[256];         /* said when something is wrong */
} bench;

static void bench_open(bench *b, uint64_t salt, int which, int format)
{
	const em_sort_opts none = EM_SORT_OPTS_INIT;
	unsigned i;

	memset(b, 0, sizeof(*b));
	b->rng = test_rng_make(test_seed() + salt);
	b->dir = test_dir_make();
	for (i = 0; i < FILES; i++) {
		char name[8];

		snprintf(name, sizeof(name), "in%u", i);
		b->in[i] = test_path(b->dir, name);
	}
	b->out = test_path(b->dir, "out");
	b->which = which;
	b->format = lines_format(format);
	b->opts = none;
}

static void bench_leave(bench *b)
{
	em_order_close(b->order);
	em_ctx_close(b->ctx);
	b->order = NULL;
	b->ctx = NULL;
}

/* Another context for the same inputs. */
static void bench_enter(bench *b, const em_ctx_opts *how)
{
	const char *const dirs[] = { b->dir };
	em_ctx_opts opts = *how;

	bench_leave(b);
	opts.dirs = dirs;
	opts.ndirs = 1;
	b->ctx = sort_ctx(&opts);
	b->order = lines_order(b->ctx, b->which);
}

static void bench_enter_with(bench *b, const char *backend, uint32_t threads, uint64_t memory)
{
	em_ctx_opts opts = sort_ctx_opts();

	opts.backend = em_backend_find(backend) != NULL ? backend : NULL;
	opts.direct = test_below(&b->rng, 2) == 0 ? EM_DIRECT_TRY : EM_DIRECT_OFF;
	opts.threads = threads;
	opts.memory = memory;
	bench_enter(b, &opts);
}

static void bench_close(bench *b)
{
	unsigned i;

	bench_leave(b);
	free(b->expected);
	for (i = 0; i < FILES; i++) {
		unlink(b->in[i]);
		free(b->in[i]);
	}
	unlink(b->out);
	free(b->out);
	assert_dir_empty(b->dir);
	test_dir_remove(b->dir);
}

/* What must come out of a list of which the first `header' records stay. */
static void expect(bench *b, const lines *all, size_t header)
{
	const em_ctx_opts opts = sort_ctx_opts();
	em_ctx *ctx = sort_ctx(&opts);
	em_order *order = lines_order(ctx, b->which);
	lines l = { 0 };

	lines_append(&l, all, 0, all->n);
	b->records_in = all->n - header;
	lines_sort(order, &l, header, (b->opts.flags & EM_SORT_UNIQUE) != 0);
	b->records_out = l.n - header;
	free(b->expected);
	b->expected = lines_text(&l, 0, l.n, &b->format, 0, &b->bytes);
	lines_free(&l);
	em_order_close(order);
	em_ctx_close(ctx);
}

/* Spread a list over the first `files' inputs. */
static void write_inputs(bench *b, lines *all, unsigned files)
{
	size_t at = 0, header = 0;
	unsigned i;

	for (i = 0; i < files; i++) {
		const size_t some = i + 1 == files ? all->n - at : (size_t)test_below(&b->rng, all->n - at + 1);

		lines_write(b->in[i], all, at, at + some, &b->format, (int)test_below(&b->rng, 2));
		if (i == 0)
			header = b->opts.header < some ? (size_t)b->opts.header : some;
		at += some;
	}
	expect(b, all, header);
	lines_free(all);
}

static void make_inputs(bench *b, int pattern, size_t n, unsigned files, size_t most)
{
	lines all = { 0 };

	lines_add_pattern(&all, &b->rng, pattern, n, &b->format, most);
	write_inputs(b, &all, files);
}

static em_status run(bench *b, unsigned files, const char *output)
{
	const char *inputs[FILES];
	const unsigned fds = sort_open_fds();
	uint64_t before;
	em_status st;
	unsigned i;

	for (i = 0; i < FILES; i++)
		inputs[i] = b->in[i];
	memset(&b->err, 0, sizeof(b->err));
	memset(&b->stats, 0, sizeof(b->stats));
	b->stats.size = sizeof(b->stats);
	b->opts.format = &b->format;
	b->opts.errinfo = &b->err;
	before = em_ctx_memory_used(b->ctx);
	st = em_sort_files(b->ctx, b->order, inputs, files, output, &b->opts, &b->stats);
	assert_int_equal(st, b->err.status);
	assert_true(st == EM_OK || b->err.text[0] != '\0');
	if (!b->busy)
		assert_int_equal(sort_open_fds(), fds);
	if (em_ctx_threads(b->ctx) == 1)
		assert_int_equal(em_ctx_memory_used(b->ctx), before);
	assert_true(em_ctx_memory_peak(b->ctx) <= em_ctx_memory(b->ctx));
	return st;
}

static void assert_right(bench *b, const unsigned char *got, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && i < b->bytes && got[i] == b->expected[i]; i++)
		;
	if (i < bytes || i < b->bytes)
		fail_msg("%s: byte %zu of %zu is wrong (%zu are right)", b->what, i, bytes, b->bytes);
	if (b->stats.records_in != b->records_in || b->stats.records_out != b->records_out)
		fail_msg("%s: %u records in, %u out, should be %u, %u", b->what, (unsigned)b->stats.records_in,
			 (unsigned)b->stats.records_out, (unsigned)b->records_in, (unsigned)b->records_out);
}

static void assert_output(bench *b, const char *path)
{
	size_t bytes;
	unsigned char *got = sort_read_file(path, &bytes);

	assert_right(b, got, bytes);
	free(got);
}

static void run_ok(bench *b, unsigned files)
{
	if (run(b, files, b->out) != EM_OK)
		fail_msg("%s: %s", b->what, b->err.text);
	assert_output(b, b->out);
}

static unsigned entries(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	unsigned n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

/* Merging passes that k-way merging of runs takes at least. */
static uint32_t passes_of(uint64_t runs, uint64_t k)
{
	uint32_t passes = 0;

	for (; runs > 1; runs = (runs + k - 1) / k)
		passes++;
	return passes;
}

static uint64_t input_bytes(const bench *b, unsigned files)
{
	uint64_t bytes = 0;
	struct stat info;
	unsigned i;

	for (i = 0; i < files; i++) {
		assert_int_equal(stat(b->in[i], &info), 0);
		bytes += (uint64_t)info.st_size;
	}
	return bytes;
}

/* One sort with options at random; repeat it with i to see it again. */
static void random_case(uint64_t i)
{
	static const size_t sizes[] = { 0, 1, 2, 40, 700, 3000 };
	static const uint32_t fan_ins[] = { 0, 2, 3, 5 };
	static const uint64_t blocks[] = { 0, 4096, 8192, 65536 };
	const size_t n = sizes[i % 6];
	const unsigned files = 1 + (unsigned)(i / 3 % FILES);
	const int pattern = (int)(i % LINES_PATTERNS);
	uint64_t memory;
	uint32_t threads;
	const char *backend;
	bench b;

	bench_open(&b, i, (int)(i / 2 % LINES_ORDERS), (int)(i % LINES_FORMATS));
	if (b.format.kind == EM_FORMAT_DELIMITED && i % 3 == 0)
		b.format.delimiter = (uint32_t)test_below(&b.rng, 256);
	b.opts.run_records = test_below(&b.rng, 4) == 0 ? 0 : n / (1 + test_below(&b.rng, 40)) + 1;
	b.opts.block_bytes = blocks[test_below(&b.rng, 4)];
	b.opts.fan_in = fan_ins[test_below(&b.rng, 4)];
	b.opts.read_buffers = (uint32_t)test_below(&b.rng, 4);
	b.opts.write_buffers = test_below(&b.rng, 2) ? 0 : 2 + (uint32_t)test_below(&b.rng, 4);
	b.opts.flags = test_below(&b.rng, 3) == 0 ? EM_SORT_UNIQUE : test_below(&b.rng, 2) ? EM_SORT_STABLE : 0;
	b.opts.header = test_below(&b.rng, 3) == 0 ? test_below(&b.rng, 6) : 0;
	backend = backends[test_below(&b.rng, 3)];
	threads = 1 + (uint32_t)test_below(&b.rng, 4);
	memory = (uint64_t)(8 << test_below(&b.rng, 4)) * MIB;
	make_inputs(&b, pattern, n, files, 5000);
	snprintf(b.what, sizeof(b.what),
		 "case %u: %u records of pattern %d, order %d, format %d, unique %d, header %u, runs of %u, blocks of %u, fan-in %u, %u "
		 "threads, %s, %u MiB",
		 (unsigned)i, (unsigned)n, pattern, b.which, (int)(i % LINES_FORMATS), b.opts.flags == EM_SORT_UNIQUE,
		 (unsigned)b.opts.header, (unsigned)b.opts.run_records, (unsigned)b.opts.block_bytes, (unsigned)b.opts.fan_in,
		 (unsigned)threads, backend, (unsigned)(memory / MIB));
	bench_enter_with(&b, backend, threads, memory);
	run_ok(&b, files);
	assert_int_equal(b.stats.threads, threads);
	assert_true(b.stats.fan_in <= (b.opts.fan_in != 0 ? b.opts.fan_in : 8192));
	assert_true(b.opts.block_bytes == 0 || b.stats.block_bytes == b.opts.block_bytes);
	assert_true(b.stats.runs == 0 ? b.stats.passes == 0 : b.stats.passes >= 1 + passes_of(b.stats.runs, b.stats.fan_in));
	if (b.opts.run_records == 0) {
		/* What is far smaller than the memory is never written as runs. */
		if (b.stats.runs != 0 && input_bytes(&b, files) <= memory / 64)
			fail_msg("%s: %u runs of %u bytes", b.what, (unsigned)b.stats.runs, (unsigned)input_bytes(&b, files));
	} else {
		assert_true(b.stats.run_records <= b.opts.run_records);
		assert_true((b.stats.runs == 0 && b.records_in <= b.opts.run_records) ||
			    b.stats.runs * b.opts.run_records >= b.records_in);
	}
	bench_close(&b);
}

static void test_against_model(void **state)
{
	uint64_t i;

	(void)state;
	for (i = 0; i < 240; i++)
		random_case(i);
}

/* Sizes at which another run or merging pass begins. */
static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 49, 50, 51, 99, 100, 101, 150, 151, 449, 450, 451, 1350, 1351, 2000 };
	size_t i;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 1, 16 * MIB);
	b.opts.run_records = 50;
	b.opts.fan_in = 3;
	b.opts.block_bytes = 4096;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const uint64_t runs = sizes[i] <= 50 ? 0 : (sizes[i] + 49) / 50;

		snprintf(b.what, sizeof(b.what), "%u records", (unsigned)sizes[i]);
		make_inputs(&b, LINES_GARBAGE, sizes[i], 1, 200);
		run_ok(&b, 1);
		/* A run ends early where a chunk of the input does. */
		assert_true(b.stats.runs >= runs && b.stats.runs <= 2 * runs);
		/* A merge takes the smallest neighbours, which may be the result of another. */
		assert_true(runs == 0 ? b.stats.passes == 0 : b.stats.passes >= 1 + passes_of(b.stats.runs, 3));
	}
	bench_close(&b);
}

/* The output is the same with any number of threads, any memory and any backend. */
static void test_invariance(void **state)
{
	static const uint64_t memories[] = { 4, 7, 8, 9, 33, 128 };
	int pattern;

	(void)state;
	for (pattern = 0; pattern < LINES_PATTERNS; pattern++) {
		uint32_t i;
		bench b;

		bench_open(&b, (uint64_t)pattern, pattern % LINES_ORDERS, 0);
		b.opts.flags = pattern % 3 == 0 ? EM_SORT_UNIQUE : 0;
		b.opts.run_records = 500;
		b.opts.block_bytes = 8192;
		b.opts.fan_in = 4;
		make_inputs(&b, pattern, 12000, 3, 2000);
		for (i = 0; i < 6; i++) {
			const uint32_t threads = 1 + i % 4;

			snprintf(b.what, sizeof(b.what), "pattern %d, %u MiB, %u threads", pattern, (unsigned)memories[i],
				 (unsigned)threads);
			bench_enter_with(&b, backends[i % 3], threads, memories[i] * MIB);
			run_ok(&b, 3);
			assert_true(b.stats.passes >= 4);
		}
		bench_close(&b);
	}
}

/* Text that is several times the memory, with nothing else forced. */
static void test_budgets(void **state)
{
	static const size_t most[] = { 130, 130, 60000, 2000 };
	static const int pattern[] = { LINES_ALIKE, LINES_GARBAGE, LINES_MIXED, LINES_MIXED };
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		uint32_t threads;
		bench b;

		bench_open(&b, (uint64_t)round, round == 3 ? 2 : 0, 0);
		make_inputs(&b, pattern[round], round == 2 ? 20000 : 90000, 2, most[round]);
		for (threads = 1; threads <= 4; threads++) {
			const uint64_t memory = (3 + threads) * MIB;

			snprintf(b.what, sizeof(b.what), "round %d, %u threads", round, (unsigned)threads);
			bench_enter_with(&b, backends[threads % 3], threads, memory);
			run_ok(&b, 2);
			assert_true(b.stats.passes >= 2);
			assert_true(b.stats.peak_memory <= memory);
			assert_true(b.stats.peak_scratch > 0);
		}
		bench_close(&b);
	}
}

/* A header of every size beside that of the first input, which alone has one. */
static void test_header(void **state)
{
	static const uint64_t headers[] = { 0, 1, 2, 19, 20, 21, 100, UINT64_MAX };
	size_t i;
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, round % 3 == 0 ? 4 : 0);
		bench_enter_with(&b, backends[round % 3], 1 + (uint32_t)round % 2, 16 * MIB);
		b.opts.flags = round % 4 == 1 ? EM_SORT_UNIQUE : 0;
		b.opts.run_records = round % 4 < 2 ? 0 : 40;
		for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
			const size_t first = round < 12 ? 20 : 0;
			const uint64_t header = headers[i];
			lines all = { 0 };

			lines_add_pattern(&all, &b.rng, LINES_MIXED, 200, &b.format, 3000);
			b.opts.header = header;
			lines_write(b.in[0], &all, 0, first, &b.format, round % 2);
			lines_write(b.in[1], &all, first, all.n, &b.format, round % 2);
			expect(&b, &all, header < first ? (size_t)header : first);
			lines_free(&all);
			snprintf(b.what, sizeof(b.what), "round %d, header %u", round, (unsigned)header);
			run_ok(&b, 2);
		}
		bench_close(&b);
	}
}

/* The output is one of the inputs, with a mode that stays; or a symbolic link, which is followed. */
static void test_in_place(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 6; round++) {
		struct stat sb;
		char *link;
		bench b;

		bench_open(&b, (uint64_t)round, 2, round % 2);
		bench_enter_with(&b, backends[round % 3], 2, 16 * MIB);
		b.opts.run_records = round < 3 ? 0 : 300;
		b.opts.header = (uint64_t)round % 2;
		make_inputs(&b, LINES_MIXED, 2000, 2, 500);
		assert_int_equal(chmod(b.in[1], 0640), 0);
		link = test_path(b.dir, "link");
		assert_int_equal(symlink("in1", link), 0);
		if (run(&b, 2, round % 2 == 0 ? b.in[1] : link) != EM_OK)
			fail_msg("%s", b.err.text);
		assert_output(&b, b.in[1]);
		assert_int_equal(stat(b.in[1], &sb), 0);
		assert_int_equal(sb.st_mode & 0777, 0640);
		assert_int_equal(lstat(link, &sb), 0);
		assert_true(S_ISLNK(sb.st_mode));
		assert_int_equal(entries(b.dir), 3);
		unlink(link);
		free(link);
		bench_close(&b);
	}
}

typedef struct pipe_end {
	int fd;
	const char *path;       /* opened by the thread when fd < 0 */
	unsigned char *data;
	size_t bytes, room;
} pipe_end;

static void *drain(void *arg)
{
	pipe_end *p = arg;
	ssize_t got;

	if (p->fd < 0)
		p->fd = open(p->path, O_RDONLY);
	while (p->bytes < p->room && (got = read(p->fd, p->data + p->bytes, p->room - p->bytes)) > 0)
		p->bytes += (size_t)got;
	close(p->fd);
	return NULL;
}

static void *feed(void *arg)
{
	pipe_end *p = arg;
	size_t at = 0;
	ssize_t put;

	if (p->fd < 0)
		p->fd = open(p->path, O_WRONLY);
	while (at < p->bytes && (put = write(p->fd, p->data + at, p->bytes - at < 700 ? p->bytes - at : 700)) > 0)
		at += (size_t)put;
	close(p->fd);
	return NULL;
}

/* Let a descriptor be another one for a while. */
static int replace(int fd, int by)
{
	int saved;

	fflush(NULL);
	saved = dup(fd);
	assert_true(saved >= 0);
	assert_true(dup2(by, fd) == fd);
	close(by);
	return saved;
}

static void restore(int fd, int saved)
{
	fflush(NULL);
	assert_true(dup2(saved, fd) == fd);
	close(saved);
}

/* The second input and the output are pipes with names, or standard input and output. */
static void test_pipes(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		const int standard = round % 2;
		pthread_t feeder, drainer;
		pipe_end from, to;
		int fds[2], saved[2] = { -1, -1 };
		em_status st;
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, round % 4 == 3 ? 3 : 0);
		bench_enter_with(&b, "syscall", 1 + (uint32_t)round % 3, 16 * MIB);
		b.opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		b.opts.run_records = round < 8 ? 0 : 111;
		b.opts.header = (uint64_t)round % 3;
		snprintf(b.what, sizeof(b.what), "round %d", round);
		make_inputs(&b, round % LINES_PATTERNS, round < 14 ? 1500 : 0, 3, 3000);
		memset(&from, 0, sizeof(from));
		memset(&to, 0, sizeof(to));
		from.fd = to.fd = -1;
		from.data = sort_read_file(b.in[1], &from.bytes);
		from.path = b.in[1];
		to.room = b.bytes + 1;
		to.data = malloc(to.room);
		to.path = b.out;
		assert_non_null(to.data);
		unlink(b.in[1]);
		if (standard) {
			free(b.in[1]);
			b.in[1] = strdup("-");
			assert_int_equal(pipe(fds), 0);
			from.fd = fds[1];
			saved[0] = replace(STDIN_FILENO, fds[0]);
			assert_int_equal(pipe(fds), 0);
			to.fd = fds[0];
			saved[1] = replace(STDOUT_FILENO, fds[1]);
		} else {
			assert_int_equal(mkfifo(b.in[1], 0600), 0);
			assert_int_equal(mkfifo(b.out, 0600), 0);
		}
		b.busy = 1;
		assert_int_equal(pthread_create(&feeder, NULL, feed, &from), 0);
		assert_int_equal(pthread_create(&drainer, NULL, drain, &to), 0);
		st = run(&b, 3, standard ? "-" : b.out);
		if (standard) {
			restore(STDIN_FILENO, saved[0]);
			restore(STDOUT_FILENO, saved[1]);
		}
		pthread_join(feeder, NULL);
		pthread_join(drainer, NULL);
		if (st != EM_OK)
			fail_msg("%s: %s", b.what, b.err.text);
		assert_right(&b, to.data, to.bytes);
		free(from.data);
		free(to.data);
		bench_close(&b);
	}
}

/* The first field is one byte. */
static void put_long(lines *l, unsigned char fill, size_t bytes)
{
	unsigned char *record = malloc(bytes + 1);

	assert_non_null(record);
	memset(record, fill, bytes);
	if (bytes > 8) {
		record[1] = ' ';
		record[bytes - 1] = (unsigned char)(' ' + l->n % 90);
	}
	lines_add(l, record, bytes);
	free(record);
}

/* Records around the size of a chunk, a block, and as long as they may be: a 32nd of the memory with their key. */
static void test_long(void **state)
{
	static const size_t around[] = { 4096, 8192, 24576, 32768, 65536, 131072, 262144 };
	const size_t most = 8 * MIB / 32;
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		const int keyed = round % 4 == 3;
		lines all = { 0 };
		size_t i;
		bench b;

		bench_open(&b, (uint64_t)round, keyed ? 2 : round % 2, round % 8 == 2 ? 4 : 0);
		bench_enter_with(&b, backends[round % 3], 1 + (uint32_t)round / 2 % 4, 64 * MIB);
		b.opts.memory = 8 * MIB;
		b.opts.block_bytes = round % 2 == 0 ? 0 : 8192;
		b.opts.fan_in = round < 8 ? 0 : 2;
		b.opts.flags = round % 5 == 0 ? EM_SORT_UNIQUE : 0;
		snprintf(b.what, sizeof(b.what), "round %d", round);
		for (i = 0; i < 90; i++) {
			size_t bytes = around[test_below(&b.rng, 7)] + (size_t)test_below(&b.rng, 64) - 32;

			if (bytes > most - 16)
				bytes = most - 16;
			/* The key of the second field is all of the record but a byte, and what ends it. */
			put_long(&all, (unsigned char)('a' + test_below(&b.rng, 3)), keyed ? bytes / 2 - 16 : bytes);
			lines_add_pattern(&all, &b.rng, LINES_MIXED, 20, &b.format, 400);
		}
		write_inputs(&b, &all, 2);
		run_ok(&b, 2);
		assert_true(b.stats.passes >= 2);
		assert_true(b.stats.peak_memory < 64 * MIB);
		bench_close(&b);
	}
}

/* A record that is too long is named by its file and number. */
static void test_too_long(void **state)
{
	const size_t most = 8 * MIB / 32;
	int round;

	(void)state;
	for (round = 0; round < 24; round++) {
		/* In memory, and after runs were formed. */
		const size_t before = round % 3 == 0 ? 0 : round % 3 == 1 ? 300 : 60000, first = before / 3;
		const int keyed = round % 4 == 3;
		char where[512];
		lines all = { 0 };
		bench b;

		bench_open(&b, (uint64_t)round, keyed ? 2 : 0, round % 4 == 2 ? 4 : 0);
		bench_enter_with(&b, "syscall", 1 + (uint32_t)round % 2, 64 * MIB);
		b.opts.memory = 8 * MIB;
		b.opts.header = round < 12 ? 0 : 3;
		lines_add_pattern(&all, &b.rng, LINES_GARBAGE, before, &b.format, 130);
		put_long(&all, 'x', keyed ? most * 3 / 4 : most + 1 + (size_t)test_below(&b.rng, 2 * most));
		lines_add_pattern(&all, &b.rng, LINES_GARBAGE, 20, &b.format, 130);
		lines_write(b.in[0], &all, 0, first, &b.format, 1);
		lines_write(b.in[1], &all, first, all.n, &b.format, 0);
		lines_free(&all);
		sort_write_file(b.out, "as it was", 9);
		if (keyed && run(&b, 2, b.out) == EM_OK)
			fail_msg("round %d: a key was not counted", round);
		assert_int_equal(run(&b, 2, b.out), EM_ERR_FORMAT);
		snprintf(where, sizeof(where), b.format.kind == EM_FORMAT_DELIMITED ? "%s:%u:" : "%s: record %u ", b.in[1],
			 (unsigned)(before - first + 1));
		if (strstr(b.err.text, where) == NULL)
			fail_msg("round %d: \"%s\" does not say \"%s\"", round, b.err.text, where);
		sort_assert_file(b.out, "as it was", 9);
		assert_int_equal(entries(b.dir), 3);
		bench_close(&b);
	}
}

/* The least memory that a failure names is enough, and nearly the least; no more than it is used. */
static void test_least(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 12; round++) {
		em_ctx_opts opts = sort_ctx_opts();
		uint64_t least, used;
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, 0);
		b.opts.flags = round % 2 == 0 ? EM_SORT_UNIQUE : 0;
		b.opts.header = round % 3 == 0 ? 2 : 0;
		b.opts.fan_in = round < 8 ? 0 : 7;
		b.opts.block_bytes = round < 10 ? 0 : 32768;
		make_inputs(&b, LINES_MIXED, round % 4 == 0 ? 100 : 30000, 2, 500);
		opts.threads = 1 + (uint32_t)round / 2 % 2;
		bench_enter(&b, &opts);
		b.opts.memory = 32768;
		assert_int_equal(run(&b, 2, b.out), EM_ERR_MEMLIMIT);
		assert_int_equal(access(b.out, F_OK), -1);
		least = b.err.bytes;
		assert_true(least > 32768 && least < 16 * MIB);
		snprintf(b.what, sizeof(b.what), "round %d, %u bytes", round, (unsigned)least);
		used = em_ctx_memory_used(b.ctx);
		b.opts.memory = least;
		run_ok(&b, 2);
		assert_true(em_ctx_memory_peak(b.ctx) <= used + least);
		b.opts.memory = least - least / 8;
		assert_int_equal(run(&b, 2, b.out), EM_ERR_MEMLIMIT);
		bench_close(&b);
	}
}

/* With less and less memory a sort works until it says that there is too little. */
static void test_any_memory(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 4; round++) {
		uint64_t memory = 24 * MIB;
		em_status st = EM_OK;
		int works = 0;
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, 0);
		b.opts.flags = round == 1 ? EM_SORT_UNIQUE : 0;
		make_inputs(&b, LINES_MIXED, 30000, 1, 300);
		for (; memory > 100000; memory -= memory / 6 + test_below(&b.rng, 5000)) {
			em_ctx_opts opts = sort_ctx_opts();
			em_ctx *ctx;
			em_status now;

			opts.memory = memory;
			opts.threads = 1 + (uint32_t)round % 2;
			if (em_ctx_open(&ctx, &opts) != EM_OK)
				break;
			em_ctx_close(ctx);
			bench_enter(&b, &opts);
			snprintf(b.what, sizeof(b.what), "round %d: %u bytes of memory", round, (unsigned)memory);
			now = run(&b, 1, b.out);
			if (now != EM_OK && now != EM_ERR_MEMLIMIT)
				fail_msg("%s: %s", b.what, b.err.text);
			if (now == EM_OK && st != EM_OK)
				fail_msg("%s do, and more did not", b.what);
			if (now == EM_OK)
				assert_output(&b, b.out);
			works += now == EM_OK;
			st = now;
		}
		assert_true(works >= 7);
		bench_close(&b);
	}
}

/* Nothing but delimiters, more of them than elements fit in the memory. */
static void test_empty_records(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 6; round++) {
		static const int formats[] = { 0, 2, 5 };
		const size_t n = 300000;
		lines all = { 0 };
		size_t i;
		bench b;

		bench_open(&b, (uint64_t)round, round % 2 == 0 ? 0 : 3, formats[round / 2]);
		b.opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		for (i = 0; i < n; i++)
			lines_add(&all, "", 0);
		lines_write(b.in[0], &all, 0, n, &b.format, 0);
		free(b.expected);
		b.records_in = n;
		b.records_out = b.opts.flags != 0 ? 1 : n;
		b.expected = lines_text(&all, 0, b.records_out, &b.format, 0, &b.bytes);
		lines_free(&all);
		bench_enter_with(&b, backends[round % 3], 1 + (uint32_t)round % 2, 5 * MIB);
		snprintf(b.what, sizeof(b.what), "round %d", round);
		run_ok(&b, 1);
		assert_true(b.stats.runs > 1);
		bench_close(&b);
	}
}

/* A backend of which the nth transfer does something else, too. */
typedef struct hook {
	em_backend be;
	const em_backend *inner;
	uint64_t count, nth;
	void (*fn)(struct hook *h);
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
	if (__atomic_add_fetch(&h->count, 1, __ATOMIC_RELAXED) == h->nth)
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
	make_inputs(b, LINES_MIXED, 3000, 2, 500);
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

	assert_true(phase < EM_PHASES);
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
		run_ok(&b, 2);
		transfers = h.count;
		assert_true(transfers > 50);
		sort_write_file(b.out, "as it was", 9);
		memset(&v, 0, sizeof(v));
		v.stop_at = 1;
		b.opts.progress = view;
		b.opts.progress_user = &v;
		h.count = 0;
		h.nth = 1 + test_below(&b.rng, transfers);
		st = run(&b, 2, b.out);
		if (v.stopped)
			assert_int_equal(st, EM_ERR_CANCELED);
		else
			assert_int_equal(st, EM_OK);
		canceled += st == EM_ERR_CANCELED;
		if (st == EM_OK)
			assert_output(&b, b.out);
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
	int k;

	(void)state;
	hook_init(&h, dawdle);
	hook_bench(&b, &h, 0, 1, 0);
	memset(&v, 0, sizeof(v));
	b.opts.progress = view;
	b.opts.progress_user = &v;
	h.nth = 20;
	run_ok(&b, 2);
	assert_true(v.calls > 0);
	assert_int_equal(b.stats.size, sizeof(b.stats));
	assert_true(b.stats.runs >= 15);
	assert_int_equal(b.stats.run_records, 200);
	assert_true(b.stats.passes >= 1 + passes_of(b.stats.runs, 3) && b.stats.passes < b.stats.runs);
	assert_int_equal(b.stats.fan_in, 3);
	assert_int_equal(b.stats.threads, 1);
	assert_int_equal(b.stats.block_bytes, 4096);
	volume = b.bytes;
	for (k = 0; k < EM_PHASES; k++) {
		read += b.stats.phase[k].bytes_read;
		written += b.stats.phase[k].bytes_written;
	}
	/* Some records need not go through the pass in the middle. */
	assert_true(read >= 3 * volume);
	assert_true(written >= 3 * volume);
	assert_true(b.stats.phase[EM_PHASE_RUNS].bytes_read >= volume - 2);
	assert_true(b.stats.phase[EM_PHASE_OUTPUT].bytes_written >= volume);
	assert_true(b.stats.phase[EM_PHASE_OUTPUT].bytes_written <= volume + 4096);
	bench_close(&b);
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
	assert_int_equal(run(&b, 1, b.out), EM_ERR_SHORT);
	assert_non_null(strstr(b.err.text, "in0"));
	assert_int_equal(entries(b.dir), 1);
	bench_close(&b);
}

static void assert_refused(bench *b, em_status expected, unsigned files, const char *what)
{
	sort_write_file(b->out, "as it was", 9);
	assert_int_equal(run(b, files, b->out), expected);
	if (strstr(b->err.text, what) == NULL)
		fail_msg("\"%s\" does not mention \"%s\"", b->err.text, what);
	sort_assert_file(b->out, "as it was", 9);
	unlink(b->out);
}

static void test_bad_formats(void **state)
{
	static const em_format bad[] = {
		{ sizeof(em_format), 2, 0, 0, 0, 0 },
		{ sizeof(em_format), -1, 0, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, 256, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 4, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 0, EM_FORMAT_BIG_ENDIAN, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 0, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 3, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 16, 0, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 4, 2, 0 },
		{ sizeof(em_format), EM_FORMAT_PREFIXED, 0, 4, 0, 1 },
		{ sizeof(em_format) - 1, EM_FORMAT_DELIMITED, '\n', 0, 0, 0 },
		{ 0, EM_FORMAT_DELIMITED, '\n', 0, 0, 0 },
	};
	size_t i;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 1, 16 * MIB);
	make_inputs(&b, LINES_GARBAGE, 50, 1, 200);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b.format = bad[i];
		assert_refused(&b, EM_ERR_INVAL, 1, "");
	}
	bench_close(&b);
}

/* Formats and headers are for records of any length only; other options are looked at, too. */
static void test_bad_options(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0 };
	const char *const inputs[] = { "/dev/null" };
	em_sort_opts opts;
	bench b;

	(void)state;
	bench_open(&b, 0, 0, 0);
	bench_enter_with(&b, "memory", 1, 16 * MIB);
	make_inputs(&b, LINES_GARBAGE, 50, 1, 200);
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
	b.opts.reserved = 1;
	assert_refused(&b, EM_ERR_INVAL, 1, "reserved");
	b.opts.reserved = 0;
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
	make_inputs(&b, LINES_ALIKE, 100, 2, 200);
	unlink(b.in[1]);
	assert_refused(&b, EM_ERR_NOENT, 2, "in1");
	assert_int_equal(b.err.sys_errno, ENOENT);
	assert_int_equal(mkdir(b.in[1], 0700), 0);
	assert_refused(&b, EM_ERR_INVAL, 2, "in1");
	rmdir(b.in[1]);
	/* A prefix that is cut off, one that promises more than there is, and one of which nobody has the memory. */
	sort_write_file(b.in[1], "\1\0\0\0x\2\0\0", 8);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 2");
	sort_write_file(b.in[1], "\1\0\0\0x\0\0\0\0\6\0\0\0abc", 16);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 3");
	sort_write_file(b.in[1], "\xff\xff\xff\xff" "abc", 7);
	assert_refused(&b, EM_ERR_FORMAT, 2, "in1: record 1");
	assert_int_equal(entries(b.dir), 2);
	/* No such directory; a directory; a full disk. */
	sort_write_file(b.in[1], "", 0);
	assert_int_equal(run(&b, 2, "/no/such/directory/out"), EM_ERR_NOENT);
	assert_int_equal(run(&b, 2, b.dir), EM_ERR_INVAL);
	if (access("/dev/full", W_OK) == 0)
		assert_int_equal(run(&b, 2, "/dev/full"), EM_ERR_NOSPACE);
	assert_int_equal(run(&b, 2, "/dev/null"), EM_OK);
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
	make_inputs(&b, LINES_ALIKE, 4000, 1, 200);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	saved = replace(STDOUT_FILENO, fds[1]);
	st = run(&b, 1, "-");
	restore(STDOUT_FILENO, saved);
	assert_int_equal(st, EM_ERR_PIPE);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model), cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_invariance),    cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_header),	      cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_pipes),	      cmocka_unit_test(test_long),
		cmocka_unit_test(test_too_long),      cmocka_unit_test(test_least),
		cmocka_unit_test(test_any_memory),    cmocka_unit_test(test_empty_records),
		cmocka_unit_test(test_cancel),	      cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_shrunk),	      cmocka_unit_test(test_bad_formats),
		cmocka_unit_test(test_bad_options),   cmocka_unit_test(test_bad_inputs),
		cmocka_unit_test(test_closed_pipe),
	};

	return cmocka_run_group_tests_name("sort lines", tests, NULL, NULL);
}
