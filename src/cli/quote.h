/* SPDX-License-Identifier: BSL-1.0 */
/*
 * quote.h -- what was given on the command line, as a message repeats it.
 */
#ifndef CLI_QUOTE_H
#define CLI_QUOTE_H

/* Room for what is quoted; more is cut. */
#define QUOTE_TEXT 512

/* 'text', with quotes, backslashes and what does not print escaped as in C.  Returns out. */
const char *quote(const char *text, char out[QUOTE_TEXT]);

/* The name of a file: as it is, but '' when it is empty. */
const char *quote_name(const char *name);

#endif
