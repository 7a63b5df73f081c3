/* SPDX-License-Identifier: BSL-1.0 */
/*
 * output.h -- a file that is written from front to end and appears complete or not at all.
 *
 * This is for what the command writes itself; a sort's output is written by the library, in the
 * same way.  Functions print a message and return -1 on failure.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct output {
	const char *command;    /* for messages */
	const char *name;       /* as given, for messages */
	int fd;                 /* -1: none */
	char *path;             /* where a regular file will be; NULL: written directly */
	char *temp;             /* its name until then, or NULL */
	int exists;             /* there is a file at path, whose attributes are kept: */
	struct stat old;
	uint64_t written;
} output;

/* path NULL or "-" is standard output. */
int output_open(output *o, const char *command, const char *path);
int output_write(output *o, const void *data, size_t bytes);

/* All is written: put the file in its place. */
int output_commit(output *o);

/* Without a commit nothing of a regular file remains. */
void output_close(output *o);

#endif
