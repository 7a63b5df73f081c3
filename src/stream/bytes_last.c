/* SPDX-License-Identifier: BSL-1.0 */
/* bytes_last.c -- see bytes_last.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include "stream/bytes_last.h"

#include <string.h>

const unsigned char *emi_bytes_last(const unsigned char *p, unsigned char byte, size_t n)
{
#ifdef __GLIBC__
	return memrchr(p, byte, n);
#else
	while (n > 0)
		if (p[--n] == byte)
			return p + n;
	return NULL;
#endif
}
