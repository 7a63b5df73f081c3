/* SPDX-License-Identifier: BSL-1.0 */
/* partition.c -- see partition.h. */
#include "sort/partition.h"

#include <stdlib.h>
#include <string.h>

#include "base/workers.h"

#define PIECE 65536u            /* elements handled between two looks at the clock; they stay in the cache */
#define BUCKET_ELEMS 8192u      /* wanted per bucket */
#define SAMPLE 512u             /* keys that tell where most of them are, ... */
#define OUTSIDE 8u              /* ... which need not be so many of them at either end */

uint64_t emi_partition_room_bytes(uint32_t threads)
{
	return threads * (EMI_MOST_BUCKETS * sizeof(size_t) + sizeof(struct emi_survey)) +
	       (EMI_MOST_BUCKETS + 1) * sizeof(size_t);
}

em_status emi_partition_room_init(emi_partition_room *r, emi_job *job, em_errinfo *err)
{
	memset(r, 0, sizeof *r);
	r->ctx = job->ctx;
	r->threads = job->plan.threads;
	r->count = emi_alloc_array(r->ctx, r->threads * (uint64_t)EMI_MOST_BUCKETS, sizeof *r->count, err);
	if (r->count != NULL)
		r->bound = emi_alloc_array(r->ctx, EMI_MOST_BUCKETS + 1, sizeof *r->bound, err);
	if (r->bound != NULL)
		return EM_OK;
	emi_partition_room_free(r);
	return err->status;
}

void emi_partition_room_free(emi_partition_room *r)
{
	if (r->bound != NULL)
		emi_free_array(r->ctx, r->bound, EMI_MOST_BUCKETS + 1, sizeof *r->bound);
	if (r->count != NULL)
		emi_free_array(r->ctx, r->count, r->threads * (uint64_t)EMI_MOST_BUCKETS, sizeof *r->count);
	memset(r, 0, sizeof *r);
}

static uint64_t elem_key(const emi_partition *p, uint64_t i)
{
	const char *e = p->a + (size_t)i * p->job->by.kern->elem_bytes;

	if (p->job->by.kern->elem_bytes == sizeof(uint32_t))
		return *(const uint32_t *)(const void *)e;
	return *(const uint64_t *)(const void *)e;
}

uint64_t emi_partition_begin(const emi_partition *p, uint32_t part)
{
	return p->n / p->parts * part + (part < p->n % p->parts ? part : p->n % p->parts);
}

int emi_partition_small(const emi_partition *p)
{
	return p->n < EMI_PARTITION_LEAST;
}

int emi_partition_go_on(emi_partition *p, int ticks)
{
	if (ticks) {
		em_status st = emi_tick(&p->job->watch);

		if (st != EM_OK)
			__atomic_store_n(&p->status, st, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&p->status, __ATOMIC_RELAXED) == EM_OK;
}

/* Look at n > 0 elements; of those that are not in order, as most are not, only which bits differ. */
static uint64_t look(const emi_partition *p, struct emi_survey *v, size_t *count, const void *a, size_t n)
{
	uint64_t diff = 0;
	int order = 0;

	if (v->sorted || v->reversed || !p->counting)
		diff = p->job->by.kern->survey(a, n, &order);
	if (p->counting)
		diff |= p->job->by.kern->histogram(a, n, &p->room->last, count);
	v->sorted &= order == 1;
	v->reversed &= order == -1 || n == 1;
	return diff;
}

/* Step 1: have the elements, and see what their keys look like.  If they are likely to be like the last ones, their
 * digits are counted, too: that saves step 2 unless they were not. */
static void survey_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	const emi_tie *tie = &p->job->by.tie;
	struct emi_survey *v = &p->survey[part];
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);
	size_t *count = p->counting ? p->room->count + part * EMI_MOST_BUCKETS : NULL, eb = p->job->by.kern->elem_bytes;

	v->sorted = 1;
	v->reversed = p->turns;
	if (p->counting)
		memset(count, 0, sizeof *count << p->room->last.bits);
	for (; i < end && emi_partition_go_on(p, part == p->parts - 1); i += PIECE) {
		size_t n = end - i < PIECE ? (size_t)(end - i) : PIECE;
		uint64_t first;

		if (p->load != NULL)
			p->load(p->load_arg, i, n);
		if (p->depth != 0)
			(void)tie->deepen(tie->arg, (emi_pair *)(void *)(p->a + (size_t)i * eb), n, p->depth);
		first = elem_key(p, i);
		if (i == emi_partition_begin(p, part))
			v->first = v->last = first;
		v->sorted &= v->last <= first;
		v->reversed &= i == emi_partition_begin(p, part) || v->last > first;
		v->diff |= (v->first ^ first) | look(p, v, count, p->a + (size_t)i * eb, n);
		v->last = elem_key(p, i + n - 1);
	}
}

