/* SPDX-License-Identifier: BSL-1.0 */
/*
 * subcommands.h -- a command whose first argument names another: extmem, extmem btree and extmem bench.
 */
#ifndef CLI_SUBCOMMANDS_H
#define CLI_SUBCOMMANDS_H

#include <stddef.h>

typedef struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommand;

typedef struct subcommands {
	const char *what;       /* they are called, in messages: "command" */
	const char *help;
	size_t n;               /* two at least */
	const subcommand *list;
} subcommands;

/* Run the one that argv[1] names, whose argv[0] is "NAME OF-IT" then, or print the help or the version, or what is
 * wrong.  name: what the command is called.  Returns its exit status. */
int subcommands_run(const char *name, const subcommands *all, int argc, char **argv);

#endif
