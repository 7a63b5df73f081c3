/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join_fields.c -- joins of records of one size (join.h).
 *
 * Keys lie at different places in left and right records.  So the fields of a key are copied, one behind the other, to
 * make records of another kind, and there is an order of these.
 */
#include <inttypes.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/structs.h"
#include "flow/join.h"

static size_t width_of(const em_key *k)
{
	static const size_t width[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };

	return k->type >= EM_KEY_U8 && k->type <= EM_KEY_F64 ? width[k->type] : (size_t)k->width;
}

static em_status key(emi_join *j, emi_join_side *side, em_errinfo *err)
{
	char *to = (char *)(uintptr_t)side->key;
	uint32_t i;

	(void)err;
	for (i = 0; i < j->of.fixed.nfields; i++)
		emi_copy(to + side->field[i].to, side->in->source.at + side->field[i].from, side->field[i].bytes);
	return EM_OK;
}

static void keep_key(emi_join *j)
{
	const char *key = j->group_key;

	j->group_key = j->right.key;
	j->right.key = key;
}

static em_status make(emi_join *j, emi_one_record left, emi_one_record right, em_errinfo *err)
{
	const size_t l = j->left.in->record, r = j->s.record - l;
	char *to = j->s.room + j->of.fixed.made++ * j->s.record;
	int failed;

	if (j->of.fixed.fn != NULL) {
		failed = j->of.fixed.fn(j->user, left.at, right.at, to);
		return failed == 0 ? EM_OK : emi_stream_user_failed("joins records", failed, err);
	}
	if (left.at != NULL)
		emi_copy(to, left.at, l);
	else
		memset(to, 0, l);
	if (right.at != NULL)
		emi_copy(to + l, right.at, r);
	else
		memset(to + l, 0, r);
	return EM_OK;
}

static int full(const emi_join *j)
{
	return j->of.fixed.made >= j->s.room_records;
}

static em_status show(emi_join *j)
{
	const size_t n = j->of.fixed.made;

	j->of.fixed.made = 0;
	return emi_stream_show(&j->s, n);
}

static void retire(emi_join *j)
{
	em_ctx *ctx = j->s.object.ctx;

	if (j->of.fixed.keys != NULL)
		emi_free(ctx, j->of.fixed.keys, 3 * j->of.fixed.key_bytes);
	if (j->of.fixed.fields != NULL)
		emi_free_array(ctx, j->of.fixed.fields, (uint64_t)2 * j->of.fixed.nfields,
			       sizeof *j->of.fixed.fields);
	j->of.fixed.keys = NULL;
	j->of.fixed.fields = NULL;
}

static const emi_join_form form = { key, keep_key, make, full, show, retire };

static int same_kind(const em_key *a, const em_key *b)
{
	return a->type == b->type && a->flags == b->flags && width_of(a) == width_of(b);
}

/* Where the fields are, and the order of keys. */
static em_status set_keys(emi_join *j, const em_join_opts *o, em_errinfo *err)
{
	em_ctx *ctx = j->s.object.ctx;
	em_key *keys = emi_alloc_array(ctx, o->nkeys, sizeof *keys, err);
	emi_join_field *field = emi_alloc_array(ctx, (uint64_t)2 * o->nkeys, sizeof *field, err);
	em_status st = keys != NULL && field != NULL ? EM_OK : err->status;
	size_t at = 0;
	uint32_t i;

	j->of.fixed.fields = field;
	j->of.fixed.nfields = o->nkeys;
	for (i = 0; st == EM_OK && i < o->nkeys; i++) {
		const size_t bytes = width_of(&o->left[i]);
		const emi_join_field l = { (size_t)o->left[i].offset, at, bytes };
		const emi_join_field r = { (size_t)o->right[i].offset, at, bytes };

		if (!same_kind(&o->left[i], &o->right[i]))
			st = emi_fail(err, EM_ERR_INVAL,
				      "left[%" PRIu32 "] and right[%" PRIu32 "] are two kinds of keys", i, i);
		field[i] = l;
		field[o->nkeys + i] = r;
		keys[i] = o->left[i];
		keys[i].offset = at;
		at += bytes;
	}
	if (st == EM_OK)
		st = em_order_keys(&j->order, ctx, at, keys, o->nkeys, err);
	emi_free_array(ctx, keys, keys != NULL ? o->nkeys : 0, sizeof *keys);
	if (st == EM_OK)
		st = emi_collation_open(&j->by, j->order, NULL, NULL, err);
	if (st != EM_OK)
		return st;
	j->of.fixed.key_bytes = at;
	j->of.fixed.keys = emi_alloc(ctx, 3 * at, err);
	if (j->of.fixed.keys == NULL)
		return err->status;
	j->left.field = field;
	j->right.field = field + o->nkeys;
	j->left.key = j->of.fixed.keys;
	j->right.key = j->of.fixed.keys + at;
	j->group_key = j->of.fixed.keys + 2 * at;
	return EM_OK;
}

