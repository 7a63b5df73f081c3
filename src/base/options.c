/* SPDX-License-Identifier: BSL-1.0 */
/* options.c -- see options.h. */
#include "base/options.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"

/* The factor of a unit, or 0. */
static uint64_t factor_of(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *at;
	uint64_t base, factor = 1;
	size_t i;

	if (*unit == '\0' || strcmp(unit, "B") == 0)
		return 1;
	at = strchr(letters, *unit == 'k' ? 'K' : *unit);
	if (at == NULL)
		return 0;
	if (unit[1] == '\0' || strcmp(unit + 1, "iB") == 0)
		base = 1024;
	else if (strcmp(unit + 1, "B") == 0)
		base = 1000;
	else
		return 0;
	for (i = 0; i <= (size_t)(at - letters); i++)
		factor *= base;
	return factor;
}

/* Read a number, with a unit if units is not 0.  NULL, or what is wrong. */
static const char *read_number(const char *text, int units, uint64_t *out)
{
	uint64_t v = 0, factor;

	if (*text < '0' || *text > '9')
		return "not a number";
	for (; *text >= '0' && *text <= '9'; text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return "number too large";
		v = v * 10 + digit;
	}
	if (*text != '\0' && units == 0)
		return "not a number";
	factor = factor_of(text);
	if (factor == 0)
		return "unknown unit; use K M G T (1024) or kB MB GB TB (1000)";
	if (v > UINT64_MAX / factor)
		return "number too large";
	*out = v * factor;
	return NULL;
}

em_status em_size_parse(uint64_t *out, const char *text, em_errinfo *err)
{
	const char *wrong;
	em_status st;

	emi_errinfo_clear(err);
	st = emi_given(out, "out", err);
	if (st == EM_OK)
		st = emi_given(text, "text", err);
	if (st != EM_OK)
		return st;
	if (*text == '\0')
		return emi_fail(err, EM_ERR_INVAL, "the size is empty");
	wrong = read_number(text, 1, out);
	return wrong == NULL ? EM_OK : emi_fail(err, EM_ERR_INVAL, "%s: %s", text, wrong);
}

char *emi_option_end(char *text)
{
	for (; *text != '\0' && *text != ','; text++)
		if (*text == '\\' && (text[1] == ',' || text[1] == '\\'))
			text++;
	return text;
}

void emi_option_unquote(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		if (*text == '\\' && (text[1] == ',' || text[1] == '\\'))
			text++;
		*to++ = *text;
	}
	*to = '\0';
}

uint32_t emi_option_find(const emi_options *o, const char *text)
{
	const size_t bytes = strcspn(text, "=,");
	uint32_t i;

	for (i = 0; i < o->n; i++) {
		const emi_option *k = &o->table[i];

		if (strlen(k->name) == bytes && memcmp(k->name, text, bytes) == 0 &&
		    (k->kind == EMI_OPTION_FLAG) == (text[bytes] != '='))
			return i;
	}
	return o->n;
}

static em_status take_number(const emi_option *k, void *field, const char *value, em_errinfo *err)
{
	const char *wrong;
	uint64_t v = 0;

	wrong = read_number(value, k->kind == EMI_OPTION_SIZE, &v);
	if (wrong != NULL)
		return emi_fail(err, EM_ERR_INVAL, "%s %s: %s", k->name, value, wrong);
	if (v < k->least)
		return emi_fail(err, EM_ERR_INVAL, "%s %s: must be at least %" PRIu64, k->name, value, k->least);
	if (v > k->most)
		return emi_fail(err, EM_ERR_INVAL, "%s %s: must be at most %" PRIu64, k->name, value, k->most);
	if (k->kind == EMI_OPTION_NUMBER)
		*(uint32_t *)field = (uint32_t)v;
	else
		*(uint64_t *)field = v;
	return EM_OK;
}

/* "off|try|on" as "off, try or on". */
static const char *list_words(const char *words, char *out, size_t room)
{
	size_t n = 0;

	for (; *words != '\0' && n + 5 < room; words++) {
		if (*words != '|') {
			out[n++] = *words;
			continue;
		}
		n += (size_t)snprintf(out + n, room - n, "%s", strchr(words + 1, '|') != NULL ? ", " : " or ");
	}
	out[n] = '\0';
	return out;
}

static em_status take_word(const emi_option *k, void *field, const char *value, em_errinfo *err)
{
	const size_t bytes = strlen(value);
	const char *word = k->words;
	char list[128];
	uint32_t i;
	size_t n;

	for (i = 0; *word != '\0'; i++) {
		n = strcspn(word, "|");
		if (n == bytes && memcmp(word, value, n) == 0) {
			*(uint32_t *)field = i;
			return EM_OK;
		}
		word += n + (word[n] == '|');
	}
	return emi_fail(err, EM_ERR_INVAL, "%s %s: must be %s", k->name, value,
			list_words(k->words, list, sizeof list));
}

em_status emi_option_set(const emi_option *k, void *into, char *value, em_errinfo *err)
{
	void *field = (char *)into + k->at;

	if (*value == '\0')
		return emi_fail(err, EM_ERR_INVAL, "%s: the %s is empty", k->name,
				k->kind == EMI_OPTION_NAME ? "name" : "value");
	if (k->kind == EMI_OPTION_WORD)
		return take_word(k, field, value, err);
	if (k->kind != EMI_OPTION_NAME)
		return take_number(k, field, value, err);
	emi_option_unquote(value);
	*(const char **)field = value;
	return EM_OK;
}

em_status emi_option_take(emi_options *o, uint32_t i, void *into, char *text, em_errinfo *err)
{
	const emi_option *k = &o->table[i];

	if ((o->seen >> i & 1) != 0)
		return emi_fail(err, EM_ERR_INVAL, "%s was given before", k->name);
	o->seen |= UINT64_C(1) << i;
	if (k->kind != EMI_OPTION_FLAG)
		return emi_option_set(k, into, text + strlen(k->name) + 1, err);
	*(uint32_t *)(void *)((char *)into + k->at) |= k->flag;
	return EM_OK;
}

em_status emi_option_place(em_errinfo *err, uint64_t offset)
{
	const em_status st = err->status;
	char text[EM_ERRINFO_TEXT];

	memcpy(text, err->text, sizeof text);
	emi_errinfo_clear(err);
	emi_fail(err, st, "byte %" PRIu64 ": %s", offset, text);
	err->offset = offset;
	return st;
}
