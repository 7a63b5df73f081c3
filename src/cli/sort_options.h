/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_options.h -- the options of extmem sort and its relatives: what they are, how they are read, and what they come
 * to.
 *
 * Commands that sort or merge have most options in common.  What is different is a dialect.
 */
#ifndef CLI_SORT_OPTIONS_H
#define CLI_SORT_OPTIONS_H

#include <extmem/ctx.h>
#include <extmem/sort.h>
#include <extmem/unique.h>

#include "cli/context_options.h"
#include "cli/files0.h"
#include "cli/record_keys.h"
#include "cli/text_options.h"

typedef struct sort_options sort_options;

typedef struct sort_dialect {
	const char *(*help)(void);
	const char *letters;    /* of its own options, as in getopt_long()'s list */
	const struct option *known_options; /* its long ones that are known from elsewhere, or NULL */
	const struct option *own_options;   /* and others, or NULL */
	/* Takes one of its own options, before all others are tried: 0 taken, 1 it is none, -1 after a message; or
	 * NULL. */
	int (*take)(sort_options *so, const option_reader *r, int c, const char *arg);
	/* All options have been read: complete and check them, if there is anything to do.  -1 after a message; or
	 * NULL. */
	int (*finish)(sort_options *so);
	int obsolete_keys;      /* keys may be spelled +POS1 -POS2 */
	enum { SORT_FILES, MERGE_FILES, UNIQUE_FILES, TOP_FILES, SHUFFLE_FILES, LOAD_TREE } kind;
} sort_dialect;

/* LOAD_TREE: what the tree is going to be. */
typedef struct load_options {
	uint64_t leaf_bytes;    /* 0: not given */
	uint64_t node_bytes;
	uint64_t fill;          /* percent */
	int duplicates;
	int presorted;
} load_options;

struct sort_options {
	const char *command;
	const sort_dialect *dialect;
	int binary;             /* --record-size was given: binary records, not lines */
	key_options keys;       /* of binary records */
	text_options text;      /* of lines */
	em_format format;       /* of lines; what `sort' points to */
	context_options context;
	em_sort_opts sort;
	const char *buffer_size; /* what -S said, for messages */
	const char *parallel_beyond; /* what --parallel said, if it is more than there can be */
	const char *batch_beyond; /* likewise --batch-size */
	const char *compress_program; /* what --compress-program said */
	int compress_given;     /* --scratch-compress was given */
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
	double interval;        /* seconds between tables of the disks; 0: none */
	int progress_mode;
	int verbose;
	uint64_t from, count;   /* TOP_FILES: ranks; SHUFFLE_FILES: how many */
	int counted;            /* count was given */
	int nothing;            /* no line or record is asked for, only the header */
	uint64_t seed;          /* SHUFFLE_FILES ... */
	int seeded;             /* ... and it was given */
	em_unique_opts unique;  /* UNIQUE_FILES; `sort' is to be pointed to */
	load_options btree;     /* LOAD_TREE */
};

/* Read the arguments.  Returns -1 to go on, otherwise the exit status.  so is to be freed in any case. */
int sort_options_read(sort_options *so, const sort_dialect *dialect, int argc, char **argv);

/* Take the argument of -n or --count, which is `option': `count' is to be at least so many. */
int sort_options_count(sort_options *so, const char *option, const char *arg, uint64_t least);

/* Make the order. */
int sort_options_order(const sort_options *so, em_ctx *ctx, em_order **out);

void sort_options_free(sort_options *so);

#endif
