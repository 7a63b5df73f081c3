/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu.c -- the sort utility of this machine, to compare with.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gnu.h"

#define SHELL "/bin/sh"

void gnu_shell(run *r, const char *dir, const char *line, int gnu)
{
	static const char head[] = "SORT=", tail[] = " sort";
	char *command = realpath(getenv("EXTMEM"), NULL), *variable;
	run_setup setup = { 0 };

	/* The test may be told of it by a relative name, and runs it elsewhere. */
	assert_non_null(command);
	variable = malloc(sizeof(head) + sizeof(tail) + strlen(command));
	assert_non_null(variable);
	strcpy(variable, head);
	if (!gnu)
		strcat(variable, command);
	strcat(variable, gnu ? tail + 1 : tail);
	setup.program = SHELL;
	setup.dir = dir;
	setup.env[0] = variable;
	setup.env[1] = "LC_ALL=C";
	run_command(r, &setup, "-c", line, NULL);
	free(variable);
	free(command);
}

static int begins(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

void gnu_strip(char *messages)
{
	const char *from = messages;
	char *to = messages;
	size_t n;

	while (*from) {
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		if (!begins(from, "Try '")) {
			const size_t skip = begins(from, "sort: ") ? 6 : begins(from, "extmem sort: ") ? 13 : 0;

			memmove(to, from + skip, n - skip);
			to += n - skip;
		}
		from += n;
	}
	*to = '\0';
}
