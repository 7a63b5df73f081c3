/* SPDX-License-Identifier: BSL-1.0 */
/*
 * join_files.c -- join two files of binary records by a number that both have, into a third one.
 *
 *	join_files KIND LEFT:BYTES[:OFFSET] RIGHT:BYTES[:OFFSET] OUTPUT [MEBIBYTES]
 *
 * KIND is inner, left, full, semi or anti.  BYTES is the size of a file's records, and OFFSET is where in them the
 * number is: 8 bytes, the least significant first; by default at the beginning.  So
 *
 *	join_files inner customers:16 orders:24:8 joined 64
 *
 * has for each pair of a customer and an order of his a record of 40 bytes.  Neither file needs to be sorted, and both
 * may be larger than memory: each is sorted on its way, and nothing but the runs of the sorts and the result is
 * written.  Equal numbers on the right have to fit in memory.  Without arguments it makes two files, joins them in each
 * of the ways, checks the results, and removes all.  Build it against an installed library with
 *
 *	cc -O2 join_files.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>
#include <extmem/sys/io_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH 4096u

typedef struct table {
	char path[PATH];
	uint64_t bytes, offset; /* of records, and of the number in them */
} table;

static em_ctx *ctx;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "join_files: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static em_key key_of(const table *t)
{
	const em_key key = { t->offset, 0, EM_KEY_U64, 0, { 0, 0 } };

	return key;
}

/* The records of a file, sorted. */
static em_stream *open_table(const table *t, em_order **order)
{
	const char *path = t->path;
	const em_key key = key_of(t);
	em_stream *s;
	em_errinfo err;

	check(em_order_keys(order, ctx, t->bytes, &key, 1, &err), &err);
	check(em_stream_file(&s, ctx, t->bytes, &path, 1, &err), &err);
	check(em_stream_sort(&s, s, *order, NULL, &err), &err);
	return s;
}

/* Returns how many records there are in the output. */
static uint64_t join(uint32_t kind, const table *left, const table *right, const char *output)
{
	const em_key left_key = key_of(left), right_key = key_of(right);
	em_join_opts opts = EM_JOIN_OPTS_INIT;
	em_order *orders[2];
	em_stream *a = open_table(left, &orders[0]), *b = open_table(right, &orders[1]), *s;
	em_errinfo err;
	em_status status;
	uint64_t n = 0;
	em_sink *out;

	opts.kind = kind;
	opts.left = &left_key;
	opts.right = &right_key;
	opts.nkeys = 1;
	check(em_stream_join(&s, a, b, &opts, &err), &err);
	check(em_sink_file(&out, ctx, em_stream_record_bytes(s), output, &err), &err);
	status = em_stream_pump(s, out, &n);
	em_stream_error(s, &err);
	check(status, &err);
	status = em_sink_finish(out);
	em_sink_error(out, &err);
	check(status, &err);
	em_sink_close(out);
	em_stream_close(s);
	em_order_close(orders[0]);
	em_order_close(orders[1]);
	return n;
}

/* Join, and tell what that moved. */
static uint64_t join_and_tell(const char *kind, uint32_t k, const table *left, const table *right, const char *output)
{
	em_io_stats before = EM_IO_STATS_INIT, now = EM_IO_STATS_INIT;
	const em_errinfo none = EM_ERRINFO_INIT;
	uint64_t n;

	check(em_ctx_io_stats_get(ctx, &before), &none);
	n = join(k, left, right, output);
	check(em_ctx_io_stats_get(ctx, &now), &none);
	em_io_stats_since(&now, &before);
	printf("%s: %" PRIu64 " records; read %" PRIu64 " and written %" PRIu64 " bytes\n", kind, n, now.bytes_read,
	       now.bytes_written);
	return n;
}

static const char *const kinds[] = { "inner", "left", "full", "semi", "anti" };

static uint32_t kind_of(const char *name)
{
	uint32_t k = 0;

	while (k < 5 && strcmp(kinds[k], name) != 0)
		k++;
	return k;
}

