/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_sink.c -- outputs: their bytes, their names, and that nothing is left of those that failed.
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
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "stream/sink.h"
#include "stream/source.h"
#include "stream/stream_test.h"

#define PAGE 4096u
#define BUFFERS 3

/* Put data in pieces of up to `chunk' bytes through a ring of buffers, as the engine does. */
static em_status put_all(emi_sink *s, const char *data, size_t bytes, size_t chunk, em_errinfo *err)
{
	emi_outbuf ob[BUFFERS];
	em_status st = EM_OK;
	size_t at = 0, i;

	memset(ob, 0, sizeof(ob));
	for (i = 0; i < BUFFERS; i++)
		if (posix_memalign((void **)&ob[i].base, PAGE, chunk + PAGE) != 0)
			st = EM_ERR_NOMEM;
	for (i = 0; st == EM_OK && at < bytes; i = (i + 1) % BUFFERS) {
		st = emi_wait(&ob[i].rq, err);
		if (st != EM_OK)
			break;
		memset(ob[i].base, 0x77, chunk + PAGE);
		ob[i].lead = emi_sink_lead(s, at);
		ob[i].len = bytes - at < chunk ? bytes - at : chunk;
		memcpy(ob[i].base + ob[i].lead, data + at, ob[i].len);
		at += ob[i].len;
		st = emi_sink_put(s, &ob[i], err);
	}
	for (i = 0; i < BUFFERS; i++) {
		em_status one = emi_wait(&ob[i].rq, err);

		if (st == EM_OK)
			st = one;
		free(ob[i].base);
	}
	return st;
}

/* The whole life of a sink. */
static em_status write_out(em_ctx *ctx, const char *path, const char *data, size_t bytes, size_t chunk, uint64_t told,
			   em_errinfo *err)
{
	emi_io_stats stats;
	emi_sink *s;
	em_status st;

	memset(&stats, 0, sizeof(stats));
	memset(err, 0, sizeof(*err));
	st = emi_sink_open(&s, ctx, path, told, &stats, err);
	if (st != EM_OK) {
		assert_null(s);
		return st;
	}
	st = put_all(s, data, bytes, chunk, err);
	if (st == EM_OK)
		st = emi_sink_commit(s, err);
	emi_sink_close(s);
	if (st == EM_OK)
		assert_true(stats.bytes_written >= bytes && stats.bytes_written < bytes + PAGE);
	else
		assert_int_equal(err->status, st);
	return st;
}

static mode_t mode_of(const char *path)
{
	struct stat sb;

	assert_int_equal(stat(path, &sb), 0);
	return sb.st_mode & 07777;
}

