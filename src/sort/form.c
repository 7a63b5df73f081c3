/* SPDX-License-Identifier: BSL-1.0 */
/*
 * form.c -- see form.h.
 *
 * What is partitioned is sorted bucket by bucket, each by whoever comes next, in the order in which they go to the
 * sequence.  A bucket that is too large for that, as others would wait for the one who has it, is partitioned again by
 * all, into the array that it did not come from, once those before it are done; and so is what is too large of that.
 */
#include "sort/form.h"

#include <string.h>

#include "base/pieces.h"
#include "base/workers.h"

#define UNIT 16384u             /* elements sent off at a time when there is nothing to sort */
#define LARGE_BUCKET 32768u     /* elements; fewer are not worth being partitioned again */
#define BUCKETS_PER_THREAD 8u   /* a bucket should not be more than this part of a thread's work */

/* One sort in progress. */
typedef struct forming {
	emi_former *f;
	emi_job *job;
	emi_partition part;     /* of all elements */
	const char *records;    /* n of them, to be loaded */
	emi_partition *now;     /* what is being finished: all, or a bucket that was partitioned again, ... */
	uint64_t at;            /* ... which begins here, ... */
	size_t next, end;       /* ... and its buckets or units: to be taken next, atomic; and where to stop */
	emi_outseq *q;          /* where they go, ... */
	char *room;             /* ... or there; both NULL: the elements are left as they are */
	uint64_t base;          /* progress before this sort */
} forming;

uint32_t emi_former_levels(uint32_t threads)
{
	return threads > 1 ? EMI_FORM_LEVELS : 1;
}

em_status emi_former_init(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err)
{
	size_t eb = job->by.codec->elem_bytes;
	uint32_t i, first = job->plan.elem_arrays == 1 ? 1 : 0;
	em_status st = EM_OK;

	memset(f, 0, sizeof *f);
	f->job = job;
	f->room = room;
	if (room > SIZE_MAX / eb)
		return emi_fail(err, EM_ERR_NOMEM, "%llu records do not fit in memory", (unsigned long long)room);
	f->elems_bytes = (size_t)room * eb;
	for (i = 0; i < emi_former_levels(job->plan.threads) && st == EM_OK; i++)
		st = emi_partition_room_init(&f->buckets[i], job, err);
	if (st == EM_OK && job->plan.hot_bytes != 0) {
		f->hot = emi_buffer_alloc(job->ctx, job->plan.threads * job->plan.hot_bytes, err);
		if (f->hot == NULL)
			st = err->status;
	}
	if (st == EM_OK) {
		f->work = emi_buffer_alloc(job->ctx, job->plan.threads * EMI_KERN_WORK, err);
		if (f->work == NULL)
			st = err->status;
	}
	for (i = first; i < 2 && st == EM_OK; i++) {
		f->elems[i] = emi_buffer_alloc(job->ctx, f->elems_bytes, err);
		if (f->elems[i] == NULL)
			st = err->status;
	}
	if (st == EM_OK && job->by.own != NULL) {
		f->tags = emi_buffer_alloc(job->ctx, (size_t)room * sizeof *f->tags, err);
		if (f->tags == NULL)
			st = err->status;
	}
	if (st != EM_OK)
		emi_former_free(f);
	return st;
}

em_status emi_former_init_few(emi_former *f, emi_job *job, uint64_t room, em_errinfo *err)
{
	uint32_t i;

	memset(f, 0, sizeof *f);
	f->job = job;
	f->room = room;
	f->elems_bytes = emi_piece_bytes((size_t)room * job->by.codec->elem_bytes);
	f->work = emi_piece_alloc(job->ctx, EMI_KERN_WORK, err);
	for (i = job->plan.elem_arrays == 1 ? 1 : 0; i < 2 && f->work != NULL; i++) {
		f->elems[i] = emi_piece_alloc(job->ctx, f->elems_bytes, err);
		if (f->elems[i] == NULL)
			break;
	}
	if (f->elems[1] != NULL)
		return EM_OK;
	emi_former_free(f);
	return err->status;
}

void emi_former_free(emi_former *f)
{
	uint32_t i;

	if (f->job == NULL)
		return;
	for (i = 0; i < 2; i++)
		if (f->elems[i] != NULL)
			emi_piece_free(f->job->ctx, f->elems[i], f->elems_bytes);
	if (f->tags != NULL)
		emi_buffer_free(f->job->ctx, f->tags, (size_t)f->room * sizeof *f->tags);
	if (f->work != NULL)
		emi_piece_free(f->job->ctx, f->work, f->job->plan.threads * EMI_KERN_WORK);
	if (f->hot != NULL)
		emi_buffer_free(f->job->ctx, f->hot, f->job->plan.threads * f->job->plan.hot_bytes);
	for (i = 0; i < EMI_FORM_LEVELS; i++)
		if (f->buckets[i].ctx != NULL)
			emi_partition_room_free(&f->buckets[i]);
	memset(f, 0, sizeof *f);
}

