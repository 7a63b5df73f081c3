/* SPDX-License-Identifier: BSL-1.0 */
/*
 * simdisk.c -- do simulated disks keep their time, and what are they like?
 *
 *   bench/simdisk [OPTIONS [REQUESTS]]
 *
 * First the rate of each model over the size of blocks: streams at the outer and the inner edge, and random reads.
 * That is the model alone, and takes no time.
 *
 * Then 1 to 8 disks, driven at once through the library's queues, each by a thread that keeps 4 requests of 1 MiB in
 * flight: streams of writes, then random reads.  model is the time in which the busiest disk was busy, wall what the
 * clock says, ratio wall / model; cpu the CPU seconds of the process.  OPTIONS are those of em_simdisk_parse(),
 * "model=120gxp" at first; REQUESTS per disk are 100.  A ratio above 1.02 says that the cores are busy with something
 * else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "io/disk_model.h"
#include "io/file.h"

enum { DISKS = 8, FLIGHT = 4, BLOCK = 1 << 20, REGION = 32 };

#define MIB (UINT64_C(1) << 20)
#define NO_END (UINT64_C(80000000000)) /* how much of a disk without an end is used */

static void die(const em_errinfo *err)
{
	fprintf(stderr, "simdisk: %s\n", err->text);
	exit(1);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 20;
}

static uint64_t extent_of(const em_simdisk *p)
{
	return p->capacity ? p->capacity : NO_END;
}

/* MB/s of 256 requests that begin at offset, or anywhere. */
static double rate(const em_simdisk *p, uint64_t block, int anywhere, uint64_t offset)
{
	emi_disk_state s;
	emi_disk_model m;
	emi_disk_service r;
	em_errinfo err;
	uint64_t seed = 1, first = 0;
	int i;

	memset(&s, 0, sizeof s);
	memset(&err, 0, sizeof err);
	if (emi_disk_model_make(&m, p, &err) != EM_OK)
		die(&err);
	for (i = 0; i <= 256; i++) {
		if (anywhere)
			offset = next_random(&seed) % (extent_of(p) / block) * block;
		r = emi_disk_serve(&m, &s, s.done_ns, offset, block, 0);
		offset += block;
		if (i == 0)
			first = r.done_ns;
	}
	return 256.0 * (double)block / ((double)(s.done_ns - first) * 1e-9) / 1e6;
}

static void print_rates(const char *name, const em_simdisk *p)
{
	uint64_t block;

	for (block = 4096; block <= 16 * MIB; block *= 4)
		printf("model=%s block=%llu outer=%.2f inner=%.2f random=%.2f MB/s\n", name, (unsigned long long)block,
		       rate(p, block, 0, 0), rate(p, block, 0, extent_of(p) - 257 * block), rate(p, block, 1, 0));
}

typedef struct driver {
	pthread_t thread;
	em_simdisk disk;
	em_ctx *ctx;
	em_file *file;
	char *buf[FLIGHT];
	emi_request rq[FLIGHT];
	unsigned requests;
	int anywhere;           /* random reads; else a stream of writes */
	uint64_t seed;
} driver;

static void begin(driver *d, unsigned i)
{
	emi_request *rq = &d->rq[i % FLIGHT];

	if (d->anywhere)
		emi_read(d->file, rq, d->buf[i % FLIGHT], BLOCK,
			 next_random(&d->seed) % (extent_of(&d->disk) / BLOCK) * BLOCK, NULL);
	else
		emi_write(d->file, rq, d->buf[i % FLIGHT], BLOCK, i % REGION * (uint64_t)BLOCK, NULL);
}

static void *drive(void *arg)
{
	driver *d = arg;
	em_errinfo err;
	unsigned i;

	memset(&err, 0, sizeof err);
	for (i = 0; i < d->requests + FLIGHT; i++) {
		if (i >= FLIGHT && emi_wait(&d->rq[i % FLIGHT], &err) != EM_OK)
			die(&err);
		if (i < d->requests)
			begin(d, i);
	}
	return NULL;
}

static void open_disk(driver *d, const char *options)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;
	unsigned i;

	memset(&err, 0, sizeof err);
	memset(d, 0, sizeof *d);
	opts.memory = 64 * MIB;
	opts.errinfo = &err;
	opts.custom = em_simdisk_backend(&d->disk);
	if (em_simdisk_init(&d->disk, sizeof d->disk, "120gxp", &err) != EM_OK ||
	    em_simdisk_parse(&d->disk, options, &err) != EM_OK || em_ctx_open(&d->ctx, &opts) != EM_OK ||
	    emi_file_open(&d->file, d->ctx, "/", EMI_OPEN_TEMP, &err) != EM_OK ||
	    emi_file_resize(d->file, extent_of(&d->disk), &err) != EM_OK)
		die(&err);
	for (i = 0; i < FLIGHT; i++)
		d->buf[i] = calloc(1, BLOCK);
}

static void close_disk(driver *d)
{
	unsigned i;

	emi_file_close(d->file);
	em_ctx_close(d->ctx);
	for (i = 0; i < FLIGHT; i++)
		free(d->buf[i]);
}

/* n disks at once. */
static void run(driver *all, unsigned n, unsigned requests, int anywhere)
{
	double wall = emi_now(), cpu = emi_cpu_now(), model = 0, sum = 0;
	uint64_t seeks = 0;
	unsigned i;

	for (i = 0; i < n; i++) {
		driver *d = &all[i];

		d->requests = requests;
		d->anywhere = anywhere;
		d->seed = i + 1;
		d->disk.requests = d->disk.bytes = d->disk.seeks = d->disk.busy_ns = 0;
		if (pthread_create(&d->thread, NULL, drive, d) != 0)
			exit(1);
	}
	for (i = 0; i < n; i++)
		pthread_join(all[i].thread, NULL);
	wall = emi_now() - wall;
	for (i = 0; i < n; i++) {
		double busy = (double)all[i].disk.busy_ns * 1e-9;

		model = busy > model ? busy : model;
		sum += busy;
		seeks += all[i].disk.seeks;
	}
	printf("disks=%u work=%s seeks=%llu busy=%.3f model=%.3f wall=%.3f ratio=%.4f rate=%.1f MB/s cpu=%.2f\n", n,
	       anywhere ? "random" : "stream", (unsigned long long)seeks, sum, model, wall, wall / model,
	       (double)n * requests * BLOCK / wall / 1e6, emi_cpu_now() - cpu);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char *const models[] = {"plain", "120gxp", "elite9"};
	const char *options = argc > 1 ? argv[1] : "";
	unsigned requests = argc > 2 ? (unsigned)atoi(argv[2]) : 100, i, n;
	static driver all[DISKS];

	for (i = 0; i < 3; i++) {
		em_simdisk p;

		if (em_simdisk_init(&p, sizeof p, models[i], NULL) == EM_OK)
			print_rates(models[i], &p);
	}
	for (n = 1; n <= DISKS; n++) {
		for (i = 0; i < n; i++)
			open_disk(&all[i], options);
		run(all, n, requests, 0);
		run(all, n, requests, 1);
		for (i = 0; i < n; i++)
			close_disk(&all[i]);
	}
	return 0;
}
