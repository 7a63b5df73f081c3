/* SPDX-License-Identifier: BSL-1.0 */
/*
 * btree.h -- what the files of extmem btree share: its five commands, and a file that one of them reads.
 */
#ifndef CLI_BTREE_H
#define CLI_BTREE_H

#include <extmem/btree.h>

#include "cli/options.h"

/* argv[0] is the full name ("extmem btree load"). */
int btree_load(int argc, char **argv);
int btree_get(int argc, char **argv);
int btree_scan(int argc, char **argv);
int btree_stat(int argc, char **argv);
int btree_verify(int argc, char **argv);

/* A tree that is open for reading. */
typedef struct btree_input {
	const char *command;
	em_ctx *ctx;
	em_btree *tree;
	char *key;              /* as long as a record, for btree_key_parse() */
} btree_input;

/* The options that say how it is read: their letters as in getopt_long()'s list, and their long names. */
enum { BTREE_OPT_DIRECT = OPTION_CONTEXT, BTREE_OPT_BACKEND };
#define BTREE_INPUT_LETTERS "S:"
#define BTREE_INPUT_OPTIONS { "buffer-size", required_argument, NULL, 'S' }, \
	{ "direct", required_argument, NULL, BTREE_OPT_DIRECT }, \
	{ "backend", required_argument, NULL, BTREE_OPT_BACKEND }
#define BTREE_INPUT_HELP \
	"  -S, --buffer-size=SIZE  memory to read with (default: a quarter of what there is)\n" \
	"      --direct=off|try|on  past the page cache, as in extmem sort\n" \
	"      --backend=NAME   the way to reach the disk, as in extmem sort\n"

/* Take one of these for the context: 0 taken, 1 it is none of them, -1 after a message. */
int btree_input_take(em_ctx_opts *opts, const char *command, int c, const char *arg);

/* Open it with those options: 0, or after a message 1 if it is damaged, else 2.  btree_input_close() follows in any
 * case. */
int btree_input_open(btree_input *in, const char *command, const char *path, const em_ctx_opts *given);
void btree_input_close(btree_input *in);

/* Print the detail of the tree's last failure. */
void btree_input_report(const btree_input *in, em_status st);

/* Make the key that a text stands for, values of its fields with commas between them, in in->key.  option: what it
 * was given by, for messages, or NULL.  0, or -1 after a message. */
int btree_key_parse(btree_input *in, const char *option, const char *text);

#endif
