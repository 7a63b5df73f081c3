/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_sink.h -- where normalised keys are written, and the kinds of keys that write them; for src/key/text_*.c only.
 *
 * A sink counts everything and keeps what has room.  So one pass both writes a key and tells how long it is, and a
 * caller that guessed too little knows what to ask for.
 *
 * The emi_text_put_...() take a key of n bytes at p, which need not be terminated, and write bytes that are prefix-free
 * and compare in ascending order.  Whatever precedes them in the sink is left alone, except that bytes within its room
 * but behind what is counted may be written.
 */
#ifndef EMI_TEXT_SINK_H
#define EMI_TEXT_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <extmem/text.h>

#include "key/text.h"

#if defined(__GNUC__)
#define EMI_TEXT_INLINE static inline __attribute__((always_inline))
#define EMI_TEXT_RARE __attribute__((noinline, cold))
#else
#define EMI_TEXT_INLINE static inline
#define EMI_TEXT_RARE
#endif

typedef struct emi_sink {
	unsigned char *out;
	size_t room;
	size_t at;              /* bytes written, had there been room */
} emi_sink;

EMI_TEXT_INLINE void emi_sink_put(emi_sink *s, unsigned c)
{
	if (s->at < s->room)
		s->out[s->at] = (unsigned char)c;
	s->at++;
}

/* The lowest `bytes' bytes of a number, the most significant first. */
EMI_TEXT_INLINE void emi_sink_put_number(emi_sink *s, uint64_t v, unsigned bytes)
{
	while (bytes > 0)
		emi_sink_put(s, (unsigned)(v >> (8 * --bytes)) & 0xff);
}

/* Invert what was written from `from' on. */
void emi_sink_invert(emi_sink *s, size_t from);

#define EMI_TEXT_EVERY UINT64_C(0x0101010101010101)     /* times a byte: 8 of it */

/* 8 bytes of a text, the first the lowest of the number. */
EMI_TEXT_INLINE uint64_t emi_text_load8(const unsigned char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

/* Not 0 when one of 8 bytes is 0; the lowest bit that is set is then the highest of the first such byte.  Subtracting 1
 * from each byte sets that bit in the lowest 0; above it a borrow may set others. */
EMI_TEXT_INLINE uint64_t emi_text_zero_bytes(uint64_t x)
{
	return (x - EMI_TEXT_EVERY) & ~x & (EMI_TEXT_EVERY << 7);
}

/* Which of 8 bytes has the lowest bit that is set. */
EMI_TEXT_INLINE size_t emi_text_first_byte(uint64_t x)
{
	return (size_t)__builtin_ctzll(x) / 8;
}

EMI_TEXT_INLINE int emi_text_is_blank(unsigned c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

EMI_TEXT_INLINE int emi_text_is_digit(unsigned c)
{
	return c - '0' < 10u;
}

EMI_TEXT_INLINE int emi_text_is_letter(unsigned c)
{
	return (c | 0x20) - 'a' < 26u;
}

EMI_TEXT_INLINE unsigned emi_text_upper(unsigned c)
{
	return c - 'a' < 26u ? c - 0x20 : c;
}

/* Where the first byte that is no blank is; n when there is none. */
EMI_TEXT_INLINE size_t emi_text_skip_blanks(const unsigned char *p, size_t at, size_t n)
{
	while (at < n && emi_text_is_blank(p[at]))
		at++;
	return at;
}

/* The same for what strtold() takes for white space. */
EMI_TEXT_INLINE size_t emi_text_skip_space(const unsigned char *p, size_t at, size_t n)
{
	while (at < n && (p[at] == ' ' || p[at] - (unsigned)'\t' < 5u))
		at++;
	return at;
}

/* Does a byte count, with EM_TEXT_DICTIONARY or EM_TEXT_PRINTING among the flags?  The former wins. */
int emi_text_counts(uint32_t flags, unsigned c);

/* text_bytes.c */
void emi_text_put_bytes(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags);

/* text_number.c */
void emi_text_put_number(emi_sink *s, const unsigned char *p, size_t n);
void emi_text_put_human(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags);

/* text_general.c */
void emi_text_put_general(emi_sink *s, const unsigned char *p, size_t n);

/* text_month.c */
void emi_text_put_month(emi_sink *s, const unsigned char *p, size_t n);

/* text_version.c */
void emi_text_put_version(emi_sink *s, const unsigned char *p, size_t n, uint32_t flags);

/* How many of n bytes, which begin behind the leading blanks, the reader of a kind takes. */
size_t emi_text_number_bytes(const unsigned char *p, size_t n);
size_t emi_text_human_bytes(const unsigned char *p, size_t n, uint32_t flags);
size_t emi_text_general_bytes(const unsigned char *p, size_t n);
size_t emi_text_month_bytes(const unsigned char *p, size_t n);

/* A place in a record where a field is known to begin: { 1, 0 } to start with. */
typedef struct emi_text_place {
	uint64_t field;
	size_t at;
} emi_text_place;

/* Where a key is, whatever its kind.  Starts from a place in the same record where that helps, and leaves one that
 * helps with the next key. */
void emi_text_find_from(const emi_text *t, const em_text_key *key, const unsigned char *record, size_t n, size_t *begin,
			size_t *end, emi_text_place *place);

#endif
