/* SPDX-License-Identifier: BSL-1.0 */
/* record_reader.c -- see record_reader.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record_reader.h"

static int fail(record_reader *r, int e)
{
	r->failed = e;
	return -1;
}

static int add_line(record_reader *r, size_t n)
{
	if (r->room - r->bytes < n) {
		const size_t room = r->bytes + r->bytes / 2 + n;
		char *more = realloc(r->record, room);

		if (!more)
			return fail(r, ENOMEM);
		r->record = more;
		r->room = room;
	}
	memcpy(r->record + r->bytes, r->line, n);
	r->bytes += n;
	return 0;
}

/* A line of the record; 1: it goes on, 0: it ends here, at the end of the stream at the latest. */
static int read_line(record_reader *r, uint32_t *state)
{
	ssize_t n;
	size_t end;

	errno = 0;
	n = getdelim(&r->line, &r->line_room, (int)r->format.delimiter, r->in);
	if (n < 0)
		return feof(r->in) ? 0 : fail(r, errno ? errno : EIO);
	if (add_line(r, (size_t)n))
		return -1;
	return em_record_end(&r->format, state, r->line, (size_t)n, &end) == EM_END;
}

int record_reader_next(record_reader *r)
{
	uint32_t state = 0;
	int more;

	if (r->failed)
		return -1;
	r->bytes = 0;
	do
		more = read_line(r, &state);
	while (more > 0);
	if (more < 0)
		return -1;
	if (!r->bytes)
		return 0;
	if ((unsigned char)r->record[r->bytes - 1] == r->format.delimiter)
		r->bytes--;
	return 1;
}

void record_reader_free(record_reader *r)
{
	free(r->line);
	free(r->record);
}
