/* SPDX-License-Identifier: BSL-1.0 */
/*
 * What a record looks like: its fields, so that an item of the language stands for it.
 *
 * A text as Python's struct has it: "<" (least byte first), ">" or "=" (as the machine), then fields with counts:
 * b B h H i I l L q Q are integers of 1, 2, 4, 4 and 8 bytes, f d floating point numbers, 10s bytes, x is padding.
 * "|" stands between keys and values of a tree.  Digits alone are a number of bytes.  Fields are f0, f1, ...
 *
 * An item is the value of the field, or a list where there are several; of a tree, a list of key and value.  Without
 * a shape it is bytes.  Numbers are never rounded, and never cut off.
 */
#ifndef EMB_SCRIPT_SHAPE_H
#define EMB_SCRIPT_SHAPE_H

struct emb_shape_field {
	char code;
	int big;
	uint64_t offset, size;
};

struct emb_shape {
	uint32_t refs, n;
	uint32_t keys;                   /**< Fields of the key, if it is a tree's ... */
	int split;                       /**< ... which it is then. */
	uint64_t bytes, key_bytes;
	struct emb_shape_field field[1]; /**< n of them. */
};

static void emb_shape_unref(struct emb_shape *s)
{
	if (s && --s->refs == 0)
		free(s);
}

/** A shape that its user unrefs: NULL with an exception. */
static struct emb_shape *emb_shape_new(emb_env *env, const char *text)
{
	static const uint16_t one = 1;
	const int native_big = *(const uint8_t *)&one == 0;
	struct emb_shape *s = (struct emb_shape *)calloc(1, sizeof *s + strlen(text) * 64 * sizeof *s->field);
	int big = native_big;
	const char *p = text;

	if (!s) {
		emb_wrong(env, "there is no memory for a shape of records");
		return NULL;
	}
	s->refs = 1;
	for (; *p; p++) {
		static const char codes[] = "bBhHiIlLqQfdsx", sizes[] = "11224444884811";
		uint64_t count = 0;
		const char *at, *digits = p;

		for (; *p >= '0' && *p <= '9' && count < 1u << 24; p++)
			count = count * 10 + (uint64_t)(*p - '0');
		at = *p ? strchr(codes, *p) : NULL;
		if (p > digits && (!*p || *p == '|') && (digits == text || digits[-1] == '|')) {
			s->field[s->n].size = count;
			s->field[s->n].offset = s->bytes;
			s->field[s->n++].code = 's';
			s->bytes += count;
			p--;
			continue;
		}
		if (p == digits && strchr("<>=@! |", *p)) {
			if (*p == '|' && !s->split) {
				s->split = 1;
				s->keys = s->n;
				s->key_bytes = s->bytes;
			} else if (*p == '|') {
				at = NULL;
				break;
			}
			big = *p == '<' ? 0 : *p == '>' || *p == '!' ? 1 : *p == '|' || *p == ' ' ? big : native_big;
			continue;
		}
		if (!at || (p > digits && count == 0) || (p > digits && *p != 's' && *p != 'x' && count > 64))
			break;
		if (p == digits)
			count = 1;
		if (*p == 's' || *p == 'x') {
			s->field[s->n].size = count;
			count = 1;
		}
		for (; count > 0; count--) {
			struct emb_shape_field *f = &s->field[s->n];

			f->size = *p == 's' || *p == 'x' ? f->size : (uint64_t)(sizes[at - codes] - '0');
			f->code = *p;
			f->big = big;
			f->offset = s->bytes;
			s->bytes += f->size;
			if (*p != 'x')
				s->n++;
		}
	}
	if (*p || s->bytes == 0) {
		free(s);
		emb_wrong(env, "'%s' is no format of records: '<Q', '>Id8s', a number of bytes, ...", text);
		return NULL;
	}
	if (!s->split)
		s->key_bytes = s->bytes;
	return s;
}

/** The name of an order by fields (em_order_name()): all, or "f0,-f1", where - means descending.  It is written to
 *  memory for the time of the call. */
