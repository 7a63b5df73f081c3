/* SPDX-License-Identifier: BSL-1.0 */
/*
 * phone_book.c -- names and numbers in a B+-tree: who is found by his name, and all whose names begin alike.
 *
 * Several people may have one name, so it is a tree with duplicates.  It is filled in no order; a tree that is larger
 * than memory had better get its entries by em_btree_insert_many(), or from a sorter.  Build it against an installed
 * library with
 *
 *	cc -O2 phone_book.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#include <extmem.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 200000u

typedef struct entry {
	char name[24];                  /* filled with zeros */
	uint64_t number;
} entry;

static void check(em_status status, const char *what, const em_btree *book)
{
	em_errinfo err;

	if (status >= 0)
		return;
	em_btree_error(book, &err);
	fprintf(stderr, "phone_book: %s: %s\n", what, err.text[0] != '\0' ? err.text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static const char *const first[] = { "Ada", "Boris", "Carla", "Dora", "Emil", "Fritz", "Grete", "Hans", "Ida" };
static const char *const last[] = { "Bauer", "Fischer", "Maier", "Meier", "Meyer", "Mueller", "Schmidt", "Weber" };

static void draw(entry *e, uint32_t i)
{
	const uint32_t x = i * 2654435761u;

	memset(e, 0, sizeof *e);
	snprintf(e->name, sizeof e->name, "%s, %s %c.", last[(x >> 8) % 8], first[(x >> 16) % 9], (char)('A' + x % 26));
	e->number = 100000000 + x;
}

/* All whose names begin like that, in order: the first few are printed. */
static void print_range(em_btree *book, const char *beginning)
{
	const size_t n = strlen(beginning);
	em_btree_cursor *c;
	em_status status;
	uint64_t people = 0;
	entry e;

	memset(&e, 0, sizeof e);
	memcpy(e.name, beginning, n);
	check(em_btree_cursor_open(&c, book), "cursor", book);
	status = em_btree_cursor_seek(c, e.name, EM_BTREE_GE);
	if (status == EM_OK)
		status = em_btree_cursor_get(c, &e);
	while (status == EM_OK && memcmp(e.name, beginning, n) == 0) {
		if (people++ < 3)
			printf("  %-24s %" PRIu64 "\n", e.name, e.number);
		status = em_btree_cursor_next(c, &e);
	}
	check(status, "range", book);
	printf("%" PRIu64 " people are called %s...\n", people, beginning);
	em_btree_cursor_close(c);
}

int main(void)
{
	const em_key name = { offsetof(entry, name), sizeof(((entry *)0)->name), EM_KEY_BYTES, 0, { 0, 0 } };
	em_btree_opts opts = EM_BTREE_OPTS_INIT;
	em_ctx *ctx = NULL;
	em_order *order = NULL;
	em_btree *book = NULL;
	uint64_t n = 0;
	uint32_t i;
	entry e;

	opts.flags = EM_BTREE_DUPLICATES;
	check(em_ctx_open(&ctx, NULL), "context", NULL);
	check(em_order_keys(&order, ctx, sizeof e, &name, 1, NULL), "order", NULL);
	check(em_btree_open(&book, ctx, order, &opts), "open", NULL);
	for (i = 0; i < ENTRIES; i++) {
		draw(&e, i);
		check(em_btree_insert(book, &e), "insert", book);
	}
	print_range(book, "Meyer, Ida");
	print_range(book, "Mue");
	/* Of those with one name the first has a new number, and then all of them move away. */
	draw(&e, 4711);
	e.number = 1;
	check(em_btree_upsert(book, &e), "upsert", book);
	check(em_btree_get(book, e.name, &e), "get", book);
	check(em_btree_erase_equal(book, e.name, &n), "erase", book);
	printf("%s had number %" PRIu64 ", and %" PRIu64 " of that name have left\n", e.name, e.number, n);
	em_btree_close(book);
	em_order_close(order);
	em_ctx_close(ctx);
	return e.number == 1 && n != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
