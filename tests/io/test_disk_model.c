/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_disk_model.c -- the times of a simulated disk against cases computed by hand, and its text options.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/test.h"
#include "io/disk_model.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static em_simdisk model_named(const char *name)
{
	em_simdisk p;

	assert_int_equal(em_simdisk_init(&p, sizeof p, name, NULL), EM_OK);
	return p;
}

static emi_disk_model make(const em_simdisk *p)
{
	emi_disk_model m;
	em_errinfo err;

	memset(&err, 0, sizeof err);
	if (emi_disk_model_make(&m, p, &err) != EM_OK)
		fail_msg("%s", err.text);
	return m;
}

static uint64_t busy(const emi_disk_service *r)
{
	return r->seek_ns + r->turn_ns + r->transfer_ns;
}

/*
 * A disk that can be computed by heart: 6000 rpm are 10 ms for each turn, four zones of 4, 3, 2 and 1 MB/s; of 100 MB
 * they hold 40, 30, 20 and 10, which take 10 s each.  So a track is 40000, 30000, 20000, 10000 bytes.  Seeks are 1 ms
 * for a track and 9 ms at most; the mean 1 + 8 * 8/15 is that of a pure root.
 */
static em_simdisk easy_disk(void)
{
	em_simdisk p = model_named("plain");

	p.rpm = 6000;
	p.zones = 4;
	p.capacity = 100000000;
	p.rate_outer = 4000000;
	p.rate_inner = 1000000;
	p.buffer = 0;
	p.seek_track_ns = 1 * MS;
	p.seek_average_ns = 1 * MS + 8 * MS * 8 / 15;
	p.seek_full_ns = 9 * MS;
	return p;
}

static void test_zones(void **state)
{
	static const uint64_t start[] = {0, 40000000, 70000000, 90000000};
	em_simdisk p = easy_disk();
	emi_disk_model m = make(&p);
	uint32_t i;

	(void)state;
	assert_int_equal(m.zones, 4);
	assert_int_equal(m.turn_ns, 10 * MS);
	for (i = 0; i < 4; i++) {
		assert_int_equal(m.zone[i].offset, start[i]);
		assert_int_equal(m.zone[i].ns, i * 10 * SECOND);
		assert_int_equal(m.zone[i].rate, (4 - i) * 1000000);
	}
	assert_int_equal(m.total_ns, 40 * SECOND);
	assert_int_equal(emi_disk_stream_ns(&m, 40000), 10 * MS);
	assert_int_equal(emi_disk_stream_ns(&m, 40000000 - 4), 10 * SECOND - 1000);
	assert_int_equal(emi_disk_stream_ns(&m, 95000000), 35 * SECOND);
	assert_int_equal(emi_disk_stream_ns(&m, 100000000), 40 * SECOND);
}

static void test_seek_curve(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m = make(&p);
	uint64_t last = 0, ns;
	unsigned i;

	(void)state;
	assert_int_equal(emi_disk_seek_ns(&m, 1234567, 1234567), 0);
	/* On one track there is nothing to move; to the next, and back, hardly more than a track's. */
	assert_int_equal(emi_disk_seek_ns(&m, 40000, 79999), 0);
	assert_in_range(emi_disk_seek_ns(&m, 79999, 80000), 1 * MS, 1 * MS + 1000);
	assert_in_range(emi_disk_seek_ns(&m, 0, 40000), 1 * MS, 1 * MS + 8 * MS / 63 + 1000);
	/* A sixteenth, a quarter, and all of the way: 1 + 8 * 1/4, 1 + 8 * 1/2, 1 + 8. */
	assert_in_range(emi_disk_seek_ns(&m, 0, 10000000), 3 * MS - 10, 3 * MS);
	assert_in_range(emi_disk_seek_ns(&m, 0, 40000000), 5 * MS - 10, 5 * MS);
	assert_in_range(emi_disk_seek_ns(&m, 40000000, 0), 5 * MS - 10, 5 * MS);
	assert_in_range(emi_disk_seek_ns(&m, 0, 100000000), 9 * MS - 10, 9 * MS);
	for (i = 1; i <= 1000; i++) {
		ns = emi_disk_seek_ns(&m, 0, i * UINT64_C(100000));
		assert_true(ns >= last && ns <= p.seek_full_ns);
		last = ns;
	}
}

/* A stream runs at the rate of its zone, without a gap, whatever the pieces: also when they come late, if the buffer is
 * large enough. */
