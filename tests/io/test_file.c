/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_file.c -- opening and closing, sizes, ends, errors, budgets, statistics, forks; with every backend.
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "base/context.h"
#include "base/memory.h"
#include "io/io_test.h"

/* Each test runs for each backend; where it matters also buffered. */
typedef struct fixture {
	char *dir;
	em_ctx *ctx;
	test_memory mem;
} fixture;

static void begin(fixture *x, uint32_t backend, const io_setup *base)
{
	io_setup setup = {0};

	if (base)
		setup = *base;
	test_memory_init(&x->mem, 0);
	x->dir = test_dir_make();
	setup.dir = x->dir;
	setup.backend = em_backend_at(backend)->name;
	setup.allocator = &x->mem.allocator;
	x->ctx = io_ctx(&setup);
}

static void end(fixture *x)
{
	em_ctx_close(x->ctx);
	test_memory_assert_clean(&x->mem);
	test_dir_remove(x->dir);
}

static em_errinfo clean(void)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	return err;
}

static void test_named_file(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *out = io_buffer(&rng, 8192), *in = io_buffer(&rng, 8192);
	uint64_t size = 1;
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		fixture x;
		char *path;
		em_file *f;

		begin(&x, b, NULL);
		path = test_path(x.dir, "f");
		f = io_open(x.ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
		assert_string_equal(emi_file_path(f), path);
		assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
		assert_int_equal(size, 0);
		assert_int_equal(io_write(f, out, 8192, 4096, NULL), EM_OK);
		assert_int_equal(io_read(f, in, 8192, 4096, NULL), EM_OK);
		assert_memory_equal(in, out, 8192);
		emi_file_close(f);
		f = io_open(x.ctx, path, EMI_OPEN_READ);
		assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
		assert_int_equal(size, 4096 + 8192);
		assert_int_equal(io_read(f, in, 4096, 8192, NULL), EM_OK);
		assert_memory_equal(in, out + 4096, 4096);
		emi_file_close(f);
		free(path);
		end(&x);
	}
	free(out);
	free(in);
}

/* A read that meets the end is no failure; done tells. */
static void test_end_of_file(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *out = io_buffer(&rng, 16384), *in = io_buffer(&rng, 16384);
	uint32_t b;
	int32_t direct;

	(void)state;
	for (b = 0; b < em_backend_count(); b++)
		for (direct = EM_DIRECT_TRY; direct <= EM_DIRECT_OFF; direct++) {
			static const uint64_t size[] = {0, 1, 4095, 4096, 4097, 16383, 16384, 20000};
			io_setup setup = {0};
			fixture x;
			em_file *f;
			unsigned i;

			setup.direct = direct;
			begin(&x, b, &setup);
			f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
			assert_int_equal(io_write(f, out, 16384, 0, NULL), EM_OK);
			for (i = sizeof size / sizeof *size; i-- > 0;) {
				size_t expect = size[i] < 16384 ? (size_t)size[i] : 16384;
				emi_request rq;

				memset(&rq, 0, sizeof rq);
				memset(in, 0, 16384);
				assert_int_equal(emi_file_resize(f, size[i], NULL), EM_OK);
				emi_read(f, &rq, in, 16384, 0, NULL);
				assert_int_equal(emi_wait(&rq, NULL), EM_OK);
				assert_int_equal(rq.done, expect);
				assert_memory_equal(in, out, expect);
				emi_read(f, &rq, in, 16384, 1 << 20, NULL);
				assert_int_equal(emi_wait(&rq, NULL), EM_OK);
				assert_int_equal(rq.done, 0);
			}
			emi_file_close(f);
			end(&x);
		}
	free(out);
	free(in);
}

/* A temporary file is for its owner alone, and no file is left open in a program that is executed. */
static void test_private(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		const mode_t mask = umask(0);
		io_setup setup = {0};
		fixture x;
		char *path;
		em_file *f[2];
		int i;

		setup.direct = EM_DIRECT_TRY;
		begin(&x, b, &setup);
		path = test_path(x.dir, "named");
		f[0] = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		f[1] = io_open(x.ctx, path, EMI_OPEN_WRITE | EMI_OPEN_CREATE);
		umask(mask);
		for (i = 0; i < 2; i++) {
			const int fd = emi_file_fd(f[i]);
			struct stat st;

			/* Without one it is in memory. */
			if (fd >= 0) {
				assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
				assert_int_equal(fstat(fd, &st), 0);
				assert_int_equal(st.st_mode & 07777, 0600);
			}
			emi_file_close(f[i]);
		}
		assert_int_equal(unlink(path), 0);
		free(path);
		end(&x);
	}
}

