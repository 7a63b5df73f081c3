/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sort_lines.c -- files of records of any length to a file: what is in it, whatever the records, the format, the
 * order, the memory and the options.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/packer.h"
#include "sort/lines_bench.h"

static const char *const backends[] = { "memory", "syscall", "libaio", "io_uring", "stdio", "mmap" };

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
	b.opts.compress = (uint32_t)test_below(&b.rng, emi_packer_supported() ? 3 : 2);
	backend = backends[test_below(&b.rng, 6)];
	threads = 1 + (uint32_t)test_below(&b.rng, 4);
	memory = (uint64_t)(8 << test_below(&b.rng, 4)) * MIB;
	/* Packing that is asked for takes memory in any case, and the least may then be more than this. */
	if (b.opts.compress == EM_COMPRESS_ALWAYS && memory < 16 * MIB)
		memory = 16 * MIB;
	bench_make_inputs(&b, pattern, n, files, 5000);
	snprintf(b.what, sizeof(b.what),
		 "case %u: %u records of pattern %d, order %d, format %d, unique %d, header %u, runs of %u, blocks of "
		 "%u, fan-in %u, "
		 "compress %u, %u threads, %s, %u MiB",
		 (unsigned)i, (unsigned)n, pattern, b.which, (int)(i % LINES_FORMATS), b.opts.flags == EM_SORT_UNIQUE,
		 (unsigned)b.opts.header, (unsigned)b.opts.run_records, (unsigned)b.opts.block_bytes,
		 (unsigned)b.opts.fan_in, (unsigned)b.opts.compress, (unsigned)threads, backend,
		 (unsigned)(memory / MIB));
	bench_enter_with(&b, backend, threads, memory);
	bench_run_ok(&b, files);
	assert_int_equal(b.stats.threads, threads);
	assert_true(b.stats.fan_in <= (b.opts.fan_in != 0 ? b.opts.fan_in : 8192));
	assert_true(b.opts.block_bytes == 0 || b.stats.block_bytes == b.opts.block_bytes);
	assert_true(b.stats.runs == 0 ? b.stats.passes == 0
				      : b.stats.passes >= 1 + passes_of(b.stats.runs, b.stats.fan_in));
	if (b.opts.run_records == 0) {
		/* What is far smaller than the memory is never written as runs. */
		if (b.stats.runs != 0 && input_bytes(&b, files) <= memory / 64)
			fail_msg("%s: %u runs of %u bytes", b.what, (unsigned)b.stats.runs,
				 (unsigned)input_bytes(&b, files));
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
	for (i = 0; i < (TEST_TSAN ? 80 : 240); i += test_step())
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
		bench_make_inputs(&b, LINES_GARBAGE, sizes[i], 1, 200);
		bench_run_ok(&b, 1);
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
		bench_make_inputs(&b, pattern, 12000, 3, 2000);
		for (i = 0; i < 6; i++) {
			const uint32_t threads = 1 + i % 4;

			snprintf(b.what, sizeof(b.what), "pattern %d, %u MiB, %u threads", pattern,
				 (unsigned)memories[i], (unsigned)threads);
			bench_enter_with(&b, backends[i % 6], threads, memories[i] * MIB);
			bench_run_ok(&b, 3);
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
		bench_make_inputs(&b, pattern[round], round == 2 ? 20000 : 90000, 2, most[round]);
		for (threads = TEST_TSAN ? 2 : 1; threads <= 4; threads += TEST_TSAN ? 2 : 1) {
			const uint64_t memory = (3 + threads) * MIB;

			if (test_left_out())
				continue;
			snprintf(b.what, sizeof(b.what), "round %d, %u threads", round, (unsigned)threads);
			bench_enter_with(&b, backends[threads % 6], threads, memory);
			bench_run_ok(&b, 2);
			assert_true(b.stats.passes >= 2);
			assert_true(b.stats.peak_memory <= memory);
			assert_true(b.stats.peak_scratch > 0);
		}
		bench_close(&b);
	}
}

