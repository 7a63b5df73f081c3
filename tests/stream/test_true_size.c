/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_true_size.c -- files that do not say how long they are: those that the system has, and files that pretend.
 *
 * stat() and statvfs() of this program lie about the files of one directory, if they are told to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
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
#include <sys/statvfs.h>
#include <unistd.h>

#include <extmem/sys/element_stream.h>

#include "base/context.h"
#include "stream/records.h"
#include "stream/source_test.h"
#include "stream/true_size.h"

#define LONGEST 70000u

/* What stat() makes of the files in there, and whether their file system has blocks. */
static const char *lie_dir;
static off_t lie_size;
static int lie_stored;

static int lied_about(const char *path)
{
	return lie_dir != NULL && strncmp(path, lie_dir, strlen(lie_dir)) == 0;
}

int stat(const char *restrict path, struct stat *restrict sb)
{
	const int ret = fstatat(AT_FDCWD, path, sb, 0);

	if (ret == 0 && S_ISREG(sb->st_mode) && lied_about(path)) {
		sb->st_size = lie_size;
		sb->st_blocks = 0;
	}
	return ret;
}

int statvfs(const char *restrict path, struct statvfs *restrict fs)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const int ret = fd < 0 ? -1 : fstatvfs(fd, fs);

	if (fd >= 0)
		close(fd);
	if (ret == 0 && lied_about(path) && !lie_stored)
		fs->f_blocks = 0;
	return ret;
}

static void read_source(em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record, const char *want,
			size_t bytes, em_status end)
{
	int ahead;

	for (ahead = 0; ahead < 2; ahead++) {
		reader r;

		assert_int_equal(reader_open(&r, ctx, paths, n, record, 9000 / record, PAGE), EM_OK);
		assert_int_equal(reader_read(&r, want, bytes, ahead), end);
		reader_close(&r);
	}
}

/* Lines, all of them. */
static em_status read_lines(em_ctx *ctx, const char *const *paths, uint32_t n, char *got, size_t *bytes)
{
	emi_records_opts opts;
	emi_records *r;
	em_errinfo err;
	emi_chunk chunk;
	em_status st;

	*bytes = 0;
	memset(&opts, 0, sizeof(opts));
	memset(&err, 0, sizeof(err));
	opts.format.delimiter = '\n';
	opts.chunk_bytes = PAGE;
	opts.chunks = 2;
	opts.longest = LONGEST;
	assert_int_equal(emi_records_open(&r, ctx, paths, n, &opts, NULL, &err), EM_OK);
	while ((st = emi_records_next(r, &chunk, NULL, NULL, &err)) == EM_OK) {
		assert_true(chunk.bytes <= 3 * LONGEST - *bytes);
		memcpy(got + *bytes, chunk.data, chunk.bytes);
		*bytes += chunk.bytes;
		emi_records_release(r, &chunk, 1);
	}
	emi_records_close(r);
	return st;
}

/* A file that pretends stands between two that do not. */
static void test_pretended(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 4095, 4096, 4097, 8192, 70000 };
	static const off_t lies[] = { 0, 4096, 65536 };
	char *dir = test_dir_make(), *other = test_dir_make();
	char *a = test_path(other, "a"), *b = test_path(dir, "b"), *c = test_path(other, "c");
	const char *const paths[] = { a, b, c };
	char *data = malloc(3 * LONGEST), *got = malloc(3 * LONGEST);
	test_rng rng = test_rng_make(test_seed());
	size_t i, k, n, bytes, m;

	(void)state;
	test_fill(&rng, data, 3 * LONGEST);
	for (k = 0; k < 2; k++) {
		em_ctx *ctx = stream_ctx(k == 0 ? EM_DIRECT_OFF : EM_DIRECT_TRY, NULL, NULL, NULL);

		for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (n = 0; n < sizeof(lies) / sizeof(lies[0]); n++) {
				for (m = 0; m < 3 * LONGEST; m += 1 + test_below(&rng, 60))
					data[m] = '\n';
				data[4999] = data[5000 + sizes[i]] = data[6999 + sizes[i]] = '\n';
				if (sizes[i] != 0)
					data[4999 + sizes[i]] = '\n';
				stream_write_file(a, data, 5000);
				stream_write_file(b, data + 5000, sizes[i]);
				stream_write_file(c, data + 5000 + sizes[i], 2000);
				lie_dir = dir;
				lie_size = lies[n];
				lie_stored = lies[n] == 0;
				bytes = 7000 + sizes[i];
				read_source(ctx, paths, 3, 1, data, bytes, EM_OK);
				assert_int_equal(read_lines(ctx, paths, 3, got, &m), EM_END);
				assert_int_equal(m, bytes);
				assert_memory_equal(got, data, bytes);
				lie_dir = NULL;
			}
		em_ctx_close(ctx);
	}
	free(data);
	free(got);
	free(a);
	free(b);
	free(c);
	test_dir_remove(dir);
	test_dir_remove(other);
}

