/* SPDX-License-Identifier: BSL-1.0 */
/*
 * word_lines.c -- the words of texts, one a line, each behind the number of times that it comes.
 *
 *	word_lines OUTPUT FILE...
 *
 * What tr -s ' ' '\n' | sort | uniq -c does, with words of any length: lines become words, which are sorted, and equal
 * neighbours become one line of the output, in which a count and a tab come first.  Texts may be larger than memory.
 * Without arguments a text is made, and what came out of it is compared.  Build it against an installed library with
 *
 *	cc -O2 word_lines.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_LINES 20000u
#define VOCABULARY 100u
#define PATH 512
#define MEMORY ((uint64_t)16 << 20)

static em_ctx *ctx;

static void check(em_status status, const em_errinfo *err)
{
	if (status >= 0)
		return;
	fprintf(stderr, "word_lines: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

/* Words are what is between blanks. */
static int to_words(void *user, const em_batch *lines, em_line *to)
{
	const char *text = (const char *)lines->records;
	size_t i, at = 0;

	(void)user;
	for (i = 0; i < lines->n; i++)
		while (at < lines->ends[i]) {
			const size_t begin = at;

			while (at < lines->ends[i] && text[at] != ' ' && text[at] != '\t')
				at++;
			if (at > begin && em_line_add(to, text + begin, at - begin) != EM_OK)
				return -1;
			at += at < lines->ends[i];
		}
	return 0;
}

/* How many different words there were. */
static uint64_t count_words(const char *output, const char *const *texts, uint32_t n)
{
	em_order *by_word;
	em_stream *s;
	em_sink *out;
	uint64_t written;
	em_status status;
	em_errinfo err;

	check(em_order_text(&by_word, ctx, NULL, 0, NULL, &err), &err);
	check(em_stream_lines(&s, ctx, texts, n, NULL, &err), &err);
	check(em_stream_lines_flat_map(&s, s, to_words, NULL, NULL, &err), &err);
	check(em_stream_sort(&s, s, by_word, NULL, &err), &err);
	check(em_stream_unique(&s, s, by_word, EM_UNIQUE_COUNT, &err), &err);
	check(em_sink_lines(&out, ctx, output, NULL, &err), &err);
	status = em_stream_pump(s, out, NULL);
	em_stream_error(s, &err);
	check(status, &err);
	status = em_sink_finish(out);
	em_sink_error(out, &err);
	check(status, &err);
	written = em_sink_count(out);
	em_sink_close(out);
	em_stream_close(s);
	em_order_close(by_word);
	return written;
}

static void open_context(void)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err;

	opts.memory = MEMORY;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
}

/* Lines of two words. */
static int make_text(const char *path, uint64_t *times)
{
	FILE *text = fopen(path, "w");
	unsigned i;

	if (text == NULL)
		return -1;
	for (i = 0; i < MADE_LINES; i++) {
		fprintf(text, "word%u\tword%u \n", i % VOCABULARY, i % 7);
		times[i % VOCABULARY]++;
		times[i % 7]++;
	}
	return fclose(text);
}

/* Is each word there, as often as it was written? */
static int compare(const char *path, uint64_t *times)
{
	FILE *lines = fopen(path, "r");
	uint64_t n;
	unsigned k;
	int bad = lines == NULL;

	while (lines != NULL && fscanf(lines, "%" SCNu64 "\tword%u\n", &n, &k) == 2) {
		bad |= k >= VOCABULARY || times[k] != n;
		times[k % VOCABULARY] = 0;
	}
	for (k = 0; k < VOCABULARY; k++)
		bad |= times[k] != 0;
	if (lines != NULL)
		fclose(lines);
	return bad;
}

static int show(void)
{
	static uint64_t times[VOCABULARY];
	const char *directory = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/var/tmp";
	char text[PATH], output[PATH];
	const char *const texts[] = { text };
	uint64_t n;
	int bad;

	snprintf(text, sizeof text, "%s/word_lines.text", directory);
	snprintf(output, sizeof output, "%s/word_lines.output", directory);
	if (make_text(text, times) != 0) {
		perror(text);
		return EXIT_FAILURE;
	}
	n = count_words(output, texts, 1);
	printf("%u lines have %" PRIu64 " different words\n", MADE_LINES, n);
	bad = compare(output, times);
	(void)remove(text);
	(void)remove(output);
	if (bad)
		fprintf(stderr, "word_lines: these are not as many as there should be\n");
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	int status = EXIT_SUCCESS;

	if (argc == 2) {
		fprintf(stderr, "usage: word_lines OUTPUT FILE...\n");
		return EXIT_FAILURE;
	}
	open_context();
	if (argc == 1)
		status = show();
	else
		printf("%" PRIu64 " different words\n",
		       count_words(argv[1], (const char *const *)argv + 2, (uint32_t)argc - 2));
	em_ctx_close(ctx);
	return status;
}
