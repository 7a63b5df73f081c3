/* SPDX-License-Identifier: BSL-1.0 */
/*
 * merge.c -- extmem merge: extmem sort -m under a name of its own.
 */
#include "cli/cli.h"
#include "cli/sort_command.h"

static const char help[] =
	"Usage: extmem merge [OPTION]... [FILE]...\n"
	"  or:  extmem merge [OPTION]... --files0-from=F\n"
	"Merge FILEs of lines that are sorted already.  With --record-size=N: of binary records of N bytes.\n"
	"Of files that are not in order the output is not either.\n"
	"\n"
	"Lines, as in extmem sort:\n"
	"  -k, --key=KEY  -t, --field-separator=C  -b -d -f -i -n -g -h -M -V --sort=WORD -r -s -z\n"
	"  -u, --unique             of lines with equal keys keep the first\n"
	"      --header=N           the first N lines of each FILE are left out, but those of the first stay in front\n"
	"      --csv                what is between double quotes ends no field and no line; -t, if nothing else\n"
	"      --files0-from=F      merge the files whose names, each ended by NUL, are in F\n"
	"\n"
	"Binary records:\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]  -r -s -u\n"
	"                           as in extmem sort\n"
	"\n"
	"  -o, --output=FILE        write to FILE, which may be an input, instead of standard output\n"
	"      --batch-size=N       merge at most N files at a time\n"
	"  -S -T --parallel --block-size --direct --backend --isa --stats --interval --verbose\n"
	"  --disk --scratch-max --config --no-config --no-warnings\n"
	"                           as in extmem sort\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"Exit status: 0 success, 2 trouble.\n";

static const char *merge_help(void)
{
	return help;
}

int cli_merge(int argc, char **argv)
{
	static const sort_dialect dialect = { merge_help, "", NULL, NULL, NULL, NULL, 0, MERGE_FILES };

	return sort_command_run(&dialect, argc, argv);
}
