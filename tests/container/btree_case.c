/* SPDX-License-Identifier: BSL-1.0 */
/* btree_case.c -- see btree_case.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "container/btree_case.h"

enum { BLOCK = 4096 };

static const struct shape {
	size_t record;
	size_t key;             /* bytes that the order looks at */
	size_t number_at;       /* 0: there is no number */
} shapes[BTREE_SHAPES] = {
	{ 4, 4, 0 }, { 16, 8, 8 }, { 30, 15, 20 }, { 1000, 700, 800 },
	{ 16, 16, 0 }, { 24, 12, 16 }, { 900, 12, 16 }, { 21, 21, 16 },
};

void btree_case_ok(btree_case *c, em_status st, int line)
{
	em_errinfo err;

	if (st >= EM_OK)
		return;
	em_btree_error(c->t, &err);
	fail_msg("line %d: %s: %s", line, em_status_name(st), c->t != NULL ? err.text : c->err.text);
}

static void put_big(char *to, uint64_t key, unsigned bytes)
{
	unsigned i;

	for (i = 0; i < bytes; i++)
		to[i] = (char)(key >> 8 * (bytes - 1 - i));
}

static uint64_t get_big(const char *from, unsigned bytes)
{
	uint64_t key = 0;
	unsigned i;

	for (i = 0; i < bytes; i++)
		key = key << 8 | (unsigned char)from[i];
	return key;
}

static void put_key(const btree_case *c, char *to, uint64_t key)
{
	switch (c->shape) {
	case BTREE_SET:
		put_big(to, key, 4);
		break;
	case BTREE_U64:
		memcpy(to, &key, 8);
		break;
	case BTREE_FIELDS:
		/* An odd byte in front; 2 bytes descending; 8 bytes big-endian. */
		put_big(to + 3, 0xffff - (key >> 6 & 0xffff), 2);
		put_big(to + 7, key & 0x3f, 8);
		break;
	case BTREE_BYTES:
		memset(to, 'k', 700);
		put_big(to + 600, key, 8);
		break;
	case BTREE_WIDE:
		memset(to, 0, 16);
		put_big(to, key >> 4, 8);
		put_big(to + 8, key & 15, 8);
		break;
	case BTREE_FUNCTION:
	case BTREE_LARGE_FUNCTION:
	case BTREE_KEY_FUNCTION:
	default:
		memset(to, 1, 4);
		put_big(to + 4, key, 8);
		break;
	}
}

static uint64_t get_key(const btree_case *c, const char *from)
{
	uint64_t key;

	switch (c->shape) {
	case BTREE_SET:
		return get_big(from, 4);
	case BTREE_U64:
		memcpy(&key, from, 8);
		return key;
	case BTREE_FIELDS:
		return (0xffff - get_big(from + 3, 2)) << 6 | get_big(from + 7, 8);
	case BTREE_BYTES:
		return get_big(from + 600, 8);
	case BTREE_WIDE:
		return get_big(from, 8) << 4 | get_big(from + 8, 8);
	case BTREE_FUNCTION:
	case BTREE_LARGE_FUNCTION:
	case BTREE_KEY_FUNCTION:
	default:
		return get_big(from + 4, 8);
	}
}

static int compare(const void *a, const void *b, void *user)
{
	const btree_case *c = user;
	const uint64_t x = get_big((const char *)a + 4, 8), y = get_big((const char *)b + 4, 8);

	return c->fails ? EM_CMP_ERROR : (x > y) - (x < y);
}

static int compute(const void *records, size_t n, uint64_t *keys, void *user)
{
	const btree_case *c = user;
	size_t i;

	for (i = 0; i < n; i++)
		keys[i] = get_big((const char *)records + i * c->record + 4, 8);
	return c->fails;
}