/* Are those fields of such records?  An order by them would tell. */
static em_status check_keys(const em_stream *in, const em_key *keys, uint32_t n, em_errinfo *err)
{
	em_order *order;
	const em_status st = em_order_keys(&order, in->object.ctx, in->record, keys, n, err);

	em_order_close(order);
	return st;
}

static em_status check(const em_stream *left, const em_stream *right, const em_join_opts *o, em_errinfo *err)
{
	em_status st = emi_given(o->left, "opts->left", err);

	if (st == EM_OK)
		st = emi_given(o->right, "opts->right", err);
	if (st == EM_OK && o->nkeys == 0)
		st = emi_fail(err, EM_ERR_INVAL, "a join without keys");
	if (st == EM_OK)
		st = emi_join_check_kind(o->kind, err);
	if (st == EM_OK && (o->fn != NULL) != (o->record_bytes != 0))
		st = emi_fail(err, EM_ERR_INVAL, "a join needs both opts->fn and opts->record_bytes, or neither");
	if (st == EM_OK && o->memory_bytes != 0 && o->memory_bytes < right->record)
		st = emi_fail(err, EM_ERR_RANGE, "opts->memory_bytes is less than a record of %zu bytes",
			      right->record);
	if (st == EM_OK)
		st = check_keys(left, o->left, o->nkeys, err);
	return st == EM_OK ? check_keys(right, o->right, o->nkeys, err) : st;
}

static uint64_t record_of(const em_stream *left, const em_stream *right, const em_join_opts *o)
{
	if (o->fn != NULL)
		return o->record_bytes;
	return o->kind == EM_JOIN_SEMI || o->kind == EM_JOIN_ANTI ? left->record : left->record + right->record;
}

static em_status set_up(emi_join *j, const em_join_opts *o, em_errinfo *err)
{
	em_status st;

	emi_join_set_up(j, &form, o->kind, o->memory_bytes);
	j->of.fixed.fn = o->fn;
	j->user = o->user;
	st = set_keys(j, o, err);
	if (st != EM_OK)
		emi_join_drop(j);
	return st;
}

em_status em_stream_join(em_stream **out, em_stream *left, em_stream *right, const em_join_opts *opts,
			 em_errinfo *theirs)
{
	em_stream *const inputs[2] = { left, right };
	em_join_opts o;
	em_errinfo err;
	em_stream *s = NULL;
	em_status st = emi_stream_begin_node(out, inputs, 2, &err);

	/* Whatever is wrong, what they hold is freed. */
	(void)EMI_STRUCT_TAKE(em_join_opts, &o, opts, NULL);
	if (st == EM_OK)
		st = emi_join_given(left, right, opts, &err);
	if (st == EM_OK && (left->varied || right->varied))
		st = emi_fail(&err, EM_ERR_NOTSUP,
			      "an input has records of any length, which em_stream_lines_join() takes");
	if (st == EM_OK)
		st = EMI_STRUCT_TAKE(em_join_opts, &o, opts, &err);
	if (st == EM_OK)
		st = check(left, right, &o, &err);
	if (st == EM_OK) {
		s = emi_stream_new(NULL, sizeof(emi_join), &emi_join_kind, record_of(left, right, &o), inputs, 2,
				   EM_STREAM_UNKNOWN, &err);
		st = s != NULL ? set_up((emi_join *)(void *)s, &o, &err) : err.status;
	}
	return emi_stream_end_user(s, out, st, o.user, o.user_free, theirs, &err);
}
