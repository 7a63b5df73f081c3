/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records_cut.c -- where records end, and what is wrong with them.
 *
 * Of a chunk of lines only the last delimiter matters, but a line that is too long must not pass either.  Both come
 * from steps that are as long as a line may be: from the beginning of a line, the last delimiter within the `longest' +
 * 1 bytes that follow is looked for from behind.  If there is none, the line is too long.  If there is one, so is no
 * line before it, and the next step begins behind it.  With lines that are short compared to the longest allowed this
 * reads a small part of the chunk.  Prefixes have to be followed one by one.  Records of one size need no looking at
 * all.
 *
 * In a CSV file the last delimiter that ends a record is found from the front, past what is quoted (csv.h); the steps
 * are the same.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "stream/records_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "stream/bytes_last.h"
#include "stream/csv.h"

#define MEASURE_SHARE 8u        /* no line of more than this part of the memory is ever sorted */

uint64_t emi_records_count(const em_format *f, const unsigned char *at, const unsigned char *end)
{
	uint64_t count = 0;
	size_t n;

	if (f->kind == EM_FORMAT_CSV)
		return emi_csv_lines(f, at, end);
	for (; at < end; count++)
		(void)emi_record_take(f, &at, end, &n);
	return count;
}

const unsigned char *emi_record_take_csv(const em_format *f, const unsigned char **at, const unsigned char *end,
					 size_t *n)
{
	const unsigned char *p = *at;
	int state = EMI_CSV_START;

	*at = emi_csv_first(f, &state, p, end);
	*n = (size_t)(*at - p) - 1;
	return p;
}

static uint64_t count_records(const emi_records *r, const unsigned char *at, const unsigned char *end)
{
	return r->record_bytes != 0 ? (uint64_t)(end - at) / r->record_bytes : emi_records_count(&r->format, at, end);
}

static uint64_t count_given(const emi_records *r, const emi_records_buffer *b)
{
	if (b->state != EMI_RECORDS_OUT || b->file != r->num_file)
		return 0;
	return count_records(r, b->area + b->from, b->area + b->to);
}

/* The number of the record, or line of a CSV file, behind those of the file that were given and `before' more. */
static uint64_t number(const emi_records *r, uint64_t before)
{
	uint64_t n = r->num + before + 1 + count_given(r, &r->joined);
	uint32_t i;

	for (i = 0; i < r->buffers; i++)
		n += count_given(r, &r->buffer[i]);
	return n;
}

/* It has so many bytes, or more. */
static em_status too_long(emi_records *r, uint64_t before, uint64_t bytes)
{
	const char *name = emi_input_name(&r->in.item[r->num_file]);
	const uint64_t n = number(r, before);

	if (emi_format_delimited(&r->format))
		emi_fail_record(&r->err, EM_ERR_FORMAT, name, n, bytes,
				"%s:%" PRIu64 ": line is longer than %" PRIu64 " bytes", name, n, r->longest);
	else
		emi_fail_record(&r->err, EM_ERR_FORMAT, name, n, bytes,
				"%s: record %" PRIu64 " is longer than %" PRIu64 " bytes", name, n, r->longest);
	return emi_records_failed(r, EM_ERR_FORMAT);
}

/* Nothing closes a quote, in a record of a CSV file that begins so many lines behind what was given: up to the end of
 * the file, or, if bytes is not 0, in so many that it has or more, which are too many. */
static em_status quote_open(emi_records *r, uint64_t before, const unsigned char *record, const unsigned char *open,
			    uint64_t bytes)
{
	const char *name = emi_input_name(&r->in.item[r->num_file]);
	const uint64_t line = number(r, before + emi_csv_lines(&r->format, record, open));

	if (bytes == 0)
		return emi_records_failed(r, emi_fail_record(&r->err, EM_ERR_FORMAT, name, line, 0,
							     "%s:%" PRIu64 ": a quote is opened here and never closed",
							     name, line));
	emi_fail_record(&r->err, EM_ERR_FORMAT, name, line, bytes,
			"%s:%" PRIu64 ": a quote is opened here and not closed within the %" PRIu64
			" bytes that a record may have", name, line, r->longest);
	return emi_records_failed(r, EM_ERR_FORMAT);
}

