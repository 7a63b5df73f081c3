/* SPDX-License-Identifier: BSL-1.0 */
/* scratch_disks.c -- see scratch_disks.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/scratch_disks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <extmem/sys/simdisk.h>

#include "cli/context_options.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/scratch_directory.h"

#define QUEUE_MOST 4096u
#define PART_ROOM 64
#define PATH_MOST 4096

struct scratch_disk {
	em_disk_opts opts;
	char *text;             /* the argument, cut to pieces */
	const char *option;     /* that it was given to, for messages */
	em_simdisk sim;
	int simulated;
};

static int no_memory(const char *command)
{
	message(command, "out of memory");
	return -1;
}

/* Forget what gives way. */
static void make_way(scratch_disks *s)
{
	if (s->yields)
		scratch_disks_free(s);
}

void scratch_disks_yield(scratch_disks *s, const char *file)
{
	s->yields = 1;
	s->from = file;
}

int scratch_disks_directory(scratch_disks *s, const char *command, const char *arg)
{
	const char **more;
	uint32_t i;

	make_way(s);
	if (!*arg) {
		message(command, "-T: the name is empty");
		return -1;
	}
	for (i = 0; i < s->dirs; i++)
		if (!strcmp(s->dir[i], arg))
			return 0;
	more = realloc(s->dir, (s->dirs + 1) * sizeof *more);
	if (!more)
		return no_memory(command);
	s->dir = more;
	s->dir[s->dirs++] = arg;
	return 0;
}

/* Cut the path off the front: a backslash takes the meaning from a comma or a backslash.  What is behind the comma, or
 * NULL. */
static char *cut_path(char *text)
{
	char *to = text;

	for (; *text && *text != ','; text++) {
		if (*text == '\\' && (text[1] == ',' || text[1] == '\\'))
			text++;
		*to++ = *text;
	}
	if (!*text)
		text = NULL;
	*to = '\0';
	return text ? text + 1 : NULL;
}

/* Cut off what is before the next comma.  What is behind it, or NULL. */
static char *cut(char *text)
{
	char *comma = strchr(text, ',');

	if (!comma)
		return NULL;
	*comma = '\0';
	return comma + 1;
}

/* What a part of the argument is called in messages. */
static const char *part(const scratch_disk *d, const char *name, char out[PART_ROOM])
{
	snprintf(out, PART_ROOM, "%s %s", d->option, name);
	return out;
}

static int take_direct(scratch_disk *d, const char *command, const char *value)
{
	char name[PART_ROOM];

	return context_options_direct(command, part(d, "direct", name), value, &d->opts.direct);
}

static int take_queue(scratch_disk *d, const char *command, const char *value)
{
	char name[PART_ROOM];
	uint64_t v;

	if (option_number(command, part(d, "queue", name), value, 0, QUEUE_MOST, &v))
		return -1;
	d->opts.queue_depth = (uint32_t)v;
	return 0;
}

/* What only simulated disks have, they know themselves. */
static int take_simulated(scratch_disk *d, const char *command, const char *option)
{
	em_errinfo err = { 0 };

	if (!d->simulated) {
		message(command, "%s %s: there is no such option%s", d->option, option,
			strchr(option, '=') ? " of disks that are not simulated (backend simdisk)" : "");
		return -1;
	}
	if (em_simdisk_parse(&d->sim, option, &err) == EM_OK)
		return 0;
	message(command, "%s %s: %s", d->option, option, err.text);
	return -1;
}

static int take_option(scratch_disk *d, const char *command, const char *option)
{
	if (!strcmp(option, "force"))
		d->opts.flags |= EM_DISK_FORCE;
	else if (!strcmp(option, "keep"))
		d->opts.flags |= EM_DISK_KEEP;
	else if (!strcmp(option, "fixed"))
		d->opts.flags |= EM_DISK_FIXED;
	else if (!strncmp(option, "direct=", 7))
		return take_direct(d, command, option + 7);
	else if (!strncmp(option, "queue=", 6))
		return take_queue(d, command, option + 6);
	else
		return take_simulated(d, command, option);
	return 0;
}

