/* SPDX-License-Identifier: BSL-1.0 */
/*
 * debug_keys.c -- marking the keys of the lines that are written to standard output.
 *
 * Under each line stands a line for each key, in which '_' is below the characters of the key, and one for the
 * comparison of whole lines where keys may be equal.  A tab is shown as '>', so that one byte is one column; control
 * characters take none.  A newline in quotes of CSV is shown as a tab is, so that a record is one line.
 *
 * The sort writes to standard output as always, but that is a pipe here, whose other end a thread reads.  So
 * what is shown is what sorting and merging really give.  Where no thread can be started it is a temporary file in
 * place of the pipe, which is read at the end.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/debug_keys.h"
#include "cli/message.h"
#include "cli/record_reader.h"

static size_t columns(const char *p, size_t n)
{
	size_t i, width = 0;

	for (i = 0; i < n; i++)
		width += p[i] == '\t' || ((unsigned char)p[i] >= ' ' && p[i] != 127);
	return width;
}

static void put_times(char c, size_t n, FILE *out)
{
	while (n--)
		putc(c, out);
}

/* Mark the part of a line from begin to end. */
static void put_mark(const char *line, size_t begin, size_t end, FILE *out)
{
	const size_t width = columns(line + begin, end - begin);

	put_times(' ', columns(line, begin), out);
	if (width)
		put_times('_', width, out);
	else
		fputs("^ no match for key", out);
	putc('\n', out);
}

static void put_line(const char *line, size_t n, FILE *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		putc(line[i] == '\t' ? '>' : line[i], out);
	putc('\n', out);
}

static int mark_keys(const debug_keys *d, const char *line, size_t n)
{
	const text_options *to = d->text;
	size_t begin, end;
	uint32_t i;

	for (i = 0; i < to->n; i++) {
		if (em_text_find(d->order, i, line, n, &begin, &end) != EM_OK)
			return -1;
		put_mark(line, begin, end, d->out);
	}
	if (!to->n || !(to->stable || to->unique))
		put_mark(line, 0, n, d->out);
	return 0;
}

/* Newlines of CSV are in quotes, where a tab is as good for all keys. */
static void hide_newlines(const debug_keys *d, record_reader *r)
{
	size_t i;

	for (i = 0; d->text->csv && !d->text->zero && i < r->bytes; i++)
		if (r->record[i] == '\n')
			r->record[i] = '\t';
}

/* 0, or an errno. */
static int mark_record(const debug_keys *d, record_reader *r, uint64_t *header)
{
	hide_newlines(d, r);
	errno = 0;
	put_line(r->record, r->bytes, d->out);
	if (*header)
		--*header;
	else if (mark_keys(d, r->record, r->bytes))
		return EINVAL;
	return !ferror(d->out) ? 0 : errno ? errno : EIO;
}

/* Nothing more is to be shown, but the writer would wait for ever if nobody read what it writes. */
static void read_rest(FILE *in)
{
	char rest[4096];

	while (fread(rest, 1, sizeof(rest), in))
		;
}

static void *mark_lines(void *user)
{
	debug_keys *d = user;
	uint64_t header = d->text->header;
	record_reader r = { 0 };
	int found = 0;

	text_options_format(d->text, &r.format);
	r.in = d->in;
	while (!d->failed && (found = record_reader_next(&r)) > 0)
		d->failed = mark_record(d, &r, &header);
	if (found < 0)
		d->failed = r.failed;
	if (d->failed)
		read_rest(d->in);
	record_reader_free(&r);
	return NULL;
}

/* There is no thread: put a temporary file in place of the pipe.  0, or an errno. */
static int keep_lines(debug_keys *d)
{
	FILE *file = tmpfile();
	int e;

	if (!file)
		return errno;
	if (dup2(fileno(file), STDOUT_FILENO) < 0) {
		e = errno;
		fclose(file);
		return e;
	}
	fclose(d->in);
	d->in = file;
	return 0;
}

int debug_keys_begin(debug_keys *d, const text_options *text, const em_order *order, const char *command)
{
	int end[2] = { -1, -1 };
	int out = -1;

	memset(d, 0, sizeof(*d));
	d->text = text;
	d->order = order;
	d->command = command;
	d->standard = dup(STDOUT_FILENO);
	out = dup(STDOUT_FILENO);
	if (d->standard < 0 || out < 0 || pipe(end))
		goto fail;
	d->in = fdopen(end[0], "r");
	d->out = fdopen(out, "w");
	if (!d->in || !d->out || dup2(end[1], STDOUT_FILENO) < 0)
		goto fail;
	close(end[1]);
	end[1] = -1;
	d->threaded = !pthread_create(&d->thread, NULL, mark_lines, d);
	errno = d->threaded ? 0 : keep_lines(d);
	if (!errno)
		return 0;
	(void)dup2(d->standard, STDOUT_FILENO);
fail:
	message_errno(command, "--debug", errno);
	if (d->in)
		fclose(d->in);
	else if (end[0] >= 0)
		close(end[0]);
	if (end[1] >= 0)
		close(end[1]);
	if (d->out)
		fclose(d->out);
	else if (out >= 0)
		close(out);
	if (d->standard >= 0)
		close(d->standard);
	return -1;
}

int debug_keys_end(debug_keys *d)
{
	/* This was the last writer: the thread finds the end. */
	(void)dup2(d->standard, STDOUT_FILENO);
	close(d->standard);
	if (d->threaded) {
		pthread_join(d->thread, NULL);
	} else {
		rewind(d->in);
		mark_lines(d);
	}
	fclose(d->in);
	if (fclose(d->out) && !d->failed)
		d->failed = errno;
	if (!d->failed)
		return 0;
	message_errno(d->command, "standard output", d->failed);
	return -1;
}
