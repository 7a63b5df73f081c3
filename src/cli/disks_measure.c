/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disks_measure.c -- which block size a disk is fast with.
 *
 * Each disk is written and read in sequence, with blocks of 64 KiB to 8 MiB, and as many of them in flight as a sort
 * with the same memory would have: its plan says how many buffers there are for either, which the disks share.  What is
 * written is written over, as the first time a file system looks for space, too.  All sizes take turns, several times,
 * so that what else the machine does meets all of them; of the seconds the median counts.
 *
 * Recommended is the smallest size with which every disk takes hardly longer than with its best one: small blocks let
 * more runs be merged at a time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <extmem/order.h>
#include <extmem/sort.h>

#include "cli/block_pass.h"
#include "cli/disks.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/size.h"

#define ROUNDS 3
#define NEARLY 1.05             /* of the least time is as good */
#define LARGE_PAGE ((size_t)2 << 20)
#define RECORD 16
#define TIMES 8                 /* as much data as memory is planned for */

typedef struct measurement {
	disks_command *dc;
	disk_look *d;
	em_file *f;
	uint64_t bytes;         /* of the file */
	char *buf;
	double write[MEASURE_SIZES][ROUNDS], read[MEASURE_SIZES][ROUNDS]; /* seconds */
} measurement;

uint64_t disks_block(uint32_t i)
{
	return (uint64_t)MEASURE_LEAST << i;
}

/* A disk's share of so many buffers, as far as its queue takes them. */
static uint32_t share(const disks_command *dc, const disk_look *d, uint32_t buffers)
{
	uint32_t n = buffers / dc->n;

	if (n > d->opts.queue_depth)
		n = d->opts.queue_depth;
	return n ? n : 1;
}

/* How many blocks a sort has in flight; 0 where there is too little memory for blocks of that size, which are left
 * out. */
static int plan_depths(disks_command *dc)
{
	const em_key key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_sort_opts opts = EM_SORT_OPTS_INIT;
	em_sort_plan_info info = EM_SORT_PLAN_INFO_INIT;
	em_order *order = NULL;
	em_errinfo err = { 0 };
	em_status st = em_order_keys(&order, dc->ctx, RECORD, &key, 1, &err);
	uint32_t i, k;

	opts.errinfo = &err;
	for (i = 0; i < MEASURE_SIZES && st == EM_OK; i++) {
		opts.block_bytes = disks_block(i);
		st = em_sort_plan(dc->ctx, order, em_ctx_memory(dc->ctx) / RECORD * TIMES, &opts, &info);
		for (k = 0; k < dc->n && st == EM_OK; k++) {
			dc->disk[k].write_depth[i] = share(dc, &dc->disk[k], info.write_buffers);
			dc->disk[k].read_depth[i] = share(dc, &dc->disk[k], info.read_buffers);
		}
		if (st == EM_ERR_MEMLIMIT && i > 0)
			break;
	}
	em_order_close(order);
	if (st == EM_OK || (st == EM_ERR_MEMLIMIT && i > 0))
		return 0;
	message_errinfo(dc->command, st, &err);
	return -1;
}

/* Bytes to be written: a multiple of the largest block. */
static int choose_bytes(measurement *m)
{
	const uint64_t unit = disks_block(MEASURE_SIZES - 1);
	char text[SIZE_TEXT];

	m->bytes = m->dc->measure;
	if (m->bytes > m->d->free)
		m->bytes = m->d->free;
	if (m->d->capacity && m->bytes > m->d->capacity)
		m->bytes = m->d->capacity;
	m->bytes -= m->bytes % unit;
	if (m->bytes)
		return 0;
	message(m->dc->command, "%s: measuring takes at least %s of space", m->d->opts.path,
		size_format_exact(unit, text));
	return -1;
}

static int allocate(measurement *m)
{
	uint64_t most = 0;
	void *buf = NULL;
	uint32_t i;

	for (i = 0; i < MEASURE_SIZES; i++) {
		const uint32_t w = m->d->write_depth[i], r = m->d->read_depth[i];

		if (most < disks_block(i) * (w > r ? w : r))
			most = disks_block(i) * (w > r ? w : r);
	}
	if (posix_memalign(&buf, LARGE_PAGE, (size_t)most)) {
		message(m->dc->command, "out of memory");
		return -1;
	}
#ifdef MADV_HUGEPAGE
	/* As the buffers of a sort are. */
	(void)madvise(buf, (size_t)most, MADV_HUGEPAGE);
#endif
	memset(buf, 0x5a, (size_t)most);
	m->buf = buf;
	return 0;
}

