/* SPDX-License-Identifier: BSL-1.0 */
/*
 * config.c -- the configuration file: what options say every time, said once.
 *
 *	# scratch is on two disks
 *	disk = /fast/tmp,200G
 *	disk = /other\, slower/tmp
 *	block-size = 2M
 *
 * A line is empty, a comment, or a name, an equals sign and a value; blanks around these do not count, and there is no
 * quoting, so a number sign within a path belongs to it.  A name stands there once, but for `disk'.  Everything else is
 * an error: what is misspelt is not ignored.  Paths are absolute, as nobody knows where the command will be run.
 *
 * The library reads no file that it was not given, so this is the command's.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/message.h"
#include "cli/quote.h"

#define NAME "extmem/config"
#define FILE_MOST ((size_t)1 << 20)
#define PATH_ROOM 4096
#define WHERE_ROOM (PATH_ROOM + 64)
#define BLANKS " \t\r\v\f"
#define BLOCK_UNIT 4096u
#define BLOCK_MOST ((uint64_t)1 << 30)
#define THREADS_MOST 512u

/* Each takes a value; `where' begins the message. */
static int take_disk(context_options *c, const char *where, const char *name, const char *value)
{
	if (*value && *value != '/' && *value != ',') {
		message(where, "%s %s: the path must begin with a slash", name, value);
		return -1;
	}
	return scratch_disks_take(&c->scratch, where, name, value);
}

static int take_memory(context_options *c, const char *where, const char *name, const char *value)
{
	const size_t n = strlen(value);
	char number[24];

	if (!n || value[n - 1] != '%' || n > sizeof(number))
		return option_size(where, name, value, em_ctx_min_memory(), UINT64_MAX, &c->ctx.memory);
	memcpy(number, value, n - 1);
	number[n - 1] = '\0';
	return option_number(where, name, number, 1, 100, &c->percent);
}

static int take_threads(context_options *c, const char *where, const char *name, const char *value)
{
	uint64_t n;

	if (option_number(where, name, value, 1, THREADS_MOST, &n))
		return -1;
	c->ctx.threads = (uint32_t)n;
	return 0;
}

static int take_block_size(context_options *c, const char *where, const char *name, const char *value)
{
	if (option_size(where, name, value, BLOCK_UNIT, BLOCK_MOST, &c->ctx.block_bytes))
		return -1;
	if (c->ctx.block_bytes % BLOCK_UNIT == 0)
		return 0;
	message(where, "%s %s: must be a multiple of %u", name, value, BLOCK_UNIT);
	return -1;
}

static int take_scratch_max(context_options *c, const char *where, const char *name, const char *value)
{
	return option_size(where, name, value, 0, UINT64_MAX, &c->ctx.scratch_max);
}

static int take_direct(context_options *c, const char *where, const char *name, const char *value)
{
	return context_options_direct(where, name, value, &c->ctx.direct);
}

static int take_backend(context_options *c, const char *where, const char *name, const char *value)
{
	(void)name;
	c->ctx.backend = value;
	return scratch_disks_backend(where, value);
}

static int take_warnings(context_options *c, const char *where, const char *name, const char *value)
{
	static const char *const word[] = { "on", "off" };
	uint32_t i;

	if (option_word(where, name, value, word, 2, &i))
		return -1;
	c->no_warnings = i == 1;
	return 0;
}

typedef struct config_name {
	const char *name;
	int (*take)(context_options *c, const char *where, const char *name, const char *value);
	int repeats;
} config_name;

static const config_name names[] = {
	{ "disk", take_disk, 1 },
	{ "memory", take_memory, 0 },
	{ "threads", take_threads, 0 },
	{ "block-size", take_block_size, 0 },
	{ "scratch-max", take_scratch_max, 0 },
	{ "direct", take_direct, 0 },
	{ "backend", take_backend, 0 },
	{ "warnings", take_warnings, 0 },
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

typedef struct config {
	context_options *c;
	const char *command, *path;
	unsigned long line;
	unsigned long seen[NAMES]; /* the line that each name stood in, 0: none so far */
	char where[WHERE_ROOM];
} config;

static void name_list(char *out, size_t room)
{
	size_t i, n = 0;

	for (i = 0; i < NAMES; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s",
				      i == 0	       ? ""
				      : i + 1 == NAMES ? " or "
						       : ", ",
				      names[i].name);
}

static int set(config *f, const char *name, const char *value)
{
	char quoted[QUOTE_TEXT], list[128];
	size_t i;

	for (i = 0; i < NAMES && strcmp(name, names[i].name); i++)
		continue;
	if (i == NAMES) {
		name_list(list, sizeof(list));
		message(f->where, "unknown name %s; it must be %s", quote(name, quoted), list);
		return -1;
	}
	if (f->seen[i] && !names[i].repeats) {
		message(f->where, "%s was given before, in line %lu", name, f->seen[i]);
		return -1;
	}
	f->seen[i] = f->line;
	return names[i].take(f->c, f->where, name, value);
}

static char *trim(char *text)
{
	size_t n;

	text += strspn(text, BLANKS);
	for (n = strlen(text); n && strchr(BLANKS, text[n - 1]); n--)
		continue;
	text[n] = '\0';
	return text;
}

/* A line of n bytes, behind which there is a NUL. */
static int read_line(config *f, char *line, size_t n)
{
	char *equals;

	snprintf(f->where, sizeof(f->where), "%s: %s:%lu", f->command, f->path, f->line);
	if (strlen(line) != n) {
		message(f->where, "there is a NUL byte in the line");
		return -1;
	}
	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals || equals == line) {
		message(f->where, "neither a comment nor NAME = VALUE");
		return -1;
	}
	*equals = '\0';
	return set(f, trim(line), trim(equals + 1));
}

