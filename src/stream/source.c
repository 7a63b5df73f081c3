/* SPDX-License-Identifier: BSL-1.0 */
/*
 * source.c -- filling areas with the records of a list of files.
 *
 * A cursor (input, position) walks over the inputs.  To place bytes means to give them their place in an area and
 * start reading them there; emi_source_begin() places as much as it can without waiting, emi_source_await()
 * waits for what is being read and places the rest, if there is any.
 *
 *	area                                                        area + size
 *	|....lead....|records of a.bin........|records of b.bin....|..slack..|
 *	             first
 *
 * Direct transfers need memory, offset and size in whole pages.  So the first piece of an area begins at the offset
 * in the page that it has in the file, and is read from the page's beginning up to the end of its last page: what
 * that brings in too many lies in the slack.  A piece that follows another one has no choice of place.
 * It is read directly if it happens to begin with a page of its file and of memory, otherwise through a
 * buffered descriptor, which can read anything anywhere.  That happens at most once per file or area, whichever
 * are fewer, costs a copy, but needs no moving afterwards and lets all pieces be read at once, as none
 * writes a byte outside its own place.  One exception to that needs care: a direct piece at the end of its
 * file would write up to the end of the page, where the next piece begins; so the last part of a page
 * is read into a page of its own (`edge'), and copied when it is there.
 *
 * Files are opened when they are placed and closed when the last transfer from them has been awaited; when
 * EMI_SOURCE_OPEN are open, or the budget has no more descriptors, the rest has to wait.  Streams
 * always wait: nobody knows how much a pipe holds, so what comes after it cannot be placed before.
 * Fills with something left to place form a queue, and only its head is being placed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "stream/source.h"

#include <inttypes.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "stream/input.h"
#include "stream/pipe.h"

/* Requests that the pieces of a fill may need beyond those for their bytes: a part of a request for
 * each, and one for the edge. */
#define SPARE_REQUESTS (EMI_SOURCE_OPEN + 2u)

/* An open file. */
struct slot {
	em_file *file;
	uint32_t input;
	unsigned flags;         /* it was opened with */
	uint32_t refs;          /* pieces being read from it */
};

/* A part of a file being read. */
struct emi_fill_piece {
	struct slot *slot;
	uint32_t first_rq, requests; /* in the fill's array */
	uint64_t end;           /* of its bytes in the file; transfers may go further */
	char *edge_to;          /* where the edge belongs; the last request read it.  NULL: there is none */
	size_t edge_bytes;
};

struct emi_source {
	em_ctx *ctx;
	emi_inputs in;
	uint64_t record_bytes;
	emi_io_stats *stats;
	uint32_t cur;           /* the cursor: input ... */
	uint64_t pos;           /* ... and position in it (of streams: bytes read) */
	struct slot slot[EMI_SOURCE_OPEN];
	emi_pipe pipe;          /* the stream being read */
	emi_fill *head, *tail;  /* fills with something left to place */
	em_status status;       /* of the first failure; sticky, detail in err */
	em_errinfo err;
};

/* What one step of placing came to. */
enum step { MOVED, BLOCKED };

static uint64_t page_floor(uint64_t x)
{
	return x - x % EMI_PAGE;
}

static uint64_t page_ceil(uint64_t x)
{
	return page_floor(x + EMI_PAGE - 1);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Keep a failure whose detail is in s->err. */
static em_status failed(emi_source *s, em_status st)
{
	if (s->status == EM_OK)
		s->status = st;
	return s->status;
}

static em_status tell(const emi_source *s, em_errinfo *err)
{
	if (err != NULL && err->status == EM_OK)
		*err = s->err;
	return s->status;
}

static void slot_close(struct slot *slot)
{
	emi_file_close(slot->file);
	memset(slot, 0, sizeof *slot);
}

static void slot_drop(emi_source *s, struct slot *slot)
{
	/* The file at the cursor is going to be needed again. */
	if (--slot->refs == 0 && slot->input != s->cur)
		slot_close(slot);
}

/* The file at the cursor, opened with these flags; NULL in *out means not now. */
static em_status slot_get(emi_source *s, unsigned flags, struct slot **out)
{
	struct slot *empty = NULL;
	em_errinfo err;
	em_status st;
	uint32_t i, busy = 0;

	*out = NULL;
	for (i = 0; i < EMI_SOURCE_OPEN; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->file != NULL && slot->input == s->cur && slot->flags == flags) {
			*out = slot;
			return EM_OK;
		}
	}
	for (i = 0; i < EMI_SOURCE_OPEN; i++) {
		struct slot *slot = &s->slot[i];

		if (slot->file != NULL && slot->refs == 0)
			slot_close(slot);
		if (slot->file == NULL)
			empty = slot;
		else
			busy++;
	}
	if (empty == NULL)
		return EM_OK;
	memset(&err, 0, sizeof err);
	st = emi_file_open(&empty->file, s->ctx, s->in.item[s->cur].path, flags, &err);
	if (st == EM_OK) {
		empty->input = s->cur;
		empty->flags = flags;
		*out = empty;
		return EM_OK;
	}
	empty->file = NULL;
	if (st == EM_ERR_FDLIMIT && busy > 0)
		return EM_OK;
	s->err = err;
	return failed(s, st);
}

