/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_order.c -- making orders: names, references, every refusal with its message, and every allocation failing once.
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

#include "key/order.h"
#include "key_model.h"


static void check_name(uint64_t record_size, const em_key *keys, uint32_t n, const char *name)
{
	em_order *o = model_order(&key_ctx, record_size, keys, n);

	assert_string_equal(em_order_name(o), name);
	assert_true(em_order_record_size(o) == record_size);
	assert_ptr_equal(emi_order_ctx(o), &key_ctx);
	assert_false(emi_order_on_caller(o));
	em_order_close(o);
}

static void test_names(void **state)
{
	static const em_key two[] = {
		{ 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 4, EM_KEY_I32, EM_KEY_BIG_ENDIAN | EM_KEY_DESCENDING, { 0 } },
	};
	static const em_key bytes[] = { { 0, 10, EM_KEY_BYTES, 0, { 0 } } };
	static const em_key small[] = {
		{ 5, 0, EM_KEY_U8, 0, { 0 } }, { 4, 1, EM_KEY_I8, EM_KEY_BIG_ENDIAN, { 0 } },
			{ 3, 1, EM_KEY_BYTES, EM_KEY_DESCENDING, { 0 } },
	};
	static const em_key floats[] = {
		{ 1, 0, EM_KEY_F32, EM_KEY_BIG_ENDIAN, { 0 } }, { 12, 8, EM_KEY_F64, EM_KEY_DESCENDING, { 0 } },
	};
	static const em_key others[] = {
		{ 0, 0, EM_KEY_U16, 0, { 0 } }, { 0, 0, EM_KEY_U32, 0, { 0 } }, { 0, 0, EM_KEY_I16, 0, { 0 } },
			{ 0, 0, EM_KEY_I64, 0, { 0 } },
	};

	(void)state;
	check_name(12, two, 2, "u64le@0,i32be@8:r");
	check_name(100, bytes, 1, "bytes10@0");
	check_name(6, small, 3, "u8@5,i8@4,bytes1@3:r");
	check_name(20, floats, 2, "f32be@1,f64le@12:r");
	check_name(8, others, 4, "u16le@0,u32le@0,i16le@0,i64le@0");
	check_name(77, NULL, 0, "bytes77@0");
	check_name(77, bytes, 0, "bytes77@0");
}

/* Records as large as they may be, and a field at their end. */
static void test_large_records(void **state)
{
	const uint64_t size = SIZE_MAX / 2;
	const em_key last[] = { { size - 8, 0, EM_KEY_U64, 0, { 0 } }, { 1, size - 1, EM_KEY_BYTES, 0, { 0 } } };
	char name[96];

	(void)state;
	snprintf(name, sizeof(name), "u64le@%" PRIu64 ",bytes%" PRIu64 "@1", size - 8, size - 1);
	check_name(size, last, 2, name);
	snprintf(name, sizeof(name), "bytes%" PRIu64 "@0", size);
	check_name(size, NULL, 0, name);
	check_name((uint64_t)1 << 30, last, 0, "bytes1073741824@0");
}

/* More fields than fit on any screen; and their widths together are more than 64 bits can count. */
static void test_many_fields(void **state)
{
	enum { N = 5000 };
	const uint64_t size = SIZE_MAX / 2;
	em_key *keys = calloc(N, sizeof(*keys));
	const char *name;
	em_order *o;
	uint32_t i, commas = 0;

	(void)state;
	assert_non_null(keys);
	for (i = 0; i < N; i++) {
		keys[i].type = EM_KEY_BYTES;
		keys[i].width = size - i;
		keys[i].offset = i;
	}
	o = model_order(&key_ctx, size, keys, N);
	assert_true(emi_order_codec(o)->ref);
	assert_false(emi_order_codec(o)->exact);
	for (name = em_order_name(o); *name != '\0'; name++)
		commas += *name == ',';
	assert_int_equal(commas, N - 1);
	em_order_close(o);
	free(keys);
}

