/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_open_limits.c -- making contexts where the process is limited: address space, data, a control group, many
 * processors.
 *
 * Limits cannot be taken back, so each case runs in a child, which ends with the number of the line that was wrong.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <extmem/ctx.h>

#include "base/budget.h"
#include "base/error.h"
#include "base/memory.h"
#include "common/scarce.h"
#include "common/test.h"

#define MIB ((uint64_t)1 << 20)
#define CANNOT 2                /* a line where nothing is looked at */

#define CHECK(what)                  \
	do {                         \
		if (!(what))         \
			return __LINE__; \
	} while (0)

static void in_child(int (*fn)(void *arg), void *arg)
{
	int end[2], status, line = 0;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		line = fn(arg);
		_exit(write(end[1], &line, sizeof line) != sizeof line);
	}
	assert_int_equal(read(end[0], &line, sizeof line), sizeof line);
	close(end[0]);
	close(end[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (line == CANNOT)
		skip();
	if (line != 0)
		print_error("line %d\n", line);
	assert_int_equal(line, 0);
}

static int limit(unsigned resource, uint64_t bytes)
{
	struct rlimit r;

	r.rlim_cur = r.rlim_max = (rlim_t)bytes;
	return setrlimit(resource, &r) == 0;
}

typedef struct lines {
	uint32_t warnings;
	char text[4][200];
} lines;

static void keep_line(void *user, int32_t level, const char *line)
{
	lines *l = user;

	if (level == EM_LOG_WARN && l->warnings < 4)
		snprintf(l->text[l->warnings++], sizeof(l->text[0]), "%s", line);
}

static int is_named(const lines *l, const char *what)
{
	uint32_t i;

	for (i = 0; i < l->warnings; i++)
		if (strstr(l->text[i], what) != NULL)
			return 1;
	return 0;
}

typedef struct one_limit {
	unsigned resource;
	const char *what, *short_name;
} one_limit;

/* A share of what is left; the process takes some of it already. */
static int default_within(void *arg)
{
	const one_limit *one = arg;
	em_ctx *ctx;

	CHECK(limit(one->resource, 1024 * MIB));
	CHECK(em_ctx_open(&ctx, NULL) == EM_OK);
	CHECK(em_ctx_memory(ctx) < 256 * MIB && em_ctx_memory(ctx) > 220 * MIB);
	em_ctx_close(ctx);
	CHECK(limit(one->resource, 256 * MIB));
	CHECK(em_ctx_open(&ctx, NULL) == EM_OK);
	CHECK(em_ctx_memory(ctx) < 64 * MIB && em_ctx_memory(ctx) > 32 * MIB);
	em_ctx_close(ctx);
	return 0;
}

/* What the process takes already counts: as it takes more, less is left. */
static int what_is_used_counts(void *arg)
{
	const one_limit *one = arg;
	uint64_t before;
	em_ctx *ctx;
	char *taken;

	CHECK(limit(one->resource, 1024 * MIB));
	CHECK(em_ctx_open(&ctx, NULL) == EM_OK);
	before = em_ctx_memory(ctx);
	em_ctx_close(ctx);
	taken = malloc(400 * MIB);
	CHECK(taken != NULL);
	taken[0] = taken[400 * MIB - 1] = 1;
	CHECK(em_ctx_open(&ctx, NULL) == EM_OK);
	CHECK(em_ctx_memory(ctx) + 99 * MIB < before && em_ctx_memory(ctx) + 101 * MIB > before);
	em_ctx_close(ctx);
	CHECK(taken[0] == 1);
	free(taken);
	return 0;
}

static int warns_and_fails(void *arg)
{
	const one_limit *one = arg;
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;
	lines l;

	memset(&l, 0, sizeof l);
	memset(&err, 0, sizeof err);
	CHECK(limit(one->resource, 512 * MIB));
	opts.log = keep_line;
	opts.log_user = &l;
	opts.memory = 1024 * MIB;
	CHECK(em_ctx_open(&ctx, &opts) == EM_OK);
	CHECK(is_named(&l, one->what));
	CHECK(is_named(&l, "the memory budget of 1073741824 bytes exceeds the "));
	CHECK(emi_buffer_alloc(ctx, 600 * MIB, &err) == NULL);
	CHECK(err.status == EM_ERR_NOMEM);
	CHECK(strstr(err.text, "cannot allocate 629145600 bytes") != NULL);
	CHECK(strstr(err.text, "em_ctx_opts.memory is 1073741824") != NULL);
	CHECK(strstr(err.text, one->short_name) != NULL);
	CHECK(strstr(err.text, "536870912") != NULL);
	em_ctx_close(ctx);
	/* What is within it is not warned of. */
	memset(&l, 0, sizeof l);
	opts.memory = 128 * MIB;
	CHECK(em_ctx_open(&ctx, &opts) == EM_OK);
	CHECK(!is_named(&l, one->what));
	em_ctx_close(ctx);
	return 0;
}

/* One that is lower than what there is already leaves nothing: the least budget that there can be. */
static int nothing_left(void *arg)
{
	const one_limit *one = arg;
	uint64_t n = MIB;
	em_ctx *ctx;

	for (; n > 4096 && !limit(one->resource, n); n /= 2)
		continue;
	CHECK(em_ctx_open(&ctx, NULL) == EM_OK);
	CHECK(em_ctx_memory(ctx) == em_ctx_min_memory());
	em_ctx_close(ctx);
	return 0;
}

static void each_limit(int (*fn)(void *arg))
{
	one_limit all[] = {
		{ RLIMIT_AS, "the limit on the address space (ulimit -v)", "address space (ulimit -v)" },
		{ RLIMIT_DATA, "the limit on data (ulimit -d)", "data (ulimit -d)" },
	};
	size_t i;

	if (TEST_SHADOW)
		skip();
	for (i = 0; i < sizeof all / sizeof all[0]; i++)
		in_child(fn, &all[i]);
}

static void default_under_a_limit(void **state)
{
	(void)state;
	each_limit(default_within);
}

static void memory_in_use_is_subtracted(void **state)
{
	(void)state;
	each_limit(what_is_used_counts);
}

static void too_much_is_told(void **state)
{
	(void)state;
	each_limit(warns_and_fails);
}

static void more_in_use_than_allowed(void **state)
{
	(void)state;
	each_limit(nothing_left);
}

/* The group of this process in the memory hierarchy of version 1, if groups can be made there. */
static int own_group(char *dir, size_t room)
{
	FILE *f = fopen("/proc/self/cgroup", "r");
	char line[512];
	int found = 0;

	while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
		char *path = strstr(line, ":memory:");

		line[strcspn(line, "\n")] = '\0';
		if (path != NULL)
			found = snprintf(dir, room, "/sys/fs/cgroup/memory%s/extmem-test-%ld", path + 8,
					 (long)getppid()) < (int)room;
	}
	if (f != NULL)
		fclose(f);
	return found && mkdir(dir, 0700) == 0;
}

