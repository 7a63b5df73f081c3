/* SPDX-License-Identifier: BSL-1.0 */
/* lines_map.c -- nodes that have a function choose, see or turn records of any length: some of them at a time. */
#include <string.h>

#include <extmem/stream_lines.h>

#include "base/error.h"
#include "flow/lines.h"

typedef struct lines_map {
	em_stream s;
	union {
		em_lines_filter_fn filter;
		em_lines_inspect_fn inspect;
		em_lines_map_fn map;
	} fn;
	void *user;
	emi_text_room text;     /* of what a filter keeps */
	uint64_t seen[EMI_LINES_MOST]; /* ends that a function gets */
	uint64_t kept[EMI_LINES_MOST]; /* ends of what a filter keeps */
	unsigned char keep[EMI_LINES_MOST];
} lines_map;

/* Records of a batch that are kept go one behind the other; returns how many. */
static size_t gather(lines_map *m, const em_batch *b)
{
	const char *from = b->records;
	size_t i, n = 0;
	uint64_t begin = 0, used = 0;

	for (i = 0; i < b->n; begin = b->ends[i++]) {
		if (m->keep[i] == 0)
			continue;
		memcpy(m->text.at + used, from + begin, (size_t)(b->ends[i] - begin));
		used += b->ends[i] - begin;
		m->kept[n++] = used;
	}
	return n;
}

static em_status filter_next(em_stream *s, em_errinfo *err)
{
	lines_map *m = (lines_map *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = EM_OK;
	size_t n = 0;

	while (st == EM_OK && n == 0 && (st = emi_stream_need(in, err)) == EM_OK) {
		em_batch b;
		int failed;

		emi_lines_look(in, m->seen, EMI_LINES_MOST, &b);
		st = emi_text_room_need(&m->text, s->object.ctx, b.bytes, 0, err);
		if (st != EM_OK)
			return st;
		memset(m->keep, 0, b.n);
		failed = m->fn.filter(m->user, &b, m->keep);
		if (failed != 0)
			return emi_stream_user_failed("filters records", failed, err);
		n = gather(m, &b);
		in->source.at += b.n * in->record;
	}
	if (st == EM_OK)
		emi_lines_show(s, m->text.at, m->kept, n);
	return st;
}

static em_status inspect_next(em_stream *s, em_errinfo *err)
{
	lines_map *m = (lines_map *)(void *)s;
	em_stream *in = s->input[0];
	const em_status st = emi_stream_need(in, err);
	em_batch b;
	int failed;

	if (st != EM_OK)
		return st;
	emi_lines_look(in, m->seen, EMI_LINES_MOST, &b);
	failed = m->fn.inspect(m->user, &b);
	if (failed != 0)
		return emi_stream_user_failed("inspects records", failed, err);
	s->source.at = in->source.at;
	s->source.end = in->source.at += b.n * in->record;
	emi_stream_same_text(s, in);
	return EM_OK;
}

static em_status map_next(em_stream *s, em_errinfo *err)
{
	lines_map *m = (lines_map *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = emi_stream_need(in, err);
	em_batch b;
	int failed;

	if (st == EM_OK)
		st = emi_stream_room(s, err);
	if (st != EM_OK)
		return st;
	emi_lines_look(in, m->seen, s->room_records < EMI_LINES_MOST ? s->room_records : EMI_LINES_MOST, &b);
	failed = m->fn.map(m->user, &b, s->room);
	if (failed != 0)
		return emi_stream_user_failed("maps records", failed, err);
	in->source.at += b.n * in->record;
	return emi_stream_show(s, b.n);
}

static void retire(em_stream *s)
{
	emi_text_room_free(&((lines_map *)(void *)s)->text, s->object.ctx);
}

/* given: the function is not NULL.  record_bytes: 0: any. */
static lines_map *make(em_stream **out, em_stream *in, uint64_t record_bytes, int given, const emi_stream_kind *kind,
		       void *user, em_errinfo *err)
{
	const int varied = record_bytes == 0;
	em_status st = emi_stream_begin_by(out, in, given, err);
	lines_map *m;

	if (st == EM_OK)
		st = emi_lines_check(in, err);
	if (st != EM_OK)
		return NULL;
	m = (lines_map *)(void *)emi_stream_new(NULL, sizeof *m, kind, varied ? sizeof(uint64_t) : record_bytes, &in, 1,
						EM_STREAM_UNKNOWN, err);
	if (m == NULL)
		return NULL;
	m->user = user;
	if (varied)
		emi_stream_vary(&m->s);
	return m;
}

static em_status made(lines_map *m, em_stream **out, void *user, void (*user_free)(void *user), em_errinfo *theirs,
		      const em_errinfo *err)
{
	return emi_stream_end_user(m != NULL ? &m->s : NULL, out, m != NULL ? EM_OK : err->status, user, user_free,
				   theirs, err);
}

em_status em_stream_lines_filter(em_stream **out, em_stream *in, em_lines_filter_fn fn, void *user,
				 void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { filter_next, retire, "filter", EMI_STREAM_VARIED };
	em_errinfo err;
	lines_map *m = make(out, in, 0, fn != NULL, &kind, user, &err);

	if (m != NULL)
		m->fn.filter = fn;
	return made(m, out, user, user_free, theirs, &err);
}

em_status em_stream_lines_inspect(em_stream **out, em_stream *in, em_lines_inspect_fn fn, void *user,
				  void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { inspect_next, NULL, "inspect", EMI_STREAM_VARIED };
	em_errinfo err;
	lines_map *m = make(out, in, 0, fn != NULL, &kind, user, &err);

	if (m != NULL)
		m->fn.inspect = fn;
	return made(m, out, user, user_free, theirs, &err);
}

em_status em_stream_lines_map(em_stream **out, em_stream *in, uint64_t record_bytes, em_lines_map_fn fn, void *user,
			      void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { map_next, NULL, "map", EMI_STREAM_VARIED };
	em_errinfo err;
	lines_map *m;

	if (record_bytes == 0) {
		em_status st = emi_stream_begin_node(out, &in, 1, &err);

		if (st == EM_OK)
			st = emi_stream_check_record(record_bytes, &err);
		return emi_stream_end_user(NULL, out, st, user, user_free, theirs, &err);
	}
	m = make(out, in, record_bytes, fn != NULL, &kind, user, &err);
	if (m != NULL)
		m->fn.map = fn;
	return made(m, out, user, user_free, theirs, &err);
}
