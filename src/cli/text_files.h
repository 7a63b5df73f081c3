/* SPDX-License-Identifier: BSL-1.0 */
/*
 * text_files.h -- looking at the files of a sort of lines before it begins.
 */
#ifndef CLI_TEXT_FILES_H
#define CLI_TEXT_FILES_H

#include "cli/sort_options.h"

/* Print a message and return -1 when an input cannot be read or the output cannot be made. */
int text_files_check(const sort_options *so);

#endif
