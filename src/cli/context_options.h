/* SPDX-License-Identifier: BSL-1.0 */
/*
 * context_options.h -- the options that are a context's: scratch disks and their limit, transfers, instruction set; and
 * the file that says what these, memory and threads are when no option does.
 */
#ifndef CLI_CONTEXT_OPTIONS_H
#define CLI_CONTEXT_OPTIONS_H

#include <extmem/ctx.h>

#include "cli/options.h"
#include "cli/scratch_disks.h"

typedef struct context_options {
	em_ctx_opts ctx;
	scratch_disks scratch;
	uint64_t percent;       /* memory is at least so many percent of what there is; 0: it was not given so */
	int no_warnings;
	char *file;             /* the configuration file that was read, or NULL; owned */
	char *text;             /* its text, to which names point; owned */
} context_options;

/* Their letters as in getopt_long()'s list, and their long names: those that the sort utility has, and others. */
#define CONTEXT_OPTION_LETTERS "T:"
extern const struct option context_long_options[];
extern const struct option context_own_long_options[];

/* Begin with the defaults, or what a configuration file has in their place; which one, the reader's arguments say.  0,
 * or -1 after a message. */
int context_options_init(context_options *c, const char *command, option_reader *r);

/* Take an option: 0 taken, 1 it is none of these, -1 after a message. */
int context_options_take(context_options *c, const char *command, int option, const char *arg);

/* All were taken: complete c->ctx, but for log and errinfo.  c must outlive the context.  0, or -1 after a message. */
int context_options_apply(context_options *c, const char *command);

/* Take the words off, try and on. */
int context_options_direct(const char *command, const char *option, const char *arg, int32_t *out);

void context_options_free(context_options *c);

#endif
