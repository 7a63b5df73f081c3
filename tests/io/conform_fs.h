/* SPDX-License-Identifier: BSL-1.0 */
/*
 * conform_fs.h -- small file systems and devices to be full and to be tried.
 *
 * Mounts are made in a name space of the test's own, and loop devices let go of their file when they are closed, so nothing of
 * them survives the test, however it ends.  All of it needs privileges; a test that cannot have them is skipped.
 */
#ifndef EM_CONFORM_FS_H
#define EM_CONFORM_FS_H

#include <stdint.h>

/* Mount a tmpfs of that many bytes on the directory: 1, or 0 where that is not allowed. */
int conform_tmpfs(const char *dir, uint64_t bytes);

/* Make an ext4 of that many bytes in the file image, and mount it: 1, or 0 where that cannot be done. */
int conform_ext4(const char *image, const char *dir, uint64_t bytes);

void conform_unmount(const char *dir);

/* Make a block device of that many bytes in the file image.  A descriptor that keeps it alive and its path, or -1. */
int conform_loop(const char *image, uint64_t bytes, char path[64]);
void conform_loop_close(int fd);

#endif
