/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_text_key.c -- specifications of keys, and the keys of records that they give.
 *
 * The input is
 *
 *	byte 0     how many keys
 *	byte 1     flags of the order, and whether it has a separator
 *	byte 2     the separator
 *	byte 3     how much of the rest is the first record
 *	then       the specifications, a NUL behind each, and two records
 *
 * What em_text_key_parse() accepts must find a part of any record, and turn it into a key that does not depend
 * on the room there is, that nothing is written behind, and that is no beginning of another record's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key/text.h"

#define KEYS_MOST 3u
#define HEADER 4u

#define CHECK(what) check((what) != 0, #what, __LINE__)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int fine, const char *what, int line)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_text_key.c:%d: %s\n", line, what);
	abort();
}

/* A copy with nothing in front and behind, so that a sanitizer sees what is read or written there. */
static unsigned char *exactly(const unsigned char *p, size_t n)
{
	unsigned char *copy = malloc(n);

	CHECK(copy || !n);
	if (n)
		memcpy(copy, p, n);
	return copy;
}

static void check_key(const em_text_key *key)
{
	CHECK(key->first_field >= 1);
	CHECK(key->first_char >= 1);
	CHECK(key->kind >= EM_TEXT_BYTES && key->kind <= EM_TEXT_VERSION);
	CHECK((key->flags & ~(EM_TEXT_REVERSE | EM_TEXT_SKIP_START | EM_TEXT_SKIP_END | EM_TEXT_DICTIONARY |
			      EM_TEXT_FOLD | EM_TEXT_PRINTING)) == 0);
	if (key->kind != EM_TEXT_BYTES && key->kind != EM_TEXT_VERSION)
		CHECK((key->flags & EM_TEXT_DICTIONARY) == 0);
}

/* Take specifications into the order; what is refused must say why.  Returns how many bytes of data they had. */
static size_t parse(emi_text *t, uint32_t wanted, const unsigned char *data, size_t bytes)
{
	size_t at = 0, n;
	const unsigned char *stop;
	em_text_key key;
	em_errinfo err;
	char *spec;
	int own;

	while (wanted-- && at < bytes) {
		stop = memchr(data + at, 0, bytes - at);
		n = stop ? (size_t)(stop - data) - at : bytes - at;
		spec = malloc(n + 1);
		CHECK(spec);
		memcpy(spec, data + at, n);
		spec[n] = '\0';
		memset(&err, 0, sizeof(err));
		own = -1;
		if (em_text_key_parse(&key, &own, spec, &err) == EM_OK) {
			CHECK(own == 0 || own == 1);
			check_key(&key);
			t->key[t->n++] = key;
		} else {
			CHECK(err.text[0]);
			CHECK(memchr(err.text, 0, sizeof(err.text)));
		}
		free(spec);
		at += n + (stop != NULL);
	}
	return at;
}

/* The key of a record, which is to be the same with any room. */
static unsigned char *key_of(const emi_text *t, const unsigned char *record, size_t n, size_t *length)
{
	unsigned char *p = exactly(record, n), *key, *less;
	size_t begin, end, want, room;
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		emi_text_find(t, &t->key[i], p, n, &begin, &end);
		CHECK(begin <= end);
		CHECK(end <= n);
	}
	want = emi_text_key(t, p, n, NULL, 0);
	key = malloc(want + 1);
	CHECK(key);
	key[want] = 0x5a;
	CHECK(emi_text_key(t, p, n, key, want) == want);
	CHECK(key[want] == 0x5a);
	for (room = want < 8 ? want : 8; room; room /= 2) {
		less = malloc(want - room + 1);
		CHECK(less);
		less[want - room] = 0x5a;
		CHECK(emi_text_key(t, p, n, less, want - room) > want - room);
		CHECK(less[want - room] == 0x5a);
		free(less);
	}
	free(p);
	*length = want;
	return key;
}

static void compare(const emi_text *t, const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	size_t x, y, least;
	unsigned char *p = key_of(t, a, na, &x), *q = key_of(t, b, nb, &y), *again = key_of(t, a, na, &least);

	CHECK(x == least && !memcmp(p, again, x));
	least = x < y ? x : y;
	if (!memcmp(p, q, least))
		CHECK(x == y);
	free(again);
	free(p);
	free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	emi_text *t;
	size_t used, na;

	if (bytes < HEADER)
		return 0;
	t = calloc(1, sizeof(*t) + KEYS_MOST * sizeof(t->key[0]));
	CHECK(t);
	t->flags = data[1] & 3u;
	t->separator = EM_TEXT_BLANKS;
	if ((data[1] & 4u) != 0)
		t->separator = data[2];
	if ((data[1] & 4u) != 0 && (data[1] & 8u) != 0)
		t->flags |= EM_TEXT_CSV;
	used = HEADER + parse(t, data[0] % (KEYS_MOST + 1), data + HEADER, bytes - HEADER);
	na = (bytes - used) * data[3] / 255;
	compare(t, data + used, na, data + used + na, bytes - used - na);
	free(t);
	return 0;
}
