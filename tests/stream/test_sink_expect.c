/* SPDX-License-Identifier: BSL-1.0 */
/* test_sink_expect.c -- outputs whose space is reserved at once, or step by step. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <extmem/sys/fault.h>

#include "base/memory.h"
#include "stream/sink.h"
#include "stream/stream_test.h"

#define CHUNK 10000u
#define CHUNKS 30u

typedef struct fixture {
	char *dir, *path;
	char *base;             /* of the buffer that is put */
	char *data;
	em_fault fault;
	em_ctx *ctx;
	em_errinfo err;
	unsigned asked;         /* how often room was asked for */
	int gives;              /* it is made */
} fixture;

/* A backend that sees what is reserved: one piece behind the other, and no more than there is. */
static struct {
	em_backend be;
	const em_backend *inner;
	uint64_t end;           /* of what is reserved */
	uint64_t most;          /* that can be; 0: any number */
	uint64_t refused;
	unsigned apart;         /* reservations that did not begin at the end */
} spaces;

static int seen_reserve(void *handle, uint64_t offset, uint64_t bytes)
{
	int e;

	spaces.apart += offset != spaces.end;
	if (spaces.most != 0 && offset + bytes > spaces.most) {
		spaces.refused++;
		return ENOSPC;
	}
	e = spaces.inner->reserve(handle, offset, bytes);
	if (e == 0)
		spaces.end = offset + bytes;
	return e;
}

static void spaces_init(void)
{
	memset(&spaces, 0, sizeof spaces);
	spaces.inner = em_backend_find("syscall");
	spaces.be = *spaces.inner;
	spaces.be.reserve = seen_reserve;
}

static void set_up(fixture *x, uint64_t nth, uint64_t times)
{
	size_t i;

	memset(x, 0, sizeof *x);
	x->dir = test_dir_make();
	x->path = test_path(x->dir, "out");
	x->data = malloc(CHUNK * CHUNKS);
	assert_non_null(x->data);
	for (i = 0; i < CHUNK * CHUNKS; i++)
		x->data[i] = (char)(i * 31 >> 3);
	assert_int_equal(posix_memalign((void **)&x->base, EMI_PAGE, CHUNK + 2 * EMI_PAGE), 0);
	spaces_init();
	assert_int_equal(em_fault_init(&x->fault, sizeof x->fault, &spaces.be), EM_OK);
	x->fault.ops = EM_FAULT_RESERVE;
	x->fault.nth = nth;
	x->fault.times = times;
	x->fault.sys_errno = ENOSPC;
	x->ctx = stream_ctx(EM_DIRECT_TRY, NULL, &x->fault, NULL);
}

static void tear_down(fixture *x)
{
	em_ctx_close(x->ctx);
	free(x->base);
	free(x->data);
	free(x->path);
	test_dir_remove(x->dir);
}

static int make_room(void *arg)
{
	fixture *x = arg;

	x->asked++;
	if (x->gives)
		x->fault.times = 0;
	return x->gives;
}

/* Write all there is, having announced so many bytes. */
static em_status write_all(fixture *x, uint64_t bytes, uint64_t step)
{
	em_status st;
	emi_sink *s;
	size_t at;

	assert_int_equal(emi_sink_open(&s, x->ctx, x->path, 0, NULL, &x->err), EM_OK);
	assert_true(emi_sink_is_on(s, x->dir));
	assert_false(emi_sink_is_on(s, "/proc"));
	st = emi_sink_expect(s, bytes, step, make_room, x, &x->err);
	for (at = 0; at < CHUNK * CHUNKS && st == EM_OK; at += CHUNK) {
		emi_outbuf ob;

		memset(&ob, 0, sizeof ob);
		ob.base = x->base;
		ob.lead = emi_sink_lead(s, at);
		ob.len = CHUNK;
		memcpy(ob.base + ob.lead, x->data + at, CHUNK);
		st = emi_sink_put(s, &ob, &x->err);
		if (st == EM_OK)
			st = emi_wait(&ob.rq, &x->err);
		else
			assert_int_equal(emi_sink_put(s, &ob, NULL), st);
	}
	if (st == EM_OK)
		st = emi_sink_commit(s, &x->err);
	emi_sink_close(s);
	if (st == EM_OK)
		stream_assert_file(x->path, x->data, CHUNK * CHUNKS);
	return st;
}