static void test_stream(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m;
	emi_disk_state s;
	emi_disk_service r;
	uint64_t now = SECOND + 12345, first = 0, sum = 0, last = 0, at;
	test_rng rng = test_rng_make(test_seed());

	(void)state;
	p.buffer = 4000000;
	m = make(&p);
	memset(&s, 0, sizeof s);
	for (at = 0; at < p.capacity;) {
		uint64_t bytes = 1 + test_below(&rng, 1000000);

		if (bytes > p.capacity - at)
			bytes = p.capacity - at;
		r = emi_disk_serve(&m, &s, now, at, bytes, 0);
		assert_int_equal(r.seek_ns, 0);
		assert_int_equal(r.positioned, at == 0);
		if (at == 0)
			first = r.done_ns - r.transfer_ns;
		else
			assert_int_equal(r.turn_ns, 0);
		sum += r.transfer_ns;
		assert_int_equal(s.free_ns, first + sum);
		/* What was read ahead is there when it is asked for, but in its turn. */
		if (now < last)
			now = last;
		assert_int_equal(r.done_ns, now > first + sum ? now : first + sum);
		at += bytes;
		/* Come early, or late by up to half a second, of which the buffer can make good one. */
		last = r.done_ns;
		now = first + sum + test_below(&rng, SECOND) - SECOND / 2;
	}
	assert_int_equal(sum, 40 * SECOND);
	/* The disk had to turn to where the beginning is, once. */
	assert_int_equal(first, SECOND + 10 * MS);
}

/* The outer and the inner zone. */
static void test_stream_rates(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m = make(&p);
	emi_disk_state s;
	emi_disk_service r;

	(void)state;
	memset(&s, 0, sizeof s);
	r = emi_disk_serve(&m, &s, 0, 0, 1000000, 1);
	assert_int_equal(r.done_ns, 250 * MS);
	r = emi_disk_serve(&m, &s, 0, 1000000, 1000000, 1);
	assert_int_equal(r.done_ns, 500 * MS);
	r = emi_disk_serve(&m, &s, 10 * SECOND, 98000000, 1000000, 1);
	assert_int_equal(r.transfer_ns, SECOND);
	r = emi_disk_serve(&m, &s, 0, 99000000, 1000000, 1);
	assert_int_equal(busy(&r), SECOND);
	/* Across a border: 4 MB/s and 3 MB/s. */
	r = emi_disk_serve(&m, &s, 0, 39000000, 4000000, 1);
	assert_int_equal(r.transfer_ns, 1250 * MS);
	/* 5 MB/s would not hinder it, 2 MB/s does. */
	p.rate_interface = 5000000;
	m = make(&p);
	memset(&s, 0, sizeof s);
	r = emi_disk_serve(&m, &s, 0, 0, 1000000, 0);
	assert_int_equal(r.done_ns, 250 * MS);
	p.rate_interface = 2000000;
	m = make(&p);
	memset(&s, 0, sizeof s);
	r = emi_disk_serve(&m, &s, 0, 0, 1000000, 0);
	assert_int_equal(r.done_ns, 500 * MS);
	assert_int_equal(r.transfer_ns, 500 * MS);
}

/* Seek, then wait for the disk to turn, by absolute time. */
static void test_position(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m;
	emi_disk_state s;
	emi_disk_service r;

	(void)state;
	p.write_ns = 2 * MS;
	m = make(&p);
	memset(&s, 0, sizeof s);
	/* At 3 ms the head is at 0.3 of track 0; 20000 is at half of it, 4000 bytes take a tenth of a turn. */
	r = emi_disk_serve(&m, &s, 3 * MS, 20000, 4000, 0);
	assert_int_equal(r.seek_ns, 0);
	assert_int_equal(r.turn_ns, 2 * MS);
	assert_int_equal(r.done_ns, 6 * MS);
	/* Back, on the same track: all but a tenth of a turn. */
	r = emi_disk_serve(&m, &s, 0, 20000, 4000, 1);
	assert_int_equal(r.seek_ns, 0);
	assert_int_equal(r.turn_ns, 9 * MS);
	assert_int_equal(r.done_ns, 16 * MS);
	assert_int_equal(s.free_ns, 16 * MS);
	/* To the beginning of zone 1 from nearly as far outside as can be: 5 ms and a bit less, then on to a whole
	 * turn. */
	r = emi_disk_serve(&m, &s, 0, 40000000, 30000, 0);
	assert_in_range(r.seek_ns, 5 * MS - 10000, 5 * MS);
	assert_int_equal(r.seek_ns + r.turn_ns, 14 * MS);
	assert_int_equal(r.done_ns, 40 * MS);
	/* The same way back for writing takes 2 ms longer. */
	r = emi_disk_serve(&m, &s, 100 * MS, 0, 40000, 1);
	assert_in_range(r.seek_ns, 7 * MS, 7 * MS + 10000);
	assert_int_equal(r.seek_ns + r.turn_ns, 10 * MS);
	assert_int_equal(r.done_ns, 120 * MS);
}