/* A header of every size beside that of the inputs, of which the first may be empty. */
static void test_header(void **state)
{
	static const uint64_t headers[] = { 0, 1, 2, 19, 20, 21, 100, UINT64_MAX };
	size_t i;
	int round;

	(void)state;
	for (round = 0; round < 16; round++) {
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, round % 3 == 0 ? 4 : 0);
		bench_enter_with(&b, backends[round % 6], 1 + (uint32_t)round % 2, 16 * MIB);
		b.opts.flags = round % 4 == 1 ? EM_SORT_UNIQUE : 0;
		b.opts.run_records = round % 4 < 2 ? 0 : 40;
		for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
			const size_t first = round < 12 ? 20 : 0;
			const uint64_t header = headers[i];
			lines all = { 0 }, sorted = { 0 };
			size_t records = 0;

			lines_add_pattern(&all, &b.rng, LINES_MIXED, 200, &b.format, 3000);
			b.opts.header = header;
			lines_write(b.in[0], &all, 0, first, &b.format, round % 2);
			lines_write(b.in[1], &all, first, all.n, &b.format, round % 2);
			lines_add_file(&sorted, &records, &all, 0, first, header);
			lines_add_file(&sorted, &records, &all, first, all.n, header);
			bench_expect(&b, &sorted, records);
			lines_free(&sorted);
			lines_free(&all);
			snprintf(b.what, sizeof(b.what), "round %d, header %u", round, (unsigned)header);
			bench_run_ok(&b, 2);
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
		bench_enter_with(&b, backends[round % 6], 2, 16 * MIB);
		b.opts.run_records = round < 3 ? 0 : 300;
		b.opts.header = (uint64_t)round % 2;
		bench_make_inputs(&b, LINES_MIXED, 2000, 2, 500);
		assert_int_equal(chmod(b.in[1], 0640), 0);
		link = test_path(b.dir, "link");
		assert_int_equal(symlink("in1", link), 0);
		if (bench_run(&b, 2, round % 2 == 0 ? b.in[1] : link) != EM_OK)
			fail_msg("%s", b.err.text);
		bench_assert_output(&b, b.in[1]);
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

		if (test_left_out())
			continue;
		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, round % 4 == 3 ? 3 : 0);
		bench_enter_with(&b, "syscall", 1 + (uint32_t)round % 3, 16 * MIB);
		b.opts.flags = round % 3 == 0 ? EM_SORT_UNIQUE : 0;
		b.opts.run_records = round < 8 ? 0 : 111;
		b.opts.header = (uint64_t)round % 3;
		snprintf(b.what, sizeof(b.what), "round %d", round);
		bench_make_inputs(&b, round % LINES_PATTERNS, round < 14 ? 1500 : 0, 3, 3000);
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
			saved[0] = replace_fd(STDIN_FILENO, fds[0]);
			assert_int_equal(pipe(fds), 0);
			to.fd = fds[0];
			saved[1] = replace_fd(STDOUT_FILENO, fds[1]);
		} else {
			assert_int_equal(mkfifo(b.in[1], 0600), 0);
			assert_int_equal(mkfifo(b.out, 0600), 0);
		}
		b.busy = 1;
		assert_int_equal(pthread_create(&feeder, NULL, pipe_feed, &from), 0);
		assert_int_equal(pthread_create(&drainer, NULL, pipe_drain, &to), 0);
		st = bench_run(&b, 3, standard ? "-" : b.out);
		if (standard) {
			restore_fd(STDIN_FILENO, saved[0]);
			restore_fd(STDOUT_FILENO, saved[1]);
		}
		pthread_join(feeder, NULL);
		pthread_join(drainer, NULL);
		if (st != EM_OK)
			fail_msg("%s: %s", b.what, b.err.text);
		bench_assert_right(&b, to.data, to.bytes);
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
	for (round = 0; round < 16; round += TEST_TSAN ? 3 : 1) {
		const int keyed = round % 4 == 3;
		lines all = { 0 };
		size_t i;
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, (uint64_t)round, keyed ? 2 : round % 2, round % 8 == 2 ? 4 : 0);
		bench_enter_with(&b, backends[round % 6], 1 + (uint32_t)round / 2 % 4, 64 * MIB);
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
		bench_write_inputs(&b, &all, 2);
		bench_run_ok(&b, 2);
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
		uint64_t number;
		lines all = { 0 };
		bench b;

		if (test_left_out())
			continue;
		bench_open(&b, (uint64_t)round, keyed ? 2 : 0, round % 4 == 2 ? 4 : round % 8 < 4 ? 0 : 10);
		bench_enter_with(&b, "syscall", 1 + (uint32_t)round % 2, 64 * MIB);
		b.opts.memory = 8 * MIB;
		b.opts.header = round < 12 || before == 0 ? 0 : 3;
		lines_add_pattern(&all, &b.rng, LINES_GARBAGE, before, &b.format, 130);
		put_long(&all, 'x', 4 * most + (size_t)test_below(&b.rng, 2 * most));
		lines_add_pattern(&all, &b.rng, LINES_GARBAGE, 20, &b.format, 130);
		lines_write(b.in[0], &all, 0, first, &b.format, 1);
		lines_write(b.in[1], &all, first, all.n, &b.format, 0);
		number = lines_number(&all, first, before, &b.format);
		snprintf(where, sizeof(where),
			 b.format.kind == EM_FORMAT_PREFIXED ? "%s: record %u " : "%s:%u:", b.in[1], (unsigned)number);
		lines_free(&all);
		sort_write_file(b.out, "as it was", 9);
		assert_int_equal(bench_run(&b, 2, b.out), EM_ERR_FORMAT);
		if (strstr(b.err.text, where) == NULL)
			fail_msg("round %d: \"%s\" does not say \"%s\"", round, b.err.text, where);
		assert_int_equal(b.err.record, number);
		assert_string_equal(b.err.path, b.in[1]);
		sort_assert_file(b.out, "as it was", 9);
		assert_int_equal(entries(b.dir), 3);
		/* What is said to do does. */
		assert_true(b.err.bytes > 8 * MIB && b.err.bytes < 64 * MIB);
		b.opts.memory = b.err.bytes;
		if (bench_run(&b, 2, b.out) != EM_OK)
			fail_msg("round %d: %llu bytes do not do: %s", round, (unsigned long long)b.opts.memory,
				 b.err.text);
		bench_close(&b);
	}
}