/* n bytes, behind which there is room for one more. */
static int read_lines(config *f, char *text, size_t n)
{
	char *end = text + n, *next;

	for (; text < end; text = next + 1) {
		next = memchr(text, '\n', (size_t)(end - text));
		if (!next)
			next = end;
		*next = '\0';
		f->line++;
		if (read_line(f, text, (size_t)(next - text)))
			return -1;
	}
	return 0;
}

/* All of a file to c->text; -1 after a message. */
static int read_text(context_options *c, const char *command, const char *path, int fd, size_t *bytes)
{
	size_t n = 0;
	ssize_t got = 0;

	c->text = malloc(FILE_MOST + 1);
	c->file = strdup(path);
	if (!c->text || !c->file) {
		message_errno(command, path, ENOMEM);
		return -1;
	}
	while (n <= FILE_MOST && ((got = read(fd, c->text + n, FILE_MOST + 1 - n)) > 0 || (got < 0 && errno == EINTR)))
		n += got > 0 ? (size_t)got : 0;
	if (got < 0) {
		message_errno(command, path, errno);
		return -1;
	}
	if (n > FILE_MOST) {
		message(command, "%s: larger than a configuration file can be, %zu bytes", path, FILE_MOST);
		return -1;
	}
	*bytes = n;
	return 0;
}

static int read_config(context_options *c, const char *command, const char *path, int fd)
{
	config f = { 0 };
	size_t n;

	if (read_text(c, command, path, fd, &n))
		return -1;
	f.c = c;
	f.command = command;
	f.path = path;
	if (read_lines(&f, c->text, n))
		return -1;
	/* What options say takes the place of these. */
	scratch_disks_yield(&c->scratch, c->file);
	return 0;
}

/* Is it not there?  Where one may not even look is nothing of ours. */
static int absent(const char *path, int e)
{
	struct stat sb;

	return e == ENOENT || e == ENOTDIR || (e == EACCES && stat(path, &sb) && errno == EACCES);
}

/* The file in a directory that must be absolute, of n bytes: 1 if it is not there. */
static int try_in(context_options *c, const char *command, const char *dir, size_t n, const char *below)
{
	char path[PATH_ROOM];
	int fd, length, ret;

	if (*dir != '/')
		return 1;
	length = snprintf(path, sizeof(path), "%.*s/%s" NAME, (int)(n < PATH_ROOM ? n : PATH_ROOM), dir, below);
	if (length < 0 || (size_t)length >= sizeof(path))
		return 1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && absent(path, errno))
		return 1;
	if (fd < 0) {
		message_errno(command, path, errno);
		return -1;
	}
	ret = read_config(c, command, path, fd);
	close(fd);
	return ret;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

static int read_usual(context_options *c, const char *command)
{
	const char *home = variable("XDG_CONFIG_HOME"), *dirs = variable("XDG_CONFIG_DIRS");
	const char *below = "";
	int ret;

	if (!*home) {
		home = variable("HOME");
		below = ".config/";
	}
	ret = try_in(c, command, home, strlen(home), below);
	for (dirs = *dirs ? dirs : "/etc/xdg"; ret > 0 && *dirs; dirs += *dirs == ':') {
		const size_t n = strcspn(dirs, ":");

		ret = try_in(c, command, dirs, n, "");
		dirs += n;
	}
	return ret < 0 ? -1 : 0;
}

int config_read(context_options *c, const char *command, const char *file)
{
	int fd, ret;

	if (!file)
		return read_usual(c, command);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		message_errno(command, file, errno);
		return -1;
	}
	ret = read_config(c, command, file, fd);
	close(fd);
	return ret;
}
