/* SPDX-License-Identifier: BSL-1.0 */
/*
 * files0.h -- a list of names of files, each ended by a NUL, as find -print0 writes it.
 */
#ifndef CLI_FILES0_H
#define CLI_FILES0_H

#include <stddef.h>

typedef struct files0 {
	char *text;             /* all names; owned */
	const char **name;      /* owned */
	size_t n;
	size_t memory;          /* bytes that both take */
} files0;

/* Read the list from a file, "-" being standard input.  Prints a message and returns -1 on failure. */
int files0_read(files0 *f, const char *command, const char *path);

void files0_free(files0 *f);

#endif