static void check_refused(em_ctx *c, uint64_t record_size, const em_key *keys, uint32_t n, em_status status,
			  const char *text)
{
	em_order *const poison = (em_order *)&key_ctx;
	em_order *o = poison;
	em_errinfo err;

	/* Garbage in err does not matter. */
	memset(&err, 0xff, sizeof(err));
	assert_int_equal(em_order_keys(&o, c, record_size, keys, n, &err), status);
	assert_null(o);
	assert_int_equal(err.status, status);
	assert_string_equal(err.text, text);
	o = poison;
	assert_int_equal(em_order_keys(&o, c, record_size, keys, n, NULL), status);
	assert_null(o);
	model_ctx_assert_clean(&key_ctx);
}

static void check_bad_key(uint64_t record_size, em_key key, em_status status, const char *text)
{
	em_key keys[2] = { { 0, 0, EM_KEY_U8, 0, { 0 } }, EM_KEY_INIT };

	keys[1] = key;
	check_refused(&key_ctx, record_size, keys, 2, status, text);
}

static em_key key_of(uint64_t offset, uint64_t width, int32_t type, uint32_t flags)
{
	em_key key = EM_KEY_INIT;

	key.offset = offset;
	key.width = width;
	key.type = type;
	key.flags = flags;
	return key;
}

static void test_bad_keys(void **state)
{
	em_key reserved[2] = { { 0, 0, EM_KEY_U8, 0, { 1, 0 } }, { 0, 0, EM_KEY_U8, 0, { 0, UINT64_MAX } } };
	int i;

	(void)state;
	for (i = 0; i < 2; i++)
		check_bad_key(16, reserved[i], EM_ERR_INVAL, "keys[1]: what is reserved is not 0: use EM_KEY_INIT");
	check_bad_key(16, key_of(0, 0, 0, 0), EM_ERR_INVAL, "keys[1]: unknown type 0");
	check_bad_key(16, key_of(0, 0, 12, 0), EM_ERR_INVAL, "keys[1]: unknown type 12");
	check_bad_key(16, key_of(0, 0, INT32_MIN, 0), EM_ERR_INVAL, "keys[1]: unknown type -2147483648");
	check_bad_key(16, key_of(0, 0, EM_KEY_U8, 4), EM_ERR_INVAL, "keys[1]: unknown flags 0x4");
	check_bad_key(16, key_of(0, 0, EM_KEY_U8, 0xffffffffu), EM_ERR_INVAL, "keys[1]: unknown flags 0xfffffffc");
	check_bad_key(16, key_of(0, 3, EM_KEY_U32, 0), EM_ERR_INVAL, "keys[1]: width 3 does not fit type u32");
	check_bad_key(16, key_of(0, 1, EM_KEY_F64, 0), EM_ERR_INVAL, "keys[1]: width 1 does not fit type f64");
	check_bad_key(16, key_of(0, 0, EM_KEY_BYTES, 0), EM_ERR_INVAL, "keys[1]: width 0 does not fit type bytes");
	check_bad_key(16, key_of(9, 0, EM_KEY_I64, 0), EM_ERR_RANGE,
		      "keys[1]: 8 bytes at offset 9 reach past the end of the record of 16 bytes");
	check_bad_key(16, key_of(16, 0, EM_KEY_U8, 0), EM_ERR_RANGE,
		      "keys[1]: 1 bytes at offset 16 reach past the end of the record of 16 bytes");
	check_bad_key(16, key_of(0, 17, EM_KEY_BYTES, 0), EM_ERR_RANGE,
		      "keys[1]: 17 bytes at offset 0 reach past the end of the record of 16 bytes");
	check_bad_key(16, key_of(UINT64_MAX, 0, EM_KEY_U8, 0), EM_ERR_RANGE,
		      "keys[1]: 1 bytes at offset 18446744073709551615 reach past the end of the record of 16 bytes");
	check_bad_key(16, key_of(8, UINT64_MAX, EM_KEY_BYTES, 0), EM_ERR_RANGE,
		      "keys[1]: 18446744073709551615 bytes at offset 8 reach past the end of the record of 16 bytes");
	check_bad_key(1, key_of(UINT64_MAX - 6, 7, EM_KEY_BYTES, 0), EM_ERR_RANGE,
		      "keys[1]: 7 bytes at offset 18446744073709551609 reach past the end of the record of 1 bytes");
}

