/* SPDX-License-Identifier: BSL-1.0 */
/**
 * @file extmem/format.h  How records of any length stand in a file.
 *
 * Either each record ends with a delimiter, which is one byte and no part of the record, as the lines of a text; or
 * each is preceded by its length in bytes.
 *
 * In a CSV file (RFC 4180) a record is fields with separators between them.  A field that begins with a double quote
 * goes on to the quote that closes it: delimiters and separators in between are part of it, and two quotes in a row
 * stand for one and close nothing.  A quote that is not the first byte of a field is a byte like others.  Records keep
 * their quotes.  A record, as the first of a file, may begin with a byte order mark of UTF-8, which it keeps.  A quote
 * behind that is the first byte of a field.
 */
#ifndef EXTMEM_FORMAT_H
#define EXTMEM_FORMAT_H

#include <stddef.h>

#include <extmem/base.h>
#include <extmem/status.h>

EM_BEGIN_DECLS

/** Kinds of formats. */
#define EM_FORMAT_DELIMITED 0 /**< A delimiter ends each record; at the end of a file it may be missing. */
#define EM_FORMAT_PREFIXED 1  /**< An unsigned number of `width' bytes, the length, precedes each record. */
#define EM_FORMAT_CSV 2       /**< Delimited, but a delimiter in quotes ends no record.  What numbers records of a file,
                                   as messages do, then numbers its lines, of which a record may have several. */

/** Flags of a format. */
#define EM_FORMAT_BIG_ENDIAN 1u /**< Prefixes have their most significant byte first; default: least first. */

typedef struct em_format {
	uint32_t size;      /**< sizeof(em_format); set by the initialiser. */
	int32_t kind;       /**< EM_FORMAT_DELIMITED, ... */
	uint32_t delimiter; /**< 0...255; not EM_FORMAT_PREFIXED.  In a CSV file no double quote. */
	uint32_t width;     /**< Bytes of a prefix: 1, 2, 4 or 8; EM_FORMAT_PREFIXED only. */
	uint32_t flags;     /**< EM_FORMAT_BIG_ENDIAN; EM_FORMAT_PREFIXED only. */
	uint32_t separator; /**< The byte between fields, 0...255, no double quote; EM_FORMAT_CSV only. */
} em_format;

/** Lines of text. */
#define EM_FORMAT_INIT { sizeof(em_format), EM_FORMAT_DELIMITED, '\n', 0, 0, 0 }
/** As EM_FORMAT_INIT, by a call (extmem/base.h). */
EM_API void em_format_init(em_format *out, size_t bytes);

/**
 * Where the record that begins at data ends, in n bytes: *end is the number of those up to and with its delimiter.
 * If it does not end there, look for its end in the bytes that follow, with *state as it was left.
 *
 * @param state  0 where a record begins; it is 0 again when the end is found, and has no other meaning
 *
 * Returns: EM_OK, EM_END (the record does not end in these bytes; *end is left alone), EM_ERR_INVAL (an argument is
 * NULL, the format is none, or has prefixes, *state is none), EM_ERR_VERSION (format was made without its initialiser).
 * Any thread.
 */
EM_API EM_NODISCARD em_status em_record_end(const em_format *format, uint32_t *state, const void *data, size_t n,
					    size_t *end);

EM_END_DECLS

#endif