/* It ends within a record: nobody knew before. */
static void test_cut_off(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	const char *paths[1];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	reader r;

	(void)state;
	paths[0] = path;
	stream_write_file(path, "0123456789", 10);
	lie_dir = dir;
	lie_size = 0;
	lie_stored = 0;
	assert_int_equal(reader_open(&r, ctx, paths, 1, 4, 100, PAGE), EM_OK);
	assert_true(emi_source_records(r.s) == UINT64_MAX);
	assert_int_equal(reader_begin(&r, 0), EM_OK);
	assert_int_equal(reader_await(&r, 0), EM_ERR_FORMAT);
	assert_non_null(strstr(r.err.text, path));
	lie_dir = NULL;
	reader_close(&r);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* What is stored has the size that it says: an empty file is known to be empty, and one that is shorter has shrunk. */
static void test_stored(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	const char *paths[1];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	reader r;

	(void)state;
	paths[0] = path;
	stream_write_file(path, "", 0);
	assert_int_equal(reader_open(&r, ctx, paths, 1, 4, 100, PAGE), EM_OK);
	assert_int_equal(emi_source_records(r.s), 0);
	assert_int_equal(ctx->fds_used, r.fds_before);
	reader_close(&r);

	/* All of it is a hole. */
	assert_int_equal(truncate(path, 40000), 0);
	assert_int_equal(reader_open(&r, ctx, paths, 1, 4, 100, PAGE), EM_OK);
	assert_int_equal(emi_source_records(r.s), 10000);
	reader_close(&r);

	stream_write_file(path, "0123456789", 10);
	lie_dir = dir;
	lie_size = 12;
	lie_stored = 1;
	read_source(ctx, paths, 1, 4, "01234567", 8, EM_ERR_SHORT);
	lie_dir = NULL;
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* All that read() gives; -1 when the file is not there. */
static ssize_t read_plainly(const char *path, char *got, size_t most)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, all = 0;

	if (fd < 0)
		return -1;
	while ((n = read(fd, got + all, most - (size_t)all)) > 0)
		all += n;
	close(fd);
	return n < 0 ? -1 : all;
}

/* Those of this machine; they also come as standard input. */
static void test_of_the_system(void **state)
{
	static const char *const files[] = { "/proc/filesystems", "/proc/version",
					     "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/uevent_seqnum",
					     "/sys/devices/system/cpu/online" };
	char *want = malloc(LONGEST), *got = malloc(3 * LONGEST);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	size_t i, bytes, seen = 0;

	(void)state;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const ssize_t n = read_plainly(files[i], want, LONGEST);
		const char *stdin_path[] = { "-" };
		int fd, saved;

		if (n < 0)
			continue;
		seen++;
		read_source(ctx, &files[i], 1, 1, want, (size_t)n, EM_OK);
		assert_int_equal(read_lines(ctx, &files[i], 1, got, &bytes), EM_END);
		assert_int_equal(bytes, n);
		assert_memory_equal(got, want, bytes);

		fd = open(files[i], O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		saved = stream_replace_fd(STDIN_FILENO, fd);
		close(fd);
		assert_int_equal(read_lines(ctx, stdin_path, 1, got, &bytes), EM_END);
		stream_restore_fd(STDIN_FILENO, saved);
		assert_int_equal(bytes, n);
		assert_memory_equal(got, want, bytes);
	}
	em_ctx_close(ctx);
	free(want);
	free(got);
	if (seen == 0)
		skip();
}

/* Looking takes nothing from the file, and does not move its offset. */
static void test_looking(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "in");
	int fd, pipes[2];
	struct stat sb;

	(void)state;
	stream_write_file(path, "ab", 2);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(emi_reads_nothing(fd), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(lseek(fd, 2, SEEK_SET), 2);
	assert_int_equal(emi_reads_nothing(fd), 1);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_int_equal(emi_size_stored(NULL, fd, &sb), 1);
	close(fd);

	/* What has no offset cannot be looked at. */
	assert_int_equal(pipe(pipes), 0);
	close(pipes[1]);
	assert_int_equal(emi_reads_nothing(pipes[0]), 0);
	close(pipes[0]);
	free(path);
	test_dir_remove(dir);
}

/* Streams of elements say how many there are, so they cannot be of such a file. */
static void test_elements(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_element_opts opts = EM_ELEMENT_OPTS_INIT;
	em_element_reader *r;
	em_errinfo err;
	uint32_t kind;

	(void)state;
	if (access("/proc/version", R_OK) != 0) {
		em_ctx_close(ctx);
		skip();
	}
	for (kind = EM_ELEMENT_SIMPLE; kind <= EM_ELEMENT_MAPPING; kind++) {
		opts.kind = kind;
		opts.element_bytes = 1;
		opts.errinfo = &err;
		assert_int_equal(em_element_reader_open(&r, ctx, "/proc/version", &opts), EM_ERR_INVAL);
		assert_non_null(strstr(err.text, "/proc/version"));
		assert_non_null(strstr(err.text, "size"));
	}
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pretended),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_stored),
		cmocka_unit_test(test_of_the_system),
		cmocka_unit_test(test_looking),
		cmocka_unit_test(test_elements),
	};

	return cmocka_run_group_tests_name("true_size", tests, NULL, NULL);
}