/* What comes late without a buffer begins when it comes; with one, as much earlier as that holds, but not before the
 * disk was free, and only for the same kind; and it comes through the interface. */
static void test_late(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m = make(&p);
	emi_disk_state s;
	emi_disk_service r;

	(void)state;
	memset(&s, 0, sizeof s);
	emi_disk_serve(&m, &s, 0, 0, 40000, 0);
	r = emi_disk_serve(&m, &s, 13 * MS, 40000, 40000, 0);
	assert_int_equal(r.turn_ns, 0);
	assert_int_equal(r.done_ns, 23 * MS);
	p.buffer = 20000;
	p.rate_interface = 40000000;
	m = make(&p);
	/* Half a track, 5 ms, fits into the buffer: 3 ms late is made good, 8 ms but for 3, and the disk is never ahead
	 * of itself. */
	r = emi_disk_serve(&m, &s, 26 * MS, 80000, 40000, 0);
	assert_int_equal(r.done_ns, 33 * MS);
	r = emi_disk_serve(&m, &s, 41 * MS, 120000, 40000, 0);
	assert_int_equal(r.done_ns, 46 * MS);
	r = emi_disk_serve(&m, &s, 41 * MS, 160000, 40000, 0);
	assert_int_equal(r.done_ns, 56 * MS);
	/* 4000 bytes are there already, and take 0.1 ms to be fetched. */
	r = emi_disk_serve(&m, &s, 60 * MS, 200000, 4000, 0);
	assert_int_equal(r.done_ns, 60 * MS + MS / 10);
	/* What was read ahead is of no use for writing. */
	r = emi_disk_serve(&m, &s, 63 * MS, 204000, 40000, 1);
	assert_int_equal(r.done_ns, 73 * MS);
	/* A late request that is elsewhere begins when it comes: here on the track before, whose beginning passes at 90
	 * ms. */
	r = emi_disk_serve(&m, &s, 80 * MS, 200000, 4000, 1);
	assert_in_range(r.seek_ns, 1 * MS, 2 * MS);
	assert_int_equal(r.seek_ns + r.turn_ns, 10 * MS);
	assert_int_equal(r.done_ns, 91 * MS);
}

static void test_plain(void **state)
{
	em_simdisk p = model_named(NULL);
	emi_disk_model m = make(&p);
	emi_disk_state s;
	emi_disk_service r;

	(void)state;
	assert_int_equal(m.capacity, INT64_MAX);
	memset(&s, 0, sizeof s);
	r = emi_disk_serve(&m, &s, 7, 0, 50000, 1);
	assert_int_equal(r.done_ns, 7 + MS);
	r = emi_disk_serve(&m, &s, 7, 50000, 50000, 0);
	assert_int_equal(r.done_ns, 7 + 2 * MS);
	r = emi_disk_serve(&m, &s, 7, 50000, 50000, 0);
	assert_int_equal(r.done_ns, 7 + 11 * MS);
	/* Far out, where sums of nanoseconds have wrapped around. */
	r = emi_disk_serve(&m, &s, 7, INT64_MAX - 100000, 50000, 0);
	assert_int_equal(r.done_ns, 7 + 20 * MS);
	r = emi_disk_serve(&m, &s, 7, INT64_MAX - 50000, 50000, 0);
	assert_int_equal(r.done_ns, 7 + 21 * MS);
}

