/* SPDX-License-Identifier: BSL-1.0 */
/* gnu_version.c -- see gnu_version.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "common/gnu_version.h"

#include <stdio.h>
#include <string.h>

int gnu_version(const char *sort)
{
	char command[512], line[128] = "";
	int major = 0, minor = 0;
	const char *words;
	FILE *f;

	snprintf(command, sizeof(command), "%s --version 2>/dev/null", sort);
	f = popen(command, "r");
	if (f == NULL)
		return 0;
	words = fgets(line, sizeof(line), f) != NULL ? strstr(line, "(GNU coreutils) ") : NULL;
	pclose(f);
	return words != NULL && sscanf(words, "(GNU coreutils) %d.%d", &major, &minor) == 2 ? 100 * major + minor : 0;
}
