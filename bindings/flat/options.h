/* SPDX-License-Identifier: BSL-1.0 */
/*
 * Options as bytes: a name, 0, a value, 0, and so on.
 *
 * Names are those of the fields.  A field that is a struct has names with its own in front, "sort.memory"; one of
 * several disks its number, "disks.0.path"; one of several texts its name again.  Numbers are digits, sizes also as the
 * command has them ("64M"); an order is the number of its handle, a function "#" and the number that the language has
 * for it, so that no number of the user's is one.
 * A language that could not write an option writes one without a name: why that is.
 */
#ifndef EMB_OPTIONS_H
#define EMB_OPTIONS_H

#include <errno.h>

#include "flat/callbacks.h"
#include "fields.h"

struct emb_options {
	const char *p;
	const char *end;
};

/** The next pair: 1, or 0 behind the last. */
static int emb_pair(struct emb_options *o, const char **name, const char **value)
{
	const char *zero;

	if (o->p >= o->end)
		return 0;
	zero = (const char *)memchr(o->p, 0, (size_t)(o->end - o->p));
	*name = o->p;
	*value = zero ? zero + 1 : o->end;
	zero = zero ? (const char *)memchr(*value, 0, (size_t)(o->end - *value)) : NULL;
	if (!zero) {
		emb_refuse(EM_ERR_INVAL, "options are names and values, each with a zero behind it");
		return 0;
	}
	o->p = zero + 1;
	return 1;
}

/** The value of prefix.field number i, or NULL. */
static const char *emb_option(struct emb_options o, const char *prefix, const char *field, size_t i)
{
	const size_t n = strlen(prefix);
	const char *name, *value;

	while (emb_pair(&o, &name, &value)) {
		if (strncmp(name, prefix, n) == 0 && strcmp(name + n, field) == 0 && i-- == 0)
			return value;
	}
	return NULL;
}

/** Is there one whose name begins so? */
static int emb_options_below(struct emb_options o, const char *prefix)
{
	const char *name, *value;

	while (emb_pair(&o, &name, &value)) {
		if (strncmp(name, prefix, strlen(prefix)) == 0)
			return 1;
	}
	return 0;
}

static uint64_t emb_digits(const char *name, const char *text, uint64_t most)
{
	char *end = NULL;
	char line[120];
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == 0 && n <= most && !errno)
		return n;
	snprintf(line, sizeof line, "the option %.40s cannot be '%.40s'", name, text);
	emb_refuse(EM_ERR_INVAL, line);
	return 0;
}

static size_t emb_fill_some(const struct emb_struct *s, void *to, struct emb_options from, const char *prefix);

/** A struct among the options: NULL, if there are none for it. */
static void *emb_fill_nested(const struct emb_struct *s, struct emb_options from, const char *prefix, size_t *used)
{
	void *p;

	if (!emb_options_below(from, prefix))
		return NULL;
	p = emb_temp(s->size);
	if (p)
		*used += emb_fill_some(s, p, from, prefix);
	return p;
}

static size_t emb_fill_list(const struct emb_field *f, char *to, struct emb_options from, const char *prefix)
{
	char below[100];
	const void **list;
	size_t n = 0, used = 0, i;

	for (;; n++) {
		snprintf(below, sizeof below, "%s%s.%zu.", prefix, f->name, n);
		if (f->kind == EMB_TEXTS ? !emb_option(from, prefix, f->name, n) : !emb_options_below(from, below))
			break;
	}
	list = n ? (const void **)emb_temp(n * sizeof *list) : NULL;
	for (i = 0; list && i < n; i++) {
		snprintf(below, sizeof below, "%s%s.%zu.", prefix, f->name, i);
		if (f->kind == EMB_TEXTS) {
			list[i] = emb_option(from, prefix, f->name, i);
			used++;
		} else {
			list[i] = emb_fill_nested(&emb_struct_em_disk_opts, from, below, &used);
		}
	}
	*(const void ***)to = list;
	/* How many there are is the next field. */
	*(uint32_t *)(to + sizeof(void *)) = (uint32_t)(list ? n : 0);
	return used;
}

