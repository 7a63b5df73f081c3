/* SPDX-License-Identifier: BSL-1.0 */
/* source_test.c -- see source_test.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "stream/source_test.h"

em_status reader_open(reader *r, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
			     uint64_t max_records, size_t request_bytes)
{
	em_status st;
	int i;

	memset(r, 0, sizeof(*r));
	r->ctx = ctx;
	r->fds_before = ctx->fds_used;
	r->record_bytes = record_bytes;
	r->max_records = max_records;
	r->area_bytes = (size_t)(record_bytes * max_records) + EMI_SOURCE_SLACK;
	st = emi_source_open(&r->s, ctx, paths, n, record_bytes, &r->stats, &r->err);
	for (i = 0; i < 2 && st == EM_OK; i++) {
		if (posix_memalign((void **)&r->area[i], PAGE, r->area_bytes + CANARY) != 0)
			return EM_ERR_NOMEM;
		memset(r->area[i] + r->area_bytes, 0x5a, CANARY);
		st = emi_fill_init(&r->fill[i], r->s, r->area_bytes, request_bytes, &r->err);
	}
	return st;
}

void reader_close(reader *r)
{
	int i, j;

	for (i = 0; i < 2; i++) {
		emi_fill_free(&r->fill[i], r->s);
		for (j = 0; r->area[i] != NULL && j < CANARY; j++)
			assert_int_equal(r->area[i][r->area_bytes + (size_t)j], 0x5a);
		free(r->area[i]);
	}
	emi_source_close(r->s);
	assert_int_equal(r->ctx->fds_used, r->fds_before);
}

em_status reader_begin(reader *r, int i)
{
	return emi_source_begin(r->s, &r->fill[i], r->area[i], r->max_records, &r->err);
}

em_status reader_await(reader *r, int i)
{
	return emi_source_await(r->s, &r->fill[i], NULL, NULL, &r->err);
}

em_status reader_read(reader *r, const char *want, size_t bytes, int ahead)
{
	const size_t full = (size_t)(r->max_records * r->record_bytes);
	size_t at = 0;
	em_status st = reader_begin(r, 0);
	int i = 0;

	while (st == EM_OK) {
		emi_fill *fill = &r->fill[i];
		size_t n;

		if (ahead && (st = reader_begin(r, !i)) != EM_OK)
			break;
		if ((st = reader_await(r, i)) != EM_OK)
			break;
		n = (size_t)(fill->records * r->record_bytes);
		/* Areas are full but for the last. */
		assert_int_equal(n, bytes - at < full ? bytes - at : full);
		if (n > 0)
			assert_memory_equal(fill->first, want + at, n);
		at += n;
		if (n == 0) {
			assert_int_equal(at, bytes);
			/* Nothing is open any more. */
			assert_int_equal(r->ctx->fds_used, r->fds_before);
			if (ahead) {
				assert_int_equal(reader_await(r, !i), EM_OK);
				assert_int_equal(r->fill[!i].records, 0);
			}
			break;
		}
		if (!ahead)
			st = reader_begin(r, !i);
		i = !i;
	}
	return st;
}

size_t source_files(test_rng *rng, const char *dir, char *paths[], uint32_t n, uint64_t record, char *data)
{
	size_t at = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		static const uint64_t kinds[] = { 1, 300, 5000, 30000 };
		char name[16];
		uint64_t bytes = test_below(rng, kinds[test_below(rng, 4)]);

		if (test_below(rng, 3) == 0)
			bytes = bytes / PAGE * PAGE;
		bytes -= bytes % record;
		snprintf(name, sizeof(name), "f%" PRIu32, i);
		paths[i] = test_path(dir, name);
		test_fill(rng, data + at, (size_t)bytes);
		stream_write_file(paths[i], data + at, (size_t)bytes);
		at += (size_t)bytes;
	}
	return at;
}
