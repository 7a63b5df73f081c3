/* SPDX-License-Identifier: BSL-1.0 */
/* record_reader.h -- records from a stream: lines, or, of CSV, as many lines as there are up to the end of a record. */
#ifndef CLI_RECORD_READER_H
#define CLI_RECORD_READER_H

#include <stdio.h>

#include <extmem/format.h>

/* What comes first is set; all else begins as zeroes. */
typedef struct record_reader {
	em_format format;       /* with delimiters */
	FILE *in;
	char *record;           /* without its delimiter */
	size_t bytes, room;
	char *line;
	size_t line_room;
	int failed;             /* an errno, or 0 */
} record_reader;

/* 1: there is one; 0: there was none; -1: reading failed, or there is no memory for it.  Then nothing more is read, as
 * that could be from the middle of a record: failed is the errno, and later calls say the same. */
int record_reader_next(record_reader *r);

void record_reader_free(record_reader *r);

#endif
