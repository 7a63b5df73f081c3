/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_form_vary.c -- sorting a line store: its records come out sorted, as frames and as text, with any number of
 * threads, which all have something to do; and who gives up leaves nobody waiting.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sort/store_bench.h"

static void test_added(void **state)
{
	static const int formats[] = { 0, 1, 4, 9 };
	static const size_t counts[] = { 1, 2, 17, 900, 6000 };
	unsigned threads, round = 0;
	size_t i;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (threads = 1; threads <= 4; threads += 3) {
			for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++, round++) {
				uint64_t records = 0;
				em_errinfo err;
				lines sorted;
				bench b;

				if (test_left_out())
					continue;
				bench_open(&b, which, formats[round % 4], threads, NULL);
				lines_add_random(&b.in, &b.rng, bench_style(round), counts[i]);
				sorted = bench_sorted(&b, 0, b.in.n);
				bench_add_all(&b);
				assert_true(b.store.out == b.in.filled + b.in.n * b.job.out_extra);
				assert_int_equal(bench_send(&b, 1, &records, &err), EM_OK);
				assert_true(records == b.in.n);
				bench_assert_got(&b, &sorted);
				bench_add_all(&b);
				assert_int_equal(bench_send(&b, 0, &records, &err), EM_OK);
				assert_true(records == b.in.n);
				bench_assert_got(&b, &sorted);
				bench_add_all(&b);
				bench_take_elems(&b);
				bench_assert_got(&b, &sorted);
				lines_free(&sorted);
				bench_close(&b);
			}
		}
	}
}

static void test_unique(void **state)
{
	unsigned threads, round = 0;
	int which;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++) {
		for (threads = 1; threads <= 4; threads += 3, round++) {
			em_sort_opts opts = EM_SORT_OPTS_INIT;
			uint64_t records;
			em_errinfo err;
			lines sorted;
			bench b;

			if (test_left_out())
				continue;
			opts.flags = EM_SORT_UNIQUE;
			bench_open(&b, which, 0, threads, &opts);
			lines_add_random(&b.in, &b.rng, round % 2 ? LINES_ANY : LINES_FEW, 5000);
			sorted = bench_sorted(&b, 0, b.in.n);
			assert_true(sorted.n < b.in.n);
			bench_add_all(&b);
			assert_int_equal(bench_send(&b, 0, &records, &err), EM_OK);
			assert_true(records == sorted.n);
			bench_assert_got(&b, &sorted);
			lines_free(&sorted);
			bench_close(&b);
		}
	}
}

/* Nearly all begin alike, or are made of zeroes that only their ends tell apart: large buckets are parted again,
 * further on. */
static void test_alike(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 6; round += test_step()) {
		const int zeroes = round % 2 == 0 || round >= 4;
		unsigned char record[80];
		size_t i, k;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		bench_open(&b, (int)((round ^ round / 2) % 2), 5, round % 4 < 2 ? 1 : 4, NULL);
		/* Of these a large bucket is left when no more may be parted: it was given a depth whose keys it did
		 * not have. */
		if (round >= 4)
			b.rng = test_rng_make(1780932060889964437u);
		for (i = 0; i < 50000; i++) {
			size_t n = 8 * (size_t)test_below(&b.rng, 5) + (size_t)test_below(&b.rng, 12);

			memset(record, zeroes ? 0 : 'z', sizeof(record));
			if (!zeroes)
				for (k = n, n += 6; k < n; k++)
					record[k] = (unsigned char)test_below(&b.rng, 3);
			else if (test_below(&b.rng, 50) == 0)
				record[test_below(&b.rng, sizeof(record))] = 1;
			lines_add(&b.in, record, n);
		}
		sorted = bench_sorted(&b, 0, b.in.n);
		bench_add_all(&b);
		assert_int_equal(bench_send(&b, zeroes, &records, &err), EM_OK);
		bench_assert_got(&b, &sorted);
		bench_add_all(&b);
		bench_take_elems(&b);
		bench_assert_got(&b, &sorted);
		lines_free(&sorted);
		bench_close(&b);
	}
}

