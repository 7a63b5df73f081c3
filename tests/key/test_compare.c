/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_compare.c -- whole records compared: ties, and functions of the caller's that fail or lie.  Orders by
 * keys are compared against the model in test_codec.c too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <string.h>

#include "key/order.h"
#include "key_model.h"


static uint64_t val_of(const void *record)
{
	return (uint64_t)(uintptr_t)record;
}

/* A key longer than the prefix: the tie looks at all of it. */
static void test_long_keys(void **state)
{
	static const em_key bytes[] = { { 2, 10, EM_KEY_BYTES, 0, { 0 } } };
	static const em_key down[] = { { 2, 10, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } } };
	static const em_key several[] = { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 0, EM_KEY_I16, 0, { 0 } },
		{ 10, 0, EM_KEY_U8, 0, { 0 } } };
	unsigned char a[12] = { 0 }, b[12] = { 0 };
	emi_compare compare = { 0 };
	em_order *o;
	emi_tie tie;

	(void)state;
	b[11] = 1;
	b[1] = 9;
	a[0] = 9;
	o = model_order(&key_ctx, sizeof(a), bytes, 1);
	tie = emi_order_tie(o, &compare);
	assert_non_null(tie.fn);
	assert_ptr_equal(tie.arg, &compare);
	assert_ptr_equal(compare.order, o);
	assert_true(tie.fn(tie.arg, val_of(a), val_of(b)) < 0);
	assert_true(tie.fn(tie.arg, val_of(b), val_of(a)) > 0);
	assert_int_equal(tie.fn(tie.arg, val_of(a), val_of(a)), 0);
	em_order_close(o);

	o = model_order(&key_ctx, sizeof(a), down, 1);
	tie = emi_order_tie(o, &compare);
	assert_true(tie.fn(tie.arg, val_of(a), val_of(b)) > 0);
	assert_true(tie.fn(tie.arg, val_of(b), val_of(a)) < 0);
	em_order_close(o);

	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	a[9] = 0xff;    /* i16le: -256 + a[8] */
	b[10] = 1;
	o = model_order(&key_ctx, sizeof(a), several, 3);
	tie = emi_order_tie(o, &compare);
	assert_true(tie.fn(tie.arg, val_of(a), val_of(b)) < 0);
	a[9] = 0;
	assert_true(tie.fn(tie.arg, val_of(a), val_of(b)) < 0);
	a[10] = 1;
	assert_int_equal(tie.fn(tie.arg, val_of(a), val_of(b)), 0);
	a[11] = 7;      /* not in any field */
	assert_int_equal(tie.fn(tie.arg, val_of(a), val_of(b)), 0);
	em_order_close(o);
	assert_int_equal(compare.failed, 0);
}

static void test_exact_has_no_tie(void **state)
{
	static const em_key key[] = { { 90, 0, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } } };
	emi_compare compare = { 0 };
	em_order *o = model_order(&key_ctx, 100, key, 1);

	(void)state;
	assert_null(emi_order_tie(o, &compare).fn);
	assert_false(emi_order_on_caller(o));
	em_order_close(o);
}

/* What the function is told, and how often it was called. */
typedef struct script {
	int answer;
	unsigned calls;
	const void *a, *b;
} script;

static int scripted(const void *a, const void *b, void *user)
{
	script *s = user;

	s->calls++;
	s->a = a;
	s->b = b;
	return s->answer;
}

static em_order *scripted_order(script *s, uint64_t record_size)
{
	em_order *o = NULL;

	assert_int_equal(em_order_cmp(&o, &key_ctx, record_size, "scripted", scripted, 0, s, NULL, NULL), EM_OK);
	return o;
}

static void test_function(void **state)
{
	static const int answers[] = { 0, 1, -1, 2, -2, INT_MAX, -INT_MAX };
	const unsigned char records[3] = { 3, 1, 2 };
	script s = { 0, 0, NULL, NULL };
	em_order *o = scripted_order(&s, 1);
	const emi_codec *c = emi_order_codec(o);
	emi_compare compare = { 0 };
	const emi_tie tie = emi_order_tie(o, &compare);
	emi_pair elems[3];
	unsigned char out[3];
	size_t i;

	(void)state;
	assert_true(emi_order_on_caller(o));
	assert_int_equal(c->elem, EMI_ELEM_PAIR);
	assert_true(c->ref);
	assert_false(c->exact);
	assert_false(c->identity);
	assert_non_null(tie.fn);
	c->load(o, records, 3, elems);
	for (i = 0; i < 3; i++) {
		assert_true(elems[i].key == 0);
		assert_true(elems[i].val == val_of(records + i));
		assert_true(c->key(o, records + i) == 0);
	}
	c->store(o, elems, 3, out);
	assert_memory_equal(out, records, 3);
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const int sign = (answers[i] > 0) - (answers[i] < 0);
		int r;

		s.answer = answers[i];
		assert_int_equal(em_order_compare(o, records, records + 1), sign);
		r = tie.fn(tie.arg, elems[1].val, elems[2].val);
		assert_int_equal((r > 0) - (r < 0), sign);
		assert_ptr_equal(s.a, records + 1);
		assert_ptr_equal(s.b, records + 2);
	}
	assert_int_equal(s.calls, 2 * sizeof(answers) / sizeof(answers[0]));
	assert_int_equal(compare.failed, 0);
	em_order_close(o);
}

/* A failure is latched with whoever compares, and nobody else; the function is left alone after it. */
static void test_function_fails(void **state)
{
	const unsigned char record = 0;
	script s = { EM_CMP_ERROR, 0, NULL, NULL };
	em_order *o = scripted_order(&s, 1);
	emi_compare one = { 0 }, other = { 0 };
	const emi_tie tie = emi_order_tie(o, &one);
	const emi_tie other_tie = emi_order_tie(o, &other);

	(void)state;
	assert_int_equal(em_order_compare(o, &record, &record), 0);
	assert_int_equal(tie.fn(tie.arg, val_of(&record), val_of(&record)), 0);
	assert_int_equal(one.failed, 1);
	assert_int_equal(other.failed, 0);
	assert_int_equal(s.calls, 2);
	s.answer = 1;
	assert_int_equal(tie.fn(tie.arg, val_of(&record), val_of(&record)), 0);
	assert_int_equal(s.calls, 2);
	assert_true(other_tie.fn(other_tie.arg, val_of(&record), val_of(&record)) > 0);
	assert_int_equal(other.failed, 0);
	em_order_close(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_exact_has_no_tie),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_function_fails),
	};

	return cmocka_run_group_tests_name("key/compare", tests, key_setup, key_teardown);
}
