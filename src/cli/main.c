/* SPDX-License-Identifier: BSL-1.0 */
/*
 * main.c -- the command extmem: finds the subcommand and runs it.
 *
 * Before anything is opened the three standard descriptors are made sure of: were one of them closed, the
 * next file opened would take its number, and a message would end up in somebody's data.  What
 * is put there is /dev/null opened the wrong way round, so using it fails as it should.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/subcommands.h"

static const char help[] =
	"Usage: extmem COMMAND [OPTION]... [FILE]...\n"
	"Work on files that are larger than memory.\n"
	"\n"
	"  sort      sort files of lines or of binary records\n"
	"  merge     merge files that are sorted already\n"
	"  unique    write each line or record once, or say how often it is there\n"
	"  top       write the first lines or records of an order\n"
	"  shuffle   put lines or records into random order\n"
	"  generate  write lines or records to try it with\n"
	"  check     tell whether files are sorted; count and checksum their lines or records\n"
	"  btree     make a B+-tree of records, in a file, and read it\n"
	"  disks     print the disks that scratch space would go to, and measure them\n"
	"  bench     measure input and output\n"
	"\n"
	"      --help     print this help, or with a COMMAND that command's\n"
	"      --version  print the version\n"
	"\n"
	"Exit status: 0 success, 1 out of order (check, sort -c), 2 trouble.\n";

/* Returns -1 when a descriptor is closed and cannot be put in place. */
static int standard_descriptors(void)
{
	static const int mode[3] = { O_WRONLY, O_RDONLY, O_RDONLY };
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", mode[fd]) != fd)
			return -1;
	return 0;
}

static int run(int argc, char **argv)
{
	static const subcommand list[] = {
		{ "sort", cli_sort },
		{ "merge", cli_merge },
		{ "unique", cli_unique },
		{ "top", cli_top },
		{ "shuffle", cli_shuffle },
		{ "generate", cli_generate },
		{ "check", cli_check },
		{ "btree", cli_btree },
		{ "disks", cli_disks },
		{ "bench", cli_bench },
	};
	static const subcommands all = { "command", help, sizeof(list) / sizeof(list[0]), list };

	return subcommands_run("extmem", &all, argc, argv);
}

/* What was printed counts only once it has arrived.  That the descriptor was closed meanwhile is no matter where
 * nothing was left to print. */
static int printed(void)
{
	if (!ferror(stdout) && !fflush(stdout) && (!fclose(stdout) || errno == EBADF))
		return 1;
	message("extmem", "standard output: %s", strerror(errno));
	return 0;
}

int main(int argc, char **argv)
{
	int status;

	if (standard_descriptors())
		return CLI_TROUBLE;
	/* A file that reaches RLIMIT_FSIZE is a write error like a full disk, not a core dump. */
	signal(SIGXFSZ, SIG_IGN);

	status = run(argc, argv);

	return printed() ? status : CLI_TROUBLE;
}
