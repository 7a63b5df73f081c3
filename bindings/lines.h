/* SPDX-License-Identifier: BSL-1.0 */
/* Orders of lines, by options of the command. */
#ifndef EMB_LINES_H
#define EMB_LINES_H

#include <stdio.h>

#include "call.h"
#include "fields.h"

/** Options of the command that are letters, up to a blank: 0, or -1. */
static int emb_letters(const char **p, char *letters)
{
	const size_t n = strcspn(*p, " \t");

	if (n == 0 || n != strspn(*p, "bdfghiMnrVus") || strlen(letters) + n > 60)
		return -1;
	strncat(letters, *p, n);
	*p += n;
	return 0;
}

/** An order of lines by options of the command: "-t, -k3,3nr".  keys: room for as many as there are bytes; unique:
 *  whether equal ones are one; csv_separator: that of CSV, or left alone. */
static em_status emb_order_lines(em_order **out, em_ctx *ctx, const char *p, em_text_key *keys, int *unique,
				 uint32_t *csv_separator, em_errinfo *err)
{
	em_text_opts opts = emb_init_em_text_opts;
	char letters[64] = "", own[64] = "", text[256];
	uint32_t n = 0, i;
	int separator = -1, csv = 0, quoted;
	em_status st = EM_OK;

	/* Twice: keys without letters take those that stand outside. */
	for (i = 0; i < 2 && !st; i++) {
		const char *at = p;

		n = 0;
		while (!st && *(at += strspn(at, " \t"))) {
			if (strncmp(at, "-k", 2) == 0) {
				size_t len;

				at += 2 + strspn(at + 2, " \t");
				len = strcspn(at, " \t");
				if (len == 0 || len > 128)
					st = EM_ERR_INVAL;
				snprintf(text, sizeof text, "%.*s%s", (int)len, at,
					 strcspn(at, "bdfghiMnrV") >= len ? own : "");
				if (!st)
					st = em_text_key_parse(&keys[n++], NULL, text, err);
				at += len;
			} else if (strncmp(at, "-t", 2) == 0) {
				at += 2 + strspn(at + 2, " ");
				/* A byte, or one in quotes, as a shell has it. */
				quoted = (*at == '\'' || *at == '"') && at[1] && at[2] == *at ? 1 : 0;
				at += quoted;
				separator = at[0] == '\\' && at[1] == 't' ? (at++, '\t') : (unsigned char)*at;
				at += (*at != 0) + quoted;
				st = separator == 0 || (*at && *at != ' ') ? EM_ERR_INVAL : EM_OK;
			} else if (strncmp(at, "--csv", 5) == 0 && strchr(" ", at[5])) {
				csv = 1;
				at += 5;
			} else if (*at++ != '-' || emb_letters(&at, i == 0 ? letters : text + (text[0] = 0))) {
				st = EM_ERR_INVAL;
			}
		}
		for (at = letters; i == 0 && *at; at++) {
			if (!strchr("us", *at))
				own[strlen(own)] = *at;
		}
	}
	if (st) {
		if (err->status != st) {
			memset(err, 0, sizeof *err);
			err->status = st;
			err->offset = UINT64_MAX;
			snprintf(err->text, sizeof err->text, "'%.100s' are no options for keys of lines", p);
		}
		return st;
	}
	if (n == 0 && strspn(own, "r") != strlen(own)) {
		snprintf(text, sizeof text, "1%s", own);
		st = em_text_key_parse(&keys[n++], NULL, text, err);
		if (st)
			return st;
	}
	if (strchr(own, 'r'))
		opts.flags = EM_TEXT_LAST_REVERSE;
	if (n > 0 && strpbrk(letters, "us"))
		opts.flags = EM_TEXT_KEYS_ONLY;
	*unique = strchr(letters, 'u') != NULL;
	if (csv) {
		opts.flags |= EM_TEXT_CSV;
		separator = separator < 0 ? ',' : separator;
		*csv_separator = (uint32_t)separator;
	}
	if (separator >= 0)
		opts.separator = separator;
	return em_order_text(out, ctx, keys, n, &opts, err);
}

#endif
