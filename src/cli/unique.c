/* SPDX-License-Identifier: BSL-1.0 */
/*
 * unique.c -- extmem unique: sorting, and one line or record of each group of equal ones.
 *
 * Its letters are those of the uniq utility: -d and -u, which extmem sort has with other meanings, choose groups here.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/sort_command.h"

static const char help[] =
	"Usage: extmem unique [OPTION]... [FILE]...\n"
	"  or:  extmem unique [OPTION]... --files0-from=F\n"
	"Sort the lines of all FILEs together, or of standard input, and write the first of those that are equal,\n"
	"or whose keys are.  With --record-size=N: binary records of N bytes.\n"
	"\n"
	"  -c, --count              write with each how many equal ones there are: in front of a line the\n"
	"                           number and a tab, behind a record 8 bytes, least significant first\n"
	"  -d, --repeated           only those of which there are at least 2\n"
	"  -u, --unique             only those of which there is 1\n"
	"      --min-count=N        only those of which there are at least N\n"
	"      --max-count=N        only those of which there are at most N\n"
	"      --presorted          each FILE is sorted already: merge them, in one pass\n"
	"\n"
	"Lines, as in extmem sort:\n"
	"  -k, --key=KEY  -t, --field-separator=C  -b -f -i -n -g -h -M -V --sort=WORD -r -s -z\n"
	"      --dictionary-order   (without a letter here; in a key it is d)\n"
	"      --header=N           the first N lines of each FILE are left out, but those of the first stay in front\n"
	"      --csv                what is between double quotes ends no field and no line; -t, if nothing else\n"
	"      --files0-from=F      read the files whose names, each ended by NUL, are in F\n"
	"\n"
	"Binary records:\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]  -r -s\n"
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

enum { OPT_REPEATED = OPTION_DIALECT, OPT_MIN_COUNT, OPT_MAX_COUNT, OPT_PRESORTED };

/* As the uniq utility has them; --unique is among those of text_options.c. */
static const struct option known_options[] = {
	{ "count", no_argument, NULL, 'c' },
	{ "repeated", no_argument, NULL, OPT_REPEATED },
	{ NULL, 0, NULL, 0 },
};

static const struct option own_options[] = {
	{ "min-count", required_argument, NULL, OPT_MIN_COUNT },
	{ "max-count", required_argument, NULL, OPT_MAX_COUNT },
	{ "presorted", no_argument, NULL, OPT_PRESORTED },
	{ NULL, 0, NULL, 0 },
};

static const char *unique_help(void)
{
	return help;
}

/* Of several limits all hold. */
static int at_least(sort_options *so, uint64_t n)
{
	if (n > so->unique.min_count)
		so->unique.min_count = n;
	return 0;
}

static int at_most(sort_options *so, uint64_t n)
{
	if (!so->unique.max_count || n < so->unique.max_count)
		so->unique.max_count = n;
	return 0;
}

static int take(sort_options *so, const option_reader *r, int c, const char *arg)
{
	uint64_t n;

	switch (c) {
	case 'c':
		so->unique.flags |= EM_UNIQUE_COUNT;
		return 0;
	case 'd':
		/* The long option of that value is extmem sort's. */
		return strcmp(r->spelled, "-d") ? 1 : at_least(so, 2);
	case OPT_REPEATED:
		return at_least(so, 2);
	case 'u':
		return at_most(so, 1);
	case OPT_MIN_COUNT:
		return option_number(so->command, r->spelled, arg, 1, UINT64_MAX, &n) ? -1 : at_least(so, n);
	case OPT_MAX_COUNT:
		return option_number(so->command, r->spelled, arg, 1, UINT64_MAX, &n) ? -1 : at_most(so, n);
	case OPT_PRESORTED:
		so->unique.flags |= EM_UNIQUE_PRESORTED;
		return 0;
	default:
		return 1;
	}
}

static int finish(sort_options *so)
{
	/* As -d -u of the uniq utility. */
	so->nothing = so->unique.max_count && so->unique.max_count < so->unique.min_count;
	/* What is equal is what has equal keys. */
	so->text.unique = 1;
	return 0;
}

int cli_unique(int argc, char **argv)
{
	static const sort_dialect dialect = { unique_help, "c", known_options, own_options, take, finish, 0,
					      UNIQUE_FILES };

	return sort_command_run(&dialect, argc, argv);
}