/* Step 2: how many elements of each part go to each bucket. */
static void count_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);
	size_t *count = p->room->count + part * EMI_MOST_BUCKETS, eb = p->job->by.kern->elem_bytes;

	memset(count, 0, p->buckets * sizeof *count);
	for (; i < end && emi_partition_go_on(p, part == p->parts - 1); i += 16 * PIECE) {
		size_t n = end - i < 16 * PIECE ? (size_t)(end - i) : 16 * PIECE;

		p->job->by.kern->histogram(p->a + (size_t)i * eb, n, &p->digit, count);
	}
}

/* Counts become places: the elements of a bucket lie together, those of an earlier part first. */
void emi_partition_place(emi_partition *p)
{
	size_t bucket, at = 0;
	uint32_t part;

	for (bucket = 0; bucket < p->buckets; bucket++) {
		p->room->bound[bucket] = at;
		for (part = 0; part < p->parts; part++) {
			size_t *count = &p->room->count[part * EMI_MOST_BUCKETS + bucket], n = *count;

			*count = at;
			at += n;
		}
	}
	p->room->bound[p->buckets] = at;
}

/* Step 3: move them there. */
static void scatter_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	uint64_t i = emi_partition_begin(p, part), end = emi_partition_begin(p, part + 1);
	size_t *pos = p->room->count + part * EMI_MOST_BUCKETS, eb = p->job->by.kern->elem_bytes;

	for (; i < end && emi_partition_go_on(p, part == p->parts - 1); i += 16 * PIECE) {
		size_t n = end - i < 16 * PIECE ? (size_t)(end - i) : 16 * PIECE;

		p->job->by.kern->scatter(p->a + (size_t)i * eb, n, &p->digit, p->b, pos,
					 p->work + part * EMI_KERN_WORK);
	}
}