/* Is the file at the cursor? */
static int is_small(const emi_source *s, const emi_fill *fill)
{
	return emi_input_small(&s->in.item[s->cur], s->ctx, fill->request_bytes);
}

/* Submit transfers for [from, to) of the file at the cursor to `at'. */
static void submit(emi_source *s, emi_fill *fill, struct emi_fill_piece *piece, char *at, uint64_t from, uint64_t to)
{
	const int now = is_small(s, fill);

	while (from < to) {
		const size_t n = (size_t)least(to - from, fill->request_bytes);

		(now ? emi_read_now : emi_read)(piece->slot->file, &fill->rq[fill->requests++], at, n, from, s->stats);
		piece->requests++;
		at += n;
		from += n;
	}
}

/* Where the next bytes belong. */
static char *place_of(const emi_fill *fill)
{
	return fill->first + fill->placed;
}

/* Does anything of a file to come follow those bytes in the area? */
static int followed(const emi_source *s, uint64_t room)
{
	return room > 0 && s->cur + 1 < s->in.n;
}

/* Place bytes of the regular file at the cursor. */
static em_status place_file(emi_source *s, emi_fill *fill, enum step *step)
{
	const emi_input *in = &s->in.item[s->cur];
	const uint64_t room = fill->wanted - fill->placed;
	const int aligned = fill->placed == 0 ||
			    (s->pos % EMI_PAGE == 0 && (uintptr_t)place_of(fill) % EMI_PAGE == 0);
	const int buffered = !aligned || is_small(s, fill);
	struct emi_fill_piece *piece = &fill->piece[fill->pieces];
	uint64_t begin = s->pos, end = s->pos + least(in->size - s->pos, room), to, most;
	uint32_t requests;
	em_status st;
	char *at;

	*step = BLOCKED;
	/* One request is kept for the edge. */
	requests = fill->max_requests - fill->requests;
	if (fill->pieces == fill->max_pieces || requests < 2)
		return EM_OK;
	memset(piece, 0, sizeof *piece);
	st = slot_get(s, EMI_OPEN_READ | (buffered ? EMI_OPEN_BUFFERED : 0), &piece->slot);
	if (st != EM_OK || piece->slot == NULL)
		return st;
	if (emi_file_direct(piece->slot->file)) {
		begin = page_floor(begin);
		if (fill->placed == 0)
			fill->first = fill->area + (s->pos - begin);
	}
	/* More than there are requests for is left for another piece; it ends with a page, so that is aligned again. */
	most = begin + (requests - 1) * (uint64_t)fill->request_bytes;
	to = end = least(end, most);
	if (emi_file_direct(piece->slot->file)) {
		if (end == in->size && followed(s, room - (end - s->pos)))
			to = page_floor(end);
		else
			to = page_ceil(end);
	}
	piece->first_rq = fill->requests;
	piece->end = end;
	at = place_of(fill) - (s->pos - begin);
	submit(s, fill, piece, at, begin, to);
	if (to < end) {
		piece->edge_to = at + (to - begin);
		piece->edge_bytes = (size_t)(end - to);
		submit(s, fill, piece, fill->edge, to, to + EMI_PAGE);
	}
	piece->slot->refs++;
	fill->pieces++;
	fill->placed += end - s->pos;
	s->pos = end;
	*step = MOVED;
	return EM_OK;
}

