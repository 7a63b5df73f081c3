/* SPDX-License-Identifier: BSL-1.0 */
/*
 * top.c -- extmem top: the first lines or records of an order.
 *
 * -n is how many, as head has it; what it means to extmem sort has its long option and its letter in keys.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/sort_command.h"

#define COUNT 10                /* as head */

static const char help[] =
	"Usage: extmem top [OPTION]... [FILE]...\n"
	"  or:  extmem top [OPTION]... --files0-from=F\n"
	"Write the first 10 lines of all FILEs together, or of standard input, in the order of extmem sort,\n"
	"without sorting the others.  With --record-size=N: binary records of N bytes.\n"
	"\n"
	"  -n, --count=K            the first K, not 10\n"
	"      --skip=N             leave out the N before them\n"
	"\n"
	"Lines, as in extmem sort:\n"
	"  -k, --key=KEY  -t, --field-separator=C  -b -d -f -i -g -h -M -V --sort=WORD -r -s -z\n"
	"      --numeric-sort       (without a letter here; in a key it is n)\n"
	"  -u, --unique             of lines with equal keys take the first only\n"
	"      --header=N           the first N lines of each FILE do not count; those of the first stay in front\n"
	"      --csv                what is between double quotes ends no field and no line; -t, if nothing else\n"
	"      --files0-from=F      read the files whose names, each ended by NUL, are in F\n"
	"\n"
	"Binary records:\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]  -r -s -u\n"
	"                           as in extmem sort\n"
	"\n"
	"  -o, --output=FILE        write to FILE, which may be an input, instead of standard output\n"
	"  -S -T --parallel --batch-size --run-size --block-size --direct --backend --isa --stats --interval "
	"--verbose\n"
	"  --disk --scratch-max --config --no-config --no-warnings\n"
	"                           as in extmem sort\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"Exit status: 0 success, 2 trouble.\n";

enum { OPT_COUNT = OPTION_DIALECT, OPT_SKIP };

static const struct option own_options[] = {
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "skip", required_argument, NULL, OPT_SKIP },
	{ NULL, 0, NULL, 0 },
};

static const char *top_help(void)
{
	return help;
}

static int take(sort_options *so, const option_reader *r, int c, const char *arg)
{
	switch (c) {
	case 'n':
		/* The long option of that value is extmem sort's. */
		if (strcmp(r->spelled, "-n"))
			return 1;
		return sort_options_count(so, "-n", arg, 0);
	case OPT_COUNT:
		return sort_options_count(so, "--count", arg, 0);
	case OPT_SKIP:
		return option_number(so->command, "--skip", arg, 0, UINT64_MAX, &so->from);
	default:
		return 1;
	}
}

static int finish(sort_options *so)
{
	if (!so->counted)
		so->count = COUNT;
	return 0;
}

int cli_top(int argc, char **argv)
{
	static const sort_dialect dialect = { top_help, "n:", NULL, own_options, take, finish, 0, TOP_FILES };

	return sort_command_run(&dialect, argc, argv);
}
