/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_help.c -- what extmem sort --help prints.
 *
 * In several strings: compilers need not take one that is longer than 4095 characters.
 */
#include <string.h>

#include "cli/sort_help.h"

static const char what[] =
	"Usage: extmem sort [OPTION]... [FILE]...\n"
	"  or:  extmem sort [OPTION]... --files0-from=F\n"
	"Sort the lines of all FILEs together, or of standard input, as sort(1) does in the C locale.\n"
	"With --record-size=N: sort binary records of N bytes.\n"
	"\n"
	"Lines:\n"
	"  -k, --key=F[.C][OPTS][,F[.C][OPTS]]\n"
	"                           a key from character C of field F to another; may be repeated\n"
	"  -t, --field-separator=C  fields are separated by C, not where blanks begin\n"
	"  -b -d -f -i              ignore leading blanks; all but blanks, letters and digits; case;\n"
	"                           what does not print\n"
	"  -n -g -h -M -V           compare numbers, numbers with exponents, numbers with K, M, G...,\n"
	"                           months, versions; also --sort=WORD\n"
	"  -r, --reverse            the largest first\n"
	"  -s, --stable             leave lines with equal keys in the order of the input\n"
	"  -u, --unique             of lines with equal keys keep the first\n"
	"  -z, --zero-terminated    lines end with NUL, not newline\n"
	"      --header=N           the first N lines of each FILE are left out, but those of the first stay in front\n"
	"      --csv                what is between double quotes ends no field and no line; -t, if nothing else\n"
	"  -c, --check              only say whether the input is sorted, and where not\n"
	"  -C, --check=quiet        only tell it by the exit status\n"
	"  -m, --merge              merge files that are sorted already\n"
	"      --debug              mark the keys in the output, and warn of doubtful options\n"
	"      --files0-from=F      sort the files whose names, each ended by NUL, are in F\n"
	"\n"
	"Binary records:\n"
	"      --record-size=N      records of N bytes\n"
	"  -k, --key=OFFSET:TYPE[:r]\n"
	"                           a key at OFFSET; TYPE: u8 u16 u32 u64 i8 i16 i32 i64 f32 f64,\n"
	"                           with be behind it for big-endian, or bytesN; r: largest first.\n"
	"                           May be repeated; without it all bytes are compared\n"
	"  -r, -s, -u, -m           as above\n"
	"\n";

static const char how[] =
	"  -o, --output=FILE        write to FILE, which may be an input, instead of standard output\n"
	"  -S, --buffer-size=SIZE   use so much memory; SIZE takes K M G T (1024), kB MB GB (1000), b and\n"
	"                           % of the memory there is; a number alone is KiB (bytes with\n"
	"                           --record-size)\n"
	"  -T, --temporary-directory=DIR\n"
	"                           scratch goes to DIR, not $EXTMEM_TMPDIR, $TMPDIR or /var/tmp\n"
	"      --disk=PATH[,SIZE[,BACKEND[,OPTION]...]]\n"
	"                           and to this disk; repeatable, too\n"
	"      --config=FILE        read FILE for such options, not the usual one\n"
	"      --no-config          read none\n"
	"      --scratch-max=SIZE   fail rather than have scratch take more than that\n"
	"      --parallel=N         compute with N threads\n"
	"      --batch-size=N       merge at most N runs at a time\n"
	"      --run-size=N         records per run\n"
	"      --block-size=SIZE    bytes per block of scratch\n"
	"      --read-buffers=N     blocks to read ahead beyond one for each run\n"
	"      --write-buffers=N    blocks for output\n"
	"      --prefetch-buffers=N order reading from several disks for so many of the blocks ahead\n"
	"      --fetch=best|naive   or read in the order of merging\n"
	"      --place-runs=cycling|striping\n"
	"                           how runs are spread over several disks (default cycling)\n"
	"      --last-run=auto|written|kept\n"
	"                           keep the last run in memory if there is room (default), or not\n"
	"      --priority=write|read|none\n"
	"                           which transfers of a disk go first (default write)\n"
	"      --scratch-compress=auto|never|always\n"
	"                           compress with LZ4 what halves while the disk is behind (default);\n"
	"                           nothing; or all that becomes shorter\n"
	"      --direct=off|try|on  bypass the page cache (default try)\n"
	"      --backend=NAME       do input and output with libaio, io_uring, syscall, stdio,\n"
	"                           mmap or memory\n"
	"      --isa=NAME           use scalar, avx2 or avx512 code\n"
	"\n"
	"      --plan               say what would be done, and do nothing\n"
	"      --stats[=json]       print statistics on standard error\n"
	"      --interval=SECONDS   every so often print what the disks do\n"
	"      --progress           show a progress bar even if standard error is no terminal\n"
	"      --no-progress        show none\n"
	"      --verbose            print the library's log\n"
	"      --no-warnings        print no warnings\n"
	"      --help               print this help\n"
	"      --version            print the version\n"
	"\n"
	"With no FILE, or when FILE is -, read standard input.\n"
	"--compress-program=PROG is accepted, and means --scratch-compress=always.\n"
	"Not supported: the collation of locales other than C, -R.\n"
	"Exit status: 0 success, 1 out of order (-c, -C), 2 trouble.\n";

const char *sort_help(void)
{
	static char help[sizeof what + sizeof how];

	memcpy(help, what, sizeof what - 1);
	memcpy(help + sizeof what - 1, how, sizeof how);
	return help;
}
