/* SPDX-License-Identifier: BSL-1.0 */
/*
 * generate.c -- extmem generate: writes records and lines to try things with.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <extmem/sys/output.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/lines.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/records.h"

/* What is made and written at a time: stays in the cache between the two. */
#define BUFFER_BYTES ((size_t)1 << 20)
#define MEMORY_BYTES ((uint64_t)16 << 20) /* what the library may use to write it */

static const char help[] =
	"Usage: extmem generate (--records=N | --size=SIZE)\n"
	"                       (--record-size=N | --gensort | --lines[=KIND]) [OPTION]...\n"
	"Write records or lines with random keys.\n"
	"\n"
	"      --records=N       how many\n"
	"      --size=SIZE       as many as make up SIZE bytes; SIZE takes K M G T (1024),\n"
	"                        kB MB GB (1000)\n"
	"      --record-size=N   records of N random bytes; from 16 bytes up the last 8\n"
	"                        hold the number of the record, little-endian\n"
	"      --gensort         records of 100 bytes in the manner of the sort benchmark,\n"
	"                        with a key of 10 random bytes\n"
	"      --lines[=KIND]    lines of text; KIND: text (default; of --record-size bytes,\n"
	"                        100 if that is not given), short (of 10 bytes), urls, csv or\n"
	"                        csv-quoted\n"
	"      --seed=S          another seed gives other records (default 0)\n"
	"  -o, --output=FILE     write to FILE instead of standard output\n"
	"      --progress        show a progress bar even if standard error is no terminal\n"
	"      --no-progress     show none\n"
	"      --help            print this help\n"
	"      --version         print the version\n";

enum {
	OPT_RECORDS = OPTION_OTHERS,
	OPT_SIZE,
	OPT_GENSORT,
	OPT_LINES,
	OPT_SEED
};

static const struct option long_options[] = {
	{ "records", required_argument, NULL, OPT_RECORDS },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "record-size", required_argument, NULL, OPTION_RECORD_SIZE },
	{ "gensort", no_argument, NULL, OPT_GENSORT },
	{ "lines", optional_argument, NULL, OPT_LINES },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "output", required_argument, NULL, 'o' },
	{ "progress", no_argument, NULL, OPTION_PROGRESS },
	{ "no-progress", no_argument, NULL, OPTION_NO_PROGRESS },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

typedef struct generate_options {
	const char *command;
	const char *output;
	uint64_t records;       /* at most so many */
	uint64_t size;          /* and no more than make up so many bytes, or 0 */
	uint64_t record_size;   /* 0: not all have the same */
	uint64_t seed;
	uint32_t kind;          /* LINES_... */
	int have_records;
	int have_size;
	int gensort;
	int have_lines;
	int progress;
	lines lines;
} generate_options;

static int read_lines(generate_options *g, const char *text)
{
	g->have_lines = 1;
	g->kind = LINES_TEXT;
	return text ? option_word(g->command, "--lines", text, lines_name, LINES_KINDS, &g->kind) : 0;
}

