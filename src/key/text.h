/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text.h -- text keys: finding them in a record, and turning them into bytes that memcmp() orders.
 *
 * The normalised key of a record is the concatenation of what its keys are turned into.  Each of these is prefix-free:
 * of the bytes that two values of a key are turned into, neither is a beginning of the other.  So the
 * concatenation compares as the keys do, one after the other, with one memcmp(), and the 8 bytes at any depth of it are
 * a prefix that the kernels can sort by.  A descending key has all its bytes inverted, which keeps it prefix-free.
 * The more of the order the first bytes tell, the faster the sort.
 */
#ifndef EMI_TEXT_H
#define EMI_TEXT_H

#include <extmem/text.h>

typedef struct emi_text {
	uint32_t n;             /* keys */
	uint32_t flags;         /* EM_TEXT_KEYS_ONLY, ... */
	uint32_t separator;     /* a byte, or EM_TEXT_BLANKS */
	uint32_t reserved;
	em_text_key key[];
} emi_text;

/* Where a key is: [*begin, *end) of the record. */
void emi_text_find(const emi_text *t, const em_text_key *key, const unsigned char *record, size_t n, size_t *begin,
		   size_t *end);

/* The fields of a record, one after the other.  *at is 0 for the first one, and has no other meaning.  Where the next
 * one is, without blanks in front of it where there is no separator; 0: there are no more. */
int emi_text_next_field(const emi_text *t, const unsigned char *record, size_t n, size_t *at, size_t *begin,
			size_t *end);

/* Write the normalised key of a record of n bytes to [out, out + room), and return how long it is.  If it is longer
 * than room, nothing that was written counts.  Pure; any thread.  In the C locale whatever the program's is. */
size_t emi_text_key(const emi_text *t, const unsigned char *record, size_t n, unsigned char *out, size_t room);

/* What names of text orders begin with, and the letters of kinds in them. */
#define EMI_TEXT_NAME "text:"
extern const char emi_text_kinds[];

/* text_name.c: is it such a name?  The order of it. */
int emi_is_text_name(const char *name);
em_status emi_order_parse_text(em_order **out, em_ctx *ctx, const char *name, em_errinfo *err);

#endif
