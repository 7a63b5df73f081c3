/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_dialect.c -- the options of extmem sort that its relatives do not have.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>

#include "cli/message.h"
#include "cli/quote.h"
#include "cli/sort_command.h"
#include "cli/sort_help.h"

enum { OPT_CHECK = OPTION_DIALECT, OPT_COMPRESS_PROGRAM, OPT_DEBUG, OPT_PLAN };

static const struct option known_options[] = {
	{ "check", optional_argument, NULL, OPT_CHECK },
	{ "compress-program", required_argument, NULL, OPT_COMPRESS_PROGRAM },
	{ "debug", no_argument, NULL, OPT_DEBUG },
	{ "merge", no_argument, NULL, 'm' },
	{ NULL, 0, NULL, 0 },
};

static const struct option own_options[] = {
	{ "plan", no_argument, NULL, OPT_PLAN },
	{ NULL, 0, NULL, 0 },
};

static int take_check(sort_options *so, int c, const char *arg)
{
	static const char *const word[] = { "quiet", "silent", "diagnose-first" };
	static const char shown[] = "  - 'quiet', 'silent'\n  - 'diagnose-first'\n";
	uint32_t i = 2;

	if (arg && option_abbreviated(so->command, "--check", arg, word, 3, shown, &i))
		return -1;
	if (c == OPT_CHECK)
		c = i == 2 ? 'c' : 'C';
	if (so->check && so->check != c) {
		message(so->command, "options '-cC' are incompatible");
		return -1;
	}
	so->check = c;
	return 0;
}

/* No program is run: scratch is compressed here, if the library can do that and --scratch-compress does not say how. */
static int take_compress_program(sort_options *so, const char *arg)
{
	if (so->compress_program && strcmp(so->compress_program, arg)) {
		message(so->command, "multiple compress programs specified");
		return -1;
	}
	so->compress_program = arg;
	return 0;
}

static void compress_scratch(sort_options *so)
{
#ifdef HAVE_LZ4
	if (so->compress_program && !so->compress_given)
		so->sort.compress = EM_COMPRESS_ALWAYS;
#else
	(void)so;
#endif
}

static int take_text(sort_options *so, const option_reader *r, int c, const char *arg)
{
	switch (c) {
	case 'c':
	case 'C':
		return take_check(so, c, NULL);
	case OPT_CHECK:
		return take_check(so, c, arg);
	case OPT_COMPRESS_PROGRAM:
		return take_compress_program(so, arg);
	case OPT_DEBUG:
		so->debug = 1;
		return 0;
	case 'y':
		/* Long ago a size; means nothing.  What is no number behind it is an operand or option. */
		if (optind > 0 && arg == r->argv[optind - 1] && arg[strspn(arg, "0123456789")])
			optind--;
		return 0;
	default:
		return 1;
	}
}

static int take(sort_options *so, const option_reader *r, int c, const char *arg)
{
	if (c == OPT_PLAN) {
		so->plan = 1;
		return 0;
	}
	if (c == 'm') {
		so->merge = 1;
		return 0;
	}
	return so->binary ? 1 : take_text(so, r, c, arg);
}

/* What cannot stand together; and what is left to do. */
static int finish(sort_options *so)
{
	char quoted[QUOTE_TEXT];

	if (so->debug && (so->check || so->output)) {
		message(so->command, "options '-%c --debug' are incompatible", so->check ? so->check : 'o');
		return -1;
	}
	if (so->check && so->inputs > 1) {
		message(so->command, "extra operand %s not allowed with -%c", quote(so->input[1], quoted), so->check);
		return -1;
	}
	if (so->check && so->output) {
		message(so->command, "options '-%co' are incompatible", so->check);
		return -1;
	}
	compress_scratch(so);
	return 0;
}

const sort_dialect sort_dialect_sort = {
	sort_help, "cCmy:", known_options, own_options, take, finish, 1, SORT_FILES,
};
