/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_options.c -- the options of extmem sort and its relatives.
 *
 * Lines are sorted as people know it from the sort utility: its options, their spellings and what they say of mistakes.
 * Whether --record-size is among the arguments decides what -k means, so that is looked for first.
 *
 * Arguments are read in their order, because a key may be spelled +POS1 -POS2: an operand whose successor is not the
 * option that it looks like.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/obsolete_keys.h"
#include "cli/options.h"
#include "cli/quote.h"
#include "cli/sort_options.h"
#include "cli/sort_resources.h"

enum { OPT_FILES0_FROM = OPTION_OTHERS, OPT_VERBOSE };

#define LETTERS TEXT_OPTION_LETTERS RESOURCE_OPTION_LETTERS CONTEXT_OPTION_LETTERS "o:"
#define LETTERS_MOST 96

/* As the sort utility has them, but for those of text_options.c and sort_resources.c. */
static const struct option long_options[] = {
	{ "files0-from", required_argument, NULL, OPT_FILES0_FROM },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const struct option own_long_options[] = {
	{ "record-size", required_argument, NULL, OPTION_RECORD_SIZE },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ NULL, 0, NULL, 0 },
};

static int take_binary(sort_options *so, const option_reader *r, int c, const char *arg)
{
	switch (c) {
	case 's':
		so->sort.flags |= EM_SORT_STABLE;
		return 0;
	case 'u':
		so->sort.flags |= EM_SORT_UNIQUE;
		return 0;
	case 'o':
		return option_name(so->command, "-o", arg, &so->output);
	default:
		return key_options_take(&so->keys, so->command, r, c, arg);
	}
}

static int take_output(sort_options *so, const char *arg)
{
	if (so->output && strcmp(so->output, arg)) {
		message(so->command, "multiple output files specified");
		return -1;
	}
	so->output = arg;
	return 0;
}

static int take_text(sort_options *so, int c, const char *arg)
{
	switch (c) {
	case 'o':
		return take_output(so, arg);
	case OPT_FILES0_FROM:
		so->files0_from = arg;
		return 0;
	default:
		return text_options_take(&so->text, so->command, c, arg);
	}
}

/* Take an option.  Returns 0, or -1 to go no further, with *status the exit status. */
static int take(sort_options *so, const option_reader *r, int c, int *status)
{
	const sort_dialect *dialect = so->dialect;
	const int common = option_common(so->command, c, dialect->help(), &so->progress_mode);
	int wrong;

	*status = common < 0 ? CLI_OK : CLI_TROUBLE;
	if (common <= 0)
		return common;
	switch (c) {
	case '?':
		/* getopt_long() has said what is wrong. */
		return -1;
	case OPT_VERBOSE:
		so->verbose = 1;
		return 0;
	default:
		break;
	}
	wrong = dialect->take ? dialect->take(so, r, c, optarg) : 1;
	if (wrong > 0)
		wrong = context_options_take(&so->context, so->command, c, optarg);
	if (wrong > 0)
		wrong = sort_resources_take(so, r->spelled, c, optarg);
	if (wrong > 0)
		wrong = so->binary ? take_binary(so, r, c, optarg) : take_text(so, c, optarg);
	return wrong ? -1 : 0;
}

/* With POSIXLY_CORRECT options end at the first operand; but a -o with its name behind operands has always been
 * allowed. */
static int only_operands_left(const sort_options *so, const option_reader *r, int anywhere)
{
	const char *arg = optind < r->argc ? r->argv[optind] : "";

	if (!so->inputs || !getenv("POSIXLY_CORRECT"))
		return 0;
	return so->binary || !anywhere || so->check || strncmp(arg, "-o", 2) || (!arg[2] && optind + 1 == r->argc);
}

/* Read all arguments.  Returns -1 to go on, otherwise the exit status. */
static int read_arguments(sort_options *so, option_reader *r)
{
	int anywhere = obsolete_usage(), c = 0, status, took;

	for (;;) {
		if (c == -1 || only_operands_left(so, r, anywhere) || (c = option_next(r)) == -1) {
			if (optind >= r->argc)
				return -1;
			so->input[so->inputs++] = r->argv[optind++];
			continue;
		}
		if (c != 1) {
			if (take(so, r, c, &status))
				return status;
			continue;
		}
		took = 0;
		if (!so->binary && so->dialect->obsolete_keys && optarg[0] == '+')
			took = obsolete_key_take(&so->text, so->command, optarg,
						 optind < r->argc ? r->argv[optind] : NULL, &anywhere);
		if (took < 0)
			return CLI_TROUBLE;
		if (!took)
			so->input[so->inputs++] = optarg;
		else
			optind += took - 1;
	}
}

