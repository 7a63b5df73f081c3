/* SPDX-License-Identifier: BSL-1.0 */
/*
 * record_keys.c -- the options that say what the order of binary records is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/record_keys.h"

/* Add what was given with -k. */
static int add_key(key_options *ko, const char *command, const char *text)
{
	em_errinfo err = { 0 };
	em_status st;
	em_key *key;
	const char **list;
	int ret = -1;

	key = realloc(ko->key, ((size_t)ko->n + 1) * sizeof(*key));
	if (key)
		ko->key = key;
	list = realloc(ko->text, ((size_t)ko->n + 1) * sizeof(*list));
	if (list)
		ko->text = list;
	if (!key || !list) {
		message_errno(command, "-k", ENOMEM);
		goto out;
	}

	st = em_key_parse(&ko->key[ko->n], text, &err);
	if (st != EM_OK) {
		/* The library's message may or may not quote the key; ours always does. */
		message(command, "-k %s: %s", text, err.text[0] ? err.text : em_status_text(st));
		goto out;
	}
	ko->text[ko->n++] = text;
	ret = 0;
out:
	return ret;
}

int key_options_take(key_options *ko, const char *command, const option_reader *r, int c, const char *arg)
{
	switch (c) {
	case OPTION_RECORD_SIZE:
		return option_record_size(command, arg, &ko->record_size);
	case 'k':
		return add_key(ko, command, arg);
	case 'r':
		ko->reverse = 1;
		return 0;
	default:
		message(command, "%s is for lines, not for records of one size (--record-size)", r->spelled);
		return -1;
	}
}

int key_options_done(key_options *ko, const char *command)
{
	uint32_t i;

	if (!ko->reverse)
		return 0;
	if (!ko->n) {
		/* Reversing no keys is reversing all bytes, which only a key can say. */
		ko->key = calloc(1, sizeof(*ko->key));
		ko->text = calloc(1, sizeof(*ko->text));
		if (!ko->key || !ko->text) {
			message_errno(command, "-r", ENOMEM);
			return -1;
		}
		ko->key[0].width = ko->record_size;
		ko->key[0].type = EM_KEY_BYTES;
		ko->text[0] = "(all bytes)";
		ko->n = 1;
	}
	for (i = 0; i < ko->n; i++)
		ko->key[i].flags ^= EM_KEY_DESCENDING;
	return 0;
}

int key_options_order(const key_options *ko, const char *command, em_ctx *ctx, em_order **out)
{
	em_errinfo err = { 0 }, one_err = { 0 };
	em_order *one;
	em_status st, one_st;
	uint32_t i;

	st = em_order_keys(out, ctx, ko->record_size, ko->key, ko->n, &err);
	if (st == EM_OK)
		return 0;

	/* Which key is to blame?  The first that does not do on its own. */
	for (i = 0; i < ko->n; i++) {
		one = NULL;
		memset(&one_err, 0, sizeof(one_err));
		one_st = em_order_keys(&one, ctx, ko->record_size, &ko->key[i], 1, &one_err);
		em_order_close(one);
		if (one_st == EM_ERR_RANGE) {
			message(command, "-k %s: key reaches past the end of the record of %" PRIu64 " bytes",
				ko->text[i], ko->record_size);
			return -1;
		}
		if (one_st != EM_OK) {
			message(command, "-k %s: %s", ko->text[i],
				one_err.text[0] ? one_err.text : em_status_text(one_st));
			return -1;
		}
	}
	message_errinfo(command, st, &err);
	return -1;
}

void key_options_free(key_options *ko)
{
	free(ko->key);
	free(ko->text);
	memset(ko, 0, sizeof(*ko));
}
