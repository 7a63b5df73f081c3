/* SPDX-License-Identifier: BSL-1.0 */
/*
 * options.h -- options as text: NAME=VALUE, or NAME alone, with commas between them.
 *
 * A table says which names there are, and where their values go in a struct of options.  A name stands there once.
 * Numbers that may have a unit are read by em_size_parse().
 */
#ifndef EMI_OPTIONS_H
#define EMI_OPTIONS_H

#include <extmem/ctx.h>

/* What a value is, and what it becomes. */
enum {
	EMI_OPTION_NUMBER,      /* a number, uint32_t */
	EMI_OPTION_COUNT,       /* a number, uint64_t */
	EMI_OPTION_SIZE,        /* a size, uint64_t */
	EMI_OPTION_WORD,        /* one of some words, its number there; uint32_t or int32_t */
	EMI_OPTION_NAME,        /* any text but the empty one, const char *: it points into the text */
	EMI_OPTION_FLAG         /* no value: a bit that is set, uint32_t */
};

typedef struct emi_option {
	const char *name;
	uint32_t kind;          /* EMI_OPTION_... */
	uint32_t flag;          /* the bit */
	size_t at;              /* of the field */
	uint64_t least, most;   /* of a number or a size */
	const char *words;      /* with a bar between them: "try|off|on" */
} emi_option;

typedef struct emi_options {
	const emi_option *table;
	uint32_t n;             /* at most 64 */
	uint64_t seen;          /* a bit for each that was given */
} emi_options;

/* Which option is a text, up to its end or a comma: its place in the table, or n if it is none.  Those with a value
 * have an equals sign, and others none. */
uint32_t emi_option_find(const emi_options *o, const char *text);

/* Set a field of a struct from a value.  EM_OK, or EM_ERR_INVAL with a message that begins with the name. */
em_status emi_option_set(const emi_option *k, void *into, char *value, em_errinfo *err);

/* Take the option with that place from its text, which ends with it, into a struct.  As above. */
em_status emi_option_take(emi_options *o, uint32_t i, void *into, char *text, em_errinfo *err);

/* The next comma or the end of a text, where a backslash takes the meaning from the byte behind it. */
char *emi_option_end(char *text);

/* Take such backslashes out. */
void emi_option_unquote(char *text);

/* Put where it is in front of the message of a failure, and into its offset. */
em_status emi_option_place(em_errinfo *err, uint64_t offset);

#endif
