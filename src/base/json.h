/* SPDX-License-Identifier: BSL-1.0 */
/*
 * json.h -- writing JSON into a caller's room, as snprintf() does: what does not fit is left out, and counted.
 *
 * All that is written is objects of numbers and short texts, so no other library is needed for it.  Numbers are written
 * digit by digit, as printf() has the decimal point of the locale.  Texts may be names of files: what is no UTF-8
 * becomes U+FFFD.
 */
#ifndef EMI_JSON_H
#define EMI_JSON_H

#include <stddef.h>
#include <stdint.h>

typedef struct emi_json {
	char *to;               /* room for so many bytes and a zero; may be NULL if there are none */
	size_t room;
	size_t n;               /* characters so far, those for which there is no room included */
	int more;               /* something stands before in this object or list: a comma is needed */
} emi_json;

/* Write into so many bytes, of which the last is for a zero. */
void emi_json_begin(emi_json *j, char *to, size_t bytes);

/* End: puts the zero, and returns how many characters there would be. */
size_t emi_json_end(emi_json *j);

/* A key, and then its value: one of the next, a number, or a text. */
void emi_json_key(emi_json *j, const char *key);
void emi_json_open(emi_json *j, char bracket);
void emi_json_close(emi_json *j, char bracket);
void emi_json_number(emi_json *j, uint64_t n);
void emi_json_integer(emi_json *j, int64_t n);
void emi_json_seconds(emi_json *j, double seconds);
void emi_json_text(emi_json *j, const char *text);
void emi_json_null(emi_json *j);

/* The fields of a struct of a caller's, as fields.inc has them; of one that begins with its size only those that it
 * has. */
void emi_json_fields(emi_json *j, const char *type, const void *of);

#endif
