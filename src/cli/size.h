/* SPDX-License-Identifier: BSL-1.0 */
/*
 * size.h -- sizes as people write and read them.
 */
#ifndef CLI_SIZE_H
#define CLI_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* Room for what size_format() makes. */
#define SIZE_TEXT 32

/*
 * Read a decimal number with, when units are allowed, a unit behind it: K M G T (also KiB ... TiB) are
 * powers of 1024, kB MB GB TB (also KB) powers of 1000, B and nothing are bytes.
 * Returns NULL, or what is wrong.
 */
const char *size_parse(const char *text, int units, uint64_t *out);

/* What may be wrong with a size of memory. */
enum { SIZE_OK, SIZE_INVALID, SIZE_SUFFIX, SIZE_LARGE };

/*
 * Read a size of memory as the sort utility does: without a unit it is in KiB; b is bytes, K to Y (k, m, g and t,
 * too) are powers of 1024, each alone meaning one of it, and % is a part of the memory there is.  The units of
 * size_parse() with more than one letter, and B, are taken, too.  *percent is 0 unless it was one.
 */
int size_parse_memory(const char *text, uint64_t *bytes, uint64_t *percent);

/* Write bytes with three digits and a unit of 1024: "1.50 GiB".  Returns out. */
const char *size_format(double bytes, char out[SIZE_TEXT]);

/* Write bytes so that size_parse() reads the same number again: "3M", "4100K", "1234567".  Returns out. */
const char *size_format_exact(uint64_t bytes, char out[SIZE_TEXT]);

#endif
