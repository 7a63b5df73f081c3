/* SPDX-License-Identifier: BSL-1.0 */
/* Arguments and results: options by name, lists, what is told. */
#ifndef EMB_SCRIPT_CONVERT_H
#define EMB_SCRIPT_CONVERT_H

#include <extmem/runs.h>
#include <extmem/stream_lines.h>

#include "functions.h"
#include "keys.h"

static int emb_fill(emb_env *env, const struct emb_struct *s, void *to, emb_value from);

/** A list of texts, or one: NULL with an exception. */
static const char **emb_texts(emb_env *env, emb_value v, uint32_t *n)
{
	const int one = emb_list_size(env, v) < 0;
	const int64_t count = one ? 1 : emb_list_size(env, v);
	const char **list;
	int64_t i;

	if (count > UINT32_MAX) {
		emb_wrong(env, "a list of texts is wanted here");
		return NULL;
	}
	list = (const char **)emb_temp(env, ((size_t)count + 1) * sizeof *list);
	for (i = 0; list && i < count; i++) {
		list[i] = emb_text_of(env, one ? v : emb_list_get(env, v, (uint64_t)i));
		if (!list[i])
			return NULL;
	}
	*n = (uint32_t)count;
	return list;
}

static void *emb_fill_nested(emb_env *env, int kind, emb_value value)
{
	const struct emb_struct *s = kind == EMB_FORMAT ? &emb_struct_em_format
		: kind == EMB_SORT ? &emb_struct_em_sort_opts : &emb_struct_em_disk_opts;
	void *p = emb_temp(env, s->size);

	return p && !emb_fill(env, s, p, value) ? p : NULL;
}

static void *emb_fill_disks(emb_env *env, emb_value value, uint32_t *n)
{
	const int64_t count = emb_list_size(env, value);
	void **list;
	int64_t i;

	if (count < 0 || count > UINT32_MAX) {
		emb_wrong(env, "disks are a list of options");
		return NULL;
	}
	list = (void **)emb_temp(env, ((size_t)count + 1) * sizeof *list);
	for (i = 0; list && i < count; i++) {
		list[i] = emb_fill_nested(env, EMB_DISKS, emb_list_get(env, value, (uint64_t)i));
		if (!list[i])
			return NULL;
	}
	*n = (uint32_t)count;
	return (void *)list;
}

static int emb_fill_policy(emb_env *env, const em_policy **to, emb_value value)
{
	static const struct { const char *name; const em_policy *(*get)(void); } policies[] = {
		{ "s3fifo", em_policy_s3fifo }, { "lru", em_policy_lru }, { "clock", em_policy_clock },
		{ "random", em_policy_random }
	};
	const char *name = emb_text_of(env, value);
	size_t i;

	for (i = 0; name && i < sizeof policies / sizeof *policies; i++) {
		if (strcmp(name, policies[i].name) == 0) {
			*to = policies[i].get();
			return 0;
		}
	}
	return name ? emb_wrong(env, "there is no policy '%s'", name) : -1;
}

/** A number, or a size as the command spells it: "64M". */
static int emb_fill_u64(emb_env *env, uint64_t *to, emb_value value)
{
	const char *text;
	em_status st;

	if (emb_u64_like(env, value))
		return emb_u64_of(env, value, to);
	text = emb_text_of(env, value);
	if (!text)
		return -1;
	st = em_size_parse(to, text, &emb_call.detail);
	if (st)
		emb_raise(env, st);
	return st ? -1 : 0;
}

/** One option, and, where it is a list, how many there are: what follows it in the struct. */
static int emb_fill_shape(emb_env *env, uint64_t *to, emb_value value)
{
	const char *text = emb_text_of(env, value);
	struct emb_shape *shape = text ? emb_shape_new(env, text) : NULL;

	if (!shape)
		return -1;
	*to = shape->bytes;
	emb_set_shape(shape);
	emb_shape_unref(shape);
	return 0;
}