static unsigned bits_of(uint64_t x)
{
	unsigned n = 0;

	for (; x != 0; x >>= 1)
		n++;
	return n;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A few keys far from the others take most of a digit for themselves: then it tells those apart that are between a low
 * one and a high one of a sample, and what is below or above has a bucket on either side. */
static void narrow(emi_partition *p, unsigned top)
{
	const uint64_t step = p->n / SAMPLE;
	uint64_t key[SAMPLE], random = 0x9e3779b97f4a7c15u, low, range;
	unsigned shift = 0;
	size_t i;

	for (i = 0; i < SAMPLE; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		key[i] = elem_key(p, i * step + (random >> 33) % step);
	}
	qsort(key, SAMPLE, sizeof *key, by_value);
	low = key[OUTSIDE];
	range = key[SAMPLE - 1 - OUTSIDE] - low;
	if (bits_of(range) + 1 >= top || p->bits < 2)
		return;
	while (range >> shift > p->buckets - 3)
		shift++;
	p->digit.base = low > (uint64_t)1 << shift ? low - ((uint64_t)1 << shift) : 0;
	p->digit.shift = shift;
	p->digit.clamps = 1;
}

/* The digit by which to tell n elements apart whose keys differ in the lowest `top' bits. */
static emi_digit leading(const emi_partition *p, uint64_t n, unsigned top)
{
	const unsigned most = p->job->by.codec->elem == EMI_ELEM_PAIR ? EMI_BUCKET_BITS : EMI_BARE_BUCKET_BITS;
	emi_digit d;

	memset(&d, 0, sizeof d);
	d.bits = bits_of(n / BUCKET_ELEMS);
	if (d.bits > most)
		d.bits = most;
	if (d.bits > top)
		d.bits = top;
	d.shift = top - d.bits;
	return d;
}

void emi_partition_expect(emi_partition *p, const emi_partition *of)
{
	if (of->bits == 0 || of->digit.clamps)
		return;
	p->room->last = leading(p, p->n, of->digit.shift);
	p->alike = 1;
}

/* What the surveys say together, and how to go about it. */
static void choose_method(emi_partition *p)
{
	uint64_t diff = 0;
	uint32_t part;
	unsigned top;
	int sorted = 1, reversed = 1;

	for (part = 0; part < p->parts; part++) {
		const struct emi_survey *v = &p->survey[part];

		diff |= v->diff | (v->first ^ p->survey[0].first);
		sorted &= v->sorted && (part == 0 || p->survey[part - 1].last <= v->first);
		reversed &= v->reversed && (part == 0 || p->survey[part - 1].last > v->first);
	}
	p->sorted = p->a;
	p->reversed = reversed && p->n > 1;
	/* Keys of which each is less than the one before have no ties. */
	p->must_sort = !p->reversed && (!sorted || p->ties);
	top = bits_of(diff);
	p->same = diff == 0;
	p->digit = leading(p, p->n, p->must_sort && !emi_partition_small(p) ? top : 0);
	p->bits = p->digit.bits;
	p->buckets = (size_t)1 << p->bits;
	if (p->bits != 0)
		narrow(p, top);
}

static inline void exchange(char *lo, char *hi, uint64_t n, const size_t eb)
{
	char t[sizeof(emi_pair)];

	for (; n > 0; n--, lo += eb, hi -= eb) {
		memcpy(t, lo, eb);
		memcpy(lo, hi, eb);
		memcpy(hi, t, eb);
	}
}

/* The same for elements of any size, as those are that have kernels of their own. */
static void exchange_large(char *lo, char *hi, uint64_t n, size_t eb)
{
	for (; n > 0; n--, lo += eb, hi -= eb) {
		size_t at, piece;

		for (at = 0; at < eb; at += piece) {
			piece = eb - at < sizeof(emi_pair) ? eb - at : sizeof(emi_pair);
			exchange(lo + at, hi + at, 1, piece);
		}
	}
}

/* Turn the elements around: each part exchanges some of the first half with those of the second that they change places
 * with. */
static void turn_part(void *arg, uint32_t part)
{
	emi_partition *p = arg;
	const size_t eb = p->job->by.codec->elem_bytes;
	const uint64_t each = p->n / 2 / p->parts, from = each * part,
		       n = part == p->parts - 1 ? p->n / 2 - from : each;
	char *lo = p->a + (size_t)from * eb, *hi = p->a + (size_t)(p->n - 1 - from) * eb;

	if (eb == sizeof(uint32_t))
		exchange(lo, hi, n, sizeof(uint32_t));
	else if (eb == sizeof(uint64_t))
		exchange(lo, hi, n, sizeof(uint64_t));
	else if (eb == sizeof(emi_pair))
		exchange(lo, hi, n, sizeof(emi_pair));
	else
		exchange_large(lo, hi, n, eb);
}

void emi_partition_turn(emi_partition *p)
{
	emi_parallel(p->job->ctx, p->parts, turn_part, p);
}

/* All keys are equal, and more of them is in the records: the next look is at that. */
static int go_deeper(emi_partition *p)
{
	const emi_tie *tie = &p->job->by.tie;

	if (!p->same || !p->must_sort || p->load == NULL || tie->deepen == NULL || emi_partition_small(p) ||
	    p->depth == EMI_DEEPEST || tie->deepen(tie->arg, NULL, 0, p->depth + 1) <= 0)
		return 0;
	if (p->depth == 0)
		p->common = p->survey[0].first;
	p->depth++;
	memset(p->survey, 0, p->parts * sizeof *p->survey);
	return 1;
}

/* Were the elements counted by this digit already? */
static int counted(const emi_partition *p)
{
	const emi_digit *last = &p->room->last;

	return p->counting && !p->digit.clamps && p->digit.bits == last->bits && p->digit.shift == last->shift;
}

static em_status run_steps(emi_partition *p)
{
	em_ctx *ctx = p->job->ctx;

	if (p->job->by.own != NULL)
		return emi_partition_own(p);
	/* One that clamps is chosen by a sample, and never the same twice. */
	p->counting = p->alike && !emi_partition_small(p) && p->room->last.bits != 0 && !p->room->last.clamps;
	do {
		emi_parallel(ctx, p->parts, survey_part, p);
		if (p->status != EM_OK)
			return p->status;
		choose_method(p);
	} while (go_deeper(p));
	if (p->reversed)
		emi_partition_turn(p);
	if (p->bits != 0) {
		if (!counted(p))
			emi_parallel(ctx, p->parts, count_part, p);
		p->room->last = p->digit;
		emi_partition_place(p);
		emi_parallel(ctx, p->parts, scatter_part, p);
		p->sorted = p->b;
	}
	return p->status;
}

em_status emi_partition_run(emi_partition *p, em_errinfo *err)
{
	em_status st;

	p->parts = emi_partition_small(p) ? 1 : p->job->plan.threads;
	p->survey = emi_alloc_array(p->job->ctx, p->parts, sizeof *p->survey, err);
	if (p->survey == NULL)
		return err->status;
	st = run_steps(p);
	emi_free_array(p->job->ctx, p->survey, p->parts, sizeof *p->survey);
	return st == EM_OK ? EM_OK : emi_fail(err, st, "canceled");
}

void emi_partition_bucket(const emi_partition *p, size_t i, uint64_t *lo, uint64_t *hi)
{
	*lo = p->bits != 0 ? p->room->bound[i] : 0;
	*hi = p->bits != 0 ? p->room->bound[i + 1] : p->n;
}
