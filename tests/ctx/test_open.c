/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_open.c -- making contexts: choices, bad options, every failure, fork, log.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/ctx.h>
#include <extmem/disk.h>
#include <extmem/sys/backend.h>

#include "base/budget.h"
#include "base/context.h"
#include "base/error.h"
#include "base/workers.h"
#include "common/test.h"

#define MIB ((uint64_t)1 << 20)

/* Open with these options, which must fail with a status, an untouched *out of NULL and a detail. */
static void must_fail(em_ctx_opts *opts, em_status expected, em_errinfo *err)
{
	em_ctx *ctx = (em_ctx *)(void *)opts;

	/* what the detail held before does not matter */
	memset(err, 0x77, sizeof(*err));
	opts->errinfo = err;
	assert_int_equal(em_ctx_open(&ctx, opts), expected);
	assert_null(ctx);
	assert_int_equal(err->status, expected);
	assert_true(strlen(err->text) > 5);
	/* without a detail it fails the same */
	opts->errinfo = NULL;
	assert_int_equal(em_ctx_open(&ctx, opts), expected);
	assert_null(ctx);
}

static void defaults(void **state)
{
	uint64_t there = emi_physical_memory();
	uint64_t limit = emi_cgroup_memory("");
	em_ctx *ctx;

	(void)state;
	/* Those of the process are for test_open_limits.c. */
	there = limit < there ? limit : there;
	there = SIZE_MAX < there ? SIZE_MAX : there;
	assert_int_equal(em_ctx_open(&ctx, NULL), EM_OK);
	assert_int_equal(em_ctx_memory(ctx), there / 4);
	assert_true(em_ctx_threads(ctx) >= 1);
	assert_true(em_ctx_threads(ctx) <= emi_usable_cores());
	assert_string_equal(em_ctx_backend(ctx), em_backend_find(NULL)->name);
	assert_true(strlen(em_ctx_isa(ctx)) > 0);
	assert_true(em_ctx_memory_used(ctx) > 0);
	assert_true(em_ctx_memory_peak(ctx) >= em_ctx_memory_used(ctx));
	assert_true(em_ctx_memory_used(ctx) < 4096);
	assert_string_equal(ctx->dir, "/var/tmp");
	assert_int_equal(ctx->direct, EM_DIRECT_TRY);
	em_ctx_close(ctx);
	em_ctx_close(NULL);
}

static void choices(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *dirs[] = { "/some/dir" };
	char name[] = "memory";
	char isa[] = "scalar";
	em_ctx *ctx;

	(void)state;
	opts.threads = 3;
	opts.memory = em_ctx_min_memory();
	opts.fds = 4;
	opts.direct = EM_DIRECT_OFF;
	opts.dirs = dirs;
	opts.ndirs = 1;
	opts.queue_depth = 5;
	opts.backend = name;
	opts.isa = isa;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	/* nothing is borrowed from the caller */
	memset(name, 'x', sizeof(name) - 1);
	memset(isa, 'x', sizeof(isa) - 1);
	dirs[0] = NULL;
	assert_int_equal(em_ctx_threads(ctx), 3);
	assert_int_equal(em_ctx_memory(ctx), MIB);
	assert_string_equal(em_ctx_backend(ctx), "memory");
	assert_string_equal(em_ctx_isa(ctx), "scalar");
	assert_string_equal(ctx->dir, "/some/dir");
	assert_int_equal(ctx->fds, 4);
	assert_int_equal(ctx->queue_depth, 5);
	assert_int_equal(ctx->direct, EM_DIRECT_OFF);
	em_ctx_close(ctx);
}

static void every_backend(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(em_backend_count() >= 2);
	for (i = 0; i < em_backend_count(); i++) {
		em_ctx_opts opts = EM_CTX_OPTS_INIT;
		em_ctx *ctx;

		opts.backend = em_backend_at(i)->name;
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
		assert_string_equal(em_ctx_backend(ctx), em_backend_at(i)->name);
		em_ctx_close(ctx);
	}
}

static void custom_backend(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_backend mine = *em_backend_find("syscall");
	em_errinfo err;
	em_ctx *ctx;

	(void)state;
	mine.name = "mine";
	opts.custom = &mine;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_string_equal(em_ctx_backend(ctx), "mine");
	assert_ptr_equal(ctx->backend, &mine);
	em_ctx_close(ctx);
	opts.backend = "syscall";
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.backend = NULL;
	mine.read = NULL;
	must_fail(&opts, EM_ERR_INVAL, &err);
}