static int emb_fill_field(emb_env *env, const struct emb_field *f, char *to, emb_value value)
{
	uint32_t *n = (uint32_t *)(void *)(to + sizeof(void *));
	void *pointer = NULL;
	uint64_t number = 0;
	int64_t with_sign = 0;
	emb_handle *h;

	switch (f->kind) {
	case EMB_U32:
		if (emb_u64_of(env, value, &number))
			return -1;
		if (number > UINT32_MAX)
			return emb_wrong(env, "%s is too large", f->name);
		*(uint32_t *)(void *)to = (uint32_t)number;
		return 0;
	case EMB_U64:
		/* Containers take the format of their records in its place. */
		if (strcmp(f->name, "record_bytes") == 0 && !emb_u64_like(env, value))
			return emb_fill_shape(env, (uint64_t *)(void *)to, value);
		return emb_fill_u64(env, (uint64_t *)(void *)to, value);
	case EMB_I32:
		if (emb_i64_of(env, value, &with_sign))
			return -1;
		if (with_sign < INT32_MIN || with_sign > INT32_MAX)
			return emb_wrong(env, "%s is too large", f->name);
		*(int32_t *)(void *)to = (int32_t)with_sign;
		return 0;
	case EMB_DOUBLE:
		return emb_double_of(env, value, (double *)(void *)to);
	case EMB_TEXT:
		pointer = (void *)(uintptr_t)emb_text_of(env, value);
		break;
	case EMB_TEXTS:
		pointer = (void *)emb_texts(env, value, n);
		break;
	case EMB_DISKS:
		pointer = emb_fill_disks(env, value, n);
		break;
	case EMB_FORMAT:
	case EMB_SORT:
		pointer = emb_fill_nested(env, f->kind, value);
		break;
	case EMB_POLICY:
		return emb_fill_policy(env, (const em_policy **)(void *)to, value);
	case EMB_ORDER:
		h = emb_handle_of(env, value);
		if (!h || h->kind != &emb_kind_em_order || emb_closed(h))
			return emb_wrong(env, "%s is to be one that is open", f->name);
		emb_call.order_bytes = em_order_record_size((em_order *)h->object);
		emb_set_shape(h->shape);
		emb_now.order = h->fn ? h : emb_now.order;
		pointer = h->object;
		break;
	default:
		return emb_wrong(env, "%s is no option for programs in this language", f->name);
	}
	if (!pointer)
		return -1;
	*(void **)(void *)to = pointer;
	return 0;
}

/** The function that watches, which its user follows, and what makes signals interrupt. */
static int emb_fill_progress(emb_env *env, char *to, emb_value *value)
{
	struct emb_fn *f = NULL;

	*(em_progress_fn *)(void *)to = emb_progress;
	if (value) {
		f = emb_fn_new(env, *value, 0);
		if (!f)
			return -1;
		emb_fn_keep(f);
	}
	*(void **)(void *)(to + sizeof(em_progress_fn)) = f;
	return 0;
}

/** What is more than a field: 0, or -1.  used: options that were found. */
static int emb_fill_more(emb_env *env, const struct emb_struct *s, void *to, emb_value from, uint64_t *used)
{
	const int none = emb_is_nil(env, from);
	int there;
	size_t i;

	for (i = 0; !none && i < sizeof emb_words / sizeof *emb_words; i++) {
		emb_value on = from;

		if (strcmp(s->name, emb_words[i].of) != 0)
			continue;
		on = emb_dict_get(env, from, emb_words[i].name, &there);
		*used += (uint64_t)there;
		if (there && !emb_is_nil(env, on) && emb_is_true(env, on))
			emb_flags_on(s, to, emb_words[i].flag);
	}
	if (!none && s == &emb_struct_em_vector_opts) {
		emb_value v = emb_dict_get(env, from, "mode", &there);
		const char *mode = there && !emb_is_nil(env, v) ? emb_text_of(env, v) : "r+";

		*used += (uint64_t)there;
		if (mode && emb_vector_mode((em_vector_opts *)to, mode, &emb_call.detail))
			return emb_wrong(env, "%s", emb_call.detail.text);
		if (!mode)
			return -1;
	}
	emb_more_opts(s, to);
	return 0;
}