static void test_temp_leaves_nothing(void **state)
{
	uint32_t b;
	char page[4096] = "";

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		io_setup setup = {0};
		fixture x;
		em_file *f;

		setup.direct = EM_DIRECT_OFF;
		begin(&x, b, &setup);
		f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		assert_dir_empty(x.dir);
		assert_int_equal(io_write(f, page, sizeof page, 0, NULL), EM_OK);
		assert_dir_empty(x.dir);
		emi_file_close(f);
		assert_dir_empty(x.dir);
		end(&x);
	}
}

static void expect_open(em_ctx *ctx, const char *path, unsigned flags, em_status status, int sys_errno)
{
	em_errinfo err = clean();
	em_file *f = (em_file *)&err;

	assert_int_equal(emi_file_open(&f, ctx, path, flags, &err), status);
	assert_null(f);
	assert_int_equal(err.status, status);
	assert_int_equal(err.sys_errno, sys_errno);
	assert_string_equal(err.op, "open");
	assert_string_equal(err.path, path);
	assert_non_null(strstr(err.text, path));
	/* Without a detail it fails as well. */
	assert_int_equal(emi_file_open(&f, ctx, path, flags, NULL), status);
}

/* Does that backend keep temporary files in memory?  Then they need no directory and have no descriptor. */
static int in_memory(uint32_t backend)
{
	const char *name = em_backend_at(backend)->name;

	return strcmp(name, "memory") == 0 || strcmp(name, "simdisk") == 0;
}

static void test_open_fails(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		fixture x;
		char *path, *below;
		uint64_t used;
		em_file *f;

		begin(&x, b, NULL);
		used = em_ctx_memory_used(x.ctx);
		path = test_path(x.dir, "f");
		below = test_path(path, "g");
		expect_open(x.ctx, path, EMI_OPEN_READ, EM_ERR_NOENT, ENOENT);
		f = io_open(x.ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
		emi_file_close(f);
		expect_open(x.ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE, EM_ERR_EXIST, EEXIST);
		expect_open(x.ctx, below, EMI_OPEN_READ, EM_ERR_NOENT, ENOTDIR);
		expect_open(x.ctx, x.dir, EMI_OPEN_WRITE, EM_ERR_IO, EISDIR);
		if (!in_memory(b))
			expect_open(x.ctx, below, EMI_OPEN_TEMP, EM_ERR_NOENT, ENOTDIR);
		assert_int_equal(em_ctx_memory_used(x.ctx), used);
		assert_int_equal(x.ctx->fds_used, 0);
		free(path);
		free(below);
		end(&x);
	}
	emi_file_close(NULL);
}

static void test_transfer_fails(void **state)
{
	uint32_t b;
	char page[4096] = "";

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		io_setup setup = {0};
		em_errinfo err = clean();
		emi_request rq;
		fixture x;
		char *path;
		em_file *f;

		setup.direct = EM_DIRECT_OFF;
		begin(&x, b, &setup);
		path = test_path(x.dir, "f");
		f = io_open(x.ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
		emi_file_close(f);
		f = io_open(x.ctx, path, EMI_OPEN_READ);
		memset(&rq, 0, sizeof rq);
		emi_write(f, &rq, page, sizeof page, 12288, NULL);
		assert_int_equal(emi_wait(&rq, &err), EM_ERR_INVAL);
		assert_int_equal(err.sys_errno, EBADF);
		assert_int_equal(err.offset, 12288);
		assert_int_equal(err.bytes, sizeof page);
		assert_string_equal(err.op, "write");
		assert_string_equal(err.path, path);
		/* Past what a file can hold. */
		err = clean();
		emi_read(f, &rq, page, sizeof page, (uint64_t)INT64_MAX - 100, NULL);
		assert_int_equal(emi_wait(&rq, &err), EM_ERR_RANGE);
		assert_int_equal(err.sys_errno, EFBIG);
		/* The same request goes on to work. */
		emi_read(f, &rq, page, sizeof page, 0, NULL);
		assert_int_equal(emi_wait(&rq, NULL), EM_OK);
		emi_file_close(f);
		free(path);
		end(&x);
	}
}

