/* SPDX-License-Identifier: BSL-1.0 */
/* map.c -- nodes that have a function make, choose or see records: a batch of the input at a time. */
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "flow/stream.h"

#define FILTER_MOST 1024u       /* records that are decided on at a time */

typedef struct map_stream {
	em_stream s;
	union {
		em_map_fn map;
		em_filter_fn filter;
		em_inspect_fn inspect;
	} fn;
	void *user;
	unsigned char keep[FILTER_MOST];
} map_stream;

static em_status map_next(em_stream *s, em_errinfo *err)
{
	map_stream *m = (map_stream *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = emi_stream_need(in, err);
	size_t n;
	int failed;

	if (st == EM_OK)
		st = emi_stream_room(s, err);
	if (st != EM_OK)
		return st;
	n = emi_stream_hand(in);
	if (n > s->room_records)
		n = s->room_records;
	failed = m->fn.map(m->user, in->source.at, n, s->room);
	if (failed != 0)
		return emi_stream_user_failed("maps records", failed, err);
	in->source.at += n * in->record;
	return emi_stream_show(s, n);
}

/* Of n records those that are kept go one behind the other; returns how many. */
static size_t gather(const unsigned char *keep, const char *from, size_t n, size_t record, char *to)
{
	const char *begin = to;
	size_t i;

	if (record == 8) {
		/* Without branches; there is room for all. */
		for (i = 0; i < n; i++) {
			memcpy(to, from + i * 8, 8);
			to += keep[i] != 0 ? 8 : 0;
		}
	} else {
		for (i = 0; i < n; i++) {
			if (keep[i] == 0)
				continue;
			emi_copy(to, from + i * record, record);
			to += record;
		}
	}
	return (size_t)(to - begin) / record;
}

static em_status filter_next(em_stream *s, em_errinfo *err)
{
	map_stream *m = (map_stream *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = emi_stream_room(s, err);
	size_t made = 0;

	while (st == EM_OK && made < s->room_records && (st = emi_stream_need(in, err)) == EM_OK) {
		size_t n = emi_stream_hand(in);
		int failed;

		if (n > s->room_records - made)
			n = s->room_records - made;
		if (n > FILTER_MOST)
			n = FILTER_MOST;
		memset(m->keep, 0, n);
		failed = m->fn.filter(m->user, in->source.at, n, m->keep);
		if (failed != 0)
			return emi_stream_user_failed("filters records", failed, err);
		made += gather(m->keep, in->source.at, n, s->record, s->room + made * s->record);
		in->source.at += n * s->record;
	}
	return emi_stream_show_made(s, made, st);
}

static em_status inspect_next(em_stream *s, em_errinfo *err)
{
	map_stream *m = (map_stream *)(void *)s;
	em_stream *in = s->input[0];
	const em_status st = emi_stream_need(in, err);
	int failed;

	if (st != EM_OK)
		return st;
	failed = m->fn.inspect(m->user, in->source.at, emi_stream_hand(in));
	if (failed != 0)
		return emi_stream_user_failed("inspects records", failed, err);
	s->source.at = in->source.at;
	s->source.end = in->source.end;
	in->source.at = in->source.end;
	return EM_OK;
}

/* given: the function is not NULL. */
static map_stream *make(em_stream **out, em_stream *in, uint64_t record_bytes, int given, const emi_stream_kind *kind,
			int counted, void *user, em_errinfo *err)
{
	em_status st = emi_stream_begin_by(out, in, given, err);
	map_stream *m;

	if (st != EM_OK)
		return NULL;
	if (record_bytes == UINT64_MAX)
		record_bytes = in->record;
	m = (map_stream *)(void *)emi_stream_new(NULL, sizeof *m, kind, record_bytes, &in, 1,
						 counted ? emi_stream_left(in) : EM_STREAM_UNKNOWN, err);
	if (m != NULL)
		m->user = user;
	return m;
}

static em_status made(map_stream *m, em_stream **out, void *user, void (*user_free)(void *user), em_errinfo *theirs,
		      const em_errinfo *err)
{
	return emi_stream_end_user(m != NULL ? &m->s : NULL, out, m != NULL ? EM_OK : err->status, user, user_free,
				   theirs, err);
}

em_status em_stream_map(em_stream **out, em_stream *in, uint64_t record_bytes, em_map_fn fn, void *user,
			void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { map_next, NULL, "map", 0 };
	const uint64_t record = record_bytes != UINT64_MAX ? record_bytes : 0;
	em_errinfo err;
	map_stream *m = make(out, in, record, fn != NULL, &kind, 1, user, &err);

	if (m != NULL)
		m->fn.map = fn;
	return made(m, out, user, user_free, theirs, &err);
}

em_status em_stream_filter(em_stream **out, em_stream *in, em_filter_fn fn, void *user,
			   void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { filter_next, NULL, "filter", 0 };
	em_errinfo err;
	map_stream *m = make(out, in, UINT64_MAX, fn != NULL, &kind, 0, user, &err);

	if (m != NULL)
		m->fn.filter = fn;
	return made(m, out, user, user_free, theirs, &err);
}

em_status em_stream_inspect(em_stream **out, em_stream *in, em_inspect_fn fn, void *user,
			    void (*user_free)(void *user), em_errinfo *theirs)
{
	static const emi_stream_kind kind = { inspect_next, NULL, "inspect", 0 };
	em_errinfo err;
	map_stream *m = make(out, in, UINT64_MAX, fn != NULL, &kind, 1, user, &err);

	if (m != NULL)
		m->fn.inspect = fn;
	return made(m, out, user, user_free, theirs, &err);
}
