/* SPDX-License-Identifier: BSL-1.0 */
/*
 * debug_advice.h -- what --debug says of options that may not mean what they seem to.
 */
#ifndef CLI_DEBUG_ADVICE_H
#define CLI_DEBUG_ADVICE_H

#include "cli/text_options.h"

/* Print it on standard error. */
void debug_advice(const text_options *to, const char *command);

#endif
