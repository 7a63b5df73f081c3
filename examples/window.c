/* SPDX-License-Identifier: BSL-1.0 */
/*
 * window.c -- do the brackets of a text match?  They may be nested deeper than there is memory for.
 *
 *	window [FILE]
 *
 * "-" is standard input.  Without FILE there is a text of some million brackets that match, and one that does not.
 *
 * What is open is on a stack.  It is pushed to and popped from by way of its window (extmem/window.h): functions that
 * become part of the loop, and call the library only where a block ends.  Build it against an installed library with
 *
 *	cc -O2 window.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH UINT64_C(2000000)         /* of the text without FILE */

/* What was opened, and where. */
typedef struct bracket {
	uint64_t at;
	uint64_t closes;        /* the character that must come */
} bracket;

/* A text: what is in a file, or DEPTH brackets that open, as many that close, and one more. */
typedef struct text {
	FILE *file;
	uint64_t at;            /* characters that were read */
} text;

/* Say what went wrong, and stop. */
static void check(em_status status, const em_stack *stack)
{
	em_errinfo err;

	if (status == EM_OK)
		return;
	em_stack_error(stack, &err);
	fprintf(stderr, "window: %s\n", err.text[0] != '\0' ? err.text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static int next_character(text *t)
{
	const uint64_t i = t->at++;

	if (t->file != NULL)
		return getc(t->file);
	if (i < DEPTH)
		return "([{"[i % 3];
	return i < 2 * DEPTH ? ")]}"[(2 * DEPTH - 1 - i) % 3] : i == 2 * DEPTH ? ')' : EOF;
}

/* Where the text is wrong, counted from 1: a bracket that does not match the last open one, or, at the end, one that is
 * open; 0: nowhere. */
static uint64_t find_mistake(em_stack *stack, text *t)
{
	static const char open[] = "([{", close[] = ")]}";
	em_window *w = em_stack_window(stack);
	em_status status;
	bracket b;
	int c;

	while ((c = next_character(t)) != EOF) {
		const char *o = c != 0 ? strchr(open, c) : NULL;

		if (o != NULL) {
			b.at = t->at;
			b.closes = (unsigned char)close[o - open];
			check(em_window_push_back(w, &b, sizeof b), stack);
		} else if (c != 0 && strchr(close, c) != NULL) {
			status = em_window_pop_back(w, &b, sizeof b);
			if (status == EM_NOT_FOUND || (status == EM_OK && b.closes != (uint64_t)c))
				return t->at;
			check(status, stack);
		}
	}
	status = em_window_pop_back(w, &b, sizeof b);
	if (status == EM_NOT_FOUND)
		return 0;
	check(status, stack);
	return b.at;
}

int main(int argc, char **argv)
{
	em_container_opts opts = EM_CONTAINER_OPTS_INIT;
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	text t = { NULL, 0 };
	em_stack *stack;
	uint64_t mistake;
	em_ctx *ctx;

	if (argc > 1) {
		t.file = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "r");
		if (t.file == NULL) {
			perror(argv[1]);
			return EXIT_FAILURE;
		}
	}
	ctx_opts.memory = 16u << 20;
	opts.record_bytes = sizeof(bracket);
	check(em_ctx_open(&ctx, &ctx_opts), NULL);
	check(em_stack_open(&stack, ctx, &opts), NULL);
	mistake = find_mistake(stack, &t);
	if (mistake == 0)
		printf("all %" PRIu64 " characters: brackets match\n", t.at - 1);
	else
		printf("character %" PRIu64 ": no match\n", mistake);
	em_stack_close(stack);
	em_ctx_close(ctx);
	return mistake == (t.file != NULL ? 0 : 2 * DEPTH + 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}
