/* SPDX-License-Identifier: BSL-1.0 */
/* presorted.c -- see presorted.h. */
#include "sort/presorted.h"

#include "sort/plan_vary.h"

#define CHUNKS 2u               /* one is used while the other is being read */
#define USUAL_RECORD 64u        /* bytes, of any length: a window has elements for so much of a chunk, within the next
                                   two */
#define WINDOW_LEAST 64u
#define WINDOW_MOST 512u
#define ARENA_SHARE 4u          /* of a chunk, within the next two */
#define ARENA_LEAST ((size_t)4096)
#define ARENA_MOST ((size_t)64 << 10)
#define SLACK 64u               /* bytes behind the last frame that may be read */

static size_t within(size_t x, size_t least, size_t most)
{
	return x < least ? least : x > most ? most : x;
}

void emi_presorted_choose(const emi_job *job, size_t chunk_bytes, emi_presorted_opts *opts)
{
	memset(opts, 0, sizeof *opts);
	opts->chunk_bytes = chunk_bytes;
	opts->longest = emi_longest_record(job);
	if (job->by.vary == NULL) {
		opts->window = within(chunk_bytes / job->by.codec->record_bytes, 1, WINDOW_MOST);
		return;
	}
	opts->window = within(chunk_bytes / USUAL_RECORD, WINDOW_LEAST, WINDOW_MOST);
	if (job->by.vary->keyed)
		opts->arena_bytes = within(chunk_bytes / ARENA_SHARE, ARENA_LEAST, ARENA_MOST) - SLACK;
}

static void reading(const emi_job *job, const emi_presorted_opts *opts, emi_records_opts *r)
{
	memset(r, 0, sizeof *r);
	r->format = job->format;
	r->chunk_bytes = opts->chunk_bytes;
	r->chunks = CHUNKS;
	r->longest = opts->longest;
	r->record_bytes = job->by.vary != NULL ? 0 : opts->longest;
	/* One process may feed several inputs, and wait until all of them take something. */
	r->prompt = 1;
}

uint64_t emi_presorted_memory(const emi_job *job, const emi_presorted_opts *opts)
{
	emi_records_opts r;
	uint64_t bytes;

	reading(job, opts, &r);
	bytes = emi_records_memory(&r);
	/* Room for a record of the longest size is not what each of many inputs is going to need at a time. */
	if (opts->longest > opts->chunk_bytes)
		bytes -= opts->longest;
	bytes += opts->window * (job->by.codec->elem_bytes + (job->by.vary != NULL ? sizeof(emi_frame) : 0));
	bytes += opts->arena_bytes != 0 ? opts->arena_bytes + SLACK + EMI_PAGE : 0;
	return bytes + emi_file_memory(job->ctx) + (uint64_t)EMI_PAGE;
}

em_status emi_presorted_open(emi_presorted *p, emi_job *job, const char *path, const emi_extent *range,
			     const emi_presorted_opts *opts, em_errinfo *err)
{
	emi_records_opts r;
	em_status st;

	memset(p, 0, sizeof *p);
	p->job = job;
	p->opts = opts;
	reading(job, opts, &r);
	if (range != NULL)
		r.range = *range;
	st = emi_sorted_file_open(&p->file, job->ctx, path, &r, &job->io, emi_watch_tick, &job->watch, err);
	if (st != EM_OK)
		goto out;
	p->elem = emi_alloc_array(job->ctx, opts->window, job->by.codec->elem_bytes, err);
	if (p->elem != NULL && job->by.vary != NULL)
		p->frame = emi_alloc_array(job->ctx, opts->window, sizeof *p->frame, err);
	if (p->frame != NULL && opts->arena_bytes != 0) {
		p->arena = emi_buffer_alloc(job->ctx, opts->arena_bytes + SLACK, err);
		p->arena_bytes = opts->arena_bytes;
	}
	if (p->elem == NULL || (job->by.vary != NULL && p->frame == NULL) ||
	    (opts->arena_bytes != 0 && p->arena == NULL))
		st = err->status;
out:
	if (st != EM_OK)
		emi_presorted_close(p);
	return st;
}

/* What windows are made in. */
static void free_window(emi_presorted *p)
{
	if (p->arena != NULL)
		emi_buffer_free(p->job->ctx, p->arena, p->arena_bytes + SLACK);
	p->arena = NULL;
	if (p->frame != NULL)
		emi_free_array(p->job->ctx, p->frame, p->opts->window, sizeof *p->frame);
	p->frame = NULL;
	if (p->elem != NULL)
		emi_free_array(p->job->ctx, p->elem, p->opts->window, p->job->by.codec->elem_bytes);
	p->elem = NULL;
}

void emi_presorted_close(emi_presorted *p)
{
	if (p->job == NULL)
		return;
	emi_sorted_close(&p->file.source);
	free_window(p);
	memset(p, 0, sizeof *p);
}

em_status emi_presorted_header(emi_presorted *p, emi_header *h, uint32_t file, em_errinfo *err)
{
	em_status st = EM_OK;

	while (st == EM_OK && h->records != 0 && (h->left != 0 || !h->begun || h->file != file)) {
		const unsigned char *at;
		uint64_t records;

		st = emi_sorted_next(&p->file.source, err);
		at = emi_sorted_file_at(&p->file);
		if (st == EM_OK)
			st = emi_header_take(h, file, &at, emi_sorted_file_end(&p->file), &records, err);
		if (st == EM_OK)
			emi_sorted_file_took(&p->file, at, records);
	}
	return st == EM_END ? EM_OK : st;
}

