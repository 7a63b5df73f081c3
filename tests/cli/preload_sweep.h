/* SPDX-License-Identifier: BSL-1.0 */
/*
 * preload_sweep.h -- a run of the command in which every call of the system fails, once each.
 *
 * The command runs once as it is, with preload.c noting the calls that it makes; then again and again, each time with
 * one of them failing, in each way that it can.  Whatever happens:
 *
 *	status 0 means that the output is right, byte for byte;
 *	status 2 means that a line on standard error says "extmem" and names a file, an option, or what there was too
 *	little of, and that inputs and an existing output are as they were;
 *	nothing is left in the directories; there is no other status, no signal, and no end to wait for in vain.
 *
 * What must be survived, like a transfer that is short or interrupted, ends with 0.
 */
#ifndef CLI_PRELOAD_SWEEP_H
#define CLI_PRELOAD_SWEEP_H

#include <stddef.h>

#define SWEEP_ARGS 20
#define SWEEP_INPUTS 2

/* Nothing; the file input-0; or a pipe with what is in it. */
enum { SWEEP_NO_STDIN, SWEEP_STDIN, SWEEP_PIPE };

/* What is run, in a directory that has the inputs input-0, input-1... in it. */
typedef struct sweep_case {
	const char *name;
	const char *args[SWEEP_ARGS];   /* up to NULL */
	const void *in[SWEEP_INPUTS];   /* contents */
	size_t bytes[SWEEP_INPUTS];
	const char *output;             /* that the arguments name; input-0: in place; NULL: standard output */
	int from;                       /* what is standard input: SWEEP_... */
} sweep_case;

/* For cmocka, around all sweeps: preload.so is there, and the command; and the other end. */
int sweep_set_up(void **state);

/*
 * Run it with failures: `all' of them, or, of the calls that were made at one place, the first and the last; and what
 * failed in the same way at the same place in another case before does not again.  Fails at the end when something
 * was wrong, after telling how each can be had again.
 */
void sweep_run(const sweep_case *c, int all);

#endif
