/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_command.h -- extmem sort and its relatives: one run, whose options are read in a dialect.
 */
#ifndef CLI_SORT_COMMAND_H
#define CLI_SORT_COMMAND_H

#include "cli/sort_options.h"

extern const sort_dialect sort_dialect_sort;

/* Read the arguments and do what they say.  Returns the exit status. */
int sort_command_run(const sort_dialect *dialect, int argc, char **argv);

#endif
