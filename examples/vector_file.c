/* SPDX-License-Identifier: BSL-1.0 */
/*
 * vector_file.c -- a table in a file, changed in place: a vector that is bound to the file (extmem/vector.h).
 *
 *	vector_file FILE ACCOUNT CENTS
 *
 * Adds an amount to an account, and says what is on it and on all of them.  FILE is made if it is not there, and gets
 * longer as accounts need it.  It may be larger than memory: what is used of it is in a cache.  Without arguments many
 * payments are made in a file that is removed again, and it is seen whether all of them stand in it.
 *
 * The bytes of the file are the records, one behind the other, so any program can read it.  That makes the order of
 * bytes a part of its format: here the least significant one comes first on every machine.  Build it against an
 * installed library with
 *
 *	cc -O2 vector_file.c $(pkg-config --cflags --libs extmem)
 *
 * or, as it is C++ too, with c++.
 */
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700               /* mkstemp() */
#endif

#include <extmem.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCOUNTS 100000u                /* without arguments ... */
#define PAYMENTS 300000u                /* ... and what is paid */

/* Numbers of 8 bytes each, the least significant first: so there are no gaps, and any alignment will do. */
typedef struct account {
	unsigned char cents[8];
	unsigned char payments[8];
} account;

/* Say what went wrong, and stop. */
static void check(em_status status, const em_errinfo *err)
{
	if (status >= EM_OK)
		return;
	fprintf(stderr, "vector_file: %s\n", err->text[0] != '\0' ? err->text : em_status_text(status));
	exit(EXIT_FAILURE);
}

static void check_vector(em_status status, const em_vector *v)
{
	em_errinfo err;

	em_vector_error(v, &err);
	check(status, &err);
}

static uint64_t number(const unsigned char *bytes)
{
	uint64_t n = 0;
	int i;

	for (i = 7; i >= 0; i--)
		n = n << 8 | bytes[i];
	return n;
}

static void set_number(unsigned char *bytes, uint64_t n)
{
	int i;

	for (i = 0; i < 8; i++, n >>= 8)
		bytes[i] = (unsigned char)n;
}

static em_vector *open_file(em_ctx *ctx, const char *path, uint32_t flags)
{
	em_vector_opts opts = EM_VECTOR_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	em_vector *v;

	opts.record_bytes = sizeof(account);
	opts.path = path;
	opts.flags = flags;
	opts.errinfo = &err;
	check(em_vector_open(&v, ctx, &opts), &err);
	return v;
}

/* New accounts are zeros. */
static void pay(em_vector *v, uint64_t i, uint64_t cents)
{
	account a;

	if (i >= em_vector_size(v))
		check_vector(em_vector_resize(v, i + 1), v);
	check_vector(em_vector_get(v, i, &a), v);
	set_number(a.cents, number(a.cents) + cents);
	set_number(a.payments, number(a.payments) + 1);
	check_vector(em_vector_set(v, i, &a), v);
}

/* Closing a vector would write what is left, too, but could not say that it failed.  Now it is on the device. */
static void save(em_vector *v)
{
	check_vector(em_vector_flush(v, 1), v);
	em_vector_close(v);
}

/* Add up all accounts.  A reader passes through them in order, and has the next blocks come meanwhile. */
static void add_up(em_ctx *ctx, const char *path, uint64_t *cents, uint64_t *payments)
{
	em_vector *v = open_file(ctx, path, EM_VECTOR_READ_ONLY);
	em_vector_reader *r;
	const void *record;
	em_status status;
	em_errinfo err;
	em_cursor *c;

	*cents = *payments = 0;
	check_vector(em_vector_reader_open(&r, v, NULL), v);
	c = em_vector_reader_cursor(r);
	while ((status = em_cursor_next(c, &record)) == EM_OK) {
		*cents += number(((const account *)record)->cents);
		*payments += number(((const account *)record)->payments);
	}
	em_vector_reader_error(r, &err);
	check(status == EM_END ? (em_status)EM_OK : status, &err);
	em_vector_reader_close(r);
	em_vector_close(v);
}

/* The same without the library: the file has nothing but the records in it. */
static int adds_up(const char *path, uint64_t cents, uint64_t payments)
{
	FILE *f = fopen(path, "rb");
	uint64_t n = 0;
	account a;

	while (f != NULL && fread(&a, sizeof a, 1, f) == 1) {
		cents -= number(a.cents);
		payments -= number(a.payments);
		n++;
	}
	if (f != NULL)
		fclose(f);
	return n == ACCOUNTS && cents == 0 && payments == 0;
}

/* Pay to accounts here and there, and look whether all of it is there. */
static int try_many(em_ctx *ctx, const char *path)
{
	em_vector *v = open_file(ctx, path, EM_VECTOR_TRUNCATE);
	uint64_t i, paid = 0, cents, payments;

	for (i = 0; i < PAYMENTS; i++) {
		pay(v, i * 7919 % ACCOUNTS, i);
		paid += i;
	}
	save(v);
	add_up(ctx, path, &cents, &payments);
	printf("%" PRIu64 " payments of %" PRIu64 " cents\n", payments, cents);
	return cents == paid && payments == PAYMENTS && adds_up(path, paid, PAYMENTS);
}

/* An empty file, for free(). */
static char *make_file(void)
{
	static const char name[] = "/vector_file-XXXXXX";
	const char *directory = getenv("TMPDIR");
	char *path;
	int fd;

	if (directory == NULL || directory[0] == '\0')
		directory = "/var/tmp";
	path = (char *)malloc(strlen(directory) + sizeof name);
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
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = EM_ERRINFO_INIT;
	uint64_t cents, payments;
	int good = 1;
	em_ctx *ctx;

	if (argc != 1 && argc != 4) {
		fprintf(stderr, "usage: vector_file [FILE ACCOUNT CENTS]\n");
		return EXIT_FAILURE;
	}
	opts.memory = 16u << 20;
	opts.errinfo = &err;
	check(em_ctx_open(&ctx, &opts), &err);
	if (argc == 1) {
		char *path = make_file();

		good = path != NULL && try_many(ctx, path);
		if (path != NULL)
			remove(path);
		free(path);
	} else {
		em_vector *v = open_file(ctx, argv[1], EM_VECTOR_CREATE);
		const uint64_t i = strtoull(argv[2], NULL, 10);
		account a;

		pay(v, i, strtoull(argv[3], NULL, 10));
		check_vector(em_vector_get(v, i, &a), v);
		printf("account %" PRIu64 ": %" PRIu64 " cents\n", i, number(a.cents));
		save(v);
		add_up(ctx, argv[1], &cents, &payments);
		printf("all: %" PRIu64 " cents by %" PRIu64 " payments\n", cents, payments);
	}
	em_ctx_close(ctx);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
