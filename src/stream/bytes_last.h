/* SPDX-License-Identifier: BSL-1.0 */
/* bytes_last.h -- the last of n bytes that has a value, or NULL: memrchr(), which not all systems have. */
#ifndef EMI_BYTES_LAST_H
#define EMI_BYTES_LAST_H

#include <stddef.h>

const unsigned char *emi_bytes_last(const unsigned char *p, unsigned char byte, size_t n);

#endif
