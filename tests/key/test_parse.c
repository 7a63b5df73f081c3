/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_parse.c -- keys as the command spells them: everything that is right, and the message for what is not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <extmem/order.h>
#include <extmem/text.h>

#include "common/test.h"
#include "key/order.h"
#include "key_model.h"

static em_ctx ctx;

static void check_good(const char *text, uint64_t offset, int32_t type, uint64_t width, uint32_t flags)
{
	em_errinfo err;
	em_key key;

	memset(&key, 0xff, sizeof(key));
	memset(&err, 0x5a, sizeof(err));
	assert_int_equal(em_key_parse(&key, text, &err), EM_OK);
	assert_true(key.offset == offset);
	assert_int_equal(key.type, type);
	assert_true(key.width == width);
	assert_int_equal(key.flags, flags);
	/* Filled only on failure. */
	assert_int_equal(err.status, 0x5a5a5a5a);
}

static void check_bad(const char *text, const char *message)
{
	em_errinfo err;
	em_key key, before;

	/* Garbage and older failures in err do not matter. */
	memset(&err, 0xff, sizeof(err));
	memset(&key, 0x5a, sizeof(key));
	before = key;
	assert_int_equal(em_key_parse(&key, text, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, message);
	assert_int_equal(err.status, EM_ERR_INVAL);
	assert_true(err.offset == UINT64_MAX);
	assert_memory_equal(&key, &before, sizeof(key));
	assert_int_equal(em_key_parse(&key, text, NULL), EM_ERR_INVAL);
}

static void test_all_types(void **state)
{
	static const struct {
		const char *name;
		int32_t type;
		uint64_t width;
	} types[] = {
		{ "u8", EM_KEY_U8, 1 }, { "u16", EM_KEY_U16, 2 }, { "u32", EM_KEY_U32, 4 }, { "u64", EM_KEY_U64, 8 },
		{ "i8", EM_KEY_I8, 1 }, { "i16", EM_KEY_I16, 2 }, { "i32", EM_KEY_I32, 4 }, { "i64", EM_KEY_I64, 8 },
		{ "f32", EM_KEY_F32, 4 }, { "f64", EM_KEY_F64, 8 },
	};
	static const struct {
		const char *text;
		uint32_t flags;
	} ends[] = {
		{ "", 0 }, { "le", 0 }, { "be", EM_KEY_BIG_ENDIAN }, { ":r", EM_KEY_DESCENDING },
		{ "le:r", EM_KEY_DESCENDING }, { "be:r", EM_KEY_BIG_ENDIAN | EM_KEY_DESCENDING },
	};
	char text[64];
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (j = 0; j < sizeof(ends) / sizeof(ends[0]); j++) {
			snprintf(text, sizeof(text), "%u:%s%s", (unsigned)(17 * i), types[i].name, ends[j].text);
			check_good(text, 17 * i, types[i].type, types[i].width, ends[j].flags);
		}
	}
}

static void test_bytes(void **state)
{
	(void)state;
	check_good("0:bytes10", 0, EM_KEY_BYTES, 10, 0);
	check_good("90:bytes1:r", 90, EM_KEY_BYTES, 1, EM_KEY_DESCENDING);
	check_good("0:bytes18446744073709551615", 0, EM_KEY_BYTES, UINT64_MAX, 0);
}

static void test_offsets(void **state)
{
	(void)state;
	check_good("18446744073709551615:u8", UINT64_MAX, EM_KEY_U8, 1, 0);
	check_good("007:u8", 7, EM_KEY_U8, 1, 0);
	check_bad("18446744073709551616:u8", "key '18446744073709551616:u8': the offset is too large");
	check_bad("99999999999999999999999:u8", "key '99999999999999999999999:u8': the offset is too large");
	check_bad("", "key '': expected OFFSET:TYPE[:r]");
	check_bad(":u8", "key ':u8': the offset '' is not a number");
	check_bad("u8", "key 'u8': the offset 'u8' is not a number");
	check_bad("-1:u8", "key '-1:u8': the offset '-1' is not a number");
	check_bad("+1:u8", "key '+1:u8': the offset '+1' is not a number");
	check_bad(" 1:u8", "key ' 1:u8': the offset ' 1' is not a number");
	check_bad("1 :u8", "key '1 :u8': the offset '1 ' is not a number");
	check_bad("0x1:u8", "key '0x1:u8': the offset '0x1' is not a number");
	check_bad("99999999999999999999x:u8",
		  "key '99999999999999999999x:u8': the offset '99999999999999999999x' is not a number");
}

