/* SPDX-License-Identifier: BSL-1.0 */
/*
 * gnu_texts.h -- random and adversarial texts to compare sorts with.
 */
#ifndef CLI_GNU_TEXTS_H
#define CLI_GNU_TEXTS_H

#include "common/test.h"

typedef struct gnu_text {
	char *data;             /* for free() */
	size_t bytes;
	int long_lines;         /* there may be lines of up to 1 MiB */
} gnu_text;

/* A text whose lines end with delimiter and whose fields are often separated by separator (-1: by blanks). */
void gnu_text_make(gnu_text *t, test_rng *rng, int delimiter, int separator);

#endif
