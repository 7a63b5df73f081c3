/* SPDX-License-Identifier: BSL-1.0 */
/* test_flow_lines_join.c -- joins and set operations of records of any length, against models. */
#include <stdio.h>

#include "flow/lines_case.h"

#define MIB ((uint64_t)1 << 20)

enum { FIELDS = 4, SIDE = 120 };

/* A line as fields. */
typedef struct row {
	char *field[FIELDS];
	unsigned n;             /* fields */
	size_t i;               /* which it was made as */
} row;

typedef struct side {
	row row[SIDE];
	size_t n;
	unsigned key;           /* the field that is the key, from 0 */
	lines_model lines;      /* sorted by the key */
	char *path;
} side;

typedef struct join_case {
	flow_case t;
	char *dir;
	side left, right;
	int separator;          /* a byte, or EM_TEXT_BLANKS */
	int32_t kind;           /* of the key: EM_TEXT_BYTES, EM_TEXT_NUMERIC */
	uint32_t flags;         /* of the key */
	em_order *by[2];
} join_case;

static char *text_of(flow_case *t, size_t most, size_t least)
{
	const size_t n = least + (size_t)test_below(&t->rng, most - least + 1);
	char *s = malloc(n + 1);
	size_t i;

	assert_non_null(s);
	for (i = 0; i < n; i++)
		s[i] = (char)('a' + test_below(&t->rng, 3));
	s[n] = '\0';
	return s;
}

static char *random_key(join_case *c, unsigned distinct)
{
	char *s = malloc(32);

	assert_non_null(s);
	/* Numbers are equal whatever zeroes are in front of them. */
	snprintf(s, 32, "%.*s%u", c->kind == EM_TEXT_NUMERIC ? (int)test_below(&c->t.rng, 3) : 0, "000",
		 (unsigned)test_below(&c->t.rng, distinct));
	if (c->separator != EM_TEXT_BLANKS && distinct > 2 && test_below(&c->t.rng, 10) == 0)
		s[0] = '\0';
	return s;
}

static const char *key_of(const side *s, const row *r)
{
	return s->key < r->n ? r->field[s->key] : "";
}

static int compare_keys(const join_case *c, const char *a, const char *b)
{
	const int reverse = (c->flags & EM_TEXT_REVERSE) != 0 ? -1 : 1;
	const long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);

	if (c->kind == EM_TEXT_NUMERIC)
		return reverse * ((x > y) - (x < y));
	return reverse * strcmp(a, b);
}

static const join_case *sorted_case;
static const side *sorted_side;

static int by_key(const void *a, const void *b)
{
	const row *x = a, *y = b;
	const int c = compare_keys(sorted_case, key_of(sorted_side, x), key_of(sorted_side, y));

	return c != 0 ? c : (x->i > y->i) - (x->i < y->i);
}

static void put(char *to, size_t *at, const char *s)
{
	memcpy(to + *at, s, strlen(s));
	*at += strlen(s);
}

/* The line of a row, with blanks anywhere between fields if these separate. */
static void add_row(join_case *c, lines_model *m, const row *r)
{
	static char line[FIELDS * 40000];
	const char one[2] = { (char)c->separator, '\0' };
	size_t at = 0;
	unsigned i;

	for (i = 0; i < r->n; i++) {
		if (c->separator == EM_TEXT_BLANKS)
			put(line, &at,
			    i != 0 || test_below(&c->t.rng, 4) == 0 ? &"\t  "[test_below(&c->t.rng, 3)] : "");
		else
			put(line, &at, i != 0 ? one : "");
		put(line, &at, r->field[i]);
	}
	lines_add(m, line, at);
}

