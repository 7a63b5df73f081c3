/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_help.h -- what extmem sort --help prints.
 */
#ifndef CLI_SORT_HELP_H
#define CLI_SORT_HELP_H

/* The text; static. */
const char *sort_help(void);

#endif