/* Read from the stream at the cursor until the area is full or the stream ends. */
static em_status place_stream(emi_source *s, emi_fill *fill, emi_ticker *ticker)
{
	emi_input *in = &s->in.item[s->cur];
	const uint64_t want = least(fill->wanted - fill->placed, in->size - s->pos);
	em_errinfo *err = &s->err;
	size_t done;
	em_status st;

	if (s->pipe.fd < 0) {
		if ((st = emi_input_fd(in, s->ctx, &s->pipe.fd, err)) != EM_OK) {
			s->pipe.fd = -1;
			return failed(s, st);
		}
		s->pipe.name = emi_input_name(in);
		s->pipe.pos = 0;
		s->pipe.stats = s->stats;
	}
	st = emi_pipe_read(&s->pipe, place_of(fill), (size_t)want, &done, ticker, err);
	fill->placed += done;
	s->pos += done;
	if (st != EM_OK) /* the ticker's is not ours: the stream can be read on */
		return st == ticker->status ? st : failed(s, st);
	if (done == want)
		return EM_OK;
	if (in->size != UINT64_MAX)
		return failed(s, emi_fail_io(err, EM_ERR_SHORT, 0, "read", s->pipe.name, s->pos, in->size - s->pos));
	if (s->pos % s->record_bytes != 0)
		return failed(s,
			      emi_fail_record(err, EM_ERR_FORMAT, s->pipe.name, s->pos / s->record_bytes + 1, 0,
					      "%s: the %" PRIu64 " bytes that came are no multiple of the record size"
					      " %" PRIu64,
					      s->pipe.name, s->pos, s->record_bytes));
	in->size = s->pos;
	return EM_OK;
}

/* Put the cursor on the next input if this one is read. */
static int step_input(emi_source *s)
{
	const emi_input *in = &s->in.item[s->cur];
	uint32_t i;

	if (s->pos < in->size)
		return 0;
	if (in->kind == EMI_INPUT_STREAM) {
		emi_input_drop(in, s->ctx, s->pipe.fd);
		s->pipe.fd = -1;
	}
	s->cur++;
	s->pos = 0;
	for (i = 0; i < EMI_SOURCE_OPEN; i++)
		if (s->slot[i].file != NULL && s->slot[i].refs == 0)
			slot_close(&s->slot[i]);
	return 1;
}

/*
 * Place bytes into the head of the queue until it is full or the inputs end, and take it off the queue.  Without a
 * ticker, stop where that takes waiting.
 */
static em_status place(emi_source *s, emi_ticker *ticker)
{
	emi_fill *fill = s->head;

	while (fill->placed < fill->wanted && s->cur < s->in.n) {
		enum step step = MOVED;
		em_status st = EM_OK;

		if (step_input(s))
			continue;
		if (s->in.item[s->cur].kind == EMI_INPUT_FILE)
			st = place_file(s, fill, &step);
		else if (ticker != NULL)
			st = place_stream(s, fill, ticker);
		else
			step = BLOCKED;
		if (st != EM_OK || step == BLOCKED)
			return st;
	}
	fill->state = EMI_FILL_PLACED;
	s->head = fill->next;
	if (s->head == NULL)
		s->tail = NULL;
	return EM_OK;
}

/* One transfer is done: is everything there that the piece needs of it? */
static em_status check(emi_source *s, const struct emi_fill_piece *piece, emi_request *rq)
{
	const size_t need = (size_t)(least(rq->offset + rq->bytes, piece->end) - rq->offset);
	const em_status st = emi_wait(rq, &s->err);

	if (st != EM_OK)
		return failed(s, st);
	if (rq->done < need)
		return failed(s, emi_fail_io(&s->err, EM_ERR_SHORT, 0, "read",
					     emi_input_name(&s->in.item[piece->slot->input]), rq->offset + rq->done,
					     need - rq->done));
	return EM_OK;
}

