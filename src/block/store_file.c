/* SPDX-License-Identifier: BSL-1.0 */
/*
 * store_file.c -- a store that is a user's file; see store.h.
 *
 * A block that the end is in is read as a whole where that needs no copy, and the end of the buffer is zeros.  Only
 * what is before the end is written, so the file never gets longer.
 *
 * A part of a file is a store of its own, whose first byte is somewhere in the file.  It is for reading.  Whoever opens
 * it is shown each block that was read, before anybody else.
 *
 * Before each write the file is asked for its size.  That is a fraction of what the write takes.  Without it a file
 * that was cut short would be long enough again, and what is lost would be read as zeros.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "block/store_kind.h"

#define CUT "somebody else has cut it short"
#define DAMAGED "it is damaged"

/* So many of the bytes there are before an end. */
static size_t before(uint64_t end, uint64_t offset, size_t bytes)
{
	if (offset >= end)
		return 0;
	return end - offset < bytes ? (size_t)(end - offset) : bytes;
}

/* What the request has read is all there, with zeros behind the end; or the file has become shorter. */
static void judge_read(emi_request *rq, void *arg)
{
	const emi_store *s = arg;
	const size_t n = before(s->written, rq->offset - s->at, rq->bytes);

	if (rq->status != EM_OK)
		return;
	if (rq->done < n) {
		rq->status = EM_ERR_SHORT;
		rq->why = CUT;
		return;
	}
	memset((char *)rq->buf + n, 0, rq->bytes - n);
	rq->done = rq->bytes;
	if (s->arrived != NULL && !s->arrived(rq->buf)) {
		rq->status = EM_ERR_CORRUPT;
		rq->why = DAMAGED;
	}
}

static int file_read(emi_store *s, emi_request *rq, void *buf, size_t bytes, em_bid bid, emi_io_stats *io)
{
	const emi_request_calls calls = { NULL, NULL, NULL, judge_read, s, io };
	const size_t n = before(s->written, bid.offset, bytes);

	if (n == 0)
		return emi_store_zero(rq, buf, bytes);
	/* Reading whole pages, and meeting the end, a direct file needs no buffer of its own. */
	if (!emi_file_direct(s->file)) {
		memset((char *)buf + n, 0, bytes - n);
		bytes = n;
	}
	emi_submit(s->file, rq, EMI_READ, buf, bytes, s->at + bid.offset, &calls);
	return 1;
}

static em_status file_write(emi_store *s, emi_request *rq, const void *buf, size_t bytes, em_bid bid, emi_io_stats *io,
			    em_errinfo *err)
{
	const size_t n = before(s->length, bid.offset, bytes);
	uint64_t size = 0;
	const em_status st = emi_file_size(s->file, &size, err);

	if (st != EM_OK)
		return st;
	if (size < s->length)
		return emi_fail_refused(err, EM_ERR_SHORT, CUT, "write", emi_file_path(s->file), bid.offset, n);
	if (bid.offset + n > s->written)
		s->written = bid.offset + n;
	emi_write(s->file, rq, buf, n, bid.offset, io);
	return EM_OK;
}

static em_status file_resize(emi_store *s, uint64_t bytes, em_errinfo *err)
{
	em_status st;

	/* What is being written would make it longer again, or, where that does not end with a page, as long as it is
	 * now. */
	emi_file_settle(s->file);
	st = bytes < s->length ? emi_file_cut(s->file, bytes, err) : emi_file_resize(s->file, bytes, err);
	if (st == EM_OK && s->written > bytes)
		s->written = bytes;
	return st;
}

static const emi_store_kind user_file = { file_read, file_write, NULL, NULL, NULL, file_resize, NULL, NULL };

em_status emi_store_open_file(emi_store **out, em_file *file, em_errinfo *err)
{
	em_errinfo own = EM_ERRINFO_INIT;
	emi_store *s = emi_store_new(emi_file_ctx(file), &user_file, &own);

	*out = NULL;
	if (s != NULL && emi_file_size(file, &s->length, &own) == EM_OK) {
		s->file = file;
		s->written = s->length;
		s->read_only = !emi_file_writes(file);
		*out = s;
		return EM_OK;
	}
	emi_store_close(s);
	if (err != NULL && err->status >= EM_OK)
		*err = own;
	return own.status;
}

em_status emi_store_open_part(emi_store **out, em_file *file, uint64_t at, uint64_t bytes, int (*arrived)(void *block),
			      em_errinfo *err)
{
	emi_store *s = emi_store_new(emi_file_ctx(file), &user_file, err);

	*out = s;
	if (s == NULL)
		return err->status;
	s->file = file;
	s->at = at;
	s->length = s->written = bytes;
	s->read_only = 1;
	s->arrived = arrived;
	return EM_OK;
}
