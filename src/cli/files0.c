/* SPDX-License-Identifier: BSL-1.0 */
/*
 * files0.c -- a list of names of files, each ended by a NUL.
 *
 * All of it is read before any name is used: there are no messages about the list once work has begun.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/files0.h"
#include "cli/message.h"
#include "cli/quote.h"

/* All of a stream with a NUL behind it; NULL with errno. */
static char *read_all(FILE *in, size_t *bytes)
{
	size_t room = 4096, n = 0, got;
	char *text = malloc(room), *more;

	if (!text)
		return NULL;
	while ((got = fread(text + n, 1, room - n - 1, in)) > 0) {
		n += got;
		if (room - n > 1)
			continue;
		more = room > SIZE_MAX / 2 ? NULL : realloc(text, room * 2);
		if (!more) {
			free(text);
			errno = ENOMEM;
			return NULL;
		}
		text = more;
		room *= 2;
	}
	if (ferror(in)) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*bytes = n;
	return text;
}

/* Find the names in the text. */
static int split(files0 *f, const char *command, const char *path, size_t bytes)
{
	const char *p;
	size_t n = 0;

	for (p = f->text; p < f->text + bytes; p += strlen(p) + 1)
		n++;
	if (!n) {
		char quoted[QUOTE_TEXT];

		message(command, "no input from %s", quote(path, quoted));
		return -1;
	}
	f->name = calloc(n, sizeof(*f->name));
	f->memory = bytes + n * sizeof(*f->name);
	if (!f->name) {
		message_errno(command, path, ENOMEM);
		return -1;
	}
	for (p = f->text; p < f->text + bytes; p += strlen(p) + 1) {
		/* Also in a list that is no standard input: whoever wants that has an operand for it. */
		if (!strcmp(p, "-")) {
			message(command, "when reading file names from stdin, no file name of '-' allowed");
			return -1;
		}
		if (!*p) {
			message(command, "%s:%zu: invalid zero-length file name", quote_name(path), f->n + 1);
			return -1;
		}
		f->name[f->n++] = p;
	}
	return 0;
}

int files0_read(files0 *f, const char *command, const char *path)
{
	const int standard = !strcmp(path, "-");
	char quoted[QUOTE_TEXT];
	FILE *in = standard ? stdin : fopen(path, "rb");
	size_t bytes = 0;
	int ret = -1;

	memset(f, 0, sizeof(*f));
	if (!in) {
		message(command, "open failed: %s: %s", quote_name(path), strerror(errno));
		return -1;
	}
	f->text = read_all(in, &bytes);
	if (!f->text)
		message(command, "cannot read file names from %s", quote(path, quoted));
	else
		ret = split(f, command, path, bytes);
	if (!standard)
		fclose(in);
	return ret;
}

void files0_free(files0 *f)
{
	free(f->text);
	free(f->name);
	memset(f, 0, sizeof(*f));
}