static int emb_fill_all(emb_env *env, const struct emb_struct *s, void *to, emb_value from)
{
	const int none = emb_is_nil(env, from);
	const struct emb_field *f;
	uint64_t used = 0;

	memcpy(to, s->init, s->size);
	if (!none && !emb_is_dict(env, from))
		return emb_wrong(env, "options are fields of an %s by name", s->name);
	for (f = s->fields; f->name; f++) {
		char *at = (char *)to + f->offset;
		int there = 0, given;
		emb_value value = from;

		if (!none)
			value = emb_dict_get(env, from, f->name, &there);
		used += (uint64_t)there;
		given = there && !emb_is_nil(env, value);
		if (f->kind == EMB_ERRINFO)
			*(em_errinfo **)(void *)at = &emb_call.detail;
		else if (f->kind == EMB_LOG)
			continue;
		else if (f->kind == EMB_PROGRESS ? emb_fill_progress(env, at, given ? &value : NULL)
			 : given && emb_fill_field(env, f, at, value))
			return -1;
	}
	if (emb_fill_more(env, s, to, from, &used))
		return -1;
	if (!none && used != emb_dict_size(env, from))
		return emb_wrong(env, "among the options there is one that an %s does not have", s->name);
	return 0;
}

/** Fill a struct from options by name, or nil: 0, or -1 with an exception. */
static int emb_fill(emb_env *env, const struct emb_struct *s, void *to, emb_value from)
{
	em_ctx_opts *opts = (em_ctx_opts *)to;
	emb_value log;
	int there = 0;

	emb_now.fresh = 0;
	if (emb_fill_all(env, s, to, from))
		return -1;
	/* Last, as the library frees what it needs, from when it is called. */
	if (s != &emb_struct_em_ctx_opts || emb_is_nil(env, from))
		return 0;
	log = emb_dict_get(env, from, "log", &there);
	if (!there || emb_is_nil(env, log))
		return 0;
	opts->log_user = emb_fn_new(env, log, 0);
	if (!opts->log_user)
		return -1;
	opts->log = emb_log;
	opts->log_free = emb_fn_free;
	opts->flags |= EM_CTX_LOG_CALLER;
	return 0;
}

/** A struct by name, and as JSON, if that is given. */
static emb_value emb_tell(emb_env *env, const struct emb_struct *s, const void *from, const char *json)
{
	emb_value d = emb_dict_new(env);
	const struct emb_field *f;

	for (f = s->fields; f->name; f++) {
		const char *at = (const char *)from + f->offset;

		switch (f->kind) {
		case EMB_U32:
			emb_dict_put(env, d, f->name, emb_from_u64(env, *(const uint32_t *)(const void *)at));
			break;
		case EMB_I32:
			emb_dict_put(env, d, f->name, emb_from_i64(env, *(const int32_t *)(const void *)at));
			break;
		case EMB_U64:
			emb_dict_put(env, d, f->name, emb_from_u64(env, *(const uint64_t *)(const void *)at));
			break;
		case EMB_DOUBLE:
			emb_dict_put(env, d, f->name, emb_from_double(env, *(const double *)(const void *)at));
			break;
		default:
			break;
		}
	}
	if (json)
		emb_dict_put(env, d, "json", emb_from_text(env, json));
	return d;
}

