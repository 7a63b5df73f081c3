/* SPDX-License-Identifier: BSL-1.0 */
/*
 * conform.c -- every kind of file that every backend can open; see conform.h.
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

enum { PATIENCE = 1000 };

static const char *const kind_name[CONFORM_KINDS] = { "named", "temporary", "linkable" };
static const uint32_t kind_flags[CONFORM_KINDS] = { EM_OPEN_CREATE | EM_OPEN_WRITE, EM_OPEN_TEMP | EM_OPEN_WRITE,
						    EM_OPEN_LINKABLE | EM_OPEN_WRITE };

static const char *direct_name(int32_t direct)
{
	return direct == EM_DIRECT_ON ? "on" : direct == EM_DIRECT_OFF ? "off" : "try";
}

int conform_open(conform_case *c, const em_backend *be, int32_t want_direct, const char *path, uint32_t flags)
{
	em_backend_open how;
	int e;

	memset(&how, 0, sizeof how);
	how.size = sizeof how;
	how.flags = flags;
	how.path = path;
	how.want_direct = want_direct;
	how.depth = 8;
	do
		e = be->open(be->user, &how);
	while (e == EINTR);
	/* Only what cannot be had everywhere may be refused. */
	if (e == EOPNOTSUPP && (flags & EM_OPEN_LINKABLE))
		return 0;
	if (e == EOPNOTSUPP && want_direct == EM_DIRECT_ON) {
		assert_non_null(how.reason);
		assert_true(strlen(how.reason) > 0);
		return 0;
	}
	if (e != 0)
		fail_msg("%s: open %s: %s", be->name, path, strerror(e));
	c->be = be;
	c->want_direct = want_direct;
	c->handle = how.handle;
	c->direct = how.direct != 0;
	if (want_direct == EM_DIRECT_OFF)
		assert_false(c->direct);
	if (want_direct == EM_DIRECT_ON)
		assert_true(c->direct);
	if (want_direct == EM_DIRECT_TRY && !c->direct)
		assert_non_null(how.reason);
	return 1;
}

void conform_close(conform_case *c)
{
	c->be->close(c->handle, 0);
	c->handle = NULL;
}

void conform_each_backend(const char *dir, void (*fn)(const em_backend *be, const char *dir))
{
	uint32_t i;

	for (i = 0; i < em_backend_count(); i++) {
		fprintf(stderr, "# %s\n", io_backend_at(i)->name);
		fn(io_backend_at(i), dir);
	}
}

static void run_case(const em_backend *be, int32_t direct, conform_kind kind, const char *dir, conform_fn fn)
{
	conform_case c;

	memset(&c, 0, sizeof c);
	c.kind = kind;
	c.dir = dir;
	snprintf(c.name, sizeof c.name, "%s, direct %s, %s", be->name, direct_name(direct), kind_name[kind]);
	fprintf(stderr, "# %s\n", c.name);
	c.path = kind == CONFORM_TEMP ? strdup(dir) : test_path(dir, "file");
	assert_non_null(c.path);
	if (conform_open(&c, be, direct, c.path, kind_flags[kind])) {
		if (kind != CONFORM_NAMED)
			assert_dir_empty(dir);
		fn(&c);
		if (c.handle)
			conform_close(&c);
		if (kind == CONFORM_NAMED)
			assert_int_equal(unlink(c.path), 0);
	}
	assert_dir_empty(dir);
	free(c.path);
}

void conform_each(const char *dir, conform_fn fn)
{
	static const int32_t direct[] = { EM_DIRECT_OFF, EM_DIRECT_TRY, EM_DIRECT_ON };
	uint32_t b, d, k;

	for (b = 0; b < em_backend_count(); b++)
		for (d = 0; d < 3; d++)
			for (k = 0; k < CONFORM_KINDS; k++)
				run_case(io_backend_at(b), direct[d], (conform_kind)k, dir, fn);
}

size_t conform_unit(const conform_case *c)
{
	return c->direct ? 4096 : 1;
}

int conform_is_real(const conform_case *c)
{
	return c->be->fd && c->be->fd(c->handle) >= 0;
}

/* How much further after one attempt; 0: it is over. */
static size_t advance(const conform_case *c, int64_t result, unsigned *idle)
{
	if (result == -EINTR || result == -EAGAIN) {
		assert_true(++*idle < PATIENCE);
		return 0;
	}
	*idle = 0;
	/* A direct transfer ends within a page only where the file does. */
	return c->direct ? (size_t)result / 4096 * 4096 : (size_t)result;
}

int64_t conform_read(conform_case *c, void *buf, size_t bytes, uint64_t offset)
{
	unsigned idle = 0;
	size_t done = 0;

	while (done < bytes) {
		int64_t n = c->be->read(c->handle, (char *)buf + done, bytes - done, offset + done);

		if (n == 0)
			break;
		if (n < 0 && n != -EINTR && n != -EAGAIN)
			return done > 0 ? (int64_t)done : n;
		assert_true(n < 0 || (size_t)n <= bytes - done);
		if (n > 0 && c->direct && n % 4096 != 0)
			return (int64_t)done + n;
		done += advance(c, n, &idle);
	}
	return (int64_t)done;
}

int64_t conform_write(conform_case *c, const void *buf, size_t bytes, uint64_t offset)
{
	unsigned idle = 0;
	size_t done = 0;

	while (done < bytes) {
		int64_t n = c->be->write(c->handle, (const char *)buf + done, bytes - done, offset + done);

		if (n < 0 && n != -EINTR && n != -EAGAIN)
			return done > 0 ? (int64_t)done : n;
		assert_true(n != 0 && (n < 0 || (size_t)n <= bytes - done));
		done += advance(c, n, &idle);
	}
	return (int64_t)done;
}

uint64_t conform_size(conform_case *c)
{
	uint64_t size = UINT64_MAX;
	int e;

	do
		e = c->be->get_size(c->handle, &size);
	while (e == EINTR);
	if (e != 0)
		fail_msg("%s: size: %s", c->name, strerror(e));
	return size;
}

int conform_resize(conform_case *c, uint64_t bytes)
{
	int e;

	do
		e = c->be->set_size(c->handle, bytes);
	while (e == EINTR);
	return e;
}

int conform_reserve(conform_case *c, uint64_t offset, uint64_t bytes)
{
	int e;

	if (!c->be->reserve)
		return EOPNOTSUPP;
	do
		e = c->be->reserve(c->handle, offset, bytes);
	while (e == EINTR);
	return e;
}

int conform_discard(conform_case *c, uint64_t offset, uint64_t bytes)
{
	int e;

	if (c->be->size < sizeof *c->be || !c->be->discard)
		return EOPNOTSUPP;
	do
		e = c->be->discard(c->handle, offset, bytes);
	while (e == EINTR);
	return e;
}

unsigned char *conform_buffer(size_t bytes)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, bytes), 0);
	return p;
}

void conform_scribble(test_rng *rng, unsigned char *p, size_t bytes)
{
	uint64_t word = test_random(rng);
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (unsigned char)(word >> i % 8 * 8) ^ (unsigned char)(i / 509);
}

void conform_in_new_dir(conform_fn fn)
{
	char *dir = test_dir_make();

	conform_each(dir, fn);
	test_dir_remove(dir);
}
