/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sink.c -- outputs: their bytes, their names, and that nothing is left of those that were given up.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/backend.h>

#include "stream/sink_test.h"
#include "stream/source.h"

static mode_t mode_of(const char *path)
{
	struct stat sb;

	assert_int_equal(stat(path, &sb), 0);
	return sb.st_mode & 07777;
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537, 100000 };
	static const size_t chunks[] = { 1000, 4095, 4096, 4097, 20000 };
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	static const char *const backends[] = { "syscall", "libaio", "io_uring", "memory", "stdio", "mmap" };
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(100000);
	const mode_t mask = umask(0);
	uint64_t before;
	em_errinfo err;
	size_t b, d, i, k;

	(void)state;
	umask(027);
	for (b = 0; b < 5; b++)
		for (d = 0; d < 2; d++) {
			em_ctx *ctx = stream_ctx(direct[d], backends[b], NULL, NULL);

			if (ctx == NULL && em_backend_find(backends[b]) == NULL)
				continue; /* it is not built in */
			assert_non_null(ctx);
			before = em_ctx_memory_used(ctx);
			for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				for (k = 0; k < 5; k++) {
					/* told nothing, the truth, and too much */
					const uint64_t told = k % 3 == 0 ? 0 : sizes[i] + (k % 3 - 1) * 10000;

					assert_int_equal(
						sink_write_out(ctx, path, data, sizes[i], chunks[k], told, &err),
						EM_OK);
					stream_assert_file(path, data, sizes[i]);
					assert_int_equal(mode_of(path), 0640);
					assert_int_equal(sink_entries(dir), 1);
					assert_int_equal(unlink(path), 0);
				}
			assert_int_equal(em_ctx_memory_used(ctx), before);
			em_ctx_close(ctx);
		}
	umask(mask);
	free(data);
	free(path);
	test_dir_remove(dir);
}

