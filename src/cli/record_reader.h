/* SPDX-License-Identifier: BSL-1.0 */
/*
 * record_reader.h -- records from a stream: lines, or, of CSV, as many lines as there are up to one that does not end in quotes.
 */
#ifndef CLI_RECORD_READER_H
#define CLI_RECORD_READER_H

#include <stdio.h>

#include "cli/text_options.h"

/* What comes first is set; all else begins as zeroes. */
typedef struct record_reader {
	const text_options *text;
	FILE *in;
	char *record;           /* without its delimiter */
	size_t bytes, room;
	char *line;
	size_t line_room;
} record_reader;

/* 1: there is one; 0: there was none; -1: there is no memory for it, and its lines so far are lost. */
int record_reader_next(record_reader *r);

void record_reader_free(record_reader *r);

#endif
