/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_directory.c -- where large temporary files go.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdlib.h>
#include <unistd.h>

#include "cli/scratch_directory.h"

static const char *const variable[] = { "EXTMEM_TMPDIR", "TMPDIR" };

static const char *value(size_t i)
{
	const char *dir = getenv(variable[i]);

	return dir && *dir ? dir : NULL;
}

/* If nobody says: as the library has it. */
static const char *usual(void)
{
	return access("/var/tmp", W_OK | X_OK) && !access("/tmp", W_OK | X_OK) ? "/tmp" : "/var/tmp";
}

const char *scratch_directory(const char **from)
{
	const char *name = "default", *dir = usual();
	size_t i;

	for (i = 0; i < sizeof(variable) / sizeof(variable[0]); i++)
		if (value(i)) {
			name = variable[i];
			dir = value(i);
			break;
		}
	if (from)
		*from = name;
	return dir;
}

int scratch_directory_own(void)
{
	return value(0) != NULL;
}
