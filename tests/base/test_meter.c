/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_meter.c -- meters of two disks and of the context above them, against counting every nanosecond.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/meter.h"
#include "common/test.h"

enum { DISKS = 2, MOST = 5, STEPS = 20000, THREADS = 4, ROUNDS = 20000 };

typedef struct model {
	uint64_t requests[2], bytes[2], serial[2], busy[3];
	uint32_t queue, most;
} model;

static void assert_near(double a, uint64_t ns)
{
	assert_true(fabs(a - (double)ns * 1e-9) < 1e-12 * (double)STEPS * 100);
}

static void check(const emi_meter *m, const model *is, uint64_t now)
{
	em_io_stats s;

	emi_meter_read(m, now, &s);
	assert_int_equal(s.size, sizeof s);
	assert_int_equal(s.queue, is->queue);
	assert_int_equal(s.queue_most, is->most);
	assert_int_equal(s.reads, is->requests[0]);
	assert_int_equal(s.writes, is->requests[1]);
	assert_int_equal(s.bytes_read, is->bytes[0]);
	assert_int_equal(s.bytes_written, is->bytes[1]);
	assert_near(s.read_seconds, is->serial[0]);
	assert_near(s.write_seconds, is->serial[1]);
	assert_near(s.read_busy, is->busy[0]);
	assert_near(s.write_busy, is->busy[1]);
	assert_near(s.busy, is->busy[2]);
}

typedef struct going {
	int disk, write;
	uint64_t begun;
} going;

/* Time passes: who is busy with what? */
static void pass(model *is, const going *list, unsigned n, uint64_t ns)
{
	int busy[DISKS + 1][3] = {{0}};
	unsigned i, k;

	for (i = 0; i < n; i++) {
		busy[list[i].disk][list[i].write] = busy[list[i].disk][2] = 1;
		busy[DISKS][list[i].write] = busy[DISKS][2] = 1;
	}
	for (i = 0; i <= DISKS; i++)
		for (k = 0; k < 3; k++)
			is[i].busy[k] += busy[i][k] ? ns : 0;
}

static void submitted(model *is)
{
	if (++is->queue > is->most)
		is->most = is->queue;
}

static void done(model *is, int write, uint64_t bytes, uint64_t ns)
{
	is->requests[write]++;
	is->bytes[write] += bytes;
	is->serial[write] += ns;
	is->queue--;
}

static void test_against_model(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	emi_meter m[DISKS + 1], file;
	const emi_meters of[DISKS] = { { &file, &m[0], &m[DISKS], &lock }, { &file, &m[1], &m[DISKS], &lock } };
	model is[DISKS + 1];
	going list[MOST];
	uint64_t now = 1000;
	unsigned n = 0, step, i;

	(void)state;
	memset(m, 0, sizeof m);
	memset(&file, 0, sizeof file);
	memset(is, 0, sizeof is);
	m[DISKS].shared = 1;
	for (step = 0; step < STEPS; step++) {
		const uint64_t ns = test_below(&rng, 100);

		pass(is, list, n, ns);
		now += ns;
		if (n < MOST && test_below(&rng, 2)) {
			const int disk = (int)test_below(&rng, DISKS), write = (int)test_below(&rng, 2);

			emi_meter_submit(&m[disk]);
			emi_meter_submit(&m[DISKS]);
			submitted(&is[disk]);
			submitted(&is[DISKS]);
			/* One in eight is taken back before it is begun. */
			if (test_below(&rng, 8) == 0) {
				emi_meter_leave(&m[disk]);
				emi_meter_leave(&m[DISKS]);
				is[disk].queue--;
				is[DISKS].queue--;
				continue;
			}
			emi_meters_begin(&of[disk], write, now);
			list[n].disk = disk;
			list[n].write = write;
			list[n++].begun = now;
		} else if (n > 0) {
			const unsigned k = (unsigned)test_below(&rng, n);
			const going g = list[k];

			emi_meters_end(&of[g.disk], g.write, now);
			emi_meter_done(&m[g.disk], g.write, 10 + k, now - g.begun);
			emi_meter_done(&m[DISKS], g.write, 10 + k, now - g.begun);
			done(&is[g.disk], g.write, 10 + k, now - g.begun);
			done(&is[DISKS], g.write, 10 + k, now - g.begun);
			list[k] = list[--n];
		}
		for (i = 0; i <= DISKS; i++)
			check(&m[i], &is[i], now);
	}
}

