/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_records_files.c -- readers of records and where these come from: many files, FIFOs, standard input, files that
 * change meanwhile, and waiting for them.
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
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "stream/records_model.h"

/* What was there when the reader was opened counts. */
static void test_changed_files(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	int k;

	(void)state;
	for (k = 0; k < 2; k++) {
		em_ctx *ctx = stream_ctx(directs[k], NULL, NULL, NULL);
		size_t length[1000], i, bytes;
		consumer c;
		model m;
		FILE *f;

		for (i = 0; i < 1000; i++)
			length[i] = (size_t)test_below(&rng, 40);
		model_init(&m, lines_by('\n'), 100);
		model_add(&m, dir, make_records(&rng, &m.format, length, 1000, &bytes), 0);
		m.bytes[0] = --bytes;
		stream_write_file(m.path[0], m.data[0], bytes);
		model_judge(&m);

		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		f = fopen(m.path[0], "ab");
		assert_non_null(f);
		assert_true(fputs("more\nand more\n", f) >= 0);
		fclose(f);
		assert_int_equal(consumer_run(&c), EM_END);
		consumer_close(&c);

		stream_write_file(m.path[0], m.data[0], bytes);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(truncate(m.path[0], 10000), 0);
		assert_int_equal(consumer_run(&c), EM_ERR_SHORT);
		assert_true(c.err.offset == 10000);
		assert_string_equal(c.err.path, m.path[0]);
		assert_true(c.at >= PAGE);
		consumer_close(&c);

		/* It goes away while the one before it is being read: that one still comes. */
		stream_write_file(m.path[0], m.data[0], bytes);
		model_add(&m, dir, calloc(1, 5), 5);
		memcpy(m.data[1], "line\n", 5);
		stream_write_file(m.path[1], m.data[1], 5);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(unlink(m.path[1]), 0);
		assert_int_equal(consumer_run(&c), EM_ERR_NOENT);
		assert_int_equal(c.file, 0);
		assert_int_equal(c.at, whole_bytes(&m, 0));
		assert_string_equal(c.err.path, m.path[1]);
		consumer_close(&c);

		/* So does a FIFO. */
		assert_int_equal(mkfifo(m.path[1], 0600), 0);
		assert_int_equal(consumer_open(&c, ctx, &m, PAGE, 2, 1, &rng), EM_OK);
		assert_int_equal(unlink(m.path[1]), 0);
		assert_int_equal(consumer_run(&c), EM_ERR_NOENT);
		assert_int_equal(c.at, whole_bytes(&m, 0));
		assert_string_equal(c.err.path, m.path[1]);
		consumer_close(&c);
		model_free(&m);
		em_ctx_close(ctx);
	}
	test_dir_remove(dir);
}

/* Many small files; descriptors are few. */
static void test_many_files(void **state)
{
	char *dir = test_dir_make(), **path;
	const uint32_t n = 600;
	em_ctx *ctx[6];
	int k;
	uint32_t i;

	(void)state;
	path = calloc(n, sizeof(*path));
	for (i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "m%" PRIu32, i);
		path[i] = test_path(dir, name);
		stream_write_file(path[i], name, i % 7 == 0 ? 0 : strlen(name));
	}
	open_contexts(ctx);
	for (k = 0; k < 6; k++) {
		const uint32_t before = ctx[k] != NULL ? ctx[k]->fds_used : 0;
		emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 4, 0, 10, 0, { 0, 0 } };
		uint32_t next = 0;
		emi_records *r;
		emi_chunk chunk;
		em_status st;

		if (ctx[k] == NULL)
			continue;
		/* One is enough. */
		ctx[k]->fds = k >= 2 ? before + 1 : before + 3;
		assert_int_equal(emi_records_open(&r, ctx[k], (const char *const *)path, n, &opts, NULL, NULL), EM_OK);
		while ((st = emi_records_next(r, &chunk, NULL, NULL, NULL)) == EM_OK) {
			char want[32];

			assert_true(ctx[k]->fds_used - before <= 2);
			next += next % 7 == 0;
			assert_int_equal(chunk.file, next);
			snprintf(want, sizeof(want), "m%" PRIu32 "\n", next);
			assert_int_equal(chunk.bytes, strlen(want));
			assert_memory_equal(chunk.data, want, strlen(want));
			emi_records_release(r, &chunk, 1);
			next++;
		}
		assert_int_equal(st, EM_END);
		assert_int_equal(next, n);
		emi_records_close(r);
		assert_int_equal(ctx[k]->fds_used, before);
	}
	close_contexts(ctx);
	for (i = 0; i < n; i++)
		free(path[i]);
	free(path);
	test_dir_remove(dir);
}

