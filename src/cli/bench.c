/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench.c -- extmem bench: finds the benchmark and runs it.
 */
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/subcommands.h"

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
	static const subcommand list[] = {
		{ "io", bench_io },
		{ "blocks", bench_blocks },
	};
	static const subcommands all = { "benchmark", help, sizeof(list) / sizeof(list[0]), list };

	return subcommands_run(argv[0], &all, argc, argv);
}
