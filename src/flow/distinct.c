/* SPDX-License-Identifier: BSL-1.0 */
/*
 * distinct.c -- the first record of each group of equal neighbours, without counting the others.
 *
 * A few records at a time are loaded as elements, behind the last one that came before, and compared with their
 * neighbours.  Where all of them differ they are lent as they lie in the input, so that a stream with few equal records
 * costs little more than a look at it.  Where some are equal the first ones are gathered in the buffer.
 *
 * An element may refer to its record, which is gone with the window of the input.  So the last record is copied, and
 * loaded again with those that come next.
 */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/distinct.h"
#include "flow/flow_order.h"

#define LOADED ((size_t)8 << 10) /* bytes of elements at a time */

typedef struct distinct {
	em_stream s;
	emi_collation by;
	char *last;             /* the last record that came before, if there is one */
	int have_last;
	char *elem;             /* of it, and of `most' records; NULL: not yet */
	size_t most;
} distinct;

static size_t elem_bytes(const distinct *d)
{
	return d->by.codec->elem_bytes;
}

static em_status get_memory(distinct *d, em_errinfo *err)
{
	const size_t bytes = elem_bytes(d);

	if (d->elem != NULL)
		return EM_OK;
	d->most = bytes < LOADED ? LOADED / bytes : 1;
	d->elem = emi_buffer_alloc(d->s.object.ctx, (d->most + 1) * bytes, err);
	return d->elem != NULL ? EM_OK : err->status;
}

/* Load n records.  Element 0 is that of the last one before. */
static void load(distinct *d, const char *records, size_t n)
{
	if (d->have_last)
		emi_collation_load(&d->by, d->last, 1, d->elem);
	emi_collation_load(&d->by, records, n, d->elem + elem_bytes(d));
}

/* Is record i equal to the one before it? */
static int repeats(const distinct *d, size_t i)
{
	const char *e = d->elem + i * elem_bytes(d);

	if (i == 0 && !d->have_last)
		return 0;
	return emi_elem_compare(&d->by, &d->by.tie, e, e + elem_bytes(d)) == 0;
}

/* The first record from i on, of n, that is equal to the one before it; n: there is none. */
static size_t find_repeated(const distinct *d, size_t i, size_t n)
{
	const emi_pair *e = (const emi_pair *)(const void *)d->elem;

	if (i == 0 && n != 0) {
		if (repeats(d, 0))
			return 0;
		i = 1;
	}
	if (d->by.codec->elem == EMI_ELEM_PAIR && d->by.tie.fn == NULL) {
		while (i < n && e[i].key != e[i + 1].key)
			i++;
		return i;
	}
	while (i < n && !repeats(d, i))
		i++;
	return i;
}

/* Of n records that were loaded the first ones of their groups go to `to'; returns how many. */
static size_t gather(const distinct *d, const char *records, size_t n, char *to)
{
	const size_t record = d->s.record;
	const char *const begin = to;
	size_t i = 0, end;

	while (i < n) {
		end = find_repeated(d, i, n);
		memcpy(to, records + i * record, (end - i) * record);
		to += (end - i) * record;
		for (i = end; i < n && repeats(d, i); i++)
			continue;
	}
	return (size_t)(to - begin) / record;
}

/* n records in hand were looked at. */
static void pass(distinct *d, em_stream *in, size_t n)
{
	emi_copy(d->last, in->source.at + (n - 1) * in->record, in->record);
	d->have_last = 1;
	in->source.at += n * in->record;
}

/* How many records to look at, if `made' are in the buffer already. */
static size_t some(const distinct *d, const em_stream *in, size_t made)
{
	const size_t hand = emi_stream_hand(in), n = hand < d->most ? hand : d->most;

	if (d->s.room == NULL || n < d->s.room_records - made)
		return n;
	return d->s.room_records - made;
}

static em_status next(em_stream *s, em_errinfo *err)
{
	distinct *d = (distinct *)(void *)s;
	em_stream *in = s->input[0];
	em_status st = get_memory(d, err);
	size_t made = 0;

	while (st == EM_OK && (s->room == NULL || made < s->room_records) && (st = emi_stream_need(in, err)) == EM_OK) {
		const char *at = in->source.at;
		size_t n = some(d, in, made);

		load(d, at, n);
		if (find_repeated(d, 0, n) == n) {
			if (made != 0)
				break;
			pass(d, in, n);
			s->source.at = at;
			s->source.end = at + n * s->record;
			return emi_collation_check(&d->by, err);
		}
		st = emi_stream_room(s, err);
		if (st != EM_OK)
			return st;
		n = some(d, in, made);
		made += gather(d, at, n, s->room + made * s->record);
		pass(d, in, n);
		st = emi_collation_check(&d->by, err);
		if (st != EM_OK)
			return st;
	}
	return emi_stream_show_made(s, made, st);
}

static void retire(em_stream *s)
{
	distinct *d = (distinct *)(void *)s;

	if (d->elem != NULL)
		emi_buffer_free(s->object.ctx, d->elem, (d->most + 1) * elem_bytes(d));
	if (d->last != NULL)
		emi_free(s->object.ctx, d->last, s->record);
	d->elem = d->last = NULL;
	emi_collation_close(&d->by);
}

em_stream *emi_stream_distinct(em_stream *in, const em_order *order, em_errinfo *err)
{
	static const emi_stream_kind kind = { next, retire, "unique", 0 };
	distinct *d = NULL;

	if (emi_stream_check_order(in, order, err) == EM_OK)
		d = (distinct *)(void *)emi_stream_new(NULL, sizeof *d, &kind, in->record, &in, 1, EM_STREAM_UNKNOWN,
						       err);
	if (d == NULL)
		return NULL;
	d->last = emi_alloc(d->s.object.ctx, in->record, err);
	if (d->last != NULL && emi_stream_open_order(&d->by, in, order, err) == EM_OK)
		return &d->s;
	if (d->last != NULL)
		emi_free(d->s.object.ctx, d->last, in->record);
	emi_stream_drop(&d->s);
	return NULL;
}
