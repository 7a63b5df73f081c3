/* SPDX-License-Identifier: BSL-1.0 */
/*
 * debug_keys.h -- marking the keys of the lines that are written to standard output.
 */
#ifndef CLI_DEBUG_KEYS_H
#define CLI_DEBUG_KEYS_H

#include <pthread.h>
#include <stdio.h>

#include "cli/text_options.h"

typedef struct debug_keys {
	const text_options *text;
	const em_order *order;
	const char *command;
	int standard;           /* where standard output really goes */
	FILE *in, *out;         /* lines come in; lines with marks go out */
	pthread_t thread;
	int threaded;           /* that was started; otherwise in is a file of what was written */
	int failed;             /* errno of the first failure of the thread, or 0 */
} debug_keys;

/* From now on what is written to descriptor 1 gets marks.  Prints a message and returns -1 on failure. */
int debug_keys_begin(debug_keys *d, const text_options *text, const em_order *order, const char *command);

/* All was written: wait for the marks, and put descriptor 1 back.  As above. */
int debug_keys_end(debug_keys *d);

#endif