static void test_idle_and_empty(void **state)
{
	fixture x;
	emi_request rq;
	emi_io_stats stats;
	em_file *f;

	(void)state;
	memset(&rq, 0, sizeof rq);
	memset(&stats, 0, sizeof stats);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_true(emi_done(&rq));
	assert_true(emi_wait_for(&rq, 100));
	begin(&x, 0, NULL);
	f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
	emi_write(f, &rq, "", 0, 77, &stats);
	assert_true(emi_done(&rq));
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, 0);
	assert_int_equal(stats.ios_written, 0);
	emi_file_close(f);
	end(&x);
}

/* Extents go while transfers of the rest are made; the rest stays what it is, and so does the size. */
static void test_discard(void **state)
{
	enum { PIECE = 1 << 18, N = 24 };
	test_rng rng = test_rng_make(test_seed());
	char *data = io_buffer(&rng, PIECE), *back = io_buffer(&rng, PIECE);
	uint32_t b, i;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		emi_extent list[N / 2];
		em_errinfo err = clean();
		emi_request rq, more[4];
		uint64_t size = 0;
		fixture x;
		em_file *f;

		begin(&x, b, NULL);
		f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		assert_true(emi_file_discards(f));
		for (i = 0; i < N; i++)
			assert_int_equal(io_write(f, data, PIECE, (uint64_t)i * PIECE, &err), EM_OK);
		for (i = 0; i < N / 2; i++) {
			list[i].offset = (uint64_t)(2 * i) * PIECE;
			list[i].bytes = PIECE;
		}
		memset(&rq, 0, sizeof rq);
		emi_discard(f, &rq, list, N / 2);
		for (i = 1; i < N; i += 2) {
			memset(back, 0, PIECE);
			assert_int_equal(io_read(f, back, PIECE, (uint64_t)i * PIECE, &err), EM_OK);
			assert_memory_equal(back, data, PIECE);
		}
		if (emi_wait(&rq, &err) == EM_OK) {
			assert_int_equal(rq.done, N / 2);
			assert_int_equal(io_read(f, back, PIECE, 0, &err), EM_OK);
			for (i = 0; i < PIECE; i++)
				assert_int_equal(back[i], 0);
		} else {
			assert_int_equal(rq.status, EM_ERR_NOTSUP);
			assert_string_equal(err.op, "discard");
		}
		assert_int_equal(emi_file_size(f, &size, &err), EM_OK);
		assert_int_equal(size, N * PIECE);
		/* Several at a time; closing waits for them. */
		memset(more, 0, sizeof more);
		for (i = 0; i < 4; i++)
			emi_discard(f, &more[i], list + i, 1);
		emi_file_close(f);
		for (i = 0; i < 4; i++)
			assert_true(emi_done(&more[i]));
		end(&x);
	}
	free(data);
	free(back);
}

/* How many went before one failed is told; an interruption is no failure. */
static void test_discard_failures(void **state)
{
	static const emi_extent list[3] = { { 0, 4096 }, { 8192, 4096 }, { 16384, 4096 } };
	static const int kinds[] = { EIO, EOPNOTSUPP, EINTR };
	uint32_t k;

	(void)state;
	for (k = 0; k < 3; k++) {
		char *dir = test_dir_make();
		io_setup setup = {0};
		em_errinfo err = clean();
		emi_request rq;
		em_fault fault;
		em_ctx *ctx;
		em_file *f;

		assert_int_equal(em_fault_init(&fault, sizeof fault, em_backend_find("memory")), EM_OK);
		fault.ops = EM_FAULT_DISCARD;
		fault.nth = 2;
		fault.sys_errno = kinds[k];
		setup.dir = dir;
		setup.custom = em_fault_backend(&fault);
		ctx = io_ctx(&setup);
		f = io_open(ctx, dir, EMI_OPEN_TEMP);
		memset(&rq, 0, sizeof rq);
		emi_discard(f, &rq, list, 3);
		assert_int_equal(emi_wait(&rq, &err), k == 0 ? EM_ERR_IO : k == 1 ? EM_ERR_NOTSUP : EM_OK);
		assert_int_equal(fault.injected, 1);
		assert_int_equal(rq.done, k < 2 ? 1 : 3);
		assert_int_equal(err.sys_errno, k < 2 ? kinds[k] : 0);
		emi_file_close(f);
		em_ctx_close(ctx);
		test_dir_remove(dir);
	}
}

