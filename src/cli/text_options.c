/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_options.c -- the options that say what the order of lines is.
 *
 * They are those of the sort utility.  Ordering letters may be given for all keys (-n) or for one (-k 2n); a key
 * with any letter of its own takes nothing from those for all.  Letters without a key are a key that is the
 * whole line, except for -r alone, which needs none.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/quote.h"
#include "cli/text_options.h"

enum { OPT_SORT = OPTION_TEXT, OPT_HEADER, OPT_CSV, OPT_RANDOM_SOURCE };

const struct option text_long_options[] = {
	{ "ignore-leading-blanks", no_argument, NULL, 'b' },
	{ "dictionary-order", no_argument, NULL, 'd' },
	{ "ignore-case", no_argument, NULL, 'f' },
	{ "general-numeric-sort", no_argument, NULL, 'g' },
	{ "human-numeric-sort", no_argument, NULL, 'h' },
	{ "ignore-nonprinting", no_argument, NULL, 'i' },
	{ "key", required_argument, NULL, 'k' },
	{ "month-sort", no_argument, NULL, 'M' },
	{ "numeric-sort", no_argument, NULL, 'n' },
	{ "random-sort", no_argument, NULL, 'R' },
	{ "random-source", required_argument, NULL, OPT_RANDOM_SOURCE },
	{ "reverse", no_argument, NULL, 'r' },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ "stable", no_argument, NULL, 's' },
	{ "field-separator", required_argument, NULL, 't' },
	{ "unique", no_argument, NULL, 'u' },
	{ "version-sort", no_argument, NULL, 'V' },
	{ "zero-terminated", no_argument, NULL, 'z' },
	{ NULL, 0, NULL, 0 },
};

const struct option text_own_long_options[] = {
	{ "header", required_argument, NULL, OPT_HEADER },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ NULL, 0, NULL, 0 },
};

void text_options_init(text_options *to)
{
	memset(to, 0, sizeof(*to));
	to->separator = -1;
}

unsigned text_letter(int c)
{
	const char *at = c > 0 && c < 256 ? strchr(TEXT_LETTERS, c) : NULL;

	return at ? 1u << (at - TEXT_LETTERS) : 0;
}

const char *text_letters(unsigned set, char out[TEXT_LETTERS_ROOM])
{
	size_t i, n = 0;

	for (i = 0; TEXT_LETTERS[i]; i++)
		if (set & 1u << i)
			out[n++] = TEXT_LETTERS[i];
	out[n] = '\0';
	return out;
}

static int no_random(const char *command, const char *option)
{
	message(command, "%s: random order is not supported", option);
	return -1;
}

static int take_separator(text_options *to, const char *command, const char *arg)
{
	char quoted[QUOTE_TEXT];
	int separator = (unsigned char)arg[0];

	if (!*arg) {
		message(command, "empty tab");
		return -1;
	}
	if (!strcmp(arg, "\\0")) {
		separator = 0;
	} else if (arg[1]) {
		message(command, "multi-character tab %s", quote(arg, quoted));
		return -1;
	}
	if (to->separator >= 0 && to->separator != separator) {
		message(command, "incompatible tabs");
		return -1;
	}
	to->separator = separator;
	return 0;
}

/* --sort=WORD */
static int take_sort(text_options *to, const char *command, const char *arg)
{
	static const char *const word[] = { "general-numeric", "human-numeric", "month", "numeric", "random",
					    "version" };
	static const unsigned letter[] = { TEXT_g, TEXT_h, TEXT_M, TEXT_n, TEXT_R, TEXT_V };
	static const char shown[] = "  - 'general-numeric'\n  - 'human-numeric'\n  - 'month'\n  - 'numeric'\n"
				    "  - 'random'\n  - 'version'\n";
	uint32_t i;

	if (option_abbreviated(command, "--sort", arg, word, sizeof(word) / sizeof(word[0]), shown, &i))
		return -1;
	if (letter[i] == TEXT_R)
		return no_random(command, "--sort=random");
	to->letters |= letter[i];
	return 0;
}

int text_options_add(text_options *to, const char *command, const char *text, const text_origin *origin)
{
	static const char clash[] = "options '-";
	em_errinfo err = { 0 };
	em_text_key *key;
	text_origin *list;
	em_status st;

	key = realloc(to->key, ((size_t)to->n + 1) * sizeof(*key));
	if (key)
		to->key = key;
	list = realloc(to->origin, ((size_t)to->n + 1) * sizeof(*list));
	if (list)
		to->origin = list;
	if (!key || !list) {
		message_errno(command, "-k", ENOMEM);
		return -1;
	}
	to->origin[to->n] = *origin;
	st = em_text_key_parse(&to->key[to->n], &to->origin[to->n].own, text, &err);
	if (st != EM_OK && !strncmp(err.text, clash, strlen(clash))) {
		/* All else that may be wrong with the options comes first, and an earlier key before a later one. */
		memset(&to->key[to->n], 0, sizeof(*key));
		to->origin[to->n].own = 1;
		to->origin[to->n].clash = strdup(err.text);
		if (!to->origin[to->n].clash) {
			message_errno(command, "-k", ENOMEM);
			return -1;
		}
	} else if (st != EM_OK) {
		message(command, "%s", err.text[0] ? err.text : em_status_text(st));
		return -1;
	}
	to->n++;
	return 0;
}