static void make_side(join_case *c, side *s, size_t n, unsigned distinct, size_t longest, const char *name)
{
	size_t i;
	unsigned k;

	s->n = n;
	s->key = (unsigned)test_below(&c->t.rng, 3);
	s->path = test_path(c->dir, name);
	for (i = 0; i < n; i++) {
		row *r = &s->row[i];
		const int blanks = c->separator == EM_TEXT_BLANKS;

		/* With a separator even an empty line has a field, which is empty. */
		r->n = (unsigned)test_below(&c->t.rng, FIELDS) + !blanks;
		r->i = i;
		for (k = 0; k < r->n; k++)
			r->field[k] = k == s->key ? random_key(c, distinct) :
				      text_of(&c->t, test_below(&c->t.rng, 15) == 0 ? longest : 5, (size_t)blanks);
		if (r->n == 1 && s->key != 0 && test_below(&c->t.rng, 2) == 0)
			r->field[0][blanks] = '\0';
	}
	sorted_case = c;
	sorted_side = s;
	qsort(s->row, n, sizeof *s->row, by_key);
	for (i = 0; i < n; i++)
		add_row(c, &s->lines, &s->row[i]);
	lines_write(s->path, &s->lines, 0, 1);
}

static em_order *order_of(join_case *c, const side *s)
{
	em_text_key key = EM_TEXT_KEY_INIT;
	em_text_opts o = EM_TEXT_OPTS_INIT;
	em_order *order;

	key.first_field = key.last_field = s->key + 1u;
	key.kind = c->kind;
	key.flags = c->flags | (c->separator == EM_TEXT_BLANKS ? EM_TEXT_SKIP_START : 0);
	o.separator = (uint32_t)c->separator;
	o.flags = test_below(&c->t.rng, 2) == 0 ? EM_TEXT_KEYS_ONLY : 0;
	assert_int_equal(em_order_text(&order, c->t.ctx, &key, 1, &o, NULL), EM_OK);
	return order;
}

static void join_open(join_case *c, size_t left, size_t right, unsigned distinct, size_t longest)
{
	memset(c, 0, sizeof *c);
	flow_open(&c->t, 32 * MIB, 0);
	c->dir = test_dir_make();
	c->separator = test_below(&c->t.rng, 2) == 0 ? ':' : EM_TEXT_BLANKS;
	c->kind = test_below(&c->t.rng, 2) == 0 ? EM_TEXT_BYTES : EM_TEXT_NUMERIC;
	c->flags = test_below(&c->t.rng, 3) == 0 ? EM_TEXT_REVERSE : 0;
	make_side(c, &c->left, left, distinct, longest, "left");
	make_side(c, &c->right, right, distinct, longest, "right");
	c->by[0] = order_of(c, &c->left);
	c->by[1] = order_of(c, &c->right);
}

static void free_side(side *s)
{
	size_t i;
	unsigned k;

	for (i = 0; i < s->n; i++)
		for (k = 0; k < s->row[i].n; k++)
			free(s->row[i].field[k]);
	lines_free(&s->lines);
	free(s->path);
}

static void join_close(join_case *c)
{
	free_side(&c->left);
	free_side(&c->right);
	em_order_close(c->by[0]);
	em_order_close(c->by[1]);
	test_dir_remove(c->dir);
	flow_close(&c->t);
}

static em_stream *open_side(join_case *c, const side *s)
{
	const char *path = s->path;
	em_stream *in;

	assert_int_equal(em_stream_lines(&in, c->t.ctx, &path, 1, NULL, &c->t.err), EM_OK);
	if (test_below(&c->t.rng, 2) == 0)
		assert_int_equal(em_stream_batch(in, 1 + test_below(&c->t.rng, 30)), EM_OK);
	return in;
}

static void rest_of(char *line, size_t *at, const side *s, const row *r, char separator)
{
	unsigned k;

	for (k = 0; r != NULL && k < r->n; k++) {
		if (k == s->key)
			continue;
		line[(*at)++] = separator;
		put(line, at, r->field[k]);
	}
}

