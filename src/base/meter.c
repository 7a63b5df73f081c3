/* SPDX-License-Identifier: BSL-1.0 */
/*
 * meter.c -- counting requests and the time they take.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/meter.h"
#include "base/structs.h"

uint64_t emi_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t emi_thread_ns(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
		return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
	return emi_now_ns();
}

static void add(const emi_meter *m, uint64_t *to, uint64_t n)
{
	if (m->shared)
		__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
	else
		*to += n;
}

static void submit_shared(emi_meter *m)
{
	const uint32_t queue = __atomic_add_fetch(&m->queue, 1, __ATOMIC_RELAXED);
	uint32_t most = __atomic_load_n(&m->queue_most, __ATOMIC_RELAXED);

	while (queue > most &&
	       !__atomic_compare_exchange_n(&m->queue_most, &most, queue, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		continue;
}

void emi_meter_submit(emi_meter *m)
{
	if (m->shared)
		submit_shared(m);
	else if (++m->queue > m->queue_most)
		m->queue_most = m->queue;
}

void emi_meter_leave(emi_meter *m)
{
	if (m->shared)
		__atomic_fetch_sub(&m->queue, 1, __ATOMIC_RELAXED);
	else
		m->queue--;
}

void emi_meter_done(emi_meter *m, int write, uint64_t bytes, uint64_t ns)
{
	add(m, &m->requests[write], 1);
	add(m, &m->bytes[write], bytes);
	add(m, &m->serial_ns[write], ns);
	emi_meter_leave(m);
}

void emi_meter_wait(emi_meter *m, int write, uint64_t ns)
{
	__atomic_fetch_add(&m->wait_ns[write], ns, __ATOMIC_RELAXED);
}

/* The kinds of being busy that a transfer is, as bits. */
static unsigned kinds_of(int write)
{
	return 1u << write | 1u << EMI_METER_BOTH;
}

/* Those of some kinds that so many are busy with. */
static unsigned kinds_of_some(const emi_meter *m, unsigned kinds, uint32_t so_many)
{
	unsigned k, some = 0;

	for (k = 0; k < EMI_METERED; k++)
		some |= (unsigned)(m->active[k] == so_many) << k;
	return kinds & some;
}

static void enter(emi_meter *m, unsigned kinds, uint64_t now)
{
	unsigned k;

	for (k = 0; k < EMI_METERED; k++)
		if ((kinds >> k & 1) && m->active[k]++ == 0)
			m->since[k] = now;
}

static void leave(emi_meter *m, unsigned kinds, uint64_t now)
{
	unsigned k;

	for (k = 0; k < EMI_METERED; k++)
		if ((kinds >> k & 1) && --m->active[k] == 0)
			m->busy_ns[k] += now - m->since[k];
}

static uint64_t at(emi_meter *m, uint64_t now)
{
	return m->latest = now > m->latest ? now : m->latest;
}

/* Something happens to a transfer of the disk, and for the context to these kinds.  When that is. */
static uint64_t happen(const emi_meters *m, void (*what)(emi_meter *, unsigned, uint64_t), unsigned kinds, uint64_t now)
{
	now = at(m->disk, now);
	if (kinds == 0)
		return now;
	pthread_mutex_lock(m->lock);
	now = at(m->all, now);
	what(m->all, kinds, now);
	pthread_mutex_unlock(m->lock);
	return at(m->disk, now);
}

void emi_meters_begin(const emi_meters *m, int write, uint64_t now)
{
	const unsigned kinds = kinds_of(write);

	now = happen(m, enter, kinds_of_some(m->disk, kinds, 0), now);
	enter(m->disk, kinds, now);
	enter(m->file, kinds, now);
}

void emi_meters_end(const emi_meters *m, int write, uint64_t now)
{
	const unsigned kinds = kinds_of(write);

	now = happen(m, leave, kinds_of_some(m->disk, kinds, 1), now);
	leave(m->disk, kinds, now);
	leave(m->file, kinds, now);
}

