/* SPDX-License-Identifier: BSL-1.0 */
/*
 * stream_test.h -- what the tests of sources and sinks share.
 */
#ifndef EM_STREAM_TEST_H
#define EM_STREAM_TEST_H

#include <extmem/ctx.h>
#include <extmem/sys/fault.h>

#include "common/test.h"

/* A context with this way of direct I/O; backend, fault, memory may be NULL. */
em_ctx *stream_ctx(int32_t direct, const char *backend, const em_fault *fault, const test_memory *memory);

/* Make a file of these bytes; read one, which must have that many. */
void stream_write_file(const char *path, const void *data, size_t bytes);
void stream_assert_file(const char *path, const void *data, size_t bytes);

/* Let fd be another file for a while: returns what stream_restore_fd() needs. */
int stream_replace_fd(int fd, int by);
void stream_restore_fd(int fd, int saved);

/* Bytes for somebody else to write to fd, on a thread that then closes it; with pauses so that readers wait. */
typedef struct stream_feeder {
	int fd;
	const char *path;       /* opened first when fd < 0 */
	const char *data;
	size_t bytes, chunk;
	unsigned pause_us;
} stream_feeder;
void *stream_feed(void *feeder);

/*
 * Do something with a new context again and again, with an operation failing in each round that did not in those
 * before, until none fails; and see that it then returns `end', that failures are told as such, and that all memory
 * comes back.  Return how many rounds failed.
 */
typedef em_status (*stream_work_fn)(void *arg, em_ctx *ctx, em_errinfo *err);
/* Opening and reading files in dir; sys_errno 0: transfers are cut short, which is survived. */
int stream_fail_reads(stream_work_fn work, void *arg, em_status end, int sys_errno, const char *dir);
/* Allocations, also those of the context. */
int stream_fail_memory(stream_work_fn work, void *arg, em_status end);

/* Be somebody who is not root for a while: permissions do not bind root. */
void stream_not_root(void);
void stream_root_again(void);

#endif
