/* SPDX-License-Identifier: BSL-1.0 */
/* free_space.c -- see free_space.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "io/free_space.h"

#ifdef __linux__
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

uint64_t emi_free_space(int fd)
{
	struct statfs fs;
	uint64_t blocks;

	if (fstatfs(fd, &fs) != 0 || fs.f_blocks == 0 || fs.f_bsize <= 0)
		return UINT64_MAX;
	/* (EXT4 and its ancestors have one number.) */
	if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC && fs.f_type != TMPFS_MAGIC)
		return UINT64_MAX;
	/* Some is kept for the superuser. */
	blocks = (uint64_t)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail);
	return blocks > UINT64_MAX / (uint64_t)fs.f_bsize ? UINT64_MAX : blocks * (uint64_t)fs.f_bsize;
}
#else
uint64_t emi_free_space(int fd)
{
	(void)fd;
	return UINT64_MAX;
}
#endif
