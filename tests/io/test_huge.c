/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_huge.c -- requests of more bytes than the kernel moves at once, and than 31 bits count.
 *
 * A buffer of two gigabytes takes a few megabytes here: the same piece of a file is mapped again and again, one after
 * the other.  What is read is the hole of a file with something behind it; what is written goes to /dev/null.  It is
 * skipped where pointers have 32 bits, as there is no room for it, and under ThreadSanitizer, which notes something of
 * each byte.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <extmem/sys/request.h>

#include "io/io_test.h"

#define WINDOW ((size_t)16 << 20)
#define TAIL ((size_t)64 << 10)
#define BYTES (((uint64_t)2 << 30) + TAIL)

/* Where the last piece of the buffer begins, which is shorter. */
#define LAST (BYTES / WINDOW * WINDOW)

static int can(void)
{
	return sizeof(void *) > 4 && !TEST_TSAN;
}

static unsigned char *map_buffer(const char *dir)
{
	char *path = test_path(dir, "window");
	const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	unsigned char *all;
	uint64_t at;

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(fd, (off_t)WINDOW), 0);
	all = mmap(NULL, (size_t)BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(all, MAP_FAILED);
	for (at = 0; at < BYTES; at += WINDOW) {
		const size_t n = (size_t)(BYTES - at < WINDOW ? BYTES - at : WINDOW);

		assert_ptr_equal(mmap(all + at, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), all + at);
	}
	close(fd);
	free(path);
	return all;
}

static em_file *open_at(em_ctx *ctx, const char *path, uint32_t flags)
{
	em_file_opts opts = EM_FILE_OPTS_INIT;
	em_errinfo err;
	em_file *f;

	opts.flags = flags;
	opts.errinfo = &err;
	if (em_file_open(&f, ctx, path, &opts) != EM_OK)
		fail_msg("%s", err.text);
	return f;
}

static void finish(em_request *rq)
{
	em_errinfo err;

	if (em_request_wait(rq) != EM_OK) {
		em_request_error(rq, &err);
		fail_msg("%s", err.text);
	}
	assert_true(em_request_moved(rq) == BYTES);
	em_request_close(rq);
}

static void read_and_write(const em_backend *be, const char *dir, unsigned char *buf, const unsigned char *tail)
{
	io_setup setup = {0};
	em_ctx *ctx;
	em_request *rq;
	em_file *f;
	size_t i;

	setup.custom = be;
	setup.direct = EM_DIRECT_TRY;
	ctx = io_ctx(&setup);
	f = open_at(ctx, dir, EM_OPEN_TEMP);
	print_message("%s, direct %d\n", em_ctx_backend(ctx), em_file_is_direct(f));
	assert_int_equal(em_file_write(f, tail, TAIL, BYTES - TAIL), EM_OK);
	memset(buf, 0xff, WINDOW);
	assert_int_equal(em_file_read_async(f, buf, (size_t)BYTES, 0, NULL, NULL, &rq), EM_OK);
	finish(rq);
	assert_memory_equal(buf + (BYTES - TAIL), tail, TAIL);
	for (i = (size_t)(BYTES - LAST); i < WINDOW; i++)
		assert_int_equal(buf[i], 0);
	em_file_close(f);
	f = open_at(ctx, "/dev/null", EM_OPEN_WRITE);
	assert_int_equal(em_file_write_async(f, buf, (size_t)BYTES, 0, NULL, NULL, &rq), EM_OK);
	finish(rq);
	em_file_close(f);
	em_ctx_close(ctx);
}

static void test_one_request(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	char *dir = test_dir_make();
	unsigned char *buf, *tail;
	uint32_t b;

	(void)state;
	if (can()) {
		buf = map_buffer(dir);
		tail = io_buffer(&rng, TAIL);
		for (b = 0; b < em_backend_count(); b += test_step())
			read_and_write(io_backend_at(b), dir, buf, tail);
		free(tail);
		munmap(buf, (size_t)BYTES);
		assert_dir_empty(dir);
	}
	test_dir_remove(dir);
	if (!can())
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_request),
	};

	return cmocka_run_group_tests_name("io/huge", tests, NULL, NULL);
}