/** Statistics of a sort, with those of its phases. */
static emb_value emb_tell_sort(emb_env *env, const em_sort_stats *stats, const char *json)
{
	emb_value d = emb_tell(env, &emb_struct_em_sort_stats, stats, json), phases = emb_dict_new(env);
	em_phase_stats phase = EM_PHASE_STATS_INIT;
	uint32_t i;

	for (i = 0; em_sort_stats_phase(stats, i, &phase) == EM_OK; i++)
		emb_dict_put(env, phases, em_phase_name(i), emb_tell(env, &emb_struct_em_phase_stats, &phase, NULL));
	emb_dict_put(env, d, "phases", phases);
	return d;
}

/* Records. */

/** Records, or keys, of the receiver: bytes, which stay as they are until the call is over, or a list of items. */
static const void *emb_records(emb_env *env, emb_value v, emb_anchor *anchor, int key, uint64_t *n)
{
	const uint64_t unit = key ? emb_call.key_bytes : emb_call.record_bytes;
	const int64_t count = emb_list_size(env, v);
	size_t bytes = 0;
	char *p;

	if (unit == 0) {
		emb_refuse(env, EM_ERR_INVAL, "records of any length are given as a list");
		return NULL;
	}
	if (count >= 0) {
		*n = (uint64_t)count;
		p = *n <= (SIZE_MAX >> 1) / unit ? (char *)emb_temp(env, (size_t)(*n * unit) + 1) : NULL;
		return p && !emb_many_in(env, emb_now.first->shape, key, v, p, *n, unit) ? p : NULL;
	}
	if (!emb_is_bytes(env, v)) {
		emb_wrong(env, "a list of items, or bytes of records, is wanted here");
		return NULL;
	}
	p = (char *)(uintptr_t)emb_hold(env, v, anchor, &bytes);
	if (p && bytes % unit != 0) {
		emb_wrong(env, "%llu bytes are no whole number of records of %llu", (unsigned long long)bytes,
			  (unsigned long long)unit);
		return NULL;
	}
	*n = bytes / unit;
	return p;
}

/** One record or key: an item. */
static const void *emb_record(emb_env *env, emb_value v, emb_anchor *anchor, int key)
{
	const uint64_t unit = key ? emb_call.key_bytes : emb_call.record_bytes;
	const struct emb_shape *shape = emb_now.first ? emb_now.first->shape : NULL;
	size_t bytes = 0;
	char *p;

	emb_now.brief = 1;
	if (shape) {
		p = (char *)emb_temp(env, (size_t)unit + 1);
		return p && !emb_item_in(env, shape, key, v, p) ? p : NULL;
	}
	p = emb_is_bytes(env, v) ? (char *)(uintptr_t)emb_hold(env, v, anchor, &bytes) : NULL;
	if (!p || bytes != unit || unit == 0) {
		emb_wrong(env, "a record or key of %llu bytes is wanted here", (unsigned long long)unit);
		return NULL;
	}
	return p;
}

/** Bytes. */
static const void *emb_bytes(emb_env *env, emb_value v, emb_anchor *anchor, size_t *n)
{
	if (emb_is_bytes(env, v))
		return emb_hold(env, v, anchor, n);
	emb_wrong(env, "bytes are wanted here");
	return NULL;
}

/** A record that the library wrote to room, as an item. */
static emb_value emb_record_out(emb_env *env, emb_value room, const char *from)
{
	const struct emb_shape *shape = emb_now.first ? emb_now.first->shape : NULL;

	return shape ? emb_item_out(env, shape, from) : emb_from_room(env, room, from, (size_t)emb_call.record_bytes);
}

