/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_blocks.c -- extmem bench blocks: what a block costs by backend, size and order.
 *
 * One block at a time is read or written through the library's files, sequentially or at random places, as in figures
 * 2.1 to 2.4 of the LEDA-SM report.  The file has no name and is written once before; the first repetition is not
 * counted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/file.h>

#include "cli/bench.h"
#include "cli/bench_io.h"
#include "cli/block_pass.h"
#include "cli/cli.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scratch_directory.h"
#include "cli/size.h"
#include "cli/stats.h"

static const char help[] =
	"Usage: extmem bench blocks [OPTION]...\n"
	"Read and write blocks of a file, one at a time, and print what that took: for each\n"
	"combination of the parameters the median of the seconds, MB per second, microseconds\n"
	"per block, and CPU seconds.\n"
	"\n"
	"      --backend=LIST   ways of input and output (default: all that work here, but for\n"
	"                       simdisk)\n"
	"      --op=LIST        write, read (default write,read)\n"
	"      --order=LIST     sequential, random (default both)\n"
	"      --block=LIST     bytes (default 4K,32K,256K,2M)\n"
	"      --size=SIZE      of the file (default 64M)\n"
	"      --most=N         blocks of one repetition at most (default 4096)\n"
	"      --repeat=R       repetitions, of which the first is not counted (default 4)\n"
	"      --direct=off|try|on  bypass the page cache (default try)\n"
	"  -T, --dir=DIR        the file goes to DIR, not $EXTMEM_TMPDIR, $TMPDIR or /var/tmp\n"
	"      --csv            print comma-separated values\n"
	"      --json           print one JSON object\n"
	"      --help           print this help\n"
	"      --version        print the version\n"
	"\n"
	"A LIST is separated by commas: 4K,32K or 4K..2M (times 2).\n"
	"Exit status: 0 success, 2 trouble.\n";

enum {
	OPT_BACKEND = OPTION_OTHERS,
	OPT_OP,
	OPT_ORDER,
	OPT_BLOCK,
	OPT_SIZE,
	OPT_MOST,
	OPT_REPEAT,
	OPT_DIRECT,
	OPT_CSV,
	OPT_JSON
};

static const struct option long_options[] = {
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "op", required_argument, NULL, OPT_OP },
	{ "order", required_argument, NULL, OPT_ORDER },
	{ "block", required_argument, NULL, OPT_BLOCK },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "most", required_argument, NULL, OPT_MOST },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "direct", required_argument, NULL, OPT_DIRECT },
	{ "dir", required_argument, NULL, 'T' },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

enum { SEQUENTIAL = 1, RANDOM, BLOCK_MOST = 1 << 30 };

typedef struct blocks {
	const char *command, *dir;
	bench_list backends, ops, orders, sizes; /* backends: their index, from 1 */
	uint64_t size, most, repeat;
	int32_t direct;
	int format;
	size_t printed;
	interrupt in;
} blocks;

/* One combination, and what it took. */
typedef struct trial {
	const char *backend;
	uint64_t op, order, block, n;
	double seconds[BENCH_REPEAT_MOST], cpu;
	int direct;
} trial;

static uint32_t find_backend(const char *name)
{
	uint32_t i;

	for (i = 0; i < em_backend_count(); i++)
		if (!strcmp(em_backend_at(i)->name, name))
			return i + 1;
	return 0;
}

static uint32_t find_order(const char *name)
{
	return !strcmp(name, "sequential") ? SEQUENTIAL : !strcmp(name, "random") ? RANDOM : 0;
}

static int said(const blocks *b, const char *option, const char *arg, const char *wrong)
{
	if (wrong)
		message(b->command, "%s %s: %s", option, arg, wrong);
	return wrong ? -1 : 0;
}

static int take_direct(blocks *b, const char *arg)
{
	static const char *const word[] = { "off", "try", "on" };
	static const int32_t value[] = { EM_DIRECT_OFF, EM_DIRECT_TRY, EM_DIRECT_ON };
	uint32_t i;

	if (option_word(b->command, "--direct", arg, word, 3, &i))
		return -1;
	b->direct = value[i];
	return 0;
}