/* Wait for everything of this fill that is being read.  All of it, whatever fails. */
static em_status wait_pieces(emi_source *s, emi_fill *fill, emi_ticker *ticker)
{
	em_status st = EM_OK;
	uint32_t i, j;

	for (i = 0; i < fill->pieces; i++) {
		struct emi_fill_piece *piece = &fill->piece[i];

		for (j = 0; j < piece->requests; j++) {
			emi_request *rq = &fill->rq[piece->first_rq + j];
			em_status one;

			while (ticker->fn != NULL && ticker->status == EM_OK && !emi_wait_for(rq, 0.1))
				(void)emi_ticker_run(ticker);
			(void)emi_ticker_run(ticker);
			one = check(s, piece, rq);
			if (st == EM_OK)
				st = one;
		}
		if (piece->edge_to != NULL && st == EM_OK)
			memcpy(piece->edge_to, fill->edge, piece->edge_bytes);
		slot_drop(s, piece->slot);
	}
	fill->pieces = 0;
	fill->requests = 0;
	return st;
}

em_status emi_source_open(emi_source **out, em_ctx *ctx, const char *const *paths, uint32_t n, uint64_t record_bytes,
			  emi_io_stats *stats, em_errinfo *err)
{
	em_errinfo scratch;
	emi_source *s;
	em_status st;

	*out = NULL;
	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	if (record_bytes == 0 || (n > 0 && paths == NULL))
		return emi_fail(err, EM_ERR_INVAL, "a source needs paths and a record size");
	if ((st = emi_ctx_check(ctx, err)) != EM_OK)
		return st;
	s = emi_alloc(ctx, sizeof *s, err);
	if (s == NULL)
		return err->status;
	s->ctx = ctx;
	s->record_bytes = record_bytes;
	s->stats = stats;
	s->pipe.fd = -1;
	st = emi_inputs_init(&s->in, ctx, paths, n, record_bytes, err);
	if (st != EM_OK) {
		emi_free(ctx, s, sizeof *s);
		return st;
	}
	emi_ctx_ref(ctx);
	*out = s;
	return EM_OK;
}

void emi_source_close(emi_source *s)
{
	em_ctx *ctx;
	uint32_t i;

	if (s == NULL)
		return;
	ctx = s->ctx;
	for (i = 0; i < EMI_SOURCE_OPEN; i++)
		emi_file_close(s->slot[i].file);
	if (s->cur < s->in.n)
		emi_input_drop(&s->in.item[s->cur], ctx, s->pipe.fd);
	emi_inputs_free(&s->in, ctx);
	emi_free(ctx, s, sizeof *s);
	emi_ctx_unref(ctx);
}

uint64_t emi_source_records(const emi_source *s)
{
	return s->in.bytes == UINT64_MAX ? UINT64_MAX : s->in.bytes / s->record_bytes;
}

static uint64_t requests_for(size_t area_bytes, size_t request_bytes)
{
	return (uint64_t)area_bytes / request_bytes + SPARE_REQUESTS;
}

size_t emi_fill_memory(size_t area_bytes, size_t request_bytes)
{
	return (size_t)requests_for(area_bytes, request_bytes) * sizeof(emi_request) +
	       EMI_SOURCE_OPEN * sizeof(struct emi_fill_piece) + EMI_PAGE;
}

em_status emi_fill_init(emi_fill *fill, emi_source *s, size_t area_bytes, size_t request_bytes, em_errinfo *err)
{
	em_errinfo scratch;
	em_status st;

	memset(&scratch, 0, sizeof scratch);
	if (err == NULL)
		err = &scratch;
	memset(fill, 0, sizeof *fill);
	if (request_bytes == 0 || request_bytes % EMI_PAGE != 0 ||
	    requests_for(area_bytes, request_bytes) > UINT32_MAX)
		return emi_fail(err, EM_ERR_INVAL, "a request of %zu bytes is not made of pages", request_bytes);
	fill->request_bytes = request_bytes;
	fill->max_requests = (uint32_t)requests_for(area_bytes, request_bytes);
	fill->max_pieces = EMI_SOURCE_OPEN;
	if ((fill->rq = emi_alloc_array(s->ctx, fill->max_requests, sizeof *fill->rq, err)) == NULL ||
	    (fill->piece = emi_alloc_array(s->ctx, fill->max_pieces, sizeof *fill->piece, err)) == NULL ||
	    (fill->edge = emi_buffer_alloc(s->ctx, EMI_PAGE, err)) == NULL) {
		st = err->status;
		emi_fill_free(fill, s);
		return st;
	}
	return EM_OK;
}

