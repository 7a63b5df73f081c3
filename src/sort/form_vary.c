/* SPDX-License-Identifier: BSL-1.0 */
/*
 * form_vary.c -- sorting a line store: buckets of strings, sorted one by one and sent off as blocks.
 *
 * What is in order already, or in reverse, needs no more than to be cut into buckets.
 *
 * All strings of a store may begin alike, as URLs do; elements are then loaded anew with the bytes behind what they
 * have in common before they are partitioned.  Many of them may, too: a bucket that is too large to be one thread's
 * work is partitioned again, by the next bits of its keys, and when these are used up by deeper bytes.  Neighbouring
 * buckets whose records fill about a block are a share of the work.  A thread sorts the buckets of a share and measures
 * the records.  When all shares before it are measured, too, it has its place, and its blocks are filled: mostly right
 * away, while the records are in the cache; but nobody waits for a share before his that takes long (base/turns.h).
 */
#include "base/turns.h"
#include "base/workers.h"
#include "sort/block_vary.h"
#include "sort/line_store.h"
#include "sort/survey_vary.h"
#include "stream/records.h"

#define AHEAD 12u               /* records asked for ahead of time */
#define WORTH_LOADING 4u        /* bytes in common that are worth loading the elements anew */
#define LARGE_BUCKET 32768u     /* elements; fewer are not worth being partitioned again */
#define BUCKETS_PER_THREAD 8u   /* a bucket should not be more than this part of a thread's work */
#define MOST_ROUNDS 40u         /* of partitioning */
#define LINE 64u                /* of a cache */
#define MOST_LINES 4u           /* of a record asked for beside the first */
#define LEAST_PIECE 256u        /* elements of a bucket of what is in order */
#define SAMPLE 16u              /* strings that tell what those of a bucket may have in common */

/* Elements [lo, lo + n) that come behind those of the buckets before, in order once they are sorted. */
typedef struct bucket {
	emi_pair *a;
	uint64_t lo, n;
	uint64_t depth;         /* of their keys */
} bucket;

/* Neighbouring buckets. */
typedef struct share {
	uint32_t first;         /* bucket */
	uint32_t blocks;        /* that its records fill, ... */
	uint64_t n;             /* ... those that are left when it is sorted, ... */
	uint64_t bytes;         /* ... and their size */
	uint64_t block, byte;   /* its place: the first */
} share;

typedef struct forming {
	emi_line_store *store;
	emi_job *job;
	const emi_vary *v;
	emi_pair *a, *b;        /* two arrays of elements */
	emi_pair *sorted;       /* the one of them that holds all in the end */
	int in_order;           /* buckets are as they are */
	bucket *bucket;
	uint32_t buckets;
	uint32_t waiting;       /* buckets that are to be looked at, at the end of the array */
	uint64_t large;         /* elements of a bucket that is partitioned again */
	emi_pair *loading;      /* elements that get new keys ... */
	uint64_t known, depth;  /* ... from this depth, if they are equal up to there: up to `known' they are */
	uint64_t common;        /* atomic: up to where they are equal, and no further than that */
	emi_partition check;    /* for looking whether to go on */
	share *share;           /* and an end */
	size_t shares;
	unsigned char *state;   /* of the shares */
	emi_turns turns;
	emi_outseq *q;          /* NULL: leave the elements */
	uint64_t limit;         /* bytes of records in a block */
	uint64_t sent;          /* records; atomic */
} forming;

static const unsigned char *frame_at(const emi_pair *e)
{
	return (const unsigned char *)(uintptr_t)e->val;
}

