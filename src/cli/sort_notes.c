/* SPDX-License-Identifier: BSL-1.0 */
/* sort_notes.c -- see sort_notes.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/sort_notes.h"

/* The variable that says in which order lines are to be compared, or NULL. */
static const char *collation_variable(void)
{
	static const char *const name[] = { "LC_ALL", "LC_COLLATE", "LANG" };
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		value = getenv(name[i]);
		if (value && *value)
			return name[i];
	}
	return NULL;
}

/* Is the order of such a locale that of bytes?  That of C.UTF-8 is. */
static int by_bytes(const char *locale)
{
	return !strcmp(locale, "C") || !strcmp(locale, "POSIX") || !strncmp(locale, "C.", 2);
}

static void note_locale(const sort_options *so)
{
	const char *variable = collation_variable();

	if (so->binary || so->dialect->kind == SHUFFLE_FILES || !variable || by_bytes(getenv(variable)))
		return;
	message(so->command, "note: the order is that of bytes, not of %s=%s; comm, join and look want LC_ALL=C for it",
		variable, getenv(variable));
}

void sort_notes(const sort_options *so)
{
	const int wanted = (so->verbose || isatty(STDERR_FILENO)) && !so->context.no_warnings;

	if (wanted || so->debug)
		note_locale(so);
	if (!wanted)
		return;
	if (so->parallel_beyond)
		message(so->command, "note: --parallel=%s: there are %u threads at most", so->parallel_beyond,
			(unsigned)so->context.ctx.threads);
	if (so->batch_beyond)
		message(so->command, "note: --batch-size=%s: at most %u are merged at a time", so->batch_beyond,
			(unsigned)so->sort.fan_in);
	if (so->compress_program)
		message(so->command, "note: --compress-program=%s is not run: see --scratch-compress",
			so->compress_program);
}
