/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_conformance_device.c -- every backend on a raw block device: it has a size that nobody sets, and an end that
 * nothing is written past.
 *
 * The device is a loop device on a file.  A backend that keeps files of its own making elsewhere still opens it.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/conform.h"
#include "io/conform_fs.h"

enum { SIZE = 20 << 20, MOST = 1 << 20 };

/* Random transfers that stay on the device, against a model of all of it. */
static void model_of(conform_case *c, unsigned char *model, unsigned char *buf, unsigned steps)
{
	size_t unit = conform_unit(c);
	test_rng rng = test_rng_make(test_seed());

	assert_int_equal(conform_read(c, model, SIZE, 0), SIZE);
	while (steps-- > 0) {
		size_t at = (size_t)test_below(&rng, SIZE / unit) * unit;
		size_t n = ((size_t)test_below(&rng, (test_below(&rng, 4) ? 20000 : MOST) / unit) + 1) * unit;

		if (n > SIZE - at)
			n = SIZE - at;
		if (test_below(&rng, 2)) {
			memset(buf, (int)test_below(&rng, 256), n);
			memcpy(buf, &at, n < sizeof at ? n : sizeof at);
			assert_int_equal(conform_write(c, buf, n, at), n);
			memcpy(model + at, buf, n);
		} else {
			assert_int_equal(conform_read(c, buf, n, at), n);
			assert_memory_equal(buf, model + at, n);
		}
	}
	assert_int_equal(conform_size(c), SIZE);
}

/* At the end a read is short, and a write too, or fails. */
static void end_of(conform_case *c, unsigned char *model, unsigned char *buf)
{
	int64_t n;

	assert_int_equal(conform_read(c, buf, 12288, SIZE - 8192), 8192);
	assert_memory_equal(buf, model + SIZE - 8192, 8192);
	assert_int_equal(conform_read(c, buf, 4096, SIZE), 0);
	assert_int_equal(conform_read(c, buf, 4096, (uint64_t)SIZE + MOST), 0);
	memset(buf, 0x5a, 12288);
	assert_int_equal(conform_write(c, buf, 4096, SIZE), -ENOSPC);
	assert_int_equal(conform_write(c, buf, 4096, (uint64_t)SIZE + MOST), -ENOSPC);
	n = conform_write(c, buf, 12288, SIZE - 8192);
	assert_true(n == 8192 || n == -ENOSPC);
	if (n > 0)
		memset(model + SIZE - 8192, 0x5a, 8192);
	assert_int_equal(conform_read(c, buf, 8192, SIZE - 8192), 8192);
	assert_memory_equal(buf, model + SIZE - 8192, 8192);
	/* The library takes "cannot" for an answer where space is to be reserved. */
	assert_int_not_equal(conform_resize(c, SIZE / 2), 0);
	n = conform_reserve(c, 0, SIZE);
	assert_true(n == 0 || n == EOPNOTSUPP || n == ENODEV);
	assert_int_equal(conform_size(c), SIZE);
}

static void device(const em_backend *be, int32_t direct, const char *path, unsigned char *model, unsigned char *buf)
{
	conform_case c;

	memset(&c, 0, sizeof c);
	snprintf(c.name, sizeof c.name, "%s on %s", be->name, path);
	fprintf(stderr, "# %s, direct %d\n", c.name, (int)direct);
	if (!conform_open(&c, be, direct, path, EM_OPEN_WRITE))
		return;
	assert_int_equal(conform_size(&c), SIZE);
	model_of(&c, model, buf, 150);
	end_of(&c, model, buf);
	conform_close(&c);
	/* What one wrote the next reads. */
	assert_int_equal(conform_open(&c, be, direct, path, EM_OPEN_READ), 1);
	assert_int_equal(conform_read(&c, buf, SIZE, 0), SIZE);
	assert_memory_equal(buf, model, SIZE);
	assert_int_equal(conform_write(&c, buf, 4096, 0), -EBADF);
	conform_close(&c);
}

/* Through files with their queues, asynchronously where the backend can. */
static void traffic(const em_backend *be, int32_t direct, const char *path)
{
	io_setup setup = { 0 };
	em_errinfo err;
	em_ctx *ctx;
	em_file *f;

	memset(&err, 0, sizeof err);
	setup.custom = be;
	setup.direct = direct;
	ctx = io_ctx(&setup);
	f = io_open(ctx, path, EMI_OPEN_WRITE);
	io_traffic(ctx, f, (uint64_t)24 << 20, emi_file_direct(f));
	assert_int_equal(emi_file_reserve(f, 0, SIZE, &err), EM_OK);
	emi_file_close(f);
	em_ctx_close(ctx);
}

static void test_device(void **state)
{
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY, EM_DIRECT_ON };
	char *dir = test_dir_make(), *image = test_path(dir, "image"), path[64];
	int fd = conform_loop(image, SIZE, path);
	void *model = NULL, *buf = NULL;
	uint32_t b, d;

	(void)state;
	if (fd >= 0) {
		assert_int_equal(posix_memalign(&model, 4096, SIZE), 0);
		assert_int_equal(posix_memalign(&buf, 4096, SIZE), 0);
		for (b = 0; b < em_backend_count(); b++) {
			for (d = 0; d < 3; d++)
				device(io_backend_at(b), direct[d], path, model, buf);
			traffic(io_backend_at(b), EM_DIRECT_OFF, path);
			traffic(io_backend_at(b), EM_DIRECT_TRY, path);
		}
		free(buf);
		free(model);
		conform_loop_close(fd);
	}
	free(image);
	test_dir_remove(dir);
	if (fd < 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device),
	};

	return cmocka_run_group_tests_name("io/conformance_device", tests, NULL, NULL);
}
