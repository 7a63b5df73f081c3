/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_options.h -- the options that say what the order of lines is, for all subcommands that need one.
 *
 * Functions print a message and return -1 on failure.
 */
#ifndef CLI_TEXT_OPTIONS_H
#define CLI_TEXT_OPTIONS_H

#include <extmem/format.h>
#include <extmem/text.h>

#include "cli/options.h"

/* Ordering letters as a set; the text of a set is in this order. */
#define TEXT_LETTERS "bdfghiMnRrV"
enum {
	TEXT_b = 1u << 0,
	TEXT_d = 1u << 1,
	TEXT_f = 1u << 2,
	TEXT_g = 1u << 3,
	TEXT_h = 1u << 4,
	TEXT_i = 1u << 5,
	TEXT_M = 1u << 6,
	TEXT_n = 1u << 7,
	TEXT_R = 1u << 8,
	TEXT_r = 1u << 9,
	TEXT_V = 1u << 10
};
#define TEXT_NUMBERS ((unsigned)TEXT_g | TEXT_h | TEXT_n)

/* Where a key comes from, for --debug. */
typedef struct text_origin {
	int own;                /* it has letters of its own */
	int obsolete;           /* it was spelled +POS1 -POS2 */
	const char *text;       /* as given; of obsolete ones what -k would say, owned */
	char *clash;            /* what is to be said of letters that cannot stand together, or NULL; owned */
} text_origin;

typedef struct text_options {
	unsigned letters;       /* given for all keys */
	int separator;          /* a byte, or -1: not given */
	int zero;               /* -z */
	int stable;             /* -s */
	int unique;             /* -u */
	int csv;
	uint64_t header;
	uint32_t n;             /* keys */
	em_text_key *key;       /* owned */
	text_origin *origin;    /* of each key given; owned */
	int whole_line;         /* the only key is the whole line, because letters but no keys were given */
} text_options;

/* Their letters as in getopt_long()'s list, and their long names. */
#define TEXT_OPTION_LETTERS "bdfghik:Mnrst:uVzR"
extern const struct option text_long_options[];       /* as the sort utility has them */
extern const struct option text_own_long_options[];

void text_options_init(text_options *to);

/* Take an option: 0 taken, 1 it is none of these. */
int text_options_take(text_options *to, const char *command, int c, const char *arg);

/* Add a key as -k spells it; origin->text must last, and is freed in the end when origin->obsolete. */
int text_options_add(text_options *to, const char *command, const char *text, const text_origin *origin);

/* All options have been read: keys without letters get those given for all. */
int text_options_done(text_options *to, const char *command);

/* After text_options_done(). */
int text_options_order(const text_options *to, const char *command, em_ctx *ctx, em_order **out);
void text_options_format(const text_options *to, em_format *format);

/* The letters that a key has, and the text of a set of them.  Returns out. */
unsigned text_key_letters(const em_text_key *key);
#define TEXT_LETTERS_ROOM sizeof(TEXT_LETTERS)
const char *text_letters(unsigned set, char out[TEXT_LETTERS_ROOM]);

/* The set's letter c, or 0. */
unsigned text_letter(int c);

void text_options_free(text_options *to);

#endif