static int take(generate_options *g, int c, const char *arg)
{
	const char *cmd = g->command;

	switch (c) {
	case OPT_RECORDS:
		g->have_records = 1;
		return option_number(cmd, "--records", arg, 0, UINT64_MAX, &g->records);
	case OPT_SIZE:
		g->have_size = 1;
		return option_size(cmd, "--size", arg, 0, UINT64_MAX, &g->size);
	case OPTION_RECORD_SIZE:
		return option_record_size(cmd, arg, &g->record_size);
	case OPT_GENSORT:
		g->gensort = 1;
		return 0;
	case OPT_LINES:
		return read_lines(g, arg);
	case OPT_SEED:
		return option_number(cmd, "--seed", arg, 0, UINT64_MAX, &g->seed);
	case 'o':
		return option_name(cmd, "-o", arg, &g->output);
	default:
		/* getopt_long() has said what is wrong. */
		return -1;
	}
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(generate_options *g, int argc, char **argv)
{
	int c, common;

	while ((c = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
		common = option_common(argv[0], c, help, &g->progress);
		if (common < 0)
			return CLI_OK;
		if (common > 0 && take(g, c, optarg))
			return CLI_TROUBLE;
	}
	return -1;
}

/* What one record is, and how large. */
static int check_shape(generate_options *g)
{
	if (g->gensort && g->have_lines) {
		message(g->command, "--gensort and --lines cannot be combined");
		return -1;
	}
	if (g->gensort && g->record_size && g->record_size != GENSORT_RECORD_SIZE) {
		message(g->command, "--record-size: --gensort makes records of %d bytes", GENSORT_RECORD_SIZE);
		return -1;
	}
	if (g->have_lines && g->kind != LINES_TEXT && g->record_size) {
		message(g->command, "--record-size: lines have a size that can be chosen only with --lines=text");
		return -1;
	}
	if (g->gensort)
		g->record_size = GENSORT_RECORD_SIZE;
	if (g->have_lines) {
		lines_init(&g->lines, (int)g->kind, g->seed,
			   g->record_size ? (size_t)g->record_size : LINES_TEXT_SIZE);
		g->record_size = g->lines.size;
		return 0;
	}
	if (!g->record_size) {
		message(g->command, "--record-size=N, --gensort or --lines is missing");
		return -1;
	}
	return 0;
}

/* How many there will be: after this, records and size are limits that both hold. */
static int check_volume(generate_options *g)
{
	if (g->have_records && g->have_size) {
		message(g->command, "--records and --size cannot be combined");
		return -1;
	}
	if (!g->have_records && !g->have_size) {
		message(g->command, "--records=N or --size=SIZE is missing");
		return -1;
	}
	if (g->have_size) {
		if (g->record_size)
			g->records = g->size / g->record_size + (g->size % g->record_size != 0);
		else
			g->records = g->size; /* no line is shorter than a byte */
	}
	if (g->records > (uint64_t)INT64_MAX / (g->record_size ? g->record_size : g->lines.room)) {
		if (g->have_size)
			message(g->command, "--size %" PRIu64 ": no file can be so large", g->size);
		else
			message(g->command,
				"--records %" PRIu64 ": no file can hold so many records of %" PRIu64 " bytes",
				g->records, g->record_size ? g->record_size : (uint64_t)g->lines.room);
		return -1;
	}
	return 0;
}

static int check_options(generate_options *g, int argc, char **argv)
{
	if (optind < argc) {
		message(g->command, "%s: no input files are read; the output is named with -o", argv[optind]);
		return -1;
	}
	return check_shape(g) || check_volume(g) ? -1 : 0;
}

/* Make lines from number i on in a buffer; returns how many. */
static uint64_t fill_lines(const generate_options *g, unsigned char *buf, size_t room, uint64_t i, uint64_t written,
			   size_t *bytes)
{
	const uint64_t first = i, most = g->have_size ? g->size - written : UINT64_MAX;
	size_t n = 0;

	while (i < g->records && n < most && room - n >= g->lines.room)
		n += lines_make(&g->lines, buf + n, i++);
	*bytes = n;
	return i - first;
}

/* Make records from number i on in a buffer; returns how many. */
static uint64_t fill_records(const generate_options *g, unsigned char *buf, size_t room, uint64_t i, size_t *bytes)
{
	const size_t size = (size_t)g->record_size;
	const size_t n = g->records - i < room / size ? (size_t)(g->records - i) : room / size;

	if (g->gensort)
		records_gensort(buf, g->seed, i, n);
	else
		records_random(buf, g->seed, i, n, size);
	*bytes = n * size;
	return n;
}

/* How many bytes there will be, or what it looks like now that i records are written. */
static uint64_t expected_bytes(const generate_options *g, uint64_t i, uint64_t written)
{
	if (g->have_size)
		return g->size > written ? g->size : written;
	if (g->record_size)
		return g->records * g->record_size;
	return (uint64_t)((double)written / (double)i * (double)g->records);
}

/* Say why it failed, unless a signal is the reason.  A reader that has seen enough ends it without a word, unless the
 * parent wants SIGPIPE ignored. */
static void report(const generate_options *g, const em_output *o, const interrupt *in)
{
	em_errinfo err;

	em_output_error(o, &err);
	if (err.status == EM_ERR_PIPE)
		die_of(SIGPIPE);
	if (!interrupt_caught(in))
		message_errinfo(g->command, err.status, &err);
}

/* Make and write all records; -1 when it failed or was interrupted. */
static int write_records(const generate_options *g, em_output *o, const interrupt *in)
{
	const size_t least = g->have_lines ? g->lines.room : (size_t)g->record_size;
	const size_t room = least < BUFFER_BYTES ? BUFFER_BYTES : least;
	uint64_t i = 0, written = 0;
	unsigned char *buf;
	progress bar;
	size_t n;
	int ret = -1;

	progress_open(&bar, g->progress);
	buf = malloc(room);
	if (!buf) {
		message_errno(g->command, "--record-size", errno);
		goto out;
	}
	while (i < g->records && (!g->have_size || written < g->size) && !interrupt_caught(in)) {
		if (g->have_lines)
			i += fill_lines(g, buf, room, i, written, &n);
		else
			i += fill_records(g, buf, room, i, &n);
		written += n;
		progress_update(&bar, "generate", written, expected_bytes(g, i, written));
		if (em_output_write(o, buf, n) != EM_OK) {
			report(g, o, in);
			goto out;
		}
	}
	if (!interrupt_caught(in))
		ret = 0;
out:
	progress_close(&bar);
	free(buf);
	return ret;
}

/* Through the page cache, as what is made is mostly used at once. */
static em_ctx *open_context(const generate_options *g)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	em_ctx *ctx = NULL;
	em_status st;

	opts.memory = MEMORY_BYTES;
	opts.threads = 1;
	opts.direct = EM_DIRECT_OFF;
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &opts);
	if (st != EM_OK)
		message_errinfo(g->command, st, &err);
	return ctx;
}

static int write_output(const generate_options *g, em_ctx *ctx, const interrupt *in)
{
	em_output_opts opts = EM_OUTPUT_OPTS_INIT;
	em_errinfo err = { 0 };
	em_output *o;
	em_status st;
	int status = CLI_TROUBLE;

	opts.errinfo = &err;
	st = em_output_open(&o, ctx, g->output ? g->output : "-", &opts);
	if (st != EM_OK) {
		/* It may be the directory that is wrong. */
		if (g->output)
			snprintf(err.path, sizeof(err.path), "%s", g->output);
		if (!interrupt_caught(in))
			message_errinfo(g->command, st, &err);
		return CLI_TROUBLE;
	}
	if (!write_records(g, o, in) && !interrupt_caught(in)) {
		if (em_output_commit(o) == EM_OK)
			status = CLI_OK;
		else
			report(g, o, in);
	}
	em_output_close(o);
	return status;
}

int cli_generate(int argc, char **argv)
{
	generate_options g = { 0 };
	interrupt in;
	em_ctx *ctx;
	int status;

	g.command = argv[0];
	status = read_options(&g, argc, argv);
	if (status >= 0)
		return status;
	if (check_options(&g, argc, argv))
		return CLI_TROUBLE;

	ctx = open_context(&g);
	if (!ctx)
		return CLI_TROUBLE;
	interrupt_begin(&in, ctx);
	status = write_output(&g, ctx, &in);
	interrupt_end(&in);
	em_ctx_close(ctx);
	return status;
}