static int put(const char *dir, const char *name, const char *text)
{
	char path[600];
	FILE *f;
	int ok;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f == NULL)
		return 0;
	ok = fputs(text, f) >= 0;
	return fclose(f) == 0 && ok;
}

/* In a group of 2 GiB within one of 1 GiB, on 64 processors: the limit that holds is the least, and threads have
 * room. */
static int many_processors(void *arg)
{
	char outer[512], inner[560], id[32];
	em_ctx *ctx = NULL;
	int joined, line = 0;
	pid_t pid;

	(void)arg;
	if (!own_group(outer, sizeof outer))
		return CANNOT;
	snprintf(inner, sizeof inner, "%s/inner", outer);
	joined = put(outer, "memory.limit_in_bytes", "1G") && mkdir(inner, 0700) == 0 &&
		 put(inner, "memory.limit_in_bytes", "2G");
	/* Groups can be removed when nobody is in them. */
	pid = joined ? fork() : -1;
	if (pid == 0) {
		snprintf(id, sizeof id, "%ld", (long)getpid());
		if (!put(inner, "cgroup.procs", id))
			_exit(255);
		test_cpus(64);
		if (em_ctx_open(&ctx, NULL) != EM_OK)
			_exit(1);
		if (emi_physical_memory() >= 1024 * MIB && em_ctx_memory(ctx) != 256 * MIB)
			_exit(2);
		if (test_scarce() && em_ctx_threads(ctx) != 64)
			_exit(3);
		em_ctx_close(ctx);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &line, 0);
	rmdir(inner);
	rmdir(outer);
	if (pid < 0 || WEXITSTATUS(line) == 255)
		return CANNOT;
	return line;
}

static void in_a_control_group(void **state)
{
	(void)state;
	if (TEST_SHADOW)
		skip();
	in_child(many_processors, NULL);
}

/* One thread for each processor, but when their stacks would take much of the memory. */
static void processors(void **state)
{
	static const uint32_t cpus[] = { 1, 2, 63, 64, 512, 1000 };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_ctx *ctx;
	size_t i;

	(void)state;
	if (!test_scarce())
		skip();
	for (i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
		test_cpus(cpus[i]);
		assert_int_equal(emi_usable_cores(), cpus[i]);
		opts.memory = 4096 * MIB - 1;
		if (sizeof(size_t) > 4) {
			assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
			assert_int_equal(em_ctx_threads(ctx), cpus[i] < 512 ? cpus[i] : 512);
			em_ctx_close(ctx);
		}
		opts.memory = 16 * MIB;
		assert_int_equal(em_ctx_open(&ctx, &opts), EM_OK);
		assert_int_equal(em_ctx_threads(ctx), cpus[i] < 512 ? cpus[i] : 512);
		em_ctx_close(ctx);
	}
	test_cpus(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_under_a_limit),
		cmocka_unit_test(memory_in_use_is_subtracted),
		cmocka_unit_test(too_much_is_told),
		cmocka_unit_test(more_in_use_than_allowed),
		cmocka_unit_test(in_a_control_group),
		cmocka_unit_test(processors),
	};

	return cmocka_run_group_tests_name("ctx/open_limits", tests, NULL, NULL);
}