static em_status make_order(btree_case *c)
{
	static const em_key set = { 0, 0, EM_KEY_U32, EM_KEY_BIG_ENDIAN, { 0 } };
	static const em_key u64 = { 0, 0, EM_KEY_U64, 0, { 0 } };
	static const em_key bytes = { 0, 700, EM_KEY_BYTES, 0, { 0 } };
	static const em_key wide = { 0, 16, EM_KEY_BYTES, 0, { 0 } };
	static const em_key fields[] = { { 3, 0, EM_KEY_U16, EM_KEY_BIG_ENDIAN | EM_KEY_DESCENDING, { 0 } },
					 { 7, 0, EM_KEY_U64, EM_KEY_BIG_ENDIAN, { 0 } } };

	switch (c->shape) {
	case BTREE_SET:
		return em_order_keys(&c->order, c->f.ctx, c->record, &set, 1, &c->err);
	case BTREE_U64: {
		em_key key = u64;

		if (*(const unsigned char *)&(const uint16_t){ 1 } == 0)
			key.flags = EM_KEY_BIG_ENDIAN;
		return em_order_keys(&c->order, c->f.ctx, c->record, &key, 1, &c->err);
	}
	case BTREE_FIELDS:
		return em_order_keys(&c->order, c->f.ctx, c->record, fields, 2, &c->err);
	case BTREE_BYTES:
		return em_order_keys(&c->order, c->f.ctx, c->record, &bytes, 1, &c->err);
	case BTREE_WIDE:
		return em_order_keys(&c->order, c->f.ctx, c->record, &wide, 1, &c->err);
	case BTREE_KEY_FUNCTION:
		return em_order_key_fn(&c->order, c->f.ctx, c->record, "computed", compute, 0, c, NULL, &c->err);
	case BTREE_FUNCTION:
	case BTREE_LARGE_FUNCTION:
	default:
		c->opts.key_bytes = 12;
		return em_order_cmp(&c->order, c->f.ctx, c->record, "compared", compare, 0, c, NULL, &c->err);
	}
}

void btree_case_open(btree_case *c, const em_backend *backend, btree_shape shape, size_t room, uint32_t ctx_flags)
{
	const em_btree_opts plain = EM_BTREE_OPTS_INIT;

	memset(c, 0, sizeof *c);
	fixture_open_with(&c->f, &backend, 1, ctx_flags);
	c->shape = shape;
	c->record = shapes[shape].record;
	c->opts = plain;
	c->opts.leaf_bytes = c->opts.node_bytes = BLOCK;
	c->opts.cache_bytes = c->opts.node_cache_bytes = EM_BTREE_FRAMES_MIN * BLOCK;
	c->opts.errinfo = &c->err;
	c->room = room;
	c->entry = malloc((room + 1) * sizeof *c->entry);
	assert_non_null(c->entry);
	assert_btree_ok(c, make_order(c));
}

void btree_case_make(btree_case *c)
{
	assert_btree_ok(c, em_btree_open(&c->t, c->f.ctx, c->order, &c->opts));
	assert_int_equal(em_btree_record_bytes(c->t), c->record);
	assert_int_equal(em_btree_key_bytes(c->t), shapes[c->shape].key);
}

void btree_case_record(btree_case *c, void *to, uint64_t key, uint32_t number)
{
	char *record = to;
	size_t i;

	for (i = 0; i < c->record; i++)
		record[i] = (char)(number * 3 + i);
	put_key(c, record, key);
	if (shapes[c->shape].number_at != 0)
		memcpy(record + shapes[c->shape].number_at, &number, sizeof number);
}

const void *btree_case_key(btree_case *c, uint64_t key)
{
	/* What is behind the key is none of the tree's business. */
	memset(c->key, 0x77, sizeof c->key);
	put_key(c, c->key, key);
	return c->key;
}

btree_entry btree_case_entry(btree_case *c, const void *record)
{
	static char is[BTREE_RECORD_MOST];
	btree_entry e = { get_key(c, record), 0 };

	if (shapes[c->shape].number_at != 0)
		memcpy(&e.number, (const char *)record + shapes[c->shape].number_at, sizeof e.number);
	btree_case_record(c, is, e.key, e.number);
	assert_memory_equal(is, record, c->record);
	return e;
}