static void test_reserve(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		uint64_t size = 0;
		em_errinfo err = clean();
		fixture x;
		em_file *f;

		begin(&x, b, NULL);
		f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		assert_int_equal(emi_file_reserve(f, 4096, 1 << 20, &err), EM_OK);
		assert_int_equal(emi_file_reserve(f, 0, 0, &err), EM_OK);
		assert_int_equal(emi_file_size(f, &size, &err), EM_OK);
		assert_true(size == 0 || size == 4096 + (1 << 20));
		/* More than any file may have. */
		assert_int_equal(emi_file_reserve(f, (uint64_t)1 << 62, (uint64_t)1 << 62, &err), EM_ERR_NOSPACE);
		assert_string_equal(err.op, "reserve");
		emi_file_close(f);
		end(&x);
	}
}

/* Descriptors are counted, also when opening fails, and a budget that is used up is an error. */
static void test_descriptors(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		int has_fd = !in_memory(b);
		io_setup setup = {0};
		em_errinfo err = clean();
		em_file *f[5], *no = NULL;
		fixture x;
		unsigned i;

		setup.fds = 4;
		begin(&x, b, &setup);
		for (i = 0; i < 4; i++)
			f[i] = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		if (has_fd) {
			assert_int_equal(x.ctx->fds_used, 4);
			assert_int_equal(emi_file_open(&no, x.ctx, x.dir, EMI_OPEN_TEMP, &err), EM_ERR_FDLIMIT);
			assert_null(no);
		}
		emi_file_close(f[0]);
		f[0] = io_open(x.ctx, x.dir, EMI_OPEN_TEMP);
		for (i = 0; i < 4; i++)
			emi_file_close(f[i]);
		assert_int_equal(x.ctx->fds_used, 0);
		end(&x);
	}
}

/* The limit of the process may be tighter than the budget. */
static void test_rlimit(void **state)
{
	struct rlimit old, tight;
	em_errinfo err = clean();
	io_setup setup = {0};
	em_file *f[64];
	unsigned n = 0;
	em_status st = EM_OK;
	fixture x;

	(void)state;
	setup.fds = 64;
	begin(&x, 0, &setup);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = 24;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	while (n < 64) {
		st = emi_file_open(&f[n], x.ctx, x.dir, EMI_OPEN_TEMP, &err);
		if (st != EM_OK)
			break;
		n++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(st, EM_ERR_FDLIMIT);
	assert_int_equal(err.sys_errno, EMFILE);
	assert_int_equal(x.ctx->fds_used, n);
	while (n-- > 0)
		emi_file_close(f[n]);
	end(&x);
}

static void test_memory_budget(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		io_setup setup = {0};
		em_errinfo err = clean();
		em_file *f[400];
		uint64_t before, one;
		em_status st = EM_OK;
		unsigned n = 0;
		fixture x;

		setup.memory = (uint64_t)4 << 20;
		setup.fds = 400;
		begin(&x, b, &setup);
		before = em_ctx_memory_used(x.ctx);
		/* Each with a queue of its own: those of one disk take hardly any. */
		assert_int_equal(emi_file_open_on(&f[0], x.ctx, x.dir, EMI_OPEN_TEMP, EM_DIRECT_TRY, 1, &err), EM_OK);
		one = em_ctx_memory_used(x.ctx) - before;
		assert_true(one <= emi_file_memory(x.ctx));
		assert_true(one > 32768);
		for (n = 1; n < 400; n++) {
			st = emi_file_open_on(&f[n], x.ctx, x.dir, EMI_OPEN_TEMP, EM_DIRECT_TRY, n + 1, &err);
			if (st != EM_OK)
				break;
		}
		assert_int_equal(st, EM_ERR_MEMLIMIT);
		assert_true(n >= 30);
		while (n-- > 0)
			emi_file_close(f[n]);
		assert_int_equal(em_ctx_memory_used(x.ctx), before);
		end(&x);
	}
}