static em_status too_long(const emi_presorted *p, uint64_t bytes, em_errinfo *err)
{
	const emi_sorted_file *f = &p->file;
	const uint64_t before = emi_records_count(&p->job->format, f->chunk.data, emi_sorted_file_at(f));
	const uint64_t number = f->number + before + 1;

	return emi_fail_record(err, EM_ERR_FORMAT, f->path, number, bytes,
			       "%s:%llu: line and key of %llu bytes are longer than the %llu that this memory allows",
			       f->path, (unsigned long long)number, (unsigned long long)bytes,
			       (unsigned long long)p->opts->longest);
}

/* An arena of another size, whose contents are lost. */
static em_status change_arena(emi_presorted *p, size_t bytes, em_errinfo *err)
{
	emi_buffer_free(p->job->ctx, p->arena, p->arena_bytes + SLACK);
	p->arena_bytes = bytes;
	p->arena = emi_buffer_alloc(p->job->ctx, bytes + SLACK, err);
	return p->arena != NULL ? EM_OK : err->status;
}

static size_t take_plain(emi_presorted *p, em_status *st, em_errinfo *err)
{
	const unsigned char *const end = emi_sorted_file_end(&p->file);
	size_t n;

	for (n = 0; n < p->opts->window && emi_sorted_file_at(&p->file) != end; n++) {
		const unsigned char *next = emi_sorted_file_at(&p->file);
		emi_frame *f = &p->frame[n];
		size_t bytes;

		f->string = emi_record_take(&p->job->format, &next, end, &bytes);
		f->key_bytes = 0;
		f->bytes = bytes;
		if (emi_length_bytes(bytes) + bytes > p->opts->longest) {
			*st = too_long(p, emi_length_bytes(bytes) + bytes, err);
			break;
		}
		emi_sorted_file_took(&p->file, next, 1);
	}
	return n;
}

static size_t take_keyed(emi_presorted *p, em_status *st, em_errinfo *err)
{
	const unsigned char *const end = emi_sorted_file_end(&p->file);
	const emi_vary *v = p->job->by.vary;
	size_t n, filled = 0;

	for (n = 0; n < p->opts->window && emi_sorted_file_at(&p->file) != end; n++) {
		const unsigned char *next = emi_sorted_file_at(&p->file), *record;
		size_t bytes, made, need;

		record = emi_record_take(&p->job->format, &next, end, &bytes);
		made = emi_frame_make(v, record, bytes, p->arena + filled, p->arena_bytes - filled, &need);
		if (made == 0) {
			if (n != 0)
				break;
			/* One that is too long for the arena is a window by itself. */
			*st = need > p->opts->longest ? too_long(p, need, err) : change_arena(p, need, err);
			if (*st != EM_OK)
				break;
			made = emi_frame_make(v, record, bytes, p->arena, p->arena_bytes, NULL);
		}
		p->frame[n] = emi_frame_get(v, p->arena + filled);
		filled += made;
		emi_sorted_file_took(&p->file, next, 1);
	}
	return n;
}

/* Records of one size. */
static size_t take_fixed(emi_presorted *p)
{
	const emi_codec *codec = p->job->by.codec;
	emi_sorted_source *s = &p->file.source;
	const size_t there = (size_t)(s->end - s->at) / codec->record_bytes;
	const size_t n = there < p->opts->window ? there : p->opts->window;

	emi_collation_load(&p->job->by, s->at, n, p->elem);
	s->at += n * codec->record_bytes;
	return n;
}

/* Records of any length. */
static em_status take_frames(emi_presorted *p, size_t *taken, em_errinfo *err)
{
	const emi_vary *v = p->job->by.vary;
	emi_pair *elem = p->elem;
	em_status st = EM_OK;
	size_t i, n;

	if (p->arena_bytes > p->opts->arena_bytes)
		st = change_arena(p, p->opts->arena_bytes, err);
	if (st != EM_OK)
		return st;
	n = v->keyed ? take_keyed(p, &st, err) : take_plain(p, &st, err);
	/* What a window holds was in order before the record that is wrong; that one ends the merge anyway. */
	if (st != EM_OK)
		return st;
	for (i = 0; i < n; i++)
		elem[i] = emi_frame_elem(v, &p->frame[i]);
	*taken = n;
	return EM_OK;
}

em_status emi_presorted_next(emi_presorted *p, emi_window *win, em_errinfo *err)
{
	em_status st = emi_sorted_next(&p->file.source, err);
	size_t n = 0;

	win->cur = win->end = NULL;
	if (st == EM_END) {
		free_window(p);
		return EM_OK;
	}
	if (st == EM_OK && p->job->by.vary != NULL)
		st = take_frames(p, &n, err);
	else if (st == EM_OK)
		n = take_fixed(p);
	if (st != EM_OK)
		return st;
	win->cur = p->elem;
	win->end = (const char *)p->elem + n * p->job->by.codec->elem_bytes;
	return EM_OK;
}
