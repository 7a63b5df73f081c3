/* SPDX-License-Identifier: BSL-1.0 */
/*
 * full_output.c -- see full_output.h.
 *
 * A file that is to be replaced stays until the new one is complete, so there must be room for both.  Where there is
 * not it can be overwritten, by those who take upon them that it is lost when that fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>
#include <sys/stat.h>

#include "cli/full_output.h"
#include "cli/message.h"

static int is_input(const sort_options *so, const struct stat *out)
{
	struct stat in;
	uint32_t i;

	for (i = 0; i < so->inputs; i++)
		if (strcmp(so->input[i], "-") && !stat(so->input[i], &in) && in.st_dev == out->st_dev &&
		    in.st_ino == out->st_ino)
			return 1;
	return 0;
}

int full_output_report(const sort_options *so, em_status st, const em_errinfo *err)
{
	const int as_long = so->dialect->kind == SORT_FILES && !so->merge && !(so->sort.flags & EM_SORT_UNIQUE) &&
			    !so->text.unique;
	struct stat out;

	if (st != EM_ERR_NOSPACE || !so->output || strcmp(err->path, so->output) || stat(so->output, &out) ||
	    !S_ISREG(out.st_mode))
		return 0;
	if (!is_input(so, &out))
		message(so->command, "%s; the old file stays until the new one is complete: remove it first, or "
			"overwrite it with '>' in place of -o", err->text);
	else if (as_long)
		message(so->command, "%s; the old file stays until the new one is complete: to overwrite it, 'extmem "
			"sort -T DIR FILE 1<>FILE', with room for scratch in DIR", err->text);
	else
		message(so->command, "%s; the old file stays until the new one is complete: write to another file "
			"system", err->text);
	return 1;
}
