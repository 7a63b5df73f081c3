/* SPDX-License-Identifier: BSL-1.0 */
/* memory_fs.c -- see memory_fs.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "io/memory_fs.h"

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>

int emi_on_memory_fs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

int emi_memory_fs_has(int fd, uint64_t bytes)
{
	struct statfs fs;

	return emi_on_memory_fs(fd) && fstatfs(fd, &fs) == 0 && fs.f_bsize > 0 &&
	       bytes / (uint64_t)fs.f_bsize < (uint64_t)fs.f_bavail / 2;
}
#else
int emi_on_memory_fs(int fd)
{
	(void)fd;
	return 0;
}

int emi_memory_fs_has(int fd, uint64_t bytes)
{
	(void)fd;
	(void)bytes;
	return 0;
}
#endif
