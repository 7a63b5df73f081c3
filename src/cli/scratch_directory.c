/* SPDX-License-Identifier: BSL-1.0 */
/*
 * scratch_directory.c -- where large temporary files go.
 */
#include <stdlib.h>

#include "cli/scratch_directory.h"

const char *scratch_directory(void)
{
	static const char *const variable[] = { "EXTMEM_TMPDIR", "TMPDIR" };
	const char *dir;
	size_t i;

	for (i = 0; i < sizeof(variable) / sizeof(variable[0]); i++) {
		dir = getenv(variable[i]);
		if (dir && *dir)
			return dir;
	}
	return "/var/tmp";
}
