/* SPDX-License-Identifier: BSL-1.0 */
/*
 * quote.c -- what was given on the command line, as a message repeats it.
 *
 * People search for messages and scripts compare them, so the quoting is that of the sort utility in the C locale.
 */
#include <stdio.h>
#include <string.h>

#include "cli/quote.h"

/* The letter that stands behind a backslash for c, or 0. */
static char escape_letter(char c)
{
	static const char from[] = "\a\b\f\n\r\t\v\\'", to[] = "abfnrtv\\'";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : '\0';
}

const char *quote(const char *text, char out[QUOTE_TEXT])
{
	const size_t room = QUOTE_TEXT - 6; /* for an escape, the quote and the NUL */
	size_t n = 0;
	char letter;

	out[n++] = '\'';
	for (; *text && n < room; text++) {
		letter = escape_letter(*text);
		if (letter) {
			out[n++] = '\\';
			out[n++] = letter;
		} else if ((unsigned char)*text < ' ' || (unsigned char)*text > '~') {
			snprintf(out + n, 5, "\\%03o", (unsigned)(unsigned char)*text);
			n += 4;
		} else {
			out[n++] = *text;
		}
	}
	out[n++] = '\'';
	out[n] = '\0';
	return out;
}

const char *quote_name(const char *name)
{
	return *name ? name : "''";
}