static em_status cut_off(emi_records *r, uint64_t before)
{
	const char *name = emi_input_name(&r->in.item[r->num_file]);
	const uint64_t n = number(r, before);

	return emi_records_failed(r, emi_fail_record(&r->err, EM_ERR_FORMAT, name, n, 0, "%s: record %" PRIu64
						     " is cut off by the end of the file", name, n));
}

static uint64_t prefix(const emi_records *r, const unsigned char *p)
{
	const uint32_t width = r->format.width;
	uint64_t length = 0;
	uint32_t i;

	for (i = 0; i < width; i++)
		length |= (uint64_t)p[i] << 8 * ((r->format.flags & EM_FORMAT_BIG_ENDIAN) != 0 ? width - 1 - i : i);
	return length;
}

/* Behind the first record that ends in [p, end), where *state (csv.h) is that at p, or NULL. */
static const unsigned char *first_end(const emi_records *r, int *state, const unsigned char *p,
				      const unsigned char *end)
{
	const unsigned char *found;

	if (r->format.kind == EM_FORMAT_CSV)
		return emi_csv_first(&r->format, state, p, end);
	found = memchr(p, (int)r->format.delimiter, (size_t)(end - p));
	return found != NULL ? found + 1 : NULL;
}

/* Bytes of the record that begins at p, as far as they are here. */
static uint64_t record_bytes(const emi_records *r, int *state, const unsigned char *p, const unsigned char *stop)
{
	const unsigned char *end = first_end(r, state, p, stop);

	return (uint64_t)(end != NULL ? end - 1 - p : stop - p);
}

/* Behind the last record that ends in [p, end), or NULL; *open is a quote of a CSV file that is open at the end. */
static const unsigned char *last_end(const emi_records *r, const unsigned char *p, const unsigned char *end,
				     const unsigned char **open)
{
	const unsigned char *found;

	*open = NULL;
	if (r->format.kind == EM_FORMAT_CSV)
		return emi_csv_last(&r->format, p, end, open);
	found = emi_bytes_last(p, (unsigned char)r->format.delimiter, (size_t)(end - p));
	return found != NULL ? found + 1 : NULL;
}

/* Records with delimiters. */
static em_status cut_lines(emi_records *r, emi_records_buffer *b, size_t *end)
{
	const unsigned char *begin = b->area + b->from, *p = begin, *stop = b->area + b->to, *open = NULL;
	int state = EMI_CSV_START;

	while (p < stop) {
		const int all = (uint64_t)(stop - p) <= r->longest;
		const unsigned char *found = last_end(r, p, all ? stop : p + (size_t)r->longest + 1, &open);

		if (found == NULL && !all && open != NULL)
			return quote_open(r, count_records(r, begin, p), p, open, record_bytes(r, &state, p, stop));
		if (found == NULL && !all)
			return too_long(r, count_records(r, begin, p), record_bytes(r, &state, p, stop));
		if (found != NULL)
			p = found;
		if (all)
			break;
	}
	if (p < stop && b->last && open != NULL)
		return quote_open(r, count_records(r, begin, p), p, open, 0);
	if (p < stop && b->last) {
		b->area[b->to++] = (unsigned char)r->format.delimiter;
		p = stop + 1;
	}
	*end = (size_t)(p - b->area);
	return EM_OK;
}

static em_status cut_prefixed(emi_records *r, emi_records_buffer *b, size_t *end)
{
	const uint32_t width = r->format.width;
	const unsigned char *begin = b->area + b->from;
	size_t at = b->from;
	uint64_t n = 0, left;

	while (b->to - at >= width) {
		n = prefix(r, b->area + at);
		if (n > r->longest)
			return too_long(r, count_records(r, begin, b->area + at), n);
		if (n > b->to - at - width)
			break;
		at += width + (size_t)n;
		n = 0;
	}
	/* n: what the prefix says, if there is a whole one.  A record that the file cannot hold is not waited for. */
	left = r->in.item[b->file].size - (b->offset + at - r->head);
	if (at < b->to && (left < width || left - width < n))
		return cut_off(r, count_records(r, begin, b->area + at));
	*end = at;
	return EM_OK;
}