/** A list of records of any length, side by side, with where they end. */
static int emb_list(emb_env *env, emb_value v, const void **records, uint64_t **ends, uint64_t *n)
{
	const int64_t count = emb_list_size(env, v);
	uint64_t total = 0, at = 0, room;
	int mark = emb_mark(env), pass;
	char *data = NULL;
	int64_t i;

	if (count < 0)
		return emb_wrong(env, "a list of records is wanted here");
	*n = (uint64_t)count;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < count; i++) {
			emb_value one = emb_list_get(env, v, (uint64_t)i);
			const char *bytes;
			size_t size = 0;

			if (!emb_is_bytes(env, one) || !(bytes = emb_bytes_of(env, one, &size)))
				return emb_wrong(env, "records are bytes, and not characters above 255");
			if (pass == 0) {
				total += size;
			} else {
				room = total - at;
				if (size > room)
					return emb_wrong(env, "records changed when they were looked at");
				memcpy(data + at, bytes, size);
				at += size;
				(*ends)[i] = at;
			}
			emb_reset(env, mark);
		}
		if (pass == 0) {
			data = (char *)emb_temp(env, (size_t)total + 1);
			*ends = (uint64_t *)emb_temp(env, ((size_t)count + 1) * sizeof **ends);
			mark = emb_mark(env);
			if (!data || !*ends)
				return -1;
		}
	}
	*records = data;
	return 0;
}

/** A list of numbers. */
static uint64_t *emb_numbers(emb_env *env, emb_value v, uint64_t *n)
{
	const int64_t count = emb_list_size(env, v);
	uint64_t *list;
	int64_t i;
	int mark;

	if (count < 0) {
		emb_wrong(env, "a list of numbers is wanted here");
		return NULL;
	}
	list = (uint64_t *)emb_temp(env, ((size_t)count + 1) * sizeof *list);
	mark = emb_mark(env);
	for (i = 0; list && i < count; i++) {
		if (emb_u64_of(env, emb_list_get(env, v, (uint64_t)i), &list[i]))
			return NULL;
		emb_reset(env, mark);
	}
	*n = (uint64_t)count;
	return list;
}

/** Keys, each a list of offset, width, type and flags. */
static em_key *emb_keys(emb_env *env, emb_value v, uint32_t *n)
{
	const int64_t count = emb_list_size(env, v);
	em_key *list;
	int64_t i;
	int mark;

	if (count < 0 || count > UINT32_MAX) {
		emb_wrong(env, "a list of keys is wanted here");
		return NULL;
	}
	list = (em_key *)emb_temp(env, ((size_t)count + 1) * sizeof *list);
	mark = emb_mark(env);
	for (i = 0; list && i < count; i++) {
		emb_value one = emb_list_get(env, v, (uint64_t)i);
		uint64_t field[4];
		int k;

		if (emb_list_size(env, one) != 4) {
			emb_wrong(env, "a key is (offset, width, type, flags)");
			return NULL;
		}
		for (k = 0; k < 4; k++) {
			if (emb_u64_of(env, emb_list_get(env, one, (uint64_t)k), &field[k]))
				return NULL;
		}
		list[i].offset = field[0];
		list[i].width = field[1];
		list[i].type = (int32_t)field[2];
		list[i].flags = (uint32_t)field[3];
		emb_reset(env, mark);
	}
	*n = (uint32_t)count;
	return list;
}

/** Keys of lines, as the command spells them. */
static em_text_key *emb_text_keys(emb_env *env, emb_value v, uint32_t *n)
{
	const char **texts = emb_texts(env, v, n);
	em_text_key *list = texts ? (em_text_key *)emb_temp(env, ((size_t)*n + 1) * sizeof *list) : NULL;
	uint32_t i;

	for (i = 0; list && i < *n; i++) {
		const em_status st = em_text_key_parse(&list[i], NULL, texts[i], &emb_call.detail);

		if (st) {
			emb_raise(env, st);
			return NULL;
		}
	}
	return list;
}

/** A batch: its records side by side, or, where they have any length, a list of them. */
static emb_value emb_batch_out(emb_env *env, const em_batch *b)
{
	const char *records = (const char *)b->records;

	return b->ends ? emb_lines_out(env, records, b->ends, 0, b->n) : emb_from_bytes(env, records, b->bytes);
}

/** (format of records, name or nil, function): what an order is made of. */
static struct emb_fn *emb_order_fn(emb_env *env, emb_value v, uint64_t *bytes, const char **name)
{
	emb_value text;
	struct emb_fn *f;
	uint64_t room = 0;

