/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_list.h -- lists of parameters: "4,16,1K", "10^3..10^6", "bufferb,mapping".
 */
#ifndef CLI_BENCH_LIST_H
#define CLI_BENCH_LIST_H

#include <stdint.h>

#define BENCH_LIST_MOST 128u

typedef struct bench_list {
	uint64_t value[BENCH_LIST_MOST];
	uint32_t n;             /* 0: nothing was said */
} bench_list;

/*
 * Read numbers, sizes when units are allowed, each from least to most.  Items are separated by commas or blanks: a
 * number, A^B, or two of these with ".." between: then from the first to no more than the second, times A or times 2.
 * Returns NULL, or what is wrong.
 */
const char *bench_list_numbers(bench_list *list, const char *text, int units, uint64_t least, uint64_t most);

/* Read words; find tells the value of one, 0 when there is none. */
const char *bench_list_words(bench_list *list, const char *text, uint32_t (*find)(const char *word));

#endif
