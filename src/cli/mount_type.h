/* SPDX-License-Identifier: BSL-1.0 */
/*
 * mount_type.h -- the type of the file system that a file is on.
 */
#ifndef CLI_MOUNT_TYPE_H
#define CLI_MOUNT_TYPE_H

#define MOUNT_TYPE 32

/* "ext4", "tmpfs" and the like, or "" where that cannot be told.  Returns out. */
const char *mount_type(const char *path, char out[MOUNT_TYPE]);

/* Is that one in memory? */
int mount_in_memory(const char *type);

#endif
