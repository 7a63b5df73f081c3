/* SPDX-License-Identifier: BSL-1.0 */
/*
 * test_vary.c -- frames: lengths of every width, making them in any room, and strings against a model that is a list
 * of numbers, one for each byte and one for the end.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/test.h"
#include "key/vary.h"

#define KEYS_MAX 3
#define SLACK 8u                /* bytes behind a frame that may be read */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What strings are made of, with the keys themselves. */
typedef struct strings_of {
	emi_vary v;
	emi_text *text;
} strings_of;

/* A record as a frame, and its string as numbers that compare one by one. */
typedef struct item {
	unsigned char *mem;     /* the frame, somewhere in there */
	emi_frame f;
	size_t n;               /* numbers, the end's not counted */
	int *number;
} item;

static const char *const specs[][KEYS_MAX] = {
	{ NULL, NULL, NULL }, { "1", NULL, NULL }, { "2", NULL, NULL }, { "1,1n", NULL, NULL },
	{ "2,2r", "1,1n", NULL }, { "1.2,1.3", "2,2nr", "1,1V" },
};

static void set_up(strings_of *s, size_t which, uint32_t flags)
{
	uint32_t n = 0;

	memset(s, 0, sizeof(*s));
	s->text = calloc(1, sizeof(emi_text) + KEYS_MAX * sizeof(em_text_key));
	assert_non_null(s->text);
	for (; n < KEYS_MAX && specs[which][n] != NULL; n++)
		assert_int_equal(em_text_key_parse(&s->text->key[n], NULL, specs[which][n], NULL), EM_OK);
	s->text->n = n;
	s->text->separator = EM_TEXT_BLANKS;
	s->text->flags = flags;
	s->v.text = n != 0 ? s->text : NULL;
	s->v.keyed = n != 0;
	s->v.line = (flags & EM_TEXT_KEYS_ONLY) == 0;
	s->v.reverse = (flags & EM_TEXT_LAST_REVERSE) != 0;
}

static void tear_down(strings_of *s)
{
	free(s->text);
}

static void *need(size_t bytes)
{
	void *p = malloc(bytes != 0 ? bytes : 1);

	assert_non_null(p);
	return p;
}

static void item_make(item *it, test_rng *rng, const strings_of *s, const unsigned char *record, size_t n)
{
	const size_t at = (size_t)test_below(rng, 9);
	size_t bytes, i;

	assert_true(emi_frame_make(&s->v, record, n, NULL, 0, &bytes) == 0);
	it->mem = need(at + bytes + SLACK);
	/* What lies behind a frame is anything. */
	test_fill(rng, it->mem, at + bytes + SLACK);
	assert_true(emi_frame_make(&s->v, record, n, it->mem + at, bytes, NULL) == bytes);
	it->f = emi_frame_get(&s->v, it->mem + at);
	it->n = (size_t)it->f.key_bytes + (s->v.line ? n : 0);
	it->number = need((it->n + 1) * sizeof(int));
	for (i = 0; i < it->n; i++) {
		it->number[i] = it->f.string[i];
		if (i >= it->f.key_bytes && s->v.reverse)
			it->number[i] = 255 - it->number[i];
	}
	it->number[it->n] = s->v.reverse ? 256 : -1;
}

static void item_free(item *it)
{
	free(it->mem);
	free(it->number);
}

static size_t model_common(const item *a, const item *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && a->f.string[i] == b->f.string[i])
		i++;
	return i;
}

static int model_compare(const item *a, const item *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && a->number[i] == b->number[i])
		i++;
	return (a->number[i] > b->number[i]) - (a->number[i] < b->number[i]);
}

static uint64_t model_key(const strings_of *s, const item *a, size_t depth)
{
	uint64_t x = 0;
	size_t i;

	for (i = depth; i < depth + 8; i++)
		x = x << 8 | (unsigned)(i < a->n ? a->number[i] : s->v.reverse ? 255 : 0);
	return x;
}

/* Lengths around which their width changes, and large ones. */
static void test_lengths(void **state)
{
	static const struct {
		uint64_t n;
		size_t bytes;
	} table[] = {
		{ 0, 1 }, { 1, 1 }, { 127, 1 }, { 252, 1 }, { 253, 1 }, { 254, 3 }, { 255, 3 }, { 256, 3 },
		{ 65534, 3 }, { 65535, 3 }, { 65536, 9 }, { 65537, 9 }, { UINT32_MAX, 9 },
		{ (uint64_t)UINT32_MAX + 1, 9 }, { (uint64_t)0x0123456789abcdef, 9 }, { UINT64_MAX - 1, 9 },
		{ UINT64_MAX, 9 },
	};
	size_t i, k;

	(void)state;
	for (i = 0; i < COUNT(table); i++) {
		unsigned char mem[EMI_LENGTH_MAX + 2];
		uint64_t n = ~table[i].n;

		memset(mem, 0xa5, sizeof(mem));
		assert_true(emi_length_bytes(table[i].n) == table[i].bytes);
		assert_ptr_equal(emi_length_put(mem + 1, table[i].n), mem + 1 + table[i].bytes);
		assert_int_equal(mem[0], 0xa5);
		for (k = 1 + table[i].bytes; k < sizeof(mem); k++)
			assert_int_equal(mem[k], 0xa5);
		assert_ptr_equal(emi_length_get(mem + 1, &n), mem + 1 + table[i].bytes);
		assert_true(n == table[i].n);
	}
}