	if (emb_list_size(env, v) != 3) {
		emb_wrong(env, "a list is wanted here: format of records, name, function");
		return NULL;
	}
	text = emb_list_get(env, v, 1);
	*name = emb_is_nil(env, text) ? NULL : emb_text_of(env, text);
	if (!*name && !emb_is_nil(env, text))
		return NULL;
	if (emb_fill_shape(env, &room, emb_list_get(env, v, 0)))
		return NULL;
	*bytes = room;
	f = emb_now.fn = emb_fn_new(env, emb_list_get(env, v, 2), room);
	if (f) {
		f->shape = emb_now.shape;
		f->shape->refs++;
	}
	emb_call.order_bytes = room;
	return f;
}

/** A function of a stream: (function, format of what it makes, or nil), or nil: 0, or -1. */
static int emb_asked(emb_env *env, emb_value v, struct emb_fn **to)
{
	uint64_t bytes;
	struct emb_fn *f;

	*to = NULL;
	if (emb_is_nil(env, v))
		return 0;
	if (emb_list_size(env, v) != 2)
		return emb_wrong(env, "a list is wanted here: function, format of records");
	if (!emb_is_nil(env, emb_list_get(env, v, 1)) && emb_fill_shape(env, &bytes, emb_list_get(env, v, 1)))
		return -1;
	f = emb_fn_new(env, emb_list_get(env, v, 0), 0);
	if (!f)
		return -1;
	/* Without a format they make what they get. */
	f->shape = emb_now.ninputs > 0 ? emb_now.inputs[0]->shape : emb_now.shape;
	f->other = emb_now.ninputs > 1 ? emb_now.inputs[1]->shape : NULL;
	f->to = emb_now.shape;
	if (f->shape)
		f->shape->refs++;
	if (f->other)
		f->other->refs++;
	if (f->to) {
		f->to->refs++;
		f->out_bytes = f->to->bytes;
	}
	*to = emb_fn_keep(f);
	return 0;
}

/** A stream that becomes a part of what is made. */
static em_stream *emb_take_input(emb_env *env, emb_value v)
{
	emb_handle *h = emb_take(env, v, &emb_kind_em_stream);

	if (!h)
		return NULL;
	if (emb_now.ninputs == 0)
		emb_set_shape(h->shape);
	emb_now.inputs[emb_now.ninputs++] = h;
	return (em_stream *)h->object;
}

/** A list of objects: of a kind, or, with NULL, streams that become a part of what is made. */
static void **emb_handles(emb_env *env, emb_value v, const struct emb_kind *kind, uint32_t *n)
{
	const int64_t count = emb_list_size(env, v);
	emb_handle *h;
	void **list;
	int64_t i;

	if (count < 0 || count > EMB_HANDLES) {
		emb_wrong(env, "a list of streams or sinks is wanted here, at most %d", EMB_HANDLES);
		return NULL;
	}
	list = (void **)emb_temp(env, ((size_t)count + 1) * sizeof *list);
	for (i = 0; list && i < count; i++) {
		emb_value one = emb_list_get(env, v, (uint64_t)i);

		h = kind ? emb_take(env, one, kind) : NULL;
		list[i] = kind ? h ? h->object : NULL : emb_take_input(env, one);
		if (!list[i])
			return NULL;
	}
	*n = (uint32_t)count;
	return list;
}

/** What a wrapper knows before the call: a format, or "lines", and a key of it. */
struct emb_spec {
	struct emb_shape *shape; /**< Held by the call; NULL: lines. */
	const char *key;
	uint32_t first;          /**< The first field of the key, if that is named so. */
};

