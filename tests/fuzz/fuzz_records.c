/* SPDX-License-Identifier: BSL-1.0 */
/*
 * fuzz_records.c -- readers of records against a splitter that has the files in memory.
 *
 * The input is a header, which chooses format, sizes and kinds of files, and then a program that writes the files, as
 * fuzzers like inputs that are shorter than a chunk:
 *
 *	byte 0     kind, width and order of prefixes, separator of CSV
 *	byte 1     delimiter
 *	byte 2     pages of a chunk, chunks, chunks that the consumer keeps
 *	byte 3-4   longest record
 *	byte 5     how many files, which of them are pipes
 *	then       steps of two bytes: a byte, of CSV three that matter, a run of bytes, a record, the next file
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/records.h"

#define FILES_MOST 3u
#define BYTES_MOST 60000u       /* a pipe takes as much */
#define HEADER 6u
#define HELD_MOST 4u

#define CHECK(what) check((what) != 0, #what, __LINE__)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(int fine, const char *what, int line)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_records.c:%d: %s\n", line, what);
	abort();
}

typedef struct texts {
	em_format format;
	uint64_t longest;
	uint32_t n;
	unsigned char *data[FILES_MOST];
	size_t bytes[FILES_MOST];
	char path[FILES_MOST][32];
	int fd[FILES_MOST];
} texts;

/* Where the splitter stands. */
typedef struct splitter {
	const texts *t;
	uint32_t file;
	size_t at;
	uint64_t number;        /* records, or lines of CSV, of this file in front of what is next, or wrong */
} splitter;

typedef enum found { RECORD, END, TOO_LONG, CUT_OFF, OPEN, OPEN_LONG } found;

static const unsigned char mark[] = { 0xEF, 0xBB, 0xBF };

static int begins_with_mark(const em_format *f, const unsigned char *p, size_t left)
{
	return left >= sizeof mark && memcmp(p, mark, sizeof mark) == 0 &&
	       memchr(mark, (int)f->separator, sizeof mark) == NULL &&
	       memchr(mark, (int)f->delimiter, sizeof mark) == NULL;
}

/* Bytes of the record of CSV at p, up to its delimiter or the end; *open: the quote that is open there, or SIZE_MAX. */
static size_t csv_bytes(const em_format *f, const unsigned char *p, size_t left, size_t *open)
{
	size_t i = begins_with_mark(f, p, left) ? sizeof mark : 0;
	int begins = 1;

	for (*open = SIZE_MAX; i < left; i++) {
		if (*open != SIZE_MAX) {
			if (p[i] == '"' && i + 1 < left && p[i + 1] == '"')
				i++;
			else if (p[i] == '"')
				*open = SIZE_MAX;
			begins = 0;
		} else if (p[i] == f->delimiter) {
			break;
		} else {
			*open = begins && p[i] == '"' ? i : SIZE_MAX;
			begins = p[i] == f->separator;
		}
	}
	return i;
}

static uint64_t lines_in(const em_format *f, const unsigned char *p, size_t n)
{
	uint64_t lines = 0;
	size_t i;

	for (i = 0; i < n; i++)
		lines += p[i] == f->delimiter;
	return lines;
}

/* As below, of CSV. */
static found split_csv(splitter *s, const unsigned char *p, size_t left, size_t *n)
{
	const em_format *f = &s->t->format;
	const uint64_t longest = s->t->longest;
	size_t open;

	*n = csv_bytes(f, p, left, &open);
	/* No more is looked at than may be. */
	if (*n > longest)
		(void)csv_bytes(f, p, (size_t)longest + 1, &open);
	if (open != SIZE_MAX) {
		s->number += lines_in(f, p, open);
		return *n > longest ? OPEN_LONG : OPEN;
	}
	if (*n > longest)
		return TOO_LONG;
	s->at += *n + (*n < left);
	s->number += lines_in(f, p, *n) + 1;
	return RECORD;
}