static void load_records(void *arg, uint64_t i, size_t n)
{
	forming *s = arg;
	const emi_codec *codec = s->job->by.codec;

	emi_collation_load(&s->job->by, s->records + (size_t)i * codec->record_bytes, n,
			   s->part.a + (size_t)i * codec->elem_bytes);
}

/* Store sorted elements [lo, hi) of what is being finished at their places in the sequence, or the room. */
static int emit(forming *s, uint64_t lo, uint64_t hi)
{
	const emi_codec *codec = s->job->by.codec;

	while (lo < hi) {
		const char *from = s->now->sorted + (size_t)lo * codec->elem_bytes;
		size_t n = (size_t)(hi - lo);
		char *dst = s->room != NULL ? s->room + (size_t)(s->at + lo) * codec->record_bytes
					    : emi_outseq_place(s->q, s->at + lo, &n);

		if (dst == NULL)
			return 0;
		emi_collation_store(&s->job->by, from, n, dst);
		if (s->room == NULL)
			emi_outseq_filled(s->q, s->at + lo, n);
		lo += n;
	}
	return 1;
}

/* Sorted elements [lo, hi) are left where all are in the end. */
static void leave(const forming *s, uint64_t lo, uint64_t hi)
{
	const size_t eb = s->job->by.codec->elem_bytes;
	const char *from = s->now->sorted + (size_t)lo * eb;
	char *to = s->part.sorted + (size_t)(s->at + lo) * eb;

	if (to != from)
		memcpy(to, from, (size_t)(hi - lo) * eb);
}

/* There are so many buckets, or units where there is nothing to sort. */
static size_t units(const emi_partition *p)
{
	return p->must_sort ? p->buckets : (size_t)((p->n + UNIT - 1) / UNIT);
}

/* Elements of the i-th. */
static void unit_range(const emi_partition *p, size_t i, uint64_t *lo, uint64_t *hi)
{
	if (p->must_sort) {
		emi_partition_bucket(p, i, lo, hi);
		return;
	}
	*lo = (uint64_t)i * UNIT;
	*hi = p->n - *lo < UNIT ? p->n : *lo + UNIT;
}

/* Sort elements [lo, hi), with scratch that is in this thread's cache if they fit in it. */
static void sort_bucket(forming *s, uint32_t part, uint64_t lo, uint64_t hi)
{
	const emi_partition *p = s->now;
	size_t eb = s->job->by.codec->elem_bytes, n = (size_t)(hi - lo), hot = s->job->plan.hot_bytes;
	char *other = p->sorted == p->a ? p->b : p->a;
	char *tmp = n <= hot / eb ? s->f->hot + part * hot : other + (size_t)lo * eb;
	emi_tie tie = s->job->by.tie;

	tie.depth = s->part.depth;
	emi_collation_sort(&s->job->by, &tie, p->sorted + (size_t)lo * eb, tmp, n, s->f->work + part * EMI_KERN_WORK);
}

/* Sort the buckets and send them off. */
static void finish_part(void *arg, uint32_t part)
{
	forming *s = arg;
	const int mine = part == s->now->parts - 1;

	for (;;) {
		const size_t i = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
		uint64_t lo, hi;

		if (i >= s->end || !emi_partition_go_on(s->now, mine))
			return;
		unit_range(s->now, i, &lo, &hi);
		if (lo == hi)
			continue;
		if (s->now->must_sort)
			sort_bucket(s, part, lo, hi);
		if (s->q == NULL && s->room == NULL)
			leave(s, lo, hi);
		else if (!emit(s, lo, hi))
			return;
		if (mine)
			s->job->watch.done = s->base + (s->at + hi) * s->job->by.codec->record_bytes;
	}
}

/* Finish buckets [from, to) of a partition. */
static em_status finish_buckets(forming *s, emi_partition *p, uint64_t at, size_t from, size_t to, em_errinfo *err)
{
	if (from == to)
		return EM_OK;
	s->now = p;
	s->at = at;
	s->next = from;
	s->end = to;
	emi_parallel(s->job->ctx, p->parts, finish_part, s);
	if (p->status != EM_OK)
		return emi_fail(err, p->status, "canceled");
	if (s->q == NULL || emi_outseq_status(s->q) == EM_OK)
		return EM_OK;
	*err = s->q->err;
	return s->q->status;
}

/* Is a bucket more than one thread should have?  Splitters, which elements with kernels of their own are told apart by,
 * see to it that none is. */
