/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/text.h  Orders of records of any length, above all of lines of text.
 *
 * A text order has keys as the POSIX utility sort knows them: parts of a line that are found by counting fields and
 * characters, compared as bytes, numbers, months or versions.  The bytes are those of the C locale: a character is a
 * byte, letters are those of ASCII, a number has its decimal point as '.' and no thousands separators.
 *
 * The keys of a record are turned into bytes that memcmp() orders once, when the record is read; merging never looks at
 * fields again.
 *
 * Blanks are space, tab and newline.
 */
#ifndef EXTMEM_TEXT_H
#define EXTMEM_TEXT_H

#include <extmem/order.h>

EM_BEGIN_DECLS

/** How a key compares. */
#define EM_TEXT_BYTES 0   /**< As memcmp(), a shorter key before a longer one that begins with it. */
#define EM_TEXT_NUMERIC 1 /**< -n: blanks, '-', digits, '.', digits; of any length; no number is 0. */
#define EM_TEXT_GENERAL 2 /**< -g: what strtold() reads; no number < NaN < -inf < ... < +inf. */
#define EM_TEXT_HUMAN 3   /**< -h: by sign, then by suffix (none, K or k, M, G, T, P, E, Z, Y, R, Q), then by the
                               number. */
#define EM_TEXT_MONTH 4   /**< -M: blanks, then the first three letters; anything else < JAN < ... < DEC. */
#define EM_TEXT_VERSION 5 /**< -V: as the names of versions of files. */

/** Flags of a key. */
#define EM_TEXT_REVERSE 1u      /**< r: the largest first. */
#define EM_TEXT_SKIP_START 2u   /**< b at the start: blanks in front of the first field do not count as characters. */
#define EM_TEXT_SKIP_END 4u     /**< b at the end: likewise for the last field. */
#define EM_TEXT_DICTIONARY 8u   /**< d: only blanks, letters and digits count.  EM_TEXT_BYTES and EM_TEXT_VERSION
                                     only. */
#define EM_TEXT_FOLD 16u        /**< f: small letters count as capital ones. */
#define EM_TEXT_PRINTING 32u    /**< i: only printing characters count.  EM_TEXT_BYTES and EM_TEXT_VERSION only. */

typedef struct em_text_key {
	uint64_t first_field; /**< Field in which the key begins, from 1. */
	uint64_t first_char;  /**< Character of it with which it begins, from 1. */
	uint64_t last_field;  /**< Field in which it ends, from 1; 0: it goes to the end of the record. */
	uint64_t last_char;   /**< Last character of that field in the key, from 1; 0: the field's end. */
	int32_t kind;         /**< EM_TEXT_BYTES ... EM_TEXT_VERSION */
	uint32_t flags;       /**< EM_TEXT_REVERSE, ... */
	uint64_t reserved[3]; /**< 0. */
} em_text_key;
/** The whole record. */
#define EM_TEXT_KEY_INIT { 1, 1, 0, 0, EM_TEXT_BYTES, 0, { 0, 0, 0 } }
/** As EM_TEXT_KEY_INIT, by a call (extmem/base.h). */
EM_API void em_text_key_init(em_text_key *out);

/** Flags of a text order. */
#define EM_TEXT_KEYS_ONLY 1u    /**< Records whose keys are equal are equal.  Default: they are compared as bytes, last
                                     of all. */
#define EM_TEXT_LAST_REVERSE 2u /**< That last comparison is reversed. */
#define EM_TEXT_CSV 4u          /**< A separator between double quotes is no separator, by the rules of EM_FORMAT_CSV,
                                     which says the same of delimiters; quotes stay in the key. */

/** No separator: a field is a run of blanks and the non-blanks after it. */
#define EM_TEXT_BLANKS 0x100u

typedef struct em_text_opts {
	uint32_t size;      /**< sizeof(em_text_opts); set by the initialiser. */
	uint32_t flags;     /**< EM_TEXT_KEYS_ONLY, ... */
	uint32_t separator; /**< The byte between fields, 0...255, or EM_TEXT_BLANKS. */
	uint32_t reserved;  /**< 0 */
} em_text_opts;
#define EM_TEXT_OPTS_INIT { sizeof(em_text_opts), 0, EM_TEXT_BLANKS, 0 }
/** As EM_TEXT_OPTS_INIT, by a call (extmem/base.h). */
EM_API void em_text_opts_init(em_text_opts *out, size_t bytes);

/**
 * An order of records of any length by n text keys, the most important first.  n == 0: the whole record as bytes, as
 * memcmp() compares them, a shorter one before a longer one that begins with it (EM_TEXT_LAST_REVERSE: the
 * other way round).  opts may be NULL.  Any thread may use the order.
 *
 * Returns:
 *   EM_OK
 *   EM_ERR_INVAL   out or ctx is NULL, a kind, flag or separator is unknown, a key's first field or character is 0,
 *                  EM_TEXT_KEYS_ONLY without keys, EM_TEXT_CSV without a separator, what is reserved is not 0;
 *                  the detail names the key by its index
 *   EM_ERR_VERSION opts was made without its initialiser
 *   EM_ERR_NOMEM, EM_ERR_MEMLIMIT, EM_ERR_FORK
 */
EM_API EM_NODISCARD em_status em_order_text(em_order **out, em_ctx *ctx, const em_text_key *keys, uint32_t n,
					    const em_text_opts *opts, em_errinfo *err);

/**
 * Compare two records of any length, a of na bytes and b of nb: *result is -1, 0 or 1.  Normalises both, so it is no
 * way to sort.  Any thread.
 *
 * Returns: EM_OK, EM_ERR_INVAL (an argument is NULL, the order is of records of one size), EM_ERR_NOMEM,
 * EM_ERR_MEMLIMIT.
 */
EM_API EM_NODISCARD em_status em_text_compare(const em_order *order, const void *a, size_t na, const void *b, size_t nb,
					      int *result);

/**
 * Where key number i (from 0) of an order is in a record of n bytes: its first byte and the first behind it, offsets
 * from the record's start, *begin <= *end <= n.  For numbers, months and the like the part that is read as one: it
 * begins behind leading blanks and may be empty.  Any thread.
 *
 * Returns: EM_OK, EM_ERR_INVAL (an argument is NULL, not a text order), EM_ERR_RANGE (there is no such key).
 */
EM_API EM_NODISCARD em_status em_text_find(const em_order *order, uint32_t i, const void *record, size_t n,
					   size_t *begin, size_t *end);

/**
 * Parse a key as the command's -k spells it: F[.C][OPTS][,F[.C][OPTS]], F and C decimal numbers, OPTS letters of
 * "bdfghiMnrV".  Numbers too large for 64 bits mean "very far".  Of contradicting letters the
 * combination is refused as GNU sort refuses it ("options '-gn' are incompatible").  *own is set to 1 when any letter
 * was given, so that the caller knows whether its global options apply; own may be NULL.
 *
 * Returns: EM_OK; EM_ERR_INVAL with a message in the words of GNU sort, such as "invalid number at field start: invalid
 * count at start of 'x'".
 */
EM_API EM_NODISCARD em_status em_text_key_parse(em_text_key *out, int *own, const char *text, em_errinfo *err);

EM_END_DECLS

#endif