/* As many reservations as there are steps, and no more than was announced, be it too much or too little. */
static void test_steps(void **state)
{
	static const struct {
		uint64_t bytes, step, count, end;
	} ways[] = {
		{ CHUNK * CHUNKS, 0, 1, CHUNK * CHUNKS },
		{ 0, 0, 0, 0 },
		{ 0, CHUNK, 0, 0 },
		{ CHUNK * CHUNKS, CHUNK, CHUNKS, CHUNK * CHUNKS },
		{ CHUNK * CHUNKS, 3 * CHUNK, CHUNKS / 3, CHUNK * CHUNKS },
		{ CHUNK * CHUNKS, 7 * CHUNK, 5, CHUNK * CHUNKS },
		{ CHUNK * CHUNKS, 1, CHUNKS, CHUNK * CHUNKS },
		{ CHUNK * CHUNKS, UINT64_MAX / 4, 1, CHUNK * CHUNKS },
		{ 2 * CHUNK + 5, CHUNK, 3, 2 * CHUNK + 5 },
		{ 2 * CHUNK * CHUNKS, CHUNK * CHUNKS, 1, CHUNK * CHUNKS },
		{ 2 * CHUNK * CHUNKS, 7 * CHUNK, 5, 35 * CHUNK },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		fixture x;

		set_up(&x, 0, 0);
		assert_int_equal(write_all(&x, ways[i].bytes, ways[i].step), EM_OK);
		assert_int_equal(x.fault.count, ways[i].count);
		assert_int_equal(x.asked, 0);
		assert_int_equal(spaces.end, ways[i].end);
		assert_int_equal(spaces.apart, 0);
		tear_down(&x);
	}
}

/* Room is asked for; without it, what is put next suffices; without that it fails, and goes on to fail. */
static void test_no_space(void **state)
{
	fixture x;

	(void)state;
	set_up(&x, 4, UINT64_MAX);
	x.gives = 1;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_OK);
	assert_int_equal(x.asked, 1);
	assert_int_equal(x.fault.count, CHUNKS / 2 + 1);
	tear_down(&x);

	set_up(&x, 4, 1);
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_OK);
	assert_int_equal(x.asked, 1);
	tear_down(&x);

	set_up(&x, 4, UINT64_MAX);
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 2 * CHUNK), EM_ERR_NOSPACE);
	assert_int_equal(x.asked, 1);
	assert_int_equal(x.err.sys_errno, ENOSPC);
	assert_string_equal(x.err.op, "reserve");
	assert_dir_empty(x.dir);
	tear_down(&x);

	/* At once is at once. */
	set_up(&x, 1, UINT64_MAX);
	x.gives = 1;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, 0), EM_ERR_NOSPACE);
	assert_int_equal(x.asked, 0);
	tear_down(&x);

	/* What is no lack of space is no reason to ask. */
	set_up(&x, 2, 1);
	x.fault.sys_errno = EIO;
	assert_int_equal(write_all(&x, CHUNK * CHUNKS, CHUNK), EM_ERR_IO);
	assert_int_equal(x.asked, 0);
	tear_down(&x);
}

/* A file system that has room for what is put, and not for a step more, suffices; a byte less does not. */
static void test_just_enough(void **state)
{
	static const uint64_t steps[] = { CHUNK + 1, 2 * CHUNK, 7 * CHUNK, 29 * CHUNK, 2 * CHUNK * CHUNKS };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		fixture x;

		set_up(&x, 0, 0);
		spaces.most = CHUNK * CHUNKS;
		assert_int_equal(write_all(&x, 2 * CHUNK * CHUNKS, steps[i]), EM_OK);
		assert_int_equal(spaces.end, CHUNK * CHUNKS);
		assert_int_equal(spaces.apart, 0);
		/* Two steps fill the file just so. */
		assert_int_equal(spaces.refused != 0, steps[i] != 2 * CHUNK);
		assert_int_equal(x.asked, spaces.refused);
		tear_down(&x);

		set_up(&x, 0, 0);
		spaces.most = CHUNK * CHUNKS - 1;
		assert_int_equal(write_all(&x, 2 * CHUNK * CHUNKS, steps[i]), EM_ERR_NOSPACE);
		assert_true(spaces.end >= (CHUNKS - 1) * CHUNK);
		assert_string_equal(x.err.op, "reserve");
		tear_down(&x);
	}
}

