/* SPDX-License-Identifier: BSL-1.0 */
/*
 * cli.h -- what the files of the command share: exit statuses and the subcommands.
 *
 * The command is a customer of the library like any other: it includes public headers only.
 * What the library never does is done here: reading the environment, printing, signals.
 */
#ifndef CLI_H
#define CLI_H

/* Exit statuses. */
enum { CLI_OK = 0, CLI_UNSORTED = 1, CLI_TROUBLE = 2 };

/* argv[0] is the full name of the subcommand ("extmem sort"), as messages and getopt_long() print it. */
int cli_sort(int argc, char **argv);
int cli_merge(int argc, char **argv);
int cli_unique(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_shuffle(int argc, char **argv);
int cli_generate(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_disks(int argc, char **argv);
int cli_btree(int argc, char **argv);
int cli_bench(int argc, char **argv);

#endif
