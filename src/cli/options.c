/* SPDX-License-Identifier: BSL-1.0 */
/*
 * options.c -- reading options and their arguments.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/quote.h"
#include "cli/size.h"

static int read_number(const char *command, const char *option, const char *text, int units, uint64_t least,
		       uint64_t most, uint64_t *out)
{
	const char *wrong = size_parse(text, units, out);

	if (wrong) {
		message(command, *text ? "%s %s: %s" : "%s%s: %s", option, text, wrong);
		return -1;
	}
	if (*out < least) {
		message(command, "%s %s: must be at least %" PRIu64, option, text, least);
		return -1;
	}
	if (*out > most) {
		message(command, "%s %s: must be at most %" PRIu64, option, text, most);
		return -1;
	}
	return 0;
}

int option_number(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		  uint64_t *out)
{
	return read_number(command, option, text, 0, least, most, out);
}

int option_size(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		uint64_t *out)
{
	return read_number(command, option, text, 1, least, most, out);
}

int option_record_size(const char *command, const char *text, uint64_t *out)
{
	return option_size(command, "--record-size", text, 1, SIZE_MAX / 2, out);
}

int option_name(const char *command, const char *option, const char *text, const char **out)
{
	if (!*text) {
		message(command, "%s: the name is empty", option);
		return -1;
	}
	if (*out && strcmp(*out, text)) {
		message(command, "%s %s: only one is possible, and %s was given before", option, text, *out);
		return -1;
	}
	*out = text;
	return 0;
}

int option_word(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		uint32_t *out)
{
	char list[128] = "";
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(text, words[i])) {
			*out = i;
			return 0;
		}
		if (i)
			strncat(list, i + 1 == n ? " or " : ", ", sizeof(list) - strlen(list) - 1);
		strncat(list, words[i], sizeof(list) - strlen(list) - 1);
	}
	message(command, "%s %s: must be %s", option, text, list);
	return -1;
}

/* Blanks as strtoul() skips them. */
static const char *skip_space(const char *text)
{
	return text + strspn(text, " \t\n\v\f\r");
}

int option_count(const char *command, const char *option, const char *text, uint64_t *out)
{
	const char *p = skip_space(text);
	uint64_t v = 0, digit;
	int large = 0;

	if (*p == '+')
		p++;
	if (*p < '0' || *p > '9') {
		message(command, "invalid %s argument '%s'", option, text);
		return -1;
	}
	for (; *p >= '0' && *p <= '9'; p++) {
		digit = (uint64_t)(*p - '0');
		large |= v > (UINT64_MAX - digit) / 10;
		v = v * 10 + digit;
	}
	if (*p) {
		message(command, "invalid suffix in %s argument '%s'", option, text);
		return -1;
	}
	*out = large ? UINT64_MAX : v;
	return 0;
}

int option_abbreviated(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		       const char *shown, uint32_t *out)
{
	const size_t length = strlen(text);
	char quoted[QUOTE_TEXT];
	uint32_t i, found = 0;

	for (i = 0; i < n; i++) {
		if (strncmp(words[i], text, length))
			continue;
		*out = i;
		if (!words[i][length])
			return 0;
		found++;
	}
	if (found == 1)
		return 0;
	message(command, "%s argument %s for '%s'", found ? "ambiguous" : "invalid", quote(text, quoted), option);
	fprintf(stderr, "Valid arguments are:\n%s", shown);
	message_try_help(command);
	return -1;
}

/* Go back to the front. */
static void rewind_reader(option_reader *r)
{
	r->spelled[0] = '\0';
	optind = 0; /* not 1: starts afresh in the middle of a word, too */
}

void option_reader_init(option_reader *r, int argc, char **argv, const char *letters)
{
	memset(r, 0, sizeof(*r));
	r->argc = argc;
	r->argv = argv;
	r->letters = letters;
	rewind_reader(r);
}

/* Append one list to another; what is too much is a mistake in this program, which its tests would find. */
static void append(struct option *to, const struct option *from)
{
	size_t n = 0;

	while (to[n].name)
		n++;
	for (; from && from->name && n + 1 < OPTIONS_MOST; from++)
		to[n++] = *from;
}

void option_reader_add(option_reader *r, const struct option *first, const struct option *second)
{
	append(r->first, first);
	append(r->second, second);
}

/* Does a list have a name that begins with these n characters; 2: one that is the same? */
static int has_name(const struct option *list, const char *name, size_t n)
{
	int found = 0;

	for (; list->name; list++)
		if (!strncmp(list->name, name, n)) {
			if (!list->name[n])
				return 2;
			found = 1;
		}
	return found;
}

/* The list in which to look up the option that stands at optind. */
static const struct option *list_for(const option_reader *r)
{
	const int at = optind ? optind : 1;
	const char *name = at < r->argc ? r->argv[at] : "";
	size_t n;
	int first;

	if (strncmp(name, "--", 2))
		return r->first;
	name += 2;
	n = strcspn(name, "=");
	first = has_name(r->first, name, n);
	return first == 2 || (first && has_name(r->second, name, n) < 2) ? r->first : r->second;
}

int option_next(option_reader *r)
{
	const struct option *list = list_for(r);
	int index = -1, c;

	c = getopt_long(r->argc, r->argv, r->letters, list, &index);
	if (index >= 0)
		snprintf(r->spelled, sizeof(r->spelled), "--%s", list[index].name);
	else
		snprintf(r->spelled, sizeof(r->spelled), "-%c", c);
	return c;
}

int option_find_last(option_reader *r, const int *values, const char **arg)
{
	const int old = opterr;
	int c, found = 0;
	size_t i;

	opterr = 0;
	while ((c = option_next(r)) != -1)
		for (i = 0; values[i]; i++)
			if (c == values[i]) {
				found = c;
				*arg = optarg;
			}
	opterr = old;
	rewind_reader(r);
	return found;
}

int option_find(option_reader *r, int value)
{
	const int values[] = { value, 0 };
	const char *unused;

	return option_find_last(r, values, &unused) != 0;
}

const struct option common_long_options[] = {
	{ "progress", no_argument, NULL, OPTION_PROGRESS },
	{ "no-progress", no_argument, NULL, OPTION_NO_PROGRESS },
	{ NULL, 0, NULL, 0 },
};

int option_common(const char *command, int c, const char *help, int *progress_mode)
{
	switch (c) {
	case '?':
		/* getopt_long() has said what is wrong. */
		message_try_help(command);
		return 1;
	case OPTION_PROGRESS:
		*progress_mode = PROGRESS_ALWAYS;
		return 0;
	case OPTION_NO_PROGRESS:
		*progress_mode = PROGRESS_NEVER;
		return 0;
	case OPTION_HELP:
		fputs(help, stdout);
		return -1;
	case OPTION_VERSION:
		printf("extmem %s\n", em_version());
		return -1;
	default:
		return 1;
	}
}
