/* SPDX-License-Identifier: BSL-1.0 */
/* record_out.c -- see record_out.h. */
#include "sort/record_out.h"

#include "stream/records.h"

#define COUNT_BYTES 8u
#define DIGITS_MOST 20u         /* of a count */

em_status emi_record_out(emi_copier *c, const emi_frame *f, em_errinfo *err)
{
	const em_format *format = &c->job->format;
	unsigned char edge[8];
	em_status st;

	st = emi_copier_write(c, edge, (size_t)(emi_record_prefix(format, edge, f->bytes) - edge), err);
	if (st == EM_OK)
		st = emi_copier_write(c, emi_frame_record(f), (size_t)f->bytes, err);
	if (st == EM_OK)
		st = emi_copier_write(c, edge, (size_t)(emi_record_delimit(format, edge) - edge), err);
	return st;
}

/* A count as records have it behind them. */
static void put_count(unsigned char to[COUNT_BYTES], uint64_t count)
{
	uint32_t i;

	for (i = 0; i < COUNT_BYTES; i++)
		to[i] = (unsigned char)(count >> 8 * i);
}

/* A count and what separates it from the record, at the end of some room; returns where it begins. */
static unsigned char *put_decimal(unsigned char *end, uint64_t count, unsigned char separator)
{
	*--end = separator;
	do {
		*--end = (unsigned char)('0' + count % 10);
		count /= 10;
	} while (count != 0);
	return end;
}

static em_status prefixed_counted(emi_copier *c, const emi_frame *f, uint64_t count, em_errinfo *err)
{
	const em_format *format = &c->job->format;
	const uint64_t bytes = f->bytes + COUNT_BYTES;
	unsigned char edge[COUNT_BYTES];
	em_status st;

	if (format->width < 8 && bytes >> 8 * format->width != 0)
		return emi_fail(err, EM_ERR_RANGE,
				"%llu bytes of a record and its count are more than a prefix of %u can tell",
				(unsigned long long)bytes, (unsigned)format->width);
	st = emi_copier_write(c, edge, (size_t)(emi_record_prefix(format, edge, bytes) - edge), err);
	if (st == EM_OK)
		st = emi_copier_write(c, emi_frame_record(f), (size_t)f->bytes, err);
	put_count(edge, count);
	return st == EM_OK ? emi_copier_write(c, edge, COUNT_BYTES, err) : st;
}

em_status emi_record_out_counted(emi_copier *c, const emi_frame *f, uint64_t count, em_errinfo *err)
{
	unsigned char room[DIGITS_MOST + 1], *end = room + sizeof room, *begin;
	em_status st;

	if (!emi_format_delimited(&c->job->format))
		return prefixed_counted(c, f, count, err);
	begin = put_decimal(end, count,
			    c->job->format.kind == EM_FORMAT_CSV ? (unsigned char)c->job->format.separator : '\t');
	st = emi_copier_write(c, begin, (size_t)(end - begin), err);
	return st == EM_OK ? emi_record_out(c, f, err) : st;
}

em_status emi_elem_out(emi_copier *c, const void *elem, em_errinfo *err)
{
	const emi_codec *codec = c->job->by.codec;
	const void *record = emi_elem_record(codec, elem);
	unsigned char room[sizeof(emi_pair)];

	if (record == NULL) {
		emi_collation_store(&c->job->by, elem, 1, room);
		record = room;
	}
	return emi_copier_write(c, record, codec->record_bytes, err);
}

static em_status frames_out(emi_copier *c, const emi_pair *elem, size_t n, em_errinfo *err)
{
	const emi_job *job = c->job;
	/* Without keys they still lie where they were read, their delimiters behind them. */
	const int whole = emi_format_delimited(&job->format) && !job->by.vary->keyed;
	em_status st = EM_OK;
	size_t i;

	for (i = 0; st == EM_OK && i < n; i++) {
		const emi_frame *f = (const emi_frame *)(uintptr_t)elem[i].val;

		st = whole ? emi_copier_write(c, f->string, (size_t)f->bytes + 1, err) : emi_record_out(c, f, err);
	}
	return st;
}

em_status emi_elems_out(emi_copier *c, const void *elems, size_t n, em_errinfo *err)
{
	const emi_codec *codec = c->job->by.codec;
	const char *elem = elems;
	em_status st = EM_OK;

	if (c->job->by.vary != NULL)
		return frames_out(c, elems, n, err);
	if (codec->identity)
		return emi_copier_write(c, elems, n * codec->record_bytes, err);
	for (; st == EM_OK && n != 0; n--, elem += codec->elem_bytes)
		st = emi_elem_out(c, elem, err);
	return st;
}

em_status emi_elem_out_counted(emi_copier *c, const void *elem, uint64_t count, em_errinfo *err)
{
	const emi_codec *codec = c->job->by.codec;
	const void *record = emi_elem_record(codec, elem);
	unsigned char room[sizeof(emi_pair) + COUNT_BYTES];
	em_status st;

	if (record == NULL) {
		emi_collation_store(&c->job->by, elem, 1, room);
		put_count(room + codec->record_bytes, count);
		return emi_copier_write(c, room, codec->record_bytes + COUNT_BYTES, err);
	}
	st = emi_copier_write(c, record, codec->record_bytes, err);
	put_count(room, count);
	return st == EM_OK ? emi_copier_write(c, room, COUNT_BYTES, err) : st;
}