static uint64_t get(const uint64_t *from)
{
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static double busy(const emi_meter *m, int which, uint64_t now)
{
	const int is_busy = m->active[which] != 0 && now > m->since[which];

	return (double)(m->busy_ns[which] + (is_busy ? now - m->since[which] : 0)) * 1e-9;
}

static double waited(const emi_meter *m, int which)
{
	return (double)get(&m->wait_ns[which]) * 1e-9;
}

void emi_meter_read(const emi_meter *m, uint64_t now, em_io_stats *stats)
{
	memset(stats, 0, sizeof *stats);
	stats->size = sizeof *stats;
	stats->queue = __atomic_load_n(&m->queue, __ATOMIC_RELAXED);
	stats->queue_most = __atomic_load_n(&m->queue_most, __ATOMIC_RELAXED);
	stats->time = (double)now * 1e-9;
	stats->reads = get(&m->requests[EMI_METER_READ]);
	stats->writes = get(&m->requests[EMI_METER_WRITE]);
	stats->bytes_read = get(&m->bytes[EMI_METER_READ]);
	stats->bytes_written = get(&m->bytes[EMI_METER_WRITE]);
	stats->read_seconds = (double)get(&m->serial_ns[EMI_METER_READ]) * 1e-9;
	stats->write_seconds = (double)get(&m->serial_ns[EMI_METER_WRITE]) * 1e-9;
	stats->read_busy = busy(m, EMI_METER_READ, now);
	stats->write_busy = busy(m, EMI_METER_WRITE, now);
	stats->busy = busy(m, EMI_METER_BOTH, now);
	stats->read_wait = waited(m, EMI_METER_READ);
	stats->write_wait = waited(m, EMI_METER_WRITE);
}

em_status emi_io_stats_give(em_io_stats *theirs, const em_io_stats *ours)
{
	return EMI_STRUCT_GIVE(em_io_stats, theirs, ours);
}

/* A snapshot that a caller has: 0 if it is none. */
static int take(em_io_stats *ours, const em_io_stats *theirs)
{
	memset(ours, 0, sizeof *ours);
	return theirs != NULL && EMI_STRUCT_TAKE(em_io_stats, ours, theirs, NULL) == EM_OK;
}

void em_io_stats_since(em_io_stats *now, const em_io_stats *before)
{
	em_io_stats d, b;

	if (!take(&d, now) || !take(&b, before))
		return;
	d.time -= b.time;
	d.reads -= b.reads;
	d.writes -= b.writes;
	d.bytes_read -= b.bytes_read;
	d.bytes_written -= b.bytes_written;
	d.read_seconds -= b.read_seconds;
	d.write_seconds -= b.write_seconds;
	d.read_busy -= b.read_busy;
	d.write_busy -= b.write_busy;
	d.busy -= b.busy;
	d.read_wait -= b.read_wait;
	d.write_wait -= b.write_wait;
	(void)emi_io_stats_give(now, &d);
}

static size_t length(int printed)
{
	return printed < 0 ? 0 : (size_t)printed;
}

/* The text of what are no statistics. */
static size_t nothing(char *to, size_t bytes)
{
	if (to != NULL && bytes != 0)
		to[0] = '\0';
	return 0;
}

size_t em_io_stats_text(const em_io_stats *stats, char *to, size_t bytes)
{
	em_io_stats own, *s = &own;

	if (!take(s, stats))
		return nothing(to, bytes);
	return length(snprintf(
		to, to != NULL ? bytes : 0,
		"reads   %12" PRIu64 "  %16" PRIu64 " bytes  serial %10.3f s  busy %10.3f s  waited for %10.3f s\n"
		"writes  %12" PRIu64 "  %16" PRIu64 " bytes  serial %10.3f s  busy %10.3f s  waited for %10.3f s\n"
		"busy with either %.3f s; queue %" PRIu32 ", at most %" PRIu32 "\n",
		s->reads, s->bytes_read, s->read_seconds, s->read_busy, s->read_wait, s->writes, s->bytes_written,
		s->write_seconds, s->write_busy, s->write_wait, s->busy, s->queue, s->queue_most));
}