/* The figures of the disks. */
static void test_presets(void **state)
{
	static const struct {
		const char *name;
		uint64_t outer, inner, turn, track, full;
	} disk[] = {
		{"120gxp", 48000000, 24000000, 8333333, 1100000, 15000000},
		{"elite9", 7234560, 5022720, 11111111, 900000, 23000000},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		em_simdisk p = model_named(disk[i].name);
		emi_disk_model m = make(&p);

		assert_int_equal(m.zone[0].rate, disk[i].outer);
		assert_int_equal(m.zone[m.zones - 1].rate, disk[i].inner);
		assert_int_equal(m.turn_ns, disk[i].turn);
		assert_in_range(emi_disk_seek_ns(&m, 0, 1 << 20), disk[i].track, 2 * disk[i].track);
		assert_in_range(emi_disk_seek_ns(&m, 0, p.capacity), disk[i].full - 100, disk[i].full);
		/* 1 s from the edges, at their rates. */
		assert_in_range(emi_disk_stream_ns(&m, disk[i].outer), SECOND - 1, SECOND);
		assert_in_range(m.total_ns - emi_disk_stream_ns(&m, p.capacity - disk[i].inner), SECOND - 1,
				SECOND + 1);
	}
	/* The Elite-9 has 132975 tracks; nobody told the model. */
	{
		em_simdisk p = model_named("elite9");
		emi_disk_model m = make(&p);

		assert_in_range(m.total_ns / m.turn_ns, 132975 - 1330, 132975 + 1330);
	}
}

/*
 * Reads of 64 KiB from random tracks: on the average the seek is seek_average, the turning half a revolution.  Of 20000
 * samples, whose standard deviations are less than 3.5 ms and 3.3 ms (elite9: 5.4 and 3.3), the mean is off by less
 * than 6 sigma / sqrt(20000): 0.23 ms and 0.14 ms.  That a correct model fails is less likely than 1 in 10^8.
 */
static void random_reads(const char *name, test_rng *rng)
{
	enum { N = 20000 };
	em_simdisk p = model_named(name);
	emi_disk_model m = make(&p);
	emi_disk_state s;
	uint64_t seek = 0, turn = 0, transfer = 0, expect = 0, now = 0, last = 0;
	unsigned i;

	memset(&s, 0, sizeof s);
	for (i = 0; i < N; i++) {
		emi_disk_service r;
		uint32_t z = (uint32_t)test_below(rng, m.zones);
		uint64_t end = z + 1 < m.zones ? m.zone[z + 1].offset : m.capacity, offset;

		/* Zones have equally many tracks, so a random zone and a random place there are a random track. */
		offset = m.zone[z].offset + test_below(rng, end - m.zone[z].offset - 65536);
		now += test_below(rng, 30 * MS);
		r = emi_disk_serve(&m, &s, now, offset, 65536, 0);
		assert_true(r.done_ns > last && r.done_ns > now);
		assert_true(r.done_ns >= (now > last ? now : last) + busy(&r));
		assert_in_range(r.transfer_ns, 65536 * SECOND / p.rate_outer - 1, 65536 * SECOND / p.rate_inner + 1);
		assert_true(r.turn_ns < m.turn_ns);
		last = r.done_ns;
		seek += r.seek_ns;
		turn += r.turn_ns;
		transfer += r.transfer_ns;
		expect += 65536 * SECOND / m.zone[z].rate;
	}
	print_message("%s: seek %.3f ms, turning %.3f ms, transfer %.3f ms\n", name, (double)seek / N / 1e6,
		      (double)turn / N / 1e6, (double)transfer / N / 1e6);
	assert_in_range(seek / N, p.seek_average_ns - 230000, p.seek_average_ns + 230000);
	assert_in_range(turn / N, m.turn_ns / 2 - 140000, m.turn_ns / 2 + 140000);
	assert_in_range(transfer, expect - N, expect + N);
}

static void test_random_reads(void **state)
{
	test_rng rng = test_rng_make(test_seed());

	(void)state;
	random_reads("120gxp", &rng);
	random_reads("elite9", &rng);
}

/* Whatever comes: a disk is done in the order of arrival, never before what it takes, and not before the request
 * came. */
static void test_monotone(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	em_simdisk p = model_named("120gxp");
	emi_disk_model m;
	emi_disk_state s;
	uint64_t now = 1, last = 0, sum = 0, begin = 0;
	unsigned i;

	(void)state;
	p.capacity = 100000000;
	m = make(&p);
	memset(&s, 0, sizeof s);
	for (i = 0; i < 100000; i++) {
		uint64_t offset = test_below(&rng, 2) ? s.at : test_below(&rng, p.capacity), bytes;
		emi_disk_service r;

		if (offset >= p.capacity)
			offset = 0;
		bytes = 1 + test_below(&rng, test_below(&rng, 2) ? 100 : 1000000);
		if (bytes > p.capacity - offset)
			bytes = p.capacity - offset;
		r = emi_disk_serve(&m, &s, now, offset, bytes, (int)test_below(&rng, 2));
		assert_true(r.done_ns >= last && (!r.positioned || r.done_ns >= last + busy(&r)));
		assert_true(r.done_ns >= (now > last ? now : last) + bytes * SECOND / p.rate_interface);
		assert_true(r.seek_ns <= p.seek_full_ns && r.turn_ns < m.turn_ns);
		if (i == 0)
			begin = now;
		sum += busy(&r);
		assert_true(begin + sum <= r.done_ns);
		last = r.done_ns;
		if (test_below(&rng, 2))
			now += test_below(&rng, 60 * MS);
	}
}

