/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_conformance_errors.c -- every backend fails as its table promises, and the library tells where and why.
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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "io/conform.h"
#include "io/conform_fs.h"

enum { PIECE = 64 << 10 };

static em_ctx *ctx_of(const em_backend *be, int32_t direct)
{
	io_setup setup = { 0 };

	setup.custom = be;
	setup.direct = direct;
	return io_ctx(&setup);
}

/* The detail of a failure is complete. */
static void assert_detail(const em_errinfo *err, const char *op, const char *path, int sys_errno)
{
	assert_string_equal(err->op, op);
	assert_string_equal(err->path, path);
	assert_non_null(strstr(err->text, path));
	assert_int_equal(err->sys_errno, sys_errno);
}

/* Does this backend keep temporary files away from the file system? */
static int hides_temp(const em_backend *be, const char *dir)
{
	conform_case c;
	int real;

	memset(&c, 0, sizeof c);
	assert_int_equal(conform_open(&c, be, EM_DIRECT_OFF, dir, EM_OPEN_TEMP | EM_OPEN_WRITE), 1);
	real = conform_is_real(&c);
	conform_close(&c);
	return !real;
}

static void opens(const em_backend *be, const char *path, unsigned flags, em_status status, int sys_errno)
{
	em_ctx *ctx = ctx_of(be, EM_DIRECT_TRY);
	em_errinfo err;
	em_file *f;

	memset(&err, 0, sizeof err);
	assert_int_equal(emi_file_open(&f, ctx, path, flags, &err), status);
	assert_null(f);
	assert_int_equal(err.status, status);
	assert_detail(&err, "open", path, sys_errno);
	em_ctx_close(ctx);
}

static void open_errors_of(const em_backend *be, const char *dir)
{
	char *there = test_path(dir, "there"), *missing = test_path(dir, "missing"),
	     *deep = test_path(dir, "missing/deep");
	int hidden = hides_temp(be, dir), fd = open(there, O_CREAT | O_WRONLY, 0600);
	unsigned create = EMI_OPEN_CREATE | EMI_OPEN_WRITE;

	assert_true(fd >= 0);
	close(fd);
	opens(be, there, create, EM_ERR_EXIST, EEXIST);
	opens(be, missing, EMI_OPEN_READ, EM_ERR_NOENT, ENOENT);
	opens(be, missing, EMI_OPEN_WRITE, EM_ERR_NOENT, ENOENT);
	opens(be, deep, create, EM_ERR_NOENT, ENOENT);
	opens(be, deep, EMI_OPEN_LINKABLE, EM_ERR_NOENT, ENOENT);
	opens(be, dir, EMI_OPEN_WRITE, EM_ERR_IO, EISDIR);
	if (!hidden)
		opens(be, missing, EMI_OPEN_TEMP, EM_ERR_NOENT, ENOENT);
	/* The directory is its owner's. */
	assert_int_equal(geteuid() == 0 ? seteuid(65534) : chmod(dir, 0), 0);
	opens(be, there, EMI_OPEN_READ, EM_ERR_ACCESS, EACCES);
	opens(be, missing, create, EM_ERR_ACCESS, EACCES);
	opens(be, missing, EMI_OPEN_LINKABLE, EM_ERR_ACCESS, EACCES);
	if (!hidden)
		opens(be, dir, EMI_OPEN_TEMP, EM_ERR_ACCESS, EACCES);
	assert_int_equal(getuid() == 0 ? seteuid(0) : chmod(dir, 0700), 0);
	assert_int_equal(unlink(there), 0);
	assert_dir_empty(dir);
	free(deep);
	free(missing);
	free(there);
}

static void test_open_errors(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	conform_each_backend(dir, open_errors_of);
	test_dir_remove(dir);
}

/* A directory can be opened for reading, and then not be read. */
static void read_directory_of(const em_backend *be, const char *dir)
{
	em_ctx *ctx = ctx_of(be, EM_DIRECT_OFF);
	em_file *f = io_open(ctx, dir, EMI_OPEN_READ);
	em_errinfo err;
	char buf[100];

	memset(&err, 0, sizeof err);
	assert_int_equal(io_read(f, buf, sizeof buf, 0, &err), EM_ERR_IO);
	assert_detail(&err, "read", dir, EISDIR);
	emi_file_close(f);
	em_ctx_close(ctx);
}