static void *emb_fill_order(const char *value)
{
	emb_handle *h;
	void *object = NULL;

	/* Who fills it in has it in his hands, so nobody closes it now. */
	pthread_mutex_lock(&emb_lock);
	h = emb_find(strtoull(value, NULL, 10));
	if (h && h->kind == &emb_kind_em_order && !h->closing) {
		object = h->object;
		emb_call.order_bytes = h->record_bytes;
	}
	pthread_mutex_unlock(&emb_lock);
	if (!object)
		emb_refuse(EM_ERR_STATE, "the order is closed");
	return object;
}

static const void *emb_fill_policy(const char *value)
{
	static const struct { const char *name; const em_policy *(*get)(void); } policies[] = {
		{ "s3fifo", em_policy_s3fifo }, { "lru", em_policy_lru }, { "clock", em_policy_clock },
		{ "random", em_policy_random }
	};
	size_t i;

	for (i = 0; i < sizeof policies / sizeof *policies; i++) {
		if (strcmp(policies[i].name, value) == 0)
			return policies[i].get();
	}
	emb_refuse(EM_ERR_INVAL, "policies are s3fifo, lru, clock, random");
	return NULL;
}

static void emb_fill_signed(const struct emb_field *f, char *to, const char *value)
{
	char *end = NULL, line[120];
	const double x = strtod(value, &end);
	const int32_t n = x >= INT32_MIN && x <= INT32_MAX ? (int32_t)x : 0;

	if (*value && *end == 0 && (f->kind == EMB_DOUBLE || x == n)) {
		if (f->kind == EMB_DOUBLE)
			*(double *)to = x;
		else
			*(int32_t *)to = n;
		return;
	}
	snprintf(line, sizeof line, "the option %.40s cannot be '%.40s'", f->name, value);
	emb_refuse(EM_ERR_INVAL, line);
}

static void emb_fill_number(const struct emb_field *f, char *to, const char *value)
{
	uint64_t n = 0;

	if (f->kind == EMB_DOUBLE || f->kind == EMB_I32) {
		emb_fill_signed(f, to, value);
	} else if (f->kind == EMB_U32) {
		*(uint32_t *)to = (uint32_t)emb_digits(f->name, value, UINT32_MAX);
	} else if (value[0] >= '0' && value[0] <= '9' && value[strspn(value, "0123456789")]) {
		const em_status st = em_size_parse(&n, value, &emb_call.detail);

		if (st)
			emb_refuse(st, "a size is digits with K, M, G or T behind them");
		*(uint64_t *)to = n;
	} else {
		*(uint64_t *)to = emb_digits(f->name, value, UINT64_MAX);
	}
}

/** The number that the language has for a function; 0, with a refusal: it is none. */
static uint64_t emb_fn_of(const char *name, const char *value)
{
	char line[120];

	if (value[0] == '#')
		return strtoull(value + 1, NULL, 10);
	snprintf(line, sizeof line, "the option %.40s is to be a function", name);
	emb_refuse(EM_ERR_INVAL, line);
	return 0;
}

/** A function among the options, and its user behind it. */
static void emb_fill_fn(const struct emb_struct *s, const struct emb_field *f, void *to, const char *value)
{
	char *at = (char *)to + f->offset;
	const uint64_t id = emb_fn_of(f->name, value);
	struct emb_fn *fn = id ? emb_fn_new(id, 0) : NULL;

	if (!fn)
		return;
	*(void **)(at + sizeof(void (*)(void))) = fn;
	if (f->kind == EMB_PROGRESS) {
		emb_keep(fn);
		*(em_progress_fn *)at = emb_progress;
	} else if (s == &emb_struct_em_ctx_opts) {
		/* The handle of the context may end before its last reference: so the library has it. */
		((em_ctx_opts *)to)->log = emb_log;
		((em_ctx_opts *)to)->log_free = emb_fn_free;
		((em_ctx_opts *)to)->flags |= EM_CTX_LOG_CALLER;
	}
}