static int is_large(const forming *s, uint32_t level, uint64_t n)
{
	return level + 1 < emi_former_levels(s->job->plan.threads) && s->job->by.own == NULL && n > LARGE_BUCKET &&
	       n > s->part.n / s->job->plan.threads / BUCKETS_PER_THREAD;
}

static em_status finish_all(forming *s, emi_partition *p, uint64_t at, uint32_t level, em_errinfo *err);

/* Partition bucket i of p, and finish it. */
static em_status split(forming *s, const emi_partition *p, uint64_t at, size_t i, uint32_t level, em_errinfo *err)
{
	const size_t eb = s->job->by.codec->elem_bytes;
	emi_partition part;
	uint64_t lo, hi;
	em_status st;

	emi_partition_bucket(p, i, &lo, &hi);
	memset(&part, 0, sizeof part);
	part.job = s->job;
	part.room = &s->f->buckets[level];
	part.a = p->sorted + (size_t)lo * eb;
	part.b = (p->sorted == p->a ? p->b : p->a) + (size_t)lo * eb;
	part.n = hi - lo;
	part.ties = p->ties;
	part.turns = 1;
	part.work = s->f->work;
	emi_partition_expect(&part, p);
	st = emi_partition_run(&part, err);
	return st == EM_OK ? finish_all(s, &part, at + lo, level, err) : st;
}

/* Finish a partition of elements from `at' on: the buckets before the first large one, that one, and so on. */
static em_status finish_all(forming *s, emi_partition *p, uint64_t at, uint32_t level, em_errinfo *err)
{
	size_t i, from = 0;
	em_status st = EM_OK;

	for (i = 0; p->bits != 0 && i < p->buckets && st == EM_OK; i++) {
		uint64_t lo, hi;

		emi_partition_bucket(p, i, &lo, &hi);
		if (!is_large(s, level, hi - lo))
			continue;
		st = finish_buckets(s, p, at, from, i, err);
		if (st == EM_OK)
			st = split(s, p, at, i, level + 1, err);
		from = i + 1;
	}
	return st == EM_OK ? finish_buckets(s, p, at, from, units(p), err) : st;
}

/* Elements that take the place of records need their alignment. */
static char *align_records(const emi_job *job, char *records, uint64_t n)
{
	size_t off = (uintptr_t)records % job->by.codec->align;

	if (off != 0)
		memmove(records - off, records, (size_t)n * job->by.codec->record_bytes);
	return records - off;
}

static void begin(forming *s, emi_former *f, char *records, uint64_t n)
{
	emi_job *job = f->job;

	memset(s, 0, sizeof *s);
	s->f = f;
	s->job = job;
	s->base = job->watch.done;
	s->part.job = job;
	s->part.room = &f->buckets[0];
	s->part.n = n;
	s->part.ties = job->by.tie.fn != NULL;
	s->part.turns = 1;
	/* One run is as another. */
	s->part.alike = 1;
	s->part.tags = f->tags;
	s->part.work = f->work;
	s->part.b = f->elems[1];
	s->part.a = f->elems[0] == NULL ? align_records(job, records, n) : f->elems[0];
	s->records = f->elems[0] == NULL ? s->part.a : records;
	if (f->elems[0] != NULL || !job->by.codec->identity)
		s->part.load = load_records;
	s->part.load_arg = s;
}

static em_status finish(forming *s, em_errinfo *err)
{
	emi_job *job = s->job;
	em_status st = emi_partition_run(&s->part, err);

	if (st != EM_OK)
		return st;
	st = finish_all(s, &s->part, 0, 0, err);
	if (st != EM_OK)
		return st;
	job->watch.done = s->base + s->part.n * job->by.codec->record_bytes;
	return emi_job_check(job, err);
}

em_status emi_form_run(emi_former *f, void *records, uint64_t n, emi_outseq *q, em_errinfo *err)
{
	forming s;

	begin(&s, f, records, n);
	s.q = q;
	return finish(&s, err);
}

em_status emi_form_kept(emi_former *f, void *records, uint64_t n, char *room, char **first, em_errinfo *err)
{
	forming s;

	begin(&s, f, records, n);
	s.room = room != NULL ? room : s.f->elems[0] == NULL ? s.part.a : records;
	*first = s.room;
	return finish(&s, err);
}

/* Elements that somebody else looks at have the keys that they should have. */
static void restore_keys(const forming *s)
{
	emi_pair *e = (emi_pair *)(void *)s->part.sorted;
	uint64_t i;

	for (i = 0; s->part.depth != 0 && i < s->part.n; i++)
		e[i].key = s->part.common;
}

em_status emi_form_elems(emi_former *f, void *records, uint64_t n, const void **elems, em_errinfo *err)
{
	forming s;
	em_status st;

	begin(&s, f, records, n);
	st = finish(&s, err);
	restore_keys(&s);
	*elems = s.part.sorted;
	return st;
}
