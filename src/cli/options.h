/* SPDX-License-Identifier: BSL-1.0 */
/*
 * options.h -- reading the arguments of options, and the options that say what an order is.
 *
 * All functions print a message that names the option and return -1 on failure, 0 on success.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <extmem/order.h>

/* A plain number, or a size with a unit, from least to most. */
int option_number(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		  uint64_t *out);
int option_size(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		uint64_t *out);

/* The name of a file or directory, which may be given once and is not empty; *out is NULL before. */
int option_name(const char *command, const char *option, const char *text, const char **out);

/* One of n words; *out is its index. */
int option_word(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		uint32_t *out);

/* The options --record-size, -k and -r, which together make an order. */
typedef struct key_options {
	uint64_t record_size;   /* 0: not given */
	int reverse;            /* -r */
	uint32_t n;             /* keys given */
	em_key *key;            /* owned */
	const char **text;      /* as given; the array is owned */
} key_options;

/* Add what was given with -k. */
int key_options_add(key_options *ko, const char *command, const char *text);

/* All options have been read: apply -r and see that there is a record size. */
int key_options_done(key_options *ko, const char *command);

/* Make the order, after key_options_done(). */
int key_options_order(const key_options *ko, const char *command, em_ctx *ctx, em_order **out);

void key_options_free(key_options *ko);

#endif
