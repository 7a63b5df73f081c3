/* SPDX-License-Identifier: BSL-1.0 */
/* run_append.c -- see run_append.h. */
#include "sort/run_append.h"

#include <string.h>

#include "base/memory.h"
#include "sort/block_vary.h"

#define SLACK 8u                /* bytes behind the last frame that may be read */

em_status emi_run_append_init(emi_run_append *a, emi_runs *runs, emi_outseq *out, emi_run_writer *writer,
			      size_t block_bytes, uint64_t out_extra, em_errinfo *err)
{
	const size_t rb = runs->by->codec->record_bytes;

	memset(a, 0, sizeof *a);
	a->bytes = rb != 0 ? block_bytes / rb * rb : emi_block_room(block_bytes);
	a->out = out;
	a->writer = writer;
	a->out_extra = out_extra;
	if (rb == 0) {
		a->base = emi_buffer_alloc(runs->ctx, a->bytes + SLACK, err);
		if (a->base == NULL)
			return err->status;
	}
	a->runs = runs;
	return EM_OK;
}

void emi_run_append_free(emi_run_append *a)
{
	if (a->runs != NULL && a->runs->by->vary != NULL)
		emi_buffer_free(a->runs->ctx, a->base, a->bytes + SLACK);
	memset(a, 0, sizeof *a);
}

uint64_t emi_run_append_memory(const emi_collation *by, uint32_t buffers, uint32_t packers, size_t block_bytes)
{
	uint64_t bytes = (uint64_t)(buffers + packers) * (block_bytes + EMI_PAGE) + EMI_PAGE;

	bytes += buffers * (uint64_t)sizeof(emi_outblock) + emi_packer_memory(packers) + 2u * EMI_DIR_BYTES;
	return by->vary != NULL ? bytes + block_bytes + EMI_PAGE : bytes;
}

static em_status status_of_out(const emi_run_append *a, em_errinfo *err)
{
	const em_status st = emi_outseq_status(a->out);

	if (st != EM_OK && err->status == EM_OK)
		*err = a->out->err;
	return st;
}

/* The run begins with its first record. */
static em_status begin(emi_run_append *a, em_errinfo *err)
{
	em_status st = EM_OK;
	emi_dest dest;

	if (a->begun)
		return EM_OK;
	if (a->writer->runs == NULL)
		st = emi_run_writer_init(a->writer, a->runs, err);
	if (st == EM_OK)
		st = emi_run_writer_begin(a->writer, err);
	if (st != EM_OK)
		return st;
	dest = emi_run_dest(a->writer);
	emi_outseq_begin(a->out, &dest, 0, a->bytes);
	a->begun = 1;
	a->block = 0;
	return EM_OK;
}

/* Records of one size: the place of the next ones, *n cut to what fits in a block.  NULL: a failure. */
static unsigned char *place(emi_run_append *a, size_t *n, em_errinfo *err)
{
	const size_t rb = a->runs->by->codec->record_bytes;
	size_t room;

	if (a->base == NULL) {
		a->base = (unsigned char *)emi_outseq_take(a->out, a->block, a->bytes, 0);
		if (a->base == NULL) {
			(void)status_of_out(a, err);
			return NULL;
		}
	}
	room = (a->bytes - a->filled) / rb;
	*n = *n < room ? *n : room;
	return a->base + a->filled;
}

/* They are there; *n of them are left. */
static em_status filled(emi_run_append *a, size_t n, em_errinfo *err)
{
	const size_t rb = a->runs->by->codec->record_bytes;

	a->filled += n * rb;
	if (a->filled != a->bytes)
		return EM_OK;
	emi_outseq_full(a->out, a->block++, a->filled / rb);
	a->base = NULL;
	a->filled = 0;
	return status_of_out(a, err);
}

em_status emi_run_append_records(emi_run_append *a, const void *records, size_t n, em_errinfo *err)
{
	const size_t rb = a->runs->by->codec->record_bytes;
	const char *record = records;
	em_status st = n != 0 ? begin(a, err) : EM_OK;

	while (st == EM_OK && n != 0) {
		size_t some = n;
		unsigned char *to = place(a, &some, err);

		if (to == NULL)
			return err->status;
		memcpy(to, record, some * rb);
		record += some * rb;
		n -= some;
		st = filled(a, some, err);
	}
	return st;
}

