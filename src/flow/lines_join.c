/* SPDX-License-Identifier: BSL-1.0 */
/*
 * lines_join.c -- joins of records of any length (join.h).
 *
 * The keys of a record are those of a frame (key/vary.h) that does not go by the record behind them.  Left and right
 * frames are made by two orders, whose keys are at different places but are turned into bytes by the same rules.  So
 * either order compares both.
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/join.h"

/* Flags of keys that only tell where they are. */
#define PLACE_FLAGS (EM_TEXT_SKIP_START | EM_TEXT_SKIP_END)

typedef struct emi_lines_join {
	em_lines_join_fn fn;
	em_order *right;        /* that of right keys */
	emi_text_room group_key;
	unsigned char separator;
	int fields;             /* the record that is being made has some */
	emi_lines_made made;
} lines_join;

static const emi_text *text_of(const em_order *order)
{
	return emi_order_vary(order)->text;
}

static em_status key(emi_join *j, emi_join_side *side, em_errinfo *err)
{
	const em_status st = emi_line_frame_look(&side->frame, emi_order_vary(side->order), side->in, err);

	(void)j;
	side->key = side->frame.room.at;
	return st;
}

static void keep_key(emi_join *j)
{
	lines_join *l = j->of.lines;
	const emi_text_room room = l->group_key;

	l->group_key = j->right.frame.room;
	j->right.frame.room = room;
	j->group_key = l->group_key.at;
}

/* Is a field of the first n keys? */
static int is_of_key(const emi_text *t, uint32_t n, uint64_t field)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (field >= t->key[i].first_field &&
		    (t->key[i].last_field == 0 || field <= t->key[i].last_field))
			return 1;
	return 0;
}

/* Failures stay, and are looked at when the record ends. */
static void put_field(lines_join *l, em_line *line, const char *bytes, size_t n)
{
	if (l->fields)
		(void)emi_line_put(line, &l->separator, 1);
	l->fields = 1;
	(void)emi_line_put(line, bytes, n);
}

/* The fields of a key that are of none before. */
static void put_key(lines_join *l, const emi_text *t, uint32_t i, emi_one_record p, em_line *line)
{
	const uint64_t first = t->key[i].first_field, last = t->key[i].last_field;
	size_t at = 0, begin, end;
	uint64_t field = 1;

	for (; (last == 0 || field <= last) &&
	       emi_text_next_field(t, (const unsigned char *)p.at, p.bytes, &at, &begin, &end); field++)
		if (field >= first && !is_of_key(t, i, field))
			put_field(l, line, p.at + begin, end - begin);
	if (field <= first && (last == 0 || first <= last) && !is_of_key(t, i, first))
		put_field(l, line, NULL, 0);
}

static void put_keys(lines_join *l, const emi_text *t, emi_one_record p, em_line *line)
{
	uint32_t i;

	if (t->n == 0)
		put_field(l, line, p.at, p.bytes);
	for (i = 0; i < t->n; i++)
		put_key(l, t, i, p, line);
}

/* All other fields. */
static void put_rest(lines_join *l, const emi_text *t, emi_one_record p, em_line *line)
{
	size_t at = 0, begin, end;
	uint64_t field = 1;

	if (p.at == NULL || t->n == 0)
		return;
	for (; emi_text_next_field(t, (const unsigned char *)p.at, p.bytes, &at, &begin, &end); field++)
		if (!is_of_key(t, t->n, field))
			put_field(l, line, p.at + begin, end - begin);
}

static em_status make(emi_join *j, emi_one_record left, emi_one_record right, em_errinfo *err)
{
	lines_join *l = j->of.lines;
	em_line line;
	int failed = 0;

	l->fields = 0;
	emi_line_begin(&line, j->s.object.ctx, &l->made);
	if (l->fn != NULL) {
		failed = l->fn(j->user, left.at, left.bytes, right.at, right.bytes, &line);
	} else if (j->kind == EM_JOIN_SEMI || j->kind == EM_JOIN_ANTI) {
		(void)emi_line_put(&line, left.at, left.bytes);
	} else {
		const int is_left = left.at != NULL;

		put_keys(l, text_of(is_left ? j->left.order : j->right.order), is_left ? left : right, &line);
		put_rest(l, text_of(j->left.order), left, &line);
		put_rest(l, text_of(j->right.order), right, &line);
	}
	return emi_line_end(&line, failed, "joins records", err);
}

static int full(const emi_join *j)
{
	return emi_lines_made_full(&j->s, &j->of.lines->made);
}

static em_status show(emi_join *j)
{
	return emi_lines_made_show(&j->s, &j->of.lines->made);
}

static void retire(emi_join *j)
{
	em_ctx *ctx = j->s.object.ctx;
	lines_join *l = j->of.lines;

	emi_text_room_free(&j->left.frame.room, ctx);
	emi_text_room_free(&j->right.frame.room, ctx);
	if (l == NULL)
		return;
	emi_text_room_free(&l->group_key, ctx);
	emi_text_room_free(&l->made.text, ctx);
	em_order_close(l->right);
	emi_free(ctx, l, sizeof *l);
	j->of.lines = NULL;
}