static void test_capacity_edges(void **state)
{
	em_simdisk p = easy_disk();
	emi_disk_model m = make(&p);
	emi_disk_state s;
	emi_disk_service r;

	(void)state;
	/* The last byte, from the first. */
	memset(&s, 0, sizeof s);
	r = emi_disk_serve(&m, &s, 0, p.capacity - 1, 1, 0);
	assert_int_equal(r.transfer_ns, 1000);
	assert_in_range(r.seek_ns, 9 * MS - 10000, 9 * MS);
	/* All of it at once, from where the arm is now. */
	r = emi_disk_serve(&m, &s, 0, 0, p.capacity, 0);
	assert_int_equal(r.transfer_ns, 40 * SECOND);
	assert_int_equal(s.at, p.capacity);
	/* The smallest disk, and the one that takes longest. */
	p.capacity = p.zones;
	m = make(&p);
	p = model_named("plain");
	p.rate_outer = p.rate_inner = 1;
	p.capacity = UINT64_C(4611686017);
	m = make(&p);
	assert_int_equal(m.total_ns, p.capacity * SECOND);
}

static em_simdisk parsed(const char *model, const char *text)
{
	em_simdisk p = model_named(model);
	em_errinfo err;

	memset(&err, 0, sizeof err);
	if (em_simdisk_parse(&p, text, &err) != EM_OK)
		fail_msg("%s: %s", text, err.text);
	return p;
}

static void test_parse(void **state)
{
	em_simdisk p = parsed("plain", "");

	(void)state;
	assert_int_equal(p.rate_outer, 50000000);
	assert_int_equal(p.seek_full_ns, 8 * MS);
	p = parsed("plain", "rate=50M,seek=8.5ms");
	assert_int_equal(p.rate_outer, 52428800);
	assert_int_equal(p.rate_inner, 52428800);
	assert_int_equal(p.seek_track_ns, 8500000);
	assert_int_equal(p.seek_average_ns, 8500000);
	assert_int_equal(p.seek_full_ns, 8500000);
	/* The model comes first wherever it stands. */
	p = parsed("plain", "rate-outer=60.5MB,model=120gxp,zones=7,rpm=10000,write=250us,capacity=1.5T,buffer=64K,"
			    "rate-interface=0");
	assert_int_equal(p.rate_outer, 60500000);
	assert_int_equal(p.rate_inner, 24000000);
	assert_int_equal(p.zones, 7);
	assert_int_equal(p.rpm, 10000);
	assert_int_equal(p.write_ns, 250000);
	assert_int_equal(p.capacity, UINT64_C(3) << 39);
	assert_int_equal(p.buffer, 65536);
	assert_int_equal(p.rate_interface, 0);
	assert_int_equal(p.seek_average_ns, 8500000);
	assert_non_null(em_simdisk_backend(&p)->open);
	p = parsed("elite9", "seek-track=1ms,seek-average=9ms,seek-full=0.02s,rate-inner=5kB,rate-outer=5000B");
	assert_int_equal(p.seek_track_ns, MS);
	assert_int_equal(p.seek_average_ns, 9 * MS);
	assert_int_equal(p.seek_full_ns, 20 * MS);
	assert_int_equal(p.rate_inner, 5000);
	assert_int_equal(p.rate_outer, 5000);
}

