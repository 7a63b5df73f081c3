/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_key_model.h -- what the tests of normalised keys of text share.
 */
#ifndef EM_TEXT_KEY_MODEL_H
#define EM_TEXT_KEY_MODEL_H

#include "common/test.h"
#include "key/text.h"

#define BLANKS EM_TEXT_BLANKS
#define KEYS_MAX 4

/* An order with room for some keys. */
typedef union text {
	emi_text text;
	unsigned char room[sizeof(emi_text) + KEYS_MAX * sizeof(em_text_key)];
} text;

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Add the key of a specification; have it as the only one. */
void text_add_key(text *t, uint32_t separator, const char *spec);
void text_one_key(text *t, const char *spec);
/* Its key, in memory of just that size. */
unsigned char *text_key_of(const text *t, const void *record, size_t n, size_t *nkey);
/* -1, 0, 1; -2 when one is a beginning of the other. */
int text_compare_keys(const unsigned char *a, size_t na, const unsigned char *b, size_t nb);

#endif
