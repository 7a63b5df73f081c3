/* SPDX-License-Identifier: BSL-1.0 */
/*
 * sort_notes.h -- what is done otherwise than options or the environment ask for.
 *
 * Notes are for people: they are printed if standard error is a terminal, or with --verbose, and not with
 * --no-warnings.  So no script that looks at what a sort prints there is disturbed.
 */
#ifndef CLI_SORT_NOTES_H
#define CLI_SORT_NOTES_H

#include "cli/sort_options.h"

/* All options were read.  One line each. */
void sort_notes(const sort_options *so);

#endif
