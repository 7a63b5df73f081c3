/* SPDX-License-Identifier: BSL-1.0 */
/* vector_case.c -- see vector_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/vector_case.h"

void vector_case_ok(vector_case *t, em_status st, int line)
{
	em_errinfo err;

	if (st == EM_OK)
		return;
	em_vector_error(t->v, &err);
	fail_msg("line %d: %s: %s", line, em_status_name(st), t->v != NULL ? err.text : t->err.text);
}

void vector_case_open(vector_case *t, const em_backend *backend, uint64_t record, uint64_t room)
{
	const em_vector_opts plain = EM_VECTOR_OPTS_INIT;

	memset(t, 0, sizeof *t);
	fixture_open_on(&t->f, &backend, 1);
	t->opts = plain;
	t->opts.record_bytes = record;
	t->opts.errinfo = &t->err;
	t->room = room;
	t->is = calloc((size_t)room + 1, (size_t)record);
	t->buf = malloc((size_t)(room + 1) * (size_t)record);
	assert_non_null(t->is);
	assert_non_null(t->buf);
}

void vector_case_make(vector_case *t, int bound)
{
	if (bound && t->dir == NULL) {
		t->dir = test_dir_make();
		t->path = test_path(t->dir, "records");
	}
	t->opts.path = bound ? t->path : NULL;
	if (bound)
		t->opts.flags = EM_VECTOR_CREATE;
	t->n = t->opts.records;
	assert_vector_ok(t, em_vector_open(&t->v, t->f.ctx, &t->opts));
	if (bound)
		t->n = em_vector_size(t->v);
}

void vector_case_numbers(vector_case *t, const em_backend *backend, uint64_t room, uint64_t frames)
{
	vector_case_open(t, backend, 8, room);
	t->opts.block_bytes = 4096;
	t->opts.cache_bytes = frames * t->opts.block_bytes;
	vector_case_make(t, 0);
}

void vector_case_reopen(vector_case *t)
{
	if (t->opts.path == NULL)
		return;
	em_vector_close(t->v);
	t->v = NULL;
	assert_vector_ok(t, em_vector_open(&t->v, t->f.ctx, &t->opts));
}

void vector_case_draw(vector_case *t, uint64_t n)
{
	test_fill(&t->f.rng, t->buf, (size_t)(n * t->opts.record_bytes));
}

void vector_case_put(vector_case *t, uint64_t i, uint64_t n)
{
	const uint64_t record = t->opts.record_bytes;

	memcpy(t->is + i * record, t->buf, (size_t)(n * record));
	if (i + n > t->n)
		t->n = i + n;
}

void vector_case_check(vector_case *t)
{
	const uint64_t record = t->opts.record_bytes;
	uint64_t i;

	assert_int_equal(em_vector_size(t->v), t->n);
	assert_vector_ok(t, em_vector_read(t->v, 0, t->buf, t->n));
	if (memcmp(t->buf, t->is, (size_t)(t->n * record)) == 0)
		return;
	for (i = 0; memcmp(t->buf + i * record, t->is + i * record, (size_t)record) == 0;)
		i++;
	fail_msg("record %llu of %llu is wrong", (unsigned long long)i, (unsigned long long)t->n);
}

em_vector_stats vector_case_stats(const vector_case *t)
{
	em_vector_stats s = EM_VECTOR_STATS_INIT;

	assert_int_equal(em_vector_stats_get(t->v, &s), EM_OK);
	return s;
}

void vector_case_close(vector_case *t)
{
	em_vector_close(t->v);
	assert_int_equal(emi_disk_used(t->f.disk), 0);
	fixture_close(&t->f);
	test_dir_remove(t->dir);
	free(t->path);
	free(t->is);
	free(t->buf);
}
