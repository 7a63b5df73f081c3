/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_model.c -- how long a disk takes.
 *
 * Everything follows from one function, stream(offset): how long the disk takes to read all that lies in front of
 * offset.  Tracks are read one after the other, one in each revolution, and are laid out so that going on to the next
 * never waits.  So stream() tells
 *
 *	how long a transfer takes:   stream(end) - stream(begin), which adds up exactly however a disk is cut in
 *	                             pieces;
 *	on which track an offset is: stream(offset) / turn, so that of two offsets the way of the arm is the
 *	                             difference;
 *	where on its track it is:    stream(offset) % turn, which is under the head at all times with the same
 *	                             remainder.
 *
 * Rates are sustained ones: what it takes to switch heads and to go to the next track is in them, spread over the
 * track.
 *
 * Zones are of equal width.  All tracks take one revolution, so zones take equal times, and their rates fall linearly
 * from the outer edge to the inner, as the circumference does.
 *
 * Seeks take t + a sqrt(x) + b x for the part x of the way across the disk: short ones are spent accelerating and
 * braking, which makes the root, long ones at full speed.  With t for a track, f for all of the disk, and m the mean
 * over all pairs of tracks - of the root that is 8/15, of x 1/3 - a = (15 m - 10 t - 5 f) / 3 and b = f - t - a.
 *
 * Integers only, rounded down: a model is the same everywhere, and sums are exact.  Where there is no end, stream() may
 * wrap around, which its differences survive.
 */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "io/disk_model.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)

/* The longest that streaming a disk may take: 136 years, half of what 63 bits hold. */
#define LONGEST (UINT64_C(1) << 62)

/* a * b / c, rounded down; c < 2^62, b <= 2^62, and the result fits. */
static uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t result = 0, rest = 0;
	int i;

	/* a is eaten bit by bit from the top; what was eaten, times b, is result * c + rest. */
	for (i = 63; i >= 0; i--) {
		rest = 2 * rest + ((a >> i) & 1 ? b : 0);
		result = 2 * result + rest / c;
		rest %= c;
	}
	return result;
}

/* The time for bytes at a rate of at most EM_SIMDISK_MAX_RATE. */
static uint64_t at_rate(uint64_t bytes, uint64_t rate)
{
	return bytes / rate * SECOND + bytes % rate * SECOND / rate;
}