em_status emi_run_append_elems(emi_run_append *a, const void *elems, size_t n, em_errinfo *err)
{
	const emi_collation *by = a->runs->by;
	const char *elem = elems;
	em_status st = n != 0 ? begin(a, err) : EM_OK;

	while (st == EM_OK && n != 0) {
		size_t some = n;
		unsigned char *to = place(a, &some, err);

		if (to == NULL)
			return err->status;
		emi_collation_store(by, elem, some, to);
		elem += some * by->codec->elem_bytes;
		n -= some;
		st = filled(a, some, err);
	}
	return st;
}

/* Write the frames that are staged as a block. */
static em_status put_frames(emi_run_append *a, em_errinfo *err)
{
	const emi_vary *v = a->runs->by->vary;
	const unsigned char *p = a->base, *end = p + a->filled;
	emi_block_builder b;
	char *base;

	if (a->filled == 0)
		return EM_OK;
	base = emi_outseq_take(a->out, a->block, (size_t)emi_block_bytes(a->filled), 0);
	if (base == NULL)
		return status_of_out(a, err);
	emi_block_begin(&b, base, a->filled);
	while (p < end) {
		const emi_frame f = emi_frame_get(v, p);

		emi_block_add(&b, p, (size_t)(emi_frame_end(&f) - p), f.bytes + a->out_extra);
		p = emi_frame_end(&f);
	}
	emi_block_end(&b);
	emi_outseq_full(a->out, a->block++, b.records);
	a->filled = 0;
	return status_of_out(a, err);
}

/* A frame that is longer than a block is one by itself. */
static em_status put_long(emi_run_append *a, const emi_frame *f, const unsigned char *head, size_t head_bytes,
			  em_errinfo *err)
{
	const size_t string = (size_t)(f->key_bytes + f->bytes), bytes = head_bytes + string;
	char *base = emi_outseq_take(a->out, a->block, (size_t)emi_block_bytes(bytes), 0);
	emi_block_builder b;

	if (base == NULL)
		return status_of_out(a, err);
	emi_block_begin(&b, base, bytes);
	emi_block_add(&b, head, head_bytes, f->bytes + a->out_extra);
	memcpy(b.at, f->string, string);
	b.at += string;
	emi_block_end(&b);
	emi_outseq_full(a->out, a->block++, 1);
	return status_of_out(a, err);
}

em_status emi_run_append_frame(emi_run_append *a, const emi_frame *f, em_errinfo *err)
{
	unsigned char head[2 * EMI_LENGTH_MAX], *h = emi_length_put(head, f->bytes);
	const size_t string = (size_t)(f->key_bytes + f->bytes);
	size_t head_bytes;
	em_status st = begin(a, err);

	if (a->runs->by->vary->keyed)
		h = emi_length_put(h, f->key_bytes);
	head_bytes = (size_t)(h - head);
	if (st == EM_OK && head_bytes + string > a->bytes - a->filled)
		st = put_frames(a, err);
	if (st != EM_OK)
		return st;
	if (head_bytes + string > a->bytes)
		return put_long(a, f, head, head_bytes, err);
	emi_copy(a->base + a->filled, head, head_bytes);
	emi_copy(a->base + a->filled + head_bytes, f->string, string);
	a->filled += head_bytes + string;
	return EM_OK;
}

/* The last block has fewer. */
static em_status put_rest(emi_run_append *a, em_errinfo *err)
{
	const size_t rb = a->runs->by->codec->record_bytes;

	if (rb == 0)
		return put_frames(a, err);
	if (a->base == NULL)
		return EM_OK;
	emi_outseq_shorten(a->out, a->block, a->filled);
	emi_outseq_full(a->out, a->block++, a->filled / rb);
	a->base = NULL;
	a->filled = 0;
	return status_of_out(a, err);
}

em_status emi_run_append_end(emi_run_append *a, emi_run *run, em_errinfo *err)
{
	em_status st;

	memset(run, 0, sizeof *run);
	if (!a->begun)
		return EM_OK;
	st = put_rest(a, err);
	if (st == EM_OK)
		st = emi_run_writer_finish(a->writer, run, err);
	run->coming = 1;
	a->begun = 0;
	return st;
}

em_status emi_run_append_settle(emi_run_append *a, em_errinfo *err)
{
	const em_status st = emi_outseq_end(a->out, err);

	return st == EM_OK && a->writer->runs != NULL ? emi_run_writer_end(a->writer, err) : st;
}
