/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_backend_simdisk.c -- files on simulated disks: their data, and that time is accounted for.
 *
 * How long anything takes is never asserted, but that it takes no less than the model says.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <extmem/sys/simdisk.h>

#include "base/context.h"
#include "io/disk_model.h"
#include "io/io_test.h"

static void init(em_simdisk *disk, const char *text)
{
	em_errinfo err;

	memset(&err, 0, sizeof err);
	assert_int_equal(em_simdisk_init(disk, sizeof *disk, NULL, &err), EM_OK);
	if (em_simdisk_parse(disk, text, &err) != EM_OK)
		fail_msg("%s", err.text);
}

static em_ctx *sim_ctx(const em_simdisk *disk, const char *dir)
{
	io_setup setup = {0};

	setup.dir = dir;
	setup.custom = em_simdisk_backend(disk);
	return io_ctx(&setup);
}

/* Its data is that of a model file, with many requests in flight. */
static void test_traffic(void **state)
{
	char *dir = test_dir_make();
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;

	(void)state;
	init(&disk, "rate=2GB,seek=20us,buffer=0");
	ctx = sim_ctx(&disk, dir);
	f = io_open(ctx, dir, EMI_OPEN_TEMP);
	assert_string_equal(em_ctx_backend(ctx), "simdisk");
	assert_false(emi_file_direct(f));
	assert_int_equal(emi_file_fd(f), -1);
	io_traffic(ctx, f, (uint64_t)32 << 20, 0);
	assert_true(disk.requests > 0 && disk.seeks > 0);
	assert_dir_empty(dir);
	emi_file_close(f);
	em_ctx_close(ctx);
	test_dir_remove(dir);
}