static const char *emb_shape_key(emb_env *env, const struct emb_shape *s, const char *key)
{
	static const char codes[] = "bBhHiIlLqQfd";
	static const char *const names[] = { "i8", "u8", "i16", "u16", "i32", "u32",
					     "i32", "u32", "i64", "u64", "f32", "f64" };
	const uint32_t keys = s->split ? s->keys : s->n;
	uint32_t next = 0, n = key ? 1 : keys;
	char *name, *to;
	const char *p;

	if (key && strchr(key, '@'))
		return key;
	for (p = key; p && *p; p++)
		n += *p == ',';
	name = to = (char *)emb_temp(env, (size_t)n * 64 + 64);
	if (!name)
		return NULL;
	for (p = key; key ? p && *p : next < keys; next++) {
		const struct emb_shape_field *f;
		const int down = key && *p == '-';
		unsigned long which = next;
		char *end = NULL;

		if (key) {
			p += down;
			which = *p == 'f' ? strtoul(p + 1, &end, 10) : s->n;
			if (!end || end == p + 1 || (*end && *end != ',') || which >= s->n) {
				emb_wrong(env, "'%s' names no field of these records: f0, ... f%u", key, s->n - 1);
				return NULL;
			}
			p = *end ? end + 1 : NULL;
		}
		f = &s->field[which];
		if (to > name)
			*to++ = ',';
		if (f->code == 's')
			to += sprintf(to, "bytes%llu", (unsigned long long)f->size);
		else
			to += sprintf(to, "%s%s", names[strchr(codes, f->code) - codes],
				      f->size == 1 ? "" : f->big ? "be" : "le");
		to += sprintf(to, "@%llu%s", (unsigned long long)f->offset, down ? ":r" : "");
	}
	if (to == name && !key)
		to += sprintf(to, "bytes%llu@0", (unsigned long long)s->key_bytes);
	return name;
}

/* Items. */

static void emb_store(const struct emb_shape_field *f, uint64_t bits, char *to)
{
	uint64_t i;

	for (i = 0; i < f->size; i++)
		to[f->offset + (f->big ? f->size - 1 - i : i)] = (char)(uint8_t)(bits >> 8 * i);
}

static uint64_t emb_fetch(const struct emb_shape_field *f, const char *from)
{
	uint64_t bits = 0, i;

	for (i = 0; i < f->size; i++)
		bits |= (uint64_t)(uint8_t)from[f->offset + (f->big ? f->size - 1 - i : i)] << 8 * i;
	return bits;
}

static int emb_field_in(emb_env *env, const struct emb_shape_field *f, emb_value v, char *to)
{
	const unsigned bits = (unsigned)(8 * f->size);
	const char *bytes;
	size_t n = 0;
	uint64_t u = 0;
	int64_t i = 0;
	float single;
	double x = 0;

	if (emb_is_boolean(env, v))
		return emb_wrong(env, "a boolean is no field of a record");
	switch (f->code) {
	case 's':
		if (!emb_is_bytes(env, v) || !(bytes = emb_bytes_of(env, v, &n)) || n != f->size)
			return emb_wrong(env, "%llu bytes are wanted here", (unsigned long long)f->size);
		memcpy(to + f->offset, bytes, n);
		return 0;
	case 'f':
	case 'd':
		if (emb_double_of(env, v, &x))
			return -1;
		single = (float)x;
		if (f->code == 'd')
			memcpy(&u, &x, 8);
		else {
			uint32_t w;

			memcpy(&w, &single, 4);
			u = w;
		}
		break;
	case 'B':
	case 'H':
	case 'I':
	case 'L':
	case 'Q':
		if (emb_u64_of(env, v, &u))
			return -1;
		if (bits < 64 && u >> bits)
			return emb_wrong(env, "the number has more than %u bits", bits);
		break;
	default:
		if (emb_i64_of(env, v, &i))
			return -1;
		if (bits < 64 && (i < -((int64_t)1 << (bits - 1)) || i >= (int64_t)1 << (bits - 1)))
			return emb_wrong(env, "the number has more than %u bits", bits);
		u = (uint64_t)i;
		break;
	}
	emb_store(f, u, to);
	return 0;
}

static emb_value emb_field_out(emb_env *env, const struct emb_shape_field *f, const char *from)
{
	const unsigned bits = (unsigned)(8 * f->size);
	uint64_t u = f->code == 's' ? 0 : emb_fetch(f, from);
	uint32_t w = (uint32_t)u;
	float single;
	double x;

	switch (f->code) {
	case 's':
		return emb_from_bytes(env, from + f->offset, (size_t)f->size);
	case 'f':
		memcpy(&single, &w, 4);
		return emb_from_double(env, single);
	case 'd':
		memcpy(&x, &u, 8);
		return emb_from_double(env, x);
	case 'B':
	case 'H':
	case 'I':
	case 'L':
	case 'Q':
		return emb_from_u64(env, u);
	default:
		if (bits < 64 && u >> (bits - 1))
			u |= ~(uint64_t)0 << bits;
		return emb_from_i64(env, (int64_t)u);
	}
}

