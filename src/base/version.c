/* SPDX-License-Identifier: BSL-1.0 */
/*
 * version.c -- the version of the library that is running, which may differ from the headers'.
 */
#include <extmem/base.h>

const char *em_version(void)
{
	return EM_VERSION_STRING;
}