/* The least memory that a failure names is enough, and nearly the least; no more than it is used. */
static void test_least(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 12; round += TEST_TSAN ? 5 : 1) {
		em_ctx_opts opts = sort_ctx_opts();
		uint64_t least, used;
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, 0);
		b.opts.flags = round % 2 == 0 ? EM_SORT_UNIQUE : 0;
		b.opts.header = round % 3 == 0 ? 2 : 0;
		b.opts.fan_in = round < 8 ? 0 : 7;
		b.opts.block_bytes = round < 10 ? 0 : 32768;
		bench_make_inputs(&b, LINES_MIXED, round % 4 == 0 ? 100 : 30000, 2, 500);
		opts.threads = 1 + (uint32_t)round / 2 % 2;
		bench_enter(&b, &opts);
		b.opts.memory = 32768;
		assert_int_equal(bench_run(&b, 2, b.out), EM_ERR_MEMLIMIT);
		assert_int_equal(access(b.out, F_OK), -1);
		least = b.err.bytes;
		assert_true(least > 32768 && least < 16 * MIB);
		snprintf(b.what, sizeof(b.what), "round %d, %u bytes", round, (unsigned)least);
		used = em_ctx_memory_used(b.ctx);
		b.opts.memory = least;
		bench_run_ok(&b, 2);
		assert_true(em_ctx_memory_peak(b.ctx) <= used + least);
		b.opts.memory = least - least / 8;
		if (bench_run(&b, 2, b.out) == EM_OK)
			fail_msg("%s less does", b.what);
		assert_int_equal(bench_run(&b, 2, b.out), EM_ERR_MEMLIMIT);
		bench_close(&b);
	}
}

/* With less and less memory a sort works until it says that there is too little. */
static void test_any_memory(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 4; round += TEST_TSAN ? 3 : 1) {
		uint64_t memory = 24 * MIB;
		em_status st = EM_OK;
		int works = 0;
		bench b;

		bench_open(&b, (uint64_t)round, round % LINES_ORDERS, 0);
		b.opts.flags = round == 1 ? EM_SORT_UNIQUE : 0;
		bench_make_inputs(&b, LINES_MIXED, 30000, 1, 300);
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
			now = bench_run(&b, 1, b.out);
			if (now != EM_OK && now != EM_ERR_MEMLIMIT)
				fail_msg("%s: %s", b.what, b.err.text);
			if (now == EM_OK && st != EM_OK)
				fail_msg("%s do, and more did not", b.what);
			if (now == EM_OK)
				bench_assert_output(&b, b.out);
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
		bench_enter_with(&b, backends[round % 6], 1 + (uint32_t)round % 2, 5 * MIB);
		snprintf(b.what, sizeof(b.what), "round %d", round);
		bench_run_ok(&b, 1);
		assert_true(b.stats.runs > 1);
		bench_close(&b);
	}
}

/* Runs of lines that have much in common are compressed if that is asked for, and not if it is not wanted.  When nobody
 * says, it depends on the disk; test_behind() of test_sort_lines_life.c has one that is slow. */
static void test_compress(void **state)
{
	static const struct {
		int pattern;
		uint32_t compress;
	} cases[] = {
		{ LINES_EQUAL, EM_COMPRESS_AUTO },   { LINES_ALIKE, EM_COMPRESS_AUTO },
		{ LINES_EQUAL, EM_COMPRESS_NEVER },  { LINES_ALIKE, EM_COMPRESS_NEVER },
		{ LINES_EQUAL, EM_COMPRESS_ALWAYS }, { LINES_ALIKE, EM_COMPRESS_ALWAYS },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int may = cases[i].compress != EM_COMPRESS_NEVER && emi_packer_supported();
		const int must = cases[i].compress == EM_COMPRESS_ALWAYS;
		bench b;

		bench_open(&b, i, 0, 0);
		b.opts.run_records = 1000;
		b.opts.block_bytes = 65536;
		b.opts.fan_in = 2;
		b.opts.compress = cases[i].compress;
		snprintf(b.what, sizeof(b.what), "pattern %d, compress %u", cases[i].pattern,
			 (unsigned)cases[i].compress);
		bench_make_inputs(&b, cases[i].pattern, 5000, 1, 300);
		bench_enter_with(&b, "memory", 2, 64 * MIB);
		if (must && !may) {
			assert_int_equal(bench_run(&b, 1, b.out), EM_ERR_NOTSUP);
			assert_non_null(strstr(b.err.text, "LZ4"));
		} else {
			bench_run_ok(&b, 1);
			assert_true(may || b.stats.packed_from == 0);
			assert_true(!must || b.stats.packed_from != 0);
			assert_true(b.stats.packed_to <= b.stats.packed_from / (must ? 1 : 2));
		}
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_invariance),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_least),
		cmocka_unit_test(test_any_memory),
		cmocka_unit_test(test_empty_records),
		cmocka_unit_test(test_compress),
	};

	return cmocka_run_group_tests_name("sort_lines", tests, NULL, NULL);
}