/* As the utility join has it. */
static void expect_pair(join_case *c, lines_model *want, uint32_t kind, const row *l, const row *r, char separator)
{
	static char line[2 * FIELDS * 40000];
	size_t at = 0, bytes;

	if (kind == EM_JOIN_SEMI || kind == EM_JOIN_ANTI) {
		const char *text = lines_at(&c->left.lines, (size_t)(l - c->left.row), &bytes);

		lines_add(want, text, bytes);
		return;
	}
	put(line, &at, l != NULL ? key_of(&c->left, l) : key_of(&c->right, r));
	rest_of(line, &at, &c->left, l, separator);
	rest_of(line, &at, &c->right, r, separator);
	lines_add(want, line, at);
}

/* Nested loops. */
static void expect(join_case *c, lines_model *want, uint32_t kind, char separator)
{
	const side *a = &c->left, *b = &c->right;
	size_t i = 0, k = 0, m, l, x, y;

	memset(want, 0, sizeof *want);
	while (i < a->n || k < b->n) {
		const char *in_a = i < a->n ? key_of(a, &a->row[i]) : NULL;
		const char *in_b = k < b->n ? key_of(b, &b->row[k]) : NULL;
		const char *key = in_a == NULL || (in_b != NULL && compare_keys(c, in_b, in_a) < 0) ? in_b : in_a;

		for (m = 0; i + m < a->n && compare_keys(c, key_of(a, &a->row[i + m]), key) == 0; m++)
			continue;
		for (l = 0; k + l < b->n && compare_keys(c, key_of(b, &b->row[k + l]), key) == 0; l++)
			continue;
		for (x = 0; x < m; x++) {
			const row *left = &a->row[i + x];

			if (kind == EM_JOIN_SEMI ? l != 0 : l == 0 && kind != EM_JOIN_INNER)
				expect_pair(c, want, kind, left, NULL, separator);
			for (y = 0; y < l && kind <= EM_JOIN_FULL; y++)
				expect_pair(c, want, kind, left, &b->row[k + y], separator);
		}
		for (y = 0; y < l && m == 0 && kind == EM_JOIN_FULL; y++)
			expect_pair(c, want, kind, NULL, &b->row[k + y], separator);
		i += m;
		k += l;
	}
}

/* Every kind of join, with few keys and many, long lines, and any batches. */
static void test_joins(void **unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < 200; i += test_step()) {
		static const unsigned distinct[] = { 1, 2, 20, 1000 };
		em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
		char separator;
		lines_model want;
		em_stream *s;
		join_case c;

		join_open(&c, (size_t)((i + i / 20) % 7 == 0 ? 0 : 1 + i % SIDE),
			  (size_t)(i % 11 == 0 ? 0 : 1 + (i * 7) % SIDE), distinct[i / 5 % 4], i % 3 == 0 ? 30000 : 8);
		o.kind = i % 5;
		o.left = c.by[0];
		o.right = c.by[1];
		separator = c.separator == EM_TEXT_BLANKS ? ' ' : (char)c.separator;
		if (i % 4 == 0) {
			separator = '\0';
			o.separator = 0;
		}
		assert_int_equal(em_stream_lines_join(&s, open_side(&c, &c.left), open_side(&c, &c.right), &o,
						      &c.t.err),
				 EM_OK);
		assert_int_equal(em_stream_record_bytes(s), 0);
		assert_true(em_stream_count(s) == EM_STREAM_UNKNOWN);
		if (i % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 600)), EM_OK);
		expect(&c, &want, o.kind, separator);
		lines_assert(&c.t, s, &want);
		lines_free(&want);
		join_close(&c);
	}
}