/* Two FIFOs and a file between them. */
static void test_fifos(void **state)
{
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int k;

	(void)state;
	for (k = 0; k < 2; k++) {
		stream_feeder feeder[3];
		pthread_t thread[3];
		size_t length[300], i, bytes;
		consumer c;
		model m;
		int j;

		model_init(&m, k == 0 ? lines_by('\n') : prefixed(2, 0), 20000);
		for (j = 0; j < 3; j++) {
			for (i = 0; i < 300; i++)
				length[i] = (size_t)test_below(&rng, i % 50 == 0 ? 20001 : 100);
			model_add(&m, dir, make_records(&rng, &m.format, length, 300, &bytes), 0);
			m.bytes[j] = bytes - (k == 0 && j == 0);
			if (j == 1) {
				stream_write_file(m.path[j], m.data[j], m.bytes[j]);
				continue;
			}
			assert_int_equal(unlink(m.path[j]), 0);
			assert_int_equal(mkfifo(m.path[j], 0600), 0);
			memset(&feeder[j], 0, sizeof(feeder[j]));
			feeder[j].fd = -1;
			feeder[j].path = m.path[j];
			feeder[j].data = (const char *)m.data[j];
			feeder[j].bytes = m.bytes[j];
			feeder[j].chunk = 5000;
			feeder[j].pause_us = 100;
			assert_int_equal(pthread_create(&thread[j], NULL, stream_feed, &feeder[j]), 0);
		}
		model_judge(&m);
		assert_int_equal(m.bad_file, 3);
		assert_int_equal(consumer_open(&c, ctx, &m, 2 * PAGE, 3, 2, &rng), EM_OK);
		assert_true(emi_records_bytes(c.r) == UINT64_MAX);
		consumer_check_outcome(&c, consumer_run(&c));
		assert_true(c.joined > 0);
		assert_true(c.stats.bytes_read >= m.bytes[0] + m.bytes[1] + m.bytes[2]);
		consumer_close(&c);
		pthread_join(thread[0], NULL);
		pthread_join(thread[2], NULL);
		assert_int_equal(unlink(m.path[0]), 0);
		assert_int_equal(unlink(m.path[2]), 0);
		model_free(&m);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Read records of one size: whole ones, and all of them.  Returns how that ended. */
static em_status read_fixed(em_ctx *ctx, const model *m, size_t record_bytes, size_t chunk_bytes, em_errinfo *err)
{
	emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 0, 0, { 0, 0 } };
	const uint64_t before = em_ctx_memory_used(ctx);
	uint32_t file = 0;
	emi_records *r;
	emi_chunk chunk;
	size_t at = 0;
	em_status st;

	opts.record_bytes = record_bytes;
	opts.chunk_bytes = chunk_bytes;
	memset(err, 0, sizeof(*err));
	st = emi_records_open(&r, ctx, (const char *const *)m->path, m->n, &opts, NULL, err);
	if (st != EM_OK)
		return st;
	for (;;) {
		st = emi_records_next(r, &chunk, NULL, NULL, err);
		assert_true(em_ctx_memory_used(ctx) - before <=
			    emi_records_memory(&opts) + 2 * emi_file_memory(ctx) + m->n * (sizeof(emi_input) + 300));
		if (st != EM_OK)
			break;
		for (; at == m->bytes[file]; at = 0)
			file++;
		assert_int_equal(chunk.file, file);
		assert_int_equal(chunk.offset, at);
		assert_true(chunk.bytes != 0);
		assert_int_equal(chunk.bytes % record_bytes, 0);
		assert_memory_equal(chunk.data, m->data[file] + at, chunk.bytes);
		/* As in an array that is aligned, so that a caller's function may look at members. */
		assert_true(record_bytes % 8 != 0 || (uintptr_t)chunk.data % 8 == 0);
		at += chunk.bytes;
		emi_records_release(r, &chunk, chunk.bytes / record_bytes);
	}
	emi_records_close(r);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	for (; st == EM_END && file < m->n && at == m->bytes[file]; at = 0)
		file++;
	assert_true(st != EM_END || file == m->n);
	return st;
}

static void test_one_size(void **state)
{
	static const size_t sizes[] = { 1, 3, 8, 16, 100, 512, 513, 4096, 5000, 8192, 20000, 30008 };
	char *dir = test_dir_make();
	test_rng rng = test_rng_make(test_seed());
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t k;

	(void)state;
	for (k = 0; k < 5 * (sizeof(sizes) / sizeof(sizes[0])); k++) {
		const size_t size = sizes[k / 5], more = k % 5 == 1 ? (size_t)test_below(&rng, size) : 0;
		stream_feeder feeder;
		pthread_t thread;
		char number[32];
		em_errinfo err;
		em_status st;
		model m;
		uint64_t n[3];
		int j;

		model_init(&m, lines_by('\n'), 0);
		for (j = 0; j < 3; j++) {
			unsigned char *data;
			size_t bytes;

			n[j] = test_below(&rng, 4) == 0 ? 0 : test_below(&rng, 60000 / size + 3);
			bytes = (size_t)n[j] * size + (j == 1 ? more : 0);
			data = malloc(bytes + 1);
			assert_non_null(data);
			test_fill(&rng, data, bytes);
			model_add(&m, dir, data, bytes);
		}
		if (more != 0) {
			/* A file that has a part of a record is refused at once. */
			assert_int_equal(read_fixed(ctx, &m, size, PAGE, &err), EM_ERR_FORMAT);
			assert_non_null(strstr(err.text, m.path[1]));
		}
		if (k % 5 < 3) {
			assert_int_equal(unlink(m.path[1]), 0);
			assert_int_equal(mkfifo(m.path[1], 0600), 0);
			memset(&feeder, 0, sizeof(feeder));
			feeder.fd = -1;
			feeder.path = m.path[1];
			feeder.data = (const char *)m.data[1];
			feeder.bytes = m.bytes[1];
			feeder.chunk = 5000;
			assert_int_equal(pthread_create(&thread, NULL, stream_feed, &feeder), 0);
		}
		st = read_fixed(ctx, &m, size, (1 + k % 3) * PAGE, &err);
		if (k % 5 < 3)
			pthread_join(thread, NULL);
		if (more != 0) {
			assert_int_equal(st, EM_ERR_FORMAT);
			snprintf(number, sizeof(number), "record %u is cut off", (unsigned)n[1] + 1);
			assert_non_null(strstr(err.text, number));
		} else {
			assert_int_equal(st, EM_END);
		}
		for (j = 0; j < 3; j++)
			unlink(m.path[j]);
		model_free(&m);
	}
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

/* Nothing comes from this pipe: the ticker ends the wait, and the wait can be taken up again. */
static void test_tick(void **state)
{
	static const char *const paths[] = { "-" };
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 10, 0, { 0, 0 } };
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fds[2], saved;
	ticks t = { 0, 2 };
	emi_records *r;
	emi_chunk chunk;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	saved = stream_replace_fd(STDIN_FILENO, fds[0]);
	close(fds[0]);
	assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
	assert_int_equal(write(fds[1], "abc\nd", 5), 5);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_ERR_CANCELED);
	assert_int_equal(t.calls, 2);
	assert_int_equal(write(fds[1], "ef", 2), 2);
	close(fds[1]);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_OK);
	assert_int_equal(chunk.bytes, 8);
	assert_memory_equal(chunk.data, "abc\ndef\n", 8);
	emi_records_release(r, &chunk, 2);
	assert_int_equal(emi_records_next(r, &chunk, tick, &t, NULL), EM_END);
	emi_records_close(r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
}

