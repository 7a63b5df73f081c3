/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_open_text.c -- contexts and disks from text: what is told arrives, what is wrong is named with its place, and
 * nothing that was allocated stays.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <extmem/disk.h>
#include <extmem/sort.h>
#include <extmem/sys/simdisk.h>

#include "base/context.h"
#include "common/test.h"

static em_ctx *open_ok(const char *text)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx;

	o.errinfo = &err;
	if (em_ctx_open_text(&ctx, text, &o) != EM_OK)
		fail_msg("%s: %s", text, err.text);
	return ctx;
}

static void test_numbers(void **state)
{
	em_ctx *ctx = open_ok("threads=2,memory=48M,fds=20,queue-depth=9,scratch-max=3GB,block-size=64K,priority=read,"
			      "direct=off,isa=scalar,backend=memory,checked,raise,log-caller");

	(void)state;
	assert_int_equal(em_ctx_threads(ctx), 2);
	assert_int_equal(em_ctx_memory(ctx), (uint64_t)48 << 20);
	assert_int_equal(ctx->fds, 20);
	assert_int_equal(ctx->queue_depth, 9);
	assert_true(ctx->scratch_max == UINT64_C(3000000000));
	assert_int_equal(ctx->block_bytes, 65536);
	assert_int_equal(ctx->priority, EM_PRIORITY_READ);
	assert_int_equal(ctx->direct, EM_DIRECT_OFF);
	assert_string_equal(em_ctx_isa(ctx), "scalar");
	assert_string_equal(em_ctx_backend(ctx), "memory");
	assert_int_equal(ctx->flags, EM_CTX_CHECKED | EM_CTX_RAISE | EM_CTX_LOG_CALLER);
	em_ctx_close(ctx);
	ctx = open_ok("");
	em_ctx_close(ctx);
}

static void test_disks(void **state)
{
	em_ctx *ctx = open_ok("memory=16M,disk=/a\\,b\\\\c,100G,syscall,queue=7,direct=off,fixed,keep,disk=/d,,,force,"
			      "threads=1,dir=/e\\,f,disk=/g,1,memory");

	(void)state;
	assert_int_equal(ctx->ndisks, 4);
	assert_string_equal(ctx->disk[0].path, "/e,f");
	assert_true(ctx->disk[0].directory);
	assert_string_equal(ctx->disk[1].path, "/a,b\\c");
	assert_true(ctx->disk[1].capacity == (uint64_t)100 << 30);
	assert_string_equal(ctx->disk[1].backend->name, "syscall");
	assert_int_equal(ctx->disk[1].queue_depth, 7);
	assert_int_equal(ctx->disk[1].direct, EM_DIRECT_OFF);
	assert_int_equal(ctx->disk[1].flags, EM_DISK_FIXED | EM_DISK_KEEP);
	assert_string_equal(ctx->disk[2].path, "/d");
	assert_true(ctx->disk[2].capacity == 0);
	assert_int_equal(ctx->disk[2].flags, EM_DISK_FORCE);
	assert_string_equal(ctx->disk[3].path, "/g");
	assert_string_equal(ctx->disk[3].backend->name, "memory");
	assert_int_equal(ctx->disk[3].capacity, 1);
	assert_int_equal(em_ctx_threads(ctx), 1);
	em_ctx_close(ctx);
}

/* The parameters of a simulated disk are the context's to keep: a sort goes to it. */
static void test_simulated(void **state)
{
	em_ctx *ctx = open_ok("memory=4M,disk=/tmp,64M,simdisk,rate=2GB,seek=1us,"
			      "disk=/tmp,64M,simdisk,rate=2GB,seek=1us");
	const em_batch *batch;
	uint64_t i, n = 1000000, seen = 0;
	em_order *order;
	em_sorter *s;

	(void)state;
	assert_int_equal(ctx->ndisks, 2);
	assert_string_equal(ctx->disk[0].backend->name, "simdisk");
	assert_int_equal(em_order_keys(&order, ctx, sizeof i, NULL, 0, NULL), EM_OK);
	assert_int_equal(em_sorter_open(&s, ctx, order, NULL), EM_OK);
	em_order_close(order);
	em_ctx_close(ctx);
	for (i = 0; i < n; i++)
		assert_int_equal(em_sorter_push(s, &i, 1), EM_OK);
	assert_int_equal(em_sorter_finish(s), EM_OK);
	while (em_sorter_next(s, &batch) == EM_OK)
		seen += batch->n;
	assert_true(seen == n);
	em_sorter_close(s);
}

