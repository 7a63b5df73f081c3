/* SPDX-License-Identifier: BSL-1.0 */
/* subjects_streams.c -- structs of streams, sinks and runs; see subjects.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi/subjects_case.h"

static em_status no_more(void *user, em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	return EM_END;
}

static em_status with_stream_ops(void *theirs)
{
	em_stream *s;
	const em_status st = em_stream_open(&s, given.ctx, 8, 0, theirs, NULL, &subjects_err);

	em_stream_close(s);
	return st;
}

static em_status take_all(void *user, const em_batch *batch, em_errinfo *err)
{
	(void)user;
	(void)batch;
	(void)err;
	return EM_OK;
}

static em_status with_sink_ops(void *theirs)
{
	em_sink *k;
	const em_status st = em_sink_open(&k, given.ctx, 8, theirs, NULL, &subjects_err);

	em_sink_close(k);
	return st;
}

static const em_key by_first = { 0, 0, EM_KEY_U64, 0, { 0 } };

static em_status with_join_opts(void *theirs)
{
	em_stream *both[2], *s;
	em_status st;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(em_stream_memory(&both[i], given.ctx, 8, subjects_numbers, 1, NULL), EM_OK);
	st = em_stream_join(&s, both[0], both[1], theirs, &subjects_err);
	em_stream_close(s);
	for (i = 0; i < 2 && st != EM_OK; i++)
		em_stream_close(both[i]);
	return st;
}

static em_status with_lines_join_opts(void *theirs)
{
	em_stream *both[2], *s;
	em_status st;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(em_stream_lines(&both[i], given.ctx, NULL, 0, NULL, NULL), EM_OK);
	st = em_stream_lines_join(&s, both[0], both[1], theirs, &subjects_err);
	em_stream_close(s);
	for (i = 0; i < 2 && st != EM_OK; i++)
		em_stream_close(both[i]);
	return st;
}

static em_status with_stream_graph_info(void *theirs)
{
	em_stream *s;
	em_status st;

	assert_int_equal(em_stream_memory(&s, given.ctx, 8, subjects_numbers, 1, NULL), EM_OK);
	st = em_stream_graph_info_get(s, theirs);
	em_stream_close(s);
	return st;
}

static em_status with_tee_opts(void *theirs)
{
	em_stream *input, *s;
	em_status st;

	assert_int_equal(em_stream_memory(&input, given.ctx, 8, subjects_numbers, 1, NULL), EM_OK);
	st = em_stream_tee(&s, 1, input, theirs, &subjects_err);
	em_stream_close(s);
	if (st != EM_OK)
		em_stream_close(input);
	return st;
}

static em_runs *open_runs(const em_runs_opts *opts, em_status *st)
{
	em_runs *r;

	*st = em_runs_open(&r, given.ctx, given.order, opts, &subjects_err);
	return r;
}

static em_status with_runs_opts(void *theirs)
{
	em_status st;

	em_runs_close(open_runs(theirs, &st));
	return st;
}

static em_status with_runs_merge_opts(void *theirs)
{
	em_status st;
	em_runs *r = open_runs(NULL, &st);
	em_stream *s;

	assert_int_equal(st, EM_OK);
	st = em_runs_merge(&s, r, theirs, &subjects_err);
	em_stream_close(s);
	em_runs_close(r);
	return st;
}

static em_status with_runs_info(void *theirs)
{
	em_status st;
	em_runs *r = open_runs(NULL, &st);

	assert_int_equal(st, EM_OK);
	st = em_runs_info_get(r, theirs);
	em_runs_close(r);
	return st;
}

size_t subjects_streams(subject *s)
{
	size_t n = 0;

	s[n] = MAKE(em_join_opts, with_join_opts, 1);
	s[n].u.join_opts = (em_join_opts)EM_JOIN_OPTS_INIT;
	s[n].u.join_opts.left = s[n].u.join_opts.right = &by_first;
	s[n++].u.join_opts.nkeys = 1;
	s[n] = MAKE(em_lines_join_opts, with_lines_join_opts, 1);
	s[n].u.lines_join_opts = (em_lines_join_opts)EM_LINES_JOIN_OPTS_INIT;
	s[n++].u.lines_join_opts.left = given.by_line;
	s[n] = MAKE(em_tee_opts, with_tee_opts, 1);
	s[n++].u.tee_opts = (em_tee_opts)EM_TEE_OPTS_INIT;
	s[n++] = MAKE(em_runs_info, with_runs_info, 0);
	s[n] = MAKE(em_runs_merge_opts, with_runs_merge_opts, 1);
	s[n++].u.runs_merge_opts = (em_runs_merge_opts)EM_RUNS_MERGE_OPTS_INIT;
	s[n] = MAKE(em_runs_opts, with_runs_opts, 1);
	s[n++].u.runs_opts = (em_runs_opts)EM_RUNS_OPTS_INIT;
	s[n] = MAKE(em_sink_ops, with_sink_ops, 1);
	s[n].u.sink_ops = (em_sink_ops)EM_SINK_OPS_INIT;
	s[n++].u.sink_ops.push = take_all;
	s[n++] = MAKE(em_stream_graph_info, with_stream_graph_info, 0);
	s[n] = MAKE(em_stream_ops, with_stream_ops, 1);
	s[n].u.stream_ops = (em_stream_ops)EM_STREAM_OPS_INIT;
	s[n++].u.stream_ops.next = no_more;
	return n;
}
