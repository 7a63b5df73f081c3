/* SPDX-License-Identifier: BSL-1.0 */
/*
 * record_keys.h -- the options that say what the order of binary records is.
 *
 * All functions print a message that names the option and return -1 on failure, 0 on success.
 */
#ifndef CLI_RECORD_KEYS_H
#define CLI_RECORD_KEYS_H

#include <extmem/order.h>

#include "cli/options.h"

/* The options --record-size, -k and -r, which together make an order. */
typedef struct key_options {
	uint64_t record_size;   /* 0: not given */
	int reverse;            /* -r */
	uint32_t n;             /* keys given */
	em_key *key;            /* owned */
	const char **text;      /* as given; the array is owned */
} key_options;

/* Take one of these, its argument being arg.  Others are refused: they are for lines. */
int key_options_take(key_options *ko, const char *command, const option_reader *r, int c, const char *arg);

/* All options have been read: apply -r. */
int key_options_done(key_options *ko, const char *command);

/* Make the order, after key_options_done(). */
int key_options_order(const key_options *ko, const char *command, em_ctx *ctx, em_order **out);

void key_options_free(key_options *ko);

#endif