static void bad_pointers(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	(void)state;
	assert_int_equal(em_ctx_open(NULL, NULL), EM_ERR_INVAL);
	memset(&err, 0, sizeof(err));
	opts.errinfo = &err;
	assert_int_equal(em_ctx_open(NULL, &opts), EM_ERR_INVAL);
	assert_int_equal(err.status, EM_ERR_INVAL);
}

static void bad_numbers(void **state)
{
	static const int32_t directs[] = { -1, 3, INT32_MIN, INT32_MAX };
	em_errinfo err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(directs) / sizeof(directs[0]); i++) {
		em_ctx_opts opts = EM_CTX_OPTS_INIT;

		opts.direct = directs[i];
		must_fail(&opts, EM_ERR_INVAL, &err);
		assert_non_null(strstr(err.text, "direct"));
	}
	{
		em_ctx_opts opts = EM_CTX_OPTS_INIT;

		opts.threads = EMI_MAX_THREADS + 1;
		must_fail(&opts, EM_ERR_INVAL, &err);
		assert_non_null(strstr(err.text, "threads"));
	}
	{
		em_ctx_opts opts = EM_CTX_OPTS_INIT;

		opts.flags = EM_CTX_CHECKED | 8;
		must_fail(&opts, EM_ERR_INVAL, &err);
		assert_non_null(strstr(err.text, "flags 0x9"));
	}
	{
		em_ctx_opts opts = EM_CTX_OPTS_INIT;

		opts.queue_depth = UINT32_MAX;
		must_fail(&opts, EM_ERR_INVAL, &err);
		assert_non_null(strstr(err.text, "queue_depth"));
	}
}

/* Several directories, and disks, all copied. */
static void takes_disks(void **state)
{
	char dir[] = "/some/dir", path[] = "/dev/some";
	const char *dirs[] = { dir, "/other" };
	em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_disk_opts *disks[] = { &disk };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	(void)state;
	opts.dirs = dirs;
	opts.ndirs = 2;
	opts.disks = disks;
	opts.ndisks = 1;
	opts.direct = EM_DIRECT_OFF;
	disk.path = path;
	disk.capacity = 12345;
	disk.backend = "memory";
	disk.queue_depth = 7;
	disk.flags = EM_DISK_FORCE;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	memset(dir, 'x', sizeof dir - 1);
	memset(path, 'x', sizeof path - 1);
	assert_int_equal(ctx->ndisks, 3);
	assert_string_equal(ctx->dir, "/some/dir");
	assert_string_equal(ctx->disk[0].path, "/some/dir");
	assert_string_equal(ctx->disk[1].path, "/other");
	assert_string_equal(ctx->disk[2].path, "/dev/some");
	assert_int_equal(ctx->disk[1].directory, 1);
	assert_int_equal(ctx->disk[2].directory, 0);
	assert_int_equal(ctx->disk[2].capacity, 12345);
	assert_int_equal(ctx->disk[2].direct, EM_DIRECT_OFF);
	assert_int_equal(ctx->disk[2].queue_depth, 7);
	assert_int_equal(ctx->disk[2].flags, EM_DISK_FORCE);
	assert_string_equal(ctx->disk[2].backend->name, "memory");
	em_ctx_close(ctx);
}

static void bad_disks(void **state)
{
	em_disk_opts disk = EM_DISK_OPTS_INIT;
	const em_disk_opts *disks[] = { &disk, NULL };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	(void)state;
	opts.ndisks = 1;
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.disks = disks;
	opts.ndisks = 0;
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.ndisks = 1;
	must_fail(&opts, EM_ERR_INVAL, &err);
	assert_non_null(strstr(err.text, "disks[0]"));
	disk.path = "/tmp";
	opts.ndisks = 2;
	must_fail(&opts, EM_ERR_INVAL, &err);
	assert_non_null(strstr(err.text, "disks[1]"));
	opts.ndisks = 1;
	disk.flags = 8;
	must_fail(&opts, EM_ERR_INVAL, &err);
	disk.flags = EM_DISK_FIXED;
	must_fail(&opts, EM_ERR_INVAL, &err);
	assert_non_null(strstr(err.text, "no capacity"));
	disk.flags = 0;
	disk.direct = -2;
	must_fail(&opts, EM_ERR_INVAL, &err);
	disk.direct = EM_DIRECT_CONTEXT;
	disk.queue_depth = 4097;
	must_fail(&opts, EM_ERR_INVAL, &err);
	disk.queue_depth = 0;
	disk.backend = "punched cards";
	must_fail(&opts, EM_ERR_NOTSUP, &err);
	assert_non_null(strstr(err.text, "punched cards"));
	disk.size = 4;
	must_fail(&opts, EM_ERR_VERSION, &err);
	assert_non_null(strstr(err.text, "em_disk_opts"));
}