static void test_read_directory(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	conform_each_backend(dir, read_directory_of);
	test_dir_remove(dir);
}

/* A file opened for reading is not written, made longer or shorter. */
static void read_only_of(conform_case *c)
{
	test_rng rng = test_rng_make(test_seed());
	char *out = io_buffer(&rng, 8192), *in = io_buffer(&rng, 8192);

	if (c->kind == CONFORM_NAMED) {
		assert_int_equal(conform_write(c, out, 8192, 0), 8192);
		conform_close(c);
		assert_int_equal(conform_open(c, c->be, c->want_direct, c->path, EM_OPEN_READ), 1);
		assert_int_equal(conform_write(c, in, 4096, 0), -EBADF);
		assert_int_equal(conform_write(c, in, 8192, 4096), -EBADF);
		assert_int_not_equal(conform_resize(c, 4096), 0);
		assert_int_not_equal(conform_resize(c, 12288), 0);
		assert_int_not_equal(conform_reserve(c, 0, 16384), 0);
		assert_int_not_equal(conform_discard(c, 0, 8192), 0);
		assert_int_equal(conform_size(c), 8192);
		assert_int_equal(conform_read(c, in, 8192, 0), 8192);
		assert_memory_equal(in, out, 8192);
	}
	free(in);
	free(out);
}

static void test_read_only(void **state)
{
	(void)state;
	conform_in_new_dir(read_only_of);
}

/* Each piece is told from others. */
static void fill_piece(char *buf, unsigned i)
{
	memset(buf, (int)(i % 251 + 1), PIECE);
	memcpy(buf, &i, sizeof i);
}

static void assert_piece(em_file *f, char *buf, char *in, unsigned i)
{
	fill_piece(buf, i);
	assert_int_equal(io_read(f, in, PIECE, (uint64_t)i * PIECE, NULL), EM_OK);
	assert_memory_equal(in, buf, PIECE);
}

/* Write pieces until one fails, for that reason: how many did not. */
static unsigned fill_up(em_file *f, const char *path, char *buf, int sys_errno)
{
	em_errinfo err;
	unsigned i;

	for (i = 0;; i++) {
		uint64_t at = (uint64_t)i * PIECE;

		memset(&err, 0, sizeof err);
		fill_piece(buf, i);
		if (io_write(f, buf, PIECE, at, &err) != EM_OK) {
			assert_int_equal(err.status, EM_ERR_NOSPACE);
			assert_detail(&err, "write", path, sys_errno);
			assert_true(err.offset >= at && err.offset < at + PIECE);
			assert_int_equal(err.bytes, PIECE);
			return i;
		}
		assert_true(i < 4096);
	}
}

/* A full disk is an error of the write that met it; what is there stays, and can be changed; what failed is not done
 * later. */
static void full(em_file *f, const char *path, char *buf, char *in)
{
	unsigned n = fill_up(f, path, buf, ENOSPC), half = n / 2, i;
	uint64_t size = 0;
	em_errinfo err;

	assert_true(n >= 4);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_true(size >= (uint64_t)n * PIECE && size < ((uint64_t)n + 1) * PIECE);
	/* Small ones, until one fails that a backend might keep and try again. */
	memset(&err, 0, sizeof err);
	for (i = 0; io_write(f, buf, 4096, ((uint64_t)2 * n + i) * PIECE, &err) == EM_OK; i++)
		assert_true(i < n);
	assert_int_equal(err.status, EM_ERR_NOSPACE);
	assert_detail(&err, "write", path, ENOSPC);
	for (i = 0; i < n; i++)
		assert_piece(f, buf, in, i);
	/* What has space can be written again. */
	fill_piece(buf, 3);
	assert_int_equal(io_write(f, buf, PIECE, 3 * PIECE, NULL), EM_OK);
	/* Space that is not there cannot be reserved, and nothing comes of trying. */
	assert_int_equal(emi_file_resize(f, (uint64_t)half * PIECE, NULL), EM_OK);
	memset(&err, 0, sizeof err);
	assert_int_equal(emi_file_reserve(f, 0, (uint64_t)8 * n * PIECE, &err), EM_ERR_NOSPACE);
	assert_detail(&err, "reserve", path, ENOSPC);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, (uint64_t)half * PIECE);
	/* There is room again. */
	fill_piece(buf, half);
	assert_int_equal(io_write(f, buf, PIECE, (uint64_t)half * PIECE, NULL), EM_OK);
	for (i = 0; i <= half; i++)
		assert_piece(f, buf, in, i);
	assert_int_equal(emi_file_resize(f, (uint64_t)(n + 1) * PIECE, NULL), EM_OK);
	memset(buf, 0, PIECE);
	for (i = half + 1; i <= n; i++) {
		assert_int_equal(io_read(f, in, PIECE, (uint64_t)i * PIECE, NULL), EM_OK);
		assert_memory_equal(in, buf, PIECE);
	}
}