static void test_parse_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"model=120GXP", "simdisk: model: there is no '120GXP'; there are plain, 120gxp, elite9"},
		{"model=", "simdisk: model: it needs a value"},
		{"speed=5", "simdisk: there is no option 'speed'"},
		{"=5", "simdisk: there is no option ''"},
		{",rate=5M", "simdisk: there is no option ''"},
		{"rate", "simdisk: rate: it needs a value"},
		{"seek=8", "simdisk: seek: '8' is not a time, such as 8.5ms"},
		{"seek=-8ms", "simdisk: seek: '-8ms' is not a time, such as 8.5ms"},
		{"seek=8ms ", "simdisk: seek: '8ms ' is not a time, such as 8.5ms"},
		{"seek=1.2.3ms", "simdisk: seek: '1.2.3ms' is not a time, such as 8.5ms"},
		{"seek=.ms", "simdisk: seek: '.ms' is not a time, such as 8.5ms"},
		{"seek=2s", "simdisk: seek-full: must be at most a second"},
		{"rate=50m", "simdisk: rate: '50m' is not a size, such as 48MB, 2M or 512"},
		{"rate=0", "simdisk: rate-outer: must be from 1 to 10 GB per second"},
		{"rate=20G", "simdisk: rate-outer: must be from 1 to 10 GB per second"},
		{"rate=99999999999999999999",
		 "simdisk: rate: '99999999999999999999' is not a size, such as 48MB, 2M or 512"},
		{"capacity=9223372036854775807T",
		 "simdisk: capacity: '9223372036854775807T' is not a size, such as 48MB, 2M or 512"},
		{"rate=1,capacity=100G", "simdisk: capacity: must be what can be read in a hundred years"},
		{"rate-inner=20M", "simdisk: zones: with one zone, rate-inner must be rate-outer"},
		{"zones=3", "simdisk: capacity: must be given for a disk with zones"},
		{"zones=65", "simdisk: zones: must be from 1 to 64"},
		{"zones=1.0", "simdisk: zones: '1.0' is not a whole number"},
		{"rpm=5000000000", "simdisk: rpm: '5000000000' is not a whole number"},
		{"rpm=59", "simdisk: rpm: must be 0 or from 60 to 1000000"},
		{"zones=3,capacity=2", "simdisk: capacity: must be a byte for each zone"},
		{"buffer=2T", "simdisk: buffer: must be at most 1 TiB"},
		{"rate-interface=11GB", "simdisk: rate-interface: must be at most 10 GB per second"},
		{"seek-track=9ms", "simdisk: seek-track: must be at most seek-average"},
		{"seek-average=9ms", "simdisk: seek-average: must be at most seek-full"},
		{"seek-full=16ms", "simdisk: seek-average: too short for a curve from seek-track to seek-full"},
		{"seek-track=1ms,seek-full=8.1ms",
		 "simdisk: seek-average: too long for a curve from seek-track to seek-full"},
		{"write=1.5s", "simdisk: write: must be at most a second"},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		em_simdisk p = model_named("plain"), before = p;
		em_errinfo err;

		memset(&err, 0, sizeof err);
		if (em_simdisk_parse(&p, bad[i].text, &err) != EM_ERR_INVAL)
			fail_msg("%s is taken", bad[i].text);
		assert_string_equal(err.text, bad[i].says);
		assert_memory_equal(&p, &before, sizeof p);
		assert_int_equal(em_simdisk_parse(&p, bad[i].text, NULL), EM_ERR_INVAL);
	}
}

static void test_null(void **state)
{
	em_simdisk p = model_named("elite9"), before = p;
	em_errinfo err;

	(void)state;
	/* What err holds does not matter. */
	memset(&err, 0x99, sizeof err);
	assert_int_equal(em_simdisk_init(&p, sizeof p, "ssd", &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "simdisk: model: there is no 'ssd'; there are plain, 120gxp, elite9");
	assert_memory_equal(&p, &before, sizeof p);
	assert_int_equal(em_simdisk_init(NULL, sizeof p, "plain", NULL), EM_ERR_INVAL);
	assert_int_equal(em_simdisk_parse(NULL, "", NULL), EM_ERR_INVAL);
	assert_int_equal(em_simdisk_parse(&p, NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_simdisk_check(NULL, NULL), EM_ERR_INVAL);
	assert_int_equal(em_simdisk_check(&p, NULL), EM_OK);
	assert_int_equal(em_simdisk_init(&p, sizeof p - 1, "plain", &err), EM_ERR_VERSION);
	assert_non_null(strstr(err.text, "em_simdisk"));
	assert_memory_equal(&p, &before, sizeof p);
	p.size--;
	assert_int_equal(em_simdisk_check(&p, NULL), EM_ERR_VERSION);
	assert_int_equal(em_simdisk_parse(&p, "", NULL), EM_ERR_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zones),
		cmocka_unit_test(test_seek_curve),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_stream_rates),
		cmocka_unit_test(test_position),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_presets),
		cmocka_unit_test(test_random_reads),
		cmocka_unit_test(test_monotone),
		cmocka_unit_test(test_capacity_edges),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_errors),
		cmocka_unit_test(test_null),
	};

	return cmocka_run_group_tests_name("io/disk_model", tests, NULL, NULL);
}
