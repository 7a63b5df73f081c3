/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree_key.c -- keys of a B+-tree as people write them: the values of its fields, with commas between them.
 *
 * What fields there are, the name of the tree's order says: TYPE@OFFSET[:r], one behind the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/btree.h"
#include "cli/message.h"

#define FIELD_TEXT 80

/* The field of a name that begins there; NULL: it is none.  Returns what is behind it. */
static const char *next_field(const char *name, em_key *key)
{
	const size_t n = strcspn(name, ",");
	char type[FIELD_TEXT], text[2 * FIELD_TEXT];
	const char *at = memchr(name, '@', n);
	size_t digits;

	if (!at || n >= sizeof(type))
		return NULL;
	digits = strspn(at + 1, "0123456789");
	memcpy(type, name, (size_t)(at - name));
	type[at - name] = '\0';
	snprintf(text, sizeof(text), "%.*s:%s", (int)digits, at + 1, type);
	if (em_key_parse(key, text, NULL) != EM_OK)
		return NULL;
	return name[n] ? name + n + 1 : name + n;
}

static size_t width_of(const em_key *key)
{
	switch (key->type) {
	case EM_KEY_U8:
	case EM_KEY_I8:
		return 1;
	case EM_KEY_U16:
	case EM_KEY_I16:
		return 2;
	case EM_KEY_U32:
	case EM_KEY_I32:
	case EM_KEY_F32:
		return 4;
	default:
		return 8;
	}
}

static int is_signed(const em_key *key)
{
	return key->type == EM_KEY_I8 || key->type == EM_KEY_I16 || key->type == EM_KEY_I32 || key->type == EM_KEY_I64;
}

static void put_number(char *to, uint64_t value, size_t width, int big)
{
	size_t i;

	for (i = 0; i < width; i++)
		to[big ? width - 1 - i : i] = (char)(value >> 8 * i);
}

/* Returns what is wrong, or NULL. */
static const char *put_float(char *to, const em_key *key, const char *text)
{
	const size_t width = width_of(key);
	uint64_t bits = 0;
	uint32_t half;
	char *end;
	double d;
	float f;

	d = strtod(text, &end);
	if (end == text || *end)
		return "not a number";
	if (width == 4) {
		f = (float)d;
		memcpy(&half, &f, sizeof(half));
		bits = half;
	} else {
		memcpy(&bits, &d, sizeof(bits));
	}
	put_number(to, bits, width, (key->flags & EM_KEY_BIG_ENDIAN) != 0);
	return NULL;
}

static const char *put_integer(char *to, const em_key *key, const char *text)
{
	const size_t width = width_of(key);
	const uint64_t most = UINT64_MAX >> (64 - 8 * width) >> is_signed(key);
	const int minus = text[0] == '-';
	uintmax_t value;
	char *end;

	if (!text[minus] || strspn(text + minus, "0123456789") != strlen(text + minus))
		return "not a whole number";
	errno = 0;
	value = strtoumax(text + minus, &end, 10);
	if (errno || value > most + (minus && is_signed(key)) || (minus && value && !is_signed(key)))
		return "out of range";
	put_number(to, minus ? 0 - (uint64_t)value : (uint64_t)value, width, (key->flags & EM_KEY_BIG_ENDIAN) != 0);
	return NULL;
}

static int digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Characters, or 0x and two digits for each byte; zeros are behind them. */
static const char *put_bytes(char *to, const em_key *key, const char *text)
{
	size_t n = strlen(text), i;

	if (strncmp(text, "0x", 2)) {
		if (n > key->width)
			return "too long";
		memcpy(to, text, n);
		return NULL;
	}
	text += 2;
	n -= 2;
	if (n % 2 || n / 2 > key->width)
		return n % 2 ? "an odd number of digits" : "too long";
	for (i = 0; i < n / 2; i++) {
		const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return "not hexadecimal";
		to[i] = (char)(high << 4 | low);
	}
	return NULL;
}

static const char *put_value(char *record, const em_key *key, const char *text)
{
	char *to = record + key->offset;

	if (key->type == EM_KEY_BYTES)
		return put_bytes(to, key, text);
	return key->type == EM_KEY_F32 || key->type == EM_KEY_F64 ? put_float(to, key, text)
								  : put_integer(to, key, text);
}

int btree_key_parse(btree_input *in, const char *option, const char *text)
{
	const char *name = em_order_name(em_btree_order(in->tree)), *wrong = NULL;
	char *copy = malloc(strlen(text) + 1), *value = copy, *comma;

	if (!copy) {
		message_errno(in->command, "keys", ENOMEM);
		return -1;
	}
	memcpy(copy, text, strlen(text) + 1);
	memset(in->key, 0, (size_t)em_btree_record_bytes(in->tree));
	while (!wrong && name && *name) {
		em_key key = EM_KEY_INIT;

		name = next_field(name, &key);
		if (!name)
			break;
		/* The last field may have commas in it. */
		comma = *name ? strchr(value, ',') : NULL;
		if (*name && !comma) {
			wrong = "a value is missing";
			break;
		}
		if (comma)
			*comma = '\0';
		wrong = put_value(in->key, &key, value);
		value = comma ? comma + 1 : value;
	}
	free(copy);
	if (!name)
		wrong = "the order of the tree is none by key fields";
	if (wrong)
		message(in->command, "%s%s%s: %s; keys are %s", option ? option : "", option ? " " : "", text, wrong,
			em_order_name(em_btree_order(in->tree)));
	return wrong ? -1 : 0;
}
