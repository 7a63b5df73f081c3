/* SPDX-License-Identifier: BSL-1.0 */
/*
 * options.h -- reading options and their arguments.
 *
 * All functions that return an int print a message that names the option and return -1 on failure, 0 on success.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <getopt.h>

#include <extmem/base.h>

/* A plain number, or a size with a unit, from least to most. */
int option_number(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		  uint64_t *out);
int option_size(const char *command, const char *option, const char *text, uint64_t least, uint64_t most,
		uint64_t *out);

/* The argument of --record-size. */
int option_record_size(const char *command, const char *text, uint64_t *out);

/* The name of a file or directory, which may be given once and is not empty; *out is NULL before. */
int option_name(const char *command, const char *option, const char *text, const char **out);

/* One of n words; *out is its index. */
int option_word(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		uint32_t *out);

/* A count as the sort utility reads it: blanks and a '+' may stand in front.  One that is too large is UINT64_MAX.
 * option is as it was spelled. */
int option_count(const char *command, const char *option, const char *text, uint64_t *out);

/*
 * One of n words, of which the beginning is enough.  shown lists them for the message, one line each or several in one.
 * *out is the index.
 */
int option_abbreviated(const char *command, const char *option, const char *text, const char *const *words, uint32_t n,
		       const char *shown, uint32_t *out);

/* Values of long options without a letter that every subcommand has. */
enum { OPTION_PROGRESS = 256, OPTION_NO_PROGRESS, OPTION_HELP, OPTION_VERSION, OPTION_RECORD_SIZE };

/* The first of those of text_options.c, of sort_resources.c, of context_options.c, of a subcommand's own, and of what
 * sort_options.c leaves to one. */
enum { OPTION_TEXT = 300, OPTION_RESOURCES = 400, OPTION_CONTEXT = 450, OPTION_OTHERS = 500, OPTION_DIALECT = 600 };

#define OPTIONS_MOST 64

/*
 * Reads options in the order in which they stand.  Long ones may be abbreviated.  Where an abbreviation fits options of
 * both lists, those of the first are meant: they are known from elsewhere, and scripts abbreviate them.
 */
typedef struct option_reader {
	int argc;
	char **argv;
	const char *letters;    /* as getopt_long() wants them, beginning with '-' */
	struct option first[OPTIONS_MOST], second[OPTIONS_MOST];
	char spelled[40];       /* the option read last, as it was given: "-S", "--buffer-size" */
} option_reader;

/* letters are getopt_long()'s; the names are lists that end with an entry of zeroes. */
void option_reader_init(option_reader *r, int argc, char **argv, const char *letters);
void option_reader_add(option_reader *r, const struct option *first, const struct option *second);

/* The last among the arguments of some options, a list that ends with 0, and its argument; 0: there is none.  As
 * option_find(). */
int option_find_last(option_reader *r, const int *values, const char **arg);

/* Is an option among the arguments?  Nothing is said of mistakes, and reading begins at the front again. */
int option_find(option_reader *r, int value);

/* The next option, 1 for an operand (in optarg), '?' for what has been complained about, -1 at the end: the rest begins
 * at optind. */
int option_next(option_reader *r);

/* The long options --progress and --no-progress. */
extern const struct option common_long_options[];

/*
 * Take one of these, OPTION_HELP or OPTION_VERSION: 1 when c is none of them, 0 to go on, -1 when --help or --version
 * was answered and that is all there is to do.  Behind a complaint, '?', it is said where to read about options; that
 * is none of them either.
 */
int option_common(const char *command, int c, const char *help, int *progress_mode);

#endif
