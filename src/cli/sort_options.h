/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_options.h -- the options of extmem sort: what they are, how they are read, and what they come to.
 */
#ifndef CLI_SORT_OPTIONS_H
#define CLI_SORT_OPTIONS_H

#include <extmem/ctx.h>
#include <extmem/sort.h>

#include "cli/files0.h"
#include "cli/record_keys.h"
#include "cli/text_options.h"

typedef struct sort_options {
	const char *command;
	int binary;             /* --record-size was given: binary records, not lines */
	key_options keys;       /* of binary records */
	text_options text;      /* of lines */
	em_format format;       /* of lines; what `sort' points to */
	em_ctx_opts ctx;
	em_sort_opts sort;
	const char *buffer_size; /* what -S said, for messages */
	uint64_t percent;       /* -S was so many percent of the memory; 0: it was not */
	const char *dir;
	const char *output;
	const char *files0_from;
	files0 files0;
	const char **input;     /* the array is owned */
	uint32_t inputs;
	int check;              /* 'c', 'C' or 0 */
	int merge;
	int debug;
	int plan;
	int stats;              /* STATS_... */
	int progress_mode;
	int verbose;
} sort_options;

/* Read the arguments.  Returns -1 to go on, otherwise the exit status.  so is to be freed in any case. */
int sort_options_read(sort_options *so, int argc, char **argv);

/* Make the order. */
int sort_options_order(const sort_options *so, em_ctx *ctx, em_order **out);

void sort_options_free(sort_options *so);

#endif