/** Fields [from, end): one value, or a list. */
static int emb_fields_in(emb_env *env, const struct emb_shape *s, uint32_t from, uint32_t end, emb_value v, char *to)
{
	const int mark = emb_mark(env);
	uint32_t i;

	if (end - from == 1)
		return emb_field_in(env, &s->field[from], v, to);
	if (end > from && emb_list_size(env, v) != (int64_t)(end - from))
		return emb_wrong(env, "a list of the %u fields is wanted here", end - from);
	for (i = from; i < end; i++) {
		if (emb_field_in(env, &s->field[i], emb_list_get(env, v, i - from), to))
			return -1;
		emb_reset(env, mark);
	}
	return 0;
}

static emb_value emb_fields_out(emb_env *env, const struct emb_shape *s, uint32_t from, uint32_t end, const char *bytes)
{
	emb_value list;
	uint32_t i;

	if (end == from)
		return emb_nil(env);
	if (end - from == 1)
		return emb_field_out(env, &s->field[from], bytes);
	list = emb_list_new(env, end - from);
	for (i = from; i < end; i++)
		emb_list_put(env, list, i - from, emb_field_out(env, &s->field[i], bytes));
	return list;
}

/** A record, or, of a tree, a key, from an item, to memory that is zeroed. */
static int emb_item_in(emb_env *env, const struct emb_shape *s, int key, emb_value v, char *to)
{
	const int mark = emb_mark(env);

	if (!s->split)
		return emb_fields_in(env, s, 0, s->n, v, to);
	if (key || s->keys == s->n)
		return emb_fields_in(env, s, 0, s->keys, v, to);
	if (emb_list_size(env, v) != 2)
		return emb_wrong(env, "a list of key and value is wanted here");
	if (emb_fields_in(env, s, 0, s->keys, emb_list_get(env, v, 0), to) ||
	    emb_fields_in(env, s, s->keys, s->n, emb_list_get(env, v, 1), to))
		return -1;
	emb_reset(env, mark);
	return 0;
}

static emb_value emb_item_out(emb_env *env, const struct emb_shape *s, const char *from)
{
	emb_value pair;

	if (!s->split)
		return emb_fields_out(env, s, 0, s->n, from);
	if (s->keys == s->n)
		return emb_fields_out(env, s, 0, s->n, from);
	pair = emb_list_new(env, 2);
	emb_list_put(env, pair, 0, emb_fields_out(env, s, 0, s->keys, from));
	emb_list_put(env, pair, 1, emb_fields_out(env, s, s->keys, s->n, from));
	return pair;
}

/** Many records, side by side: a list of items, or bytes without a shape. */
static emb_value emb_many_out(emb_env *env, const struct emb_shape *s, const char *from, uint64_t n, uint64_t unit)
{
	emb_value list;
	uint64_t i;

	if (!s)
		return emb_from_bytes(env, from, (size_t)(n * unit));
	list = emb_list_new(env, n);
	for (i = 0; i < n; i++)
		emb_list_put(env, list, i, emb_item_out(env, s, from + i * unit));
	return list;
}

/** A list of n items, of bytes without a shape, to n * unit bytes. */
static int emb_many_in(emb_env *env, const struct emb_shape *s, int key, emb_value list, char *to, uint64_t n,
		       uint64_t unit)
{
	const int mark = emb_mark(env);
	const char *bytes;
	size_t size = 0;
	uint64_t i;

	memset(to, 0, (size_t)(n * unit));
	for (i = 0; i < n; i++) {
		emb_value one = emb_list_get(env, list, i);

		if (!s && (!emb_is_bytes(env, one) || !(bytes = emb_bytes_of(env, one, &size)) || size != unit))
			return emb_wrong(env, "records of %llu bytes are wanted here", (unsigned long long)unit);
		if (!s)
			memcpy(to + i * unit, bytes, size);
		else if (emb_item_in(env, s, key, one, to + i * unit))
			return -1;
		emb_reset(env, mark);
	}
	return 0;
}

#endif