static void test_bad_types(void **state)
{
	(void)state;
	check_bad("8", "key '8': the type is missing");
	check_bad("8:", "key '8:': the type is missing");
	check_bad("8::r", "key '8::r': the type is missing");
	check_bad("8:u65", "key '8:u65': unknown type 'u65'");
	check_bad("8:U64", "key '8:U64': unknown type 'U64'");
	check_bad("8:u64xe", "key '8:u64xe': unknown type 'u64xe'");
	check_bad("8:u64bele", "key '8:u64bele': unknown type 'u64bele'");
	check_bad("8:le", "key '8:le': unknown type 'le'");
	check_bad("8:be:r", "key '8:be:r': unknown type 'be'");
	check_bad("8:f16", "key '8:f16': unknown type 'f16'");
	check_bad("8:r", "key '8:r': unknown type 'r'");
	check_bad("8:byte4", "key '8:byte4': unknown type 'byte4'");
	check_bad("8:bytes", "key '8:bytes': 'bytes' needs a number of bytes, not ''");
	check_bad("8:bytes0", "key '8:bytes0': the number of bytes is 0");
	check_bad("8:bytes4be", "key '8:bytes4be': 'bytes' needs a number of bytes, not '4be'");
	check_bad("8:bytes-4", "key '8:bytes-4': 'bytes' needs a number of bytes, not '-4'");
	check_bad("8:bytes18446744073709551616", "key '8:bytes18446744073709551616': the number of bytes is too large");
}

static void test_bad_ends(void **state)
{
	(void)state;
	check_bad("8:u64:", "key '8:u64:': expected 'r' after the type, not ''");
	check_bad("8:u64:R", "key '8:u64:R': expected 'r' after the type, not 'R'");
	check_bad("8:u64:rr", "key '8:u64:rr': expected 'r' after the type, not 'rr'");
	check_bad("8:u64:r:r", "key '8:u64:r:r': expected 'r' after the type, not 'r:r'");
	check_bad("8:bytes3:x", "key '8:bytes3:x': expected 'r' after the type, not 'x'");
}

/* Long and unprintable texts give a message of one line that fits. */
static void test_odd_texts(void **state)
{
	char text[2000];
	em_errinfo err;
	em_key key;

	(void)state;
	check_bad("1\n2:u8", "key '1?2:u8': the offset '1?2' is not a number");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(em_key_parse(&key, text, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, " is not a number"));
	memcpy(text, "8:bytes", 7);
	assert_int_equal(em_key_parse(&key, text, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "needs a number of bytes, not 'xxx"));
	memcpy(text, "8:u64:x", 7);
	assert_int_equal(em_key_parse(&key, text, &err), EM_ERR_INVAL);
	assert_non_null(strstr(err.text, "expected 'r' after the type, not 'xxx"));
}