/* A few of many strings tell how much all have in common: here that is wrong, as some differ earlier or end. */
static void test_guessed(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 6; round += test_step()) {
		unsigned char record[60];
		size_t i, k;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		bench_open(&b, 0, 5, 1 + round % 3, NULL);
		for (i = 0; i < 50000; i++) {
			const uint64_t which = test_below(&b.rng, 10000);
			size_t n = sizeof(record);

			memset(record, 'a', n);
			for (k = 40; k < n; k++)
				record[k] = (unsigned char)test_below(&b.rng, 256);
			if (which < 3)
				record[12 + test_below(&b.rng, 20)] = (unsigned char)test_below(&b.rng, 256);
			else if (which < 6 && round >= 3)
				n = 9 + (size_t)test_below(&b.rng, 30);
			else if (which < 300)
				record[0] = (unsigned char)test_below(&b.rng, 256);
			lines_add(&b.in, record, n);
		}
		sorted = bench_sorted(&b, 0, b.in.n);
		bench_add_all(&b);
		assert_int_equal(bench_send(&b, 1, &records, &err), EM_OK);
		bench_assert_got(&b, &sorted);
		lines_free(&sorted);
		bench_close(&b);
	}
}

/*
 * Nearly all keys begin with nine zero bits, the others with any, and so on.  Each partition leaves one bucket that is
 * partitioned again, and hundreds that wait.  They are more than a store has buckets, unless those that wait are
 * counted.
 */
static void test_many_wait(void **state)
{
	enum { RECORDS = 2600000, DIGIT = 9, MEMORY = 512 << 20, STORE = 192 << 20 };
	uint64_t last = 0, i;
	const emi_pair *e;
	em_errinfo err;
	bench b;

	(void)state;
	if (test_first_of(test_fewer()) != 0)
		return;
	bench_open_in(&b, 0, 5, 1, NULL, MEMORY);
	bench_resize(&b, STORE);
	for (i = 0; i < RECORDS; i++) {
		uint64_t key = 0;
		unsigned char record[8];
		size_t need;
		int k;

		for (k = 64 - DIGIT; k >= 0 && test_below(&b.rng, 16) != 0; k -= DIGIT)
			;
		if (k >= 0)
			key = (1 + test_below(&b.rng, (1 << DIGIT) - 1)) << k | test_below(&b.rng, (uint64_t)1 << k);
		for (k = 0; k < 8; k++)
			record[k] = (unsigned char)(key >> (56 - 8 * k));
		assert_true(emi_line_store_add(&b.store, record, sizeof(record), &need));
	}
	memset(&err, 0, sizeof(err));
	assert_int_equal(emi_line_store_sort(&b.store, &e, &err), EM_OK);
	for (i = 0; i < RECORDS; i++) {
		const emi_frame f = emi_frame_of(emi_order_vary(b.order), &e[i]);
		const unsigned char *r = emi_frame_record(&f);
		uint64_t key = 0;
		int k;

		for (k = 0; k < 8; k++)
			key = key << 8 | r[k];
		assert_true(key >= last);
		last = key;
	}
	bench_close(&b);
}

/* Kernels that count how often they are called. */
static struct counted {
	const emi_kernels *real;
	unsigned calls;
} counted;

static uint64_t counted_survey(const void *a, size_t n, int *order)
{
	__atomic_fetch_add(&counted.calls, 1, __ATOMIC_RELAXED);
	return counted.real->survey(a, n, order);
}

static void counted_sort(void *a, void *tmp, size_t n, const emi_tie *tie, void *work)
{
	__atomic_fetch_add(&counted.calls, 1, __ATOMIC_RELAXED);
	counted.real->sort(a, tmp, n, tie, work);
}

/* n random records in order; turned: in reverse, which must be strict to be turned around; moved: but for two
 * neighbours. */