/* A redirected file is read from where its descriptor stands, once, and up to the end it had. */
static void test_stdin_file(void **state)
{
	static const char *const paths[] = { "-", "-" };
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, 10, 0, { 0, 0 } };
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_records *r;
	emi_chunk chunk;
	em_errinfo err;
	int fd, saved;

	(void)state;
	stream_write_file(path, "head\nbody\nfoot", 14);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	saved = stream_replace_fd(STDIN_FILENO, fd);
	close(fd);
	assert_true(lseek(STDIN_FILENO, 5, SEEK_SET) == 5);
	assert_int_equal(emi_records_open(&r, ctx, paths, 2, &opts, NULL, NULL), EM_OK);
	assert_int_equal(emi_records_bytes(r), 9);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_OK);
	assert_int_equal(chunk.bytes, 10);
	assert_memory_equal(chunk.data, "body\nfoot\n", 10);
	emi_records_release(r, &chunk, 2);
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
	emi_records_close(r);

	assert_true(lseek(STDIN_FILENO, 5, SEEK_SET) == 5);
	assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
	assert_int_equal(truncate(path, 12), 0);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, &err), EM_ERR_SHORT);
	assert_true(err.offset == 7);
	emi_records_close(r);
	stream_restore_fd(STDIN_FILENO, saved);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* A read ends a while after somebody was asked whether to wait for it. */