/* Of several keys, of keys of several fields, and of all of a line, by examples. */
static void test_fields(void **unused)
{
	static const char *const cases[][6] = {
		/* left and right keys, separator, lines, what comes */
		{ "2,3", "1,2", ",", "a,k,l,b|c,m,n", "k,l,x|k,z,y", "k,l,a,b,x" },
		{ "1", "1", ",", "a,b", "a,b", "a,b" },
		{ "", "", ",", "a,b|c", "a,b|d", "a,b" },
		{ "3,3 1,1", "1,1 2,2", ",", "p,q,r", "r,p,s", "r,p,q,s" },
		{ "2b,2", "1b,1", "", "  a   b  c ", "b d", "b a c d" },
		{ "4,4 1,1", "1,1 2,2", ",", "a,b", ",a,c", ",a,b,c" },
		{ "1,2 2,2", "1,2 2,2", ",", "a,b,x", "a,b,y", "a,b,x,y" },
	};
	unsigned i, k;

	(void)unused;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
		em_order *by[2];
		em_stream *in[2], *s;
		lines_model want = { 0 };
		flow_case t;
		char *dir = test_dir_make();

		flow_open(&t, 32 * MIB, 0);
		for (k = 0; k < 2; k++) {
			em_text_opts text = EM_TEXT_OPTS_INIT;
			em_text_key key[2];
			lines_model m = { 0 };
			char *path = test_path(dir, k == 0 ? "a" : "b"), spec[20], *second;
			const char *line = cases[i][3 + k], *file = path;
			uint32_t n = cases[i][k][0] != '\0';

			strcpy(spec, cases[i][k]);
			second = strchr(spec, ' ');
			if (second != NULL)
				*second++ = '\0';
			if (n != 0)
				assert_int_equal(em_text_key_parse(&key[0], NULL, spec, NULL), EM_OK);
			if (second != NULL)
				assert_int_equal(em_text_key_parse(&key[n++], NULL, second, NULL), EM_OK);
			if (cases[i][2][0] != '\0')
				text.separator = (unsigned char)cases[i][2][0];
			assert_int_equal(em_order_text(&by[k], t.ctx, key, n, &text, NULL), EM_OK);
			for (; line != NULL; line = strchr(line, '|') != NULL ? strchr(line, '|') + 1 : NULL)
				lines_add(&m, line, strcspn(line, "|"));
			lines_write(path, &m, 0, 1);
			lines_free(&m);
			assert_int_equal(em_stream_lines(&in[k], t.ctx, &file, 1, NULL, &t.err), EM_OK);
			free(path);
		}
		o.left = by[0];
		o.right = by[1];
		assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &t.err), EM_OK);
		lines_add(&want, cases[i][5], strlen(cases[i][5]));
		lines_assert(&t, s, &want);
		lines_free(&want);
		em_order_close(by[0]);
		em_order_close(by[1]);
		test_dir_remove(dir);
		flow_close(&t);
	}
}

typedef struct joiner {
	uint64_t calls, fail_at;
	int freed;
} joiner;

static int brackets(void *user, const void *left, size_t left_bytes, const void *right, size_t right_bytes,
		    em_line *line)
{
	joiner *j = user;

	assert_true(left != NULL || left_bytes == 0);
	assert_true(left != NULL || right != NULL);
	if (++j->calls == j->fail_at)
		return 5;
	if (em_line_put(line, "<", 1) != EM_OK || em_line_put(line, left, left_bytes) != EM_OK ||
	    em_line_put(line, left == NULL ? "!" : NULL, left == NULL) != EM_OK)
		return 6;
	assert_int_equal(em_line_put(line, NULL, 1), EM_ERR_INVAL);
	/* What a node cannot have memory for it says itself. */
	(void)!em_line_put(line, right, right_bytes);
	return 0;
}

static void free_joiner(void *user)
{
	((joiner *)user)->freed++;
}

