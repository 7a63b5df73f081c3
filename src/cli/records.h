/* SPDX-License-Identifier: BSL-1.0 */
/*
 * records.h -- the records that extmem generate writes.
 */
#ifndef CLI_RECORDS_H
#define CLI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define GENSORT_RECORD_SIZE 100

/* Make records first ... first + n - 1 of a seed at p. */
void records_random(unsigned char *p, uint64_t seed, uint64_t first, size_t n, size_t record_size);
void records_gensort(unsigned char *p, uint64_t seed, uint64_t first, size_t n);

#endif