static int entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static char *make_data(size_t bytes)
{
	test_rng rng = test_rng_make(test_seed());
	char *data = malloc(bytes);

	assert_non_null(data);
	test_fill(&rng, data, bytes);
	return data;
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536, 65537, 100000 };
	static const size_t chunks[] = { 1000, 4095, 4096, 4097, 20000 };
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	static const char *const backends[] = { "syscall", "libaio", "memory" };
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(100000);
	const mode_t mask = umask(0);
	uint64_t before;
	em_errinfo err;
	size_t b, d, i, k;

	(void)state;
	umask(027);
	for (b = 0; b < 3; b++)
		for (d = 0; d < 2; d++) {
			em_ctx *ctx = stream_ctx(direct[d], backends[b], NULL, NULL);

			if (ctx == NULL && b == 1)
				continue; /* libaio is not built in */
			assert_non_null(ctx);
			before = em_ctx_memory_used(ctx);
			for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
				for (k = 0; k < 5; k++) {
					/* told nothing, the truth, and too much */
					const uint64_t told = k % 3 == 0 ? 0 : sizes[i] + (k % 3 - 1) * 10000;

					assert_int_equal(write_out(ctx, path, data, sizes[i], chunks[k], told, &err), EM_OK);
					stream_assert_file(path, data, sizes[i]);
					assert_int_equal(mode_of(path), 0640);
					assert_int_equal(entries(dir), 1);
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
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(300000), *base;
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
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(10000);
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
		assert_int_equal(put_all(s, data, 10000, 3000, NULL), EM_OK);
		assert_int_equal(chmod(path, 0600), 0);
		stream_assert_file(path, "old", 3);
		assert_int_equal(entries(dir), 1);
		assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
		assert_int_equal(entries(dir), 1);
		emi_sink_close(s);
		assert_int_equal(entries(dir), 1);
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

/* The owner of another's file cannot be kept by one who is not root; then set-id bits are not either, and a group that
 * is not his gets no more than others. */
static void test_owner_lost(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	struct stat sb;

	(void)state;
	assert_int_equal(chmod(dir, 0777), 0);
	stream_write_file(path, "old", 3);
	assert_int_equal(chmod(path, 04676), 0);
	stream_not_root();
	assert_int_equal(write_out(ctx, path, "new", 3, PAGE, 0, &err), EM_OK);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_uid, geteuid());
	stream_root_again();
	/* (One who made it himself keeps all of it.) */
	if (getuid() == 0 && sb.st_gid == 0)
		assert_int_equal(sb.st_mode & 07777, 0676);
	stream_assert_file(path, "new", 3);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static void test_symlinks(void **state)
{
	char *dir = test_dir_make(), *there = test_path(dir, "there"), *link = test_path(dir, "link");
	char *chain = test_path(dir, "chain"), *loop = test_path(dir, "loop"), *full, *absolute = test_path(dir, "absolute");
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
	assert_int_equal(write_out(ctx, chain, "one", 3, PAGE, 0, &err), EM_OK);
	assert_int_equal(lstat(there, &sb), 0);
	assert_true(S_ISREG(sb.st_mode));
	stream_assert_file(there, "one", 3);
	/* And one that points to a file has that replaced. */
	assert_int_equal(chmod(there, 0604), 0);
	assert_int_equal(write_out(ctx, absolute, "two", 3, PAGE, 0, &err), EM_OK);
	stream_assert_file(there, "two", 3);
	assert_int_equal(mode_of(there), 0604);
	assert_int_equal(lstat(absolute, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));
	assert_int_equal(lstat(chain, &sb), 0);
	assert_true(S_ISLNK(sb.st_mode));

	assert_int_equal(write_out(ctx, lost, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_not_equal(write_out(ctx, loop, "x", 1, PAGE, 0, &err), EM_OK);
	assert_int_equal(err.sys_errno, ELOOP);
	assert_int_equal(entries(dir), 6);
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
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(50000);
	int named, existing, part;

	(void)state;
	for (named = 0; named < 2; named++)
		for (existing = 0; existing < 2; existing++)
			for (part = 0; part < 3; part++) {
				em_fault fault;
				em_ctx *ctx;
				emi_sink *s;

				em_fault_init(&fault, NULL);
				fault.ops = EM_FAULT_OPEN;
				fault.nth = named ? 1 : 0;
				fault.sys_errno = EOPNOTSUPP;
				ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
				if (existing)
					stream_write_file(path, "old", 3);
				assert_int_equal(emi_sink_open(&s, ctx, path, part == 2 ? 50000 : 0, NULL, NULL), EM_OK);
				assert_int_equal(fault.injected, named);
				if (part > 0)
					assert_int_equal(put_all(s, data, 50000, 7000, NULL), EM_OK);
				assert_int_equal(entries(dir), named + existing);
				emi_sink_close(s);
				assert_int_equal(entries(dir), existing);
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
	char *dir = test_dir_make(), *path, *data = make_data(50000), name[256];
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

		em_fault_init(&fault, NULL);
		fault.ops = EM_FAULT_OPEN;
		fault.nth = 1;
		fault.sys_errno = EOPNOTSUPP;
		ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
		if (existing)
			assert_int_equal(chmod(path, 0602), 0);
		assert_int_equal(write_out(ctx, path, data + existing, 49999, 7000, 49999, &err), EM_OK);
		assert_int_equal(fault.injected, 1);
		stream_assert_file(path, data + existing, 49999);
		if (existing)
			assert_int_equal(mode_of(path), 0602);
		assert_int_equal(entries(dir), 1);
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
	assert_int_equal(put_all(s, "ours", 4, PAGE, NULL), EM_OK);
	assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	stream_assert_file("../out", "ours", 4);
	assert_int_equal(entries("."), 0);
	assert_int_equal(entries(".."), 2);

	/* A directory of that name cannot be replaced. */
	assert_int_equal(emi_sink_open(&s, ctx, "new", 0, NULL, NULL), EM_OK);
	assert_int_equal(mkdir("new", 0700), 0);
	assert_int_not_equal(emi_sink_commit(s, NULL), EM_OK);
	assert_int_not_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	assert_int_equal(entries("."), 1);
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
	assert_int_equal(write_out(ctx, inside, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_true(strncmp(err.path, none, strlen(none)) == 0);
	assert_int_equal(write_out(ctx, dir, "x", 1, PAGE, 0, &err), EM_ERR_INVAL);
	assert_string_equal(err.path, dir);
	assert_int_equal(write_out(ctx, slash, "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_equal(write_out(ctx, "", "x", 1, PAGE, 0, &err), EM_ERR_NOENT);
	assert_int_equal(emi_sink_open(&s, ctx, none, 0, NULL, NULL), EM_OK);
	emi_sink_close(s);
	assert_int_equal(emi_sink_open(&s, ctx, inside, 0, NULL, NULL), EM_ERR_NOENT);
	assert_int_equal(emi_sink_open(&s, ctx, NULL, 0, NULL, NULL), EM_ERR_INVAL);

	assert_int_equal(chmod(dir, 0755), 0);
	stream_not_root();
	assert_int_equal(write_out(ctx, locked, "x", 1, PAGE, 0, &err), EM_ERR_ACCESS);
	assert_string_equal(err.path, locked);
	stream_root_again();
	if (geteuid() != 0)
		assert_int_equal(chmod(dir, 0555), 0);
	stream_not_root();
	assert_int_equal(write_out(ctx, fresh, "x", 1, PAGE, 0, &err), EM_ERR_ACCESS);
	assert_true(strstr(err.path, "fresh") != NULL);
	stream_root_again();
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(chmod(locked, 0600), 0);
	stream_assert_file(locked, "old", 3);
	assert_int_equal(entries(dir), 1);
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
	char *dir = test_dir_make(), *path = test_path(dir, "data"), *data = make_data(N), *area, *turned = malloc(N);
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
	assert_int_equal(put_all(out, turned, N, 10000, NULL), EM_OK);
	emi_fill_free(&fill, in);
	emi_source_close(in);
	assert_int_equal(emi_sink_commit(out, NULL), EM_OK);
	emi_sink_close(out);
	for (i = 0; i < N; i++)
		if (turned[i] != data[N - 1 - i])
			fail();
	stream_assert_file(path, turned, N);
	assert_int_equal(mode_of(path), 0654);
	assert_int_equal(entries(dir), 1);
	em_ctx_close(ctx);
	free(area);
	free(turned);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* Somebody who reads a pipe to its end, or only so much of it. */
typedef struct drain {
	const char *path;
	int fd;
	size_t most, got;
	char *data;
} drain;

static void *drain_all(void *arg)
{
	drain *d = arg;

	if (d->fd < 0)
		d->fd = open(d->path, O_RDONLY);
	while (d->got < d->most) {
		ssize_t n = read(d->fd, d->data + d->got, d->most - d->got);

		if (n <= 0)
			break;
		d->got += (size_t)n;
	}
	close(d->fd);
	return NULL;
}

static void test_fifo(void **state)
{
	enum { N = 300001 };
	char *dir = test_dir_make(), *path = test_path(dir, "fifo"), *data = make_data(N);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	em_errinfo err;
	pthread_t thread;
	struct stat sb;
	drain d;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	memset(&d, 0, sizeof(d));
	d.path = path;
	d.fd = -1;
	d.most = N + 1;
	d.data = malloc(N + 1);
	assert_int_equal(pthread_create(&thread, NULL, drain_all, &d), 0);
	assert_int_equal(write_out(ctx, path, data, N, 33333, N, &err), EM_OK);
	pthread_join(thread, NULL);
	assert_int_equal(d.got, N);
	assert_memory_equal(d.data, data, N);
	assert_int_equal(stat(path, &sb), 0);
	assert_true(S_ISFIFO(sb.st_mode));

	/* The reader goes away in the middle.  We are still here afterwards. */
	d.fd = -1;
	d.most = 1000;
	d.got = 0;
	assert_int_equal(pthread_create(&thread, NULL, drain_all, &d), 0);
	assert_int_equal(write_out(ctx, path, data, N, 33333, N, &err), EM_ERR_PIPE);
	assert_int_equal(err.sys_errno, EPIPE);
	pthread_join(thread, NULL);
	em_ctx_close(ctx);
	free(d.data);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* SIGPIPE has its default action, and is neither delivered nor left pending; one that was pending stays. */
static void test_sigpipe(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	sigset_t set, old, pending;
	int pending_before;

	(void)state;
	assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	for (pending_before = 0; pending_before < 2; pending_before++) {
		int fds[2], saved;
		em_errinfo err;
		em_status st;

		if (pending_before) {
			assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
			assert_int_equal(raise(SIGPIPE), 0);
		}
		assert_int_equal(pipe(fds), 0);
		close(fds[0]);
		saved = stream_replace_fd(STDOUT_FILENO, fds[1]);
		close(fds[1]);
		st = write_out(ctx, "-", "x", 1, PAGE, 0, &err);
		stream_restore_fd(STDOUT_FILENO, saved);
		assert_int_equal(st, EM_ERR_PIPE);
		assert_non_null(strstr(err.text, "standard output"));
		sigpending(&pending);
		assert_int_equal(sigismember(&pending, SIGPIPE), pending_before);
	}
	{
		const struct timespec now = { 0, 0 };

		assert_int_equal(sigtimedwait(&set, NULL, &now), SIGPIPE);
	}
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	/* The mask is what it was. */
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &pending), 0);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
	em_ctx_close(ctx);
}

/* A redirected standard output is written where it stands, and stays open; a non-blocking one is waited for. */
static void test_stdout(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(200000);
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	int fd, saved, fds[2], still;
	pthread_t thread;
	em_errinfo err;
	em_status st;
	drain d;

	(void)state;
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "head", 4), 4);
	saved = stream_replace_fd(STDOUT_FILENO, fd);
	st = write_out(ctx, "-", "body", 4, PAGE, 4, &err);
	still = fcntl(STDOUT_FILENO, F_GETFD);
	stream_restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(st, EM_OK);
	assert_true(still >= 0);
	close(fd);
	stream_assert_file(path, "headbody", 8);

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	memset(&d, 0, sizeof(d));
	d.fd = fds[0];
	d.most = 200001;
	d.data = malloc(d.most);
	saved = stream_replace_fd(STDOUT_FILENO, fds[1]);
	close(fds[1]);
	fd = pthread_create(&thread, NULL, drain_all, &d);
	st = write_out(ctx, "-", data, 200000, 70000, 0, &err);
	stream_restore_fd(STDOUT_FILENO, saved);
	assert_int_equal(fd, 0);
	pthread_join(thread, NULL);
	assert_int_equal(st, EM_OK);
	assert_int_equal(d.got, 200000);
	assert_memory_equal(d.data, data, 200000);
	em_ctx_close(ctx);
	free(d.data);
	free(data);
	free(path);
	test_dir_remove(dir);
}

static void test_devices(void **state)
{
	em_ctx *ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	char *data = make_data(10000);
	em_errinfo err;
	struct stat sb;
	emi_sink *s;

	(void)state;
	assert_int_equal(write_out(ctx, "/dev/null", data, 10000, 3000, 10000, &err), EM_OK);
	assert_int_equal(stat("/dev/null", &sb), 0);
	assert_true(S_ISCHR(sb.st_mode));
	assert_int_equal(write_out(ctx, "/dev/full", data, 10000, 3000, 10000, &err), EM_ERR_NOSPACE);
	assert_string_equal(err.path, "/dev/full");
	assert_int_equal(err.sys_errno, ENOSPC);

	/* The failure stays, also for the commit. */
	assert_int_equal(emi_sink_open(&s, ctx, "/dev/full", 0, NULL, NULL), EM_OK);
	assert_int_equal(put_all(s, data, 10, 10, NULL), EM_ERR_NOSPACE);
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_sink_commit(s, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	emi_sink_close(s);
	em_ctx_close(ctx);
	free(data);
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
	assert_int_equal(write_out(ctx, name, "new", 3, PAGE, 3, &err), EM_OK);
	assert_int_equal(pread(fd, got, sizeof(got), 0), 3);
	assert_memory_equal(got, "new", 3);
	close(fd);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

/* Put so much that it does not fit; nothing may remain.  Returns what is wrong, as it also runs in a child. */
static const char *overfill(em_ctx *ctx, const char *dir, const char *data, size_t bytes)
{
	char *path = test_path(dir, "out");
	const char *wrong = NULL;
	em_errinfo err;

	if (write_out(ctx, path, data, bytes, 40000, bytes, &err) != EM_ERR_NOSPACE)
		wrong = "not noticed when opening";
	else if (entries(dir) != 0)
		wrong = "something remains of one that was not opened";
	else if (write_out(ctx, path, data, bytes, 40000, 0, &err) != EM_ERR_NOSPACE)
		wrong = "not noticed when writing";
	else if (entries(dir) != 0)
		wrong = "something remains of one that was not written";
	free(path);
	return wrong;
}

/* Files may not grow beyond a limit: what a full disk looks like, for everybody and on every file system. */
static void test_file_size_limit(void **state)
{
	char *dir = test_dir_make(), *data = make_data(400000);
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit old, low;
	const char *wrong;
	int direct;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 131072;
	for (direct = EM_DIRECT_TRY; direct <= EM_DIRECT_OFF; direct++) {
		em_ctx *ctx = stream_ctx(direct, NULL, NULL, NULL);

		assert_non_null(ctx);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
		wrong = overfill(ctx, dir, data, 400000);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
		if (wrong != NULL)
			fail_msg("%s", wrong);
		em_ctx_close(ctx);
	}
	signal(SIGXFSZ, before);
	free(data);
	test_dir_remove(dir);
}

/* In a process of its own, whose mounts go away with it: 0, or the number of what went wrong; 100: may not mount. */
static int on_a_small_disk(const char *dir, const char *data)
{
	char *path = test_path(dir, "out");
	struct stat sb;
	em_errinfo err;
	em_ctx *ctx;

	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", dir, "tmpfs", 0, "size=1m") != 0)
		return 100;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, NULL, NULL);
	if (ctx == NULL)
		return 1;
	if (overfill(ctx, dir, data, 4000000) != NULL)
		return 2;
	/* Now there is room again. */
	if (write_out(ctx, path, data, 500000, 40000, 500000, &err) != EM_OK)
		return 3;
	if (stat(path, &sb) != 0 || sb.st_size != 500000)
		return 4;
	em_ctx_close(ctx);
	free(path);
	return 0;
}

/* And a full disk, where we may mount one; where not, a backend that says so. */
static void test_full_disk(void **state)
{
	char *dir = test_dir_make(), *data = make_data(4000000), *path = test_path(dir, "out");
	em_fault fault;
	em_ctx *ctx;
	em_errinfo err;
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(on_a_small_disk(dir, data));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) != 100)
		assert_int_equal(WEXITSTATUS(status), 0);
	em_fault_init(&fault, NULL);
	fault.ops = EM_FAULT_RESERVE;
	fault.sys_errno = ENOSPC;
	fault.nth = 1;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_int_equal(write_out(ctx, path, data, 4000, 4000, 4000, &err), EM_ERR_NOSPACE);
	assert_int_equal(fault.injected, 1);
	fault.ops = EM_FAULT_WRITE;
	fault.nth = 3;
	fault.times = UINT64_MAX;
	fault.count = 0;
	assert_int_equal(write_out(ctx, path, data, 4000000, 40000, 4000000, &err), EM_ERR_NOSPACE);
	assert_dir_empty(dir);
	em_ctx_close(ctx);
	free(path);
	free(data);
	test_dir_remove(dir);
}

/* Each operation of the backend fails once, with and without unnamed files. */
static void test_failing_io(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(100000);
	static const uint32_t ops[] = { EM_FAULT_OPEN, EM_FAULT_RESIZE, EM_FAULT_RESERVE, EM_FAULT_WRITE };
	uint64_t nth, before;
	int failures = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++)
		for (nth = 1;; nth++) {
			em_fault fault;
			em_errinfo err;
			em_ctx *ctx;
			em_status st;

			em_fault_init(&fault, NULL);
			fault.ops = ops[i];
			fault.nth = nth;
			ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
			before = em_ctx_memory_used(ctx);
			st = write_out(ctx, path, data, 99999, 9000, 99999, &err);
			assert_int_equal(em_ctx_memory_used(ctx), before);
			em_ctx_close(ctx);
			if (fault.injected == 0) {
				assert_int_equal(st, EM_OK);
				stream_assert_file(path, data, 99999);
				assert_int_equal(unlink(path), 0);
				break;
			}
			failures++;
			assert_int_equal(st, EM_ERR_IO);
			assert_int_equal(err.sys_errno, EIO);
			assert_true(strstr(err.path, "out") != NULL);
			assert_dir_empty(dir);
		}
	assert_true(failures >= 4);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* Each allocation fails once. */
static void test_failing_memory(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out"), *data = make_data(30000);
	int existing, failures = 0;

	(void)state;
	for (existing = 0; existing < 2; existing++) {
		uint64_t at;
		int done = 0;

		for (at = 1; !done; at++) {
			test_memory mem;
			em_ctx *ctx;

			if (existing)
				stream_write_file(path, "old", 3);
			test_memory_init(&mem, at);
			ctx = stream_ctx(EM_DIRECT_TRY, "syscall", NULL, &mem);
			if (ctx != NULL) {
				em_errinfo err;
				em_status st = write_out(ctx, path, data, 30000, 7000, 30000, &err);

				done = !test_memory_failed(&mem);
				if (done) {
					assert_int_equal(st, EM_OK);
				} else if (st != EM_OK) {
					failures++;
					assert_int_equal(st, EM_ERR_NOMEM);
					assert_int_equal(entries(dir), existing);
					if (existing)
						stream_assert_file(path, "old", 3);
				}
				em_ctx_close(ctx);
			}
			test_memory_assert_clean(&mem);
			unlink(path);
		}
	}
	assert_true(failures > 8);
	free(data);
	free(path);
	test_dir_remove(dir);
}

/* A child that closes what it inherited takes nothing away from the parent. */
static void test_fork(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "out");
	em_fault fault;
	em_ctx *ctx;
	emi_sink *s;
	pid_t child;
	int status;

	(void)state;
	em_fault_init(&fault, NULL);
	fault.ops = EM_FAULT_OPEN;
	fault.nth = 1;
	fault.sys_errno = EOPNOTSUPP;
	ctx = stream_ctx(EM_DIRECT_TRY, NULL, &fault, NULL);
	assert_int_equal(emi_sink_open(&s, ctx, path, 0, NULL, NULL), EM_OK);
	assert_int_equal(put_all(s, "data", 4, PAGE, NULL), EM_OK);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		emi_sink_close(s);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(entries(dir), 1);
	assert_int_equal(emi_sink_commit(s, NULL), EM_OK);
	emi_sink_close(s);
	stream_assert_file(path, "data", 4);
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
		cmocka_unit_test(test_owner_lost),
		cmocka_unit_test(test_symlinks),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_no_tmpfile),
		cmocka_unit_test(test_changes_meanwhile),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_sigpipe),
		cmocka_unit_test(test_stdout),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_file_size_limit),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_failing_io),
		cmocka_unit_test(test_failing_memory),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
