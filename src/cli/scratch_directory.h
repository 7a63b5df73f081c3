/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_directory.h -- where large temporary files go.
 */
#ifndef CLI_SCRATCH_DIRECTORY_H
#define CLI_SCRATCH_DIRECTORY_H

/* Where they go when no option says it: the library does not read the environment, so this does.  *from, unless from is
 * NULL, tells the variable that says so. */
const char *scratch_directory(const char **from);

/* Is there one for this command alone? */
int scratch_directory_own(void);

#endif
