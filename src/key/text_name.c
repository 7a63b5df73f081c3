/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_name.c -- orders of text, made of their names again: text:SEPARATOR:FLAGS, and for each key
 * :FIELD.CHARACTER,FIELD.CHARACTER, the letter of its kind, and its flags, as order_text.c writes them.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "key/text.h"

#define QUOTED 64 /* as much of a name as a message quotes */

typedef struct reader {
	const char *name; /* all of it */
	const char *p; /* what is left */
	em_errinfo *err;
} reader;

static em_status refuse(const reader *r, const char *expected)
{
	return emi_fail(r->err, EM_ERR_INVAL, "order '%.*s': expected %s, not '%.*s'", QUOTED, r->name, expected,
			QUOTED, r->p);
}

/* The character that comes next, which has to be that one. */
static em_status pass(reader *r, char c, const char *expected)
{
	if (*r->p != c)
		return refuse(r, expected);
	r->p++;
	return EM_OK;
}

static em_status number(reader *r, uint64_t most, uint64_t *out)
{
	uint64_t v = 0;

	if (*r->p < '0' || *r->p > '9')
		return refuse(r, "a number");
	for (; *r->p >= '0' && *r->p <= '9'; r->p++) {
		const uint64_t digit = (uint64_t)(*r->p - '0');

		if (v > (most - digit) / 10)
			return emi_fail(r->err, EM_ERR_INVAL, "order '%.*s': a number is too large", QUOTED, r->name);
		v = v * 10 + digit;
	}
	*out = v;
	return EM_OK;
}

static em_status number32(reader *r, uint32_t *out)
{
	uint64_t v = 0;
	const em_status st = number(r, UINT32_MAX, &v);

	*out = (uint32_t)v;
	return st;
}

static em_status place(reader *r, uint64_t *field, uint64_t *character)
{
	em_status st = number(r, UINT64_MAX, field);

	if (st == EM_OK)
		st = pass(r, '.', "'.'");
	return st == EM_OK ? number(r, UINT64_MAX, character) : st;
}

static em_status kind(reader *r, int32_t *out)
{
	const char *at = *r->p != '\0' ? strchr(emi_text_kinds, *r->p) : NULL;

	if (at == NULL)
		return refuse(r, "the letter of a kind");
	*out = (int32_t)(at - emi_text_kinds);
	r->p++;
	return EM_OK;
}

static em_status key(reader *r, em_text_key *k)
{
	const em_text_key plain = EM_TEXT_KEY_INIT;
	em_status st;

	*k = plain;
	st = pass(r, ':', "':'");
	if (st == EM_OK)
		st = place(r, &k->first_field, &k->first_char);
	if (st == EM_OK)
		st = pass(r, ',', "','");
	if (st == EM_OK)
		st = place(r, &k->last_field, &k->last_char);
	if (st == EM_OK)
		st = kind(r, &k->kind);
	return st == EM_OK ? number32(r, &k->flags) : st;
}

int emi_is_text_name(const char *name)
{
	return strncmp(name, EMI_TEXT_NAME, strlen(EMI_TEXT_NAME)) == 0;
}

em_status emi_order_parse_text(em_order **out, em_ctx *ctx, const char *name, em_errinfo *err)
{
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	reader r = {name, name + strlen(EMI_TEXT_NAME), err};
	em_text_key *keys = NULL;
	uint32_t n = 0, i;
	const char *c;
	em_status st = number32(&r, &opts.separator);

	if (st == EM_OK)
		st = pass(&r, ':', "':'");
	if (st == EM_OK)
		st = number32(&r, &opts.flags);
	for (c = r.p; *c != '\0' && n < UINT32_MAX; c++)
		n += *c == ':';
	if (st == EM_OK && n != 0) {
		keys = emi_alloc_array(ctx, n, sizeof *keys, err);
		st = keys != NULL ? EM_OK : err->status;
	}
	for (i = 0; i < n && st == EM_OK; i++)
		st = key(&r, &keys[i]);
	if (st == EM_OK)
		st = pass(&r, '\0', "the end, or ':'");
	if (st == EM_OK)
		st = em_order_text(out, ctx, keys, n, &opts, err);
	emi_free_array(ctx, keys, keys != NULL ? n : 0, sizeof *keys);
	return st;
}