static void test_built_in(void **state)
{
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;
	char out[5] = "", in[5] = "abcd";

	(void)state;
	setup.backend = "simdisk";
	ctx = io_ctx(&setup);
	assert_string_equal(em_ctx_backend(ctx), "simdisk");
	f = io_open(ctx, "/", EMI_OPEN_TEMP);
	assert_int_equal(io_write(f, in, 5, 1000000, NULL), EM_OK);
	assert_int_equal(io_read(f, out, 5, 1000000, NULL), EM_OK);
	assert_string_equal(out, in);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* What is read at the end is short and takes the time of what there was; behind it nothing is done. */
static void test_end_of_file(void **state)
{
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	char buf[1000];
	emi_request rq;

	(void)state;
	init(&disk, "rate=1GB,seek=1us,buffer=0");
	ctx = sim_ctx(&disk, NULL);
	f = io_open(ctx, "/", EMI_OPEN_TEMP);
	memset(buf, 1, sizeof buf);
	memset(&rq, 0, sizeof rq);
	assert_int_equal(io_write(f, buf, 600, 0, NULL), EM_OK);
	assert_int_equal(disk.busy_ns, 600);
	emi_read(f, &rq, buf, sizeof buf, 100, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, 500);
	/* The rest of the read is asked for too, and nothing. */
	assert_int_equal(disk.requests, 2);
	assert_int_equal(disk.seeks, 2);
	assert_int_equal(disk.bytes, 1100);
	assert_int_equal(disk.busy_ns, 600 + 1000 + 500);
	emi_read(f, &rq, buf, sizeof buf, (uint64_t)1 << 60, NULL);
	assert_int_equal(emi_wait(&rq, NULL), EM_OK);
	assert_int_equal(rq.done, 0);
	assert_int_equal(disk.requests, 2);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* A disk is full where it ends. */
static void test_capacity(void **state)
{
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	em_errinfo err;
	char buf[300] = {0};
	uint64_t size = 1;

	(void)state;
	init(&disk, "rate=1GB,seek=1us,capacity=10000B");
	ctx = sim_ctx(&disk, NULL);
	f = io_open(ctx, "/", EMI_OPEN_TEMP);
	memset(&err, 0, sizeof err);
	assert_int_equal(io_write(f, buf, 300, 9701, &err), EM_ERR_NOSPACE);
	assert_int_equal(err.offset, 9701);
	assert_int_equal(io_write(f, buf, 1, (uint64_t)1 << 60, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_file_resize(f, 10001, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_file_reserve(f, 9999, 2, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_file_reserve(f, UINT64_MAX - 1, 2, NULL), EM_ERR_NOSPACE);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 0);
	assert_int_equal(io_write(f, buf, 300, 9700, NULL), EM_OK);
	assert_int_equal(emi_file_resize(f, 10000, NULL), EM_OK);
	assert_int_equal(emi_file_reserve(f, 0, 10000, NULL), EM_OK);
	assert_int_equal(io_read(f, buf, 300, 9900, NULL), EM_OK);
	assert_int_equal(disk.requests, 2);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* Parameters that do not fit together make opening fail, as nobody checked them before. */
static void test_unchecked(void **state)
{
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	em_errinfo err;

	(void)state;
	init(&disk, "");
	disk.zones = 0;
	ctx = sim_ctx(&disk, NULL);
	memset(&err, 0, sizeof err);
	assert_int_not_equal(emi_file_open(&f, ctx, "/", EMI_OPEN_TEMP, &err), EM_OK);
	assert_int_equal(err.sys_errno, 22);
	em_ctx_close(ctx);
}

/* Files with a name are real, and take no simulated time. */
static void test_named(void **state)
{
	char *dir = test_dir_make(), *path = test_path(dir, "real");
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	uint64_t size = 0;

	(void)state;
	init(&disk, "");
	ctx = sim_ctx(&disk, dir);
	f = io_open(ctx, path, EMI_OPEN_CREATE | EMI_OPEN_WRITE);
	assert_true(emi_file_fd(f) >= 0);
	assert_int_equal(emi_file_reserve(f, 0, 5000, NULL), EM_OK);
	assert_int_equal(emi_file_resize(f, 12345, NULL), EM_OK);
	assert_int_equal(emi_file_size(f, &size, NULL), EM_OK);
	assert_int_equal(size, 12345);
	io_traffic(ctx, f, (uint64_t)1 << 20, emi_file_direct(f));
	emi_file_close(f);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(disk.requests, 0);
	em_ctx_close(ctx);
	free(path);
	test_dir_remove(dir);
}

static void test_direct_makes_no_sense(void **state)
{
	em_errinfo err;

	(void)state;
	io_assert_not_direct("simdisk", "/tmp", EMI_OPEN_TEMP, &err);
	assert_non_null(strstr(err.text, "it is simulated in memory"));
}

enum { DISKS = 8, ROUNDS = 30, BLOCK = 4096 };

/*
 * n disks are driven at once, each by one request at a time, so that its order is known.  Then what a copy of the model
 * says of the same requests is what the counters say, to the nanosecond; and the clock says no less for the disk that
 * took longest.
 */
static void drive(uint32_t n, test_rng *rng)
{
	em_simdisk disk;
	em_ctx *ctx;
	emi_disk_model m;
	emi_disk_state s[DISKS];
	em_file *f[DISKS];
	emi_request rq[DISKS];
	uint64_t sum = 0, seeks = 0, took[DISKS] = {0}, longest = 0;
	char *buf = io_buffer(rng, BLOCK * DISKS);
	double begin = emi_now();
	uint32_t i, k;

	init(&disk, "rate=100MB,seek=300us,buffer=0");
	ctx = sim_ctx(&disk, NULL);
	memset(s, 0, sizeof s);
	memset(rq, 0, sizeof rq);
	assert_int_equal(emi_disk_model_make(&m, &disk, NULL), EM_OK);
	for (i = 0; i < n; i++) {
		f[i] = io_open(ctx, "/", EMI_OPEN_TEMP);
		assert_int_equal(emi_file_resize(f[i], 100 * BLOCK, NULL), EM_OK);
	}
	for (k = 0; k < ROUNDS; k++) {
		for (i = 0; i < n; i++) {
			uint64_t offset = test_below(rng, 2) ? s[i].at : test_below(rng, 98) * BLOCK;
			size_t bytes = 1 + (size_t)test_below(rng, BLOCK);
			int write = (int)test_below(rng, 2);
			emi_disk_service r;

			if (offset > 98 * BLOCK)
				offset = 0;
			if (write)
				emi_write(f[i], &rq[i], buf + i * BLOCK, bytes, offset, NULL);
			else
				emi_read(f[i], &rq[i], buf + i * BLOCK, bytes, offset, NULL);
			r = emi_disk_serve(&m, &s[i], 0, offset, bytes, write);
			sum += r.seek_ns + r.turn_ns + r.transfer_ns;
			took[i] += r.seek_ns + r.turn_ns + r.transfer_ns;
			seeks += (uint64_t)r.positioned;
		}
		for (i = 0; i < n; i++)
			assert_int_equal(emi_wait(&rq[i], NULL), EM_OK);
	}
	for (i = 0; i < n; i++) {
		longest = took[i] > longest ? took[i] : longest;
		emi_file_close(f[i]);
	}
	assert_int_equal(disk.requests, n * ROUNDS);
	assert_int_equal(disk.seeks, seeks);
	assert_int_equal(disk.busy_ns, sum);
	assert_true((emi_now() - begin) * 1e9 + 1000 >= (double)longest);
	em_ctx_close(ctx);
	free(buf);
}

static void test_time_adds_up(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	uint32_t n;

	(void)state;
	for (n = 1; n <= DISKS; n++)
		drive(n, &rng);
}

/* Requests that are all there at once queue up: a stream is a stream, and its time is that of its bytes, through any
 * number of threads; what is out of order costs seeks, which the counters tell. */
static void test_queue(void **state)
{
	enum { N = 64 };
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	emi_request rq[N];
	test_rng rng = test_rng_make(test_seed());
	char *buf = io_buffer(&rng, N * BLOCK);
	uint32_t i;

	(void)state;
	init(&disk, "rate=100MB,seek=100us,buffer=0");
	ctx = sim_ctx(&disk, NULL);
	f = io_open(ctx, "/", EMI_OPEN_TEMP);
	memset(rq, 0, sizeof rq);
	for (i = 0; i < N; i++)
		emi_write(f, &rq[i], buf + i * BLOCK, BLOCK, i * BLOCK, NULL);
	for (i = 0; i < N; i++)
		assert_int_equal(emi_wait(&rq[i], NULL), EM_OK);
	assert_int_equal(disk.requests, N);
	assert_int_equal(disk.bytes, N * BLOCK);
	/* Rounding down, a transfer may be a nanosecond longer or shorter; the first may or may not be at the arm
	 * already. */
	assert_in_range(disk.busy_ns, N * BLOCK * 10 + (disk.seeks - 1) * 100000 - N,
			N * BLOCK * 10 + disk.seeks * 100000 + N);
	free(buf);
	emi_file_close(f);
	em_ctx_close(ctx);
}

/* Whoever reads the same place again waits until it comes by again; that it always is there already cannot be. */
static void test_turning(void **state)
{
	em_simdisk disk;
	em_ctx *ctx;
	em_file *f;
	char buf[512];
	unsigned i;

	(void)state;
	init(&disk, "rate=512MB,seek=0ms,rpm=60000,capacity=1G");
	ctx = sim_ctx(&disk, NULL);
	f = io_open(ctx, "/", EMI_OPEN_TEMP);
	assert_int_equal(emi_file_resize(f, 4096, NULL), EM_OK);
	for (i = 0; i < 20; i++)
		assert_int_equal(io_read(f, buf, sizeof buf, 1024, NULL), EM_OK);
	assert_int_equal(disk.seeks, 20);
	assert_true(disk.busy_ns > 20 * 1000);
	assert_true(disk.busy_ns < 20 * (1000 + 1000000));
	emi_file_close(f);
	em_ctx_close(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_traffic),
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_end_of_file),
		cmocka_unit_test(test_capacity),
		cmocka_unit_test(test_unchecked),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_direct_makes_no_sense),
		cmocka_unit_test(test_time_adds_up),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_turning),
	};

	return cmocka_run_group_tests_name("io/backend_simdisk", tests, NULL, NULL);
}