/** A list of format and key. */
static int emb_spec_of(emb_env *env, emb_value v, struct emb_spec *to)
{
	const char *format, *key = NULL;
	emb_value second;
	uint64_t bytes;

	if (emb_list_size(env, v) < 1 || !(format = emb_text_of(env, emb_list_get(env, v, 0))))
		return emb_wrong(env, "a list of format and key is wanted here");
	if (emb_list_size(env, v) > 1) {
		second = emb_list_get(env, v, 1);
		if (!emb_is_nil(env, second) && !(key = emb_text_of(env, second)))
			return -1;
	}
	if (strcmp(format, "lines") == 0) {
		to->key = key ? key : "";
		return 0;
	}
	if (emb_fill_shape(env, &bytes, emb_list_get(env, v, 0)))
		return -1;
	to->shape = emb_now.shape;
	to->key = emb_shape_key(env, to->shape, key);
	if (to->key && to->key != key && key)
		to->first = (uint32_t)strtoul(key + (*key == '-') + 1, NULL, 10);
	return to->key ? 0 : -1;
}

/** An order from [format, key]; of lines it knows whether equal ones are one, and the separator of CSV. */
static em_status emb_order(em_order **out, em_ctx *ctx, const struct emb_spec *spec, em_errinfo *err)
{
	if (!spec->shape)
		return emb_order_options(out, ctx, spec->key, err);
	emb_call.order_bytes = spec->shape->bytes;
	return em_order_parse(out, ctx, spec->shape->bytes, spec->key, err);
}

/* Files, by the format of their records. */

static em_status emb_stream_paths(em_stream **out, em_ctx *ctx, const struct emb_spec *spec, const char *const *paths,
				  uint32_t n, const em_format *format, em_errinfo *err)
{
	return spec->shape ? em_stream_file(out, ctx, spec->shape->bytes, paths, n, err)
		: em_stream_lines(out, ctx, paths, n, format, err);
}

static em_status emb_sink_path(em_sink **out, em_ctx *ctx, const struct emb_spec *spec, const char *path,
			       const em_format *format, em_errinfo *err)
{
	return spec->shape ? em_sink_file(out, ctx, spec->shape->bytes, path, err)
		: em_sink_lines(out, ctx, path, format, err);
}

static em_status emb_sink_none(em_sink **out, em_ctx *ctx, const struct emb_spec *spec, em_errinfo *err)
{
	return em_sink_discard(out, ctx, spec->shape ? spec->shape->bytes : 0, err);
}

static em_status emb_stream_to_file(em_stream *, em_ctx *, const char *, uint64_t *, em_errinfo *);
static em_status emb_stream_to_lines(em_stream *, em_ctx *, const char *, const em_format *, uint64_t *, em_errinfo *);

static em_status emb_stream_to_path(em_stream *s, em_ctx *ctx, const char *path, const em_format *format,
				    uint64_t *moved, em_errinfo *err)
{
	return em_stream_record_bytes(s) ? emb_stream_to_file(s, ctx, path, moved, err)
		: emb_stream_to_lines(s, ctx, path, format, moved, err);
}

/** Of [format, key]: the bytes of a record, and the type, offset and flags of the first field of the key. */
static em_status emb_format(const struct emb_spec *spec, uint64_t *bytes, uint64_t *type, uint64_t *position,
			    uint64_t *count)
{
	static const char codes[] = "bBhHiIlLqQfd";
	static const uint8_t types[] = {
		EM_KEY_I8, EM_KEY_U8, EM_KEY_I16, EM_KEY_U16, EM_KEY_I32, EM_KEY_U32,
		EM_KEY_I32, EM_KEY_U32, EM_KEY_I64, EM_KEY_U64, EM_KEY_F32, EM_KEY_F64
	};
	const struct emb_shape_field *f = spec->shape ? &spec->shape->field[spec->first] : NULL;
	const char *code = f ? strchr(codes, f->code) : NULL;

	*bytes = spec->shape ? spec->shape->bytes : 0;
	*type = code ? types[code - codes] : EM_KEY_BYTES;
	*position = f ? f->offset : 0;
	*count = f && f->big ? EM_KEY_BIG_ENDIAN : 0;
	return EM_OK;
}

#endif
