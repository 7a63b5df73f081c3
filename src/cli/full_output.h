/* SPDX-License-Identifier: BSL-1.0 */
/*
 * full_output.h -- an output that there is no room for, and what can be done about it.
 */
#ifndef CLI_FULL_OUTPUT_H
#define CLI_FULL_OUTPUT_H

#include "cli/sort_options.h"

/* If that is what failed, print it, with what would work, and return 1. */
int full_output_report(const sort_options *so, em_status st, const em_errinfo *err);

#endif