/* PATH:BYTES[:OFFSET] */
static int parse(table *t, const char *text)
{
	const char *colon = strchr(text, ':');
	char *end;

	if (colon == NULL || colon == text || (size_t)(colon - text) >= sizeof t->path)
		return 0;
	memcpy(t->path, text, (size_t)(colon - text));
	t->path[colon - text] = '\0';
	t->bytes = strtoull(colon + 1, &end, 10);
	t->offset = 0;
	if (*end == ':')
		t->offset = strtoull(end + 1, &end, 10);
	return *end == '\0' && t->bytes >= 8 && t->offset <= t->bytes - 8;
}

static void open_context(uint64_t mebibytes)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	opts.memory = mebibytes << 20;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
}

/*
 * Without arguments.
 */

#define LEFT 200000u
#define RIGHT 300000u

static void put_number(unsigned char *to, uint64_t x)
{
	unsigned i;

	for (i = 0; i < 8; i++)
		to[i] = (unsigned char)(x >> 8 * i);
}

/* Numbers of the left table are even, each once; those of the right one are divisible by 3, each twice.  Either comes
 * in an order that is not theirs. */
static int make_left(void *user, uint64_t i, void *records, size_t *n)
{
	unsigned char *to = (unsigned char *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++, to += 16) {
		put_number(to, (i + k) * 7919 % LEFT * 2);
		put_number(to + 8, i + k);
	}
	return 0;
}

static int make_right(void *user, uint64_t i, void *records, size_t *n)
{
	unsigned char *to = (unsigned char *)records;
	size_t k;

	(void)user;
	for (k = 0; k < *n; k++, to += 24) {
		put_number(to, i + k);
		put_number(to + 8, (i + k) * 7919 % RIGHT / 2 * 3);
		put_number(to + 16, 0);
	}
	return 0;
}

static void make_file(const table *t, uint64_t n, em_generate_fn fn)
{
	em_errinfo err;
	em_status status;
	em_stream *s;
	em_sink *k;

	check(em_stream_generate(&s, ctx, t->bytes, n, fn, NULL, NULL, &err), &err);
	check(em_sink_file(&k, ctx, t->bytes, t->path, &err), &err);
	status = em_stream_pump(s, k, NULL);
	em_stream_error(s, &err);
	check(status, &err);
	status = em_sink_finish(k);
	em_sink_error(k, &err);
	check(status, &err);
	em_sink_close(k);
	em_stream_close(s);
}

static int show(void)
{
	/* Numbers that are even, divisible by 3, and below the last ones of both: left 400000, right 450000. */
	const uint64_t shared = (2 * LEFT + 5) / 6, pairs = 2 * shared;
	const uint64_t want[5] = { pairs, pairs + LEFT - shared, pairs + LEFT - shared + RIGHT - pairs, shared,
				   LEFT - shared };
	const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp";
	static table left = { "", 16, 0 }, right = { "", 24, 8 };
	static char output[PATH];
	uint32_t k;
	int right_all = 1;

	open_context(8);
	snprintf(left.path, sizeof left.path, "%s/join_files.left", directory);
	snprintf(right.path, sizeof right.path, "%s/join_files.right", directory);
	snprintf(output, sizeof output, "%s/join_files.output", directory);
	make_file(&left, LEFT, make_left);
	make_file(&right, RIGHT, make_right);
	for (k = 0; k < 5; k++)
		right_all &= join_and_tell(kinds[k], k, &left, &right, output) == want[k];
	(void)remove(left.path);
	(void)remove(right.path);
	(void)remove(output);
	em_ctx_close(ctx);
	if (!right_all)
		fprintf(stderr, "join_files: these are not as many as there should be\n");
	return right_all ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static table left, right;
	uint64_t mebibytes = argc > 5 ? strtoull(argv[5], NULL, 10) : 64;
	uint32_t kind;

	if (argc == 1)
		return show();
	kind = kind_of(argv[1]);
	if (argc < 5 || argc > 6 || kind == 5 || mebibytes < 4 || mebibytes > 1 << 20 || !parse(&left, argv[2]) ||
	    !parse(&right, argv[3])) {
		fprintf(stderr, "usage: join_files inner|left|full|semi|anti LEFT:BYTES[:OFFSET] RIGHT:BYTES[:OFFSET] "
				"OUTPUT [MEBIBYTES]\n");
		return 2;
	}
	open_context(mebibytes);
	(void)join_and_tell(argv[1], kind, &left, &right, argv[4]);
	em_ctx_close(ctx);
	return EXIT_SUCCESS;
}
