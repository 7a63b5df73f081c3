/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records_cut.c -- where records end, and what is wrong with them.
 *
 * Of a chunk of lines only the last delimiter matters, but a line that is too long must not pass either.  Both come from
 * steps that are as long as a line may be: from the beginning of a line, the last delimiter within the `longest' + 1 bytes
 * that follow is looked for from behind.  If there is none, the line is too long.  If there is one, so is no line before it, and
 * the next step begins behind it.  With lines that are short compared to the longest allowed this reads a small part of
 * the chunk.  Prefixes have to be followed one by one.  Records of one size need no looking at all.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "stream/records_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

#define MEASURE_SHARE 8u        /* no line of more than this part of the memory is ever sorted */

static const unsigned char *find_last(const unsigned char *p, unsigned char byte, size_t n)
{
#ifdef __GLIBC__
	return memrchr(p, byte, n);
#else
	while (n > 0)
		if (p[--n] == byte)
			return p + n;
	return NULL;
#endif
}

static uint64_t count_records(const emi_records *r, const unsigned char *at, const unsigned char *end)
{
	uint64_t count = 0;
	size_t n;

	if (r->record_bytes != 0)
		return (uint64_t)(end - at) / r->record_bytes;
	for (; at < end; count++)
		(void)emi_record_take(&r->format, &at, end, &n);
	return count;
}

static uint64_t count_given(const emi_records *r, const emi_records_buffer *b)
{
	if (b->state != EMI_RECORDS_OUT || b->file != r->num_file)
		return 0;
	return count_records(r, b->area + b->from, b->area + b->to);
}

/* The number of the record behind those of the file that were given and `before' more. */
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

	if (r->format.kind == EM_FORMAT_DELIMITED)
		emi_fail(&r->err, EM_ERR_FORMAT, "%s:%" PRIu64 ": line is longer than %" PRIu64 " bytes", name, n, r->longest);
	else
		emi_fail(&r->err, EM_ERR_FORMAT, "%s: record %" PRIu64 " is longer than %" PRIu64 " bytes", name, n, r->longest);
	r->err.bytes = bytes;
	return emi_records_failed(r, EM_ERR_FORMAT);
}

static em_status cut_off(emi_records *r, uint64_t before)
{
	return emi_records_failed(r, emi_fail(&r->err, EM_ERR_FORMAT, "%s: record %" PRIu64 " is cut off by the end of the file",
					      emi_input_name(&r->in.item[r->num_file]), number(r, before)));
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

/* Bytes of a line, as far as they are here. */
static uint64_t line_bytes(const unsigned char *p, unsigned char delimiter, const unsigned char *stop)
{
	const unsigned char *end = memchr(p, delimiter, (size_t)(stop - p));

	return (uint64_t)((end != NULL ? end : stop) - p);
}

static em_status cut_lines(emi_records *r, emi_records_buffer *b, size_t *end)
{
	const unsigned char delimiter = (unsigned char)r->format.delimiter;
	const unsigned char *begin = b->area + b->from, *p = begin, *stop = b->area + b->to;

	while (p < stop) {
		const int all = (uint64_t)(stop - p) <= r->longest;
		const unsigned char *found = find_last(p, delimiter, all ? (size_t)(stop - p) : (size_t)r->longest + 1);

		if (found != NULL)
			p = found + 1;
		else if (!all)
			return too_long(r, count_records(r, begin, p), line_bytes(p, delimiter, stop));
		if (all)
			break;
	}
	if (p < stop && b->last) {
		b->area[b->to++] = delimiter;
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
	return r->format.kind == EM_FORMAT_DELIMITED ? cut_lines(r, b, end) : cut_prefixed(r, b, end);
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

/* Go on with a line that is too long, to know its length, unless that is beyond all that this machine could ever do with. */
static em_status measure(emi_records *r, emi_records_buffer *b)
{
	const unsigned char *from = b->area + b->from, *stop = b->area + b->to;
	const uint64_t n = line_bytes(from, (unsigned char)r->format.delimiter, stop);

	r->over += n;
	b->from += (size_t)n;
	if (b->from < b->to || b->last || r->over > r->ctx->memory_most / MEASURE_SHARE)
		return too_long(r, 0, r->joined.to + r->over);
	return EM_OK;
}

em_status emi_records_join(emi_records *r, emi_records_buffer *b, int *whole)
{
	emi_records_buffer *joined = &r->joined;
	const unsigned char *from = b->area + b->from;
	const size_t there = b->to - b->from, room = r->joined_need - joined->to;
	const int lines = r->record_bytes == 0 && r->format.kind == EM_FORMAT_DELIMITED;
	size_t n = there < room ? there : room;

	*whole = 0;
	if (r->over != 0)
		return measure(r, b);
	if (lines) {
		/* The delimiter is not counted in what is needed, but has its place. */
		const size_t most = there > room ? room + 1 : there;
		const unsigned char *stop = memchr(from, (int)r->format.delimiter, most);

		if (stop == NULL && most > room)
			return measure(r, b);
		n = stop != NULL ? (size_t)(stop - from) + 1 : most;
		*whole = stop != NULL;
	}
	memcpy(joined->area + joined->to, from, n);
	joined->to += n;
	b->from += n;
	if (!lines)
		*whole = joined->to == r->joined_need;
	if (*whole || !b->last)
		return EM_OK;
	if (!lines)
		return cut_off(r, 0);
	joined->area[joined->to++] = (unsigned char)r->format.delimiter;
	*whole = 1;
	return EM_OK;
}
