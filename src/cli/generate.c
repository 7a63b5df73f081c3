/* SPDX-License-Identifier: BSL-1.0 */
/*
 * generate.c -- extmem generate: writes records to try things with.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/records.h"

/* What is made and written at a time: stays in the cache between the two. */
#define BUFFER_BYTES ((size_t)1 << 20)

static const char help[] =
	"Usage: extmem generate --records=N (--record-size=N | --gensort) [OPTION]...\n"
	"Write records with random keys.\n"
	"\n"
	"      --records=N       how many\n"
	"      --record-size=N   records of N random bytes; from 16 bytes up the last 8\n"
	"                        hold the number of the record, little-endian\n"
	"      --gensort         records of 100 bytes in the manner of the sort benchmark,\n"
	"                        with a key of 10 random bytes\n"
	"      --seed=S          another seed gives other records (default 0)\n"
	"  -o, --output=FILE     write to FILE instead of standard output\n"
	"      --progress        show a progress bar even if standard error is no terminal\n"
	"      --no-progress     show none\n"
	"      --help            print this help\n"
	"      --version         print the version\n";

enum { OPT_RECORDS = 256, OPT_RECORD_SIZE, OPT_GENSORT, OPT_SEED, OPT_PROGRESS, OPT_NO_PROGRESS, OPT_HELP, OPT_VERSION };

static const struct option long_options[] = {
	{ "records", required_argument, NULL, OPT_RECORDS },
	{ "record-size", required_argument, NULL, OPT_RECORD_SIZE },
	{ "gensort", no_argument, NULL, OPT_GENSORT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "output", required_argument, NULL, 'o' },
	{ "progress", no_argument, NULL, OPT_PROGRESS },
	{ "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

typedef struct generate_options {
	const char *command;
	const char *output;
	uint64_t records;
	uint64_t record_size;
	uint64_t seed;
	int have_records;
	int gensort;
	int progress;
} generate_options;

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(generate_options *g, int argc, char **argv)
{
	const char *cmd = g->command;
	int c;

	while ((c = getopt_long(argc, argv, "o:", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_RECORDS:
			if (option_number(cmd, "--records", optarg, 0, UINT64_MAX, &g->records))
				return CLI_TROUBLE;
			g->have_records = 1;
			break;
		case OPT_RECORD_SIZE:
			if (option_size(cmd, "--record-size", optarg, 1, SIZE_MAX / 2, &g->record_size))
				return CLI_TROUBLE;
			break;
		case OPT_GENSORT:
			g->gensort = 1;
			break;
		case OPT_SEED:
			if (option_number(cmd, "--seed", optarg, 0, UINT64_MAX, &g->seed))
				return CLI_TROUBLE;
			break;
		case 'o':
			if (option_name(cmd, "-o", optarg, &g->output))
				return CLI_TROUBLE;
			break;
		case OPT_PROGRESS:
			g->progress = PROGRESS_ALWAYS;
			break;
		case OPT_NO_PROGRESS:
			g->progress = PROGRESS_NEVER;
			break;
		case OPT_HELP:
			fputs(help, stdout);
			return CLI_OK;
		case OPT_VERSION:
			printf("extmem %s\n", em_version());
			return CLI_OK;
		default:
			return CLI_TROUBLE;
		}
	}
	return -1;
}

static int check_options(generate_options *g, int argc, char **argv)
{
	if (optind < argc) {
		message(g->command, "%s: no input files are read; the output is named with -o", argv[optind]);
		return -1;
	}
	if (!g->have_records) {
		message(g->command, "--records=N is missing");
		return -1;
	}
	if (g->gensort && g->record_size && g->record_size != GENSORT_RECORD_SIZE) {
		message(g->command, "--record-size: --gensort makes records of %d bytes", GENSORT_RECORD_SIZE);
		return -1;
	}
	if (g->gensort)
		g->record_size = GENSORT_RECORD_SIZE;
	if (!g->record_size) {
		message(g->command, "--record-size=N or --gensort is missing");
		return -1;
	}
	if (g->records > (uint64_t)INT64_MAX / g->record_size) {
		message(g->command, "--records %" PRIu64 ": no file can hold so many records of %" PRIu64 " bytes",
			g->records, g->record_size);
		return -1;
	}
	return 0;
}

/* Make and write all records; -1 when it failed or was interrupted. */
static int write_records(const generate_options *g, output *o, const interrupt *in)
{
	const size_t size = (size_t)g->record_size;
	const size_t most = size < BUFFER_BYTES ? BUFFER_BYTES / size : 1;
	unsigned char *buf;
	uint64_t i = 0;
	progress bar;
	size_t n;
	int ret = -1;

	progress_open(&bar, g->progress);
	buf = malloc(most * size);
	if (!buf) {
		message_errno(g->command, "--record-size", errno);
		goto out;
	}
	while (i < g->records && !interrupt_caught(in)) {
		n = g->records - i < most ? (size_t)(g->records - i) : most;
		if (g->gensort)
			records_gensort(buf, g->seed, i, n);
		else
			records_random(buf, g->seed, i, n, size);
		i += n;
		progress_update(&bar, "generate", i * size, g->records * size);
		if (output_write(o, buf, n * size))
			goto out;
	}
	if (i == g->records)
		ret = 0;
out:
	progress_close(&bar);
	free(buf);
	return ret;
}

int cli_generate(int argc, char **argv)
{
	generate_options g = { 0 };
	interrupt in;
	output o;
	int status;

	g.command = argv[0];
	status = read_options(&g, argc, argv);
	if (status >= 0)
		return status;
	if (check_options(&g, argc, argv))
		return CLI_TROUBLE;

	status = CLI_TROUBLE;
	interrupt_begin(&in);
	if (!output_open(&o, g.command, g.output) && !write_records(&g, &o, &in) && !interrupt_caught(&in) &&
	    !output_commit(&o))
		status = CLI_OK;
	output_close(&o);
	interrupt_end(&in);
	return status;
}
