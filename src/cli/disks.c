/* SPDX-License-Identifier: BSL-1.0 */
/*
 * disks.c -- extmem disks: the disks that scratch would go to, from options, configuration file and environment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/disks.h"
#include "cli/message.h"

#define MEASURE_USUAL ((uint64_t)128 << 20)

static const char help[] =
	"Usage: extmem disks [OPTION]...\n"
	"Print the disks that scratch space would go to with these options: what they are, how bytes\n"
	"get there, how many may be used and how many are free.\n"
	"\n"
	"  -T, --temporary-directory=DIR\n"
	"                       scratch goes to DIR\n"
	"      --disk=PATH[,SIZE[,BACKEND[,OPTION]...]]\n"
	"                       and to this disk; both may be repeated\n"
	"      --scratch-max=SIZE  --direct=off|try|on  --backend=NAME\n"
	"                       as in extmem sort\n"
	"      --config=FILE    read this configuration file, not the usual one\n"
	"      --no-config      read none\n"
	"      --measure[=SIZE] write and read SIZE bytes (default 128M) on each disk, with blocks of\n"
	"                       64K to 8M, and recommend a block size\n"
	"      --csv            print comma-separated values\n"
	"      --json           print one JSON object\n"
	"      --no-warnings    do not say that a disk is in memory\n"
	"      --help           print this help\n"
	"      --version        print the version\n"
	"\n"
	"Exit status: 0 success, 2 trouble, such as a disk that cannot be used.\n";

enum { OPT_MEASURE = OPTION_OTHERS, OPT_CSV, OPT_JSON };

static const struct option own_options[] = {
	{ "measure", optional_argument, NULL, OPT_MEASURE },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int take(disks_command *dc, int c, const char *arg)
{
	switch (c) {
	case OPT_MEASURE:
		dc->measure = MEASURE_USUAL;
		return arg ? option_size(dc->command, "--measure", arg, disks_block(MEASURE_SIZES - 1), INT64_MAX / 2,
					 &dc->measure)
			   : 0;
	case OPT_CSV:
		dc->format = DISKS_CSV;
		return 0;
	case OPT_JSON:
		dc->format = DISKS_JSON;
		return 0;
	default:
		/* getopt_long() has said what is wrong. */
		return -1;
	}
}

static int no_files(const disks_command *dc, const char *name)
{
	message(dc->command, "%s: no files are read; a disk is named with --disk or -T", name);
	return CLI_TROUBLE;
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(disks_command *dc, option_reader *r)
{
	int c, common, wrong, unused = 0;

	while ((c = option_next(r)) != -1) {
		if (c == 1)
			return no_files(dc, optarg);
		common = option_common(dc->command, c, help, &unused);
		if (common < 0)
			return CLI_OK;
		wrong = context_options_take(&dc->context, dc->command, c, optarg);
		if (wrong < 0 || (wrong > 0 && take(dc, c, optarg)))
			return CLI_TROUBLE;
	}
	return optind < r->argc ? no_files(dc, r->argv[optind]) : -1;
}

/* A context that would use them, and their list. */
static int prepare(disks_command *dc)
{
	const em_disk_opts usual = EM_DISK_OPTS_INIT;
	const em_ctx_opts *o = &dc->context.ctx;
	em_errinfo err = { 0 };
	em_status st;
	uint32_t i;

	if (context_options_apply(&dc->context, dc->command))
		return -1;
	dc->context.ctx.errinfo = &err;
	st = em_ctx_open(&dc->ctx, &dc->context.ctx);
	dc->context.ctx.errinfo = NULL;
	if (st != EM_OK) {
		message_errinfo(dc->command, st, &err);
		return -1;
	}
	dc->n = o->ndirs + o->ndisks;
	dc->disk = calloc(dc->n, sizeof(*dc->disk));
	if (!dc->disk) {
		message(dc->command, "out of memory");
		return -1;
	}
	for (i = 0; i < dc->n; i++) {
		dc->disk[i].opts = i < o->ndirs ? usual : *o->disks[i - o->ndirs];
		if (i < o->ndirs)
			dc->disk[i].opts.path = o->dirs[i];
	}
	return 0;
}

/* As the library says it when scratch is used. */
static void warn(const disks_command *dc)
{
	uint32_t i;

	for (i = 0; i < dc->n && !dc->context.no_warnings; i++)
		if (mount_in_memory(dc->disk[i].fs)) {
			message(dc->command,
				"warning: %s: scratch is on a file system in memory, which it takes beyond what is "
				"allowed",
				dc->disk[i].opts.path);
			break;
		}
}

/* What can be told is, also when some of the disks are no good. */
static int run(disks_command *dc)
{
	int bad = 0;
	uint32_t i;

	if (prepare(dc))
		return CLI_TROUBLE;
	for (i = 0; i < dc->n; i++)
		bad |= disks_look(dc, &dc->disk[i]);
	warn(dc);
	if (dc->measure && !bad)
		bad = disks_measure(dc);
	if (!interrupt_caught(&dc->in))
		disks_print(dc);
	return bad ? CLI_TROUBLE : CLI_OK;
}

int cli_disks(int argc, char **argv)
{
	disks_command dc;
	option_reader reader;
	int status = CLI_TROUBLE;

	memset(&dc, 0, sizeof(dc));
	dc.command = argv[0];
	option_reader_init(&reader, argc, argv, "-" CONTEXT_OPTION_LETTERS);
	option_reader_add(&reader, context_long_options, context_own_long_options);
	option_reader_add(&reader, NULL, own_options);
	if (!context_options_init(&dc.context, dc.command, &reader))
		status = read_options(&dc, &reader);
	if (status < 0) {
		interrupt_begin(&dc.in, NULL);
		status = run(&dc);
		em_ctx_close(dc.ctx);
		interrupt_end(&dc.in);
	}
	free(dc.disk);
	context_options_free(&dc.context);
	return status;
}
