/* SPDX-License-Identifier: BSL-1.0 */
/*
 * csv.c -- see csv.h.
 *
 * Most fields have no quotes, so what is looked for are quotes: up to the next one that begins a field all is plain.
 */
#include "stream/csv.h"

#include <string.h>

#include "key/bom.h"
#include "stream/bytes_last.h"

#define QUOTE '"'

static int is_mark_byte(const em_format *f, unsigned i, unsigned c)
{
	return emi_bom_byte(i, c, f->separator) && c != f->delimiter;
}

/* Where a record begins: behind its byte order mark, or what of it is here. */
static const unsigned char *skip_mark(const em_format *f, int *state, const unsigned char *p, const unsigned char *end)
{
	for (; p < end && *state < EMI_CSV_FIELD; p++) {
		if (!is_mark_byte(f, (unsigned)*state, *p)) {
			*state = *state == EMI_CSV_START ? EMI_CSV_FIELD : EMI_CSV_PLAIN;
			break;
		}
		++*state;
	}
	return p;
}

/* Is there a byte order mark between q and the delimiter in front of it? */
static int behind_mark(const em_format *f, const unsigned char *p, const unsigned char *q)
{
	return q - p > (int)EMI_BOM_BYTES && is_mark_byte(f, 2, q[-1]) && is_mark_byte(f, 1, q[-2]) &&
	       is_mark_byte(f, 0, q[-3]) && q[-4] == f->delimiter;
}

/* The first quote that begins a field, or the end.  start: a field begins at p. */
static const unsigned char *find_open(const em_format *f, int start, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *q = p;

	for (; (q = memchr(q, QUOTE, (size_t)(end - q))) != NULL; q++)
		if (q == p ? start : q[-1] == f->separator || q[-1] == f->delimiter || behind_mark(f, p, q))
			return q;
	return end;
}

/* In quotes: where plain bytes go on, or the end. */
static const unsigned char *find_close(int *state, const unsigned char *p, const unsigned char *end)
{
	for (; p < end; p++) {
		if (*state == EMI_CSV_QUOTED)
			p = memchr(p, QUOTE, (size_t)(end - p));
		if (p == NULL)
			break;
		if (*p != QUOTE) {
			*state = EMI_CSV_PLAIN;
			return p;
		}
		*state = *state == EMI_CSV_QUOTED ? EMI_CSV_QUOTE : EMI_CSV_QUOTED;
	}
	return end;
}

static int in_quotes(int state)
{
	return state == EMI_CSV_QUOTED || state == EMI_CSV_QUOTE;
}

const unsigned char *emi_csv_first(const em_format *f, int *state, const unsigned char *p, const unsigned char *end)
{
	const unsigned char *stop, *quote;
	int looked = 0;

	p = stop = skip_mark(f, state, p, end);
	while (p < end) {
		if (in_quotes(*state)) {
			p = find_close(state, p, end);
			continue;
		}
		/* A delimiter that was found stays the next one if the quotes before it did not reach it. */
		if (!looked || stop < p) {
			stop = memchr(p, (int)f->delimiter, (size_t)(end - p));
			stop = stop != NULL ? stop : end;
			looked = 1;
		}
		quote = find_open(f, *state == EMI_CSV_FIELD, p, stop);
		if (quote == stop && stop < end) {
			*state = EMI_CSV_START;
			return stop + 1;
		}
		*state = quote < end ? EMI_CSV_QUOTED : end[-1] == f->separator ? EMI_CSV_FIELD : EMI_CSV_PLAIN;
		p = quote < end ? quote + 1 : end;
	}
	return NULL;
}

const unsigned char *emi_csv_last(const em_format *f, const unsigned char *p, const unsigned char *end,
				  const unsigned char **open)
{
	const unsigned char *found = NULL, *quote = NULL;
	int state = EMI_CSV_START;

	p = skip_mark(f, &state, p, end);
	while (p < end) {
		const unsigned char *last;

		if (in_quotes(state)) {
			p = find_close(&state, p, end);
			continue;
		}
		quote = find_open(f, state == EMI_CSV_FIELD, p, end);
		last = emi_bytes_last(p, (unsigned char)f->delimiter, (size_t)(quote - p));
		if (last != NULL)
			found = last + 1;
		state = quote < end ? EMI_CSV_QUOTED : EMI_CSV_PLAIN;
		p = quote < end ? quote + 1 : end;
	}
	*open = state == EMI_CSV_QUOTED ? quote : NULL;
	return found;
}

uint64_t emi_csv_lines(const em_format *f, const unsigned char *p, const unsigned char *end)
{
	uint64_t lines = 0;

	while (p < end && (p = memchr(p, (int)f->delimiter, (size_t)(end - p))) != NULL) {
		lines++;
		p++;
	}
	return lines;
}
