/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge_stream.c -- the merge over sorted sources (sort/kway.h) as a node: streams are such sources.  Those of records
 * of any length are merged in lines_merge.c.
 */
#include <inttypes.h>

#include "base/error.h"
#include "flow/flow_order.h"
#include "flow/lines.h"
#include "sort/kway.h"

typedef struct merge_stream {
	em_stream s;
	emi_collation by;
	emi_kway kway;
	int open;
} merge_stream;

static em_status begin(merge_stream *m, em_errinfo *err)
{
	em_status st = emi_kway_open(&m->kway, &m->by, NULL, err);
	uint32_t i;

	if (st != EM_OK)
		return st;
	m->open = 1;
	st = emi_kway_reserve(&m->kway, m->s.inputs, err);
	for (i = 0; i < m->s.inputs && st == EM_OK; i++)
		st = emi_kway_add(&m->kway, &m->s.input[i]->source, i, err);
	return st;
}

static int any_failed(const em_stream *s)
{
	uint32_t i;

	for (i = 0; i < s->inputs && s->input[i]->status >= EM_OK; i++)
		continue;
	return i < s->inputs;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	merge_stream *m = (merge_stream *)(void *)s;
	em_status st = m->open ? EM_OK : begin(m, err);
	const char *records;
	size_t n;

	if (st == EM_OK)
		st = emi_kway_next(&m->kway, NULL, &records, &n, err);
	if (st == EM_OK) {
		s->source.at = records;
		s->source.end = records + n * s->record;
	}
	/* The merge tells some failures later: whose it was is seen by who is over. */
	s->mild = st == EM_ERR_BUSY && !any_failed(s);
	return st;
}

static void retire(em_stream *s)
{
	merge_stream *m = (merge_stream *)(void *)s;

	if (m->open)
		emi_kway_close(&m->kway);
	m->open = 0;
	emi_collation_close(&m->by);
}

static em_stream *make(em_stream *const *inputs, uint32_t n, const em_order *order, uint64_t count, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "merge", 0 };
	em_stream *s = emi_stream_new(NULL, sizeof(merge_stream), &kind, inputs[0]->record, inputs, n, count, err);
	merge_stream *m = (merge_stream *)(void *)s;

	if (s == NULL)
		return NULL;
	if (emi_stream_open_order(&m->by, inputs[0], order, err) != EM_OK) {
		emi_stream_drop(s);
		return NULL;
	}
	s->claim = emi_kway_memory(&m->by, NULL, n);
	return s;
}

em_status em_stream_merge(em_stream **out, em_stream *const *inputs, uint32_t n, const em_order *order,
			  em_errinfo *theirs)
{
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, n, &err);
	uint64_t count = 0;
	uint32_t i;

	if (st == EM_OK)
		st = emi_given(inputs, "inputs", &err);
	if (st == EM_OK && n == 0)
		st = emi_fail(&err, EM_ERR_INVAL, "there are no inputs");
	for (i = 0; st == EM_OK && i < n; i++) {
		st = emi_stream_check_any_order(inputs[i], order, &err);
		if (st == EM_OK) {
			const uint64_t left = emi_stream_left(inputs[i]);

			count = left > EM_STREAM_UNKNOWN - count ? EM_STREAM_UNKNOWN : count + left;
		}
	}
	if (st == EM_OK)
		s = inputs[0]->varied ? emi_lines_merge(inputs, n, order, count, &err)
				      : make(inputs, n, order, count, &err);
	return emi_stream_end(s, out, st, theirs, &err);
}