void btree_case_is(btree_case *c, const void *record, size_t i)
{
	const btree_entry e = btree_case_entry(c, record);

	assert_true(i < c->n);
	if (e.key != c->entry[i].key || (shapes[c->shape].number_at != 0 && e.number != c->entry[i].number))
		fail_msg("record %zu: %llu/%u, not %llu/%u", i, (unsigned long long)e.key, e.number,
			 (unsigned long long)c->entry[i].key, c->entry[i].number);
}

size_t btree_case_bound(const btree_case *c, uint64_t key, int upper)
{
	size_t from = 0, n = c->n;

	while (n != 0) {
		const size_t half = n / 2;
		const uint64_t k = c->entry[from + half].key;

		if (upper ? k <= key : k < key) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

static int has(const btree_case *c, uint64_t key)
{
	const size_t i = btree_case_bound(c, key, 0);

	return i < c->n && c->entry[i].key == key;
}

size_t btree_case_put(btree_case *c, uint64_t key, uint32_t number)
{
	const size_t i = btree_case_bound(c, key, 1);

	unsigned k;

	assert_true(c->n < c->room);
	for (k = 0; k < c->stands; k++) {
		btree_stand *s = &c->stand[k];

		if (s->i > i || (s->i == i && (s->where == BTREE_ON || (s->where == BTREE_IN_GAP && key < s->key))))
			s->i++;
	}
	memmove(c->entry + i + 1, c->entry + i, (c->n - i) * sizeof *c->entry);
	c->entry[i].key = key;
	c->entry[i].number = number;
	c->n++;
	return i;
}

void btree_case_drop(btree_case *c, size_t from, size_t n)
{
	unsigned k;

	for (k = 0; k < c->stands; k++) {
		btree_stand *s = &c->stand[k];

		if (s->i >= from + n) {
			s->i -= n;
		} else if (s->i >= from) {
			if (s->where == BTREE_ON) {
				s->where = BTREE_IN_GAP;
				s->key = c->entry[s->i].key;
			}
			s->i = from;
		}
	}
	memmove(c->entry + from, c->entry + from + n, (c->n - from - n) * sizeof *c->entry);
	c->n -= n;
}

/* What a call has returned; a failure is the caller's to look at. */
static em_status told(btree_case *c, em_status st, em_status should)
{
	em_errinfo err;

	if (st >= EM_OK) {
		assert_int_equal(st, should);
	} else {
		em_btree_error(c->t, &err);
		assert_int_equal(err.status, st);
		assert_true(err.text[0] != '\0');
	}
	assert_int_equal(em_btree_size(c->t), c->n);
	return st;
}

em_status btree_case_insert(btree_case *c, uint64_t key)
{
	const int exists = has(c, key) && c->opts.flags == 0;
	const uint32_t number = ++c->inserts;
	em_status st;

	btree_case_record(c, c->buf, key, number);
	st = em_btree_insert(c->t, c->buf);
	if (st == EM_OK)
		btree_case_put(c, key, number);
	return told(c, st, exists ? EM_EXISTS : EM_OK);
}

em_status btree_case_upsert(btree_case *c, uint64_t key)
{
	const int exists = has(c, key);
	const uint32_t number = ++c->inserts;
	em_status st;

	btree_case_record(c, c->buf, key, number);
	st = em_btree_upsert(c->t, c->buf);
	if (st == EM_OK)
		btree_case_put(c, key, number);
	if (st == EM_EXISTS)
		c->entry[btree_case_bound(c, key, 0)].number = number;
	return told(c, st, exists ? EM_EXISTS : EM_OK);
}

em_status btree_case_get(btree_case *c, uint64_t key)
{
	const em_status st = em_btree_get(c->t, btree_case_key(c, key), c->got);

	if (st == EM_OK)
		btree_case_is(c, c->got, btree_case_bound(c, key, 0));
	return told(c, st, has(c, key) ? EM_OK : EM_NOT_FOUND);
}

em_status btree_case_look(btree_case *c, uint64_t key, int upper)
{
	const void *k = btree_case_key(c, key);
	const size_t i = btree_case_bound(c, key, upper);
	const em_status st = upper ? em_btree_upper_bound(c->t, k, c->got) : em_btree_lower_bound(c->t, k, c->got);

	if (st == EM_OK)
		btree_case_is(c, c->got, i);
	return told(c, st, i < c->n ? EM_OK : EM_NOT_FOUND);
}

em_status btree_case_erase(btree_case *c, uint64_t key)
{
	const int there = has(c, key);
	const em_status st = em_btree_erase(c->t, btree_case_key(c, key), c->inserts % 3 != 0 ? c->got : NULL);

	if (st == EM_OK) {
		const size_t i = btree_case_bound(c, key, 0);

		if (c->inserts % 3 != 0)
			btree_case_is(c, c->got, i);
		btree_case_drop(c, i, 1);
	}
	return told(c, st, there ? EM_OK : EM_NOT_FOUND);
}

em_status btree_case_erase_range(btree_case *c, uint64_t from, uint64_t to)
{
	const size_t i = btree_case_bound(c, from, 0), j = btree_case_bound(c, to, 0);
	char first[BTREE_RECORD_MOST];
	uint64_t erased = 77;
	em_status st;

	memcpy(first, btree_case_key(c, from), sizeof first);
	st = em_btree_erase_range(c->t, first, btree_case_key(c, to), &erased);
	assert_true(erased <= (j > i ? j - i : 0));
	if (st == EM_OK)
		assert_int_equal(erased, j > i ? j - i : 0);
	btree_case_drop(c, i, (size_t)erased);
	return told(c, st, EM_OK);
}

em_status btree_case_erase_equal(btree_case *c, uint64_t key)
{
	const size_t i = btree_case_bound(c, key, 0), j = btree_case_bound(c, key, 1);
	uint64_t erased = 77;
	const em_status st = em_btree_erase_equal(c->t, btree_case_key(c, key), &erased);

	assert_true(erased <= j - i);
	if (st == EM_OK)
		assert_int_equal(erased, j - i);
	btree_case_drop(c, i, (size_t)erased);
	return told(c, st, EM_OK);
}

em_status btree_case_count(btree_case *c, uint64_t from, uint64_t to)
{
	const size_t i = btree_case_bound(c, from, 0), j = btree_case_bound(c, to, 1);
	char first[BTREE_RECORD_MOST];
	uint64_t n = 77;
	em_status st;

	memcpy(first, btree_case_key(c, from), sizeof first);
	st = em_btree_count(c->t, first, btree_case_key(c, to), &n);
	assert_int_equal(n, st == EM_OK && j > i ? j - i : 0);
	return told(c, st, EM_OK);
}

/* What a visit is to find. */
typedef struct visit {
	btree_case *c;
	size_t at;              /* the next one, in the model */
	uint64_t n, stop;
} visit;

static int look_at(void *user, uint64_t i, const void *records, uint64_t n)
{
	visit *v = user;
	uint64_t j;

	assert_int_equal(i, v->n);
	assert_true(n != 0);
	for (j = 0; j < n; j++)
		btree_case_is(v->c, (const char *)records + j * v->c->record, v->at++);
	v->n += n;
	return v->n > v->stop ? 7 : 0;
}

em_status btree_case_visit(btree_case *c, uint64_t from, uint64_t to, uint64_t stop)
{
	const size_t i = from != UINT64_MAX ? btree_case_bound(c, from, 0) : 0;
	const size_t j = to != UINT64_MAX ? btree_case_bound(c, to, 0) : c->n, n = j > i ? j - i : 0;
	visit v = { c, i, 0, stop };
	char first[BTREE_RECORD_MOST];
	em_status st;

	memcpy(first, btree_case_key(c, from), sizeof first);
	st = em_btree_for_each(c->t, from != UINT64_MAX ? first : NULL,
			       to != UINT64_MAX ? btree_case_key(c, to) : NULL, look_at, &v);
	assert_true(v.n <= n);
	if (st >= EM_OK)
		assert_int_equal(v.n, n);
	if (v.n > stop) {
		assert_int_equal(st, EM_ERR_USER);
		em_btree_error(c->t, &c->err);
		assert_non_null(strstr(c->err.text, "7"));
		st = EM_OK;
	}
	return told(c, st, EM_OK);
}

/* What a visit of many ranges is to find. */
typedef struct visit_many {
	btree_case *c;
	size_t *at, *end;       /* of each range: the next one, in the model, and that behind the last one */
	uint64_t ranges, n, stop;
} visit_many;

static int look_at_many(void *user, uint64_t i, const void *records, uint64_t n)
{
	visit_many *v = user;
	uint64_t j;

	assert_true(i < v->ranges && n != 0);
	for (j = 0; j < n; j++)
		btree_case_is(v->c, (const char *)records + j * v->c->record, v->at[i]++);
	assert_true(v->at[i] <= v->end[i]);
	v->n += n;
	return v->n > v->stop ? 7 : 0;
}

/* n keys, one behind the other. */
static char *keys_of(btree_case *c, const uint64_t *key, size_t n)
{
	const size_t bytes = (size_t)em_btree_key_bytes(c->t);
	char *keys = malloc(n * bytes + 1);
	size_t i;

	assert_non_null(keys);
	for (i = 0; key != NULL && i < n; i++)
		memcpy(keys + i * bytes, btree_case_key(c, key[i]), bytes);
	return keys;
}

em_status btree_case_ranges(btree_case *c, const uint64_t *from, const uint64_t *to, size_t n, em_btree_visit_fn fn,
			    void *user)
{
	char *first = keys_of(c, from, n), *last = keys_of(c, to, n);
	const em_status st = em_btree_for_each_many(c->t, from != NULL ? first : NULL, to != NULL ? last : NULL, n, fn,
						    user);

	free(last);
	free(first);
	return st;
}

em_status btree_case_visit_many(btree_case *c, const uint64_t *from, const uint64_t *to, size_t n, uint64_t stop)
{
	size_t *at = malloc((2 * n + 1) * sizeof *at), i;
	visit_many v = { c, at, at + n, n, 0, stop };
	uint64_t all = 0;
	em_status st;

	assert_non_null(at);
	for (i = 0; i < n; i++) {
		at[i] = from != NULL ? btree_case_bound(c, from[i], 0) : 0;
		v.end[i] = to != NULL ? btree_case_bound(c, to[i], 0) : c->n;
		if (v.end[i] < at[i])
			v.end[i] = at[i];
		all += v.end[i] - at[i];
	}
	st = btree_case_ranges(c, from, to, n, look_at_many, &v);
	if (st >= EM_OK)
		assert_int_equal(v.n, all);
	if (v.n > stop) {
		assert_int_equal(st, EM_ERR_USER);
		st = EM_OK;
	}
	free(at);
	return told(c, st, EM_OK);
}

em_status btree_case_end(btree_case *c, int last, int pop)
{
	const size_t i = last && c->n != 0 ? c->n - 1 : 0;
	const em_status should = c->n != 0 ? EM_OK : EM_NOT_FOUND;
	em_status st;

	if (pop)
		st = last ? em_btree_pop_max(c->t, c->got) : em_btree_pop_min(c->t, c->got);
	else
		st = last ? em_btree_max(c->t, c->got) : em_btree_min(c->t, c->got);
	if (st == EM_OK)
		btree_case_is(c, c->got, i);
	if (st == EM_OK && pop)
		btree_case_drop(c, i, 1);
	return told(c, st, should);
}

void btree_case_cursors(btree_case *c, unsigned n)
{
	for (; c->stands < n; c->stands++)
		assert_btree_ok(c, em_btree_cursor_open(&c->stand[c->stands].cursor, c->t));
}

static void be_outside(btree_stand *s, int forward)
{
	s->where = forward ? BTREE_AT_END : BTREE_AT_BEGIN;
	s->i = 0;
}

em_status btree_case_seek(btree_case *c, unsigned k, uint64_t key, uint32_t how)
{
	const int back = how == EM_BTREE_LE || how == EM_BTREE_LT;
	const int any = (how == EM_BTREE_GE || how == EM_BTREE_LE) && key % 16 == 0;
	size_t i = btree_case_bound(c, key, how == EM_BTREE_GT || how == EM_BTREE_LE);
	const em_status st = em_btree_cursor_seek(c->stand[k].cursor, any ? NULL : btree_case_key(c, key), how);
	btree_stand *s = &c->stand[k];
	int found;

	if (any)
		i = back ? c->n : 0;
	found = how == EM_BTREE_EQ ? has(c, key) : back ? i > 0 : i < c->n;
	if (st < EM_OK)
		return told(c, st, EM_OK);
	s->i = i - (size_t)back;
	s->where = BTREE_ON;
	s->key = key;
	if (!found && how == EM_BTREE_EQ && c->n != 0)
		s->where = BTREE_IN_GAP;
	else if (!found)
		be_outside(s, !back);
	return told(c, st, found ? EM_OK : EM_NOT_FOUND);
}

em_status btree_case_stand(btree_case *c, unsigned k)
{
	const btree_stand *s = &c->stand[k];
	const em_status st = em_btree_cursor_get(s->cursor, c->got);

	if (st == EM_OK)
		btree_case_is(c, c->got, s->i);
	return told(c, st, s->where == BTREE_ON ? EM_OK : EM_NOT_FOUND);
}

/* Entries that are that way, and the first of them. */
static size_t that_way(const btree_case *c, const btree_stand *s, int forward, size_t *i)
{
	size_t next = s->i + (s->where == BTREE_ON && forward);

	if (s->where == BTREE_AT_BEGIN)
		next = 0;
	if (s->where == BTREE_AT_END)
		next = c->n;
	*i = forward ? next : next - 1;
	return forward ? c->n - next : next;
}

em_status btree_case_step(btree_case *c, unsigned k, int forward)
{
	btree_stand *s = &c->stand[k];
	size_t i;
	const size_t there = that_way(c, s, forward, &i);
	const em_status st =
		forward ? em_btree_cursor_next(s->cursor, c->got) : em_btree_cursor_prev(s->cursor, c->got);

	if (st == EM_OK) {
		btree_case_is(c, c->got, i);
		s->where = BTREE_ON;
		s->i = i;
	} else if (st == EM_END) {
		be_outside(s, forward);
	}
	return told(c, st, there != 0 ? EM_OK : EM_END);
}

em_status btree_case_steps(btree_case *c, unsigned k, int forward, uint64_t n)
{
	char *records = malloc(c->record * (size_t)(n + 1));
	btree_stand *s = &c->stand[k];
	size_t i;
	uint64_t got = 77, j;
	const size_t there = that_way(c, s, forward, &i), some = n < there ? (size_t)n : there;
	em_status st;

	assert_non_null(records);
	st = forward ? em_btree_cursor_next_many(s->cursor, records, n, &got)
		     : em_btree_cursor_prev_many(s->cursor, records, n, &got);
	assert_true(got <= some);
	assert_true(got == some || st < EM_OK || c->f.fault[0].ops != 0);
	for (j = 0; j < got; j++)
		btree_case_is(c, records + j * c->record, forward ? i + j : i - j);
	free(records);
	if (got != 0) {
		s->where = BTREE_ON;
		s->i = forward ? i + got - 1 : i - (got - 1);
	} else if (st == EM_END) {
		be_outside(s, forward);
	}
	return told(c, st, some != 0 || n == 0 ? EM_OK : EM_END);
}

em_status btree_case_cursor_insert(btree_case *c, unsigned k, uint64_t key)
{
	const int exists = has(c, key) && c->opts.flags == 0;
	const uint32_t number = ++c->inserts;
	btree_stand *s = &c->stand[k];
	size_t i = btree_case_bound(c, key, 0);
	em_status st;

	btree_case_record(c, c->buf, key, number);
	st = em_btree_cursor_insert(s->cursor, c->buf);
	if (st == EM_OK)
		i = btree_case_put(c, key, number);
	if (st >= EM_OK) {
		s->where = BTREE_ON;
		s->i = i;
	}
	return told(c, st, exists ? EM_EXISTS : EM_OK);
}

em_status btree_case_cursor_put(btree_case *c, unsigned k)
{
	const uint32_t number = ++c->inserts;
	btree_stand *s = &c->stand[k];
	em_status st;

	if (s->where == BTREE_ON) {
		btree_case_record(c, c->buf, c->entry[s->i].key + 1, number);
		assert_int_not_equal(em_btree_cursor_put(s->cursor, c->buf), EM_OK);
		btree_case_record(c, c->buf, c->entry[s->i].key, number);
	}
	st = em_btree_cursor_put(s->cursor, c->buf);
	if (st == EM_OK)
		c->entry[s->i].number = number;
	return told(c, st, s->where == BTREE_ON ? EM_OK : EM_NOT_FOUND);
}

em_status btree_case_cursor_erase(btree_case *c, unsigned k)
{
	btree_stand *s = &c->stand[k];
	const em_status st = em_btree_cursor_erase(s->cursor), should = s->where == BTREE_ON ? EM_OK : EM_NOT_FOUND;

	if (st == EM_OK)
		btree_case_drop(c, s->i, 1);
	return told(c, st, should);
}

em_status btree_case_cursor_count(btree_case *c, unsigned k)
{
	const btree_stand *s = &c->stand[k];
	uint64_t n = 77;
	const em_status st = em_btree_cursor_count(s->cursor, &n);

	if (st == EM_OK) {
		const uint64_t key = c->entry[s->i].key;

		assert_int_equal(n, btree_case_bound(c, key, 1) - btree_case_bound(c, key, 0));
	}
	return told(c, st, s->where == BTREE_ON ? EM_OK : EM_NOT_FOUND);
}

void btree_case_clear(btree_case *c)
{
	unsigned k;

	assert_btree_ok(c, em_btree_clear(c->t));
	c->n = 0;
	for (k = 0; k < c->stands; k++)
		be_outside(&c->stand[k], 0);
}

void btree_case_check(btree_case *c)
{
	unsigned k;
	uint64_t n;
	size_t i;

	assert_btree_ok(c, em_btree_verify(c->t));
	assert_int_equal(em_btree_size(c->t), c->n);
	assert_btree_ok(c, em_btree_count(c->t, NULL, NULL, &n));
	assert_int_equal(n, c->n);
	for (i = 0; i < c->n; i++) {
		if (i != 0 && c->entry[i].key == c->entry[i - 1].key)
			continue;
		assert_int_equal(btree_case_look(c, c->entry[i].key, 0), EM_OK);
	}
	for (k = 0; k < c->stands; k++)
		assert_btree_ok(c, btree_case_stand(c, k));
}

em_btree_stats btree_case_stats(const btree_case *c)
{
	em_btree_stats s = EM_BTREE_STATS_INIT;

	assert_int_equal(em_btree_stats_get(c->t, &s), EM_OK);
	return s;
}

void btree_case_close(btree_case *c)
{
	/* In any order. */
	if (c->inserts % 2 != 0)
		em_btree_close(c->t);
	while (c->stands != 0)
		em_btree_cursor_close(c->stand[--c->stands].cursor);
	if (c->inserts % 2 == 0)
		em_btree_close(c->t);
	assert_int_equal(emi_disk_used(c->f.disk), 0);
	em_order_close(c->order);
	free(c->entry);
	fixture_close(&c->f);
}