/* The square root, rounded down. */
static uint64_t root(uint64_t x)
{
	uint64_t r = 0, bit = UINT64_C(1) << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit > 0; bit >>= 2) {
		if (x >= r + bit) {
			x -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	return r;
}

static em_status wrong(em_errinfo *err, const char *name, const char *what)
{
	return emi_fail(err, EM_ERR_INVAL, "simdisk: %s: %s", name, what);
}

static em_status check_rates(const em_simdisk *p, em_errinfo *err)
{
	if (p->rate_outer == 0 || p->rate_outer > EM_SIMDISK_MAX_RATE)
		return wrong(err, "rate-outer", "must be from 1 to 10 GB per second");
	if (p->rate_inner == 0 || p->rate_inner > p->rate_outer)
		return wrong(err, "rate-inner", "must be from 1 to rate-outer");
	if (p->rate_interface > EM_SIMDISK_MAX_RATE)
		return wrong(err, "rate-interface", "must be at most 10 GB per second");
	if (p->zones == 0 || p->zones > EM_SIMDISK_MAX_ZONES)
		return wrong(err, "zones", "must be from 1 to 64");
	if (p->zones == 1 && p->rate_inner != p->rate_outer)
		return wrong(err, "zones", "with one zone, rate-inner must be rate-outer");
	if (p->capacity == 0 && p->zones > 1)
		return wrong(err, "capacity", "must be given for a disk with zones");
	if (p->capacity > INT64_MAX)
		return wrong(err, "capacity", "must be less than 2^63 bytes");
	if (p->capacity / p->rate_inner >= LONGEST / SECOND)
		return wrong(err, "capacity", "must be what can be read in a hundred years");
	if (p->capacity > 0 && p->capacity < p->zones)
		return wrong(err, "capacity", "must be a byte for each zone");
	if (p->buffer > UINT64_C(1) << 40)
		return wrong(err, "buffer", "must be at most 1 TiB");
	return EM_OK;
}

static em_status check_times(const em_simdisk *p, em_errinfo *err)
{
	uint64_t t = p->seek_track_ns, m = p->seek_average_ns, f = p->seek_full_ns;

	if (p->rpm != 0 && (p->rpm < 60 || p->rpm > 1000000))
		return wrong(err, "rpm", "must be 0 or from 60 to 1000000");
	if (f > EM_SIMDISK_MAX_SEEK)
		return wrong(err, "seek-full", "must be at most a second");
	if (m > f)
		return wrong(err, "seek-average", "must be at most seek-full");
	if (t > m)
		return wrong(err, "seek-track", "must be at most seek-average");
	/* The root must not pull down, nor the linear part, not even at the end: 0 <= a <= 2 (f - t). */
	if (15 * m < 10 * t + 5 * f)
		return wrong(err, "seek-average", "too short for a curve from seek-track to seek-full");
	if (15 * m - 10 * t - 5 * f > 6 * (f - t))
		return wrong(err, "seek-average", "too long for a curve from seek-track to seek-full");
	if (p->write_ns > EM_SIMDISK_MAX_SEEK)
		return wrong(err, "write", "must be at most a second");
	return EM_OK;
}

static void make_zones(emi_disk_model *m, const em_simdisk *p)
{
	uint64_t sum = 0, before = 0;
	uint32_t i;

	m->zones = p->zones;
	for (i = 0; i < m->zones; i++) {
		m->zone[i].rate = p->rate_outer;
		if (i > 0)
			m->zone[i].rate -= (p->rate_outer - p->rate_inner) * i / (m->zones - 1);
		sum += m->zone[i].rate;
	}
	if (p->capacity == 0)
		return;
	/* All zones take the same time, so their shares of the bytes are as their rates. */
	for (i = 1; i < m->zones; i++) {
		const emi_disk_zone *last = &m->zone[i - 1];

		before += last->rate;
		m->zone[i].offset = mul_div(p->capacity, before, sum);
		m->zone[i].ns = last->ns + at_rate(m->zone[i].offset - last->offset, last->rate);
	}
	m->total_ns = emi_disk_stream_ns(m, p->capacity);
}

em_status emi_disk_model_make(emi_disk_model *m, const em_simdisk *p, em_errinfo *err)
{
	em_status status = check_rates(p, err);

	if (status == EM_OK)
		status = check_times(p, err);
	if (status != EM_OK || !m)
		return status;
	memset(m, 0, sizeof *m);
	m->capacity = p->capacity ? p->capacity : INT64_MAX;
	m->turn_ns = p->rpm ? MINUTE / p->rpm : 0;
	m->rate_interface = p->rate_interface;
	m->buffer = p->buffer;
	m->seek_track_ns = p->seek_track_ns;
	m->seek_average_ns = p->seek_average_ns;
	m->write_ns = p->write_ns;
	m->seek_root_ns = (int64_t)((15 * p->seek_average_ns - 10 * p->seek_track_ns - 5 * p->seek_full_ns) / 3);
	m->seek_linear_ns = (int64_t)(p->seek_full_ns - p->seek_track_ns) - m->seek_root_ns;
	make_zones(m, p);
	return EM_OK;
}

static const emi_disk_zone *zone_of(const emi_disk_model *m, uint64_t offset)
{
	uint32_t lo = 0, hi = m->zones;

	while (hi - lo > 1) {
		uint32_t mid = (lo + hi) / 2;

		if (m->zone[mid].offset <= offset)
			lo = mid;
		else
			hi = mid;
	}
	return &m->zone[lo];
}

uint64_t emi_disk_stream_ns(const emi_disk_model *m, uint64_t offset)
{
	const emi_disk_zone *z = zone_of(m, offset);

	return z->ns + at_rate(offset - z->offset, z->rate);
}

uint64_t emi_disk_seek_ns(const emi_disk_model *m, uint64_t from, uint64_t to)
{
	uint64_t a = emi_disk_stream_ns(m, from), b = emi_disk_stream_ns(m, to), part;

	if (from == to || (m->turn_ns > 0 && a / m->turn_ns == b / m->turn_ns))
		return 0;
	if (m->total_ns == 0)
		return m->seek_average_ns;
	/* The way as a part of 2^32, and its root as a part of 2^31. */
	part = mul_div(a < b ? b - a : a - b, UINT64_C(1) << 32, m->total_ns);
	return m->seek_track_ns + (uint64_t)((m->seek_root_ns * (int64_t)root(part << 30) +
					      m->seek_linear_ns * (int64_t)(part >> 1)) >> 31);
}

/* When the disk began with a request that goes on where the last one ended: when that was done, though not earlier than
 * its buffer has room for. */
static uint64_t went_on(const emi_disk_model *m, const emi_disk_state *s, uint64_t now)
{
	uint64_t ahead = at_rate(m->buffer, zone_of(m, s->at)->rate);
	uint64_t earliest = now > ahead ? now - ahead : 0;

	return s->free_ns > earliest ? s->free_ns : earliest;
}

/* Nanoseconds from then until the disk has turned to the offset that is reached by streaming for so long. */
static uint64_t turning(const emi_disk_model *m, uint64_t stream, uint64_t then)
{
	if (m->turn_ns == 0)
		return 0;
	return (stream % m->turn_ns + m->turn_ns - then % m->turn_ns) % m->turn_ns;
}

emi_disk_service emi_disk_serve(const emi_disk_model *m, emi_disk_state *s, uint64_t now, uint64_t offset,
				uint64_t bytes, int write)
{
	const emi_disk_last kind = write ? EMI_DISK_WRITE : EMI_DISK_READ;
	uint64_t stream = emi_disk_stream_ns(m, offset), from = s->done_ns > now ? s->done_ns : now, begin = from,
		 delivery = 0;
	emi_disk_service r;

	memset(&r, 0, sizeof r);
	r.transfer_ns = emi_disk_stream_ns(m, offset + bytes) - stream;
	if (m->rate_interface > 0)
		delivery = at_rate(bytes, m->rate_interface);
	if (r.transfer_ns < delivery)
		r.transfer_ns = delivery;
	r.positioned = s->last == EMI_DISK_NONE || s->at != offset;
	if (r.positioned) {
		r.seek_ns = emi_disk_seek_ns(m, s->at, offset);
		if (write && r.seek_ns > 0)
			r.seek_ns += m->write_ns;
		r.turn_ns = turning(m, stream, begin + r.seek_ns);
	} else if (s->last == kind) {
		begin = went_on(m, s, now);
	}
	s->free_ns = begin + r.seek_ns + r.turn_ns + r.transfer_ns;
	r.done_ns = s->free_ns > from + delivery ? s->free_ns : from + delivery;
	s->done_ns = r.done_ns;
	s->at = offset + bytes;
	s->last = kind;
	return r;
}
