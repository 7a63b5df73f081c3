/* SPDX-License-Identifier: BSL-1.0 */
/*
 * model.h -- what sorting means, written as plainly as possible, to compare the command with.
 */
#ifndef CLI_MODEL_H
#define CLI_MODEL_H

#include <stddef.h>

#include "common/test.h"

#define MODEL_KEYS 3

typedef struct model_key {
	size_t offset;
	size_t width;
	char kind;              /* 'u', 'i', 'f' or 'b' (bytes) */
	int big_endian;
	int descending;
	char text[48];          /* as the option spells it */
} model_key;

typedef struct model {
	size_t size;            /* of a record */
	unsigned keys;          /* 0: all bytes */
	int reverse;
	model_key key[MODEL_KEYS];
} model;

/* An order for records of this size, with up to three keys. */
void model_random(model *m, test_rng *rng, size_t size);

/* An order of one key as the option spells it, such as "8:u64be:r". */
void model_key_parse(model_key *k, const char *text);

/* <0, 0, >0 */
int model_compare(const model *m, const unsigned char *a, const unsigned char *b);

/* Sort n records, stably; unique: keep the first of equal ones.  Returns how many are left. */
size_t model_sort(const model *m, unsigned char *records, size_t n, int unique);

/* Random records; few: of few different values, so that many are equal. */
void model_records(test_rng *rng, unsigned char *records, size_t n, size_t size, int few);

#endif
