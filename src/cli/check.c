/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check.c -- extmem check: are files sorted, how many records are there, and are they the same as somewhere else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_options.h"
#include "cli/cli.h"
#include "cli/message.h"

static const char help[] =
	"Usage: extmem check [OPTION]... [FILE]...\n"
	"Tell whether the lines of files, or of standard input, are in order; print their number and a\n"
	"checksum that does not depend on the order.  With --record-size=N: binary records of N bytes,\n"
	"and several files are one sequence.\n"
	"\n"
	"  -k, --key=KEY          a key, as in extmem sort; may be repeated\n"
	"  -r, --reverse          the largest first\n"
	"  -u, --unique           equal keys are out of order, too\n"
	"      --unsorted         only count and sum up, do not look at the order\n"
	"      --record-size=N    records of N bytes\n"
	"\n"
	"Lines, as in extmem sort:\n"
	"  -b -d -f -i -n -g -h -M -V --sort=WORD -s\n"
	"  -t, --field-separator=C  -z, --zero-terminated  --header=N  --csv\n"
	"\n"
	"      --progress         show a progress bar even if standard error is no terminal\n"
	"      --no-progress      show none\n"
	"      --help             print this help\n"
	"      --version          print the version\n"
	"\n"
	"Exit status: 0 in order, 1 out of order, 2 trouble.\n";

enum { OPT_UNSORTED = OPTION_OTHERS };

static const struct option long_options[] = {
	{ "record-size", required_argument, NULL, OPTION_RECORD_SIZE },
	{ "unsorted", no_argument, NULL, OPT_UNSORTED },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* Take an option.  Returns 0, or -1 to go no further, with *status the exit status. */
static int take(check_options *co, const option_reader *r, int c, int *status)
{
	const int common = option_common(co->command, c, help, &co->progress_mode);

	*status = common < 0 ? CLI_OK : CLI_TROUBLE;
	if (common <= 0)
		return common;
	switch (c) {
	case '?':
		return -1;
	case OPT_UNSORTED:
		co->unsorted = 1;
		return 0;
	default:
		break;
	}
	if (!co->binary)
		return text_options_take(&co->text, co->command, c, optarg) ? -1 : 0;
	if (c != 'u')
		return key_options_take(&co->keys, co->command, r, c, optarg);
	co->unique = 1;
	return 0;
}

/* Returns -1 to go on, otherwise the exit status. */
static int read_options(check_options *co, int argc, char **argv)
{
	option_reader r;
	int c, status;

	co->path = calloc((size_t)argc + 1, sizeof(*co->path));
	if (!co->path) {
		message_errno(co->command, "options", ENOMEM);
		return CLI_TROUBLE;
	}
	option_reader_init(&r, argc, argv, "-" TEXT_OPTION_LETTERS);
	option_reader_add(&r, text_long_options, text_own_long_options);
	option_reader_add(&r, long_options, common_long_options);
	co->binary = option_find(&r, OPTION_RECORD_SIZE);
	while (!(co->paths && getenv("POSIXLY_CORRECT")) && (c = option_next(&r)) != -1) {
		if (c == 1)
			co->path[co->paths++] = optarg;
		else if (take(co, &r, c, &status))
			return status;
	}
	while (optind < argc)
		co->path[co->paths++] = argv[optind++];
	if (!co->paths)
		co->path[co->paths++] = "-";
	if (co->binary)
		return key_options_done(&co->keys, co->command) ? CLI_TROUBLE : -1;
	co->unique = co->text.unique;
	return text_options_done(&co->text, co->command) ? CLI_TROUBLE : -1;
}

static void print_result(const check_options *co, const check_result *result)
{
	printf("records:      %" PRIu64 "\n", result->records);
	printf("checksum:     %016" PRIx64 "\n", result->checksum);
	if (co->unsorted)
		return;
	printf("duplicates:   %" PRIu64 "\n", result->duplicates);
	printf("out of order: %" PRIu64 "\n", result->disorders);
}

int cli_check(int argc, char **argv)
{
	check_options co;
	check_result result = { 0 };
	int status;

	memset(&co, 0, sizeof(co));
	co.command = argv[0];
	text_options_init(&co.text);
	status = read_options(&co, argc, argv);
	if (status >= 0)
		goto out;
	status = CLI_TROUBLE;
	if (co.binary ? check_records(&co, &result) : check_lines(&co, &result))
		goto out;
	print_result(&co, &result);
	status = result.disorder ? CLI_UNSORTED : CLI_OK;
out:
	key_options_free(&co.keys);
	text_options_free(&co.text);
	free(co.path);
	return status;
}