static void expect_bad(const char *text, em_status st, uint64_t offset, const char *says)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx = (em_ctx *)&o;
	em_errinfo err;

	o.errinfo = &err;
	assert_int_equal(em_ctx_open_text(&ctx, text, &o), st);
	assert_null(ctx);
	assert_int_equal(err.status, st);
	if (strstr(err.text, says) == NULL || err.offset != offset)
		fail_msg("\"%s\": at %lld: %s", text, (long long)err.offset, err.text);
}

static void test_bad(void **state)
{
	(void)state;
	expect_bad("memory=1Q", EM_ERR_INVAL, 0, "byte 0: memory 1Q: unknown unit");
	expect_bad("threads=1,memory=", EM_ERR_INVAL, 10, "byte 10: memory: the value is empty");
	expect_bad("threads=1K", EM_ERR_INVAL, 0, "threads 1K: not a number");
	expect_bad("threads=513", EM_ERR_INVAL, 0, "must be at most 512");
	expect_bad("memory=99999999999999999999", EM_ERR_INVAL, 0, "too large");
	expect_bad("memory=99999999999T", EM_ERR_INVAL, 0, "too large");
	expect_bad("threads=1,threads=1", EM_ERR_INVAL, 10, "threads was given before");
	expect_bad("nosuch=1", EM_ERR_INVAL, 0, "'nosuch=1': there is no such option");
	expect_bad("threads", EM_ERR_INVAL, 0, "'threads': there is no such option");
	expect_bad("checked=1", EM_ERR_INVAL, 0, "'checked=1': there is no such option");
	expect_bad("threads=1,,fds=9", EM_ERR_INVAL, 10, "'': there is no such option");
	expect_bad("direct=maybe", EM_ERR_INVAL, 0, "direct maybe: must be try, off or on");
	expect_bad("direct=", EM_ERR_INVAL, 0, "direct: the value is empty");
	expect_bad("direct=of", EM_ERR_INVAL, 0, "must be");
	expect_bad("backend=", EM_ERR_INVAL, 0, "backend: the name is empty");
	expect_bad("backend=nosuch", EM_ERR_NOTSUP, UINT64_MAX, "there is no backend 'nosuch'");
	expect_bad("dir=", EM_ERR_INVAL, 0, "dir: the name is empty");
	expect_bad("disk=", EM_ERR_INVAL, 5, "byte 5: disk: the path is empty");
	expect_bad("disk=/tmp,1X", EM_ERR_INVAL, 10, "disk size 1X: unknown unit");
	expect_bad("fds=9,disk=/tmp,,,queue=4097", EM_ERR_INVAL, 18, "disk queue 4097: must be at most 4096");
	expect_bad("disk=/tmp,,,force,force", EM_ERR_INVAL, 18, "force was given before");
	expect_bad("disk=/tmp,,,rate=5M", EM_ERR_INVAL, 12, "no such option of disks that are not simulated");
	expect_bad("disk=/tmp,,,size=5M", EM_ERR_INVAL, 12, "no such option");
	expect_bad("disk=/tmp,,simdisk,rate=x", EM_ERR_INVAL, 19, "rate=x");
	expect_bad("disk=/tmp,,nosuch", EM_ERR_NOTSUP, UINT64_MAX, "nosuch");
	expect_bad("memory=1K", EM_ERR_MEMLIMIT, UINT64_MAX, "memory is 1024 bytes");
	expect_bad(NULL, EM_ERR_INVAL, UINT64_MAX, "text is NULL");
}

/* Nothing is told nowhere, and what the text does not say is as the options have it. */
static void test_options(void **state)
{
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	em_ctx *ctx;

	(void)state;
	assert_int_equal(em_ctx_open_text(NULL, "", NULL), EM_ERR_INVAL);
	assert_int_equal(em_ctx_open_text(&ctx, "x", NULL), EM_ERR_INVAL);
	o.threads = 3;
	o.memory = 8 << 20;
	assert_int_equal(em_ctx_open_text(&ctx, "memory=9M", &o), EM_OK);
	assert_int_equal(em_ctx_threads(ctx), 3);
	assert_int_equal(em_ctx_memory(ctx), 9 << 20);
	em_ctx_close(ctx);
	o.size = 0;
	assert_int_equal(em_ctx_open_text(&ctx, "", &o), EM_ERR_VERSION);
}

