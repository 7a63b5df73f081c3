/* SPDX-License-Identifier: BSL-1.0 */
/*
 * debug_advice.c -- what --debug says of options that may not mean what they seem to.
 *
 * None of it is wrong: a number that reaches over several fields, blanks that count as characters, letters for all keys
 * that no key takes.  What is said, and when, is what the sort utility says in the C locale.
 */
#include <inttypes.h>

#include "cli/debug_advice.h"
#include "cli/message.h"

/* What the keys have in common. */
typedef struct survey {
	int number;             /* one is a number, */
	int number_span;        /* over several fields, */
	int general_span;       /* with a sign that may be '+' */
} survey;

static int is_number(const em_text_key *key)
{
	return key->kind == EM_TEXT_NUMERIC || key->kind == EM_TEXT_GENERAL || key->kind == EM_TEXT_HUMAN;
}

static int is_empty(const em_text_key *key)
{
	return key->last_field && key->last_field < key->first_field;
}

/* Without a separator a field begins with blanks: do they count where that makes a difference? */
static int blanks_count(const em_text_key *key)
{
	const int start = !(key->flags & EM_TEXT_SKIP_START), end = !(key->flags & EM_TEXT_SKIP_END);

	/* Its end is counted from the beginning of the line. */
	if (key->last_field == 1 && key->last_char)
		return 0;
	return (start && !is_number(key) && key->kind != EM_TEXT_MONTH) || (start && key->first_char > 1) ||
	       (end && key->last_char);
}

static void advise_obsolete(const em_text_key *key, const char *command)
{
	if (key->last_field)
		message(command,
			"obsolescent key '+%" PRIu64 " -%" PRIu64 "' used; consider '-k %" PRIu64 ",%" PRIu64
			"' instead",
			key->first_field - 1, key->last_field, key->first_field, key->last_field);
	else
		message(command, "obsolescent key '+%" PRIu64 "' used; consider '-k %" PRIu64 "' instead",
			key->first_field - 1, key->first_field);
}

static void advise_key(const text_options *to, uint32_t i, const char *command, survey *s)
{
	const em_text_key *key = &to->key[i];
	const unsigned long number = (unsigned long)i + 1;
	int span;

	if (to->origin[i].obsolete)
		advise_obsolete(key, command);
	if (is_empty(key))
		message(command, "key %lu has zero width and will be ignored", number);
	if (!is_empty(key) && !to->whole_line && to->separator < 0 && blanks_count(key))
		message(command, "leading blanks are significant in key %lu; consider also specifying 'b'", number);
	if (!is_number(key))
		return;
	s->number = 1;
	span = !to->whole_line && (!key->last_field || key->first_field < key->last_field);
	if (!span)
		return;
	message(command, "key %lu is numeric and spans multiple fields", number);
	s->number_span = 1;
	s->general_span |= key->kind == EM_TEXT_GENERAL;
}

/* A separator that may be taken for a part of a number. */
static void advise_numbers(const text_options *to, const char *command, const survey *s)
{
	if (!s->number)
		return;
	if (to->separator == '.') {
		if (s->number_span)
			message(command, "field separator '.' is treated as a decimal point in numbers");
		else
			message(command, "numbers use '.' as a decimal point in this locale");
		return;
	}
	if (to->separator == '-' && s->number_span)
		message(command, "field separator '-' is treated as a minus sign in numbers");
	if (to->separator == '+' && s->general_span)
		message(command, "field separator '+' is treated as a plus sign in numbers");
	message(command, "note numbers use '.' as a decimal point in this locale");
}

/* Letters for all keys of which no key makes use. */
static void advise_letters(const text_options *to, const char *command)
{
	unsigned left = to->letters, one = 0, both = 0;
	char text[TEXT_LETTERS_ROOM];
	uint32_t i;

	if (!to->n || to->whole_line)
		return;
	if (left & TEXT_d)
		left &= ~(unsigned)TEXT_i;
	for (i = 0; i < to->n; i++) {
		one |= text_key_letters(&to->key[i]) & ~(unsigned)TEXT_b;
		both |= to->key[i].flags & (EM_TEXT_SKIP_START | EM_TEXT_SKIP_END);
	}
	/* b is two letters in one. */
	if (both == (EM_TEXT_SKIP_START | EM_TEXT_SKIP_END))
		one |= TEXT_b;
	left &= ~one;
	one = left;
	if (!to->stable && !to->unique)
		one &= ~(unsigned)TEXT_r;
	if (one)
		message(command, one & (one - 1) ? "options '-%s' are ignored" : "option '-%s' is ignored",
			text_letters(one, text));
	if (left & ~one)
		message(command, "option '-r' only applies to last-resort comparison");
}

void debug_advice(const text_options *to, const char *command)
{
	survey s = { 0 };
	uint32_t i;

	message(command, "text ordering performed using simple byte comparison");
	for (i = 0; i < to->n; i++)
		advise_key(to, i, command, &s);
	advise_numbers(to, command, &s);
	advise_letters(to, command);
}
