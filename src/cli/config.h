/* SPDX-License-Identifier: BSL-1.0 */
/*
 * config.h -- the configuration file.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/context_options.h"

/*
 * Read a configuration file, or, when file is NULL, the first that is there of $XDG_CONFIG_HOME/extmem/config and that
 * in each directory of $XDG_CONFIG_DIRS; there may be none.  0, or -1 after a message, which names the file and the
 * line.
 */
int config_read(context_options *c, const char *command, const char *file);

#endif