/* Put the names of --files0-from in place of operands, of which there may be none. */
static int read_names(sort_options *so)
{
	char quoted[QUOTE_TEXT];

	if (!so->files0_from)
		return 0;
	if (so->inputs) {
		message(so->command, "extra operand %s", quote(so->input[0], quoted));
		fputs("file operands cannot be combined with --files0-from\n", stderr);
		message_try_help(so->command);
		return -1;
	}
	if (files0_read(&so->files0, so->command, so->files0_from))
		return -1;
	if (so->files0.n > UINT32_MAX) {
		message(so->command, "%s: too many names", so->files0_from);
		return -1;
	}
	free(so->input);
	so->input = so->files0.name;
	so->files0.name = NULL;
	so->inputs = (uint32_t)so->files0.n;
	return 0;
}

static int finish_text(sort_options *so)
{
	const sort_dialect *dialect = so->dialect;

	if (read_names(so) || text_options_done(&so->text, so->command) || (dialect->finish && dialect->finish(so)))
		return -1;
	text_options_format(&so->text, &so->format);
	so->sort.format = &so->format;
	so->sort.header = so->text.header;
	if (so->text.stable)
		so->sort.flags |= EM_SORT_STABLE;
	if (so->text.unique)
		so->sort.flags |= EM_SORT_UNIQUE;
	return 0;
}

static int finish_binary(sort_options *so)
{
	const sort_dialect *dialect = so->dialect;

	return key_options_done(&so->keys, so->command) || (dialect->finish && dialect->finish(so)) ? -1 : 0;
}

int sort_options_read(sort_options *so, const sort_dialect *dialect, int argc, char **argv)
{
	const em_sort_opts sort_opts = EM_SORT_OPTS_INIT;
	const em_unique_opts unique_opts = EM_UNIQUE_OPTS_INIT;
	char letters[LETTERS_MOST];
	option_reader reader;
	int status;

	memset(so, 0, sizeof(*so));
	so->command = argv[0];
	so->dialect = dialect;
	so->merge = dialect->kind == MERGE_FILES;
	so->sort = sort_opts;
	so->unique = unique_opts;
	text_options_init(&so->text);
	so->input = calloc((size_t)argc + 1, sizeof(*so->input));
	if (!so->input) {
		message_errno(so->command, "options", ENOMEM);
		return CLI_TROUBLE;
	}
	/* A letter of its own comes first: it is that, whatever it means elsewhere. */
	snprintf(letters, sizeof(letters), "-%s%s", dialect->letters, LETTERS);
	option_reader_init(&reader, argc, argv, letters);
	option_reader_add(&reader, text_long_options, text_own_long_options);
	option_reader_add(&reader, long_options, own_long_options);
	option_reader_add(&reader, dialect->known_options, dialect->own_options);
	option_reader_add(&reader, resource_long_options, resource_own_long_options);
	option_reader_add(&reader, context_long_options, context_own_long_options);
	option_reader_add(&reader, NULL, common_long_options);
	if (context_options_init(&so->context, so->command, &reader))
		return CLI_TROUBLE;
	so->binary = option_find(&reader, OPTION_RECORD_SIZE);
	status = read_arguments(so, &reader);
	if (status >= 0)
		return status;
	if (so->binary ? finish_binary(so) : finish_text(so))
		return CLI_TROUBLE;
	if (!so->inputs)
		so->input[so->inputs++] = "-";
	return -1;
}

int sort_options_count(sort_options *so, const char *option, const char *arg, uint64_t least)
{
	so->counted = 1;
	return option_number(so->command, option, arg, least, UINT64_MAX, &so->count);
}

int sort_options_order(const sort_options *so, em_ctx *ctx, em_order **out)
{
	return so->binary ? key_options_order(&so->keys, so->command, ctx, out)
			  : text_options_order(&so->text, so->command, ctx, out);
}

void sort_options_free(sort_options *so)
{
	key_options_free(&so->keys);
	text_options_free(&so->text);
	files0_free(&so->files0);
	context_options_free(&so->context);
	free(so->input);
	memset(so, 0, sizeof(*so));
}