static void expect_brackets(join_case *c, lines_model *want)
{
	const side *a = &c->left, *b = &c->right;
	char *line = malloc(a->lines.bytes + b->lines.bytes + 2);
	size_t i, k, na, nb;

	assert_non_null(line);
	memset(want, 0, sizeof *want);
	/* All keys are equal. */
	for (i = 0; i < a->n; i++) {
		const char *left = lines_at(&a->lines, i, &na);

		for (k = 0; k < b->n; k++) {
			const char *right = lines_at(&b->lines, k, &nb);

			line[0] = '<';
			memcpy(line + 1, left, na);
			memcpy(line + 1 + na, right, nb);
			lines_add(want, line, 1 + na + nb);
		}
	}
	free(line);
}

/* A function makes lines, of parts of fields; it fails, or memory does. */
static void test_function(void **unused)
{
	uint64_t nth = 1 + test_first_of(test_sparse());
	int failed = 1;
	unsigned i;

	(void)unused;
	for (i = 0; i < 8; i++) {
		em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
		joiner j = { 0, 0, 0 };
		em_text_key key = EM_TEXT_KEY_INIT;
		lines_model want, got;
		em_order *order;
		em_errinfo err;
		em_stream *s, *in[2];
		em_status st;
		join_case c;

		join_open(&c, 30, 40, 1, 10000);
		/* The tenth field is empty everywhere. */
		key.first_field = key.last_field = 10;
		key.last_char = 3;
		assert_int_equal(em_order_text(&order, c.t.ctx, &key, 1, NULL, NULL), EM_OK);
		o.left = order;
		in[0] = open_side(&c, &c.left);
		in[1] = open_side(&c, &c.right);
		s = in[0];
		assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
		assert_non_null(strstr(c.t.err.text, "part of a field"));
		assert_ptr_equal(s, in[0]);
		o.fn = brackets;
		o.user = &j;
		o.user_free = free_joiner;
		o.kind = i % 3;
		j.fail_at = i < 4 ? 0 : 1 + test_below(&c.t.rng, 1500);
		assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_OK);
		if (i % 2 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 100)), EM_OK);
		expect_brackets(&c, &want);
		st = lines_drain(&c.t, s, &got, SIZE_MAX);
		if (j.fail_at != 0 && j.fail_at <= 1200) {
			assert_int_equal(st, EM_ERR_USER);
			em_stream_error(s, &err);
			assert_non_null(strstr(err.text, "joins records returned 5"));
			assert_true(got.n < j.fail_at);
		} else {
			assert_int_equal(st, EM_END);
			lines_assert_same(&got, &want);
		}
		assert_int_equal(j.freed, 0);
		em_stream_close(s);
		assert_int_equal(j.freed, 1);
		lines_free(&want);
		lines_free(&got);
		em_order_close(order);
		join_close(&c);
	}
	for (; failed; nth += test_sparse()) {
		em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
		joiner j = { 0, 0, 0 };
		lines_model want = { 0 }, got = { 0 };
		em_stream *s, *in[2];
		em_status st;
		join_case c;

		join_open(&c, 20, 30, 1, 20000);
		o.left = c.by[0];
		o.right = c.by[1];
		if (nth % 2 == 0) {
			o.fn = brackets;
			o.user = &j;
			o.user_free = free_joiner;
		} else {
			expect(&c, &want, o.kind, c.separator == EM_TEXT_BLANKS ? ' ' : ':');
		}
		in[0] = open_side(&c, &c.left);
		in[1] = open_side(&c, &c.right);
		c.t.mem.fail_at = c.t.mem.calls + nth;
		st = em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err);
		if (st == EM_OK) {
			st = lines_drain(&c.t, s, &got, SIZE_MAX);
		} else {
			em_stream_close(in[0]);
			em_stream_close(in[1]);
		}
		failed = test_memory_failed(&c.t.mem);
		c.t.mem.fail_at = 0;
		assert_true(st == EM_END || (st == EM_ERR_NOMEM && failed));
		if (st == EM_END && o.fn == NULL)
			lines_assert_same(&got, &want);
		em_stream_close(s);
		assert_int_equal(j.freed, o.fn != NULL);
		lines_free(&got);
		lines_free(&want);
		join_close(&c);
	}
}