static lines make_ordered(bench *b, int style, size_t n, int strict, int turned, int moved)
{
	lines sorted = { 0 }, made = { 0 };
	size_t i, at;

	lines_add_random(&sorted, &b->rng, style, n);
	lines_sort(b->order, &sorted, 0, strict);
	at = moved && sorted.n > 1 ? (size_t)test_below(&b->rng, sorted.n - 1) : n;
	for (i = 0; i < sorted.n; i++) {
		const size_t j = turned ? sorted.n - 1 - i : i, k = j == at || j == at + 1 ? 2 * at + 1 - j : j;

		lines_append(&made, &sorted, k, k + 1);
	}
	lines_free(&sorted);
	return made;
}

static void check_ordered(int which, unsigned threads, size_t n, int how)
{
	const int strict = how & 1, turned = how & 2, moved = how & 4, text = (int)threads % 2;
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	emi_kernels kern;
	uint64_t records;
	em_errinfo err;
	lines sorted;
	bench b;

	opts.flags = how & 8 ? EM_SORT_UNIQUE : 0;
	bench_open(&b, which, 0, threads, &opts);
	b.in = make_ordered(&b, LINES_ANY, n, strict, turned, moved);
	sorted = bench_sorted(&b, 0, b.in.n);
	bench_add_all(&b);
	counted.real = b.job.by.kern;
	counted.calls = 0;
	kern = *b.job.by.kern;
	kern.survey = counted_survey;
	kern.sort = counted_sort;
	b.job.by.kern = &kern;
	assert_int_equal(bench_send(&b, text, &records, &err), EM_OK);
	bench_assert_got(&b, &sorted);
	if (!moved && (!turned || strict))
		assert_int_equal(counted.calls, 0);
	if (moved && strict && b.in.n > 2)
		assert_int_not_equal(counted.calls, 0);
	bench_add_all(&b);
	bench_take_elems(&b);
	if (opts.flags == 0)
		bench_assert_got(&b, &sorted);
	b.job.by.kern = counted.real;
	lines_free(&sorted);
	bench_close(&b);
}

/* What is in order, or strictly in reverse, is not sorted; two records that are not, or two that are equal, make it
 * sorted. */
static void test_in_order(void **state)
{
	static const size_t counts[] = { 2, 3, 700, 6000 };
	int which, how;
	size_t i;

	(void)state;
	for (which = 0; which < LINES_ORDERS; which++)
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			for (how = 0; how < 16; how++)
				if (!test_left_out())
					check_ordered(which, 1 + (unsigned)(how + which) % 4, counts[i], how);
}

/*
 * Kernels that see who calls them.  The first call of each thread waits for those of all others: so when all have work
 * at the same time, all are seen, however they are scheduled; and when they have not, the wait is given up and the test
 * fails.
 */
typedef struct crew {
	pthread_mutex_t lock;
	pthread_cond_t met;
	pthread_t member[8];
	unsigned members, wanted;
	size_t largest;         /* elements of a call */
} crew;

static struct watched {
	const emi_kernels *real;
	crew counting, scattering, sorting;
} watched;

static void meet(crew *c, size_t n)
{
	struct timespec until;
	unsigned i = 0;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	pthread_mutex_lock(&c->lock);
	if (n > c->largest)
		c->largest = n;
	while (i < c->members && !pthread_equal(c->member[i], pthread_self()))
		i++;
	if (i == c->members && i < c->wanted) {
		c->member[c->members++] = pthread_self();
		pthread_cond_broadcast(&c->met);
		while (c->members < c->wanted && rc == 0)
			rc = pthread_cond_timedwait(&c->met, &c->lock, &until);
	}
	pthread_mutex_unlock(&c->lock);
}

static uint64_t watched_histogram(const void *a, size_t n, const emi_digit *digit, size_t *count)
{
	meet(&watched.counting, n);
	return watched.real->histogram(a, n, digit, count);
}

static void watched_scatter(const void *a, size_t n, const emi_digit *digit, void *dst, size_t *pos, void *work)
{
	meet(&watched.scattering, n);
	watched.real->scatter(a, n, digit, dst, pos, work);
}

