/* SPDX-License-Identifier: BSL-1.0 */
/* source_test.h -- what the tests of sources share: a reader that compares what it reads with what is to come. */
#ifndef EM_SOURCE_TEST_H
#define EM_SOURCE_TEST_H

#include "stream/source.h"
#include "stream/stream_test.h"

#define PAGE 4096u
#define FILES_MOST 40
#define CANARY 64

/* A source with two areas in turn, as a sorter uses it, and what is to come out. */
typedef struct reader {
	em_ctx *ctx;
	emi_source *s;
	emi_io_stats stats;
	em_errinfo err;
	emi_fill fill[2];
	char *area[2];
	size_t area_bytes;
	uint64_t record_bytes, max_records;
	uint32_t fds_before;
} reader;

/* Read records of these files, so many at a time; close it, in any case. */
em_status reader_open(reader *r, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
		      uint64_t max_records, size_t request_bytes);
void reader_close(reader *r);

/* Begin, or await, one of the two fillings. */
em_status reader_begin(reader *r, int i);
em_status reader_await(reader *r, int i);

/* Read all of it, `ahead' fillings begun before the one awaited, and compare. */
em_status reader_read(reader *r, const char *want, size_t bytes, int ahead);

/* Make n files of random sizes, their paths for free(); their bytes one after the other go to data. */
size_t source_files(test_rng *rng, const char *dir, char *paths[], uint32_t n, uint64_t record, char *data);

#endif