/* What file systems say here, if it is not 0: how many blocks of a page are free, and that there are as many. */
static struct {
	uint64_t blocks;
	long type;
} said;

int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	memset(fs, 0, sizeof *fs);
	if (said.blocks == 0) {
		errno = ENOSYS;
		return -1;
	}
	fs->f_bsize = EMI_PAGE;
	fs->f_type = (__typeof__(fs->f_type))said.type;
	fs->f_blocks = fs->f_bavail = fs->f_bfree = (__typeof__(fs->f_bfree))said.blocks;
	return 0;
}

/* What cannot fit is refused before anything is put, with both numbers; where the numbers mean nothing nothing is. */
static void test_free_space(void **state)
{
	static const long types[] = { EXT4_SUPER_MAGIC, TMPFS_MAGIC, 0x2fc12fc1, NFS_SUPER_MAGIC };
	const uint64_t all = CHUNK * CHUNKS, pages = all / EMI_PAGE + 1;
	char needed[64], left[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof types / sizeof types[0]; i++) {
		uint64_t step;

		for (step = 0; step <= CHUNK; step += CHUNK) {
			fixture x;

			said.type = types[i];
			said.blocks = pages;
			set_up(&x, 0, 0);
			assert_int_equal(write_all(&x, all, step), EM_OK);
			assert_int_equal(unlink(x.path), 0);
			said.blocks = pages - 2;
			if (i >= 2) {
				assert_int_equal(write_all(&x, all, step), EM_OK);
			} else {
				assert_int_equal(write_all(&x, all, step), EM_ERR_NOSPACE);
				assert_string_equal(x.err.path, x.path);
				snprintf(needed, sizeof needed, "reserve %u bytes", CHUNK * CHUNKS);
				snprintf(left, sizeof left, "where %u are free", (unsigned)(pages - 2) * EMI_PAGE);
				assert_non_null(strstr(x.err.text, needed));
				assert_non_null(strstr(x.err.text, left));
				assert_dir_empty(x.dir);
			}
			said.blocks = 0;
			tear_down(&x);
		}
	}
}

/* The same of a regular file to which standard output leads, where what it has already counts. */
static void test_free_space_stdout(void **state)
{
	const uint64_t pages = 16;
	fixture x;
	int fd, saved, i;

	(void)state;
	set_up(&x, 0, 0);
	fd = open(x.path, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	said.type = EXT4_SUPER_MAGIC;
	said.blocks = pages;
	saved = stream_replace_fd(STDOUT_FILENO, fd);
	for (i = 0; i < 3; i++) {
		em_status room = EM_OK, none = EM_OK;
		emi_sink *s;
		struct stat sb;
		uint64_t most = pages * EMI_PAGE;

		/* Empty; with something, to be overwritten; and behind that. */
		if (i == 1)
			assert_int_equal(pwrite(fd, x.data, 9 * EMI_PAGE, 0), 9 * EMI_PAGE);
		if (i == 2)
			assert_int_equal(lseek(fd, 0, SEEK_END), 9 * EMI_PAGE);
		assert_int_equal(fstat(fd, &sb), 0);
		most += (uint64_t)sb.st_blocks * 512 - (i == 2 ? 9 * EMI_PAGE : 0);
		if (emi_sink_open(&s, x.ctx, "-", 0, NULL, NULL) == EM_OK) {
			room = emi_sink_expect(s, most, CHUNK, make_room, &x, NULL);
			none = emi_sink_expect(s, most + 1, CHUNK, make_room, &x, NULL);
		}
		emi_sink_close(s);
		if (room != EM_OK || none != EM_ERR_NOSPACE) {
			stream_restore_fd(STDOUT_FILENO, saved);
			fail_msg("%d: %d %d", i, room, none);
		}
	}
	stream_restore_fd(STDOUT_FILENO, saved);
	said.blocks = 0;
	close(fd);
	tear_down(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_just_enough),
		cmocka_unit_test(test_free_space),
		cmocka_unit_test(test_free_space_stdout),
	};

	return cmocka_run_group_tests_name("stream/sink_expect", tests, NULL, NULL);
}