/* Of records of one size. */
static em_status cut_fixed(emi_records *r, emi_records_buffer *b, size_t *end)
{
	const uint64_t there = b->to - b->from, rest = there % r->record_bytes;

	if (b->last && rest != 0)
		return cut_off(r, there / r->record_bytes);
	*end = b->to - (size_t)rest;
	return EM_OK;
}

em_status emi_records_cut(emi_records *r, emi_records_buffer *b, size_t *end)
{
	if (r->record_bytes != 0)
		return cut_fixed(r, b, end);
	return emi_format_delimited(&r->format) ? cut_lines(r, b, end) : cut_prefixed(r, b, end);
}

uint64_t emi_records_span(const emi_records *r, const emi_records_tail *tail)
{
	const uint64_t left = r->in.item[tail->owner->file].size - tail->offset;

	if (r->record_bytes != 0)
		return r->record_bytes;
	/* A tail that fits into no headroom has its whole prefix. */
	if (r->format.kind == EM_FORMAT_PREFIXED)
		return r->format.width + prefix(r, tail->owner->area + tail->at);
	return left < r->longest ? left : r->longest;
}

void emi_records_join_begin(emi_records *r)
{
	r->joined_state = EMI_CSV_START;
	if (r->format.kind == EM_FORMAT_CSV)
		(void)emi_csv_first(&r->format, &r->joined_state, r->joined.area, r->joined.area + r->joined.to);
}

/* The file ended within the joined record, or, if bytes is not 0, that has so many or more: is there a quote open? */
static em_status joined_open(emi_records *r, uint64_t bytes)
{
	const unsigned char *begin = r->joined.area, *open = NULL;

	if (r->format.kind == EM_FORMAT_CSV)
		(void)emi_csv_last(&r->format, begin, begin + r->joined.to, &open);
	return open != NULL ? quote_open(r, 0, begin, open, bytes) : EM_OK;
}

/* Go on with a record that is too long, to know its length, unless that is beyond all that this machine could ever do
 * with. */
static em_status measure(emi_records *r, emi_records_buffer *b)
{
	const uint64_t n = record_bytes(r, &r->joined_state, b->area + b->from, b->area + b->to);
	em_status st;

	r->over += n;
	b->from += (size_t)n;
	if (b->from == b->to && !b->last && r->over <= r->ctx->memory_most / MEASURE_SHARE)
		return EM_OK;
	st = joined_open(r, r->joined.to + r->over);
	return st == EM_OK ? too_long(r, 0, r->joined.to + r->over) : st;
}

em_status emi_records_join(emi_records *r, emi_records_buffer *b, int *whole)
{
	emi_records_buffer *joined = &r->joined;
	const unsigned char *from = b->area + b->from, *stop = NULL;
	const size_t there = b->to - b->from;
	const int lines = r->record_bytes == 0 && emi_format_delimited(&r->format);
	size_t room, n;
	em_status st;

	*whole = 0;
	if (joined->to > r->joined_need)
		return measure(r, b);
	room = r->joined_need - joined->to;
	n = there < room ? there : room;
	if (lines) {
		/* The delimiter is not counted in what is needed, but has its place. */
		n = there > room ? room + 1 : there;
		stop = first_end(r, &r->joined_state, from, from + n);
		n = stop != NULL ? (size_t)(stop - from) : n;
	}
	memcpy(joined->area + joined->to, from, n);
	joined->to += n;
	b->from += n;
	if (lines && stop == NULL && there > room)
		return measure(r, b);
	*whole = lines ? stop != NULL : joined->to == r->joined_need;
	if (*whole || !b->last)
		return EM_OK;
	if (!lines)
		return cut_off(r, 0);
	st = joined_open(r, 0);
	if (st != EM_OK)
		return st;
	joined->area[joined->to++] = (unsigned char)r->format.delimiter;
	*whole = 1;
	return EM_OK;
}
