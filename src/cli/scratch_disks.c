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

#include "cli/message.h"
#include "cli/options.h"
#include "cli/scratch_directory.h"

struct scratch_disk {
	em_disk_opts opts;
	char *text;             /* the argument, cut to pieces */
	const char *option;     /* that it was given to, for messages */
	em_simdisk sim;
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

static int parse(scratch_disk *d, const char *command, const char *arg)
{
	em_errinfo err;

	if (em_disk_parse(&d->opts, &d->sim, d->text, &err) != EM_OK) {
		/* Nothing that could be quoted is wrong with what is empty. */
		if (!*d->text)
			message(command, "%s %s: %s", d->option, arg, err.text);
		else
			message(command, "%s%s %s", d->option, err.offset ? "" : ":", err.text);
		return -1;
	}
	if ((d->opts.flags & EM_DISK_FIXED) && !d->opts.capacity) {
		message(command, "%s %s: what is fixed is a size, which is missing", d->option, arg);
		return -1;
	}
	return d->opts.backend ? scratch_disks_backend(command, d->opts.backend) : 0;
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
