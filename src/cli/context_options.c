/* SPDX-License-Identifier: BSL-1.0 */
/* context_options.c -- see context_options.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "cli/context_options.h"

enum { OPT_CONFIG = OPTION_CONTEXT, OPT_NO_CONFIG, OPT_NO_WARNINGS, OPT_DISK, OPT_SCRATCH_MAX, OPT_DIRECT, OPT_BACKEND,
       OPT_ISA };

const struct option context_long_options[] = {
	{ "temporary-directory", required_argument, NULL, 'T' },
	{ NULL, 0, NULL, 0 },
};

const struct option context_own_long_options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "no-config", no_argument, NULL, OPT_NO_CONFIG },
	{ "no-warnings", no_argument, NULL, OPT_NO_WARNINGS },
	{ "disk", required_argument, NULL, OPT_DISK },
	{ "scratch-max", required_argument, NULL, OPT_SCRATCH_MAX },
	{ "direct", required_argument, NULL, OPT_DIRECT },
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "isa", required_argument, NULL, OPT_ISA },
	{ NULL, 0, NULL, 0 },
};

int context_options_init(context_options *c, const char *command, option_reader *r)
{
	static const int files[] = { OPT_CONFIG, OPT_NO_CONFIG, 0 };
	static const int answers[] = { OPTION_HELP, OPTION_VERSION, 0 };
	const em_ctx_opts none = EM_CTX_OPTS_INIT;
	const char *file = NULL, *unused;

	memset(c, 0, sizeof(*c));
	c->ctx = none;
	/* Who asks for help may have trouble with just that file. */
	if (option_find_last(r, answers, &unused) || option_find_last(r, files, &file) == OPT_NO_CONFIG ||
	    (file && !*file))
		return 0;
	return config_read(c, command, file);
}

int context_options_direct(const char *command, const char *option, const char *arg, int32_t *out)
{
	static const char *const word[] = { "off", "try", "on" };
	static const int32_t value[] = { EM_DIRECT_OFF, EM_DIRECT_TRY, EM_DIRECT_ON };
	uint32_t i;

	if (option_word(command, option, arg, word, 3, &i))
		return -1;
	*out = value[i];
	return 0;
}

int context_options_take(context_options *c, const char *command, int option, const char *arg)
{
	switch (option) {
	case 'T':
		return scratch_disks_directory(&c->scratch, command, arg);
	case OPT_DISK:
		return scratch_disks_take(&c->scratch, command, "--disk", arg);
	case OPT_SCRATCH_MAX:
		return option_size(command, "--scratch-max", arg, 0, UINT64_MAX, &c->ctx.scratch_max);
	case OPT_DIRECT:
		return context_options_direct(command, "--direct", arg, &c->ctx.direct);
	case OPT_BACKEND:
		c->ctx.backend = arg;
		return 0;
	case OPT_ISA:
		c->ctx.isa = arg;
		return 0;
	case OPT_NO_WARNINGS:
		c->no_warnings = 1;
		return 0;
	case OPT_CONFIG:
	case OPT_NO_CONFIG:
		/* What they say was done before. */
		return 0;
	default:
		return 1;
	}
}

/* A context takes a quarter of the memory there is by default. */
static void apply_percent(context_options *c)
{
	em_ctx *ctx = NULL;
	uint64_t whole, bytes;

	if (!c->percent || em_ctx_open(&ctx, NULL) != EM_OK)
		return;
	whole = em_ctx_memory(ctx);
	em_ctx_close(ctx);
	whole = whole > UINT64_MAX / 4 ? UINT64_MAX : whole * 4;
	bytes = c->percent > UINT64_MAX / (whole / 100 + 1) ? UINT64_MAX : whole / 100 * c->percent;
	if (bytes > c->ctx.memory)
		c->ctx.memory = bytes;
}

int context_options_apply(context_options *c, const char *command)
{
	apply_percent(c);
	return scratch_disks_apply(&c->scratch, command, &c->ctx);
}

void context_options_free(context_options *c)
{
	scratch_disks_free(&c->scratch);
	free(c->file);
	free(c->text);
	memset(c, 0, sizeof(*c));
}