/* A limit on the size of files is an error like that, with another number. */
static void limited(em_file *f, const char *path, char *buf, char *in)
{
	uint64_t most = 20 * PIECE, size = 0;
	struct rlimit old, now;
	unsigned n, i;
	em_errinfo err[3];

	memset(err, 0, sizeof err);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = old;
	now.rlim_cur = (rlim_t)most;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	n = fill_up(f, path, buf, EFBIG);
	(void)emi_file_resize(f, most + 4096, &err[0]);
	(void)emi_file_reserve(f, most, 4096, &err[1]);
	/* Half of it is below the limit. */
	(void)io_write(f, buf, 8192, most - 4096, &err[2]);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(n, 20);
	for (i = 0; i < 3; i++) {
		assert_int_equal(err[i].status, EM_ERR_NOSPACE);
		assert_detail(&err[i], i == 0 ? "resize" : i == 1 ? "reserve" : "write", path, EFBIG);
	}
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, most);
	for (i = 0; i + 1 < n; i++)
		assert_piece(f, buf, in, i);
}

typedef void (*filling)(em_file *f, const char *path, char *buf, char *in);

/* Every backend with every kind of file in the directory, but for those that are not there. */
static void fill_all(const char *dir, filling fn)
{
	static const unsigned flags[] = { EMI_OPEN_CREATE | EMI_OPEN_WRITE, EMI_OPEN_TEMP, EMI_OPEN_LINKABLE };
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY };
	char *path = test_path(dir, "file"), *buf, *in;
	test_rng rng = test_rng_make(test_seed());
	uint32_t b, d, k;

	buf = io_buffer(&rng, PIECE);
	in = io_buffer(&rng, PIECE);
	for (b = 0; b < em_backend_count(); b++)
		for (d = 0; d < 2; d++)
			for (k = 0; k < 3; k++) {
				const char *name = flags[k] == EMI_OPEN_TEMP ? dir : path;
				em_ctx *ctx = ctx_of(io_backend_at(b), direct[d]);
				em_file *f = io_open(ctx, name, flags[k]);

				fprintf(stderr, "# %s, direct %s, kind %u\n", io_backend_at(b)->name, d ? "try" : "off",
					k);
				if (emi_file_fd(f) >= 0)
					fn(f, name, buf, in);
				emi_file_close(f);
				em_ctx_close(ctx);
				if (k == 0)
					assert_int_equal(unlink(path), 0);
			}
	free(in);
	free(buf);
	free(path);
}

static void full_all(const char *dir)
{
	fill_all(dir, full);
}

static void test_full_tmpfs(void **state)
{
	(void)state;
	conform_on_tmpfs(1 << 20, full_all);
}

/* Unlike tmpfs it can be direct, and takes what there is of what was to be reserved. */
static void test_full_ext4(void **state)
{
	(void)state;
	conform_on_ext4(4 << 20, full_all);
}

static void test_limit(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	fill_all(dir, limited);
	signal(SIGXFSZ, SIG_DFL);
	test_dir_remove(dir);
}

