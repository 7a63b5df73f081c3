/* SPDX-License-Identifier: BSL-1.0 */
/*
 * bench_list.c -- lists of parameters.
 */
#include <stddef.h>
#include <string.h>

#include "cli/bench_list.h"
#include "cli/size.h"

#define ITEM_TEXT 64

static const char *add(bench_list *list, uint64_t value)
{
	if (list->n == BENCH_LIST_MOST)
		return "the list is too long";
	list->value[list->n++] = value;
	return NULL;
}

/* Copy the next item of a list and go on behind it: 1, 0 at the end, -1 when it is too long or empty. */
static int next_item(const char **text, char item[ITEM_TEXT])
{
	size_t n;

	*text += strspn(*text, " ");
	if (!**text)
		return 0;
	n = strcspn(*text, ", ");
	if (n == 0 || n >= ITEM_TEXT)
		return -1;
	memcpy(item, *text, n);
	item[n] = '\0';
	*text += n;
	*text += strspn(*text, " ");
	if (**text == ',' && !(*text)[1])
		return -1;
	*text += **text == ',';
	return 1;
}

/* A number or a power; *base is what a range that begins with it is multiplied by. */
static const char *read_one(char *text, int units, uint64_t *out, uint64_t *base)
{
	char *power = strchr(text, '^');
	const char *wrong;
	uint64_t exponent;

	*base = 2;
	if (!power)
		return size_parse(text, units, out);
	*power = '\0';
	wrong = size_parse(text, 0, base);
	if (!wrong)
		wrong = size_parse(power + 1, 0, &exponent);
	if (wrong)
		return wrong;
	if (*base < 2)
		return "the base of a power must be at least 2";
	for (*out = 1; exponent; exponent--) {
		if (*out > UINT64_MAX / *base)
			return "the number is too large";
		*out *= *base;
	}
	return NULL;
}

static const char *read_item(bench_list *list, char *item, int units, uint64_t least, uint64_t most)
{
	char *dots = strstr(item, "..");
	const char *wrong;
	uint64_t from, to, base, other;

	if (dots)
		*dots = '\0';
	wrong = read_one(item, units, &from, &base);
	to = from;
	if (!wrong && dots)
		wrong = read_one(dots + 2, units, &to, &other);
	if (wrong)
		return wrong;
	if (from < least || to < least)
		return least == 1 ? "it must be at least 1" : "it is too small";
	if (from > most || to > most)
		return "it is too large";
	if (to < from)
		return "the range ends before it begins";
	for (;;) {
		wrong = add(list, from);
		if (wrong || from > to / base || from == 0)
			return wrong;
		from *= base;
	}
}

const char *bench_list_numbers(bench_list *list, const char *text, int units, uint64_t least, uint64_t most)
{
	const char *wrong = NULL;
	char item[ITEM_TEXT];
	int more;

	list->n = 0;
	while (!wrong && (more = next_item(&text, item)) != 0)
		wrong = more < 0 ? "an item is empty or too long" : read_item(list, item, units, least, most);
	return wrong || list->n ? wrong : "the list is empty";
}

const char *bench_list_words(bench_list *list, const char *text, uint32_t (*find)(const char *word))
{
	const char *wrong = NULL;
	char item[ITEM_TEXT];
	uint32_t value;
	int more;

	list->n = 0;
	while (!wrong && (more = next_item(&text, item)) != 0) {
		value = more < 0 ? 0 : find(item);
		wrong = value ? add(list, value) : "a word is unknown";
	}
	return wrong || list->n ? wrong : "the list is empty";
}