static void test_bad_arguments(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U8, 0, { 0 } };
	char text[128];
	em_errinfo err;

	(void)state;
	memset(&err, 0xff, sizeof(err));
	assert_int_equal(em_order_keys(NULL, &key_ctx, 8, &key, 1, &err), EM_ERR_INVAL);
	assert_string_equal(err.text, "order: out is NULL");
	check_refused(NULL, 8, &key, 1, EM_ERR_INVAL, "order: ctx is NULL");
	check_refused(&key_ctx, 0, &key, 1, EM_ERR_INVAL, "order: record size is 0");
	check_refused(&key_ctx, 0, NULL, 0, EM_ERR_INVAL, "order: record size is 0");
	check_refused(&key_ctx, 8, NULL, 1, EM_ERR_INVAL, "order: keys is NULL");
	snprintf(text, sizeof(text), "order: a record of %" PRIu64 " bytes does not fit in memory", UINT64_MAX);
	check_refused(&key_ctx, UINT64_MAX, NULL, 0, EM_ERR_RANGE, text);
	snprintf(text, sizeof(text), "order: a record of %" PRIu64 " bytes does not fit in memory",
		 (uint64_t)(SIZE_MAX / 2) + 1);
	check_refused(&key_ctx, (uint64_t)(SIZE_MAX / 2) + 1, NULL, 0, EM_ERR_RANGE, text);
}