static const emi_join_form form = { key, keep_key, make, full, show, retire };

/* The same order, but by its keys alone. */
static em_status order_of_keys(em_order **out, em_ctx *ctx, const em_order *order, em_errinfo *err)
{
	const emi_text *t = text_of(order);
	em_text_opts o = EM_TEXT_OPTS_INIT;

	o.flags = t->flags | (t->n != 0 ? EM_TEXT_KEYS_ONLY : 0);
	o.separator = t->separator;
	return em_order_text(out, ctx, t->key, t->n, &o, err);
}

static em_status set_up(emi_join *j, const em_lines_join_opts *o, em_errinfo *err)
{
	em_ctx *ctx = j->s.object.ctx;
	const uint32_t own = text_of(o->left)->separator;
	lines_join *l;
	em_status st;

	emi_join_set_up(j, &form, o->kind, o->memory_bytes);
	j->user = o->user;
	j->of.lines = l = emi_alloc(ctx, sizeof *l, err);
	st = l != NULL ? order_of_keys(&j->order, ctx, o->left, err) : err->status;
	if (st == EM_OK)
		st = order_of_keys(&l->right, ctx, o->right, err);
	if (st == EM_OK)
		st = emi_collation_open(&j->by, j->order, NULL, NULL, err);
	if (st != EM_OK) {
		emi_join_drop(j);
		return st;
	}
	l->fn = o->fn;
	l->separator = (unsigned char)(o->separator != EM_TEXT_BLANKS ? o->separator :
				       own != EM_TEXT_BLANKS ? own : ' ');
	j->left.order = j->order;
	j->right.order = l->right;
	emi_stream_vary(&j->s);
	return EM_OK;
}

static em_status check_two(const emi_text *l, const emi_text *r, em_errinfo *err)
{
	uint32_t i;

	if (l->n != r->n)
		return emi_fail(err, EM_ERR_INVAL, "%" PRIu32 " left keys and %" PRIu32 " right ones", l->n, r->n);
	if (l->n == 0 && ((l->flags ^ r->flags) & EM_TEXT_LAST_REVERSE) != 0)
		return emi_fail(err, EM_ERR_INVAL, "one of the orders is reversed");
	for (i = 0; i < l->n; i++)
		if (l->key[i].kind != r->key[i].kind || ((l->key[i].flags ^ r->key[i].flags) & ~PLACE_FLAGS) != 0)
			return emi_fail(err, EM_ERR_INVAL,
					"left key %" PRIu32 " and the right one are two kinds of keys", i);
	return EM_OK;
}

static em_status check_whole_fields(const emi_text *t, em_errinfo *err)
{
	uint32_t i;

	for (i = 0; i < t->n; i++)
		if (t->key[i].first_char != 1 || t->key[i].last_char != 0)
			return emi_fail(err, EM_ERR_INVAL,
					"key %" PRIu32 " is a part of a field: give opts->fn, which makes lines of it",
					i);
	return EM_OK;
}

static em_status check(const em_stream *left, const em_stream *right, const em_lines_join_opts *o, em_errinfo *err)
{
	const int halves = o->fn == NULL && o->kind != EM_JOIN_SEMI && o->kind != EM_JOIN_ANTI;
	em_status st = emi_join_check_kind(o->kind, err);

	if (st == EM_OK && (!left->varied || !right->varied))
		st = emi_fail(err, EM_ERR_INVAL, "an input has records of one size, and not any length");
	if (st == EM_OK && o->separator > EM_TEXT_BLANKS)
		st = emi_fail(err, EM_ERR_INVAL, "there is no separator 0x%" PRIx32, o->separator);
	if (st == EM_OK)
		st = emi_stream_check_any_order(left, o->left, err);
	if (st == EM_OK)
		st = emi_stream_check_any_order(right, o->right, err);
	if (st == EM_OK)
		st = check_two(text_of(o->left), text_of(o->right), err);
	if (st == EM_OK && halves)
		st = check_whole_fields(text_of(o->left), err);
	return st == EM_OK && halves ? check_whole_fields(text_of(o->right), err) : st;
}

em_status em_stream_lines_join(em_stream **out, em_stream *left, em_stream *right, const em_lines_join_opts *opts,
			       em_errinfo *theirs)
{
	em_stream *const inputs[2] = { left, right };
	em_lines_join_opts o;
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, 2, &err);

	/* Whatever is wrong, what they hold is freed. */
	(void)EMI_STRUCT_TAKE(em_lines_join_opts, &o, opts, NULL);
	if (st == EM_OK)
		st = emi_join_given(left, right, opts, &err);
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_lines_join_opts, &o, opts, &err);
	if (o.right == NULL)
		o.right = o.left;
	if (st == EM_OK)
		st = check(left, right, &o, &err);
	if (st == EM_OK) {
		s = emi_stream_new(NULL, sizeof(emi_join), &emi_join_kind, sizeof(uint64_t), inputs, 2,
				   EM_STREAM_UNKNOWN, &err);
		st = s != NULL ? set_up((emi_join *)(void *)s, &o, &err) : err.status;
	}
	return emi_stream_end_user(s, out, st, o.user, o.user_free, theirs, &err);
}