static int pass(measurement *m, uint32_t i, int write, double *seconds)
{
	const uint64_t block = disks_block(i), n = m->bytes / block;
	const uint32_t depth = write ? m->d->write_depth[i] : m->d->read_depth[i];
	const block_pass p = { m->f, m->buf, block, n, n, 0, depth, write, 0, &m->dc->in };
	const double start = monotonic_seconds();
	em_errinfo err;
	int bad = block_pass_run(&p, &err);

	/* What stays in the page cache was not written. */
	if (!bad && write && !m->d->direct && em_file_sync(m->f) != EM_OK) {
		em_file_error(m->f, &err);
		bad = -1;
	}
	if (bad && err.status != EM_OK)
		message_errinfo(m->dc->command, err.status, &err);
	*seconds = monotonic_seconds() - start;
	return bad;
}

static int round_of(measurement *m, int round)
{
	uint32_t i;

	for (i = 0; i < MEASURE_SIZES && m->d->write_depth[i]; i++) {
		const int fd = em_file_descriptor(m->f);

		if (pass(m, i, 1, &m->write[i][round]))
			return -1;
		if (!m->d->direct && fd >= 0)
			(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		if (pass(m, i, 0, &m->read[i][round]))
			return -1;
	}
	return 0;
}

static double median(double seconds[ROUNDS])
{
	double x;
	int i, k;

	for (i = 1; i < ROUNDS; i++)
		for (k = i; k > 0 && seconds[k] < seconds[k - 1]; k--) {
			x = seconds[k];
			seconds[k] = seconds[k - 1];
			seconds[k - 1] = x;
		}
	return seconds[ROUNDS / 2] > 0 ? seconds[ROUNDS / 2] : 1e-9;
}

static int measure(measurement *m)
{
	double unused;
	uint32_t i;
	int round;

	if (pass(m, 0, 1, &unused))
		return -1;
	for (round = 0; round < ROUNDS; round++)
		if (round_of(m, round))
			return -1;
	for (i = 0; i < MEASURE_SIZES && m->d->write_depth[i]; i++) {
		m->d->write[i] = (double)m->bytes / median(m->write[i]);
		m->d->read[i] = (double)m->bytes / median(m->read[i]);
	}
	return 0;
}

static int measure_disk(disks_command *dc, disk_look *d)
{
	measurement m = { 0 };
	em_ctx *ctx = NULL;
	int bad;

	m.dc = dc;
	m.d = d;
	if (choose_bytes(&m) || allocate(&m))
		return -1;
	m.f = disks_open(dc, d, &ctx);
	bad = !m.f || measure(&m);
	disks_close(dc, d, ctx, m.f);
	free(m.buf);
	return bad;
}

/* Seconds to write and read a byte. */
static double time_of(const disk_look *d, uint32_t i)
{
	return d->write[i] > 0 ? 1 / d->write[i] + 1 / d->read[i] : 1e30;
}

/* Is it as good as any on that disk? */
static int good(const disk_look *d, uint32_t i)
{
	uint32_t k;

	for (k = 0; k < MEASURE_SIZES; k++)
		if (time_of(d, i) > time_of(d, k) * NEARLY)
			return 0;
	return 1;
}

static void recommend(disks_command *dc)
{
	uint32_t i, k;

	for (i = 0; i < MEASURE_SIZES && !dc->best; i++) {
		for (k = 0; k < dc->n && good(&dc->disk[k], i); k++)
			continue;
		if (k == dc->n)
			dc->best = disks_block(i);
	}
}

int disks_measure(disks_command *dc)
{
	uint32_t i;

	if (plan_depths(dc))
		return -1;
	for (i = 0; i < dc->n; i++)
		if (measure_disk(dc, &dc->disk[i]))
			return -1;
	recommend(dc);
	return 0;
}