static int fail_later(void *user, const em_batch *lines)
{
	joiner *j = user;

	j->calls += lines->n;
	return j->calls > j->fail_at ? 9 : 0;
}

/* Inputs that fail behind what there was; memory for one key; graphs that are canceled, or closed half-way. */
static void test_failures(void **unused)
{
	unsigned i;

	(void)unused;
	for (i = 0; i < 40; i += test_step()) {
		em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
		joiner j = { 0, 0, 0 };
		lines_model want, got;
		em_stream *s, *in[2];
		em_errinfo err;
		em_status st;
		size_t k;
		join_case c;

		join_open(&c, 60, 80, i % 2 == 0 ? 2 : 50, 100);
		o.left = c.by[0];
		o.right = c.by[1];
		o.kind = i % 3;
		o.memory_bytes = i % 4 == 3 ? 500 : 0;
		in[0] = open_side(&c, &c.left);
		in[1] = open_side(&c, &c.right);
		if (i % 4 == 1) {
			j.fail_at = test_below(&c.t.rng, 60);
			assert_int_equal(em_stream_lines_inspect(&in[i / 4 % 2], in[i / 4 % 2], fail_later, &j, NULL,
								 NULL),
					 EM_OK);
			assert_int_equal(em_stream_batch(in[i / 4 % 2], 1 + test_below(&c.t.rng, 5)), EM_OK);
		}
		assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_OK);
		if (i % 3 == 0)
			assert_int_equal(em_stream_batch(s, 1 + test_below(&c.t.rng, 20)), EM_OK);
		st = lines_drain(&c.t, s, &got, i % 4 == 2 ? 10 : SIZE_MAX);
		em_stream_error(s, &err);
		expect(&c, &want, o.kind, c.separator == EM_TEXT_BLANKS ? ' ' : ':');
		/* What comes before a failure is right. */
		assert_true(got.n <= want.n);
		for (k = 0; k < got.n; k++)
			assert_int_equal(got.ends[k], want.ends[k]);
		if (got.bytes != 0)
			assert_memory_equal(got.text, want.text, got.bytes);
		if (i % 4 == 1 && st != EM_END)
			assert_int_equal(st, EM_ERR_USER);
		if (i % 4 == 3 && st != EM_END) {
			assert_int_equal(st, EM_ERR_MEMLIMIT);
			assert_non_null(strstr(err.text, "right records with one key"));
			assert_non_null(strstr(err.text, "500 bytes"));
		}
		if (i % 4 == 0)
			assert_int_equal(st, EM_END);
		if (i % 8 == 2) {
			const em_batch *batch;

			em_ctx_cancel(c.t.ctx);
			while ((st = em_stream_next(s, &batch)) == EM_OK)
				continue;
			assert_true(st == EM_ERR_CANCELED || st == EM_END);
		}
		em_stream_close(s);
		lines_free(&want);
		lines_free(&got);
		join_close(&c);
	}
}

/* How often a line is among others, as their order compares them. */
static size_t times(const em_order *order, const lines_model *m, const char *line, size_t bytes)
{
	size_t i, n = 0, length;
	int c;

	for (i = 0; i < m->n; i++) {
		const char *other = lines_at(m, i, &length);

		assert_int_equal(em_text_compare(order, other, length, line, bytes, &c), EM_OK);
		n += c == 0;
	}
	return n;
}