/* What cannot be brought to a device says so, whoever moves its bytes. */
static void sync_of(const em_backend *be, const char *dir)
{
	em_ctx *ctx = ctx_of(be, EM_DIRECT_OFF);
	em_file *f = io_open(ctx, "/dev/null", EMI_OPEN_WRITE);
	em_errinfo err;

	memset(&err, 0, sizeof err);
	assert_int_equal(emi_file_sync(f, &err), EM_ERR_IO);
	assert_detail(&err, "sync", "/dev/null", EINVAL);
	emi_file_close(f);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	assert_int_equal(io_write(f, "abc", 3, 0, NULL), EM_OK);
	assert_int_equal(emi_file_sync(f, NULL), EM_OK);
	emi_file_close(f);
	em_ctx_close(ctx);
}

static void test_sync(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	conform_each_backend(dir, sync_of);
	test_dir_remove(dir);
}

/* One operation of a life: its status. */
static em_status act(em_file *f, unsigned i, char *buf, em_errinfo *err)
{
	static const emi_extent hole = { 8192, 4096 };
	uint64_t size = 0;
	emi_request rq;

	switch (i) {
	case 0:
		return emi_file_reserve(f, 0, 16384, err);
	case 1:
		return io_write(f, buf, 12288, 4096, err);
	case 2:
		return io_read(f, buf, 4096, 8192, err);
	case 3:
		return emi_file_size(f, &size, err);
	case 4:
		return emi_file_resize(f, 12288, err);
	case 5:
		return io_write(f, buf, 4096, 0, err);
	default:
		memset(&rq, 0, sizeof rq);
		emi_discard(f, &rq, &hole, 1);
		return emi_wait(&rq, err);
	}
}

enum { ACTS = 7 };

/* The nth operation fails, for each n; done again it succeeds, and all is as if it had not failed. */
static void faults_of(const em_backend *be, int32_t direct, const char *dir)
{
	static const char *const op[ACTS] = { "reserve", "write", "read", "stat", "resize", "write", "discard" };
	test_rng rng = test_rng_make(test_seed());
	char *out = io_buffer(&rng, 12288), *buf = io_buffer(&rng, 12288);
	unsigned i, n, acts = be->size >= sizeof *be && be->discard ? ACTS : ACTS - 1;

	for (n = 0; n <= acts; n++) {
		em_fault fault;
		em_errinfo err;
		em_ctx *ctx;
		em_file *f = NULL;

		memset(&err, 0, sizeof err);
		assert_int_equal(em_fault_init(&fault, sizeof fault, be), EM_OK);
		fault.ops |= EM_FAULT_DISCARD;
		fault.nth = n + 1;
		ctx = ctx_of(em_fault_backend(&fault), direct);
		if (n == 0) {
			assert_int_equal(emi_file_open(&f, ctx, dir, EMI_OPEN_TEMP, &err), EM_ERR_IO);
			assert_null(f);
			assert_detail(&err, "open", dir, EIO);
		}
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		for (i = 0; i < acts; i++) {
			memcpy(buf, out, 12288);
			memset(&err, 0, sizeof err);
			if (n > 0 && i == n - 1) {
				assert_int_equal(act(f, i, buf, &err), EM_ERR_IO);
				assert_detail(&err, op[i], dir, EIO);
				memcpy(buf, out, 12288);
			}
			assert_int_equal(act(f, i, buf, &err), EM_OK);
		}
		assert_int_equal(fault.injected, 1);
		assert_int_equal(io_read(f, buf, 8192, 0, NULL), EM_OK);
		assert_memory_equal(buf, out, 4096);
		assert_memory_equal(buf + 4096, out, 4096);
		emi_file_close(f);
		em_ctx_close(ctx);
		assert_dir_empty(dir);
	}
	free(buf);
	free(out);
}

static void both_faults_of(const em_backend *be, const char *dir)
{
	faults_of(be, EM_DIRECT_OFF, dir);
	faults_of(be, EM_DIRECT_TRY, dir);
}

static void test_faults(void **state)
{
	char *dir = test_dir_make();

	(void)state;
	conform_each_backend(dir, both_faults_of);
	test_dir_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_errors), cmocka_unit_test(test_read_directory),
		cmocka_unit_test(test_read_only), cmocka_unit_test(test_full_tmpfs),
		cmocka_unit_test(test_full_ext4), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_sync), cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests_name("io/conformance_errors", tests, NULL, NULL);
}
