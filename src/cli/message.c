/* SPDX-License-Identifier: BSL-1.0 */
/*
 * message.c -- error messages.
 *
 * A message is put together in memory and written with one call, so that lines of two processes
 * that share a terminal do not mix, and a file name cannot break the line or drive the terminal.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"

void message(const char *command, const char *fmt, ...)
{
	char line[4096 + 1024];
	const size_t room = sizeof(line) - 1; /* for the newline */
	va_list ap;
	size_t n, i;
	int r;

	r = snprintf(line, room, "%s: ", command);
	n = r < 0 ? 0 : (size_t)r;
	if (n < room) {
		va_start(ap, fmt);
		r = vsnprintf(line + n, room - n, fmt, ap);
		va_end(ap);
		n += r < 0 ? 0 : (size_t)r;
	}
	if (n >= room)
		n = room - 1;
	for (i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 127)
			line[i] = '?';
	line[n++] = '\n';
	fwrite(line, 1, n, stderr);
}

void message_try_help(const char *command)
{
	fprintf(stderr, "Try '%s --help' for more information.\n", command);
}

void message_errno(const char *command, const char *name, int sys_errno)
{
	message(command, "%s: %s", name, strerror(sys_errno));
}

/* Does a text name the file?  It may have cut a long path at the front, so the end decides. */
static int names(const char *text, const char *path)
{
	const size_t n = strlen(path);
	char shown[65], *c;

	snprintf(shown, sizeof(shown), "%.64s", n > 64 ? path + (n - 64) : path);
	/* In a text there are no control characters. */
	for (c = shown; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c == 0x7f)
			*c = '?';
	return strstr(text, shown) != NULL;
}

/* What the library calls by the name of a field has an option here. */
static void name_option(char *text, const char *field, const char *option)
{
	const size_t n = strlen(option);
	char *at = strstr(text, field);

	if (!at)
		return;
	memcpy(at, option, n);
	memmove(at + n, at + strlen(field), strlen(at + strlen(field)) + 1);
}

/* Is it scratch that cannot be had?  Where else it could be, the library does not know. */
static int lacks_scratch(em_status status, const char *text)
{
	if (status != EM_ERR_NOSPACE && status != EM_ERR_ACCESS && status != EM_ERR_NOENT && status != EM_ERR_IO &&
	    status != EM_ERR_EXIST)
		return 0;
	/* A limit is one of the user's own. */
	if (strstr(text, " is limited to ") != NULL)
		return 0;
	return strncmp(text, "scratch ", 8) == 0 || strstr(text, " scratch '") != NULL ||
	       strstr(text, " scratch disks ") != NULL;
}

void message_errinfo(const char *command, em_status status, const em_errinfo *err)
{
	char text[EM_ERRINFO_TEXT];
	const char *hint;

	snprintf(text, sizeof(text), "%s", err->text[0] ? err->text : em_status_text(status));
	name_option(text, "em_ctx_opts.memory", "-S");
	hint = lacks_scratch(status, text) ? " (-T, --disk or TMPDIR name another place for scratch)" : "";
	if (err->path[0] && !names(text, err->path))
		message(command, "%s: %s%s", err->path, text, hint);
	else
		message(command, "%s%s", text, hint);
}

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

const char *output_name(const char *path)
{
	return path && strcmp(path, "-") ? path : "standard output";
}