/* Whichever allocation of opening fails, it is reported and nothing is kept. */
static void test_allocation_fails(void **state)
{
	uint32_t b;
	uint64_t n;

	(void)state;
	for (b = 0; b < em_backend_count(); b++)
		for (n = test_nth_after(0, 1);; n = test_nth_after(n, 1)) {
			em_errinfo err = clean();
			em_file *f = NULL;
			em_status st;
			fixture x;

			begin(&x, b, NULL);
			x.mem.fail_at = x.mem.calls + n;
			st = emi_file_open(&f, x.ctx, x.dir, EMI_OPEN_TEMP, &err);
			if (st == EM_OK) {
				emi_file_close(f);
				end(&x);
				break;
			}
			assert_int_equal(st, EM_ERR_NOMEM);
			assert_int_equal(err.status, EM_ERR_NOMEM);
			assert_null(f);
			assert_int_equal(x.ctx->fds_used, 0);
			end(&x);
			assert_true(n < 10);
		}
}

/* A child can neither transfer nor open, does not hang, and closes what it inherited. */
static int child(em_ctx *ctx, em_file *f, emi_request *pending, const char *dir)
{
	static char page[4096];
	em_file *g = NULL;
	uint64_t size;
	int wrong = 0;

	wrong |= (emi_file_open(&g, ctx, dir, EMI_OPEN_TEMP, NULL) != EM_ERR_FORK) << 0;
	wrong |= (io_read(f, page, sizeof page, 0, NULL) != EM_ERR_FORK) << 1;
	wrong |= (emi_file_size(f, &size, NULL) != EM_ERR_FORK) << 2;
	wrong |= (emi_file_resize(f, 0, NULL) != EM_ERR_FORK) << 3;
	wrong |= (emi_file_reserve(f, 0, 1, NULL) != EM_ERR_FORK) << 4;
	pending->file = f;
	pending->state = EMI_QUEUED;
	wrong |= (!emi_done(pending)) << 5;
	wrong |= (emi_wait(pending, NULL) != EM_ERR_FORK) << 6;
	emi_file_close(f);
	em_ctx_close(ctx);
	return wrong;
}

static void test_fork(void **state)
{
	uint32_t b;

	(void)state;
	for (b = 0; b < em_backend_count(); b++) {
		static char page[4096];
		emi_request rq;
		fixture x;
		em_file *f;
		int status = 0;
		pid_t pid;

		memset(&rq, 0, sizeof rq);
		begin(&x, b, NULL);
		f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP | EMI_OPEN_BUFFERED);
		assert_int_equal(io_write(f, page, sizeof page, 0, NULL), EM_OK);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			_exit(child(x.ctx, f, &rq, x.dir));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		/* The parent goes on. */
		assert_int_equal(io_read(f, page, sizeof page, 0, NULL), EM_OK);
		emi_file_close(f);
		end(&x);
	}
}

/* The file keeps its context. */
static void test_context_closed_first(void **state)
{
	fixture x;
	static char page[4096];
	em_file *f;

	(void)state;
	begin(&x, 0, NULL);
	f = io_open(x.ctx, x.dir, EMI_OPEN_TEMP | EMI_OPEN_BUFFERED);
	em_ctx_close(x.ctx);
	assert_int_equal(io_write(f, page, sizeof page, 0, NULL), EM_OK);
	emi_file_close(f);
	test_memory_assert_clean(&x.mem);
	test_dir_remove(x.dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named_file),
		cmocka_unit_test(test_discard),
		cmocka_unit_test(test_discard_failures),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_temp_leaves_nothing),
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_transfer_fails),
		cmocka_unit_test(test_idle_and_empty),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_rlimit),
		cmocka_unit_test(test_memory_budget),
		cmocka_unit_test(test_allocation_fails),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_context_closed_first),
	};

	return cmocka_run_group_tests_name("io/file", tests, NULL, NULL);
}
