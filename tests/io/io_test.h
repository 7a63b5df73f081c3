/* SPDX-License-Identifier: BSL-1.0 */
/*
 * io_test.h -- what the tests of files and backends share.
 */
#ifndef EM_IO_TEST_H
#define EM_IO_TEST_H

#include <extmem/ctx.h>
#include <extmem/sys/backend.h>

#include "common/test.h"
#include "io/file.h"

/* A context; zero fields are defaults. */
typedef struct io_setup {
	const char *dir;
	const char *backend;
	const em_backend *custom;
	uint64_t memory;
	int32_t direct;
	uint32_t depth;
	uint32_t fds;
	const em_allocator *allocator;
	em_log_fn log;
	void *log_user;
} io_setup;

em_ctx *io_ctx(const io_setup *setup);

/* The i-th backend that works here, from 0; NULL past the end.  The simulated disk is as fast as it can be, as its time
 * is not what most tests are about. */
const em_backend *io_backend_at(uint32_t i);

/* Open a file or fail the test. */
em_file *io_open(em_ctx *ctx, const char *path, unsigned flags);

/* With direct "on", opening a file fails for want of it; err tells that. */
void io_assert_not_direct(const char *backend, const char *path, unsigned flags, em_errinfo *err);

/* Random reads and writes in flight together, each checked against a model of the file, until at least volume
 * bytes were moved; all sizes are multiples of 4096 when pages is set. */
void io_traffic(em_ctx *ctx, em_file *f, uint64_t volume, int pages);

/* Transfers that are waited for at once, as functions that return a status. */
em_status io_read(em_file *f, void *buf, size_t bytes, uint64_t offset, em_errinfo *err);
em_status io_write(em_file *f, const void *buf, size_t bytes, uint64_t offset, em_errinfo *err);

/* A page-aligned buffer with random bytes, for free(). */
void *io_buffer(test_rng *rng, size_t bytes);

#endif
