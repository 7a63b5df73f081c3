/* SPDX-License-Identifier: BSL-1.0 */
/*
 * mount_type.c -- see mount_type.h.
 *
 * The kernel's list of mounts has a line for each:
 *
 *	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
 *
 * A file is on the one whose place is the longest that its path begins with, and of several at one place on the last.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mount_type.h"

/* Undo the escapes of blanks and the like: a backslash and three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; to++) {
		if (text[0] == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 4;
		} else {
			*to = *text++;
		}
	}
	*to = '\0';
}

static int is_below(const char *path, const char *place, size_t n)
{
	return !strncmp(path, place, n) && (n == 1 || path[n] == '/' || !path[n]);
}

/* Take the type from a line that is for the path, and for no less of it than the n bytes that were best so far. */
static void read_line(char *line, const char *path, size_t *best, char out[MOUNT_TYPE])
{
	char *place = line, *type = strstr(line, " - ");
	size_t n;
	int i;

	for (i = 0; i < 4 && place; i++)
		place = strchr(place + (i != 0), ' ');
	if (!place || !type || type < place)
		return;
	place++;
	place[strcspn(place, " ")] = '\0';
	unescape(place);
	n = strlen(place);
	if (n < *best || !is_below(path, place, n))
		return;
	*best = n;
	type += 3;
	type[strcspn(type, " \n")] = '\0';
	snprintf(out, MOUNT_TYPE, "%s", type);
}

const char *mount_type(const char *path, char out[MOUNT_TYPE])
{
	char *real = realpath(path, NULL), *line = NULL;
	FILE *list = fopen("/proc/self/mountinfo", "re");
	size_t room = 0, best = 0;

	out[0] = '\0';
	while (real && list && getline(&line, &room, list) > 0)
		read_line(line, real, &best, out);
	if (list)
		fclose(list);
	free(line);
	free(real);
	return out;
}

int mount_in_memory(const char *type)
{
	return !strcmp(type, "tmpfs") || !strcmp(type, "ramfs");
}