static void watched_sort(void *a, void *tmp, size_t n, const emi_tie *tie, void *work)
{
	meet(&watched.sorting, n);
	watched.real->sort(a, tmp, n, tie, work);
}

static void crew_begin(crew *c, unsigned wanted)
{
	memset(c, 0, sizeof(*c));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->met, NULL);
	c->wanted = wanted;
}

/* All were there, and no piece of work was larger than what is everybody's part of n. */
static void crew_end(crew *c, size_t n)
{
	assert_int_equal(c->members, c->wanted);
	assert_true(c->largest > 0 && c->largest <= n / c->wanted + 1);
	pthread_cond_destroy(&c->met);
	pthread_mutex_destroy(&c->lock);
}

/* Most URLs are of one place: their first bytes put nearly all of them into one bucket. */
static void add_urls(bench *b, size_t n)
{
	char record[80];
	size_t i;

	for (i = 0; i < n; i++) {
		const unsigned page = (unsigned)test_below(&b->rng, 1000000);

		if (test_below(&b->rng, 16) != 0)
			snprintf(record, sizeof(record), "https://www.example.org/wiki/%u/%u", page % 300, page);
		else
			snprintf(record, sizeof(record), "http%s://%c%u.example.net/", page % 3 == 0 ? "" : "s",
				 (int)('a' + page % 26), page);
		lines_add(&b->in, record, strlen(record));
	}
}

/* All threads have work in every step, also with records of which nearly all begin alike. */
static void test_all_threads_work(void **state)
{
	unsigned threads;

	(void)state;
	for (threads = 2; threads <= 4; threads += 2) {
		emi_kernels kern;
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;

		bench_open(&b, 0, 0, threads, NULL);
		assert_int_equal(b.job.plan.threads, threads);
		bench_resize(&b, (size_t)24 << 20);
		add_urls(&b, 160000);
		sorted = bench_sorted(&b, 0, b.in.n);
		bench_add_all(&b);
		watched.real = b.job.by.kern;
		crew_begin(&watched.counting, threads);
		crew_begin(&watched.scattering, threads);
		crew_begin(&watched.sorting, threads);
		kern = *b.job.by.kern;
		kern.histogram = watched_histogram;
		kern.scatter = watched_scatter;
		kern.sort = watched_sort;
		b.job.by.kern = &kern;
		assert_int_equal(bench_send(&b, 1, &records, &err), EM_OK);
		b.job.by.kern = watched.real;
		assert_true(records == b.in.n);
		bench_assert_got(&b, &sorted);
		crew_end(&watched.counting, b.in.n);
		crew_end(&watched.scattering, b.in.n);
		crew_end(&watched.sorting, b.in.n);
		/* What is sorted and made into blocks at a time is a small part of all. */
		assert_true(b.q.next_share >= 4 * threads);
		lines_free(&sorted);
		bench_close(&b);
	}
}

/* Records longer than a block, among short ones; and what all have in common, the longest thing about them. */
static void test_long_records(void **state)
{
	static const size_t sizes[] = { 16000, 16383, 16384, 16385, 20000, 70000, 300000 };
	unsigned char *record = malloc(400000);
	unsigned threads;
	size_t i;

	(void)state;
	assert_non_null(record);
	for (threads = 1; threads <= 4; threads++) {
		uint64_t records;
		em_errinfo err;
		lines sorted;
		bench b;
		int text;

		bench_open(&b, (int)threads % 3, 0, threads, NULL);
		memset(record, 'x', 400000);
		for (i = 0; i < 300; i++) {
			const size_t n = i % 20 == 7 ? sizes[i / 20 % 7] : 40 + (size_t)test_below(&b.rng, 100);

			record[20 + test_below(&b.rng, 20)] = (unsigned char)"abx"[test_below(&b.rng, 3)];
			lines_add(&b.in, record, n);
		}
		sorted = bench_sorted(&b, 0, b.in.n);
		for (text = 0; text < 2; text++) {
			bench_add_all(&b);
			assert_true(b.store.common >= 20 || emi_order_vary(b.order)->keyed);
			assert_int_equal(bench_send(&b, text, &records, &err), EM_OK);
			bench_assert_got(&b, &sorted);
		}
		lines_free(&sorted);
		bench_close(&b);
	}
	free(record);
}