static int take(blocks *b, int c, const char *arg)
{
	switch (c) {
	case OPT_BACKEND:
		return said(b, "--backend", arg, bench_list_words(&b->backends, arg, find_backend));
	case OPT_OP:
		return said(b, "--op", arg, bench_list_words(&b->ops, arg, bench_op_find));
	case OPT_ORDER:
		return said(b, "--order", arg, bench_list_words(&b->orders, arg, find_order));
	case OPT_BLOCK:
		return said(b, "--block", arg, bench_list_numbers(&b->sizes, arg, 1, 1, BLOCK_MOST));
	case OPT_SIZE:
		return option_size(b->command, "--size", arg, 1, INT64_MAX / 2, &b->size);
	case OPT_MOST:
		return option_number(b->command, "--most", arg, 1, UINT64_MAX, &b->most);
	case OPT_REPEAT:
		return option_number(b->command, "--repeat", arg, 2, BENCH_REPEAT_MOST, &b->repeat);
	case OPT_DIRECT:
		return take_direct(b, arg);
	case 'T':
		return option_name(b->command, "--dir", arg, &b->dir);
	case OPT_CSV:
		b->format = BENCH_CSV;
		return 0;
	case OPT_JSON:
		b->format = BENCH_JSON;
		return 0;
	default:
		/* getopt_long() has said what is wrong. */
		return -1;
	}
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(blocks *b, int argc, char **argv)
{
	int c, common, unused = 0;

	while ((c = getopt_long(argc, argv, "T:", long_options, NULL)) != -1) {
		common = option_common(argv[0], c, help, &unused);
		if (common < 0)
			return CLI_OK;
		if (common > 0 && take(b, c, optarg))
			return CLI_TROUBLE;
	}
	if (optind < argc) {
		message(b->command, "%s: no files are read", argv[optind]);
		return CLI_TROUBLE;
	}
	return -1;
}

/* What was not said. */
static void complete(blocks *b)
{
	uint32_t i;

	if (b->backends.n == 0)
		for (i = 0; i < em_backend_count(); i++)
			if (strcmp(em_backend_at(i)->name, "simdisk") != 0)
				b->backends.value[b->backends.n++] = i + 1;
	if (b->ops.n == 0)
		(void)bench_list_words(&b->ops, "write,read", bench_op_find);
	if (b->orders.n == 0)
		(void)bench_list_words(&b->orders, "sequential,random", find_order);
	if (b->sizes.n == 0)
		(void)bench_list_numbers(&b->sizes, "4K,32K,256K,2M", 1, 1, BLOCK_MOST);
	if (!b->dir)
		b->dir = scratch_directory(NULL);
}

static int failed(const blocks *b, em_file *f)
{
	em_errinfo err;

	em_file_error(f, &err);
	message_errinfo(b->command, err.status, &err);
	return -1;
}

/* Have the file be of its size. */
static int fill(const blocks *b, em_file *f, char *buf, uint64_t block)
{
	uint64_t at;

	for (at = 0; at < b->size; at += block) {
		const uint64_t n = b->size - at < block ? b->size - at : block;

		if (em_file_write(f, buf, (size_t)n, at) != EM_OK)
			return failed(b, f);
		if (interrupt_caught(&b->in))
			return -1;
	}
	return 0;
}

/* Once through n blocks. */
static int pass(const blocks *b, em_file *f, char *buf, const trial *t, uint64_t seed)
{
	const block_pass p = { f, buf, t->block, t->n, b->size / t->block, seed, 1, t->op == BENCH_WRITE,
			       t->order == RANDOM, &b->in };
	em_errinfo err;

	if (!block_pass_run(&p, &err))
		return 0;
	if (err.status != EM_OK)
		message_errinfo(b->command, err.status, &err);
	return -1;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(blocks *b, em_file *f, char *buf, trial *t)
{
	uint64_t i;

	t->cpu = 0;
	for (i = 0; i < b->repeat; i++) {
		const double cpu = process_cpu_seconds(), begin = monotonic_seconds();

		if (pass(b, f, buf, t, i))
			return -1;
		if (i > 0) {
			t->seconds[i - 1] = monotonic_seconds() - begin;
			t->cpu += process_cpu_seconds() - cpu;
		}
	}
	t->cpu /= (double)(b->repeat - 1);
	qsort(t->seconds, (size_t)b->repeat - 1, sizeof(t->seconds[0]), compare);
	return 0;
}

static void print_begin(const blocks *b)
{
	if (b->format == BENCH_CSV)
		printf("backend,direct,op,order,block,blocks,repeat,median_s,MBps,us_block,cpu_s\n");
	else if (b->format == BENCH_JSON)
		printf("{\"size\": %" PRIu64 ", \"runs\": [", b->size);
	else
		printf("%-9s %-6s %-5s %-10s %8s %8s %10s %9s %10s %9s\n", "backend", "direct", "op", "order", "block",
		       "blocks", "median s", "MB/s", "us/block", "cpu s");
}

static void print(blocks *b, const trial *t)
{
	const double s = t->seconds[(b->repeat - 1) / 2], rate = (double)(t->n * t->block) / s * 1e-6,
		     us = s / (double)t->n * 1e6;
	const char *order = t->order == RANDOM ? "random" : "sequential", *op = bench_op_name((uint32_t)t->op);
	char text[SIZE_TEXT];

	if (b->format == BENCH_CSV)
		printf("%s,%d,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.9f,%.3f,%.3f,%.6f\n", t->backend, t->direct,
		       op, order, t->block, t->n, b->repeat, s, rate, us, t->cpu);
	else if (b->format == BENCH_JSON)
		printf("%s\n {\"backend\": \"%s\", \"direct\": %s, \"op\": \"%s\", \"order\": \"%s\", \"block\": "
		       "%" PRIu64 ", \"blocks\": %" PRIu64 ", \"repeat\": %" PRIu64
		       ", \"median_s\": %.9f, \"MBps\": %.3f, \"us_block\": %.3f"
		       ", \"cpu_s\": %.6f}",
		       b->printed ? "," : "", t->backend, t->direct ? "true" : "false", op, order, t->block, t->n,
		       b->repeat, s, rate, us, t->cpu);
	else
		printf("%-9s %-6s %-5s %-10s %8s %8" PRIu64 " %10.6f %9.1f %10.2f %9.6f\n", t->backend,
		       t->direct ? "yes" : "no", op, order, size_format_exact(t->block, text), t->n, s, rate, us,
		       t->cpu);
	fflush(stdout);
	b->printed++;
}

/* All combinations for one file. */
static int run_file(blocks *b, em_file *f, char *buf, trial *t, uint64_t largest)
{
	uint32_t i, k, m;

	if (fill(b, f, buf, largest))
		return -1;
	t->direct = em_file_is_direct(f);
	for (i = 0; i < b->sizes.n; i++)
		for (k = 0; k < b->ops.n; k++)
			for (m = 0; m < b->orders.n; m++) {
				t->block = b->sizes.value[i];
				t->op = b->ops.value[k];
				t->order = b->orders.value[m];
				t->n = b->size / t->block < b->most ? b->size / t->block : b->most;
				if (t->n == 0)
					continue;
				if (measure(b, f, buf, t))
					return -1;
				print(b, t);
			}
	return 0;
}

static int run_backend(blocks *b, const char *name, char *buf, trial *t, uint64_t largest)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_file_opts how = EM_FILE_OPTS_INIT;
	em_errinfo err = { 0 };
	em_ctx *ctx = NULL;
	em_file *f = NULL;
	em_status st;
	int bad = -1;

	opts.backend = name;
	opts.direct = b->direct;
	opts.dirs = &b->dir;
	opts.ndirs = 1;
	opts.errinfo = how.errinfo = &err;
	how.flags = EM_OPEN_TEMP;
	t->backend = name;
	st = em_ctx_open(&ctx, &opts);
	if (st == EM_OK)
		st = em_file_open(&f, ctx, b->dir, &how);
	if (st == EM_OK)
		bad = run_file(b, f, buf, t, largest);
	else
		message_errinfo(b->command, st, &err);
	em_file_close(f);
	em_ctx_close(ctx);
	return bad;
}

static int run_all(blocks *b)
{
	uint64_t largest = 1;
	trial *t = calloc(1, sizeof(*t));
	void *buf = NULL;
	uint32_t i;
	int bad = 0;

	for (i = 0; i < b->sizes.n; i++)
		if (largest < b->sizes.value[i])
			largest = b->sizes.value[i];
	if (!t || posix_memalign(&buf, 4096, (size_t)largest)) {
		message(b->command, "out of memory");
		free(t);
		return -1;
	}
	memset(buf, 0x5a, (size_t)largest);
	print_begin(b);
	for (i = 0; i < b->backends.n && !bad; i++)
		bad = run_backend(b, em_backend_at((uint32_t)b->backends.value[i] - 1)->name, buf, t, largest);
	if (b->format == BENCH_JSON)
		printf("\n]}\n");
	free(buf);
	free(t);
	return bad;
}

int bench_blocks(int argc, char **argv)
{
	blocks b;
	int status;

	memset(&b, 0, sizeof(b));
	b.command = argv[0];
	b.size = (uint64_t)64 << 20;
	b.most = 4096;
	b.repeat = 4;
	b.direct = EM_DIRECT_TRY;
	status = read_options(&b, argc, argv);
	if (status >= 0)
		return status;
	complete(&b);
	interrupt_begin(&b.in, NULL);
	status = run_all(&b) ? CLI_TROUBLE : CLI_OK;
	interrupt_end(&b.in);
	return status;
}