/* All memory is the caller's allocator's and goes back there, whichever call fails. */
static void test_allocator(void **state)
{
	static const char *const texts[] = { "memory=8M,dir=/a,dir=/b", "disk=/a,1M,simdisk,rate=1MB,memory=2M", "x" };
	em_ctx_opts o = EM_CTX_OPTS_INIT;
	test_memory mem;
	uint64_t fail;
	em_status st;
	em_ctx *ctx;
	size_t i;

	(void)state;
	o.allocator = &mem.allocator;
	for (i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		fail = 0;
		do {
			fail = test_nth_after(fail, 1);
			test_memory_init(&mem, fail);
			st = em_ctx_open_text(&ctx, texts[i], &o);
			assert_true(em_ctx_memory_used(ctx) == mem.bytes);
			em_ctx_close(ctx);
			test_memory_assert_clean(&mem);
			assert_true(!test_memory_failed(&mem) || st == EM_ERR_NOMEM);
		} while (test_memory_failed(&mem));
		assert_int_equal(st, i < 2 ? EM_OK : EM_ERR_INVAL);
		assert_true(fail > 1);
	}
}

static void test_disk_parse(void **state)
{
	char text[] = "/x,1K,simdisk,queue=3", bad[] = "/y,2K,simdisk,rate=1MB";
	em_disk_opts o = EM_DISK_OPTS_INIT;
	em_errinfo err;

	(void)state;
	assert_int_equal(em_disk_parse(&o, NULL, text, &err), EM_OK);
	assert_string_equal(o.path, "/x");
	assert_string_equal(o.backend, "simdisk");
	assert_int_equal(o.capacity, 1024);
	assert_int_equal(o.queue_depth, 3);
	assert_int_equal(o.direct, EM_DIRECT_CONTEXT);
	assert_int_equal(em_disk_parse(&o, NULL, bad, &err), EM_ERR_INVAL);
	assert_int_equal(err.offset, 14);
	assert_string_equal(o.path, "/x");
	assert_int_equal(o.capacity, 1024);
	assert_int_equal(em_disk_parse(NULL, NULL, bad, &err), EM_ERR_INVAL);
	assert_int_equal(em_disk_parse(&o, NULL, NULL, NULL), EM_ERR_INVAL);
	o.size = 0;
	assert_int_equal(em_disk_parse(&o, NULL, text, &err), EM_ERR_VERSION);
}

static void test_size(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 }, { "1", 1 }, { "7B", 7 }, { "1K", 1024 }, { "2k", 2048 }, { "3KiB", 3072 }, { "4kB", 4000 },
		{ "1M", 1 << 20 }, { "1MB", 1000000 }, { "5G", (uint64_t)5 << 30 }, { "1T", (uint64_t)1 << 40 },
		{ "18446744073709551615", UINT64_MAX }, { "16777215T", (uint64_t)16777215 << 40 },
	};
	static const char *const bad[] = {
		"", " 1", "-1", "x", "1X", "1KB1", "1KK", "18446744073709551616", "16777216T",
	};
	em_errinfo err;
	uint64_t bytes;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof good / sizeof good[0]; i++) {
		bytes = 99;
		assert_int_equal(em_size_parse(&bytes, good[i].text, &err), EM_OK);
		assert_true(bytes == good[i].bytes);
	}
	for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		bytes = 99;
		assert_int_equal(em_size_parse(&bytes, bad[i], &err), EM_ERR_INVAL);
		if (bad[i][0] == '\0')
			assert_string_equal(err.text, "the size is empty");
		assert_true(bytes == 99);
		assert_true(strlen(err.text) > 5);
	}
	assert_int_equal(em_size_parse(NULL, "1", NULL), EM_ERR_INVAL);
	assert_int_equal(em_size_parse(&bytes, NULL, NULL), EM_ERR_INVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_disks),
		cmocka_unit_test(test_simulated),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_allocator),
		cmocka_unit_test(test_disk_parse),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("ctx/open_text", tests, NULL, NULL);
}
