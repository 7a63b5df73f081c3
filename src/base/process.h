/* SPDX-License-Identifier: BSL-1.0 */
/*
 * process.h -- which process this is, cheaply enough to be asked for every request.
 */
#ifndef EMI_PROCESS_H
#define EMI_PROCESS_H

#include <stdint.h>

/* The process id.  Any thread. */
int64_t emi_process_id(void);

#endif
