/* SPDX-License-Identifier: BSL-1.0 */
/*
 * check_order.h -- extmem sort -c and -C: is the input sorted?
 */
#ifndef CLI_CHECK_ORDER_H
#define CLI_CHECK_ORDER_H

#include <extmem/check.h>

#include "cli/progress.h"
#include "cli/sort_options.h"

/* Look at the only input.  Returns the exit status; opts has progress and errinfo; bar is cleared for messages. */
int check_order(const sort_options *so, em_ctx *ctx, const em_order *order, em_check_opts *opts, progress *bar);

#endif
