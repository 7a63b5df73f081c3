/* SPDX-License-Identifier: BSL-1.0 */
/*
 * word_count.c -- how often each word comes in a text, the most frequent ones first.
 *
 *	word_count [MOST [FILE]]
 *
 * Bytes of a file become words with a count of one.  They are sorted, and counts of one word are added up as early as
 * can be: in memory, before any of it is written.  Then the counts are sorted again.  Nothing but runs of different
 * words is ever on a disk, so the text may be larger than memory.  Words are letters and digits of ASCII, lower case,
 * cut at 24 bytes.  Without a file the text is made: words of which the k-th is drawn with a probability of about 1/k,
 * as in a language, and their counts are checked.  Build it against an installed library with
 *
 *	cc -O2 word_count.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>
#include <extmem/sys/io_stats.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD 24u
#define MADE_WORDS 400000u
#define VOCABULARY 2000u
#define MEMORY ((uint64_t)16 << 20)

typedef struct counted {
	char word[WORD];        /* zeros behind it */
	uint64_t times;
} counted;

/* The word that is being read. */
typedef struct reader {
	char word[WORD];
	size_t n;
} reader;

/* A text that nobody wrote. */
typedef struct writer {
	uint64_t state, words;
	char text[24];          /* what is left of a word */
	size_t at, n;
	uint64_t times[VOCABULARY]; /* what is to come of it */
} writer;

static em_ctx *ctx;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "word_count: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

/* 0: c is in no word. */
static char letter(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? (char)c : '\0';
}

/* Bytes to words, each of which is there once: one that goes on in the next batch is remembered.  At the end it is
 * called with *n = 0. */
static int to_words(void *user, const void *records, size_t *n, void *to, size_t *room)
{
	const unsigned char *text = (const unsigned char *)records;
	reader *r = (reader *)user;
	counted *counts = (counted *)to;
	const int at_end = *n == 0;
	size_t i = 0, made = 0;

	while ((i < *n || (at_end && r->n != 0)) && made < *room) {
		const char c = i < *n ? letter(text[i++]) : '\0';

		if (c != '\0') {
			if (r->n < WORD)
				r->word[r->n++] = c;
			continue;
		}
		if (r->n != 0) {
			counted one = { "", 1 };

			memcpy(one.word, r->word, r->n);
			memcpy(counts + made++, &one, sizeof one);
		}
		r->n = 0;
	}
	*n = i;
	*room = made;
	return 0;
}

/* Add up the counts of one word. */
static int add_up(void *user, void *sum, const void *records, size_t n)
{
	counted all, one;
	size_t i;

	(void)user;
	memcpy(&all, sum, sizeof all);
	for (i = 0; i < n; i++) {
		memcpy(&one, (const counted *)records + i, sizeof one);
		all.times += one.times;
	}
	memcpy(sum, &all, sizeof all);
	return 0;
}

static uint64_t draw(writer *w)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return w->state;
}

/* Word k, written somehow. */
static void begin_word(writer *w)
{
	uint64_t most = VOCABULARY, k;

	/* Halving the range at random makes low numbers likely. */
	while (most > 1 && draw(w) % 11 != 0)
		most = (most + 1) / 2;
	k = draw(w) % most;
	w->times[k]++;
	w->n = (size_t)snprintf(w->text, sizeof w->text, k % 3 == 0 ? "Word%" PRIu64 ", " : "word%" PRIu64 "\n", k);
	w->at = 0;
}

static int make_text(void *user, uint64_t i, void *records, size_t *n)
{
	writer *w = (writer *)user;
	char *text = (char *)records;
	size_t k = 0;

	(void)i;
	while (k < *n && (w->at < w->n || w->words != 0)) {
		if (w->at == w->n) {
			begin_word(w);
			w->words--;
		}
		text[k++] = w->text[w->at++];
	}
	*n = k;
	return 0;
}

/* Is a word of the text that was made there as often as it was written? */
static void verify(writer *w, const counted *c)
{
	unsigned k;

	if (sscanf(c->word, "word%u", &k) != 1 || k >= VOCABULARY || w->times[k] != c->times) {
		fprintf(stderr, "word_count: %.24s comes %" PRIu64 " times\n", c->word, c->times);
		exit(EXIT_FAILURE);
	}
	w->times[k] = 0;
}

/* Words with their counts, the most frequent ones first, and equal ones by their letters. */
static em_stream *open_counts(em_stream *text, reader *r, em_order **orders)
{
	const em_key frequent[2] = { { WORD, 0, EM_KEY_U64, EM_KEY_DESCENDING, { 0, 0 } },
				     { 0, WORD, EM_KEY_BYTES, 0, { 0, 0 } } };
	const em_key word = { 0, WORD, EM_KEY_BYTES, 0, { 0, 0 } };
	em_stream *s;
	em_errinfo err;

	check(em_order_keys(&orders[0], ctx, sizeof(counted), &word, 1, &err), &err);
	check(em_order_keys(&orders[1], ctx, sizeof(counted), frequent, 2, &err), &err);
	check(em_stream_flat_map(&s, text, sizeof(counted), to_words, r, NULL, &err), &err);
	check(em_stream_sort_reduce(&s, s, orders[0], NULL, add_up, NULL, NULL, &err), &err);
	check(em_stream_sort(&s, s, orders[1], NULL, &err), &err);
	return s;
}

static void print_counts(em_stream *s, uint64_t most, writer *w)
{
	em_io_stats io = EM_IO_STATS_INIT;
	em_cursor *c = em_stream_cursor(s);
	uint64_t words = 0, different = 0;
	em_errinfo err = EM_ERRINFO_INIT;

	for (; !em_stream_empty(c); em_stream_advance(c)) {
		counted next;

		memcpy(&next, em_stream_front(c), sizeof next);
		if (different++ < most)
			printf("%8" PRIu64 " %.24s\n", next.times, next.word);
		if (w != NULL)
			verify(w, &next);
		words += next.times;
	}
	em_stream_error(s, &err);
	check(c->status, &err);
	check(em_ctx_io_stats_get(ctx, &io), &err);
	printf("%" PRIu64 " words, %" PRIu64 " of them different; read %" PRIu64 " and written %" PRIu64
	       " bytes of scratch\n", words, different, io.bytes_read, io.bytes_written);
	if (w != NULL && words != MADE_WORDS) {
		fprintf(stderr, "word_count: there were %u words\n", MADE_WORDS);
		exit(EXIT_FAILURE);
	}
}

int main(int argc, char **argv)
{
	const uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	static writer made = { UINT64_C(88172645463325252), MADE_WORDS, "", 0, 0, { 0 } };
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	const char *path = argc > 2 ? argv[2] : NULL;
	em_order *orders[2];
	reader r = { "", 0 };
	em_stream *s;
	em_errinfo err;

	opts.memory = MEMORY;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	if (path != NULL)
		check(em_stream_file(&s, ctx, 1, &path, 1, &err), &err);
	else
		check(em_stream_generate(&s, ctx, 1, EM_STREAM_UNKNOWN, make_text, &made, NULL, &err), &err);
	s = open_counts(s, &r, orders);
	print_counts(s, most, path == NULL ? &made : NULL);
	em_stream_close(s);
	em_order_close(orders[0]);
	em_order_close(orders[1]);
	em_ctx_close(ctx);
	return 0;
}