/* The block size that is usual. */
static void block_bytes(void **state)
{
	static const uint64_t bad[] = { 1, 4095, 4097, ((uint64_t)1 << 30) + 4096, UINT64_MAX };
	static const uint64_t good[] = { 0, 4096, 12288, (uint64_t)1 << 30 };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		opts.block_bytes = bad[i];
		must_fail(&opts, EM_ERR_INVAL, &err);
		assert_non_null(strstr(err.text, "block_bytes"));
	}
	for (i = 0; i < sizeof good / sizeof good[0]; i++) {
		opts.block_bytes = good[i];
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
		assert_int_equal(ctx->block_bytes, good[i]);
		em_ctx_close(ctx);
	}
}

static void bad_dirs(void **state)
{
	const char *two[] = { "/tmp", "/var/tmp" };
	const char *none[] = { NULL };
	const char *empty[] = { "" };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	(void)state;
	opts.ndirs = 1;
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.dirs = two;
	opts.ndirs = 0;
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.ndirs = 257;
	must_fail(&opts, EM_ERR_INVAL, &err);
	two[1] = "";
	opts.ndirs = 2;
	must_fail(&opts, EM_ERR_INVAL, &err);
	assert_non_null(strstr(err.text, "dirs[1]"));
	opts.ndirs = 1;
	opts.dirs = none;
	must_fail(&opts, EM_ERR_INVAL, &err);
	opts.dirs = empty;
	must_fail(&opts, EM_ERR_INVAL, &err);
	assert_non_null(strstr(err.text, "dirs"));
}

static void bad_names(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	(void)state;
	opts.backend = "nosuch";
	must_fail(&opts, EM_ERR_NOTSUP, &err);
	assert_non_null(strstr(err.text, "there is no backend 'nosuch'"));
	if (!em_backend_supported("libaio")) {
		opts.backend = "libaio";
		must_fail(&opts, EM_ERR_NOTSUP, &err);
		assert_non_null(strstr(err.text, "'libaio' does not work here: "));
	}
	opts.backend = "";
	must_fail(&opts, EM_ERR_NOTSUP, &err);
	opts.backend = NULL;
	opts.isa = "z80";
	must_fail(&opts, EM_ERR_NOTSUP, &err);
	assert_non_null(strstr(err.text, "'z80'"));
}

static void bad_allocator(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	test_memory mem;

	(void)state;
	test_memory_init(&mem, 0);
	opts.allocator = &mem.allocator;
	mem.allocator.release = NULL;
	must_fail(&opts, EM_ERR_INVAL, &err);
	test_memory_init(&mem, 0);
	mem.allocator.alloc = NULL;
	must_fail(&opts, EM_ERR_INVAL, &err);
	test_memory_init(&mem, 0);
	mem.allocator.size = 0;
	must_fail(&opts, EM_ERR_VERSION, &err);
	assert_non_null(strstr(err.text, "em_allocator"));
}

static void too_little_memory(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	(void)state;
	assert_int_equal(em_ctx_min_memory(), MIB);
	opts.memory = 1;
	must_fail(&opts, EM_ERR_MEMLIMIT, &err);
	assert_int_equal(err.bytes, MIB);
	assert_non_null(strstr(err.text, "1048576"));
	opts.memory = MIB - 1;
	must_fail(&opts, EM_ERR_MEMLIMIT, &err);
}

/* A directory name so long that the budget does not hold it. */
static void too_long_a_name(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	size_t bytes = (size_t)(2 * MIB);
	char *name = malloc(bytes);
	const char *dirs[1];
	em_errinfo err;

	(void)state;
	assert_non_null(name);
	memset(name, 'n', bytes);
	name[bytes - 1] = '\0';
	dirs[0] = name;
	opts.dirs = dirs;
	opts.ndirs = 1;
	opts.memory = MIB;
	must_fail(&opts, EM_ERR_MEMLIMIT, &err);
	free(name);
}

