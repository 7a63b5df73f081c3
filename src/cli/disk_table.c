/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disk_table.c -- what the disks of a context do, in a line for each every so many seconds.
 *
 * A line is the difference of two snapshots, after the tables of iostat that the LEDA-SM report shows: how many
 * requests and bytes in a second, how many wait, how long one takes from when the kernel got it, and in which part of
 * the time there was one.
 *
 * A disk comes with its first file and goes with its last, so disks are told from others by their names, and one that
 * has counted less than before is new.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/disk_table.h"
#include "cli/message.h"
#include "cli/progress.h"

enum { LINES_PER_HEADING = 20 };

void disk_table_open(disk_table *t, em_ctx *ctx, double interval)
{
	memset(t, 0, sizeof(*t));
	t->ctx = ctx;
	t->interval = interval;
	t->start = monotonic_seconds();
	t->next = t->start + interval;
}

int disk_table_due(const disk_table *t)
{
	return t->interval > 0 && monotonic_seconds() >= t->next;
}

static double per(double sum, double n)
{
	return n > 0 ? sum / n : 0;
}

static void print_line(disk_table *t, const em_io_stats *d, double seconds, const char *name)
{
	if (t->lines++ % LINES_PER_HEADING == 0)
		fputs("  time s     r/s     w/s   rMB/s   wMB/s  queue    r ms    w ms  busy  disk\n", stderr);
	fprintf(stderr, "%8.1f %7.0f %7.0f %7.1f %7.1f %6" PRIu32 " %7.2f %7.2f %4.0f%%  %s\n",
		monotonic_seconds() - t->start, per((double)d->reads, seconds), per((double)d->writes, seconds),
		per((double)d->bytes_read * 1e-6, seconds), per((double)d->bytes_written * 1e-6, seconds), d->queue,
		per(d->read_seconds * 1e3, (double)d->reads), per(d->write_seconds * 1e3, (double)d->writes),
		per(d->busy * 100, seconds), name);
}

/* What a disk had counted at the last snapshot; NULL when it was not there. */
static const em_io_stats *before(const disk_table *t, const em_io_stats *now, const char *name)
{
	uint32_t i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->name[i], name) == 0 && t->last[i].reads <= now->reads && t->last[i].writes <= now->writes)
			return &t->last[i];
	return NULL;
}

void disk_table_print(disk_table *t)
{
	disk_table next = *t;
	uint32_t i;

	for (i = 0; i < DISK_TABLE_MOST; i++) {
		em_io_stats now = EM_IO_STATS_INIT, change;
		const em_io_stats *last;

		if (em_ctx_disk_stats_get(t->ctx, i, &now, next.name[i], DISK_TABLE_NAME) != EM_OK)
			break;
		next.last[i] = change = now;
		last = before(t, &now, next.name[i]);
		if (last)
			em_io_stats_since(&change, last);
		else
			change.time = t->interval;
		print_line(&next, &change, change.time, next.name[i]);
	}
	next.n = i;
	next.next = monotonic_seconds() + t->interval;
	*t = next;
}

int disk_table_interval(const char *command, const char *text, double *interval)
{
	char *end;

	*interval = strtod(text, &end);
	if (end == text || *end != '\0' || !isfinite(*interval) || *interval < 0.1 || *interval > 1e6) {
		message(command, "--interval %s: not a number of seconds from 0.1 to 1000000", text);
		return -1;
	}
	return 0;
}