/* The next record; stays where it is at the end and at what is wrong. */
static found split(splitter *s, const unsigned char **record, size_t *n)
{
	const em_format *f = &s->t->format;
	const unsigned char *p;
	size_t left, i;
	uint64_t length = 0;

	while (s->file < s->t->n && s->at == s->t->bytes[s->file]) {
		s->file++;
		s->at = 0;
		s->number = 0;
	}
	if (s->file == s->t->n)
		return END;
	p = s->t->data[s->file] + s->at;
	left = s->t->bytes[s->file] - s->at;
	if (f->kind == EM_FORMAT_CSV) {
		*record = p;
		return split_csv(s, p, left, n);
	}
	if (f->kind == EM_FORMAT_DELIMITED) {
		while (length < left && p[length] != f->delimiter)
			length++;
		if (length > s->t->longest)
			return TOO_LONG;
		s->at += (size_t)length + (length < left);
	} else {
		if (left < f->width)
			return CUT_OFF;
		for (i = 0; i < f->width; i++)
			length = length << 8 | p[(f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? i : f->width - 1 - i];
		if (length > s->t->longest)
			return TOO_LONG;
		if (length > left - f->width)
			return CUT_OFF;
		p += f->width;
		s->at += f->width + (size_t)length;
	}
	s->number++;
	*record = p;
	*n = (size_t)length;
	return RECORD;
}

static void add(texts *t, uint32_t file, unsigned char byte, size_t n)
{
	const size_t room = BYTES_MOST - t->bytes[file];

	if (n > room)
		n = room;
	memset(t->data[file] + t->bytes[file], byte, n);
	t->bytes[file] += n;
}

static void add_record(texts *t, uint32_t file, size_t n)
{
	const em_format *f = &t->format;
	uint32_t i;

	for (i = 0; f->kind == EM_FORMAT_PREFIXED && i < f->width; i++) {
		const uint32_t byte = (f->flags & EM_FORMAT_BIG_ENDIAN) != 0 ? f->width - 1 - i : i;

		add(t, file, (unsigned char)(byte < 4 ? n >> 8 * byte : 0), 1);
	}
	add(t, file, (unsigned char)(f->delimiter + 1), n);
	if (f->kind != EM_FORMAT_PREFIXED)
		add(t, file, (unsigned char)f->delimiter, 1);
}

/* One of what matters in CSV. */
static void add_csv(texts *t, uint32_t file, unsigned which)
{
	const unsigned char separator = (unsigned char)t->format.separator;
	const unsigned char delimiter = (unsigned char)t->format.delimiter;
	const unsigned char byte[] = { '"', '"', '"', separator, delimiter, 'a' };
	size_t i;

	if (which < sizeof byte)
		add(t, file, byte[which], 1);
	for (i = 0; which >= sizeof byte && i < sizeof mark; i++)
		add(t, file, mark[i], 1);
}

static void write_texts(texts *t, const uint8_t *p, const uint8_t *end)
{
	uint32_t file = 0;

	while (end - p >= 2) {
		const uint8_t op = *p++, arg = *p++;

		switch (op % 8) {
		case 0:
			add(t, file, arg, (size_t)op / 8 * 200 + 1);
			break;
		case 1:
		case 2:
			add_record(t, file, (size_t)op / 8 * 256 + arg);
			break;
		case 3:
			/* As long as is allowed, more or less. */
			add_record(t, file, (size_t)t->longest + arg % 3 - (t->longest > 0));
			break;
		case 4:
			add(t, file, (unsigned char)t->format.delimiter, (size_t)op / 8 * arg);
			break;
		case 5:
			if (file + 1 < t->n)
				file++;
			break;
		default:
			if (t->format.kind != EM_FORMAT_CSV) {
				add(t, file, arg, 1);
				break;
			}
			add_csv(t, file, arg % 8u);
			add_csv(t, file, arg / 8u % 8u);
			add_csv(t, file, arg / 64u);
		}
	}
}

/* Regular files in memory, and pipes that hold everything already. */
static void make_files(texts *t, unsigned pipes)
{
	uint32_t i;

	for (i = 0; i < t->n; i++) {
		int ends[2];

		if ((pipes >> i & 1) != 0) {
			CHECK(pipe(ends) == 0);
			t->fd[i] = ends[0];
		} else {
			t->fd[i] = ends[1] = memfd_create("records", 0);
			CHECK(t->fd[i] >= 0);
		}
		CHECK(write(ends[1], t->data[i], t->bytes[i]) == (ssize_t)t->bytes[i]);
		if (ends[1] != t->fd[i])
			close(ends[1]);
		snprintf(t->path[i], sizeof t->path[i], "/proc/self/fd/%d", t->fd[i]);
	}
}

static uint64_t check_chunk(const texts *t, const emi_chunk *chunk, splitter *s)
{
	const unsigned char *at = chunk->data, *end = at + chunk->bytes, *record = NULL;
	uint64_t records = 0;

	CHECK(chunk->bytes > 0);
	for (; at < end; records++) {
		size_t n, want = 0;
		const unsigned char *got = emi_record_take(&t->format, &at, end, &n);

		CHECK(split(s, &record, &want) == RECORD);
		CHECK(n == want && memcmp(got, record, n) == 0);
		CHECK(chunk->file == s->file);
	}
	CHECK(at == end);
	return records;
}

static void check_end(const texts *t, em_status st, const em_errinfo *err, splitter *s)
{
	const uint32_t file = s->file;
	const size_t at = s->at;
	const unsigned char *record;
	char want[256];
	size_t n;
	found f;

	while ((f = split(s, &record, &n)) == RECORD)
		;
	if (f == END) {
		CHECK(st == EM_END);
		CHECK(file == t->n || at == t->bytes[file]);
		return;
	}
	CHECK(st == EM_ERR_FORMAT);
	CHECK(err->status == EM_ERR_FORMAT);
	/* What comes before the bad file was given; empty ones and the end of the last are nothing to give. */
	CHECK(file == s->file || at == t->bytes[file]);
	if (f == CUT_OFF)
		snprintf(want, sizeof want, "%s: record %" PRIu64 " is cut off by the end of the file",
			 t->path[s->file], s->number + 1);
	else if (f == OPEN)
		snprintf(want, sizeof want, "%s:%" PRIu64 ": a quote is opened here and never closed", t->path[s->file],
			 s->number + 1);
	else if (f == OPEN_LONG)
		snprintf(want, sizeof want, "%s:%" PRIu64 ": a quote is opened here and not closed within the %" PRIu64
			 " bytes that a record may have", t->path[s->file], s->number + 1, t->longest);
	else if (t->format.kind == EM_FORMAT_PREFIXED)
		snprintf(want, sizeof want, "%s: record %" PRIu64 " is longer than %" PRIu64 " bytes", t->path[s->file],
			 s->number + 1, t->longest);
	else
		snprintf(want, sizeof want, "%s:%" PRIu64 ": line is longer than %" PRIu64 " bytes", t->path[s->file],
			 s->number + 1, t->longest);
	CHECK(strcmp(err->text, want) == 0);
	CHECK(err->record == s->number + 1);
}

/* A chunk with the consumer, and where the splitter stood in front of it. */
typedef struct holding {
	emi_chunk chunk;
	splitter before;
	uint64_t records;
} holding;

static void give_back(emi_records *r, const texts *t, holding *h)
{
	/* Nobody may have written to it. */
	CHECK(check_chunk(t, &h->chunk, &h->before) == h->records);
	emi_records_release(r, &h->chunk, h->records);
}

static void consume(emi_records *r, const texts *t, uint32_t hold)
{
	holding held[HELD_MOST];
	splitter s = { t, 0, 0, 0 };
	uint32_t first = 0, n = 0;
	em_errinfo err;
	em_status st;

	for (;;) {
		holding *h = &held[(first + n) % HELD_MOST];

		memset(&err, 0, sizeof err);
		if (n < hold && (st = emi_records_next(r, &h->chunk, NULL, NULL, &err)) != EM_ERR_STATE) {
			if (st != EM_OK)
				break;
			h->before = s;
			h->records = check_chunk(t, &h->chunk, &s);
			n++;
			continue;
		}
		CHECK(n > 0);
		give_back(r, t, &held[first]);
		first = (first + 1) % HELD_MOST;
		n--;
	}
	for (; n > 0; n--, first = (first + 1) % HELD_MOST)
		give_back(r, t, &held[first]);
	check_end(t, st, &err, &s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	em_ctx_opts ctx_opts = EM_CTX_OPTS_INIT;
	em_format format = EM_FORMAT_INIT;
	const char *paths[FILES_MOST];
	emi_records_opts opts;
	emi_records *r;
	em_ctx *ctx;
	texts t;
	uint32_t i;

	if (bytes < HEADER)
		return 0;
	memset(&t, 0, sizeof t);
	memset(&opts, 0, sizeof opts);
	format.kind = data[0] % 2 != 0 ? EM_FORMAT_PREFIXED : EM_FORMAT_DELIMITED;
	if (format.kind == EM_FORMAT_PREFIXED) {
		format.width = 1u << data[0] / 2 % 4;
		format.flags = (data[0] & 8) != 0 ? EM_FORMAT_BIG_ENDIAN : 0;
	}
	format.delimiter = data[1];
	if (format.kind == EM_FORMAT_DELIMITED && (data[0] & 16) != 0 && format.delimiter != '"') {
		format.kind = EM_FORMAT_CSV;
		format.separator = data[0] / 2u % 8u != 0 ? ',' : mark[data[0] / 32u % 3u];
	}
	opts.format = t.format = format;
	opts.chunk_bytes = (size_t)4096 * (1 + data[2] % 4);
	opts.chunks = 2 + data[2] / 4 % 3;
	opts.longest = t.longest = (uint64_t)data[3] * 256 + data[4];
	t.n = 1 + data[5] % FILES_MOST;
	for (i = 0; i < t.n; i++) {
		t.data[i] = malloc(BYTES_MOST);
		CHECK(t.data[i]);
		paths[i] = t.path[i];
	}
	write_texts(&t, data + HEADER, data + bytes);
	make_files(&t, data[5] / 4u);

	ctx_opts.memory = 16u << 20;
	ctx_opts.threads = 1;
	ctx_opts.backend = "syscall";
	CHECK(em_ctx_open(&ctx, &ctx_opts) == EM_OK);
	CHECK(emi_records_open(&r, ctx, paths, t.n, &opts, NULL, NULL) == EM_OK);
	consume(r, &t, 1 + data[2] / 16u % opts.chunks);
	emi_records_close(r);
	em_ctx_close(ctx);
	for (i = 0; i < t.n; i++) {
		close(t.fd[i]);
		free(t.data[i]);
	}
	return 0;
}
