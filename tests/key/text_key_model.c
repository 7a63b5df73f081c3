/* SPDX-License-Identifier: BSL-1.0 */
/* text_key_model.c -- see text_key_model.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "text_key_model.h"

void text_add_key(text *t, uint32_t separator, const char *spec)
{
	em_errinfo err;

	t->text.flags = 0;
	t->text.separator = separator;
	if (em_text_key_parse(&t->text.key[t->text.n++], NULL, spec, &err) != EM_OK)
		fail_msg("%s: %s", spec, err.text);
}

void text_one_key(text *t, const char *spec)
{
	memset(t, 0, sizeof(*t));
	text_add_key(t, BLANKS, spec);
}

unsigned char *text_key_of(const text *t, const void *record, size_t n, size_t *nkey)
{
	unsigned char *key;

	*nkey = emi_text_key(&t->text, record, n, NULL, 0);
	key = malloc(*nkey != 0 ? *nkey : 1);
	assert_non_null(key);
	assert_true(emi_text_key(&t->text, record, n, key, *nkey) == *nkey);
	return key;
}

int text_compare_keys(const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	const int c = memcmp(a, b, na < nb ? na : nb);

	if (c == 0 && na != nb)
		return -2;
	return (c > 0) - (c < 0);
}