static void test_random_pieces(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(300000), *base;
	test_rng rng = test_rng_make(test_seed());
	int round;

	(void)state;
	assert_int_equal(posix_memalign((void **)&base, PAGE, 30000 + 2 * PAGE), 0);
	for (round = 0; round < 40; round++) {
		em_ctx *ctx = stream_ctx(round % 4 == 0 ? EM_DIRECT_OFF : EM_DIRECT_TRY, NULL, NULL, NULL);
		const uint64_t most = 1 + test_below(&rng, 30000);
		const size_t bytes = (size_t)test_below(&rng, 300000);
		emi_outbuf ob;
		emi_sink *s;
		size_t at = 0;

		assert_int_equal(emi_sink_open(&s, ctx, path, bytes, NULL, NULL), EM_OK);
		while (at < bytes) {
			memset(&ob, 0, sizeof(ob));
			ob.base = base;
			ob.lead = emi_sink_lead(s, at);
			ob.len = (size_t)test_below(&rng, most + 1);
			if (ob.len > bytes - at)
				ob.len = bytes - at;
			memcpy(base + ob.lead, data + at, ob.len);
			at += ob.len;
			assert_int_equal(emi_sink_put(s, &ob, NULL), EM_OK);
			assert_int_equal(emi_wait(&ob.rq, NULL), EM_OK);
		}
		assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
		assert_int_equal(emi_sink_commit(s, NULL), EM_ERR_STATE);
		assert_int_equal(emi_sink_put(s, &ob, NULL), EM_ERR_STATE);
		emi_sink_close(s);
		em_ctx_close(ctx);
		stream_assert_file(path, data, bytes);
	}
	emi_sink_close(NULL);
	free(base);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* What is there stays there until the commit, then is replaced at once, and keeps its mode and owner. */
static void test_existing(void **state)
{
	static const mode_t modes[] = { 0644, 0600, 0664, 0755, 0444, 0200 };
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(10000);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	struct stat sb;
	emi_sink *s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if ((modes[i] & 0200) == 0 && geteuid() != 0)
			continue; /* that one may not be written, see test_refused */
		stream_write_file(path, "old", 3);
		if (geteuid() == 0)
			assert_int_equal(chown(path, 12345, 23456), 0);
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(emi_sink_open(&s, ctx, path, 10000, NULL, NULL), EM_OK);
		assert_int_equal(sink_put_all(s, data, 10000, 3000, NULL), EM_OK);
		assert_int_equal(chmod(path, 0600), 0);
		stream_assert_file(path, "old", 3);
		assert_int_equal(sink_entries(dir), 1);
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
		assert_int_equal(sink_entries(dir), 1);
		emi_sink_close(s);
		assert_int_equal(sink_entries(dir), 1);
		assert_int_equal(mode_of(path), modes[i]);
		assert_int_equal(stat(path, &sb), 0);
		if (geteuid() == 0) {
			assert_int_equal(sb.st_uid, 12345);
			assert_int_equal(sb.st_gid, 23456);
		}
		assert_int_equal(chmod(path, 0600), 0);
		stream_assert_file(path, data, 10000);
		assert_int_equal(unlink(path), 0);
	}
	em_ctx_close(ctx);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* One who is not root cannot make a file of another's: so the contents of the one that is there change, and set-id bits
 * go, as they always do when somebody writes. */
static void test_owner_kept(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	struct stat before, sb;
	em_status st;

	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	stream_write_file(path, "old", 3);
	assert_int_equal(chmod(path, 04676), 0);
	assert_int_equal(stat(path, &before), 0);
	stream_not_root();
	st = sink_write_out(ctx, path, "new", 3, PAGE, 0, &err);
	stream_root_again();
	assert_int_equal(st, EM_OK);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_uid, before.st_uid);
	assert_int_equal(sb.st_gid, before.st_gid);
	/* (One who made it himself may have replaced it, with all of them.) */
	assert_int_equal(sb.st_mode & (getuid() == 0 ? 07777 : 0777), 0676);
	assert_int_equal(sink_entries(dir), 1);
	stream_assert_file(path, "new", 3);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static void test_symlinks(void **state)
{
	char *dir = test_dir_make(), *there = test_path(dir, "there"), *link = test_path(dir, "link");
	char *chain = test_path(dir, "chain"), *loop = test_path(dir, "loop"), *full,
	     *absolute = test_path(dir, "absolute");
	char *lost = test_path(dir, "lost");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	struct stat sb;

	(void)state;
	assert_int_equal(symlink("there", link), 0);
	assert_int_equal(symlink("link", chain), 0);
	assert_int_equal(symlink("loop", loop), 0);
	full = realpath(dir, NULL);
	assert_non_null(full);
	assert_int_equal(unlink(absolute), -1);
	{
		char *to = test_path(full, "there");

		assert_int_equal(symlink(to, absolute), 0);
		free(to);
	}
	assert_int_equal(symlink("no/such/dir", lost), 0);

	/* One that points nowhere gets its target made. */
	assert_int_equal(sink_write_out(ctx, chain, "one", 3, PAGE, 0, &err), EM_OK);
	assert_int_equal(lstat(there, &sb), 0);
	assert_true(S_ISREG(sb.st_mode));
	stream_assert_file(there, "one", 3);
	/* And one that points to a file has that replaced. */
	assert_int_equal(chmod(there, 0604), 0);
	assert_int_equal(sink_write_out(ctx, absolute, "two", 3, PAGE, 0, &err), EM_OK);
	stream_assert_file(there, "two", 3);
	assert_int_equal(mode_of(there), 0604);
	assert_int_equal(lstat(absolute, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	assert_int_equal(lstat(chain, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));

	assert_int_equal(sink_write_out(ctx, lost, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_not_equal(sink_write_out(ctx, loop, "x", 1, PAGE, 0, &err), EM_OK);
	assert_int_equal(err.sys_errno, ELOOP);
	assert_int_equal(sink_entries(dir), 6);
	em_ctx_close(ctx);
	free(full);
	free(absolute);
	free(there);
	free(link);
	free(chain);
	free(loop);
	free(lost);
	test_dir_remove(dir);
}

/* Nothing is left of one that was given up, at whatever point, and an existing file is untouched. */
static void test_abandoned(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = sink_make_data(50000);
	int named, existing, part;

	(void)state;
	for (named = 0; named < 2; named++)
		for (existing = 0; existing < 2; existing++)
			for (part = 0; part < 3; part++) {
				em_fault fault;
				em_ctx *ctx;
				emi_sink *s;

				assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
				fault.ops = EM_FAULT_OPEN;
				fault.nth = named ? 1 : 0;
				fault.sys_errno = EOPNOTSUPP;
				ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
				if (existing)
					stream_write_file(path, "old", 3);
				assert_int_equal(emi_sink_open(&s, ctx, path, part == 2 ? 50000 : 0, NULL, NULL),
						 EM_OK);
				assert_int_equal(fault.injected, named);
				if (part > 0)
					assert_int_equal(sink_put_all(s, data, 50000, 7000, NULL), EM_OK);
				assert_int_equal(sink_entries(dir), named + existing);
				emi_sink_close(s);
				assert_int_equal(sink_entries(dir), existing);
				if (existing)
					stream_assert_file(path, "old", 3);
				unlink(path);
				em_ctx_close(ctx);
			}
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* Where files must have names. */
static void test_no_tmpfile(void **state)
{
	char *dir = test_dir_make(), *path, *data = sink_make_data(50000), name[256];
	int existing;

	(void)state;
	/* The longest name there is: the temporary one must not be longer. */
	memset(name, 'n', 255);
	name[255] = '\0';
	path = test_path(dir, name);
	for (existing = 0; existing < 2; existing++) {
		em_fault fault;
		em_errinfo err;
		em_ctx *ctx;

		assert_int_equal(em_fault_init(&fault, sizeof fault, NULL), EM_OK);
		fault.ops = EM_FAULT_OPEN;
		fault.nth = 1;
		fault.sys_errno = EOPNOTSUPP;
		ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
		if (existing)
			assert_int_equal(chmod(path, 0602), 0);
		assert_int_equal(sink_write_out(ctx, path, data + existing, 49999, 7000, 49999, &err), EM_OK);
		assert_int_equal(fault.injected, 1);
		stream_assert_file(path, data + existing, 49999);
		if (existing)
			assert_int_equal(mode_of(path), 0602);
		assert_int_equal(sink_entries(dir), 1);
		em_ctx_close(ctx);
	}
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* The name is taken, and we are elsewhere, between open and commit. */
static void test_changes_meanwhile(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *sub = test_path(dir, "sub"), here[4096];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_sink *s;

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(mkdir(sub, 0700), 0);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(emi_sink_open(&s, ctx, "out", 0, NULL, NULL), EM_OK);
	assert_int_equal(chdir("sub"), 0);
	stream_write_file("../out", "somebody else's", 15);
	assert_int_equal(sink_put_all(s, "ours", 4, PAGE, NULL), EM_OK);
	assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	stream_assert_file("../out", "ours", 4);
	assert_int_equal(sink_entries("."), 0);
	assert_int_equal(sink_entries(".."), 2);

	/* A directory of that name cannot be replaced. */
	assert_int_equal(emi_sink_open(&s, ctx, "new", 0, NULL, NULL), EM_OK);
	assert_int_equal(mkdir("new", 0700), 0);
	assert_int_not_equal(emi_sink_commit(s, NULL), EM_OK);
	assert_int_not_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	assert_int_equal(sink_entries("."), 1);
	assert_int_equal(rmdir("new"), 0);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(rmdir(sub), 0);
	em_ctx_close(ctx);
	free(sub);
	free(path);
	test_dir_remove(dir);
}

static void test_refused(void **state)
{
	char *dir = test_dir_make(), *none = test_path(dir, "none"), *locked = test_path(dir, "locked");
	char *inside = test_path(none, "out"), *slash = test_path(dir, "slash/"), *fresh = test_path(dir, "fresh");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const uint64_t before = em_ctx_memory_used(ctx);
	em_errinfo err;
	emi_sink *s;

	(void)state;
	stream_write_file(locked, "old", 3);
	assert_int_equal(chmod(locked, 0444), 0);
	assert_int_equal(sink_write_out(ctx, inside, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_true(strncmp(err.path, none, strlen(none)) == 0);
	assert_int_equal(sink_write_out(ctx, dir, "x", 1, PAGE, 0, &err), EM_ERR_INVAL);
	assert_string_equal(err.path, dir);
	assert_int_equal(sink_write_out(ctx, slash, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_equal(sink_write_out(ctx, "", "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_equal(emi_sink_open(&s, ctx, none, 0, NULL, NULL), EM_OK);
	emi_sink_close(s);
	assert_int_equal(emi_sink_open(&s, ctx, inside, 0, NULL, NULL), EM_ERR_NOENT);
	assert_int_equal(emi_sink_open(&s, ctx, NULL, 0, NULL, NULL), EM_ERR_INVAL);

	assert_int_equal(chmod(dir, 0755), 0);
	stream_not_root();
	assert_int_equal(sink_write_out(ctx, locked, "x", 1, PAGE, 0, &err), EM_ERR_ACCESS);
	assert_string_equal(err.path, locked);
	stream_root_again();
	if (geteuid() != 0)
		assert_int_equal(chmod(dir, 0555), 0);
	stream_not_root();
	assert_int_equal(sink_write_out(ctx, fresh, "x", 1, PAGE, 0, &err), EM_ERR_ACCESS);
	assert_true(strstr(err.path, "fresh") != NULL);
	stream_root_again();
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(locked, 0600), 0);
	stream_assert_file(locked, "old", 3);
	assert_int_equal(sink_entries(dir), 1);
	assert_int_equal(em_ctx_memory_used(ctx), before);
	em_ctx_close(ctx);
	free(none);
	free(locked);
	free(inside);
	free(slash);
	free(fresh);
	test_dir_remove(dir);
}

static void test_misuse(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *base;
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	emi_outbuf ob;
	emi_sink *s;

	(void)state;
	assert_int_equal(posix_memalign((void **)&base, PAGE, 3 * PAGE), 0);
	memset(base, 0, 3 * PAGE);
	memset(&ob, 0, sizeof(ob));
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	ob.base = base;
	ob.lead = 5;
	ob.len = 5;
	assert_int_equal(emi_sink_put(s, &ob, NULL), EM_ERR_INVAL);
	ob.base = base + 1;
	ob.lead = 0;
	assert_int_equal(emi_sink_put(s, &ob, NULL), EM_ERR_INVAL);
	emi_sink_close(s);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(base);
	free(path);
	test_dir_remove(dir);
}

/* The output is one of the inputs. */
static void test_in_place(void **state)
{
	enum { N = 123457 };
	char *dir = test_dir_make(), *path = test_path(dir, "data"), *data = sink_make_data(N), *area,
	     *turned = malloc(N);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	const char *paths[1];
	emi_source *in;
	emi_sink *out;
	emi_fill fill;
	size_t i, at = 0;

	(void)state;
	assert_int_equal(posix_memalign((void **)&area, PAGE, 10000 + EMI_SOURCE_SLACK), 0);
	stream_write_file(path, data, N);
	assert_int_equal(chmod(path, 0654), 0);
	paths[0] = path;
	assert_int_equal(emi_source_open(&in, ctx, paths, 1, 1, NULL, NULL), EM_OK);
	assert_int_equal(emi_sink_open(&out, ctx, path, emi_source_records(in), NULL, NULL), EM_OK);
	assert_int_equal(emi_fill_init(&fill, in, 10000 + EMI_SOURCE_SLACK, PAGE, NULL), EM_OK);
	for (;;) {
		assert_int_equal(emi_source_begin(in, &fill, area, 10000, NULL), EM_OK);
		assert_int_equal(emi_source_await(in, &fill, NULL, NULL, NULL), EM_OK);
		if (fill.records == 0)
			break;
		for (i = 0; i < fill.records; i++, at++)
			turned[N - 1 - at] = fill.first[i];
	}
	assert_int_equal(at, N);
	assert_int_equal(sink_put_all(out, turned, N, 10000, NULL), EM_OK);
	emi_fill_free(&fill, in);
	emi_source_close(in);
	assert_int_equal(emi_sink_commit(out, NULL), EM_OK);
	emi_sink_close(out);
	for (i = 0; i < N; i++)
		if (turned[i] != data[N - 1 - i])
			fail();
	stream_assert_file(path, turned, N);
	assert_int_equal(mode_of(path), 0654);
	assert_int_equal(sink_entries(dir), 1);
	em_ctx_close(ctx);
	free(area);
	free(turned);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* A file that is reached through /proc and has no name any more is written itself. */
static void test_nameless(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "gone"), name[64], got[8];
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	int fd;

	(void)state;
	fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "old old", 7), 7);
	assert_int_equal(unlink(path), 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	assert_int_equal(sink_write_out(ctx, name, "new", 3, PAGE, 3, &err), EM_OK);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3);
	assert_memory_equal(got, "new", 3);
	close(fd);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_random_pieces),
		cmocka_unit_test(test_existing),
		cmocka_unit_test(test_owner_kept),
		cmocka_unit_test(test_symlinks),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_no_tmpfile),
		cmocka_unit_test(test_changes_meanwhile),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_nameless),
	};

	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
