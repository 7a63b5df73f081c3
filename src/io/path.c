/* SPDX-License-Identifier: BSL-1.0 */
/* path.c -- see path.h. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "io/path.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

emi_path_kind emi_path_look(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return EMI_PATH_UNKNOWN;
	if (S_ISDIR(st.st_mode))
		return EMI_PATH_DIRECTORY;
	if (S_ISREG(st.st_mode))
		return EMI_PATH_FILE;
	return S_ISBLK(st.st_mode) ? EMI_PATH_DEVICE : EMI_PATH_OTHER;
}

int emi_path_remove(const char *path)
{
	return unlink(path) == 0 ? 0 : errno;
}
