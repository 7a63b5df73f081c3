/* SPDX-License-Identifier: BSL-1.0 */
/*
 * message.h -- error messages: one line on standard error, "extmem sort: FILE: what is wrong".
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <extmem/status.h>

#if defined(__GNUC__)
#define CLI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define CLI_PRINTF(f, a)
#endif

/* Print "COMMAND: ..." and a newline.  Control characters become '?', so one message is one line. */
void message(const char *command, const char *fmt, ...) CLI_PRINTF(2, 3);

/* Behind a message about options: where to read about them. */
void message_try_help(const char *command);

/* Print "COMMAND: NAME: " and the text of an errno. */
void message_errno(const char *command, const char *name, int sys_errno);

/* Print what the library reported: err's text with the file it concerns. */
void message_errinfo(const char *command, em_status status, const em_errinfo *err);

/* What to call a file in a message: "-" is standard input or output. */
const char *input_name(const char *path);
const char *output_name(const char *path);

#endif
