/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bom.h -- the byte order mark of UTF-8, which programs put in front of a CSV file.
 *
 * It is a part of the record that begins with it, but not of what opens a field: a quote behind it is one that begins
 * the first field.  Any record may begin with one, not only the first of a file.  Sorting may move that record to
 * another place, and what is read from there must be the same record.
 */
#ifndef EMI_BOM_H
#define EMI_BOM_H

#define EMI_BOM_BYTES 3u

/* Is c byte i of the mark?  One that separates fields never is. */
static inline int emi_bom_byte(unsigned i, unsigned c, unsigned separator)
{
	return c == (i == 0 ? 0xEFu : i == 1 ? 0xBBu : 0xBFu) && c != separator;
}

#endif
