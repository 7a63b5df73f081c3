/* SPDX-License-Identifier: BSL-1.0 */
/*
 * async_test.h -- what the tests of backends that make asynchronous transfers share.
 */
#ifndef EM_ASYNC_TEST_H
#define EM_ASYNC_TEST_H

#include "io/io_test.h"

/* Bytes that are enough for the asynchronous way to begin, and go on for a while. */
enum { ASYNC_ENOUGH = 24 << 20 };

/* A context on a copy of a backend, *be, that counts what is submitted; one at a time.  NULL where there is no such
 * backend. */
em_ctx *async_ctx(const char *backend, em_backend *be, io_setup *setup);

/* Transfers that were submitted since. */
uint64_t async_submitted(void);

/* Random traffic; how many transfers were submitted, or -1 where there is no such backend or no direct file. */
int64_t async_traffic(const char *backend, uint32_t depth, int32_t direct, em_log_fn log, void *user);

#endif
