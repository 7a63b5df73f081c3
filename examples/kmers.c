/* SPDX-License-Identifier: BSL-1.0 */
/*
 * kmers.c -- how often each word of k letters is in a genome: counted by sorting, and kept in a B+-tree.
 *
 * Each place of the genome is the beginning of a word, which is a number of two bits for each letter.  To look up each
 * of them in a tree and add one would read a leaf for nearly every letter as soon as the tree is larger than memory.
 * Sorted first, equal words come one behind the other, and the tree is loaded with their counts; then words are looked
 * up, many at a time.  Build it against an installed library with
 *
 *	cc -O2 kmers.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS 1000000u
#define K 21u                           /* letters of a word */
#define MASK ((UINT64_C(1) << (2 * K)) - 1)
#define QUERIES 1000u
#define BATCH 1024u

typedef struct count {
	uint64_t word;
	uint64_t n;
} count;

static void check(em_status status, const char *what)
{
	if (status >= 0)
		return;
	fprintf(stderr, "kmers: %s: %s\n", what, em_status_text(status));
	exit(EXIT_FAILURE);
}

/* The genome repeats itself: letters come from one of some patterns, now and then with a mistake. */
static unsigned letter(uint64_t i)
{
	uint64_t x = i / 5000 % 7 * 5000 + i % 5000;

	if (i % 997 == 0)
		x = i;
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
	return (unsigned)(x >> 40 & 3);
}

static void push_words(em_sorter *sorter)
{
	uint64_t words[BATCH], word = 0, i;
	size_t n = 0;

	for (i = 0; i < LETTERS; i++) {
		word = (word << 2 | letter(i)) & MASK;
		if (i + 1 < K)
			continue;
		words[n++] = word;
		if (n < BATCH && i + 1 < LETTERS)
			continue;
		check(em_sorter_push(sorter, words, n), "push");
		n = 0;
	}
}

/* Equal words in a row become one with a count. */
static void load_counts(em_btree *tree, em_sorter *sorter)
{
	em_cursor *c = em_sorter_cursor(sorter);
	em_btree_loader *loader;
	const void *record;
	em_status status;
	count last = { 0, 0 };

	check(em_btree_loader_open(&loader, tree, NULL), "loader");
	while ((status = em_cursor_next(c, &record)) == EM_OK) {
		uint64_t word;

		memcpy(&word, record, sizeof word);
		if (last.n != 0 && word != last.word) {
			check(em_btree_loader_push(loader, &last, 1, NULL), "load");
			last.n = 0;
		}
		last.word = word;
		last.n++;
	}
	check(status, "sort");
	check(em_btree_loader_push(loader, &last, 1, NULL), "load");
	check(em_btree_loader_finish(loader), "finish");
	em_btree_loader_close(loader);
}

/* Words from anywhere in the genome: all are there. */
static int look_up(em_btree *tree)
{
	static uint64_t words[QUERIES];
	static count counts[QUERIES];
	uint64_t found, most = 0, i, k;

	for (i = 0; i < QUERIES; i++) {
		const uint64_t at = i * 2654435761u % (LETTERS - K);

		for (k = 0; k < K; k++)
			words[i] = (words[i] << 2 | letter(at + k)) & MASK;
	}
	check(em_btree_get_many(tree, words, QUERIES, counts, NULL, &found), "look up");
	for (i = 0; i < QUERIES; i++)
		most = counts[i].n > most ? counts[i].n : most;
	printf("of %u words %" PRIu64 " are there, one of them %" PRIu64 " times\n", QUERIES, found, most);
	return found == QUERIES && most > 1;
}

int main(void)
{
	const em_key whole = { 0, 0, EM_KEY_U64, 0, { 0, 0 } };
	em_ctx *ctx = NULL;
	em_order *words = NULL, *counts = NULL;
	em_sorter *sorter = NULL;
	em_btree *tree = NULL;
	int right;

	check(em_ctx_open(&ctx, NULL), "context");
	check(em_order_keys(&words, ctx, sizeof(uint64_t), &whole, 1, NULL), "order");
	check(em_order_keys(&counts, ctx, sizeof(count), &whole, 1, NULL), "order");
	check(em_sorter_open(&sorter, ctx, words, NULL), "sorter");
	push_words(sorter);
	check(em_sorter_finish(sorter), "sort");
	check(em_btree_open(&tree, ctx, counts, NULL), "tree");
	load_counts(tree, sorter);
	em_sorter_close(sorter);
	printf("%u letters have %" PRIu64 " different words of %u\n", LETTERS, em_btree_size(tree), K);
	right = look_up(tree);
	em_btree_close(tree);
	em_order_close(counts);
	em_order_close(words);
	em_ctx_close(ctx);
	return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