int text_options_take(text_options *to, const char *command, int c, const char *arg)
{
	text_origin origin = { 0 };

	switch (c) {
	case 'k':
		origin.text = arg;
		return text_options_add(to, command, arg, &origin);
	case 's':
		to->stable = 1;
		return 0;
	case 't':
		return take_separator(to, command, arg);
	case 'u':
		to->unique = 1;
		return 0;
	case 'z':
		to->zero = 1;
		return 0;
	case 'R':
		return no_random(command, "-R");
	case OPT_RANDOM_SOURCE:
		return no_random(command, "--random-source");
	case OPT_SORT:
		return take_sort(to, command, arg);
	case OPT_HEADER:
		return option_number(command, "--header", arg, 0, UINT64_MAX, &to->header);
	case OPT_CSV:
		to->csv = 1;
		return 0;
	default:
		to->letters |= text_letter(c);
		return text_letter(c) ? 0 : 1;
	}
}

/* Of letters that cannot stand together the combination is refused. */
static int check_letters(const char *command, unsigned set)
{
	const unsigned one_of = set & (TEXT_NUMBERS | TEXT_M);
	char text[TEXT_LETTERS_ROOM];
	unsigned n = 0, left;

	for (left = one_of; left; left &= left - 1)
		n++;
	n += (set & ((unsigned)TEXT_V | TEXT_R | TEXT_d | TEXT_i)) != 0;
	if (n <= 1)
		return 0;
	if (set & TEXT_d)
		set &= ~(unsigned)TEXT_i;
	message(command, "options '-%s' are incompatible", text_letters(set & ~((unsigned)TEXT_b | TEXT_r), text));
	return -1;
}

/* Give a key the letters of a set. */
static void apply_letters(em_text_key *key, unsigned set)
{
	key->kind = set & TEXT_n ? EM_TEXT_NUMERIC
		  : set & TEXT_g ? EM_TEXT_GENERAL
		  : set & TEXT_h ? EM_TEXT_HUMAN
		  : set & TEXT_M ? EM_TEXT_MONTH
		  : set & TEXT_V ? EM_TEXT_VERSION
				 : EM_TEXT_BYTES;
	key->flags = (set & TEXT_r ? EM_TEXT_REVERSE : 0) | (set & TEXT_f ? EM_TEXT_FOLD : 0);
	if (set & TEXT_b)
		key->flags |= EM_TEXT_SKIP_START | EM_TEXT_SKIP_END;
	/* What d leaves prints, but for tabs, which count. */
	if (set & TEXT_d)
		key->flags |= EM_TEXT_DICTIONARY;
	else if (set & TEXT_i)
		key->flags |= EM_TEXT_PRINTING;
}

unsigned text_key_letters(const em_text_key *key)
{
	static const unsigned kind[] = { 0, TEXT_n, TEXT_g, TEXT_h, TEXT_M, TEXT_V };
	unsigned set = key->kind >= EM_TEXT_BYTES && key->kind <= EM_TEXT_VERSION ? kind[key->kind] : 0;

	set |= key->flags & (EM_TEXT_SKIP_START | EM_TEXT_SKIP_END) ? TEXT_b : 0u;
	set |= key->flags & EM_TEXT_REVERSE ? TEXT_r : 0u;
	set |= key->flags & EM_TEXT_DICTIONARY ? TEXT_d : 0u;
	set |= key->flags & EM_TEXT_FOLD ? TEXT_f : 0u;
	set |= key->flags & EM_TEXT_PRINTING ? TEXT_i : 0u;
	return set;
}

/* Letters but no keys: the key is the whole line. */
static int add_whole_line(text_options *to, const char *command)
{
	to->key = calloc(1, sizeof(*to->key));
	to->origin = calloc(1, sizeof(*to->origin));
	if (!to->key || !to->origin) {
		message_errno(command, "options", ENOMEM);
		return -1;
	}
	to->key[0].first_field = 1;
	to->key[0].first_char = 1;
	to->n = 1;
	to->whole_line = 1;
	return 0;
}

int text_options_done(text_options *to, const char *command)
{
	uint32_t i;

	if (!to->n && (to->letters & ~(unsigned)TEXT_r) && add_whole_line(to, command))
		return -1;
	for (i = 0; i < to->n; i++) {
		if (to->origin[i].clash) {
			message(command, "%s", to->origin[i].clash);
			return -1;
		}
		if (to->origin[i].own)
			continue;
		if (check_letters(command, to->letters))
			return -1;
		apply_letters(&to->key[i], to->letters);
	}
	if (to->csv && to->separator < 0)
		to->separator = ',';
	if (to->csv && to->separator == '"') {
		message(command, "-t: with --csv the separator cannot be a double quote");
		return -1;
	}
	return 0;
}

int text_options_order(const text_options *to, const char *command, em_ctx *ctx, em_order **out)
{
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_errinfo err = { 0 };
	em_status st;

	/* Without keys lines are compared as a whole in any case. */
	if (to->n && (to->stable || to->unique))
		opts.flags |= EM_TEXT_KEYS_ONLY;
	if (to->letters & TEXT_r)
		opts.flags |= EM_TEXT_LAST_REVERSE;
	if (to->csv)
		opts.flags |= EM_TEXT_CSV;
	if (to->separator >= 0)
		opts.separator = (uint32_t)to->separator;
	st = em_order_text(out, ctx, to->key, to->n, &opts, &err);
	if (st == EM_OK)
		return 0;
	message_errinfo(command, st, &err);
	return -1;
}

void text_options_format(const text_options *to, em_format *format)
{
	const em_format lines = EM_FORMAT_INIT;

	*format = lines;
	if (to->zero)
		format->delimiter = '\0';
	if (to->csv) {
		format->kind = EM_FORMAT_CSV;
		format->separator = (uint32_t)to->separator;
	}
}

void text_options_free(text_options *to)
{
	uint32_t i;

	for (i = 0; i < to->n; i++) {
		free(to->origin[i].clash);
		if (to->origin[i].obsolete)
			free((char *)(uintptr_t)to->origin[i].text);
	}
	free(to->key);
	free(to->origin);
	memset(to, 0, sizeof(*to));
}
