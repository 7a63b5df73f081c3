/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_resources.h -- the options of extmem sort that say what it may use, but for those of context_options.h: memory,
 * threads, blocks.
 */
#ifndef CLI_SORT_RESOURCES_H
#define CLI_SORT_RESOURCES_H

#include "cli/sort_options.h"

/* Their letters as in getopt_long()'s list, and their long names: those that the sort utility has, and others. */
#define RESOURCE_OPTION_LETTERS "S:"
extern const struct option resource_long_options[];
extern const struct option resource_own_long_options[];

/* Take an option, spelled like that: 0 taken, 1 it is none of these, -1 after a message. */
int sort_resources_take(sort_options *so, const char *option, int c, const char *arg);

#endif
