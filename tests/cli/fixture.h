/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fixture.h -- what most tests of the command need: a directory with names in it of files that are not there yet, and
 * one for scratch files.
 */
#ifndef CLI_FIXTURE_H
#define CLI_FIXTURE_H

#include <stddef.h>

#define FIXTURE_INPUTS 3
#define FIXTURE_RECORD 16

typedef struct fixture {
	char *dir, *scratch;
	char *in[FIXTURE_INPUTS], *out;
	/* What a test's own set-up may add, for free(). */
	unsigned char *records, *sorted;
	size_t bytes;
} fixture;

/* For cmocka: set up, and tear down, when nothing may be left in the scratch directory. */
int fixture_make(void **state);
int fixture_free(void **state);

/* Add n random records of FIXTURE_RECORD bytes: `records', which are in the first input, too, and `sorted' by all of
 * their bytes. */
void fixture_add_records(fixture *f, size_t n);

#endif