/* Take a fill out of the queue that nobody is going to await. */
static void forget(emi_source *s, emi_fill *fill)
{
	emi_fill **link = &s->head, *last = NULL;

	while (*link != NULL) {
		if (*link == fill)
			*link = fill->next;
		else {
			last = *link;
			link = &last->next;
		}
	}
	s->tail = last;
}

void emi_fill_free(emi_fill *fill, emi_source *s)
{
	uint32_t i, j;

	if (s == NULL)
		return;
	/* In a child the transfers are the parent's; its files are closed with the source. */
	for (i = 0; i < fill->pieces && !emi_ctx_forked(s->ctx); i++) {
		struct emi_fill_piece *piece = &fill->piece[i];

		for (j = 0; j < piece->requests; j++)
			(void)emi_wait(&fill->rq[piece->first_rq + j], NULL);
		slot_drop(s, piece->slot);
	}
	forget(s, fill);
	if (fill->rq != NULL)
		emi_free_array(s->ctx, fill->rq, fill->max_requests, sizeof *fill->rq);
	if (fill->piece != NULL)
		emi_free_array(s->ctx, fill->piece, fill->max_pieces, sizeof *fill->piece);
	if (fill->edge != NULL)
		emi_buffer_free(s->ctx, fill->edge, EMI_PAGE);
	memset(fill, 0, sizeof *fill);
}

em_status emi_source_begin(emi_source *s, emi_fill *fill, void *area, uint64_t max_records, em_errinfo *err)
{
	if (s->status != EM_OK)
		return tell(s, err);
	if (fill->state != EMI_FILL_IDLE)
		return emi_fail(err, EM_ERR_STATE, "this filling is under way");
	if ((uintptr_t)area % EMI_PAGE != 0 || max_records > (SIZE_MAX - EMI_SOURCE_SLACK) / s->record_bytes)
		return emi_fail(err, EM_ERR_INVAL, "an area that is not aligned, or too long");
	fill->area = area;
	fill->first = area;
	fill->records = 0;
	fill->wanted = max_records * s->record_bytes;
	fill->placed = 0;
	fill->next = NULL;
	fill->state = EMI_FILL_BEGUN;
	if (s->tail != NULL)
		s->tail->next = fill;
	else
		s->head = fill;
	s->tail = fill;
	if (s->head == fill && place(s, NULL) != EM_OK)
		return tell(s, err);
	return EM_OK;
}

/* The ticker ended the wait: that is not sticky. */
static em_status stopped(const emi_ticker *ticker, em_errinfo *err)
{
	return emi_fail(err, ticker->status, "%s", em_status_text(ticker->status));
}

em_status emi_source_await(emi_source *s, emi_fill *fill, em_status (*tick)(void *arg), void *arg, em_errinfo *err)
{
	emi_ticker ticker;
	uint64_t before;

	if (fill->state == EMI_FILL_IDLE || (fill->state == EMI_FILL_BEGUN && s->head != fill))
		return emi_fail(err, EM_ERR_STATE, "this filling was not begun, or another one before it");
	emi_ticker_init(&ticker, tick, arg);
	for (;;) {
		if (wait_pieces(s, fill, &ticker) != EM_OK)
			return tell(s, err);
		if (ticker.status != EM_OK)
			return stopped(&ticker, err);
		if (fill->state == EMI_FILL_PLACED && fill->pieces == 0)
			break;
		if (s->status != EM_OK)
			return tell(s, err);
		before = fill->placed;
		if (place(s, &ticker) != EM_OK)
			return ticker.status != EM_OK ? stopped(&ticker, err) : tell(s, err);
		/* Nothing of ours holds it up, so it is a filling that was passed over. */
		if (fill->state == EMI_FILL_BEGUN && fill->placed == before)
			return emi_fail(err, EM_ERR_STATE, "a filling begun before this one was not awaited");
	}
	fill->state = EMI_FILL_IDLE;
	fill->records = fill->placed / s->record_bytes;
	/* Now the cursor stands where the next one begins.  What goes wrong there is told when that one is awaited. */
	while (s->head != NULL && s->status == EM_OK) {
		emi_fill *next = s->head;

		if (place(s, NULL) != EM_OK || s->head == next)
			break;
	}
	return EM_OK;
}