int scratch_disks_backend(const char *command, const char *name)
{
	em_ctx_opts opts = EM_CTX_OPTS_INIT;
	em_errinfo err = { 0 };
	em_ctx *ctx = NULL;
	em_status st;

	/* A context, which opens nothing, knows why one does not work. */
	opts.backend = name;
	opts.errinfo = &err;
	st = em_ctx_open(&ctx, &opts);
	em_ctx_close(ctx);
	if (st == EM_OK)
		return 0;
	message_errinfo(command, st, &err);
	return -1;
}

static int take_backend(scratch_disk *d, const char *command, const char *name)
{
	d->opts.backend = *name ? name : NULL;
	d->simulated = !strcmp(name, "simdisk") && em_simdisk_init(&d->sim, sizeof d->sim, NULL, NULL) == EM_OK;
	if (!d->simulated)
		return *name ? scratch_disks_backend(command, name) : 0;
	d->opts.backend = NULL;
	d->opts.custom = em_simdisk_backend(&d->sim);
	return 0;
}

static int parse(scratch_disk *d, const char *command, const char *arg)
{
	char *at = cut_path(d->text), *next, name[PART_ROOM];
	int field, wrong = 0;

	d->opts.path = d->text;
	if (!*d->text) {
		message(command, "%s %s: the path is empty", d->option, arg);
		return -1;
	}
	if (strlen(d->text) >= PATH_MOST) {
		message(command, "%s: the path is longer than %d bytes", d->option, PATH_MOST - 1);
		return -1;
	}
	for (field = 0; at && !wrong; at = next, field++) {
		next = cut(at);
		if (field == 0)
			wrong = *at ? option_size(command, part(d, "size", name), at, 0, UINT64_MAX, &d->opts.capacity)
				    : 0;
		else if (field == 1)
			wrong = take_backend(d, command, at);
		else
			wrong = take_option(d, command, at);
	}
	if (!wrong && (d->opts.flags & EM_DISK_FIXED) && !d->opts.capacity) {
		message(command, "%s %s: what is fixed is a size, which is missing", d->option, arg);
		return -1;
	}
	return wrong;
}

static int add(scratch_disks *s, const char *command, scratch_disk *d)
{
	scratch_disk **disk = realloc(s->disk, (s->disks + 1) * sizeof *disk);
	const em_disk_opts **opts;

	if (disk)
		s->disk = disk;
	opts = disk ? realloc(s->opts, (s->disks + 1) * sizeof *opts) : NULL;
	if (!opts)
		return no_memory(command);
	s->opts = opts;
	s->opts[s->disks] = &d->opts;
	s->disk[s->disks++] = d;
	return 0;
}

int scratch_disks_take(scratch_disks *s, const char *command, const char *option, const char *arg)
{
	static const em_disk_opts none = EM_DISK_OPTS_INIT;
	scratch_disk *d = calloc(1, sizeof *d);

	if (!d)
		return no_memory(command);
	make_way(s);
	d->opts = none;
	d->option = option;
	d->text = strdup(arg);
	if (!d->text)
		no_memory(command);
	else if (!parse(d, command, arg) && !add(s, command, d))
		return 0;
	free(d->text);
	free(d);
	return -1;
}

int scratch_disks_apply(scratch_disks *s, const char *command, em_ctx_opts *opts)
{
	const char *from = NULL;

	/* What is there for this command alone counts more than a file, and that more than what is there for all. */
	if (scratch_directory_own())
		make_way(s);
	if (!s->dirs && !s->disks) {
		if (scratch_disks_directory(s, command, scratch_directory(&from)))
			return -1;
		s->from = from;
	}
	if (!s->from)
		s->from = "options";
	if (s->dirs > EM_DISKS_MAX || s->disks > EM_DISKS_MAX - s->dirs) {
		message(command, "-T and --disk: there may be %u disks", EM_DISKS_MAX);
		return -1;
	}
	opts->dirs = s->dir;
	opts->ndirs = s->dirs;
	opts->disks = s->opts;
	opts->ndisks = s->disks;
	return 0;
}

void scratch_disks_free(scratch_disks *s)
{
	uint32_t i;

	for (i = 0; i < s->disks; i++) {
		free(s->disk[i]->text);
		free(s->disk[i]);
	}
	free(s->disk);
	free(s->opts);
	free(s->dir);
	memset(s, 0, sizeof *s);
}
