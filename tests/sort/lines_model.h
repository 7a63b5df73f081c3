/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_model.h -- records of any length in memory, for tests of what is done with files of them.
 *
 * Each list has its records one behind the other; what is sorted is a list of their numbers, with em_text_compare(),
 * which has tests of its own.
 */
#ifndef EM_LINES_MODEL_H
#define EM_LINES_MODEL_H

#include <extmem.h>

#include "common/test.h"

typedef struct lines {
	unsigned char *bytes;
	size_t filled, room;
	size_t *end;            /* of each record in bytes */
	size_t n, n_room;
} lines;

/* What a record looks like. */
enum { LINES_ANY, LINES_FEW, LINES_WORDS, LINES_STYLES };

/* How the records of a whole list are. */
enum {
	LINES_GARBAGE,          /* any bytes but the delimiter, few different ones, or all */
	LINES_EMPTY,
	LINES_EQUAL,
	LINES_ALIKE,            /* they begin alike, and are longer */
	LINES_SORTED,
	LINES_REVERSED,
	LINES_MIXED,            /* of all kinds, with short, long and very long ones */
	LINES_PATTERNS
};

void lines_add(lines *l, const void *record, size_t n);
void lines_append(lines *l, const lines *from, size_t first, size_t end);
/* n records of at most `most' bytes without what cannot stand in a format. */
void lines_add_pattern(lines *l, test_rng *rng, int pattern, size_t n, const em_format *f, size_t most);
void lines_add_random(lines *l, test_rng *rng, int style, size_t n);
void lines_free(lines *l);
const unsigned char *lines_at(const lines *l, size_t i, size_t *n);

/* Some orders. */
#define LINES_ORDERS 6
em_order *lines_order(em_ctx *ctx, int which);

int lines_compare(const em_order *order, const lines *l, size_t i, size_t j);

/* All records from `first' on, sorted stably (unique: the first of equal ones only). */
void lines_sort(const em_order *order, lines *l, size_t first, int unique);

/* Formats: 0 lines, 1 ended by NUL, 2...9 prefixed by 1, 2, 4, 8 bytes, least and most significant first, 10 and 11
 * CSV. */
#define LINES_FORMATS 12
em_format lines_format(int which);

/* Make a record of n bytes one of CSV that has as many: in quotes, with delimiters in it, or not. */
void lines_quote(unsigned char *record, size_t n, test_rng *rng, const em_format *f);
/* The same of about half of the records of a list, if the format is CSV; others stay as they are. */
void lines_quote_some(lines *l, test_rng *rng, const em_format *f);

/* What messages call record i of a file that begins with `first': the record's number from 1, or its line in a CSV
 * file. */
uint64_t lines_number(const lines *l, size_t first, size_t i, const em_format *f);

/* Records [first, end) are a file whose first `header' are a header: what is sorted of it, behind what files before it
 * had, and how many of all records are now the header of the first file that has any. */
void lines_add_file(lines *all, size_t *header_records, const lines *l, size_t first, size_t end, uint64_t header);

/* Records [first, end) as a file has them, for free(); cut: without the last delimiter. */
unsigned char *lines_text(const lines *l, size_t first, size_t end, const em_format *f, int cut, size_t *bytes);
void lines_write(const char *path, const lines *l, size_t first, size_t end, const em_format *f, int cut);

#endif
