/* SPDX-License-Identifier: BSL-1.0 */
/* record_reader.c -- see record_reader.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdlib.h>
#include <string.h>

#include "cli/record_reader.h"

static int add_line(record_reader *r, size_t n)
{
	if (r->room - r->bytes < n) {
		const size_t room = r->bytes + r->bytes / 2 + n;
		char *more = realloc(r->record, room);

		if (!more)
			return -1;
		r->record = more;
		r->room = room;
	}
	memcpy(r->record + r->bytes, r->line, n);
	r->bytes += n;
	return 0;
}

/* A quote opens where a field begins, and behind another one that closed: two in a row close nothing. */
static int ends_in_quotes(const record_reader *r)
{
	int quoted = 0, opens = 1;
	size_t i;

	for (i = 0; r->text->csv && i < r->bytes; i++) {
		const unsigned char c = (unsigned char)r->record[i];

		if (quoted) {
			quoted = c != '"';
			opens = !quoted;
		} else {
			quoted = c == '"' && opens;
			opens = c == r->text->separator;
		}
	}
	return quoted;
}

int record_reader_next(record_reader *r)
{
	const int delimiter = r->text->zero ? '\0' : '\n';
	ssize_t n;

	r->bytes = 0;
	do {
		n = getdelim(&r->line, &r->line_room, delimiter, r->in);
		if (n > 0 && add_line(r, (size_t)n))
			return -1;
	} while (n > 0 && ends_in_quotes(r));
	if (!r->bytes)
		return 0;
	if (r->record[r->bytes - 1] == delimiter)
		r->bytes--;
	return 1;
}

void record_reader_free(record_reader *r)
{
	free(r->line);
	free(r->record);
}
