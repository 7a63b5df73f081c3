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
#include <time.h>
#include <unistd.h>

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define WAITS 25                /* that it is waited for what is being freed, ... */
#define WAIT_NS 20000000        /* ... and how long each takes */

/* *later: some may be free in a moment. */
static uint64_t look(int fd, int *later)
{
	struct statfs fs;
	uint64_t blocks;

	*later = 0;
	if (fstatfs(fd, &fs) != 0 || fs.f_blocks == 0 || fs.f_bsize <= 0)
		return UINT64_MAX;
	/* (EXT4 and its ancestors have one number.) */
	if (fs.f_type != EXT4_SUPER_MAGIC && fs.f_type != XFS_SUPER_MAGIC && fs.f_type != TMPFS_MAGIC)
		return UINT64_MAX;
	/* Some is kept for the superuser. */
	blocks = (uint64_t)(geteuid() == 0 ? fs.f_bfree : fs.f_bavail);
	/* It frees the blocks of files that were removed when nobody waits for it. */
	*later = fs.f_type == XFS_SUPER_MAGIC;
	return blocks > UINT64_MAX / (uint64_t)fs.f_bsize ? UINT64_MAX : blocks * (uint64_t)fs.f_bsize;
}

uint64_t emi_free_space(int fd, uint64_t wanted)
{
	const struct timespec wait = { 0, WAIT_NS };
	int later, i;
	uint64_t left = look(fd, &later);

	for (i = 0; left < wanted && later && i < WAITS; i++) {
		(void)nanosleep(&wait, NULL);
		left = look(fd, &later);
	}
	return left;
}
#else
uint64_t emi_free_space(int fd, uint64_t wanted)
{
	(void)fd;
	(void)wanted;
	return UINT64_MAX;
}
#endif
