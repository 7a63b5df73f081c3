/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_directory.h -- where large temporary files go.
 */
#ifndef CLI_SCRATCH_DIRECTORY_H
#define CLI_SCRATCH_DIRECTORY_H

/* Where they go when no option says it: the library does not read the environment, so this does. */
const char *scratch_directory(void);

#endif
