/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines.h -- the lines of text that extmem generate --lines writes.
 */
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include <stddef.h>
#include <stdint.h>

enum { LINES_TEXT, LINES_SHORT, LINES_URLS, LINES_CSV, LINES_CSV_QUOTED, LINES_KINDS };

#define LINES_TEXT_SIZE 100     /* of lines of text when nothing else is wanted */

typedef struct lines {
	int kind;
	size_t size;            /* bytes of each line with its newline, if all have so many, or 0 */
	size_t room;            /* bytes that may be written when a line is made */
	uint64_t start;         /* of the seed's random numbers */
} lines;

/* What --lines=KIND calls them, by number. */
extern const char *const lines_name[LINES_KINDS];

/* size: that of lines of text, at least 1; other kinds have their own. */
void lines_init(lines *l, int kind, uint64_t seed, size_t size);

/* Make line number i, which depends on the seed and on i alone; returns its bytes, with the newline. */
size_t lines_make(const lines *l, unsigned char *p, uint64_t i);

#endif
