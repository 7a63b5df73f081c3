/* SPDX-License-Identifier: BSL-1.0 */
/* sink_test.c -- see sink_test.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "stream/sink_test.h"

#define BUFFERS 3

em_status sink_put_all(emi_sink *s, const char *data, size_t bytes, size_t chunk, em_errinfo *err)
{
	emi_outbuf ob[BUFFERS];
	em_status st = EM_OK;
	size_t at = 0, i;

	memset(ob, 0, sizeof(ob));
	for (i = 0; i < BUFFERS; i++)
		if (posix_memalign((void **)&ob[i].base, PAGE, chunk + PAGE) != 0)
			st = EM_ERR_NOMEM;
	for (i = 0; st == EM_OK && at < bytes; i = (i + 1) % BUFFERS) {
		st = emi_wait(&ob[i].rq, err);
		if (st != EM_OK)
			break;
		memset(ob[i].base, 0x77, chunk + PAGE);
		ob[i].lead = emi_sink_lead(s, at);
		ob[i].len = bytes - at < chunk ? bytes - at : chunk;
		memcpy(ob[i].base + ob[i].lead, data + at, ob[i].len);
		at += ob[i].len;
		st = emi_sink_put(s, &ob[i], err);
	}
	for (i = 0; i < BUFFERS; i++) {
		em_status one = emi_wait(&ob[i].rq, err);

		if (st == EM_OK)
			st = one;
		free(ob[i].base);
	}
	return st;
}

em_status sink_write_out(em_ctx *ctx, const char *path, const char *data, size_t bytes, size_t chunk, uint64_t told,
			   em_errinfo *err)
{
	emi_io_stats stats;
	emi_sink *s;
	em_status st;

	memset(&stats, 0, sizeof(stats));
	memset(err, 0, sizeof(*err));
	st = emi_sink_open(&s, ctx, path, told, &stats, err);
	if (st != EM_OK) {
		assert_null(s);
		return st;
	}
	st = sink_put_all(s, data, bytes, chunk, err);
	if (st == EM_OK)
		st = emi_sink_commit(s, err);
	emi_sink_close(s);
	if (st == EM_OK)
		assert_true(stats.bytes_written >= bytes && stats.bytes_written < bytes + PAGE);
	else
		assert_int_equal(err->status, st);
	return st;
}

int sink_entries(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

char *sink_make_data(size_t bytes)
{
	test_rng rng = test_rng_make(test_seed());
	char *data = malloc(bytes);

	assert_non_null(data);
	test_fill(&rng, data, bytes);
	return data;
}
