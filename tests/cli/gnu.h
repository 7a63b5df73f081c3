/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu.h -- the sort utility of this machine, to compare with, where it is GNU's (common/gnu_version.h).
 */
#ifndef CLI_GNU_H
#define CLI_GNU_H

#include "cli/run.h"

/*
 * Run a line of the shell in a directory, in the C locale, with standard input empty.  $SORT in it is `extmem sort', or
 * with gnu the utility.
 */
void gnu_shell(run *r, const char *dir, const char *line, int gnu);

/*
 * The messages of a run in the form in which the two are the same: without what is in front of ": ", and without the
 * advice to try --help.  In place.
 */
void gnu_strip(char *messages);

#endif