static void note_common(forming *s, uint64_t common)
{
	uint64_t least = __atomic_load_n(&s->common, __ATOMIC_RELAXED);

	while (common < least &&
	       !__atomic_compare_exchange_n(&s->common, &least, common, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void load_deeper(void *arg, uint64_t i, size_t n)
{
	forming *s = arg;

	if (s->known == s->depth)
		emi_load_strings(s->v, s->loading + (size_t)i, n, s->depth);
	else
		note_common(s, emi_load_common(s->v, s->loading, s->loading + (size_t)i, n, s->known, s->depth, NULL));
}

/* A frame whose head has come is going to be copied: ask for what follows. */
static void ask_for_rest(const unsigned char *frame, size_t bytes)
{
	size_t at;

	for (at = LINE; at < bytes && at <= MOST_LINES * LINE; at += LINE)
		__builtin_prefetch(frame + at);
}

/* What a record takes in a block. */
static uint64_t size_of(const forming *s, const emi_pair *e)
{
	const unsigned char *frame = frame_at(e);
	const emi_frame f = emi_frame_get(s->v, frame);
	const size_t bytes = (size_t)(emi_frame_end(&f) - frame);

	ask_for_rest(frame, bytes);
	return s->q->dest.text ? f.bytes + s->job->out_extra : bytes;
}

/* The end of the block that begins with element i, and its bytes: as many as fit, at least one. */
static size_t block_end(const forming *s, const emi_pair *e, size_t i, size_t n, uint64_t *bytes)
{
	*bytes = 0;
	for (; i < n; i++) {
		uint64_t size;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		size = size_of(s, e + i);
		if (*bytes != 0 && *bytes + size > s->limit)
			break;
		*bytes += size;
	}
	return i;
}

/* Do equal records go, but for the first? */
static int drops(const forming *s)
{
	return (s->job->flags & EM_SORT_UNIQUE) != 0 && s->q != NULL;
}

static int are_equal(const forming *s, const emi_pair *a, const emi_pair *b)
{
	const emi_frame f = emi_frame_of(s->v, a), g = emi_frame_of(s->v, b);

	return emi_string_compare(s->v, &f, &g, 0) == 0;
}

/* Of equal neighbours only the first stays. */
static size_t drop_equal(const forming *s, emi_pair *e, size_t n)
{
	size_t i, kept = n != 0;

	for (i = 1; i < n; i++)
		if (!are_equal(s, e + kept - 1, e + i))
			e[kept++] = e[i];
	return kept;
}

static void fill_text(const forming *s, const emi_pair *e, size_t n, unsigned char *at)
{
	const em_format *format = &s->job->format;
	size_t i;

	for (i = 0; i < n; i++) {
		emi_frame f;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		f = emi_frame_of(s->v, e + i);
		at = emi_record_prefix(format, at, f.bytes);
		emi_copy(at, emi_frame_record(&f), (size_t)f.bytes);
		at = emi_record_delimit(format, at + f.bytes);
	}
}

static void fill_frames(const forming *s, const emi_pair *e, size_t n, char *base, uint64_t bytes)
{
	emi_block_builder b;
	size_t i;

	emi_block_begin(&b, base, bytes);
	for (i = 0; i < n; i++) {
		emi_frame f;

		if (n - i > AHEAD)
			__builtin_prefetch(frame_at(e + i + AHEAD));
		f = emi_frame_of(s->v, e + i);
		emi_block_add(&b, frame_at(e + i), (size_t)(emi_frame_end(&f) - frame_at(e + i)),
			      f.bytes + s->job->out_extra);
	}
	emi_block_end(&b);
}

/* Fill a block with elements [i, end). */
static int send_block(const forming *s, const emi_pair *e, size_t n, uint64_t bytes, uint64_t index, uint64_t position)
{
	const size_t whole = (size_t)(s->q->dest.text ? bytes : emi_block_bytes(bytes));
	char *at = emi_outseq_take(s->q, index, whole, position);

	if (at == NULL)
		return 0;
	if (s->q->dest.text)
		fill_text(s, e, n, (unsigned char *)at);
	else
		fill_frames(s, e, n, at, bytes);
	emi_outseq_full(s->q, index, n);
	return 1;
}

/* What the records of a share take. */
static void measure(const forming *s, share *h, const emi_pair *e)
{
	const size_t n = (size_t)h->n;
	uint64_t bytes;
	size_t i;

	h->blocks = 0;
	h->bytes = 0;
	for (i = 0; i < n; i = block_end(s, e, i, n, &bytes), h->bytes += bytes)
		h->blocks++;
}

/* Sort a bucket, to where all end up. */
static emi_pair *sort_bucket(const forming *s, uint32_t part, const bucket *b)
{
	const size_t hot = s->job->plan.hot_bytes / sizeof(emi_pair), n = (size_t)b->n;
	emi_pair *from = b->a + (size_t)b->lo, *to = s->sorted + (size_t)b->lo;
	emi_pair *other = (b->a == s->a ? s->b : s->a) + (size_t)b->lo;

	if (s->in_order)
		return to;
	emi_sort_strings(s->job->by.kern, s->v, from,
			 n <= hot ? (emi_pair *)(void *)(s->store->hot + part * s->job->plan.hot_bytes) : other, n,
			 b->depth, s->store->work + part * EMI_KERN_WORK);
	if (to != from)
		memcpy(to, from, n * sizeof *to);
	return to;
}

static emi_pair *elems_of(const forming *s, const share *h)
{
	return s->sorted + (size_t)s->bucket[h->first].lo;
}

/* Sort the buckets of a share; they move together when equal records are dropped. */
static void sort_share(const forming *s, uint32_t part, share *h)
{
	emi_pair *all = elems_of(s, h);
	uint32_t i;

	h->n = 0;
	for (i = h->first; i < h[1].first; i++) {
		emi_pair *e = sort_bucket(s, part, &s->bucket[i]);
		size_t n = (size_t)s->bucket[i].n;

		if (drops(s)) {
			n = drop_equal(s, e, n);
			memmove(all + (size_t)h->n, e, n * sizeof *e);
		}
		h->n += n;
	}
}

/* Whoever waits for a block of what is not going to be sent must be told. */
static void give_up(forming *s)
{
	const em_status st = __atomic_load_n(&s->check.status, __ATOMIC_RELAXED);
	em_errinfo err;

	if (s->q == NULL)
		return;
	memset(&err, 0, sizeof err);
	emi_fail(&err, st, "canceled");
	emi_outseq_abort(s->q, st, &err);
}

static em_status tick(void *arg)
{
	forming *s = arg;

	if (emi_partition_go_on(&s->check, 1))
		return EM_OK;
	give_up(s);
	return s->check.status;
}

static int prepare(void *arg, uint64_t item, uint32_t part)
{
	forming *s = arg;
	share *h = &s->share[item];

	if (!emi_partition_go_on(&s->check, part == s->job->plan.threads - 1)) {
		give_up(s);
		return 0;
	}
	sort_share(s, part, h);
	if (s->q != NULL)
		measure(s, h, elems_of(s, h));
	return 1;
}

static int place(void *arg, uint64_t item)
{
	forming *s = arg;
	share *h = &s->share[item];

	if (s->q == NULL)
		return EMI_TURN_NEXT;
	/* Shares come in order, so this does not wait. */
	return emi_outseq_reserve(s->q, item, h->blocks, h->bytes, &h->block, &h->byte) ? EMI_TURN_NEXT : EMI_TURN_STOP;
}

/* Fill the blocks of a share. */
static int finish(void *arg, uint64_t item, uint32_t part)
{
	forming *s = arg;
	const share *h = &s->share[item];
	const emi_pair *e = elems_of(s, h);
	const size_t n = (size_t)h->n;
	uint64_t index = h->block, position = h->byte, bytes = h->bytes;
	size_t i, end;

	(void)part;
	for (i = 0; s->q != NULL && i < n; i = end) {
		/* A share is nearly always one block, which was measured already. */
		end = h->blocks == 1 ? n : block_end(s, e, i, n, &bytes);
		if (!send_block(s, e + i, end - i, bytes, index, position))
			return 0;
		index++;
		position += bytes;
	}
	__atomic_fetch_add(&s->sent, n, __ATOMIC_RELAXED);
	return 1;
}

static void work(void *arg, uint32_t part)
{
	forming *s = arg;

	emi_turns_work(&s->turns, part, part == s->job->plan.threads - 1 ? tick : NULL, s);
}

/* Neighbouring buckets whose records fill nearly a block are a share; the first one of a run is as much smaller as its
 * first block is to be (run.h). */
static void make_shares(forming *s)
{
	const uint64_t all = s->store->n;
	const uint64_t whole = s->store->out == 0 ? all : s->limit * all / (s->store->out + 1) * 15 / 16 + 1;
	uint64_t n = 0, want = (uint64_t)((1 - emi_run_short(s->job->runs.n)) * (double)whole) + 1;
	uint32_t i;

	s->shares = 0;
	for (i = 0; i < s->buckets; i++) {
		if (s->shares == 0 || n + s->bucket[i].n > want) {
			if (s->shares != 0)
				want = whole;
			s->share[s->shares++].first = i;
			n = 0;
		}
		n += s->bucket[i].n;
	}
	s->share[s->shares].first = i;
}

static void add_bucket(forming *s, const bucket *b)
{
	if (b->n != 0)
		s->bucket[s->buckets++] = *b;
}

/* How many bytes the strings of a bucket may have in common, of which its keys are known to be eight: what a few of
 * them have. */
static uint64_t guess_common(const forming *s, const bucket *b)
{
	const emi_pair *e = b->a + (size_t)b->lo;
	const emi_frame first = emi_frame_of(s->v, e);
	uint64_t common = UINT64_MAX, i;

	for (i = 1; i <= SAMPLE; i++) {
		const emi_frame f = emi_frame_of(s->v, e + (size_t)((b->n - 1) / SAMPLE * i));

		common = emi_string_common_within(s->v, &first, &f, b->depth + 8, common);
	}
	return common;
}

/* Is there room for the buckets of one more?  Each partition leaves at most EMI_BUCKETS more, added or waiting, so
 * neither end of the array reaches the other. */
static int may_split(const forming *s, unsigned round)
{
	return round < MOST_ROUNDS && EMI_LINE_STORE_BUCKETS - s->buckets - s->waiting >= 2 * EMI_BUCKETS;
}

/* Those that wait to be looked at, the first on top, stand at the end of the array, and in states how many partitions
 * they went through. */
static void push_bucket(forming *s, const bucket *b, unsigned round)
{
	const size_t at = EMI_LINE_STORE_BUCKETS - 1 - s->waiting;

	if (b->n == 0)
		return;
	s->bucket[at] = *b;
	s->state[at] = (unsigned char)round;
	s->waiting++;
}

/*
 * Partition the elements of a bucket.  Their keys are those at its depth; or, to be loaded, those at the depth up to
 * which its strings are equal, which is `known' or more: its depth is a guess then.  When it was too large, which the
 * loading tells, that is done once more, with the right one: what was partitioned still is where it was.
 */
static em_status partition(forming *s, emi_partition *p, bucket *b, uint64_t known, int load, em_errinfo *err)
{
	em_status st;

	memset(p, 0, sizeof *p);
	p->job = s->job;
	p->room = &s->store->buckets;
	p->a = (char *)(b->a + (size_t)b->lo);
	p->b = (char *)((b->a == s->a ? s->b : s->a) + (size_t)b->lo);
	p->n = b->n;
	p->ties = 1;
	p->work = s->store->work;
	if (load) {
		s->loading = b->a + (size_t)b->lo;
		s->known = known;
		s->common = s->depth = b->depth;
		p->load = load_deeper;
		p->load_arg = s;
	}
	st = emi_partition_run(p, err);
	if (st != EM_OK || !load || s->common == b->depth)
		return st;
	b->depth = s->common;
	return partition(s, p, b, b->depth, 1, err);
}

/* Partition a bucket, whose parts wait then; or add it, when that is of no use.  Of a large one whose keys are all
 * equal those at a larger depth are partitioned. */
static em_status split(forming *s, bucket b, unsigned round, int load, em_errinfo *err)
{
	uint64_t known = b.depth;
	emi_partition p;
	em_status st;
	size_t i;

	for (;;) {
		st = partition(s, &p, &b, known, load, err);
		if (st != EM_OK)
			return st;
		round++;
		/* Otherwise it stays at its depth: nobody would load the keys at another. */
		if (!p.same || b.n <= s->large || !may_split(s, round))
			break;
		known = b.depth + 8;
		b.depth = guess_common(s, &b);
		load = 1;
	}
	if (p.bits == 0) {
		add_bucket(s, &b);
		return EM_OK;
	}
	for (i = p.buckets; i-- > 0;) {
		bucket part = { b.a == s->a ? s->b : s->a, 0, 0, b.depth };
		uint64_t hi;

		emi_partition_bucket(&p, i, &part.lo, &hi);
		part.n = hi - part.lo;
		part.lo += b.lo;
		push_bucket(s, &part, round);
	}
	return EM_OK;
}

/* Partition all elements, and what is too large of that, and so on.  No call is nested in another, however deep that
 * goes. */
static em_status split_all(forming *s, const bucket *all, em_errinfo *err)
{
	em_status st = split(s, *all, 0, all->depth != 0, err);

	while (s->waiting != 0 && st == EM_OK) {
		const size_t at = EMI_LINE_STORE_BUCKETS - s->waiting;
		const bucket b = s->bucket[at];
		const unsigned round = s->state[at];

		s->waiting--;
		if (b.n > s->large && may_split(s, round))
			st = split(s, b, round, 0, err);
		else
			add_bucket(s, &b);
	}
	return st;
}

static void turn_around(emi_pair *e, uint64_t n)
{
	emi_pair *lo = e, *hi = e + (size_t)n;

	while (lo < --hi) {
		const emi_pair t = *lo;

		*lo++ = *hi;
		*hi = t;
	}
}

/* Buckets of what is in order.  Equal records are in the same one if all but the first are to be dropped. */
static void cut(forming *s)
{
	const uint64_t n = s->store->n, most = n / (EMI_LINE_STORE_BUCKETS / 2) + 1;
	const uint64_t each = most > LEAST_PIECE ? most : LEAST_PIECE;
	bucket b = { s->a, 0, 0, 0 };

	for (; b.lo < n; b.lo += b.n) {
		b.n = n - b.lo < each ? n - b.lo : each;
		while (drops(s) && b.lo + b.n < n && are_equal(s, &s->a[b.lo + b.n - 1], &s->a[b.lo + b.n]))
			b.n++;
		add_bucket(s, &b);
	}
	s->in_order = 1;
	s->sorted = s->a;
}

/* Buckets of all elements, each of which has only to be sorted. */
static em_status make_buckets(forming *s, em_errinfo *err)
{
	const int order = emi_survey_strings(s->job, &s->check, s->a, s->store->n);
	bucket all = { s->a, 0, s->store->n, 0 };
	em_status st;

	if (order == EMI_DESCENDS)
		turn_around(s->a, s->store->n);
	if (order != EMI_UNORDERED) {
		cut(s);
		return EM_OK;
	}
	s->large = s->store->n / s->job->plan.threads / BUCKETS_PER_THREAD;
	if (s->large < LARGE_BUCKET)
		s->large = LARGE_BUCKET;
	if (s->store->common >= WORTH_LOADING)
		all.depth = s->store->common;
	st = split_all(s, &all, err);
	s->sorted = s->buckets == 1 ? s->bucket[0].a : s->b;
	return st;
}

static em_status sort_buckets(forming *s, em_errinfo *err)
{
	static const emi_turns_calls calls = { prepare, place, finish };
	em_status st = make_buckets(s, err);

	if (st != EM_OK)
		return st;
	make_shares(s);
	st = emi_turns_init(&s->turns, &calls, s, s->state, EMI_LINE_STORE_BUCKETS, err);
	if (st != EM_OK)
		return st;
	emi_turns_add(&s->turns, s->shares);
	emi_parallel(s->job->ctx, s->job->plan.threads, work, s);
	emi_turns_free(&s->turns);
	if (s->check.status != EM_OK)
		return emi_fail(err, s->check.status, "canceled");
	if (s->q != NULL && emi_outseq_status(s->q) != EM_OK) {
		*err = s->q->err;
		return s->q->status;
	}
	return emi_job_check(s->job, err);
}

static em_status form(emi_line_store *p, emi_outseq *q, uint64_t *records, const emi_pair **elems, em_errinfo *err)
{
	emi_job *job = p->job;
	const size_t block = job->plan.block_bytes;
	forming s;
	em_status st;

	memset(&s, 0, sizeof s);
	s.store = p;
	s.job = job;
	s.v = job->by.vary;
	s.q = q;
	s.limit = q != NULL && q->dest.text ? block : emi_block_room(block);
	s.check.job = job;
	s.a = emi_line_store_elems(p);
	s.b = s.a + (size_t)p->n;
	s.bucket = emi_alloc_array(job->ctx, EMI_LINE_STORE_BUCKETS, sizeof *s.bucket, err);
	if (s.bucket != NULL)
		s.share = emi_alloc_array(job->ctx, EMI_LINE_STORE_BUCKETS + 1, sizeof *s.share, err);
	if (s.share != NULL)
		s.state = emi_alloc_array(job->ctx, EMI_LINE_STORE_BUCKETS, sizeof *s.state, err);
	st = s.state != NULL ? sort_buckets(&s, err) : err->status;
	if (s.state != NULL)
		emi_free_array(job->ctx, s.state, EMI_LINE_STORE_BUCKETS, sizeof *s.state);
	if (s.share != NULL)
		emi_free_array(job->ctx, s.share, EMI_LINE_STORE_BUCKETS + 1, sizeof *s.share);
	if (s.bucket != NULL)
		emi_free_array(job->ctx, s.bucket, EMI_LINE_STORE_BUCKETS, sizeof *s.bucket);
	if (st == EM_OK && records != NULL)
		*records = s.sent;
	if (st == EM_OK && elems != NULL)
		*elems = s.sorted;
	return st;
}

em_status emi_line_store_send(emi_line_store *p, emi_outseq *q, uint64_t *records, em_errinfo *err)
{
	return form(p, q, records, NULL, err);
}

/*
 * Two neighbours among the blocks of a share hold more than one block has room for.  Two neighbours among shares, but
 * for the first one, have more records than are wanted for one, which are half of what would fill a block, or more, if
 * all were of the same size (make_shares()).
 */
size_t emi_line_store_stay_bytes(const emi_line_store *p)
{
	const uint64_t frames = (uint64_t)(p->base + (p->bytes - EMI_LINE_STORE_SLACK) - p->low);
	const uint64_t limit = emi_block_room(p->job->plan.block_bytes);
	const uint64_t blocks = 2 * frames / limit + 4 * (p->out + 1) / limit + 3;

	return (size_t)emi_block_place(blocks < p->n ? blocks : p->n, frames) + EMI_LINE_STORE_SLACK;
}

/* Few elements are one bucket. */
static em_status sort_few(emi_line_store *p, emi_pair *e, em_errinfo *err)
{
	const emi_vary *v = p->job->by.vary;
	const size_t n = (size_t)p->n;
	uint64_t depth = 0;
	emi_partition check;
	int order;

	memset(&check, 0, sizeof check);
	check.job = p->job;
	order = emi_survey_strings(p->job, &check, e, n);
	if (order == EMI_DESCENDS)
		turn_around(e, n);
	if (order == EMI_UNORDERED) {
		if (p->common >= WORTH_LOADING) {
			depth = p->common;
			emi_load_strings(v, e, n, depth);
		}
		emi_sort_strings(p->job->by.kern, v, e, e + n, n, depth, p->work);
	}
	return emi_job_check(p->job, err);
}

em_status emi_line_store_sort(emi_line_store *p, const emi_pair **elems, em_errinfo *err)
{
	if (p->n >= EMI_PARTITION_LEAST)
		return form(p, NULL, NULL, elems, err);
	*elems = emi_line_store_elems(p);
	return sort_few(p, emi_line_store_elems(p), err);
}