static double busy_of(const emi_meter *m, uint64_t now)
{
	em_io_stats s;

	emi_meter_read(m, now, &s);
	assert_true(s.read_busy <= s.busy + 1e-12 && s.write_busy <= s.busy + 1e-12);
	assert_true(s.busy <= s.read_busy + s.write_busy + 1e-12);
	return s.busy;
}

static void assert_between(double all, double a, double b, double passed)
{
	assert_true(all >= (a > b ? a : b) - 1e-12);
	assert_true(all <= a + b + 1e-12 && all <= passed + 1e-12);
}

/* Threads tell what they saw on the clock later than others that looked after them: sums are still those of the parts.
 * Each disk has two files. */
static void test_late(void **state)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	test_rng rng = test_rng_make(test_seed());
	emi_meter file[2 * DISKS], disk[DISKS], all;
	unsigned going_on[2 * DISKS][2] = {{0}}, step, i;
	const uint64_t begin = 1000;
	uint64_t now = begin;

	(void)state;
	memset(file, 0, sizeof file);
	memset(disk, 0, sizeof disk);
	memset(&all, 0, sizeof all);
	for (step = 0; step < STEPS; step++) {
		const unsigned f = (unsigned)test_below(&rng, 2 * DISKS), write = (unsigned)test_below(&rng, 2);
		const emi_meters m = { &file[f], &disk[f % DISKS], &all, &lock };
		const uint64_t late = test_below(&rng, 4) ? 0 : test_below(&rng, 300);
		const uint64_t seen = now - begin > late ? now - late : begin;

		if (test_below(&rng, 3) == 0) {
			emi_meters_begin(&m, (int)write, seen);
			going_on[f][write]++;
		} else if (going_on[f][write] != 0) {
			emi_meters_end(&m, (int)write, seen);
			going_on[f][write]--;
		}
		for (i = 0; i < DISKS; i++)
			assert_between(busy_of(&disk[i], now), busy_of(&file[i], now), busy_of(&file[i + DISKS], now),
				       (double)(now - begin) * 1e-9);
		assert_between(busy_of(&all, now), busy_of(&disk[0], now), busy_of(&disk[1], now),
			       (double)(now - begin) * 1e-9);
		now += test_below(&rng, 100);
	}
}

static void *use(void *arg)
{
	emi_meter *m = arg;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		emi_meter_submit(m);
		emi_meter_wait(m, (int)(i % 2), 3);
		emi_meter_done(m, (int)(i % 2), 7, 5);
	}
	return NULL;
}

/* A shared one loses nothing. */
static void test_shared(void **state)
{
	pthread_t thread[THREADS];
	emi_meter m;
	em_io_stats s;
	unsigned i;

	(void)state;
	memset(&m, 0, sizeof m);
	m.shared = 1;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, use, &m), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	emi_meter_read(&m, 1, &s);
	assert_int_equal(s.queue, 0);
	assert_in_range(s.queue_most, 1, THREADS);
	assert_int_equal(s.reads, THREADS * ROUNDS / 2);
	assert_int_equal(s.writes, THREADS * ROUNDS / 2);
	assert_int_equal(s.bytes_read, THREADS * ROUNDS / 2 * 7);
	assert_int_equal(m.serial_ns[1], THREADS * ROUNDS / 2 * 5);
	assert_int_equal(m.wait_ns[0], THREADS * ROUNDS / 2 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests_name("base/meter", tests, NULL, NULL);
}
