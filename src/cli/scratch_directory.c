/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_directory.c -- where large temporary files go.
 */
#include <stdlib.h>

#include "cli/scratch_directory.h"

static const char *const variable[] = { "EXTMEM_TMPDIR", "TMPDIR" };

static const char *value(size_t i)
{
	const char *dir = getenv(variable[i]);

	return dir && *dir ? dir : NULL;
}

const char *scratch_directory(const char **from)
{
	const char *name = "default", *dir = "/var/tmp";
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