static void too_few_descriptors(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	struct rlimit old, small;
	int fds[32];
	em_errinfo err;
	em_ctx *ctx;
	int n = 0;

	(void)state;
	opts.fds = 3;
	must_fail(&opts, EM_ERR_FDLIMIT, &err);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	small = old;
	small.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	while (n < 32 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	/* what is left: 0, 3, 4 */
	opts.fds = 0;
	must_fail(&opts, EM_ERR_FDLIMIT, &err);
	assert_true(n >= 4);
	close(fds[--n]);
	close(fds[--n]);
	close(fds[--n]);
	must_fail(&opts, EM_ERR_FDLIMIT, &err);
	opts.fds = 100;
	must_fail(&opts, EM_ERR_FDLIMIT, &err);
	opts.fds = 0;
	close(fds[--n]);
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(ctx->fds, 4);
	em_ctx_close(ctx);
	while (n > 0)
		close(fds[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* Callers that come later. */
static void other_versions(void **state)
{
	struct {
		em_ctx_opts opts;
		uint64_t more[4];
	} newer;
	const em_ctx_opts init = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;

	(void)state;
	memset(&newer, 0, sizeof(newer));
	newer.opts = init;
	newer.opts.size = sizeof(newer);
	newer.opts.memory = 5 * MIB;
	assert_int_equal(em_ctx_open(&ctx, &newer.opts), EM_OK);
	assert_int_equal(em_ctx_memory(ctx), 5 * MIB);
	em_ctx_close(ctx);
	newer.more[3] = 1;
	must_fail(&newer.opts, EM_ERR_VERSION, &err);
	assert_non_null(strstr(err.text, "em_ctx_opts"));
}

/* When the size is none, errinfo is no pointer either; but where it is 0 the initialiser was forgotten. */
static void no_size(void **state)
{
	static const uint32_t sizes[] = { 4, offsetof(em_ctx_opts, custom) - 1, UINT32_MAX };
	em_ctx_opts zeroed;
	em_errinfo err;
	size_t i;

	(void)state;
	memset(&zeroed, 0, sizeof(zeroed));
	must_fail(&zeroed, EM_ERR_VERSION, &err);
	assert_non_null(strstr(err.text, "em_ctx_opts"));
	assert_non_null(strstr(err.text, "initialiser"));
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		em_ctx_opts opts = EM_CTX_OPTS_INIT;
		em_ctx *ctx = (em_ctx *)(void *)&opts;

		opts.size = sizes[i];
		opts.errinfo = (em_errinfo *)(uintptr_t)8;
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_ERR_VERSION);
		assert_null(ctx);
	}
}

/* Lines that were logged. */
typedef struct lines {
	int warnings;
	int others;
	char text[4][512];
} lines;

static void keep_line(void *user, int32_t level, const char *line)
{
	lines *l = user;

	if (level != EM_LOG_WARN) {
		l->others++;
		return;
	}
	if (l->warnings < 4)
		snprintf(l->text[l->warnings], sizeof(l->text[0]), "%s", line);
	l->warnings++;
}

static void too_large_a_budget_is_logged(void **state)
{
	int limited = emi_cgroup_memory("") != UINT64_MAX;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	lines l;

	(void)state;
	if (emi_physical_memory() == UINT64_MAX)
		skip();
	memset(&l, 0, sizeof(l));
	opts.log = keep_line;
	opts.log_user = &l;
	opts.memory = UINT64_MAX;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_true(em_ctx_memory(ctx) == UINT64_MAX);
	assert_int_equal(l.warnings, 1 + limited);
	assert_non_null(strstr(l.text[0], "physical memory"));
	assert_non_null(strstr(l.text[0], "18446744073709551615"));
	if (limited)
		assert_non_null(strstr(l.text[1], "control group"));
	em_ctx_close(ctx);

	/* all of it is not too much */
	memset(&l, 0, sizeof(l));
	opts.memory = emi_physical_memory();
	if (limited && emi_cgroup_memory("") < opts.memory)
		opts.memory = emi_cgroup_memory("");
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(l.warnings, 0);
	assert_true(l.others > 0);
	em_ctx_close(ctx);
}

/* Everything comes from the caller's allocator and goes back to it. */
static void own_allocator(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	test_memory mem;
	em_ctx *ctx;

	(void)state;
	test_memory_init(&mem, 0);
	opts.allocator = &mem.allocator;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(mem.bytes, em_ctx_memory_used(ctx));
	assert_int_equal(em_ctx_memory_peak(ctx), em_ctx_memory_used(ctx));
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

static void every_allocation_fails_once(void **state)
{
	uint64_t n;

	(void)state;
	for (n = test_nth_after(0, 1);; n = test_nth_after(n, 1)) {
		em_ctx_opts opts = EM_CTX_OPTS_INIT;
		test_memory mem;
		em_errinfo err;
		em_ctx *ctx;
		em_status st;

		memset(&err, 0, sizeof(err));
		test_memory_init(&mem, n);
		opts.allocator = &mem.allocator;
		opts.errinfo = &err;
		st = em_ctx_open(&ctx, &opts);
		if (!test_memory_failed(&mem)) {
			assert_int_equal(st, EM_OK);
			em_ctx_close(ctx);
			test_memory_assert_clean(&mem);
			break;
		}
		assert_int_equal(st, EM_ERR_NOMEM);
		assert_int_equal(err.status, EM_ERR_NOMEM);
		assert_null(ctx);
		test_memory_assert_clean(&mem);
	}
	assert_true(n > 2);
}

/* The environment is not read. */
static void environment_is_not_read(void **state)
{
	em_ctx *ctx;

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/no/such/dir", 1), 0);
	assert_int_equal(setenv("EXTMEM_TMPDIR", "/no/such/dir", 1), 0);
	assert_int_equal(em_ctx_open(&ctx, NULL), EM_OK);
	assert_string_equal(ctx->dir, "/var/tmp");
	em_ctx_close(ctx);
	unsetenv("TMPDIR");
	unsetenv("EXTMEM_TMPDIR");
}

static void two_contexts_never_meet(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *a, *b;

	(void)state;
	opts.memory = 2 * MIB;
	assert_int_equal(em_ctx_open(&a, &opts), EM_OK);
	opts.memory = 3 * MIB;
	assert_int_equal(em_ctx_open(&b, &opts), EM_OK);
	assert_int_equal(em_ctx_memory_used(a), em_ctx_memory_used(b));
	em_ctx_close(a);
	assert_int_equal(em_ctx_memory(b), 3 * MIB);
	em_ctx_close(b);
}

static void meet(void *barrier, uint32_t i)
{
	(void)i;
	pthread_barrier_wait(barrier);
}

/* A child closes what its parent opened: memory goes, threads are not waited for. */
static void close_in_a_child(void **state)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	pthread_barrier_t all;
	test_memory mem;
	em_ctx *ctx;
	int wstatus;
	pid_t pid;

	(void)state;
	if (TEST_TSAN)
		skip();
	test_memory_init(&mem, 0);
	opts.allocator = &mem.allocator;
	opts.threads = 3;
	opts.memory = 16 * MIB;
	assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
	assert_int_equal(emi_workers_start(ctx, NULL), EM_OK);
	/* A sanitizer holds locks of its own while a thread begins, and the child could begin none if that were now. */
	assert_int_equal(pthread_barrier_init(&all, NULL, opts.threads), 0);
	emi_parallel(ctx, opts.threads, meet, &all);
	pthread_barrier_destroy(&all);
	pthread_mutex_lock(&ctx->lock);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		em_ctx *own;
		int bad = 0;

		bad |= emi_ctx_check(ctx, NULL) != EM_ERR_FORK;
		em_ctx_close(ctx);
		bad |= mem.blocks != 0 || mem.bytes != 0 || mem.errors != 0;
		/* and may make its own */
		bad |= em_ctx_open(&own, &opts) != EM_OK;
		if (!bad) {
			bad |= emi_workers_start(own, NULL) != EM_OK;
			em_ctx_close(own);
			bad |= mem.blocks != 0;
		}
		_exit(bad);
	}
	pthread_mutex_unlock(&ctx->lock);
	assert_int_equal(waitpid(pid, &wstatus, 0), pid);
	assert_true(WIFEXITED(wstatus));
	assert_int_equal(WEXITSTATUS(wstatus), 0);
	em_ctx_close(ctx);
	test_memory_assert_clean(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(choices),
		cmocka_unit_test(every_backend),
		cmocka_unit_test(custom_backend),
		cmocka_unit_test(bad_pointers),
		cmocka_unit_test(bad_numbers),
		cmocka_unit_test(bad_dirs),
		cmocka_unit_test(takes_disks),
		cmocka_unit_test(bad_disks),
		cmocka_unit_test(block_bytes),
		cmocka_unit_test(bad_names),
		cmocka_unit_test(bad_allocator),
		cmocka_unit_test(too_little_memory),
		cmocka_unit_test(too_long_a_name),
		cmocka_unit_test(too_few_descriptors),
		cmocka_unit_test(other_versions),
		cmocka_unit_test(no_size),
		cmocka_unit_test(too_large_a_budget_is_logged),
		cmocka_unit_test(own_allocator),
		cmocka_unit_test(every_allocation_fails_once),
		cmocka_unit_test(environment_is_not_read),
		cmocka_unit_test(two_contexts_never_meet),
		cmocka_unit_test(close_in_a_child),
	};

	return cmocka_run_group_tests_name("ctx/open", tests, NULL, NULL);
}