/* A frame is where it fits, whole, and nowhere else; the memory is just the room there is. */
static void check_rooms(const strings_of *s, const unsigned char *record, size_t n, size_t from)
{
	const size_t nkey = s->v.keyed ? emi_text_key(s->text, record, n, NULL, 0) : 0;
	const size_t all = emi_length_bytes(n) + (s->v.keyed ? emi_length_bytes(nkey) + nkey : 0) + n;
	unsigned char *key = need(nkey);
	size_t room, bytes;

	/* What is said to fit does. */
	assert_true(n == 0 || emi_frame_sure(&s->v, all - 1) < n);
	if (s->v.keyed)
		assert_true(emi_text_key(s->text, record, n, key, nkey) == nkey);
	for (room = from; room <= all + 3; room++) {
		unsigned char *out = need(room);
		emi_frame f;

		bytes = ~(size_t)0;
		assert_true(emi_frame_make(&s->v, record, n, out, room, &bytes) == (room < all ? 0 : all));
		assert_true(bytes == all);
		assert_true(emi_frame_make(&s->v, record, n, out, room, NULL) == (room < all ? 0 : all));
		if (room >= all) {
			f = emi_frame_get(&s->v, out);
			assert_true(f.bytes == n && f.key_bytes == nkey);
			assert_memory_equal(f.string, key, nkey);
			assert_memory_equal(emi_frame_record(&f), record, n);
			assert_ptr_equal(emi_frame_end(&f), out + all);
			assert_true(emi_string_bytes(&s->v, &f) == nkey + (s->v.line ? n : 0));
		}
		free(out);
	}
	free(key);
}

static void test_make(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 20, 120, 252, 253, 254, 255, 600 };
	static const size_t large[] = { 65530, 65534, 65535, 65536, 70000 };
	test_rng rng = test_rng_make(test_seed());
	unsigned char *record = need(70000);
	size_t which, i, k, all;

	(void)state;
	for (which = 0; which < COUNT(specs); which++) {
		for (k = 0; k < 2; k++) {
			strings_of s;

			set_up(&s, which, k != 0 && which != 0 ? EM_TEXT_KEYS_ONLY : 0);
			for (i = 0; i < COUNT(sizes); i++) {
				size_t at;

				for (at = 0; at < sizes[i]; at++)
					record[at] = (unsigned char)"ab 019.\n"[test_below(&rng, 8)];
				check_rooms(&s, record, sizes[i], 0);
			}
			for (i = 0; i < COUNT(large); i++) {
				memset(record, 'x', large[i]);
				emi_frame_make(&s.v, record, large[i], NULL, 0, &all);
				check_rooms(&s, record, large[i], all - 15);
			}
			tear_down(&s);
		}
	}
	free(record);
}

/* The address of a frame is the value of an element. */
static void test_elements(void **state)
{
	test_rng rng = test_rng_make(test_seed());
	strings_of s;
	emi_pair e;
	emi_frame f;
	size_t bytes;
	unsigned char mem[64];

	(void)state;
	set_up(&s, 1, 0);
	test_fill(&rng, mem, sizeof(mem));
	bytes = emi_frame_make(&s.v, (const unsigned char *)"abc", 3, mem, sizeof(mem), NULL);
	assert_true(bytes > 5);
	e.key = 0;
	e.val = (uintptr_t)mem;
	f = emi_frame_of(&s.v, &e);
	assert_true(f.bytes == 3);
	assert_memory_equal(emi_frame_record(&f), "abc", 3);
	assert_ptr_equal(emi_frame_end(&f), mem + bytes);
	tear_down(&s);
}

static void check_pair(const strings_of *s, const item *a, const item *b)
{
	const size_t common = model_common(a, b);
	const int expected = model_compare(a, b);
	size_t depth;

	for (depth = 0; depth <= common; depth++) {
		const uint64_t ka = emi_string_key(&s->v, &a->f, depth), kb = emi_string_key(&s->v, &b->f, depth);
		const int c = emi_string_compare(&s->v, &a->f, &b->f, depth);

		assert_true(emi_string_common(&s->v, &a->f, &b->f, depth) == common);
		assert_int_equal((c > 0) - (c < 0), expected);
		/* Eight bytes that differ tell, whichever they are. */
		if (ka != kb)
			assert_int_equal(ka < kb ? -1 : 1, expected);
	}
}

