/* SPDX-License-Identifier: BSL-1.0 */
/*
 * shuffle.c -- extmem shuffle: lines or records in random order.
 *
 * What says how lines are is that of extmem sort; what says how they are ordered is refused.  Without a seed the order
 * is another one each time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/sort_command.h"

static const char help[] =
	"Usage: extmem shuffle [OPTION]... [FILE]...\n"
	"  or:  extmem shuffle [OPTION]... --files0-from=F\n"
	"Write the lines of all FILEs together, or of standard input, in random order.\n"
	"With --record-size=N: binary records of N bytes.\n"
	"\n"
	"  -n, --count=K            only K of them, chosen at random\n"
	"      --seed=S             the order that belongs to the number S, always the same for so many lines;\n"
	"                           without it, another one each time\n"
	"  -z, --zero-terminated    lines end with NUL, not newline\n"
	"      --header=N           the first N lines of each FILE are left out, but those of the first stay in front\n"
	"      --csv                what is between double quotes ends no field and no line; -t, if nothing else\n"
	"  -t, --field-separator=C  with --csv: C, not a comma, is between fields\n"
	"      --files0-from=F      read the files whose names, each ended by NUL, are in F\n"
	"      --record-size=N      records of N bytes\n"
	"\n"
	"  -o, --output=FILE        write to FILE, which may be an input, instead of standard output\n"
	"  -S -T --parallel --batch-size --run-size --block-size --direct --backend --isa --stats --interval\n"
	"  --disk --scratch-max --config --no-config --no-warnings\n"
	"                           as in extmem sort\n"
	"      --verbose            print the seed, and what the library logs\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"Exit status: 0 success, 2 trouble.\n";

enum { OPT_COUNT = OPTION_DIALECT, OPT_SEED };

static const struct option own_options[] = {
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ NULL, 0, NULL, 0 },
};

static const char *shuffle_help(void)
{
	return help;
}

/* Is it one of the options that say how lines are ordered? */
static int orders(const option_reader *r, int c)
{
	if (c == 'z' || c == 't' || !strcmp(r->spelled, "--header") || !strcmp(r->spelled, "--csv"))
		return 0;
	return (c > 0 && c < 256 && strchr(TEXT_OPTION_LETTERS, c)) || (c >= OPTION_TEXT && c < OPTION_RESOURCES);
}

static int take(sort_options *so, const option_reader *r, int c, const char *arg)
{
	if (c == OPT_COUNT || (c == 'n' && !strcmp(r->spelled, "-n")))
		return sort_options_count(so, c == 'n' ? "-n" : "--count", arg, 0);
	if (c == OPT_SEED) {
		so->seeded = 1;
		return option_number(so->command, "--seed", arg, 0, UINT64_MAX, &so->seed);
	}
	if (!orders(r, c))
		return 1;
	message(so->command, "%s: the order is random", r->spelled);
	return -1;
}

static int draw_seed(sort_options *so)
{
	static const char name[] = "/dev/urandom";
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		do
			n = read(fd, &so->seed, sizeof(so->seed));
		while (n < 0 && errno == EINTR);
	}
	if (n != (ssize_t)sizeof(so->seed))
		message_errno(so->command, name, n >= 0 ? EIO : errno);
	if (fd >= 0)
		close(fd);
	return n == (ssize_t)sizeof(so->seed) ? 0 : -1;
}

static int finish(sort_options *so)
{
	if (so->text.separator >= 0 && !so->text.csv) {
		message(so->command, "-t: the order is random, and fields matter with --csv only");
		return -1;
	}
	if (!so->seeded && draw_seed(so))
		return -1;
	so->nothing = so->counted && !so->count;
	if (so->verbose)
		message(so->command, "--seed=%" PRIu64, so->seed);
	return 0;
}

int cli_shuffle(int argc, char **argv)
{
	static const sort_dialect dialect = { shuffle_help, "n:", NULL, own_options, take, finish, 0, SHUFFLE_FILES };

	return sort_command_run(&dialect, argc, argv);
}
