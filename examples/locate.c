/* SPDX-License-Identifier: BSL-1.0 */
/*
 * locate.c -- 100,000 look-ups in a B+-tree that is in a file: of each random key the first record that is not less.
 *
 *	locate [FILE [RECORDS]]
 *
 * Records have a key of eight letters and 32 bytes of data, as in the tests of STXXL's map (Dementiev, Kettner and
 * Sanders 2007, section 5.5 and listing 4).  FILE is made if it is not there: random records are sorted, loaded from
 * the leaves up, and saved.  Then it is opened, which reads two blocks of it, and looked up in twice: one key after
 * the other, and many together, which has many reads under way at a time.  Both must find the same.  Without arguments
 * the file is removed again.  bench/peers/locate_bdb.c is the same by Berkeley DB (their listing 3).  Build it against
 * an installed library with
 *
 *	cc -O2 locate.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700               /* mkstemp(), clock_gettime() */
#endif

#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 300000u                 /* without arguments */
#define LOCATES 100000u
#define BATCH 4096u

enum { KEY_SIZE = 8, DATA_SIZE = 32 };

typedef struct element {
	char key[KEY_SIZE];
	char data[DATA_SIZE];
} element;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= EM_OK)
		return;
	fprintf(stderr, "locate: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_tree(em_status status, const em_btree *tree)
{
	em_errinfo err;

	em_btree_error(tree, &err);
	check(status, &err);
}

/* Letters that follow from a number. */
static void rand_key(uint64_t i, char *key)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	unsigned k;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x ^= x >> 27;
	for (k = 0; k < KEY_SIZE; k++, x /= 26)
		key[k] = (char)('a' + x % 26);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void push_elements(em_sorter *sorter, uint64_t n)
{
	static element some[BATCH];
	em_errinfo err;
	uint64_t i;
	em_status status;

	memset(some, 'x', sizeof some);
	for (i = 0; i < n; i++) {
		rand_key(i, some[i % BATCH].key);
		if (i % BATCH != BATCH - 1 && i + 1 < n)
			continue;
		status = em_sorter_push(sorter, some, i % BATCH + 1);
		em_sorter_error(sorter, &err);
		check(status, &err);
	}
	status = em_sorter_finish(sorter);
	em_sorter_error(sorter, &err);
	check(status, &err);
}

/* Sort, load, save. */
static void make_tree(em_ctx *ctx, const char *path, uint64_t n)
{
	const em_key letters = { 0, KEY_SIZE, EM_KEY_BYTES, 0, { 0, 0 } };
	em_errinfo err = EM_ERRINFO_INIT;
	em_btree_load_opts opts = EM_BTREE_LOAD_OPTS_INIT;
	em_order *order = NULL;
	em_sorter *sorter = NULL;
	em_btree *tree = NULL;

	check(em_order_keys(&order, ctx, sizeof(element), &letters, 1, &err), &err);
	check(em_sorter_open(&sorter, ctx, order, NULL), &err);
	push_elements(sorter, n);
	check(em_btree_open(&tree, ctx, order, NULL), &err);
	opts.flags = EM_BTREE_LOAD_SKIP;        /* one record for each key */
	opts.errinfo = &err;
	check(em_btree_load_sorted(tree, sorter, &opts), &err);
	check_tree(em_btree_save(tree, path), tree);
	em_btree_close(tree);
	em_sorter_close(sorter);
	em_order_close(order);
}

/* One after the other.  Returns a number that says what was found. */
static uint64_t locate(em_btree *tree)
{
	uint64_t i, found = 0;
	element result;
	char key[KEY_SIZE];

	for (i = 0; i < LOCATES; i++) {
		em_status status;

		rand_key(i * 7919 + 1, key);
		status = em_btree_lower_bound(tree, key, &result);
		check_tree(status, tree);
		if (status == EM_OK)
			found += (unsigned char)result.key[KEY_SIZE - 1] * (i + 1);
	}
	return found;
}

/* Many together. */
static uint64_t locate_many(em_btree *tree)
{
	static char keys[LOCATES][KEY_SIZE];
	static element results[LOCATES];
	static uint8_t there[LOCATES];
	uint64_t i, found = 0, n;

	for (i = 0; i < LOCATES; i++)
		rand_key(i * 7919 + 1, keys[i]);
	check_tree(em_btree_lower_bound_many(tree, keys, LOCATES, results, there, &n), tree);
	for (i = 0; i < LOCATES; i++)
		if (there[i])
			found += (unsigned char)results[i].key[KEY_SIZE - 1] * (i + 1);
	return found;
}

/* The order is in the file, too. */
static em_btree *open_tree(em_ctx *ctx, const char *path)
{
	em_btree_opts opts = EM_BTREE_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	em_btree *tree = NULL;

	opts.errinfo = &err;
	check(em_btree_open_file(&tree, ctx, path, NULL, &opts), &err);
	if (em_btree_record_bytes(tree) != sizeof(element) || em_btree_key_bytes(tree) != KEY_SIZE) {
		fprintf(stderr, "locate: %s is a tree of something else\n", path);
		exit(EXIT_FAILURE);
	}
	return tree;
}

static int run(em_ctx *ctx, const char *path)
{
	em_btree *tree = open_tree(ctx, path);
	em_btree_stats stats = EM_BTREE_STATS_INIT;
	uint64_t single, many;
	double start = seconds();

	single = locate(tree);
	printf("%u of %" PRIu64 " one by one: %.2f us each, found %" PRIu64 "\n", LOCATES, em_btree_size(tree),
	       (seconds() - start) * 1e6 / LOCATES, single);
	em_btree_close(tree);
	tree = open_tree(ctx, path);
	start = seconds();
	many = locate_many(tree);
	check_tree(em_btree_stats_get(tree, &stats), tree);
	printf("together: %.2f us each, %" PRIu64 " leaves read\n", (seconds() - start) * 1e6 / LOCATES,
	       stats.leaf_reads);
	em_btree_close(tree);
	return single == many;
}

/* The name of a file that nobody else has. */
static char *temporary_name(void)
{
	static const char name[] = "/locate-XXXXXX";
	const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp";
	char *path = (char *)malloc(strlen(directory) + sizeof name);
	int fd;

	if (path == NULL)
		return NULL;
	strcpy(path, directory);
	strcat(path, name);
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		free(path);
		return NULL;
	}
	close(fd);
	return path;
}

int main(int argc, char **argv)
{
	char *temporary = argc > 1 ? NULL : temporary_name();
	const char *path = argc > 1 ? argv[1] : temporary;
	em_ctx *ctx = NULL;
	int right = 0;

	if (path == NULL || em_ctx_open(&ctx, NULL) != EM_OK)
		return EXIT_FAILURE;
	if (temporary != NULL || access(path, F_OK) != 0)
		make_tree(ctx, path, argc > 2 ? strtoull(argv[2], NULL, 10) : RECORDS);
	right = run(ctx, path);
	if (temporary != NULL)
		remove(temporary);
	free(temporary);
	em_ctx_close(ctx);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
