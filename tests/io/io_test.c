/* SPDX-License-Identifier: BSL-1.0 */
/*
 * io_test.c -- what the tests of files and backends share; see io_test.h.
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

#include <extmem/sys/simdisk.h>

#include "io/io_test.h"

em_ctx *io_ctx(const io_setup *setup)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	em_ctx *ctx = NULL;

	memset(&err, 0, sizeof err);
	opts.memory = setup->memory ? setup->memory : (uint64_t)256 << 20;
	opts.fds = setup->fds;
	opts.direct = setup->direct;
	if (setup->dir) {
		opts.dirs = &setup->dir;
		opts.ndirs = 1;
	}
	opts.queue_depth = setup->depth;
	opts.backend = setup->backend;
	opts.custom = setup->custom;
	opts.allocator = setup->allocator;
	opts.log = setup->log;
	opts.log_user = setup->log_user;
	opts.errinfo = &err;
	if (em_ctx_open(&ctx, &opts) != EM_OK)
		fail_msg("em_ctx_open: %s", err.text);
	return ctx;
}

const em_backend *io_backend_at(uint32_t i)
{
	static em_simdisk quick;
	const em_backend *be = em_backend_at(i);

	if (!be || strcmp(be->name, "simdisk") != 0)
		return be;
	if (quick.size == 0) {
		assert_int_equal(em_simdisk_init(&quick, sizeof quick, NULL, NULL), EM_OK);
		assert_int_equal(em_simdisk_parse(&quick, "rate=10GB,seek=0s", NULL), EM_OK);
	}
	return em_simdisk_backend(&quick);
}

em_file *io_open(em_ctx *ctx, const char *path, unsigned flags)
{
	em_errinfo err;
	em_file *f = NULL;

	memset(&err, 0, sizeof err);
	if (emi_file_open(&f, ctx, path, flags, &err) != EM_OK)
		fail_msg("emi_file_open(%s): %s", path, err.text);
	return f;
}

void io_assert_not_direct(const char *backend, const char *path, unsigned flags, em_errinfo *err)
{
	io_setup setup = {0};
	em_ctx *ctx;
	em_file *f;

	memset(err, 0, sizeof *err);
	setup.backend = backend;
	setup.direct = EM_DIRECT_ON;
	ctx = io_ctx(&setup);
	assert_int_equal(emi_file_open(&f, ctx, path, flags, err), EM_ERR_NOTSUP);
	assert_null(f);
	em_ctx_close(ctx);
}

em_status io_read(em_file *f, void *buf, size_t bytes, uint64_t offset, em_errinfo *err)
{
	emi_request rq;

	memset(&rq, 0, sizeof rq);
	emi_read(f, &rq, buf, bytes, offset, NULL);
	return emi_wait(&rq, err);
}

em_status io_write(em_file *f, const void *buf, size_t bytes, uint64_t offset, em_errinfo *err)
{
	emi_request rq;

	memset(&rq, 0, sizeof rq);
	emi_write(f, &rq, buf, bytes, offset, NULL);
	return emi_wait(&rq, err);
}

void *io_buffer(test_rng *rng, size_t bytes)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, bytes), 0);
	test_fill(rng, p, bytes);
	return p;
}

enum { FLIGHT = 40, REGION = 1 << 17 };

/* Each request in flight has its own region of the file, so that they do not overlap. */
typedef struct traffic {
	em_file *f;
	test_rng rng;
	unsigned char *model;   /* FLIGHT regions */
	emi_request rq[FLIGHT];
	unsigned char *buf[FLIGHT];
	emi_io_stats stats, expect;
	uint64_t left;
	int pages;
} traffic;

/* Bytes that differ from one transfer to the next and from one piece of it to the next, made fast. */
static void scribble(test_rng *rng, void *buf, size_t bytes)
{
	char *p = buf;
	size_t at;

	memset(p, (int)test_below(rng, 256), bytes);
	for (at = 0; at + 8 <= bytes; at += 512) {
		uint64_t word = test_random(rng);

		memcpy(p + at, &word, 8);
	}
}

static void begin(traffic *t, unsigned i)
{
	uint64_t unit = t->pages ? 4096 : 1;
	uint64_t at = test_below(&t->rng, REGION / unit) * unit;
	uint64_t bytes = (test_below(&t->rng, (REGION - at) / unit) + 1) * unit;
	uint64_t offset = (uint64_t)i * REGION + at;

	t->left -= bytes < t->left ? bytes : t->left;
	if (test_below(&t->rng, 2)) {
		scribble(&t->rng, t->buf[i], (size_t)bytes);
		memcpy(t->model + offset, t->buf[i], (size_t)bytes);
		emi_write(t->f, &t->rq[i], t->buf[i], (size_t)bytes, offset, &t->stats);
		t->expect.ios_written++;
		t->expect.bytes_written += bytes;
	} else {
		memset(t->buf[i], 0xa5, (size_t)bytes);
		emi_read(t->f, &t->rq[i], t->buf[i], (size_t)bytes, offset, &t->stats);
		t->expect.ios_read++;
		t->expect.bytes_read += bytes;
	}
}

static void end(traffic *t, unsigned i)
{
	emi_request *rq = &t->rq[i];
	em_errinfo err;

	memset(&err, 0, sizeof err);
	switch (test_below(&t->rng, 3)) {
	case 0:
		while (!emi_wait_for(rq, 0.01))
			continue;
		break;
	case 1:
		while (!emi_done(rq))
			continue;
		break;
	default:
		break;
	}
	if (emi_wait(rq, &err) != EM_OK)
		fail_msg("%s", err.text);
	if (!rq->buf)
		return;
	assert_int_equal(rq->done, rq->bytes);
	if (rq->kind == EMI_READ)
		assert_memory_equal(rq->buf, t->model + rq->offset, rq->bytes);
}

void io_traffic(em_ctx *ctx, em_file *f, uint64_t volume, int pages)
{
	traffic *t = calloc(1, sizeof *t);
	uint64_t size = (uint64_t)FLIGHT * REGION;
	void *p = NULL;
	unsigned i;

	(void)ctx;
	assert_non_null(t);
	t->f = f;
	t->rng = test_rng_make(test_seed());
	t->left = volume;
	t->pages = pages;
	assert_int_equal(posix_memalign(&p, 4096, (size_t)size), 0);
	t->model = p;
	scribble(&t->rng, t->model, (size_t)size);
	assert_int_equal(io_write(f, t->model, (size_t)size, 0, NULL), EM_OK);
	for (i = 0; i < FLIGHT; i++) {
		assert_int_equal(posix_memalign(&p, 4096, REGION), 0);
		t->buf[i] = p;
	}
	while (t->left > 0) {
		i = (unsigned)test_below(&t->rng, FLIGHT);
		end(t, i);
		begin(t, i);
	}
	for (i = 0; i < FLIGHT; i++)
		end(t, i);
	assert_int_equal(t->stats.ios_read, t->expect.ios_read);
	assert_int_equal(t->stats.ios_written, t->expect.ios_written);
	assert_int_equal(t->stats.bytes_read, t->expect.bytes_read);
	assert_int_equal(t->stats.bytes_written, t->expect.bytes_written);
	for (i = 0; i < FLIGHT; i++)
		free(t->buf[i]);
	free(t->model);
	free(t);
}
