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

#include "base/meter.h"

uint64_t emi_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void emi_meter_submit(emi_meter *m)
{
	if (++m->queue > m->queue_most)
		m->queue_most = m->queue;
}

void emi_meter_leave(emi_meter *m)
{
	m->queue--;
}

static void enter(emi_meter *m, int which, uint64_t now)
{
	if (m->active[which]++ == 0)
		m->since[which] = now;
}

static void leave(emi_meter *m, int which, uint64_t now)
{
	if (--m->active[which] == 0)
		m->busy_ns[which] += now - m->since[which];
}

void emi_meter_begin(emi_meter *m, int write, uint64_t now)
{
	enter(m, write, now);
	enter(m, EMI_METER_BOTH, now);
}

void emi_meter_end(emi_meter *m, int write, uint64_t bytes, uint64_t begun, uint64_t now)
{
	m->requests[write]++;
	m->bytes[write] += bytes;
	m->serial_ns[write] += now - begun;
	leave(m, write, now);
	leave(m, EMI_METER_BOTH, now);
	m->queue--;
}

void emi_meter_wait(emi_meter *m, int write, uint64_t ns)
{
	__atomic_fetch_add(&m->wait_ns[write], ns, __ATOMIC_RELAXED);
}

void emi_meter_back(emi_meter *m, int write, uint64_t now)
{
	leave(m, write, now);
	leave(m, EMI_METER_BOTH, now);
}

static double busy(const emi_meter *m, int which, uint64_t now)
{
	return (double)(m->busy_ns[which] + (m->active[which] ? now - m->since[which] : 0)) * 1e-9;
}

static double waited(const emi_meter *m, int which)
{
	return (double)__atomic_load_n(&m->wait_ns[which], __ATOMIC_RELAXED) * 1e-9;
}

void emi_meter_read(const emi_meter *m, uint64_t now, em_io_stats *stats)
{
	memset(stats, 0, sizeof *stats);
	stats->size = sizeof *stats;
	stats->queue = m->queue;
	stats->queue_most = m->queue_most;
	stats->time = (double)now * 1e-9;
	stats->reads = m->requests[EMI_METER_READ];
	stats->writes = m->requests[EMI_METER_WRITE];
	stats->bytes_read = m->bytes[EMI_METER_READ];
	stats->bytes_written = m->bytes[EMI_METER_WRITE];
	stats->read_seconds = (double)m->serial_ns[EMI_METER_READ] * 1e-9;
	stats->write_seconds = (double)m->serial_ns[EMI_METER_WRITE] * 1e-9;
	stats->read_busy = busy(m, EMI_METER_READ, now);
	stats->write_busy = busy(m, EMI_METER_WRITE, now);
	stats->busy = busy(m, EMI_METER_BOTH, now);
	stats->read_wait = waited(m, EMI_METER_READ);
	stats->write_wait = waited(m, EMI_METER_WRITE);
}

em_status emi_io_stats_give(em_io_stats *theirs, const em_io_stats *ours)
{
	const uint32_t size = theirs ? theirs->size : 0;

	if (size < sizeof size || size > 4096)
		return EM_ERR_INVAL;
	memset(theirs, 0, size);
	memcpy(theirs, ours, size < sizeof *ours ? size : sizeof *ours);
	theirs->size = size;
	return EM_OK;
}

void em_io_stats_since(em_io_stats *now, const em_io_stats *before)
{
	if (!now || !before)
		return;
	now->time -= before->time;
	now->reads -= before->reads;
	now->writes -= before->writes;
	now->bytes_read -= before->bytes_read;
	now->bytes_written -= before->bytes_written;
	now->read_seconds -= before->read_seconds;
	now->write_seconds -= before->write_seconds;
	now->read_busy -= before->read_busy;
	now->write_busy -= before->write_busy;
	now->busy -= before->busy;
	now->read_wait -= before->read_wait;
	now->write_wait -= before->write_wait;
}

static size_t length(int printed)
{
	return printed < 0 ? 0 : (size_t)printed;
}

size_t em_io_stats_text(const em_io_stats *s, char *to, size_t bytes)
{
	return length(snprintf(to, bytes,
			       "reads   %12" PRIu64 "  %16" PRIu64 " bytes  serial %10.3f s  busy %10.3f s  waited for %10.3f s\n"
			       "writes  %12" PRIu64 "  %16" PRIu64 " bytes  serial %10.3f s  busy %10.3f s  waited for %10.3f s\n"
			       "busy with either %.3f s; queue %" PRIu32 ", at most %" PRIu32 "\n",
			       s->reads, s->bytes_read, s->read_seconds, s->read_busy, s->read_wait, s->writes,
			       s->bytes_written, s->write_seconds, s->write_busy, s->write_wait, s->busy, s->queue,
			       s->queue_most));
}

size_t em_io_stats_json(const em_io_stats *s, char *to, size_t bytes)
{
	return length(snprintf(to, bytes,
			       "{\"time\": %.6f, \"queue\": %" PRIu32 ", \"queue_most\": %" PRIu32 ", \"reads\": %" PRIu64
			       ", \"writes\": %" PRIu64 ", \"bytes_read\": %" PRIu64 ", \"bytes_written\": %" PRIu64
			       ", \"read_seconds\": %.6f, \"write_seconds\": %.6f, \"read_busy\": %.6f, \"write_busy\": %.6f"
			       ", \"busy\": %.6f, \"read_wait\": %.6f, \"write_wait\": %.6f}",
			       s->time, s->queue, s->queue_most, s->reads, s->writes, s->bytes_read, s->bytes_written,
			       s->read_seconds, s->write_seconds, s->read_busy, s->write_busy, s->busy, s->read_wait,
			       s->write_wait));
}
