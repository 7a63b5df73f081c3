/* SPDX-License-Identifier: BSL-1.0 */
/*
 * conform_fs.h -- small file systems and devices to be full and to be tried.
 *
 * Mounts are made in a name space of the test's own, and loop devices let go of their file when they are closed, so
 * nothing of them survives the test, however it ends.  All of it needs privileges; a test that cannot have them is
 * skipped.
 */
#ifndef EM_CONFORM_FS_H
#define EM_CONFORM_FS_H

#include <stdint.h>

/* Run a test on a tmpfs, or an ext4, of that many bytes, in a directory of its own; where that cannot be had the test
 * is skipped. */
void conform_on_tmpfs(uint64_t bytes, void (*test)(const char *dir));
void conform_on_ext4(uint64_t bytes, void (*test)(const char *dir));
/* The same on an XFS of at least 300 MiB, which not every kernel has: 0 where that cannot be had. */
int conform_on_xfs(uint64_t bytes, void (*test)(const char *dir));

/* Make a block device of that many bytes in the file image.  A descriptor that keeps it alive and its path, or -1. */
int conform_loop(const char *image, uint64_t bytes, char path[64]);
/* Have it transfer whole sectors of that many bytes: 1, or 0 where that cannot be. */
int conform_loop_sectors(int fd, unsigned bytes);
void conform_loop_close(int fd);

#endif