static void check_items(const strings_of *s, const item *it, size_t n)
{
	size_t i, j, depth;

	for (i = 0; i < n; i++) {
		assert_true(emi_string_bytes(&s->v, &it[i].f) == it[i].n);
		for (depth = 0; depth < it[i].n + 20; depth++)
			assert_true(emi_string_key(&s->v, &it[i].f, depth) == model_key(s, &it[i], depth));
		for (j = 0; j < n; j++)
			check_pair(s, &it[i], &it[j]);
	}
}

/* Records that differ late, end early, and have zeroes and 255s where they end. */
static void test_strings(void **state)
{
	static const char letters[] = "\0\0\xff\xff" "ab 1.9-\n\t\x01\xfe\x80\x7f";
	enum { N = 24, MOST = 60 };
	test_rng rng = test_rng_make(test_seed());
	unsigned round;

	(void)state;
	for (round = 0; round < 120; round++) {
		static const uint32_t flags[] = {
			0, EM_TEXT_LAST_REVERSE, EM_TEXT_KEYS_ONLY, EM_TEXT_KEYS_ONLY | EM_TEXT_LAST_REVERSE,
		};
		const size_t which = (size_t)test_below(&rng, COUNT(specs));
		const uint64_t variety = 1 + test_below(&rng, sizeof(letters) - 1);
		unsigned char record[MOST];
		strings_of s;
		item it[N];
		size_t i, k;

		set_up(&s, which, flags[test_below(&rng, which != 0 ? 4 : 2)]);
		test_fill(&rng, record, sizeof(record));
		for (i = 0; i < N; i++) {
			const size_t n = (size_t)test_below(&rng, 1 + test_below(&rng, MOST));

			/* Most share a beginning with the record before. */
			for (k = i % 3 != 0 ? (size_t)test_below(&rng, MOST) : 0; k < n; k++)
				record[k] = (unsigned char)letters[test_below(&rng, variety)];
			item_make(&it[i], &rng, &s, record, n);
		}
		check_items(&s, it, N);
		for (i = 0; i < N; i++)
			item_free(&it[i]);
		tear_down(&s);
	}
}

/* Prefixes of one another, made of one byte only, at which the ends lie at all places of eight bytes. */
static void test_prefixes(void **state)
{
	static const unsigned char bytes[] = { 0, 1, 'a', 0xff };
	enum { N = 26 };
	test_rng rng = test_rng_make(test_seed());
	size_t b, i;
	uint32_t reverse, which;

	(void)state;
	for (b = 0; b < sizeof(bytes); b++) {
		for (reverse = 0; reverse < 2; reverse++) {
			for (which = 0; which < 2; which++) {
				unsigned char record[N];
				strings_of s;
				item it[N];

				memset(record, bytes[b], sizeof(record));
				set_up(&s, which, reverse ? EM_TEXT_LAST_REVERSE : 0);
				for (i = 0; i < N; i++)
					item_make(&it[i], &rng, &s, record, i);
				check_items(&s, it, N);
				for (i = 0; i < N; i++)
					item_free(&it[i]);
				tear_down(&s);
			}
		}
	}
}

/* Strings that agree for long, and in lengths of all widths. */
static void test_long(void **state)
{
	static const size_t sizes[] = { 253, 254, 300, 65535, 65536, 100001 };
	test_rng rng = test_rng_make(test_seed());
	unsigned char *record = need(100001);
	uint32_t reverse;
	size_t i, j;

	(void)state;
	memset(record, 'q', 100001);
	for (reverse = 0; reverse < 2; reverse++) {
		strings_of s;
		item it[2 * COUNT(sizes)];

		set_up(&s, 0, reverse ? EM_TEXT_LAST_REVERSE : 0);
		for (i = 0; i < COUNT(sizes); i++) {
			item_make(&it[2 * i], &rng, &s, record, sizes[i]);
			record[sizes[i] - 1] = 'r';
			item_make(&it[2 * i + 1], &rng, &s, record, sizes[i]);
			record[sizes[i] - 1] = 'q';
		}
		for (i = 0; i < COUNT(it); i++) {
			for (j = 0; j < COUNT(it); j++) {
				const size_t common = model_common(&it[i], &it[j]);
				const int c = emi_string_compare(&s.v, &it[i].f, &it[j].f, common / 2);

				assert_true(emi_string_common(&s.v, &it[i].f, &it[j].f, 0) == common);
				assert_true(emi_string_common(&s.v, &it[i].f, &it[j].f, common / 3) == common);
				assert_int_equal((c > 0) - (c < 0), model_compare(&it[i], &it[j]));
				assert_true(emi_string_key(&s.v, &it[i].f, common) == model_key(&s, &it[i], common));
			}
		}
		for (i = 0; i < COUNT(it); i++)
			item_free(&it[i]);
		tear_down(&s);
	}
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("vary", tests, NULL, NULL);
}