static void test_null(void **state)
{
	em_errinfo err;
	em_key key;

	(void)state;
	assert_int_equal(em_key_parse(NULL, "0:u8", &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "key: out is NULL");
	assert_int_equal(em_key_parse(&key, NULL, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "key: text is NULL");
}

/* Orders from their names are the same orders. */
static void test_order_names(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	unsigned i, k;

	(void)state;
	model_ctx(&ctx, NULL);
	for (i = 0; i < 2000; i++) {
		const uint64_t record = 8 + test_below(&rng, 60);
		const uint32_t n = (uint32_t)test_below(&rng, 6);
		em_order *order, *again;
		em_key keys[6];

		memset(keys, 0, sizeof keys);
		for (k = 0; k < n; k++) {
			keys[k].type = EM_KEY_U8 + (int32_t)test_below(&rng, EM_KEY_BYTES);
			keys[k].flags = (uint32_t)test_below(&rng, 4);
			if (keys[k].type == EM_KEY_BYTES) {
				keys[k].width = 1 + test_below(&rng, 8);
				keys[k].flags &= EM_KEY_DESCENDING;
			}
			keys[k].offset = test_below(&rng, record - 7);
		}
		assert_int_equal(em_order_keys(&order, &ctx, record, keys, n, NULL), EM_OK);
		assert_int_equal(em_order_parse(&again, &ctx, record, em_order_name(order), NULL), EM_OK);
		assert_string_equal(em_order_name(again), em_order_name(order));
		assert_int_equal(em_order_record_size(again), record);
		for (k = 0; k < 20; k++) {
			unsigned char a[68], b[68];

			test_fill(&rng, a, sizeof a);
			test_fill(&rng, b, sizeof b);
			if (k % 2 != 0)
				memcpy(b, a, (size_t)test_below(&rng, sizeof a));
			assert_int_equal(em_order_compare(again, a, b), em_order_compare(order, a, b));
		}
		em_order_close(again);
		em_order_close(order);
	}
	model_ctx_assert_clean(&ctx);
}

static void test_bad_order_names(void **state)
{
	static const struct {
		const char *name;
		em_status status;
		const char *says;
	} bad[] = {
		{ "", EM_ERR_INVAL, "type is missing" },      { "u64le", EM_ERR_INVAL, "'@'" },
		{ "u64le@", EM_ERR_INVAL, "not a number" },   { "u9@0", EM_ERR_INVAL, "unknown type 'u9'" },
		{ "u64@0,", EM_ERR_INVAL, "type is missing" }, { "u64@0,,u8@1", EM_ERR_INVAL, "type is missing" },
		{ "u64@0:x", EM_ERR_INVAL, "'0:x'" },         { "u64@:r", EM_ERR_INVAL, "':r'" },
		{ "u64@99999999999999999999", EM_ERR_INVAL, "too large" },
		{ "bytes@0", EM_ERR_INVAL, "number of bytes" }, { "u64@1", EM_ERR_RANGE, "past the end" },
		{ "compared by me", EM_ERR_INVAL, "unknown type" }, { "u8@0@1", EM_ERR_INVAL, "'0@1'" },
		{ "text:256:0", EM_ERR_INVAL, "record_size" },
	};
	size_t i;

	(void)state;
	model_ctx(&ctx, NULL);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		em_order *order = (em_order *)&ctx;
		em_errinfo err;

		memset(&err, 0x5a, sizeof err);
		assert_int_equal(em_order_parse(&order, &ctx, 8, bad[i].name, &err), bad[i].status);
		assert_null(order);
		assert_int_equal(err.status, bad[i].status);
		if (strstr(err.text, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].name, err.text);
	}
	model_ctx_assert_clean(&ctx);
}

/* Every kind, flag, separator and number of keys; what the name says is all that there is of an order. */
static void test_text_order_names(void **state)
{
	const uint64_t far[] = { 1, 2, 9, 1000, UINT64_MAX };
	unsigned draw;

	(void)state;
	model_ctx(&ctx, NULL);
	for (draw = 0; draw < 2000; draw++) {
		em_text_key keys[3] = { EM_TEXT_KEY_INIT, EM_TEXT_KEY_INIT, EM_TEXT_KEY_INIT };
		em_text_opts opts = EM_TEXT_OPTS_INIT;
		em_order *order, *again;
		uint32_t n = draw % 4, i;

		opts.separator = draw % 257;
		opts.flags = draw / 4 % 2 ? EM_TEXT_LAST_REVERSE : 0;
		opts.flags |= n != 0 && draw % 3 == 0 ? EM_TEXT_KEYS_ONLY : 0;
		opts.flags |= opts.separator != EM_TEXT_BLANKS && draw % 5 == 0 ? EM_TEXT_CSV : 0;
		for (i = 0; i < n; i++) {
			keys[i].first_field = far[(draw + i) % 5];
			keys[i].first_char = far[(draw / 5 + i) % 5];
			keys[i].last_field = draw % 7 == 0 ? 0 : far[(draw / 25 + i) % 5];
			keys[i].last_char = draw % 11 == 0 ? 0 : far[(draw / 125 + i) % 5];
			keys[i].kind = (int32_t)((draw + i) % 6);
			keys[i].flags = (draw + 7 * i) % 64;
		}
		assert_int_equal(em_order_text(&order, &ctx, keys, n, &opts, NULL), EM_OK);
		assert_int_equal(em_order_parse(&again, &ctx, 0, em_order_name(order), NULL), EM_OK);
		assert_string_equal(em_order_name(again), em_order_name(order));
		assert_int_equal(em_order_record_size(again), 0);
		em_order_close(again);
		em_order_close(order);
	}
	model_ctx_assert_clean(&ctx);
}

static void test_text_order_again(void **state)
{
	const em_text_key key = { 2, 1, 2, 0, EM_TEXT_NUMERIC, EM_TEXT_REVERSE, { 0, 0, 0 } };
	em_text_opts opts = EM_TEXT_OPTS_INIT;
	em_order *order, *again;
	int c;

	(void)state;
	model_ctx(&ctx, NULL);
	opts.separator = ',';
	assert_int_equal(em_order_text(&order, &ctx, &key, 1, &opts, NULL), EM_OK);
	assert_int_equal(em_order_parse(&again, &ctx, 0, em_order_name(order), NULL), EM_OK);
	em_order_close(order);
	assert_int_equal(em_text_compare(again, "x,9", 3, "x,10", 4, &c), EM_OK);
	assert_int_equal(c, 1);
	assert_int_equal(em_text_compare(again, "y,10", 4, "x,10", 4, &c), EM_OK);
	assert_int_equal(c, 1);
	em_order_close(again);
	model_ctx_assert_clean(&ctx);
}

static void test_bad_text_order_names(void **state)
{
	static const char *const bad[] = {
		"text:",       "text:256",           "text:256:",           "text:256:0:",       "text:257:0",
		"text:256:8",  "text:256:0x",        "text:256:0:1.1,0.0",  "text:256:0:1.1,0b0",
		"text:-1:0",   "text:256:0:0.1,0.0b0", "text:256:0:1.1,0.0x0", "text:256:0:1.1,0.0b0:",
		"text:256:4",  "text:4294967296:0",  "text:256:0:99999999999999999999.1,0.0b0", "text:256:0:1.1,0.0b0 ",
		"text:256:1",  "text:256:0:1.1.0.0b0", "text:256:0:1.1,0.0b64",
	};
	size_t i;

	(void)state;
	model_ctx(&ctx, NULL);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		em_order *order = (em_order *)&ctx;
		em_errinfo err;

		memset(&err, 0x5a, sizeof err);
		if (em_order_parse(&order, &ctx, 0, bad[i], &err) != EM_ERR_INVAL)
			fail_msg("%s", bad[i]);
		assert_null(order);
		assert_int_equal(err.status, EM_ERR_INVAL);
		assert_true(err.text[0] != '\0');
	}
	model_ctx_assert_clean(&ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_types),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_bad_types),
		cmocka_unit_test(test_bad_ends),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_order_names),
		cmocka_unit_test(test_bad_order_names),
		cmocka_unit_test(test_text_order_names),
		cmocka_unit_test(test_text_order_again),
		cmocka_unit_test(test_bad_text_order_names),
	};

	return cmocka_run_group_tests_name("key/parse", tests, NULL, NULL);
}
