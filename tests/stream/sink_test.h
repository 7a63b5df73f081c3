/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sink_test.h -- what the tests of sinks share.
 */
#ifndef EM_SINK_TEST_H
#define EM_SINK_TEST_H

#include <sys/types.h>

#include "stream/sink.h"
#include "stream/stream_test.h"

#define PAGE 4096u

/* Put data in pieces of up to `chunk' bytes through a ring of buffers, as the engine does. */
em_status sink_put_all(emi_sink *s, const char *data, size_t bytes, size_t chunk, em_errinfo *err);
/* The whole life of a sink. */
em_status sink_write_out(em_ctx *ctx, const char *path, const char *data, size_t bytes, size_t chunk, uint64_t told,
			 em_errinfo *err);
/* How many files are in a directory. */
int sink_entries(const char *dir);
/* So many bytes of a pattern, for free(). */
char *sink_make_data(size_t bytes);

#endif
