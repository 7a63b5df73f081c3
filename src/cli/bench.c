/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench.c -- extmem bench: finds the benchmark and runs it.
 */
#include <stdio.h>
#include <string.h>

#include <extmem/base.h>

#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/message.h"

static const char help[] =
	"Usage: extmem bench NAME [OPTION]...\n"
	"Measure this machine.\n"
	"\n"
	"  io        streams of elements, read and written in four ways\n"
	"  blocks    blocks in sequence and at random, by every backend\n"
	"\n"
	"      --help     print this help, or with a NAME that benchmark's\n"
	"      --version  print the version\n";

int cli_bench(int argc, char **argv)
{
	static char io[] = "extmem bench io", blocks[] = "extmem bench blocks";

	if (argc < 2) {
		message(argv[0], "a name is missing: io or blocks");
		message_try_help(argv[0]);
		return CLI_TROUBLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(help, stdout);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("extmem %s\n", em_version());
		return CLI_OK;
	}
	if (!strcmp(argv[1], "io")) {
		argv[1] = io;
		return bench_io(argc - 1, argv + 1);
	}
	if (!strcmp(argv[1], "blocks")) {
		argv[1] = blocks;
		return bench_blocks(argc - 1, argv + 1);
	}
	message(argv[0], "%s: unknown %s", argv[1], argv[1][0] == '-' ? "option" : "benchmark");
	message_try_help(argv[0]);
	return CLI_TROUBLE;
}