/* The destination refuses a block, or somebody cancels meanwhile: whoever waits for another share is woken. */
static void test_giving_up(void **state)
{
	unsigned threads;
	uint64_t at;
	int fail, more;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		bench b;

		bench_open(&b, 0, 0, threads, NULL);
		lines_add_random(&b.in, &b.rng, LINES_ANY, 40000);
		for (at = test_nth_after(0, 1), more = 1; more; at = test_nth_after(at, 1)) {
			more = at < 8;
			for (fail = 0; fail < 2; fail++) {
				uint64_t records;
				em_errinfo err;
				bench *p = &b;

				bench_add_all(p);
				p->fail_at = fail ? at : 0;
				p->cancel_at = fail ? 0 : at;
				assert_int_equal(bench_send(p, 1, &records, &err),
						 at == TEST_NEVER ? EM_OK : fail ? EM_ERR_NOSPACE : EM_ERR_CANCELED);
				assert_true(p->blocks >= at || at == TEST_NEVER);
				if (fail && at != TEST_NEVER)
					assert_string_equal(err.text, "as ordered");
				__atomic_store_n(&p->job.watch.canceled, 0, __ATOMIC_RELAXED);
				emi_outseq_free(&p->q);
				memset(&err, 0, sizeof(err));
				assert_int_equal(emi_outseq_init(&p->q, &p->job.runs, 3, p->job.plan.packers,
								 p->job.plan.block_bytes, &err),
						 EM_OK);
			}
		}
		bench_close(&b);
	}
}

/* Is asked each time the owner looks up; once a share has gone, it takes its time and cancels. */
static int cancel_slowly(void *user, uint32_t phase, uint64_t done, uint64_t total)
{
	const struct timespec nap = { 0, 20000000 };
	bench *b = user;
	uint64_t shares;

	(void)phase;
	(void)done;
	(void)total;
	b->job.watch.last = 0;
	pthread_mutex_lock(&b->q.lock);
	shares = b->q.next_share;
	pthread_mutex_unlock(&b->q.lock);
	if (shares < 2)
		return 0;
	nanosleep(&nap, NULL);
	return 1;
}

/* The owner has a share that it will not fill, while others wait for their turn behind it. */
static void test_canceled_by_progress(void **state)
{
	unsigned threads, round;

	(void)state;
	for (threads = 2; threads <= 4; threads++) {
		bench b;

		bench_open(&b, 0, 0, threads, NULL);
		lines_add_random(&b.in, &b.rng, LINES_ANY, 40000);
		for (round = 0; round < 4; round++) {
			uint64_t records;
			em_errinfo err;

			bench_add_all(&b);
			b.job.watch.fn = cancel_slowly;
			b.job.watch.user = &b;
			b.job.watch.last = 0;
			assert_int_equal(bench_send(&b, 1, &records, &err), EM_ERR_CANCELED);
			b.job.watch.fn = NULL;
			b.job.watch.canceled = 0;
			emi_outseq_free(&b.q);
			memset(&err, 0, sizeof(err));
			assert_int_equal(
				emi_outseq_init(&b.q, &b.job.runs, 3, b.job.plan.packers, b.job.plan.block_bytes, &err),
				EM_OK);
		}
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_unique),
		cmocka_unit_test(test_alike),
		cmocka_unit_test(test_guessed),
		cmocka_unit_test(test_many_wait),
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_all_threads_work),
		cmocka_unit_test(test_long_records),
		cmocka_unit_test(test_giving_up),
		cmocka_unit_test(test_canceled_by_progress),
	};

	return cmocka_run_group_tests_name("form_vary", tests, NULL, NULL);
}