/* Which of the lines with one key come: equal ones of a, then of b. */
static void expect_set(const em_order *order, lines_model *want, const lines_model *a, const lines_model *b,
		       uint32_t operation)
{
	size_t i = 0, k = 0, x, na = 0, nb = 0;

	memset(want, 0, sizeof *want);
	while (i < a->n || k < b->n) {
		const char *in_a = i < a->n ? lines_at(a, i, &na) : NULL, *in_b = k < b->n ? lines_at(b, k, &nb) : NULL;
		size_t m, l, less, bytes;
		int c = in_a == NULL ? 1 : -1;

		if (in_a != NULL && in_b != NULL)
			assert_int_equal(em_text_compare(order, in_a, na, in_b, nb, &c), EM_OK);
		m = c <= 0 ? times(order, a, in_a, na) : 0;
		l = c >= 0 ? times(order, b, in_b, nb) : 0;
		less = m < l ? m : l;
		for (x = 0; x < m; x++)
			if (operation == EM_SET_UNION || (operation == EM_SET_INTERSECTION ? x < less : x >= less)) {
				const char *line = lines_at(a, i + x, &bytes);

				lines_add(want, line, bytes);
			}
		for (x = less; x < l; x++)
			if (operation == EM_SET_UNION || operation == EM_SET_SYMMETRIC) {
				const char *line = lines_at(b, k + x, &bytes);

				lines_add(want, line, bytes);
			}
		i += m;
		k += l;
	}
}

/* Set operations on lines as a whole, and by their first byte; and where allocations fail. */
static void test_sets(void **unused)
{
	unsigned i, k;

	(void)unused;
	for (i = 0; i < 160; i += test_step()) {
		static const size_t count[] = { 0, 1, 60, 150 };
		const uint64_t nth = i % 4 == 3 ? 1 + i / 4 : 0;
		const size_t longest = i % 3 == 0 ? 20000 : 1 + i % 4;
		em_text_key key = EM_TEXT_KEY_INIT;
		em_text_opts first = EM_TEXT_OPTS_INIT;
		em_order *whole, *order;
		em_stream *in[2], *s;
		lines_model m[2], want, got = { 0 };
		flow_case t;
		char *dir = test_dir_make(), *path[2];
		em_status st;

		flow_open(&t, 32 * MIB, 0);
		assert_int_equal(em_order_text(&whole, t.ctx, NULL, 0, NULL, NULL), EM_OK);
		key.last_field = key.last_char = 1;
		first.flags = EM_TEXT_KEYS_ONLY;
		assert_int_equal(em_order_text(&order, t.ctx, &key, i % 5 != 0, i % 5 != 0 ? &first : NULL, NULL),
				 EM_OK);
		for (k = 0; k < 2; k++) {
			const char *file;

			file = path[k] = test_path(dir, k == 0 ? "a" : "b");
			lines_sorted(&t, whole, count[i / (k == 0 ? 4 : 16) % 4], longest, file, &m[k]);
			assert_int_equal(em_stream_lines(&in[k], t.ctx, &file, 1, NULL, NULL), EM_OK);
			if (i % 2 == 0)
				assert_int_equal(em_stream_batch(in[k], 1 + test_below(&t.rng, 20)), EM_OK);
		}
		expect_set(order, &want, &m[0], &m[1], i % 4);
		if (nth != 0)
			t.mem.fail_at = t.mem.calls + nth;
		st = em_stream_set(&s, in[0], in[1], order, i % 4, &t.err);
		if (st == EM_OK) {
			if (i % 3 == 1)
				assert_int_equal(em_stream_batch(s, 1 + test_below(&t.rng, 100)), EM_OK);
			assert_int_equal(em_stream_record_bytes(s), 0);
			st = lines_drain(&t, s, &got, SIZE_MAX);
		} else {
			em_stream_close(in[0]);
			em_stream_close(in[1]);
		}
		/* Reading ahead can do with less. */
		assert_true(st == EM_END || (st == EM_ERR_NOMEM && test_memory_failed(&t.mem)));
		t.mem.fail_at = 0;
		if (st == EM_END)
			lines_assert_same(&got, &want);
		em_stream_close(s);
		lines_free(&want);
		lines_free(&got);
		for (k = 0; k < 2; k++) {
			lines_free(&m[k]);
			free(path[k]);
		}
		em_order_close(order);
		em_order_close(whole);
		test_dir_remove(dir);
		flow_close(&t);
	}
}