static int asked;               /* atomic */

static em_status ask(void *arg)
{
	__atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
	return tick(arg);
}

static int64_t slow_read(void *handle, void *buf, size_t bytes, uint64_t offset)
{
	while (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(50000);
	return em_backend_find("syscall")->read(handle, buf, bytes, offset);
}

/* A disk that takes its time: the ticker ends the wait for it, and the wait can be taken up again. */
static void test_tick_on_file(void **state)
{
	const emi_records_opts opts = { EM_FORMAT_INIT, PAGE, 2, 0, PAGE, 0, { 0, 0 } };
	char *dir = test_dir_make(), *path = test_path(dir, "in"), line[PAGE / 2];
	const char *const paths[] = { path };
	em_backend slow = *em_backend_find("syscall");
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_status st;
	ticks t = { 0, 1 };
	emi_records *r;
	emi_chunk chunk;
	em_ctx *ctx;
	int left_open;

	(void)state;
	slow.read = slow_read;
	slow.submit = NULL;
	slow.reap = NULL;
	ctx_opts.custom = &slow;
	assert_int_equal(em_ctx_open(&ctx, &ctx_opts), EM_OK);
	memset(line, 'l', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	stream_write_file(path, line, sizeof(line));
	/* The second time it is closed while the read is under way. */
	for (left_open = 0; left_open < 2; left_open++) {
		t.calls = 0;
		__atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
		assert_int_equal(emi_records_open(&r, ctx, paths, 1, &opts, NULL, NULL), EM_OK);
		assert_int_equal(emi_records_next(r, &chunk, ask, &t, NULL), EM_ERR_CANCELED);
		assert_int_equal(t.calls, 1);
		if (!left_open) {
			while ((st = emi_records_next(r, &chunk, ask, &t, NULL)) == EM_ERR_CANCELED)
				;
			assert_int_equal(st, EM_OK);
			assert_int_equal(chunk.bytes, sizeof(line));
			emi_records_release(r, &chunk, 1);
			assert_int_equal(emi_records_next(r, &chunk, NULL, NULL, NULL), EM_END);
		}
		emi_records_close(r);
	}
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changed_files),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_fifos),
		cmocka_unit_test(test_one_size),
		cmocka_unit_test(test_tick),
		cmocka_unit_test(test_tick_on_file),
		cmocka_unit_test(test_stdin_file),
	};

	/* A reader that failed leaves pipes whose writers are not done. */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("records_files", tests, NULL, NULL);
}
