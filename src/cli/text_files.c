/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_files.c -- looking at the files of a sort of lines before it begins.
 *
 * What is found later is reported by the library, in its words.  What is found here is
 * reported in those of the sort utility, and before hours of work rather than behind them.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/quote.h"
#include "cli/text_files.h"

static int trouble(const sort_options *so, const char *what, const char *name, int sys_errno)
{
	message(so->command, "%s: %s: %s", what, quote_name(name), strerror(sys_errno));
	return -1;
}

static int check_input(const sort_options *so, const char *name)
{
	struct stat sb;

	if (!strcmp(name, "-"))
		return 0;
	if (faccessat(AT_FDCWD, name, R_OK, AT_EACCESS))
		return trouble(so, so->check ? "open failed" : "cannot read", name, errno);
	if (!stat(name, &sb) && S_ISDIR(sb.st_mode))
		return trouble(so, "read failed", name, EISDIR);
	return 0;
}

/* Is there a directory for a new file of this name?  0 or an errno. */
static int check_directory(const char *name)
{
	const char *slash = strrchr(name, '/');
	struct stat sb;
	char *dir;
	int ret;

	if (!slash || slash == name)
		return 0;
	dir = malloc((size_t)(slash - name) + 1);
	if (!dir)
		return 0;
	memcpy(dir, name, (size_t)(slash - name));
	dir[slash - name] = '\0';
	ret = stat(dir, &sb) ? errno : S_ISDIR(sb.st_mode) ? 0 : ENOTDIR;
	free(dir);
	return ret;
}

static int check_output(const sort_options *so, const char *name)
{
	struct stat sb;
	int wrong;

	if (!name || !strcmp(name, "-"))
		return 0;
	if (!*name)
		wrong = ENOENT;
	else if (!stat(name, &sb))
		wrong = S_ISDIR(sb.st_mode) ? EISDIR : faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) ? errno : 0;
	else
		wrong = errno == ENOENT ? check_directory(name) : errno;
	return wrong ? trouble(so, "open failed", name, wrong) : 0;
}

int text_files_check(const sort_options *so)
{
	uint32_t i;

	for (i = 0; i < so->inputs; i++)
		if (check_input(so, so->input[i]))
			return -1;
	return check_output(so, so->output);
}
