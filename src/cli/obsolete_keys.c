/* SPDX-License-Identifier: BSL-1.0 */
/*
 * obsolete_keys.c -- keys spelled +POS1 -POS2, as they were before -k.
 *
 * A position is F[.C][OPTS], the number of fields and of characters to skip, both from 0; the key reaches from one to
 * the other, which is no part of it.  So +F1.C1 -F2.C2 is -k F1+1.C1+1,F2+1.C2, and without C2 or with 0 the end is
 * that of field F2: +1 -2 is -k 2,2.  The key is put in those words and read like any other.
 *
 * What begins with '+' but is no position is the name of a file.  When _POSIX2_VERSION in the environment names a
 * standard from between 2001 and 2008, +POS1 is a name, too, unless -POS2 follows and POSIXLY_CORRECT is not set.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/obsolete_keys.h"
#include "cli/quote.h"

#define DIGITS "0123456789"
/* Numbers with more digits do not fit in 64 bits; they mean "very far", and this many are enough to say so. */
#define DIGITS_MOST 20
#define VERSION_2001 200112L
#define VERSION_2008 200809L

typedef struct position {
	char field[DIGITS_MOST + 2], character[DIGITS_MOST + 2]; /* decimal; "0" when not given */
	const char *letters;
	const char *end;        /* the first character that is no part of it */
	int dot_alone;          /* no number behind the dot */
} position;

int obsolete_usage(void)
{
	const char *text = getenv("_POSIX2_VERSION");
	char *end;
	long version;

	if (!text || !*text)
		return 1;
	errno = 0;
	version = strtol(text, &end, 10);
	if (*end)
		return 1;
	return version < VERSION_2001 || version >= VERSION_2008;
}

/* Copy a decimal number without leading zeroes; returns what stands behind it. */
static const char *copy_number(const char *p, char out[DIGITS_MOST + 2])
{
	const char *start = p + strspn(p, "0");
	size_t n = strspn(start, DIGITS);

	p = start + n;
	if (n > DIGITS_MOST) {
		memset(out, '9', DIGITS_MOST);
		n = DIGITS_MOST;
	} else {
		memcpy(out, start, n);
	}
	if (!n)
		out[n++] = '0';
	out[n] = '\0';
	return p;
}

/* Add 1 to a decimal number. */
static void increment(char text[DIGITS_MOST + 2])
{
	size_t i = strlen(text);

	while (i && text[i - 1] == '9')
		text[--i] = '0';
	if (i) {
		text[i - 1]++;
		return;
	}
	memmove(text + 1, text, strlen(text) + 1);
	text[0] = '1';
}

/* Take a position apart; at least one digit stands at p. */
static void read_position(position *pos, const char *p)
{
	pos->dot_alone = 0;
	pos->character[0] = '0';
	pos->character[1] = '\0';
	p = copy_number(p, pos->field);
	if (*p == '.') {
		p++;
		pos->dot_alone = *p < '0' || *p > '9';
		p = copy_number(p, pos->character);
	}
	pos->letters = p;
	pos->end = p + strspn(p, TEXT_LETTERS);
}

/* The end of the key, the argument behind it; -1 when it is none. */
static int read_end(position *pos, const char *command, const char *text)
{
	char quoted[QUOTE_TEXT];

	read_position(pos, text + 1);
	if (pos->dot_alone) {
		message(command, "invalid number after '.': invalid count at start of %s", quote(pos->letters, quoted));
		return -1;
	}
	if (*pos->end) {
		message(command, "stray character in field spec: invalid field specification %s", quote(text, quoted));
		return -1;
	}
	return 0;
}

/* The key in the words of -k, in new memory. */
static char *as_key(position *from, position *to)
{
	const size_t room = 8 + 4 * sizeof(from->field) + strlen(from->letters) + (to ? strlen(to->letters) : 0);
	char *text = malloc(room);
	int n;

	if (!text)
		return NULL;
	increment(from->field);
	increment(from->character);
	n = snprintf(text, room, "%s", from->field);
	/* The first character is what is meant without one. */
	if (strcmp(from->character, "1"))
		n += snprintf(text + n, room - (size_t)n, ".%s", from->character);
	n += snprintf(text + n, room - (size_t)n, "%s", from->letters);
	if (!to)
		return text;
	if (!strcmp(to->character, "0")) {
		if (!strcmp(to->field, "0"))
			increment(to->field);
		snprintf(text + n, room - (size_t)n, ",%s%s", to->field, to->letters);
	} else {
		increment(to->field);
		snprintf(text + n, room - (size_t)n, ",%s.%s%s", to->field, to->character, to->letters);
	}
	return text;
}

int obsolete_key_take(text_options *to, const char *command, const char *operand, const char *next, int *anywhere)
{
	text_origin origin = { 0 };
	position from, end;
	int has_end;
	char *text;

	has_end = next && next[0] == '-' && next[1] >= '0' && next[1] <= '9';
	if (has_end && !getenv("POSIXLY_CORRECT"))
		*anywhere = 1;
	if (!*anywhere)
		return 0;
	if (operand[1] < '0' || operand[1] > '9')
		return 0;
	read_position(&from, operand + 1);
	if (*from.end || from.dot_alone)
		return 0;
	if (has_end && read_end(&end, command, next))
		return -1;
	text = as_key(&from, has_end ? &end : NULL);
	if (!text) {
		message_errno(command, operand, ENOMEM);
		return -1;
	}
	origin.obsolete = 1;
	origin.text = text;
	if (text_options_add(to, command, text, &origin)) {
		free(text);
		return -1;
	}
	return 1 + has_end;
}