/** What a struct has no field for (keys.h): how many these were. */
static size_t emb_fill_words(const struct emb_struct *s, void *to, struct emb_options from, const char *prefix)
{
	const size_t n = strlen(prefix);
	struct emb_options rest = from;
	const char *name, *value;
	size_t used = 0;

	while (emb_pair(&rest, &name, &value)) {
		uint32_t flag;
		em_status st;

		if (strncmp(name, prefix, n))
			continue;
		flag = emb_flag_of(s, name + n);
		if (strcmp(value, "0") != 0)
			emb_flags_on(s, to, flag);
		st = flag ? EM_OK : emb_text_word(s, to, name + n, value, &emb_call.detail);
		used += st != EM_END;
		if (st < 0)
			emb_refuse(st, em_status_text(st));
	}
	emb_more_opts(s, to);
	return used;
}

/** Fill a struct with the options below a prefix: how many these were. */
static size_t emb_fill_some(const struct emb_struct *s, void *to, struct emb_options from, const char *prefix)
{
	const struct emb_field *f, *log = NULL;
	size_t used = 0;
	uint64_t id;

	memcpy(to, s->init, s->size);
	for (f = s->fields; f->name; f++) {
		char *at = (char *)to + f->offset;
		const char *value = emb_option(from, prefix, f->name, 0);
		char below[100];

		snprintf(below, sizeof below, "%s%s.", prefix, f->name);
		if (f->kind == EMB_ERRINFO) {
			*(em_errinfo **)at = &emb_call.detail;
		} else if (f->kind == EMB_TEXTS || f->kind == EMB_DISKS) {
			used += emb_fill_list(f, at, from, prefix);
		} else if (f->kind == EMB_FORMAT || f->kind == EMB_SORT) {
			*(void **)at = emb_fill_nested(f->kind == EMB_FORMAT ? &emb_struct_em_format
						       : &emb_struct_em_sort_opts, from, below, &used);
		} else if (value) {
			used++;
			if (f->kind == EMB_LOG)
				log = f;
			else if (f->kind == EMB_PROGRESS)
				emb_fill_fn(s, f, to, value);
			else if (f->kind == EMB_TEXT)
				*(const char **)at = value;
			else if (f->kind == EMB_ORDER)
				*(void **)at = emb_fill_order(value);
			else if (f->kind == EMB_POLICY)
				*(const void **)at = emb_fill_policy(value);
			else if (f->kind == EMB_POOL)
				emb_refuse(EM_ERR_NOTSUP, "pools are for programs in C and Python");
			else
				emb_fill_number(f, at, value);
		}
	}
	used += emb_fill_words(s, to, from, prefix);
	/* Last, as the library frees what it needs, from when it is called. */
	if (log && !emb_now.refused)
		emb_fill_fn(s, log, to, emb_option(from, prefix, log->name, 0));
	else if (log && (id = emb_fn_of(log->name, emb_option(from, prefix, log->name, 0))) != 0)
		emb_up_release(id);
	return used;
}

/** Fill a struct; what it does not have is refused by name. */
static void emb_fill(const struct emb_struct *s, void *to, const void *p, size_t bytes)
{
	struct emb_options o, rest;
	const char *name, *value;
	char line[160];
	size_t n = 0;

	o.p = (const char *)p;
	o.end = o.p + bytes;
	rest = o;
	while (emb_pair(&rest, &name, &value))
		n++;
	if (emb_fill_some(s, to, o, "") == n || emb_now.refused)
		return;
	rest = o;
	while (emb_pair(&rest, &name, &value)) {
		const struct emb_field *f;
		const size_t head = strcspn(name, ".");

		for (f = s->fields; f->name && (strncmp(f->name, name, head) || f->name[head]); f++)
			;
		if (!f->name || name[head])
			break;
	}
	snprintf(line, sizeof line, "among the options is one that an %s does not have, or twice: %.60s", s->name,
		 name);
	emb_refuse(EM_ERR_INVAL, *name ? line : value);
	/* No context will free it. */
	if (s == &emb_struct_em_ctx_opts && ((em_ctx_opts *)to)->log_free)
		emb_fn_free(((em_ctx_opts *)to)->log_user);
}

#endif