static int by_first_byte(const void *a, const void *b, void *user)
{
	(void)user;
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

static void count_free(void *user)
{
	++*(unsigned *)user;
}

static void test_function_orders(void **state)
{
	const unsigned char a[2] = { 1, 9 }, b[2] = { 200, 0 };
	unsigned freed = 0;
	char name[] = "mine";
	em_order *o = NULL;

	(void)state;
	assert_int_equal(em_order_cmp(&o, &key_ctx, 2, name, by_first_byte, 0, &freed, count_free, NULL), EM_OK);
	name[0] = 'x';
	assert_string_equal(em_order_name(o), "mine");
	assert_true(em_order_record_size(o) == 2);
	assert_true(emi_order_on_caller(o));
	assert_int_equal(em_order_compare(o, a, b), -1);
	assert_int_equal(em_order_compare(o, b, a), 1);
	assert_int_equal(em_order_compare(o, a, a), 0);
	assert_int_equal(freed, 0);
	em_order_close(o);
	assert_int_equal(freed, 1);
	assert_int_equal(em_order_cmp(&o, &key_ctx, 2, NULL, by_first_byte, EM_FN_THREADS, &freed, NULL, NULL), EM_OK);
	assert_string_equal(em_order_name(o), "");
	assert_false(emi_order_on_caller(o));
	em_order_close(o);
	assert_int_equal(freed, 1);
}

static void check_refused_function(em_order **out, em_ctx *c, uint64_t record_size, em_cmp_fn cmp, uint32_t flags,
				   em_status status, const char *text)
{
	unsigned freed = 0;
	em_errinfo err;

	memset(&err, 0xff, sizeof(err));
	if (out != NULL)
		*out = (em_order *)&key_ctx;
	assert_int_equal(em_order_cmp(out, c, record_size, "x", cmp, flags, &freed, count_free, &err), status);
	if (out != NULL)
		assert_null(*out);
	assert_string_equal(err.text, text);
	assert_int_equal(err.status, status);
	assert_int_equal(freed, 1);
	assert_int_equal(em_order_cmp(out, c, record_size, "x", cmp, flags, &freed, NULL, NULL), status);
	assert_int_equal(freed, 1);
	model_ctx_assert_clean(&key_ctx);
}

static void test_bad_functions(void **state)
{
	em_order *o;
	char text[128];

	(void)state;
	check_refused_function(NULL, &key_ctx, 2, by_first_byte, 0, EM_ERR_INVAL, "order: out is NULL");
	check_refused_function(&o, NULL, 2, by_first_byte, 0, EM_ERR_INVAL, "order: ctx is NULL");
	check_refused_function(&o, &key_ctx, 0, by_first_byte, 0, EM_ERR_INVAL, "order: record size is 0");
	check_refused_function(&o, &key_ctx, 2, NULL, 0, EM_ERR_INVAL, "order: cmp is NULL");
	check_refused_function(&o, &key_ctx, 2, by_first_byte, EM_FN_THREADS | 6, EM_ERR_INVAL,
			       "order: unknown flags 0x6");
	snprintf(text, sizeof(text), "order: a record of %" PRIu64 " bytes does not fit in memory", UINT64_MAX);
	check_refused_function(&o, &key_ctx, UINT64_MAX, by_first_byte, 0, EM_ERR_RANGE, text);
}

/* What a function that computes keys was asked, and what it is to say. */
typedef struct asked {
	unsigned freed, calls, records;
	int fails;
} asked;

static int first_bytes(const void *records, size_t n, uint64_t *keys, void *user)
{
	asked *a = user;
	size_t i;

	a->calls++;
	a->records += (unsigned)n;
	for (i = 0; i < n; i++)
		keys[i] = ((const unsigned char *)records)[3 * i];
	return a->fails;
}

static void count_asked_free(void *user)
{
	((asked *)user)->freed++;
}

/* Record i of those below. */
static void make_record(unsigned char *record, unsigned i)
{
	record[0] = (unsigned char)(i * 7);
	record[1] = (unsigned char)(i >> 8);
	record[2] = (unsigned char)i;
}

static void test_key_functions(void **state)
{
	enum { N = 1500 };
	unsigned char records[3 * N], record[3];
	emi_pair elems[N];
	asked a = { 0, 0, 0, 0 };
	em_order *o = NULL;
	unsigned i;

	(void)state;
	for (i = 0; i < N; i++)
		make_record(records + 3 * i, i);
	assert_int_equal(em_order_key_fn(&o, &key_ctx, 3, "first", first_bytes, EM_FN_THREADS, &a, count_asked_free,
					 NULL), EM_OK);
	assert_string_equal(em_order_name(o), "first");
	assert_true(em_order_record_size(o) == 3);
	assert_false(emi_order_on_caller(o));
	assert_int_equal(em_order_compare(o, records, records + 3), -1);
	assert_int_equal(em_order_compare(o, records + 3, records), 1);
	assert_int_equal(em_order_compare(o, records + 3, records + 3 + 3 * 256), 0);
	assert_int_equal(a.records, 6);
	/* Many at a time, each once; and back. */
	a.calls = a.records = 0;
	emi_order_codec(o)->load(o, records, N, elems);
	assert_int_equal(a.records, N);
	assert_in_range(a.calls, 1, N / 100);
	for (i = 0; i < N; i++)
		assert_true(elems[i].key == records[3 * i]);
	emi_order_codec(o)->load(o, records, 0, elems);
	assert_int_equal(a.records, N);
	memset(records, 0, sizeof(records));
	emi_order_codec(o)->store(o, elems, N, records);
	for (i = 0; i < N; i++) {
		make_record(record, i);
		assert_memory_equal(records + 3 * i, record, 3);
	}
	/* Failures are counted, and what has no key has 0. */
	assert_int_equal(emi_order_key_failures(o), 0);
	a.fails = 1;
	assert_int_equal(em_order_compare(o, records, records + 3), 0);
	assert_int_equal(emi_order_key_failures(o), 2);
	assert_int_equal(a.freed, 0);
	em_order_close(o);
	assert_int_equal(a.freed, 1);
	/* Without the flag only the caller's thread asks. */
	assert_int_equal(em_order_key_fn(&o, &key_ctx, 3, NULL, first_bytes, 0, &a, NULL, NULL), EM_OK);
	assert_true(emi_order_on_caller(o));
	assert_string_equal(em_order_name(o), "");
	em_order_close(o);
	assert_int_equal(a.freed, 1);
	model_ctx_assert_clean(&key_ctx);
}

static void check_refused_key_function(em_order **out, em_ctx *c, uint64_t record_size, em_key_fn fn, uint32_t flags,
				       em_status status, const char *text)
{
	asked a = { 0, 0, 0, 0 };
	em_errinfo err;

	memset(&err, 0xff, sizeof(err));
	if (out != NULL)
		*out = (em_order *)&key_ctx;
	assert_int_equal(em_order_key_fn(out, c, record_size, "x", fn, flags, &a, count_asked_free, &err), status);
	if (out != NULL)
		assert_null(*out);
	assert_string_equal(err.text, text);
	assert_int_equal(err.status, status);
	assert_int_equal(a.freed, 1);
	assert_int_equal(em_order_key_fn(out, c, record_size, "x", fn, flags, &a, NULL, NULL), status);
	assert_int_equal(a.freed, 1);
	assert_int_equal(a.calls, 0);
	model_ctx_assert_clean(&key_ctx);
}

static void test_bad_key_functions(void **state)
{
	char text[128];
	em_order *o;

	(void)state;
	check_refused_key_function(NULL, &key_ctx, 3, first_bytes, 0, EM_ERR_INVAL, "order: out is NULL");
	check_refused_key_function(&o, NULL, 3, first_bytes, 0, EM_ERR_INVAL, "order: ctx is NULL");
	check_refused_key_function(&o, &key_ctx, 0, first_bytes, 0, EM_ERR_INVAL, "order: record size is 0");
	check_refused_key_function(&o, &key_ctx, 3, NULL, 0, EM_ERR_INVAL, "order: fn is NULL");
	check_refused_key_function(&o, &key_ctx, 3, first_bytes, 6, EM_ERR_INVAL, "order: unknown flags 0x6");
	snprintf(text, sizeof(text), "order: a record of %" PRIu64 " bytes does not fit in memory", UINT64_MAX);
	check_refused_key_function(&o, &key_ctx, UINT64_MAX, first_bytes, 0, EM_ERR_RANGE, text);
}

static void test_references(void **state)
{
	unsigned freed = 0;
	em_order *o = NULL;

	(void)state;
	em_order_close(NULL);
	assert_int_equal(em_order_cmp(&o, &key_ctx, 2, "kept", by_first_byte, 0, &freed, count_free, NULL), EM_OK);
	assert_int_equal(key_ctx.refs, 2);
	emi_order_ref(o);
	emi_order_ref(o);
	em_order_close(o);
	em_order_close(o);
	assert_int_equal(freed, 0);
	assert_string_equal(em_order_name(o), "kept");
	em_order_close(o);
	assert_int_equal(freed, 1);
	model_ctx_assert_clean(&key_ctx);
}

/* A child of the process that made the context makes no orders, and closes the ones it has. */
static void test_fork(void **state)
{
	const em_key key = { 0, 0, EM_KEY_U8, 0, { 0 } };
	em_order *o = model_order(&key_ctx, 1, &key, 1);
	em_order *other = o;
	unsigned freed = 0;
	em_errinfo err;

	(void)state;
	key_ctx.pid++;
	assert_int_equal(em_order_keys(&other, &key_ctx, 1, &key, 1, &err), EM_ERR_FORK);
	assert_null(other);
	assert_int_equal(err.status, EM_ERR_FORK);
	assert_int_equal(em_order_cmp(&other, &key_ctx, 1, NULL, by_first_byte, 0, &freed, count_free, &err),
			 EM_ERR_FORK);
	assert_int_equal(freed, 1);
	em_order_close(o);
	key_ctx.pid--;
	model_ctx_assert_clean(&key_ctx);
}

static em_status make_keys(em_ctx *c, em_order **out, unsigned *freed, em_errinfo *err)
{
	static const em_key keys[] = { { 0, 0, EM_KEY_U64, 0, { 0 } }, { 8, 20, EM_KEY_BYTES, 0, { 0 } } };

	(void)freed;
	return em_order_keys(out, c, 100, keys, 2, err);
}

static em_status make_cmp(em_ctx *c, em_order **out, unsigned *freed, em_errinfo *err)
{
	return em_order_cmp(out, c, 100, "name", by_first_byte, 0, freed, count_free, err);
}

static em_status make_key_fn(em_ctx *c, em_order **out, unsigned *freed, em_errinfo *err)
{
	return em_order_key_fn(out, c, 100, "name", first_bytes, 0, freed, count_free, err);
}

typedef em_status make_fn(em_ctx *c, em_order **out, unsigned *freed, em_errinfo *err);

/* Fail the first allocation, then the second, ...: so many there are. */
static void sweep(make_fn *make, int frees, uint64_t allocations)
{
	uint64_t n;

	for (n = test_nth_after(0, 1);; n = test_nth_after(n, 1)) {
		unsigned freed = 0;
		em_errinfo err = { 0 };
		em_order *o = NULL;
		test_memory mem;
		em_status status;
		em_ctx c;

		test_memory_init(&mem, n);
		model_ctx(&c, &mem.allocator);
		status = make(&c, &o, &freed, &err);
		if (!test_memory_failed(&mem)) {
			assert_int_equal(status, EM_OK);
			em_order_close(o);
		} else {
			assert_int_equal(status, EM_ERR_NOMEM);
			assert_int_equal(err.status, EM_ERR_NOMEM);
			assert_true(err.text[0] != '\0');
			assert_null(o);
		}
		if (frees)
			assert_int_equal(freed, 1);
		model_ctx_assert_clean(&c);
		test_memory_assert_clean(&mem);
		if (!test_memory_failed(&mem))
			break;
	}
	assert_true(n == allocations + 1 || !test_sweeps());
}

static void test_allocations_fail(void **state)
{
	(void)state;
	sweep(make_keys, 0, 2);
	sweep(make_cmp, 1, 2);
	sweep(make_key_fn, 1, 2);
}

/* The budget ends at every byte. */
static void check_budget(make_fn *make, int frees)
{
	uint64_t memory;
	em_status status = EM_ERR_MEMLIMIT;

	for (memory = 0; status != EM_OK; memory++) {
		unsigned freed = 0;
		em_errinfo err = { 0 };
		em_order *o = NULL;
		em_ctx c;

		model_ctx(&c, NULL);
		c.memory = memory;
		status = make(&c, &o, &freed, &err);
		if (status != EM_OK) {
			assert_int_equal(status, EM_ERR_MEMLIMIT);
			assert_int_equal(err.status, EM_ERR_MEMLIMIT);
			assert_true(err.bytes > memory);
			assert_null(o);
			assert_int_equal(make(&c, &o, &freed, NULL), EM_ERR_MEMLIMIT);
			if (frees)
				assert_int_equal(freed, 2);
		}
		em_order_close(o);
		model_ctx_assert_clean(&c);
		assert_true(memory < 100000);
	}
	assert_true(memory > 100);
}

static void test_budget(void **state)
{
	(void)state;
	check_budget(make_keys, 0);
	check_budget(make_cmp, 1);
	check_budget(make_key_fn, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_large_records),
		cmocka_unit_test(test_many_fields),
		cmocka_unit_test(test_bad_keys),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_function_orders),
		cmocka_unit_test(test_bad_functions),
		cmocka_unit_test(test_key_functions),
		cmocka_unit_test(test_bad_key_functions),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests_name("key/order", tests, key_setup, key_teardown);
}
