/* SPDX-License-Identifier: BSL-1.0 */
/*
 * What languages say by a text or a word: orders of lines, by options of the command; fields, by the name of an order;
 * flags, by the name of an option, and those of a vector by its mode.
 *
 * An order of lines by "-u" keeps the first of equal ones, and one by "--csv" knows how files are.  Its handle keeps
 * both (emb_call.lines), and options of a sort that is made with it have them (emb_more_opts()).
 */
#ifndef EMB_KEYS_H
#define EMB_KEYS_H

#include <stdlib.h>

#include <extmem/stream_nodes.h>

#include "call.h"
#include "fields.h"
#include "lines.h"

/* Orders of lines. */

/** An order of lines by options of the command; what else is known of it: emb_call.lines. */
static em_status emb_order_options(em_order **out, em_ctx *ctx, const char *text, em_errinfo *err)
{
	const char *p = text ? text : "";
	em_text_key *keys = (em_text_key *)calloc(strlen(p) + 2, sizeof *keys);
	struct emb_lines lines = { 0, 0 };
	em_status st;

	if (!keys)
		return EM_ERR_NOMEM;
	st = emb_order_lines(out, ctx, p, keys, &lines.unique, &lines.csv, err);
	free(keys);
	if (st == EM_OK)
		emb_call.lines = lines;
	return st;
}

/* Fields of records. */

enum { EMB_JOIN_KEYS = 64 };

/** The fields of an order by its name: "u64le@0,i32be@8:r". */
static em_status emb_join_keys(const char *name, em_key *keys, uint32_t *n, em_errinfo *err)
{
	char text[120], type[40];
	em_status st = EM_OK;
	size_t len;

	for (*n = 0; st == EM_OK && *name && *n < EMB_JOIN_KEYS; name += len + (name[len] == ',')) {
		const size_t head = strcspn(name, "@,");

		len = strcspn(name, ",");
		snprintf(type, sizeof type, "%.*s", (int)head, name);
		/* What stands behind the offset, as ":r", stays behind the type. */
		if (head < len) {
			const char *at = name + head + 1;
			const size_t digits = strspn(at, "0123456789");

			snprintf(text, sizeof text, "%.*s:%s%.*s", (int)digits, at, type,
				 (int)(len - head - 1 - digits), at + digits);
		} else {
			snprintf(text, sizeof text, "%s", type);
		}
		st = em_key_parse(&keys[(*n)++], text, err);
	}
	return st;
}

/** em_stream_prefix_sum() of a field, by the name of an order. */
static em_status emb_stream_sums(em_stream **out, em_stream *in, const char *field, em_errinfo *err)
{
	em_key key[EMB_JOIN_KEYS];
	uint32_t n = 0;
	em_status st = field ? emb_join_keys(field, key, &n, err) : EM_ERR_INVAL;

	if (st == EM_OK && (n != 1 || key->flags))
		st = EM_ERR_INVAL;
	return st ? st : em_stream_prefix_sum(out, in, key->offset, key->type, err);
}

/* Options beside the fields of a struct. */

/** A word that stands for a flag. */
struct emb_word {
	const char *of, *name;
	uint32_t flag;
};

static const struct emb_word emb_words[] = {
	{ "em_sort_opts", "unique", EM_SORT_UNIQUE },
	{ "em_check_opts", "unique", EM_CHECK_UNIQUE },
	{ "em_unique_opts", "count", EM_UNIQUE_COUNT },
	{ "em_unique_opts", "presorted", EM_UNIQUE_PRESORTED },
	{ "em_pq_opts", "stable", EM_PQ_STABLE },
	{ "em_tee_opts", "spill", EM_TEE_SPILL }
};

static void *emb_field_of(const struct emb_struct *s, void *opts, const char *name)
{
	const struct emb_field *f;

	for (f = s->fields; f->name && strcmp(f->name, name); f++)
		;
	return f->name ? (char *)opts + f->offset : NULL;
}

/** The flag that a word is, or 0. */
static uint32_t emb_flag_of(const struct emb_struct *s, const char *name)
{
	size_t i;

	for (i = 0; i < sizeof emb_words / sizeof *emb_words; i++) {
		if (strcmp(emb_words[i].of, s->name) == 0 && strcmp(emb_words[i].name, name) == 0)
			return emb_words[i].flag;
	}
	return 0;
}

static void emb_flags_on(const struct emb_struct *s, void *opts, uint32_t flags)
{
	uint32_t *to = (uint32_t *)emb_field_of(s, opts, "flags");

	if (to)
		*to |= flags;
}

/** A word, or an argument, says what cannot be. */
static em_status emb_unfit_word(em_errinfo *err, const char *why)
{
	memset(err, 0, sizeof *err);
	err->status = EM_ERR_INVAL;
	err->offset = UINT64_MAX;
	snprintf(err->text, sizeof err->text, "%s", why);
	return EM_ERR_INVAL;
}

/** The key of a radix heap, by the name of an order. */
static em_status emb_radix_key(em_radix_heap_opts *opts, const char *name, em_errinfo *err)
{
	em_key key[EMB_JOIN_KEYS];
	uint32_t n = 0;
	em_status st = emb_join_keys(name, key, &n, err);

	if (st == EM_OK && (n != 1 || key->flags & EM_KEY_DESCENDING))
		st = emb_unfit_word(err, "the key of a radix heap is one field");
	if (st == EM_OK) {
		opts->key_offset = key->offset;
		opts->key_type = key->type;
		opts->key_flags = key->flags;
	}
	return st;
}

/** The mode of a vector, which counts where it is a file: that is read, or read and written, or begins as an empty
 *  one. */
static em_status emb_vector_mode(em_vector_opts *opts, const char *mode, em_errinfo *err)
{
	const uint32_t flags = strcmp(mode, "r") == 0 ? EM_VECTOR_READ_ONLY : strcmp(mode, "r+") == 0 ? EM_VECTOR_CREATE
		: strcmp(mode, "w") == 0 ? EM_VECTOR_CREATE | EM_VECTOR_TRUNCATE : 0;

	if (!flags)
		return emb_unfit_word(err, "the mode of a vector is r, r+ or w");
	if (opts->path)
		opts->flags |= flags;
	return EM_OK;
}

/** A word with a text, when fields are filled: EM_END, if the struct has no such word. */
static em_status emb_text_word(const struct emb_struct *s, void *opts, const char *name, const char *text,
			       em_errinfo *err)
{
	if (s == &emb_struct_em_radix_heap_opts && strcmp(name, "key") == 0)
		return emb_radix_key((em_radix_heap_opts *)opts, text, err);
	if (s == &emb_struct_em_vector_opts && strcmp(name, "mode") == 0)
		return emb_vector_mode((em_vector_opts *)opts, text, err);
	return EM_END;
}

/** What follows for options of a call from the order among its arguments. */
static void emb_more_opts(const struct emb_struct *s, void *opts)
{
	static EMB_OF_THREAD em_format csv;
	const em_format **format = (const em_format **)emb_field_of(s, opts, "format");

	if (emb_call.lines.unique)
		emb_flags_on(s, opts, emb_flag_of(s, "unique"));
	/* Where there are files. */
	if (emb_call.lines.csv && format && !*format && emb_call.kind && strcmp(emb_call.kind->name, "em_ctx") == 0) {
		csv = emb_init_em_format;
		csv.kind = EM_FORMAT_CSV;
		csv.separator = emb_call.lines.csv;
		*format = &csv;
	}
}

#endif