/* What cannot be joined is told, and stays as it is. */
static void test_mistakes(void **unused)
{
	const uint64_t numbers[2] = { 1, 2 };
	em_lines_join_opts o = EM_LINES_JOIN_OPTS_INIT;
	em_join_opts fixed = EM_JOIN_OPTS_INIT;
	const em_key by = { 0, 0, EM_KEY_U64, 0, { 0 } };
	em_text_key key[2] = { EM_TEXT_KEY_INIT, EM_TEXT_KEY_INIT };
	em_text_opts reversed = EM_TEXT_OPTS_INIT;
	em_order *number, *one, *two, *folded, *whole, *last, *foreign;
	em_stream *in[2], *sized, *s;
	flow_case other;
	join_case c;

	(void)unused;
	join_open(&c, 10, 10, 3, 3);
	flow_open(&other, 32 * MIB, 0);
	number = flow_order(&c.t, 8);
	key[0].last_field = key[1].last_field = 1;
	assert_int_equal(em_order_text(&one, c.t.ctx, key, 1, NULL, NULL), EM_OK);
	assert_int_equal(em_order_text(&foreign, other.ctx, key, 1, NULL, NULL), EM_OK);
	assert_int_equal(em_order_text(&two, c.t.ctx, key, 2, NULL, NULL), EM_OK);
	key[0].flags = EM_TEXT_FOLD;
	assert_int_equal(em_order_text(&folded, c.t.ctx, key, 1, NULL, NULL), EM_OK);
	assert_int_equal(em_order_text(&whole, c.t.ctx, NULL, 0, NULL, NULL), EM_OK);
	reversed.flags = EM_TEXT_LAST_REVERSE;
	assert_int_equal(em_order_text(&last, c.t.ctx, NULL, 0, &reversed, NULL), EM_OK);
	in[0] = open_side(&c, &c.left);
	in[1] = open_side(&c, &c.right);
	assert_int_equal(em_stream_memory(&sized, c.t.ctx, 8, numbers, 2, NULL), EM_OK);
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	o.left = number;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	o.left = foreign;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	o.left = one;
	o.right = two;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "1 left keys and 2 right ones"));
	o.right = folded;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "two kinds"));
	o.left = whole;
	o.right = last;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "reversed"));
	o.left = one;
	o.right = NULL;
	o.kind = 5;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	o.kind = 0;
	o.separator = 257;
	assert_int_equal(em_stream_lines_join(&s, in[0], in[1], &o, &c.t.err), EM_ERR_INVAL);
	o.separator = EM_TEXT_BLANKS;
	assert_int_equal(em_stream_lines_join(&s, in[0], sized, &o, &c.t.err), EM_ERR_INVAL);
	assert_non_null(strstr(c.t.err.text, "one size"));
	assert_int_equal(em_stream_lines_join(&s, sized, in[0], &o, &c.t.err), EM_ERR_INVAL);
	fixed.left = fixed.right = &by;
	fixed.nkeys = 1;
	assert_int_equal(em_stream_join(&s, in[0], sized, &fixed, &c.t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_set(&s, in[0], sized, one, 0, &c.t.err), EM_ERR_NOTSUP);
	assert_int_equal(em_stream_set(&s, in[0], in[1], number, 0, &c.t.err), EM_ERR_INVAL);
	assert_int_equal(em_line_put(NULL, "a", 1), EM_ERR_INVAL);
	lines_assert(&c.t, in[0], &c.left.lines);
	lines_assert(&c.t, in[1], &c.right.lines);
	em_stream_close(sized);
	em_order_close(number);
	em_order_close(one);
	em_order_close(two);
	em_order_close(folded);
	em_order_close(whole);
	em_order_close(last);
	em_order_close(foreign);
	flow_close(&other);
	join_close(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joins),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests_name("flow_lines_join", tests, NULL, NULL);
}
