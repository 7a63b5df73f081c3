/* SPDX-License-Identifier: BSL-1.0 */
/*
 * csv.h -- where the records of a CSV file end (EM_FORMAT_CSV).
 *
 * A field that begins with a double quote goes on to the quote that closes it, and two in a row stand for one and close
 * nothing.  What is in between, delimiters too, belongs to the field.  A quote anywhere else is a byte like others.
 * Fields of keys are found by the same rules (key/text_find.c).  A record may begin with a byte order mark (key/bom.h).
 *
 * Whether a delimiter ends a record depends on all that is before it in the record.  So looking always starts at the
 * beginning of one, and can be interrupted: a state says how it goes on.
 */
#ifndef EMI_CSV_H
#define EMI_CSV_H

#include <stddef.h>

#include <extmem/format.h>

enum {
	EMI_CSV_START = 0,      /* a record begins */
	EMI_CSV_MARK = 1,       /* it began with what may be a byte order mark: behind its first byte */
	EMI_CSV_MARK2 = 2,      /* ... behind its second byte */
	EMI_CSV_FIELD = 3,      /* a field begins */
	EMI_CSV_PLAIN = 4,      /* in a field, not in quotes */
	EMI_CSV_QUOTED = 5,     /* in quotes */
	EMI_CSV_QUOTE = 6       /* behind a quote in quotes: it was the last one unless another follows */
};

#define EMI_CSV_MOST EMI_CSV_QUOTE

/* Behind the first delimiter that ends a record; NULL: there is none, and *state is that at the end. */
const unsigned char *emi_csv_first(const em_format *f, int *state, const unsigned char *p, const unsigned char *end);

/* Behind the last delimiter that ends a record, p being where one begins; NULL: there is none.  *open is the quote that
 * is open at the end, or NULL. */
const unsigned char *emi_csv_last(const em_format *f, const unsigned char *p, const unsigned char *end,
				  const unsigned char **open);

/* How many delimiters there are, whether they end records or not. */
uint64_t emi_csv_lines(const em_format *f, const unsigned char *p, const unsigned char *end);

#endif
