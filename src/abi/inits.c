/* SPDX-License-Identifier: BSL-1.0 */
/*
 * inits.c -- initialisers for languages without macros: em_..._init() of every struct in inits.inc.
 *
 * The caller may be older than the library, and have a shorter struct, or newer, and have a longer one, of which the
 * rest is zero.
 */
#include <string.h>

#include <extmem/text.h>

#include "base/structs.h"

static void init(void *out, size_t bytes, const void *fresh, size_t full)
{
	const uint32_t size = (uint32_t)bytes;

	if (out == NULL || bytes < sizeof size)
		return;
	memset(out, 0, bytes);
	memcpy(out, fresh, bytes < full ? bytes : full);
	memcpy(out, &size, sizeof size);
}

static void init_fixed(void *out, const void *fresh, size_t full)
{
	if (out != NULL)
		memcpy(out, fresh, full);
}

#define EM_INIT(t, i) void t##_init(t *out, size_t bytes) { const t fresh = i; init(out, bytes, &fresh, sizeof fresh); }
#define EM_INIT_FIXED(t, i) void t##_init(t *out) { const t fresh = i; init_fixed(out, &fresh, sizeof fresh); }
#include "abi/inits.inc"
