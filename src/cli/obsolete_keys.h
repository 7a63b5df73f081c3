/* SPDX-License-Identifier: BSL-1.0 */
/*
 * obsolete_keys.h -- keys spelled +POS1 -POS2, as they were before -k.
 */
#ifndef CLI_OBSOLETE_KEYS_H
#define CLI_OBSOLETE_KEYS_H

#include "cli/text_options.h"

/* Whether _POSIX2_VERSION in the environment, or nothing there, allows such keys anywhere. */
int obsolete_usage(void);

/*
 * An operand that begins with '+' and the argument behind it (NULL: none): add the key that they are.  *anywhere is
 * what obsolete_usage() said; it is set when the two show that such keys are meant.
 * Returns how many of the two it took, 0 when the operand is none, -1 after a message.
 */
int obsolete_key_take(text_options *to, const char *command, const char *operand, const char *next, int *anywhere);

#endif
