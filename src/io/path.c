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
#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>

/* File systems that keep bytes as they are: others compress them, or do not say what is free. */
#define XFS_MAGIC 0x58465342
#define IS_PLAIN(type) ((type) == EXT4_SUPER_MAGIC || (type) == XFS_MAGIC || (type) == TMPFS_MAGIC)

int emi_path_room(const char *path, uint64_t *bytes, uint64_t *fs)
{
	struct statfs s;
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode) || statfs(path, &s) != 0)
		return 0;
	if (!IS_PLAIN(s.f_type) || s.f_blocks == 0)
		return 0;
	*bytes = (uint64_t)s.f_bfree * (uint64_t)s.f_bsize;
	*fs = (uint64_t)st.st_dev;
	return 1;
}
#else
int emi_path_room(const char *path, uint64_t *bytes, uint64_t *fs)
{
	(void)path, (void)bytes, (void)fs;
	return 0;
}
#endif

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
