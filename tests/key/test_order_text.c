/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_order_text.c -- orders of records of any length: every refusal with its message, names, references, each
 * allocation failing once, and comparing and finding keys through the public calls.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/text.h>

#include "key/order.h"
#include "key/vary.h"
#include "key_model.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static em_text_key key_of(const char *spec)
{
	em_text_key k;

	assert_int_equal(em_text_key_parse(&k, NULL, spec, NULL), EM_OK);
	return k;
}

/* Refused, for this reason, and nothing is held. */
static void check_refused(const em_text_key *keys, uint32_t n, const em_text_opts *opts, const char *text)
{
	em_errinfo err;
	em_order *o = NULL;
	em_ctx ctx;

	model_ctx(&ctx, NULL);
	/* What was in the detail before does not count. */
	memset(&err, 0x5a, sizeof(err));
	assert_int_equal(em_order_text(&o, &ctx, keys, n, opts, &err), EM_ERR_INVAL);
	assert_null(o);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_string_equal(err.text, text);
	assert_int_equal(em_order_text(&o, &ctx, keys, n, opts, NULL), EM_ERR_INVAL);
	model_ctx_assert_clean(&ctx);
}

static void test_refused_keys(void **state)
{
	static const struct {
		em_text_key key;
		const char *text;
	} bad[] = {
		{ { 1, 1, 0, 0, -1, 0, { 0 } }, "keys[2]: unknown kind -1" },
		{ { 1, 1, 0, 0, 6, 0, { 0 } }, "keys[2]: unknown kind 6" },
		{ { 1, 1, 0, 0, INT32_MAX, 0, { 0 } }, "keys[2]: unknown kind 2147483647" },
		{ { 1, 1, 0, 0, 0, 64, { 0 } }, "keys[2]: unknown flags 0x40" },
		{ { 1, 1, 0, 0, 0, 0x80000001u, { 0 } }, "keys[2]: unknown flags 0x80000000" },
		{ { 0, 1, 0, 0, 0, 0, { 0 } }, "keys[2]: its first field is 0" },
		{ { 1, 0, 0, 0, 0, 0, { 0 } }, "keys[2]: its first character is 0" },
		{ { 0, 0, 0, 0, 0, 0, { 0 } }, "keys[2]: its first field is 0" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++) {
		em_text_key keys[3];

		keys[0] = key_of("1");
		keys[1] = key_of("2,2n");
		keys[2] = bad[i].key;
		check_refused(keys, 3, NULL, bad[i].text);
	}
	check_refused(NULL, 1, NULL, "text order: keys is NULL");
}

/* Options of a size that no version has. */
static void check_version(size_t size)
{
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_order *o = NULL;
	em_errinfo err;
	em_ctx ctx;
	char text[128];

	model_ctx(&ctx, NULL);
	snprintf(text, sizeof(text),
		 "em_text_opts: its size is %u, and no version has less than 16 bytes: use the initialiser",
		 (unsigned)size);
	opts.size = (uint32_t)size;
	assert_int_equal(em_order_text(&o, &ctx, NULL, 0, &opts, &err), EM_ERR_VERSION);
	assert_null(o);
	assert_int_equal(err.status, EM_ERR_VERSION);
	assert_string_equal(err.text, text);
	model_ctx_assert_clean(&ctx);
}

static void test_refused_options(void **state)
{
	const em_text_opts defaults = EM_TEXT_OPTS_INIT;
	const em_text_key key = key_of("1");
	em_text_opts opts = defaults;

	(void)state;
	opts.flags = 8;
	check_refused(&key, 1, &opts, "text order: unknown flags 0x8");
	opts.flags = UINT32_MAX;
	check_refused(&key, 1, &opts, "text order: unknown flags 0xfffffff8");
	opts = defaults;
	opts.reserved = 1;
	check_refused(&key, 1, &opts, "text order: reserved is not 0");
	opts = defaults;
	opts.separator = EM_TEXT_BLANKS + 1;
	check_refused(&key, 1, &opts, "text order: unknown separator 0x101");
	opts.separator = UINT32_MAX;
	check_refused(&key, 1, &opts, "text order: unknown separator 0xffffffff");
	opts = defaults;
	opts.flags = EM_TEXT_KEYS_ONLY;
	check_refused(NULL, 0, &opts, "text order: there are no keys to compare alone");
	opts.flags = EM_TEXT_CSV;
	check_refused(&key, 1, &opts, "text order: CSV needs a separator");
	opts = defaults;
	check_version(0);
	check_version(sizeof(opts) - 1);
}

static void test_refused_reserved(void **state)
{
	em_text_key key = key_of("1");

	(void)state;
	key.reserved[2] = 1;
	check_refused(&key, 1, NULL, "keys[0]: what is reserved is not 0: use EM_TEXT_KEY_INIT");
}

static void test_refused_pointers(void **state)
{
	const em_text_key key = key_of("1");
	em_errinfo err;
	em_order *o = NULL;
	em_ctx ctx;

	(void)state;
	model_ctx(&ctx, NULL);
	memset(&err, 0, sizeof(err));
	assert_int_equal(em_order_text(NULL, &ctx, &key, 1, NULL, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "order: out is NULL");
	assert_int_equal(em_order_text(&o, NULL, &key, 1, NULL, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "order: ctx is NULL");
	assert_null(o);
	/* A child of the process that made the context. */
	ctx.pid++;
	assert_int_equal(em_order_text(&o, &ctx, &key, 1, NULL, &err), EM_ERR_FORK);
	model_ctx_assert_clean(&ctx);
}

static void check_name(const char *const *specs, uint32_t n, const em_text_opts *opts, const char *name)
{
	em_text_key keys[4];
	em_order *o = NULL;
	em_errinfo err;
	uint32_t i;
	em_ctx ctx;

	model_ctx(&ctx, NULL);
	for (i = 0; i < n; i++)
		keys[i] = key_of(specs[i]);
	assert_int_equal(em_order_text(&o, &ctx, n != 0 ? keys : NULL, n, opts, &err), EM_OK);
	/* The keys were copied. */
	memset(keys, 0, sizeof(keys));
	assert_string_equal(em_order_name(o), name);
	assert_true(em_order_record_size(o) == 0);
	assert_ptr_equal(emi_order_ctx(o), &ctx);
	assert_false(emi_order_on_caller(o));
	assert_int_equal(em_order_compare(o, "a", "b"), 0);
	assert_non_null(emi_order_vary(o));
	assert_int_equal(emi_order_vary(o)->keyed, n != 0);
	em_order_close(o);
	model_ctx_assert_clean(&ctx);
}

static void test_names(void **state)
{
	static const char *const specs[] = { "2.3,4.5nr", "1", "7,7V", "3Mb" };
	const em_text_opts defaults = EM_TEXT_OPTS_INIT;
	em_text_opts opts = defaults;

	(void)state;
	check_name(NULL, 0, NULL, "text:256:0");
	check_name(specs + 1, 1, NULL, "text:256:0:1.1,0.0b0");
	opts.separator = ',';
	opts.flags = EM_TEXT_KEYS_ONLY | EM_TEXT_LAST_REVERSE | EM_TEXT_CSV;
	check_name(specs, 3, &opts, "text:44:7:2.3,4.5n1:1.1,0.0b0:7.1,7.0V0");
	opts = defaults;
	opts.separator = 0;
	opts.flags = EM_TEXT_CSV | EM_TEXT_LAST_REVERSE;
	check_name(NULL, 0, &opts, "text:0:6");
}

static void test_references(void **state)
{
	const em_text_key key = key_of("1,1n");
	const em_key number = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_order *o = NULL, *fixed;
	em_ctx ctx;

	(void)state;
	model_ctx(&ctx, NULL);
	assert_int_equal(em_order_text(&o, &ctx, &key, 1, NULL, NULL), EM_OK);
	assert_int_equal(ctx.refs, 2);
	emi_order_ref(o);
	em_order_close(o);
	assert_string_equal(em_order_name(o), "text:256:0:1.1,1.0n0");
	assert_int_equal(ctx.refs, 2);
	em_order_close(o);
	model_ctx_assert_clean(&ctx);
	fixed = model_order(&ctx, 8, &number, 1);
	assert_null(emi_order_vary(fixed));
	em_order_close(fixed);
	model_ctx_assert_clean(&ctx);
}

static void test_out_of_memory(void **state)
{
	const em_text_key key = key_of("1,1n");
	em_status st = EM_ERR_NOMEM;
	uint64_t n;
	int c;

	(void)state;
	for (n = test_nth_after(0, 1); st != EM_OK; n = test_nth_after(n, 1)) {
		em_order *o = NULL;
		em_errinfo err;
		test_memory mem;
		em_ctx ctx;

		test_memory_init(&mem, n);
		model_ctx(&ctx, &mem.allocator);
		memset(&err, 0, sizeof(err));
		st = em_order_text(&o, &ctx, &key, 1, NULL, &err);
		assert_int_equal(st, n <= 3 ? EM_ERR_NOMEM : EM_OK);
		assert_int_equal(err.status, n <= 3 ? EM_ERR_NOMEM : EM_OK);
		if (st == EM_OK) {
			/* Comparing takes memory for both. */
			for (n = 1; n <= 3; n++) {
				mem.fail_at = mem.calls + n;
				c = 7;
				assert_int_equal(em_text_compare(o, "1", 1, "2", 1, &c), n <= 2 ? EM_ERR_NOMEM : EM_OK);
				if (n == 3)
					assert_int_equal(c, -1);
			}
			em_order_close(o);
		}
		model_ctx_assert_clean(&ctx);
		test_memory_assert_clean(&mem);
	}
}

static int model_bytes(const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	size_t i;

	for (i = 0; i < na && i < nb; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return na < nb ? -1 : na > nb;
}

/* The field between commas, and the number that digits make of it. */
static size_t field(const unsigned char *p, size_t n, unsigned which, const unsigned char **begin)
{
	size_t at = 0, end;

	for (; which > 0; which--) {
		while (at < n && p[at] != ',')
			at++;
		if (at < n)
			at++;
	}
	for (end = at; end < n && p[end] != ','; end++)
		;
	*begin = p + at;
	return end - at;
}

static long number(const unsigned char *p, size_t n)
{
	long x = 0;
	size_t i;

	for (i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		x = x * 10 + (p[i] - '0');
	return x;
}

/* By the second field as a number, largest first, then by the first as bytes, then all. */
static int model_order_of(uint32_t flags, const unsigned char *a, size_t na, const unsigned char *b, size_t nb)
{
	const unsigned char *fa, *fb;
	size_t n = field(a, na, 1, &fa), m = field(b, nb, 1, &fb);
	const long x = number(fa, n), y = number(fb, m);
	int c;

	if (x != y)
		return x > y ? -1 : 1;
	n = field(a, na, 0, &fa);
	m = field(b, nb, 0, &fb);
	c = model_bytes(fa, n, fb, m);
	if (c != 0 || (flags & EM_TEXT_KEYS_ONLY) != 0)
		return c;
	c = model_bytes(a, na, b, nb);
	return (flags & EM_TEXT_LAST_REVERSE) != 0 ? -c : c;
}

static size_t random_record(test_rng *rng, unsigned char *p)
{
	static const char letters[] = "0019,,a\0\xff";
	const size_t n = (size_t)test_below(rng, 9);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (unsigned char)letters[test_below(rng, sizeof(letters) - 1)];
	return n;
}

static void test_compare(void **state)
{
	static const uint32_t flags[] = { 0, EM_TEXT_LAST_REVERSE, EM_TEXT_KEYS_ONLY };
	test_rng rng = test_rng_make(test_seed());
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_text_key keys[2];
	size_t f;
	em_ctx ctx;

	(void)state;
	model_ctx(&ctx, NULL);
	keys[0] = key_of("2,2nr");
	keys[1] = key_of("1,1");
	opts.separator = ',';
	for (f = 0; f < COUNT(flags); f++) {
		em_order *o, *all;
		unsigned i;

		opts.flags = flags[f];
		assert_int_equal(em_order_text(&o, &ctx, keys, 2, &opts, NULL), EM_OK);
		opts.flags = flags[f] & EM_TEXT_LAST_REVERSE;
		assert_int_equal(em_order_text(&all, &ctx, NULL, 0, &opts, NULL), EM_OK);
		for (i = 0; i < 20000; i++) {
			unsigned char a[16], b[16];
			const size_t na = random_record(&rng, a), nb = random_record(&rng, b);
			int c = 7, expected = model_bytes(a, na, b, nb);

			assert_int_equal(em_text_compare(o, a, na, b, nb, &c), EM_OK);
			assert_int_equal(c, model_order_of(flags[f], a, na, b, nb));
			assert_int_equal(em_text_compare(all, a, na, b, nb, &c), EM_OK);
			assert_int_equal(c, flags[f] == EM_TEXT_LAST_REVERSE ? -expected : expected);
		}
		em_order_close(o);
		em_order_close(all);
	}
	model_ctx_assert_clean(&ctx);
}

/* Records of no bytes need no address, and wrong arguments are refused. */
static void test_arguments(void **state)
{
	const em_text_key key = key_of("2,2n");
	const em_key number_key = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_order *o, *all, *fixed;
	size_t begin = 9, end = 9;
	em_ctx ctx;
	int c = 7;

	(void)state;
	model_ctx(&ctx, NULL);
	assert_int_equal(em_order_text(&o, &ctx, &key, 1, NULL, NULL), EM_OK);
	assert_int_equal(em_order_text(&all, &ctx, NULL, 0, NULL, NULL), EM_OK);
	fixed = model_order(&ctx, 8, &number_key, 1);
	assert_int_equal(em_text_compare(o, NULL, 0, NULL, 0, &c), EM_OK);
	assert_int_equal(c, 0);
	assert_int_equal(em_text_compare(all, NULL, 0, "", 1, &c), EM_OK);
	assert_int_equal(c, -1);
	assert_int_equal(em_text_compare(all, "", 1, NULL, 0, &c), EM_OK);
	assert_int_equal(c, 1);
	c = 7;
	assert_int_equal(em_text_compare(NULL, "a", 1, "b", 1, &c), EM_ERR_INVAL);
	assert_int_equal(em_text_compare(fixed, "a", 1, "b", 1, &c), EM_ERR_INVAL);
	assert_int_equal(em_text_compare(o, NULL, 1, "b", 1, &c), EM_ERR_INVAL);
	assert_int_equal(em_text_compare(o, "a", 1, NULL, 1, &c), EM_ERR_INVAL);
	assert_int_equal(em_text_compare(o, "a", 1, "b", 1, NULL), EM_ERR_INVAL);
	assert_int_equal(c, 7);

	assert_int_equal(em_text_find(o, 0, "ab  12x", 7, &begin, &end), EM_OK);
	assert_true(begin == 4 && end == 6);
	assert_int_equal(em_text_find(o, 0, NULL, 0, &begin, &end), EM_OK);
	assert_true(begin == 0 && end == 0);
	begin = end = 9;
	assert_int_equal(em_text_find(o, 1, "a", 1, &begin, &end), EM_ERR_RANGE);
	assert_int_equal(em_text_find(all, 0, "a", 1, &begin, &end), EM_ERR_RANGE);
	assert_int_equal(em_text_find(NULL, 0, "a", 1, &begin, &end), EM_ERR_INVAL);
	assert_int_equal(em_text_find(fixed, 0, "a", 1, &begin, &end), EM_ERR_INVAL);
	assert_int_equal(em_text_find(o, 0, NULL, 1, &begin, &end), EM_ERR_INVAL);
	assert_int_equal(em_text_find(o, 0, "a", 1, NULL, &end), EM_ERR_INVAL);
	assert_int_equal(em_text_find(o, 0, "a", 1, &begin, NULL), EM_ERR_INVAL);
	assert_true(begin == 9 && end == 9);
	em_order_close(o);
	em_order_close(all);
	em_order_close(fixed);
	model_ctx_assert_clean(&ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_keys),
		cmocka_unit_test(test_refused_options),
		cmocka_unit_test(test_refused_reserved),
		cmocka_unit_test(test_refused_pointers),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests_name("order_text", tests, NULL, NULL);
}
