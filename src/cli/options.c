/* SPDX-License-Identifier: BSL-1.0 */
/*
 * options.c -- reading the arguments of options, and the options that say what an order is.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/options.h"
#include "cli/size.h"

static int read_number(const char *command, const char *option, const char *text, int units, uint64_t least,
		       uint64_t most, uint64_t *out)
{
	const char *wrong = size_parse(text, units, out);

	if (wrong) {
		message(command, "%s %s: %s", option, text, wrong);
		return -1;
	}
	if (*out < least) {
		message(command, "%s %s: must be at least %" PRIu64, option, text, least);
		return -1;
	}
	if (*out > most) {
		message(command, "%s %s: must be at most %" PRIu64, option, text, most);
		return -1;
	}
	return 0;
}

int option_number(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		  uint64_t *out)
{
	return read_number(command, option, text, 0, least, most, out);
}

int option_size(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		uint64_t *out)
{
	return read_number(command, option, text, 1, least, most, out);
}

int option_name(const char *command, const char *option, const char *text, const char **out)
{
	if (!*text) {
		message(command, "%s: the name is empty", option);
		return -1;
	}
	if (*out && strcmp(*out, text)) {
		message(command, "%s %s: only one is possible, and %s was given before", option, text, *out);
		return -1;
	}
	*out = text;
	return 0;
}

int option_word(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		uint32_t *out)
{
	char list[128] = "";
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (!strcmp(text, words[i])) {
			*out = i;
			return 0;
		}
		if (i)
			strncat(list, i + 1 == n ? " or " : ", ", sizeof(list) - strlen(list) - 1);
		strncat(list, words[i], sizeof(list) - strlen(list) - 1);
	}
	message(command, "%s %s: must be %s", option, text, list);
	return -1;
}

int key_options_add(key_options *ko, const char *command, const char *text)
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

int key_options_done(key_options *ko, const char *command)
{
	uint32_t i;

	if (!ko->record_size) {
		message(command, "text lines are not supported yet; give --record-size=N");
		return -1;
	}
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
